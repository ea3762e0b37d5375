/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers of a block, operations of a warp. */
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
