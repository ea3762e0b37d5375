/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers, warp operations, atomics, grid dependencies. */
#include <cstring>

#include "machine.h"

using namespace simt;

static bool same_site(tkj_simt_site a, tkj_simt_site b)
{
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/* ---- block barriers ---- */

/** All threads of the block have met: from here on each knows what all did before. */
static void complete_block_barrier(block *b)
{
    if (!race_build)
        return; /* nobody asks */
    auto base = std::make_shared<vector_clock>();
    const vector_clock *joined = nullptr;
    if (b->base != nullptr)
        *base = *b->base;
    base->resize(b->home->actors);
    for (thread &t : b->threads) {
        if (t.extra != nullptr && t.extra.get() != joined) {
            joined = t.extra.get();
            join(base.get(), *joined);
        }
        (*base)[t.actor] = t.epoch;
    }
    b->base = base;
    for (thread &t : b->threads) {
        t.extra = nullptr;
        t.fence_covers_all = false;
        bump(&t);
    }
}

static void release(meeting *m)
{
    for (thread *t : m->waiting)
        make_ready(t);
    m->waiting.clear();
    m->expected = 0;
    m->arrived = 0;
}

void tkj_simt_block_barrier(tkj_simt_site site)
{
    thread *self = caller(site);
    block *home = self->home;
    meeting *m = &home->barriers[0];
    if (home->live < home->threads.size())
        fault("%s is at the block barrier of %s, other threads of the block have exited",
              text_of(self), text_of(site));
    if (m->arrived > 0 && !same_site(m->where, site))
        fault("divergent barriers: %s is at that of %s, %s at that of %s", text_of(self),
              text_of(site), text_of(m->waiting[0]), text_of(m->where));
    m->where = site;
    m->arrived++;
    m->waiting.push_back(self);
    if (m->arrived == home->threads.size()) {
        complete_block_barrier(home);
        release(m);
    } else {
        wait_for(self, "at the block barrier");
        return;
    }
    wait_for(self, nullptr);
}

/** Those who wait learn what all did that arrived. */
static void complete_named_barrier(meeting *m)
{
    auto sum = std::make_shared<vector_clock>(std::move(m->published));
    m->published.clear();
    for (thread *t : m->waiting)
        acquire(t, sum);
    release(m);
}

void tkj_simt_named_barrier(uint32_t id, uint32_t threads, bool wait, tkj_simt_site site)
{
    thread *self = caller(site);
    if (id == 0 || id >= barrier_count || threads == 0 || threads % warp_size != 0 ||
        threads > self->home->threads.size())
        fault("named barrier %u of %u threads cannot be (%s)", id, threads, text_of(site));
    meeting *m = &self->home->barriers[id];
    if (m->expected != 0 && m->expected != threads)
        fault("%s is at named barrier %u with %u threads (%s), others with %u (%s)", text_of(self),
              id, threads, text_of(site), m->expected, text_of(m->where));
    m->expected = threads;
    m->where = site;
    learn_all(&m->published, self);
    bump(self);
    if (wait)
        m->waiting.push_back(self);
    if (++m->arrived == m->expected) {
        complete_named_barrier(m);
        if (wait)
            wait_for(self, nullptr);
    } else if (wait) {
        wait_for(self, "at a named barrier");
    }
}

/* ---- warp operations ---- */

/** __syncwarp orders memory; votes, shuffles and reductions do not. */
static void publish_warp(warp *w)
{
    vector_clock_ptr all;
    bool equal = true;
    for (thread *t : w->lanes) {
        w->known[t->lane] = t->epoch;
        equal = equal && t->extra == w->lanes[0]->extra;
    }
    if (!equal) {
        auto sum = std::make_shared<vector_clock>();
        for (thread *t : w->lanes)
            if (t->extra != nullptr)
                join(sum.get(), *t->extra);
        all = sum;
    }
    for (thread *t : w->lanes) {
        if (!equal)
            t->extra = all;
        t->fence_covers_all = false;
        bump(t);
    }
}

static uint64_t ballot(const warp *w, uint64_t of, bool match)
{
    uint64_t mask = 0;
    for (uint32_t lane = 0; lane < warp_size; lane++)
        if (match ? w->lanes[lane]->value == of : w->lanes[lane]->value != 0)
            mask |= UINT64_C(1) << lane;
    return mask;
}

static uint64_t reduce(const warp *w)
{
    uint64_t result = w->lanes[0]->value;
    for (uint32_t lane = 1; lane < warp_size; lane++) {
        uint64_t value = w->lanes[lane]->value;
        if (w->op == TKJ_SIMT_REDUCE_ADD)
            result += value;
        else if (w->op == TKJ_SIMT_REDUCE_MIN)
            result = value < result ? value : result;
        else
            result = value > result ? value : result;
    }
    return result;
}

/** The lane whose value a lane gets; its own where the hardware gives that. */
static uint32_t source_lane(tkj_simt_warp_op op, const thread *t)
{
    uint32_t lane = t->lane;
    uint32_t from = op == TKJ_SIMT_SHUFFLE        ? t->operand % warp_size
                    : op == TKJ_SIMT_SHUFFLE_UP   ? lane - t->operand
                    : op == TKJ_SIMT_SHUFFLE_DOWN ? lane + t->operand
                                                  : lane ^ t->operand;
    return from < warp_size ? from : lane;
}

static void complete_warp(warp *w)
{
    uint64_t all = 0;
    if (w->op == TKJ_SIMT_WARP_BARRIER)
        publish_warp(w);
    else if (w->op == TKJ_SIMT_BALLOT)
        all = ballot(w, 0, false);
    else if (w->op >= TKJ_SIMT_REDUCE_ADD)
        all = reduce(w);
    for (thread *t : w->lanes) {
        if (w->op == TKJ_SIMT_MATCH)
            t->result = ballot(w, t->value, true);
        else if (w->op >= TKJ_SIMT_SHUFFLE && w->op <= TKJ_SIMT_SHUFFLE_XOR)
            t->result = w->lanes[source_lane(w->op, t)]->value;
        else
            t->result = all;
    }
    w->arrived = 0;
    for (thread *t : w->lanes)
        make_ready(t);
}

uint64_t tkj_simt_warp(tkj_simt_warp_op op, uint64_t value, uint32_t operand, tkj_simt_site site)
{
    thread *self = caller(site);
    warp *w = self->group;
    if (w->exited != 0)
        fault("%s is at a warp operation (%s), other lanes have exited", text_of(self),
              text_of(site));
    if (w->arrived != 0 && (w->op != op || !same_site(w->where, site)))
        fault("divergent warp: %s is at the operation of %s, other lanes are at that of %s",
              text_of(self), text_of(site), text_of(w->where));
    w->op = op;
    w->where = site;
    w->arrived |= UINT32_C(1) << self->lane;
    self->value = value;
    self->operand = operand;
    if (w->arrived == UINT32_MAX)
        complete_warp(w);
    wait_for(self, w->arrived == 0 ? nullptr : "for the other lanes of its warp");
    return self->result;
}

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
