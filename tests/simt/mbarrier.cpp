/* SPDX-License-Identifier: Apache-2.0 */
/* mbarriers. */
#include <algorithm>
#include <cstring>

#include "machine.h"

namespace simt
{

/* Bounds of PTX. */
static constexpr uint32_t most_arrivals = (1u << 20) - 1;
static constexpr int64_t most_bytes = (1 << 20) - 1;

block *owner_of(const thread *self, const void *address)
{
    for (block &b : self->home->home->blocks)
        if (is_shared_of(&b, address, 8))
            return &b;
    return nullptr;
}

mbarrier *find_mbarrier(block *b, uint64_t *address)
{
    if (b == nullptr)
        return nullptr;
    auto found = b->mbarriers.find(address);
    return found != b->mbarriers.end() ? &found->second : nullptr;
}

/** What the initialising thread fenced before it arrived at a cluster barrier, be it relaxed, is
 * known to who has waited there. */
static bool knows_init(const thread *self, const mbarrier *bar)
{
    return knows(self, bar->init_actor, bar->init_epoch) ||
           (bar->released_in != 0 && self->cluster_phases >= bar->released_in);
}

mbarrier *known_mbarrier(thread *self, uint64_t *address)
{
    mbarrier *bar = find_mbarrier(owner_of(self, address), address);
    if (bar == nullptr)
        fault("%s uses an mbarrier that is not initialised (%s)", text_of(self),
              text_of(self->where));
    if (race_build && !knows_init(self, bar))
        fault("%s uses an mbarrier (%s) whose initialisation is not known to it: there is no "
              "barrier between",
              text_of(self), text_of(self->where));
    return bar;
}

/** An mbarrier that the thread accesses itself. */
static mbarrier *used_mbarrier(thread *self, uint64_t *address, place pc)
{
    mbarrier *bar = known_mbarrier(self, address);
    if (!race_build || knows(self, bar->init_actor, bar->init_epoch))
        check_access(as_thread(self, pc), address, 8, access::atomic);
    return bar; /* else the fence orders this after the initialisation, and nothing else does */
}

static void complete_phase(mbarrier *bar)
{
    auto done = std::make_shared<vector_clock>(std::move(bar->published));
    bar->published.clear();
    bar->phase++;
    raise(done.get(), bar->actor, bar->phase);
    bar->done = done;
    bar->pending = bar->expected;
    auto still = std::partition(bar->waiting.begin(), bar->waiting.end(), [bar](const auto &w) {
        return (bar->phase & 1) == w.second; /* the phase that it waits for is not complete */
    });
    for (auto w = still; w != bar->waiting.end(); ++w)
        make_ready(w->first);
    bar->waiting.erase(still, bar->waiting.end());
}

void try_complete(mbarrier *bar)
{
    if (bar->pending != 0)
        return;
    if (bar->pending_bytes < 0)
        fault("an mbarrier got %lld bytes more than it was told to expect",
              static_cast<long long>(-bar->pending_bytes));
    if (bar->pending_bytes == 0)
        complete_phase(bar);
}

} // namespace simt

using namespace simt;

void tkj_simt_mbarrier_init(uint64_t *address, uint32_t count, tkj_simt_site site)
{
    thread *self = caller(site);
    if (!is_shared_of(self->home, address, 8) || reinterpret_cast<uintptr_t>(address) % 8 != 0)
        fault("%s initialises an mbarrier that is not in its shared memory or misaligned (%s)",
              text_of(self), text_of(site));
    if (count == 0 || count > most_arrivals)
        fault("%s initialises an mbarrier of %u arrivals (%s)", text_of(self), count,
              text_of(site));
    if (find_mbarrier(self->home, address) != nullptr)
        fault("%s initialises an mbarrier that is in use (%s)", text_of(self), text_of(site));
    check_access(as_thread(self, __builtin_return_address(0)), address, 8, access::write);
    mbarrier *bar = &self->home->mbarriers[address];
    bar->actor = self->home->home->actors++;
    bar->expected = count;
    bar->pending = count;
    bar->init_actor = self->actor;
    bar->init_epoch = self->epoch;
    memset(address, 0xA5, 8); /* opaque */
}

void tkj_simt_mbarrier_invalidate(uint64_t *address, tkj_simt_site site)
{
    thread *self = caller(site);
    const mbarrier *bar = find_mbarrier(self->home, address);
    if (bar == nullptr)
        fault("%s invalidates an mbarrier that is not initialised (%s)", text_of(self),
              text_of(site));
    if (bar->in_flight > 0 || bar->pending_bytes != 0 || !bar->waiting.empty())
        fault("%s invalidates an mbarrier that is waited for (%s)", text_of(self), text_of(site));
    check_access(as_thread(self, __builtin_return_address(0)), address, 8, access::write);
    self->home->mbarriers.erase(address);
}

void tkj_simt_mbarrier_fence_init(tkj_simt_site site)
{
    thread *self = caller(site);
    for (auto &entry : self->home->mbarriers)
        if (entry.second.init_actor == self->actor)
            entry.second.fenced = entry.second.released = true;
}

static void expect(thread *self, mbarrier *bar, uint32_t bytes)
{
    bar->pending_bytes += bytes;
    if (bytes > most_bytes || bar->pending_bytes > most_bytes)
        fault("%s expects too many bytes at an mbarrier (%s)", text_of(self), text_of(self->where));
}

void tkj_simt_mbarrier_arrive(uint64_t *address, uint32_t expect_bytes, tkj_simt_site site)
{
    thread *self = caller(site);
    mbarrier *bar = used_mbarrier(self, address, __builtin_return_address(0));
    if (bar->pending == 0)
        fault("%s arrives at an mbarrier once more than it was initialised for (%s)", text_of(self),
              text_of(site));
    expect(self, bar, expect_bytes);
    learn_all(&bar->published, self);
    bump(self);
    bar->pending--;
    try_complete(bar);
    if (random_number(4) == 0)
        yield();
}

void tkj_simt_mbarrier_expect(uint64_t *address, uint32_t bytes, tkj_simt_site site)
{
    thread *self = caller(site);
    expect(self, used_mbarrier(self, address, __builtin_return_address(0)), bytes);
}

void tkj_simt_mbarrier_wait(uint64_t *address, uint32_t parity, tkj_simt_site site)
{
    thread *self = caller(site);
    mbarrier *bar = used_mbarrier(self, address, __builtin_return_address(0));
    if (!is_shared_of(self->home, address, 8))
        fault("%s waits at an mbarrier of another block (%s)", text_of(self), text_of(site));
    if (parity > 1)
        fault("%s waits for parity %u (%s)", text_of(self), parity, text_of(site));
    if ((bar->phase & 1) == parity) {
        bar->waiting.emplace_back(self, parity);
        wait_for(self, "at an mbarrier");
    }
    acquire(self, bar->done);
}
