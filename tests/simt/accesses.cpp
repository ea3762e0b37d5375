/* SPDX-License-Identifier: Apache-2.0 */
#include "accesses.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <unistd.h>

#include "machine.h"

#ifdef TKJ_SIMT_ASAN
#include <sanitizer/asan_interface.h>
#else
static void __asan_poison_memory_region(const volatile void *, size_t)
{
}
static void __asan_unpoison_memory_region(const volatile void *, size_t)
{
}
#endif

/* The program's own code and constants, which a kernel may read: what the linker put before its
   variables. */
extern "C" {
extern const char __executable_start[];
extern const char data_start[];
}

namespace simt
{

static size_t extent_of(const tkj_simt_region &given)
{
    if (given.rows <= 0 || given.row_bytes <= 0)
        return 0;
    return static_cast<size_t>((given.rows - 1) * given.pitch_bytes + given.row_bytes);
}

/** Only the rows of a region may be touched: AddressSanitizer is told so. */
static void fence_off(const tkj_simt_region &given)
{
    if (given.block == nullptr)
        return;
    auto *at = static_cast<char *>(given.block);
    char *end = at + given.block_size;
    auto *row = static_cast<char *>(given.data);
    for (int64_t i = 0; given.row_bytes > 0 && i < given.rows; i++) {
        if (row > at)
            __asan_poison_memory_region(at, static_cast<size_t>(row - at));
        if (row + given.row_bytes > at)
            at = row + given.row_bytes;
        row += given.pitch_bytes;
    }
    __asan_poison_memory_region(at, static_cast<size_t>(end - at));
}

void open_regions(machine *m)
{
    for (size_t i = 0; i < m->launch->region_count; i++) {
        const tkj_simt_region &given = m->launch->regions[i];
        m->regions.emplace_back();
        region &opened = m->regions.back();
        opened.given = given;
        opened.begin = reinterpret_cast<uintptr_t>(given.data);
        opened.extent = extent_of(given);
        if ((given.writable || given.kept != nullptr) && race_build) {
            opened.races = std::vector<shadow>(1);
            opened.races[0].create(given.data, opened.extent, given.written, given.kept);
        }
        fence_off(given);
    }
}

void close_regions(machine *m)
{
    for (const region &opened : m->regions) {
        if (opened.given.block != nullptr)
            __asan_unpoison_memory_region(opened.given.block, opened.given.block_size);
        if (opened.given.kept != nullptr && !opened.races.empty())
            opened.races[0].keep(opened.given.kept);
    }
}

static const region *region_at(uintptr_t address)
{
    static size_t last; /* most accesses follow one to the same tensor */
    std::vector<region> &regions = running->regions;
    if (last < regions.size() && address - regions[last].begin < regions[last].extent)
        return &regions[last];
    for (size_t i = 0; i < regions.size(); i++)
        if (address - regions[i].begin < regions[i].extent) {
            last = i;
            return &regions[i];
        }
    return nullptr;
}

static bool is_inside_rows(const region &r, uintptr_t address, size_t bytes)
{
    size_t offset = address - r.begin;
    size_t pitch = static_cast<size_t>(r.given.pitch_bytes);
    size_t row_bytes = static_cast<size_t>(r.given.row_bytes);
    if (pitch <= row_bytes) /* rows touch or overlap */
        return bytes <= r.extent - offset;
    return offset % pitch + bytes <= row_bytes;
}

static const char *verb_of(access kind)
{
    return kind == access::read ? "reads" : kind == access::write ? "writes" : "atomically changes";
}

static void check_global(const accessor &who, const region &r, const void *address, size_t bytes,
                         access kind)
{
    uintptr_t at = reinterpret_cast<uintptr_t>(address);
    if (!is_inside_rows(r, at, bytes))
        fault("%s %s %zu bytes between the rows of %s, at byte %zu (%s)", text_of(who.self),
              verb_of(kind), bytes, r.given.name, at - r.begin, text_of(who.pc));
    if (kind != access::read && !r.given.writable)
        fault("%s writes to %s, which is an input (%s)", text_of(who.self), r.given.name,
              text_of(who.pc));
    if (running->launch->kernel->architecture >= 90 && !who.self->waited)
        fault("%s %s %s before it waited for the kernels that this one depends on (%s)",
              text_of(who.self), verb_of(kind), r.given.name, text_of(who.pc));
    if (!r.races.empty())
        const_cast<shadow &>(r.races[0]).touch(who, address, bytes, kind, r.given.name);
}

static void touch_shared(const accessor &who, block *b, const void *address, size_t bytes,
                         access kind)
{
    if (race_build)
        b->shared_shadow.touch(who, address, bytes, kind, "shared memory");
}

/** Shared memory of another block: it must be there, now and until this block is done with it. */
static bool check_remote(const accessor &who, const void *address, size_t bytes, access kind)
{
    cluster *home = who.self->home->home;
    for (block &b : home->blocks) {
        if (!is_shared_of(&b, address, bytes))
            continue;
        if (home->phase == 0)
            fault("%s %s shared memory of block %u before a cluster barrier: it may not have "
                  "started (%s)",
                  text_of(who.self), verb_of(kind), b.index, text_of(who.pc));
        if (b.live == 0)
            fault("%s %s shared memory of block %u, which has exited (%s)", text_of(who.self),
                  verb_of(kind), b.index, text_of(who.pc));
        touch_shared(who, &b, address, bytes, kind);
        raise(&b.remote_users, who.actor, who.epoch);
        return true;
    }
    return false;
}

static bool is_constant(uintptr_t address, size_t bytes, access kind)
{
    uintptr_t params = reinterpret_cast<uintptr_t>(running->params.data());
    if (kind != access::read)
        return false;
    if (address - params < running->params.size())
        return bytes <= running->params.size() - (address - params);
    return address >= reinterpret_cast<uintptr_t>(__executable_start) &&
           address < reinterpret_cast<uintptr_t>(data_start);
}

void check_access(const accessor &who, const void *address, size_t bytes, access kind)
{
    uintptr_t at = reinterpret_cast<uintptr_t>(address);
    if (is_shared_of(who.self->home, address, bytes)) {
        touch_shared(who, who.self->home, address, bytes, kind);
        return;
    }
    if (const region *r = region_at(at)) {
        check_global(who, *r, address, bytes, kind);
        return;
    }
    if (is_constant(at, bytes, kind) || check_remote(who, address, bytes, kind))
        return;
    fault("%s %s %zu bytes outside of all that it was given, at %p (%s)", text_of(who.self),
          verb_of(kind), bytes, address, text_of(who.pc));
}

accessor as_thread(const thread *t, place pc)
{
    return {t->home->home->id, t->actor, t->epoch, t, nullptr, false, pc};
}

uint32_t offset_of(place pc)
{
    return static_cast<uint32_t>(static_cast<const char *>(pc) - __executable_start);
}

place place_of(uint32_t offset)
{
    return __executable_start + offset;
}

/** What addr2line says of an address, without its folders: the innermost line that is not of the
 *  platform, which only passes on. */
static void find_line(uint32_t offset, char *line, size_t capacity)
{
    char command[96];
    char found[256];
    snprintf(command, sizeof command, "addr2line -i -e /proc/%d/exe %#x 2>/dev/null",
             static_cast<int>(getpid()), offset - 1);
    snprintf(line, capacity, "code at %#x", offset);
    FILE *pipe = popen(command, "r");
    if (pipe == nullptr)
        return;
    while (fgets(found, sizeof found, pipe) != nullptr) {
        const char *slash = strrchr(found, '/');
        found[strcspn(found, " \n")] = '\0';
        if (strchr(found, '?') == nullptr)
            snprintf(line, capacity, "%.100s", slash != nullptr ? slash + 1 : found);
        if (strncmp(line, "platform.cuh", 12) != 0)
            break;
    }
    pclose(pipe);
}

const char *text_of(place pc)
{
    static std::map<uint32_t, std::string> lines;
    std::string &line = lines[offset_of(pc)];
    if (line.empty()) {
        char text[128];
        find_line(offset_of(pc), text, sizeof text);
        line = text;
    }
    return line.c_str();
}

} // namespace simt
