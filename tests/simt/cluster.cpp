/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics, grid dependencies, clusters, and what threads and blocks leave behind. */
#include "machine.h"

using namespace simt;

/* ---- atomics ---- */

static uint32_t changed(tkj_simt_atomic_op op, uint32_t old, uint32_t value)
{
    switch (op) {
    case TKJ_SIMT_ATOMIC_ADD:
        return old + value;
    case TKJ_SIMT_ATOMIC_MIN:
        return value < old ? value : old;
    case TKJ_SIMT_ATOMIC_MAX:
        return value > old ? value : old;
    case TKJ_SIMT_ATOMIC_OR:
        return old | value;
    default:
        return value;
    }
}

uint32_t tkj_simt_atomic(tkj_simt_atomic_op op, uint32_t *address, uint32_t value,
                         tkj_simt_site site)
{
    thread *self = caller(site);
    if (random_number(256) == 0)
        yield();
    if (reinterpret_cast<uintptr_t>(address) % 4 != 0)
        fault("misaligned atomic of %s (%s)", text_of(self), text_of(site));
    check_access(as_thread(self, __builtin_return_address(0)), address, 4, access::atomic);
    uint32_t old = *address;
    *address = changed(op, old, value);
    return old;
}

/* ---- grid dependencies ---- */

void tkj_simt_wait_for_dependencies(tkj_simt_site site)
{
    caller(site)->waited = true;
}

void tkj_simt_release_dependents(tkj_simt_site site)
{
    thread *self = caller(site);
    if (!self->waited)
        fault("%s lets dependents launch (%s) before it has waited itself", text_of(self),
              text_of(site));
}

/* ---- clusters ---- */

void tkj_simt_cluster_arrive(bool release, tkj_simt_site site)
{
    thread *self = caller(site);
    cluster *home = self->home->home;
    if (self->cluster_arrived)
        fault("%s arrives at the cluster barrier (%s) twice without a wait", text_of(self),
              text_of(site));
    for (auto &entry : self->home->mbarriers)
        if (entry.second.init_actor == self->actor && entry.second.released &&
            entry.second.released_in == 0)
            entry.second.released_in = home->phase + 1;
    if (release) {
        learn_all(&home->published, self);
        bump(self);
    }
    self->cluster_arrived = true;
    self->cluster_phase = home->phase;
    if (++home->arrived < home->blocks.size() * self->home->threads.size())
        return;
    home->done = std::make_shared<vector_clock>(std::move(home->published));
    home->published.clear();
    home->arrived = 0;
    home->phase++;
    for (thread *t : home->waiting)
        make_ready(t);
    home->waiting.clear();
}

void tkj_simt_cluster_wait(tkj_simt_site site)
{
    thread *self = caller(site);
    cluster *home = self->home->home;
    if (!self->cluster_arrived)
        fault("%s waits at the cluster barrier (%s) without an arrival", text_of(self),
              text_of(site));
    if (home->phase == self->cluster_phase) {
        home->waiting.push_back(self);
        wait_for(self, "at the cluster barrier");
    }
    self->cluster_arrived = false;
    self->cluster_phases = self->cluster_phase + 1;
    acquire(self, home->done);
}

void *tkj_simt_cluster_map(const void *address, uint32_t rank, tkj_simt_site site)
{
    thread *self = caller(site);
    block *home = self->home;
    if (rank >= home->home->blocks.size() || !is_shared_of(home, address, 1))
        fault("%s maps %s (%s)", text_of(self),
              rank >= home->home->blocks.size() ? "a rank that its cluster does not have"
                                                : "what is not its shared memory",
              text_of(site));
    const auto *at = static_cast<const unsigned char *>(address);
    return home->home->blocks[rank].shared.get() + (at - home->shared.get());
}

/* ---- exits ---- */

namespace simt
{

void check_exit(thread *t)
{
    const block *home = t->home;
    const meeting *m = &home->barriers[0];
    check_sanitizers();
    if (running->launch->kernel->architecture >= 90 && !t->waited)
        fault("%s exits without having waited for the kernels that this one depends on",
              text_of(t));
    if (m->arrived > 0)
        fault("%s exits while %s waits at the block barrier of %s", text_of(t),
              text_of(m->waiting[0]), text_of(m->where));
    if (t->group->arrived != 0)
        fault("%s exits while other lanes of its warp are at the operation of %s", text_of(t),
              text_of(t->group->where));
    if (t->cluster_arrived)
        fault("%s exits after it arrived at the cluster barrier, without a wait", text_of(t));
    if (!home->home->waiting.empty())
        fault("%s exits while %s waits at the cluster barrier", text_of(t),
              text_of(home->home->waiting[0]));
    if (t->bulk_pending.size() > t->bulk_waited)
        fault("%s exits without having waited for its bulk copies", text_of(t));
    for (const async_op &op : running->in_flight)
        if (home->live == 1 && op.from != nullptr && is_shared_of(home, op.from, op.bytes))
            fault("block %u exits while a copy out of its shared memory is in flight (%s)",
                  home->index, text_of(op.pc));
    t->group->exited |= UINT32_C(1) << t->lane;
}

void check_retired(block *b)
{
    vector_clock known;
    for (uint32_t id = 1; id < barrier_count; id++)
        if (b->barriers[id].arrived > 0)
            fault("block %u exits while named barrier %u is incomplete (%s)", b->index, id,
                  text_of(b->barriers[id].where));
    for (auto &entry : b->mbarriers)
        if (entry.second.pending_bytes != 0 || entry.second.in_flight != 0)
            fault("block %u exits, an mbarrier of it expects %lld bytes more", b->index,
                  static_cast<long long>(entry.second.pending_bytes));
    for (const thread &t : b->threads)
        if (!b->remote_users.empty())
            learn_all(&known, &t);
    for (uint32_t actor = 0; actor < b->remote_users.size(); actor++)
        if (epoch_in(known, actor) < b->remote_users[actor])
            fault("block %u may exit while another block of its cluster still accesses its shared "
                  "memory",
                  b->index);
}

} // namespace simt
