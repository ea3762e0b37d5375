/* SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>
#include <cstdio>

#include "machine.h"

namespace simt
{

/* Readers of one cell that are kept before those that are ordered already are looked for. */
static constexpr size_t many_reads = 64;

shadow::~shadow()
{
    for (cell &c : cells)
        delete c.more_reads;
}

void shadow::create(const void *first, size_t bytes, bool written, const bool *kept)
{
    begin = reinterpret_cast<uintptr_t>(first);
    size = bytes;
    shift = begin % 4 == 0 ? 2 : 0;
    initialised = written;
    written_before = kept;
    cells.resize((bytes >> shift) + 1);
}

static bool is_written(const cell &c)
{
    return c.write.cluster != 0 || c.atomic.cluster != 0;
}

void shadow::keep(bool *kept) const
{
    for (size_t i = 0; i < size; i++)
        kept[i] = kept[i] || is_written(cells[i >> shift]);
}

bool shadow::contains(const void *address, size_t bytes) const
{
    uintptr_t at = reinterpret_cast<uintptr_t>(address);
    return at >= begin && at - begin < size && bytes <= size - (at - begin);
}

/** From cells of 4 bytes to cells of one. */
void shadow::refine()
{
    std::vector<cell> fine((cells.size() - 1) * 4 + 5);
    for (size_t i = 0; i < fine.size(); i++) {
        if (i / 4 >= cells.size())
            break;
        const cell &from = cells[i / 4];
        fine[i].write = from.write;
        fine[i].atomic = from.atomic;
        fine[i].read = from.read;
        if (from.more_reads != nullptr)
            fine[i].more_reads = new std::vector<mark>(*from.more_reads);
    }
    for (cell &c : cells)
        delete c.more_reads;
    cells = std::move(fine);
    shift = 0;
}

static bool is_ordered(const accessor &who, const mark &before)
{
    if (before.cluster != who.cluster)
        return false;
    if (before.actor == who.actor)
        return !(who.known != nullptr && before.epoch == who.epoch);
    return who.known != nullptr ? epoch_in(*who.known, before.actor) >= before.epoch
                                : knows(who.self, before.actor, before.epoch);
}

static const char *name_of(const accessor &who)
{
    return who.known != nullptr ? "an asynchronous operation" : text_of(who.self);
}

[[noreturn]] static void report_race(const accessor &who, const mark &before, const char *verb,
                                     const char *earlier, size_t offset, const char *what)
{
    fault("race on %s, byte %zu: %s %s it (%s), and nothing orders this after %s %s it (%s)", what,
          offset, name_of(who), verb, text_of(who.pc),
          before.async()                  ? "an asynchronous operation that"
          : before.cluster != who.cluster ? "a thread of another block that"
                                          : "another thread that",
          earlier, text_of(place_of(before.code & ~1u)));
}

/** The thread of a cluster that is this actor; nullptr if the actor is no thread. */
static const thread *thread_of(const cluster *home, uint32_t actor)
{
    size_t threads = home->blocks[0].threads.size();
    if (actor >= home->blocks.size() * threads)
        return nullptr;
    return &home->blocks[actor / threads].threads[actor % threads];
}

/* A write of the generic proxy is visible to the async one after a fence, either of the writer
   before others learnt of the write, or of the issuer after it did (PTX, "proxies"). */
static void check_proxy(const accessor &who, const mark &write, size_t offset, const char *what)
{
    if (write.cluster == 0 || write.async() || who.fenced)
        return;
    const thread *writer = thread_of(who.self->home->home, write.actor);
    if (writer == nullptr)
        return;
    auto fence = std::lower_bound(writer->fences.begin(), writer->fences.end(), write.epoch);
    if (fence == writer->fences.end() || *fence >= epoch_in(*who.known, write.actor))
        fault("%s, byte %zu: an asynchronous operation (%s) meets a write (%s) without a fence "
              "for the async proxy between them",
              what, offset, text_of(who.pc), text_of(place_of(write.code)));
}

static mark mark_of(const accessor &who)
{
    /* Return addresses that differ in the lowest bit are of one call. */
    uint32_t code = offset_of(who.pc) & ~1u;
    return {who.cluster, who.actor, who.epoch, code | (who.known != nullptr ? 1u : 0u)};
}

void shadow::remember_read(const accessor &who, cell *c)
{
    const mark now = mark_of(who);
    if (c->read.cluster == 0 || is_ordered(who, c->read) || c->read.actor == who.actor) {
        c->read = now;
        return;
    }
    if (c->more_reads == nullptr)
        c->more_reads = new std::vector<mark>;
    std::vector<mark> &more = *c->more_reads;
    if (!more.empty() && (more.size() % many_reads == 0 || is_ordered(who, more.front()))) {
        size_t kept = 0;
        for (const mark &m : more)
            if (m.actor != who.actor && !is_ordered(who, m))
                more[kept++] = m;
        more.resize(kept);
    }
    more.push_back(now);
}

/** Is the access after every read of the cell? */
void shadow::check_reads(const accessor &who, cell *c, size_t offset, const char *what)
{
    if (c->read.cluster != 0 && !is_ordered(who, c->read))
        report_race(who, c->read, "writes", "read", offset, what);
    if (c->more_reads != nullptr) {
        for (const mark &m : *c->more_reads)
            if (!is_ordered(who, m))
                report_race(who, m, "writes", "read", offset, what);
        delete c->more_reads;
        c->more_reads = nullptr;
    }
    c->read = {};
}

/** Has anybody written all bytes of a cell? */
bool shadow::is_readable(const cell &c, size_t offset) const
{
    if (initialised || is_written(c))
        return true;
    size_t end = std::min(offset + (size_t(1) << shift), size);
    return written_before != nullptr &&
           std::find(written_before + offset, written_before + end, false) == written_before + end;
}

void shadow::touch_cell(const accessor &who, cell *c, size_t offset, access kind, const char *what)
{
    const char *verb = kind == access::read ? "reads" : "writes";
    if (kind != access::write && !is_readable(*c, offset))
        fault("%s, byte %zu: %s reads what nobody has written (%s)", what, offset, name_of(who),
              text_of(who.pc));
    if (c->write.cluster != 0 && !is_ordered(who, c->write))
        report_race(who, c->write, verb, "wrote", offset, what);
    if (kind != access::atomic && c->atomic.cluster != 0 && !is_ordered(who, c->atomic))
        report_race(who, c->atomic, verb, "atomically changed", offset, what);
    if (who.known != nullptr)
        check_proxy(who, c->write, offset, what);
    if (kind == access::read) {
        remember_read(who, c);
        return;
    }
    check_reads(who, c, offset, what);
    if (kind == access::atomic) {
        c->atomic = mark_of(who);
        return;
    }
    c->atomic = {};
    c->write = mark_of(who);
}

void shadow::touch(const accessor &who, const void *address, size_t bytes, access kind,
                   const char *what)
{
    size_t first = reinterpret_cast<uintptr_t>(address) - begin;
    if (shift != 0 && (first | bytes) % 4 != 0)
        refine();
    for (size_t i = first >> shift; i < (first + bytes) >> shift; i++)
        touch_cell(who, &cells[i], i << shift, kind, what);
}

} // namespace simt
