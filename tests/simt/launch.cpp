/* SPDX-License-Identifier: Apache-2.0 */
/* One launch: starts clusters, runs their threads, retires them. */
#include <cstdio>
#include <utility>

#include "machine.h"

namespace simt
{

/** What a fiber runs. */
static void run_thread()
{
    thread *self = running->current;
    running->launch->kernel->body(running->params.data());
    check_exit(self);
    self->done = true;
    self->home->live--;
    leave(self, true);
}

static void create_threads(machine *m, block *b, uint32_t first_stack)
{
    uint32_t count = m->launch->kernel->threads;
    b->live = count;
    b->threads = std::vector<thread>(count);
    b->warps = std::vector<warp>(count / warp_size);
    for (uint32_t i = 0; i < count; i++) {
        thread *t = &b->threads[i];
        t->home = b;
        t->index = i;
        t->lane = i % warp_size;
        t->group = &b->warps[i / warp_size];
        t->group->lanes[t->lane] = t;
        t->actor = b->rank * count + i;
        fiber_create(&t->context, first_stack + t->actor, run_thread);
    }
}

static void create_block(machine *m, cluster *home, uint32_t rank)
{
    uint32_t size = m->launch->kernel->shared_bytes;
    home->blocks.emplace_back();
    block *b = &home->blocks.back();
    b->home = home;
    b->rank = rank;
    b->index = (home->id - 1) * m->launch->cluster + rank;
    b->shared.reset(new unsigned char[size]); /* exactly what the host passes */
    for (uint32_t i = 0; i < size; i++)
        b->shared[i] = static_cast<unsigned char>(0xA5 ^ i * 7);
    if (race_build)
        b->shared_shadow.create(b->shared.get(), size, false, nullptr);
    create_threads(m, b, home->slot * m->launch->cluster * m->launch->kernel->threads);
}

/** Starts clusters while there is room. */
static void start_clusters(machine *m)
{
    while (m->resident.size() < m->resident_most && m->started < m->to_start.size()) {
        auto home = std::make_unique<cluster>();
        home->id = m->to_start[m->started++] + 1;
        home->slot = m->free_slots.back();
        m->free_slots.pop_back();
        home->actors = m->launch->cluster * m->launch->kernel->threads;
        home->live = home->actors;
        for (uint32_t rank = 0; rank < m->launch->cluster; rank++)
            create_block(m, home.get(), rank);
        bool backwards = random_number(2) == 0;
        for (block &b : home->blocks)
            for (uint32_t i = 0; i < b.threads.size(); i++)
                make_ready(&b.threads[backwards ? b.threads.size() - 1 - i : i]);
        m->resident.push_back(std::move(home));
    }
}

/** Removes clusters whose threads are all done. */
static void retire_clusters(machine *m)
{
    for (size_t i = 0; i < m->resident.size();) {
        uint32_t live = 0;
        for (const block &b : m->resident[i]->blocks)
            live += b.live;
        if (live > 0) {
            i++;
            continue;
        }
        for (block &b : m->resident[i]->blocks)
            check_retired(&b);
        m->free_slots.push_back(m->resident[i]->slot);
        m->resident.erase(m->resident.begin() + static_cast<long>(i));
    }
}

/** Nobody can run. Says what the first few wait for. */
[[noreturn]] static void report_deadlock(const machine *m)
{
    char text[TKJ_SIMT_MESSAGE_SIZE] = "";
    size_t used = 0;
    const char *last = nullptr;
    int line = 0;
    for (const auto &home : m->resident)
        for (const block &b : home->blocks)
            for (const thread &t : b.threads) {
                if (t.done || used > 300 || (t.doing == last && t.where.line == line))
                    continue;
                last = t.doing;
                line = t.where.line;
                used += static_cast<size_t>(snprintf(text + used, sizeof text - used,
                                                     "; %s waits %s (%s)", text_of(&t), t.doing,
                                                     text_of(t.where)));
            }
    fault("deadlock%s", text);
}

static void run_all(machine *m)
{
    for (;;) {
        retire_clusters(m);
        start_clusters(m);
        if (!m->in_flight.empty() && (m->ready.empty() || random_number(4) == 0)) {
            complete_async(m);
            continue;
        }
        if (m->resident.empty())
            return;
        if (m->ready.empty())
            report_deadlock(m);
        thread *next = next_thread(m, nullptr);
        if (next == nullptr)
            continue;
        m->current = next;
        fiber_switch(&m->main, &next->context, false);
        check_sanitizers();
        if (m->failed)
            return;
    }
}

/** Draws everything that the seed decides at once. */
static void draw(machine *m)
{
    static const uint32_t preemptions[] = {0, 0, 0, 2000, 50};
    uint32_t clusters = m->launch->grid / m->launch->cluster;
    m->random_state = m->launch->seed;
    m->policy = static_cast<order>(random_number(4));
    m->preempt_every = preemptions[random_number(5)];
    m->preempt_left = m->preempt_every;
    m->resident_most = 1 + static_cast<uint32_t>(random_number(3));
    for (uint32_t i = 0; i < clusters; i++)
        m->to_start.push_back(i);
    for (uint32_t i = clusters; i-- > 1;)
        std::swap(m->to_start[i], m->to_start[random_number(i + 1)]);
    for (uint32_t i = m->resident_most; i-- > 0;)
        m->free_slots.push_back(i);
}

} // namespace simt

using namespace simt;

static uint32_t slow_paths;

bool tkj_simt_run(const tkj_simt_launch *launch, char message[TKJ_SIMT_MESSAGE_SIZE])
{
    tkj_simt_launch checked = *launch;
    machine m;
    if (checked.cluster == 0)
        checked.cluster = 1;
    if (checked.grid % checked.cluster != 0 || checked.kernel->threads % warp_size != 0) {
        snprintf(message, TKJ_SIMT_MESSAGE_SIZE,
                 "grid %u, cluster %u, threads %u cannot be launched", checked.grid,
                 checked.cluster, checked.kernel->threads);
        return false;
    }
    m.launch = &checked;
    const auto *params = static_cast<const unsigned char *>(checked.params);
    m.params.assign(params, params + checked.kernel->params_size);
    running = &m;
    draw(&m);
    silence_sanitizers(true);
    open_regions(&m);
    try {
        run_all(&m);
    } catch (const fault_outside &) {
    }
    close_regions(&m);
    silence_sanitizers(false);
    if (m.failed)
        fiber_abandon_all();
    running = nullptr;
    snprintf(message, TKJ_SIMT_MESSAGE_SIZE, "%s", m.message);
    return !m.failed;
}

bool tkj_simt_finds_races(void)
{
    return race_build;
}

uint32_t tkj_simt_slow_paths(void)
{
    return std::exchange(slow_paths, 0);
}

/* ---- what kernels ask ---- */

void tkj_simt_note_slow_path(void)
{
    slow_paths += running->current->index == 0;
}

uint32_t tkj_simt_thread(void)
{
    return running->current->index;
}

uint32_t tkj_simt_block(void)
{
    return running->current->home->index;
}

uint32_t tkj_simt_block_count(void)
{
    return running->launch->grid;
}

uint32_t tkj_simt_cluster_rank(void)
{
    return running->current->home->rank;
}

uint32_t tkj_simt_cluster_size(void)
{
    return running->launch->cluster;
}

void *tkj_simt_shared(void)
{
    return running->current->home->shared.get();
}
