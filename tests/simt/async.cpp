/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk copies and st.async: what the hardware does beside the threads. */
#include <cstring>

#include "machine.h"

using namespace simt;

/* ---- the async proxy ---- */

void tkj_simt_fence_async_proxy(tkj_simt_site site)
{
    thread *self = caller(site);
    self->fences.push_back(self->epoch);
    self->fence_covers_all = true;
    bump(self); /* what it writes from here on is not covered */
    for (auto &entry : self->home->mbarriers)
        if (entry.second.init_actor == self->actor)
            entry.second.fenced = true;
}

static void issue(thread *self, async_op *op)
{
    learn_all(&op->known, self);
    op->fenced = self->fence_covers_all;
    bump(self);
    running->in_flight.push_back(std::move(*op));
    if (random_number(4) == 0)
        yield();
}

/** An mbarrier that an operation will complete on. */
static void attach(thread *self, async_op *op, uint64_t *address)
{
    mbarrier *bar = known_mbarrier(self, address);
    if (!bar->fenced)
        fault("%s lets an asynchronous operation complete on an mbarrier whose initialisation was "
              "not fenced (%s)",
              text_of(self), text_of(self->where));
    bar->in_flight++;
    op->to_block = owner_of(self, address);
    op->barrier = address;
}

static void check_bulk(const thread *self, const void *to, const void *from, uint32_t bytes)
{
    uintptr_t all = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes;
    if (all % 16 != 0 || bytes == 0)
        fault("%s issues a bulk copy (%s) whose addresses or size are not multiples of 16",
              text_of(self), text_of(self->where));
}

void tkj_simt_copy_bulk(void *to, const void *from, uint32_t bytes, uint64_t *barrier,
                        tkj_simt_site site)
{
    thread *self = caller(site);
    async_op op;
    op.pc = __builtin_return_address(0);
    op.issuer = self;
    check_bulk(self, to, from, bytes);
    attach(self, &op, barrier);
    if (!is_shared_of(op.to_block, to, bytes))
        fault("%s issues a bulk copy (%s) to what is not shared memory of the mbarrier's block",
              text_of(self), text_of(site));
    op.to = static_cast<unsigned char *>(to);
    op.from = static_cast<const unsigned char *>(from);
    op.bytes = bytes;
    issue(self, &op);
}

void tkj_simt_store_async(void *to, uint64_t value, uint32_t bytes, uint64_t *barrier,
                          tkj_simt_site site)
{
    thread *self = caller(site);
    async_op op;
    op.pc = __builtin_return_address(0);
    op.issuer = self;
    attach(self, &op, barrier);
    if (!is_shared_of(op.to_block, to, bytes) || reinterpret_cast<uintptr_t>(to) % bytes != 0)
        fault("%s stores asynchronously (%s) to a misaligned address or not to shared memory of "
              "the mbarrier's block",
              text_of(self), text_of(site));
    op.to = static_cast<unsigned char *>(to);
    op.value = value;
    op.bytes = bytes;
    issue(self, &op);
}

/* ---- bulk groups ---- */

void tkj_simt_copy_bulk_out(void *to, const void *from, uint32_t bytes, tkj_simt_site site)
{
    thread *self = caller(site);
    async_op op;
    check_bulk(self, to, from, bytes);
    if (!is_shared_of(self->home, from, bytes))
        fault("%s copies out (%s) what is not its shared memory", text_of(self), text_of(site));
    if (self->bulk_actor == 0)
        self->bulk_actor = self->home->home->actors++;
    if (self->bulk_pending.size() <= self->bulk_group)
        self->bulk_pending.resize(self->bulk_group + 1);
    self->bulk_pending[self->bulk_group]++;
    op.pc = __builtin_return_address(0);
    op.issuer = self;
    op.group = self->bulk_group;
    op.to = static_cast<unsigned char *>(to);
    op.from = static_cast<const unsigned char *>(from);
    op.bytes = bytes;
    issue(self, &op);
}

void tkj_simt_copy_bulk_commit(tkj_simt_site site)
{
    thread *self = caller(site);
    self->bulk_group++;
    self->bulk_pending.resize(self->bulk_group);
}

static bool groups_are_done(const thread *self)
{
    for (uint32_t group = 0; group + self->bulk_most < self->bulk_group; group++)
        if (self->bulk_pending[group] > 0)
            return false;
    return true;
}

void tkj_simt_copy_bulk_wait(uint32_t pending, tkj_simt_site site)
{
    thread *self = caller(site);
    self->bulk_most = pending;
    if (!groups_are_done(self))
        wait_for(self, "for its bulk copies");
    if (self->bulk_actor == 0 || self->bulk_group <= pending)
        return;
    auto done = std::make_shared<vector_clock>();
    self->bulk_waited = self->bulk_group - pending;
    raise(done.get(), self->bulk_actor, self->bulk_waited);
    acquire(self, done);
}

/* ---- completion ---- */

namespace simt
{

/** Does what an operation does to memory, as the actor that it completes with. */
static void perform(const async_op &op, uint32_t actor, uint32_t epoch)
{
    accessor who = {
        op.issuer->home->home->id, actor, epoch, op.issuer, &op.known, op.fenced, op.pc};
    if (op.from != nullptr)
        check_access(who, op.from, op.bytes, access::read);
    check_access(who, op.to, op.bytes, access::write);
    if (op.from != nullptr)
        memcpy(op.to, op.from, op.bytes);
    else
        memcpy(op.to, &op.value, op.bytes);
}

static void complete_group(const async_op &op)
{
    thread *issuer = op.issuer;
    perform(op, issuer->bulk_actor, op.group + 1);
    issuer->bulk_pending[op.group]--;
    bool waits = issuer->doing != nullptr && strcmp(issuer->doing, "for its bulk copies") == 0;
    if (waits && groups_are_done(issuer))
        make_ready(issuer);
}

void complete_async(machine *m)
{
    size_t i = random_number(m->in_flight.size());
    std::swap(m->in_flight[i], m->in_flight.back());
    async_op op = std::move(m->in_flight.back());
    m->in_flight.pop_back();
    if (op.barrier == nullptr) {
        complete_group(op);
        return;
    }
    mbarrier *bar = find_mbarrier(op.to_block, op.barrier);
    if (op.to_block->live == 0 || bar == nullptr)
        fault("an asynchronous operation (%s) completes in a block that has exited",
              text_of(op.pc));
    perform(op, bar->actor, bar->phase + 1);
    bar->in_flight--;
    bar->pending_bytes -= op.bytes;
    try_complete(bar);
}

} // namespace simt
