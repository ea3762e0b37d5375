/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file machine.h
 * @brief The executor's model of one launch: threads, warps, blocks, clusters, and who runs next.
 *
 * One launch at a time, in `running`. Threads are fibers that run until they wait; every choice
 * comes from the seed. What a thread knows of the others (vector_clock.h) is kept here, what was
 * accessed in accesses.h.
 */
#ifndef TKJ_SIMT_MACHINE_H
#define TKJ_SIMT_MACHINE_H

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "accesses.h"
#include "fiber.h"
#include "simt_device.h"
#include "vector_clock.h"

namespace simt
{

static constexpr uint32_t warp_size = 32;
static constexpr uint32_t barrier_count = 16; /* of a block; 0 is the block barrier */

struct block;
struct cluster;
struct warp;

/** One thread of the grid. */
struct thread {
    fiber context;
    block *home = nullptr;
    warp *group = nullptr;
    uint32_t index = 0; /* in the block */
    uint32_t lane = 0;
    uint32_t actor = 0;     /* in the clocks of the cluster */
    uint32_t epoch = 1;     /* rises when others may learn what it did so far */
    vector_clock_ptr extra; /* what it knows beyond its block and warp */

    const char *doing = nullptr; /* what it waits for; nullptr = it runs or is ready */
    tkj_simt_site where = {nullptr, 0};
    bool done = false;
    bool waited = false;           /* for the kernels that this one depends on */
    bool cluster_arrived = false;  /* and has not yet waited */
    uint32_t cluster_phase = 0;    /* that it arrived in */
    uint32_t cluster_phases = 0;   /* that it has waited for */
    std::vector<uint32_t> fences;  /* epochs at which it made writes visible to the async proxy */
    bool fence_covers_all = false; /* one since it last learnt of others' writes */

    uint64_t value = 0; /* given to a warp operation */
    uint32_t operand = 0;
    uint64_t result = 0;

    uint32_t bulk_actor = 0;            /* of its copies out of shared memory; 0 = none yet */
    std::vector<uint32_t> bulk_pending; /* copies that are not complete, by group */
    uint32_t bulk_group = 0;            /* the one that is open */
    uint32_t bulk_most = 0;             /* groups that its wait allows to be pending */
    uint32_t bulk_waited = 0;           /* groups that it has waited for */
};

/** 32 threads, and the operation in which they meet. */
struct warp {
    thread *lanes[warp_size] = {};
    uint32_t known[warp_size] = {}; /* epochs that the last warp barrier published */
    uint32_t arrived = 0;           /* one bit a lane */
    uint32_t exited = 0;
    tkj_simt_warp_op op = TKJ_SIMT_WARP_BARRIER;
    tkj_simt_site where = {nullptr, 0};
};

/** A block barrier, named or not. */
struct meeting {
    uint32_t expected = 0; /* 0 = nobody has arrived */
    uint32_t arrived = 0;
    tkj_simt_site where = {nullptr, 0};
    vector_clock published;
    std::vector<thread *> waiting;
};

/** An mbarrier, known by its address. */
struct mbarrier {
    uint32_t actor = 0; /* of the async operations that complete on it */
    uint32_t expected = 0;
    uint32_t pending = 0;      /* arrivals of this phase */
    int64_t pending_bytes = 0; /* expected less delivered */
    uint32_t phase = 0;
    uint32_t in_flight = 0;  /* async operations that will complete on it */
    uint32_t init_actor = 0; /* the thread that initialised it, and when */
    uint32_t init_epoch = 0;
    bool fenced = false;      /* its initialisation is visible to other proxies */
    bool released = false;    /* and to other blocks, */
    uint32_t released_in = 0; /* from this cluster phase on; 0 = not yet */
    vector_clock published;   /* by arrivals of this phase */
    vector_clock_ptr done;    /* by the last complete phase */
    std::vector<std::pair<thread *, uint32_t>> waiting; /* with the parity */
};

struct block {
    cluster *home = nullptr;
    uint32_t rank = 0;  /* in the cluster */
    uint32_t index = 0; /* in the grid */
    std::unique_ptr<unsigned char[]> shared;
    shadow shared_shadow;
    std::vector<thread> threads;
    std::vector<warp> warps;
    vector_clock_ptr base; /* what every thread knows since the last block barrier */
    meeting barriers[barrier_count];
    std::map<uint64_t *, mbarrier> mbarriers;
    vector_clock remote_users; /* epochs of the last access of each thread of another block */
    uint32_t live = 0;
};

struct cluster {
    uint32_t id = 0;   /* from 1 */
    uint32_t slot = 0; /* its stacks */
    std::deque<block> blocks;
    uint32_t actors = 0; /* threads, then mbarriers and bulk groups */
    uint32_t live = 0;
    uint32_t arrived = 0; /* at the cluster barrier */
    uint32_t phase = 0;   /* cluster barriers passed */
    vector_clock published;
    vector_clock_ptr done;
    std::vector<thread *> waiting;
};

/** A copy or store that the hardware does when it likes. */
struct async_op {
    block *to_block = nullptr; /* of the mbarrier; nullptr = out of shared memory */
    uint64_t *barrier = nullptr;
    thread *issuer = nullptr;
    uint32_t group = 0;
    unsigned char *to = nullptr;
    const unsigned char *from = nullptr; /* nullptr = the value */
    uint64_t value = 0;
    uint32_t bytes = 0;
    vector_clock known;  /* to the issuer when it was issued */
    bool fenced = false; /* so were all the writes that it knew of */
    place pc = nullptr;
};

/** Order in which ready threads run. */
enum class order { random, oldest_first, newest_first, greedy_warp };

struct machine {
    const tkj_simt_launch *launch = nullptr;
    uint64_t random_state = 0;
    order policy = order::random;
    uint32_t preempt_every = 0; /* accesses, on average; 0 = threads run until they wait */
    uint32_t preempt_left = 0;
    uint32_t resident_most = 1; /* clusters at a time */

    fiber main;
    thread *current = nullptr;
    std::deque<thread *> ready;
    std::vector<async_op> in_flight;
    std::vector<std::unique_ptr<cluster>> resident;
    std::vector<uint32_t> to_start; /* numbers of clusters, in their order */
    std::vector<uint32_t> free_slots;
    uint32_t started = 0;
    std::vector<unsigned char> params;
    std::vector<region> regions;

    bool failed = false;
    char message[TKJ_SIMT_MESSAGE_SIZE] = "";
};

/** The launch that runs; nullptr outside of launches. */
extern machine *running;

/** Thrown by a fault where there is no thread of the grid to leave. */
struct fault_outside {
};

/** Ends the launch with a message. */
[[noreturn]] void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Text for messages, in a ring of static buffers: "thread 3 of block 0", "radix.cuh:70". */
const char *text_of(const thread *t);
const char *text_of(tkj_simt_site where);

/** The thread that runs, after noting where it is. */
thread *caller(tkj_simt_site where);

uint64_t random_number(uint64_t below);

/** The next thread to run; nullptr if none is ready or something else is due. */
thread *next_thread(machine *m, const thread *last);
/** Hands the processor to the next thread, or to the loop of the launch. */
void leave(thread *self, bool last);
/** Lets others run until this thread is made ready. */
void wait_for(thread *self, const char *what);
void make_ready(thread *t);
/** Lets others run first, perhaps. */
void yield();

/** Is an access of the cluster's actor at this epoch ordered before what the thread does now? */
inline bool knows(const thread *t, uint32_t actor, uint32_t epoch)
{
    const block *home = t->home;
    if (actor == t->actor)
        return true;
    if (home->base != nullptr && epoch_in(*home->base, actor) >= epoch)
        return true;
    if (actor / warp_size == t->actor / warp_size && t->group->known[actor % warp_size] >= epoch)
        return true;
    return t->extra != nullptr && epoch_in(*t->extra, actor) >= epoch;
}

/** Does the memory belong to this block's shared memory? */
inline bool is_shared_of(const block *b, const void *address, size_t bytes)
{
    size_t offset =
        reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(b->shared.get());
    size_t size = running->launch->kernel->shared_bytes;
    return offset < size && bytes <= size - offset;
}

/** All that a thread knows, itself included. */
void learn_all(vector_clock *into, const thread *t);
/** The thread now knows what the vector_clock does. */
void acquire(thread *t, const vector_clock_ptr &from);
/** What the thread did so far may now be learnt by others. */
void bump(thread *t);

/** Threads that stop here for good: checks what they leave behind. */
void check_exit(thread *t);
void check_retired(block *b);

/** The block of the thread's cluster whose shared memory has 8 bytes there; nullptr = none. */
block *owner_of(const thread *self, const void *address);
/** nullptr = there is no mbarrier at this address. */
mbarrier *find_mbarrier(block *b, uint64_t *address);
/** An mbarrier that is initialised, and known to be by the thread. */
mbarrier *known_mbarrier(thread *self, uint64_t *address);
/** Ends the phase if nothing is missing. */
void try_complete(mbarrier *bar);

/** Runs one async operation that is in flight. */
void complete_async(machine *m);

/** Picks up what the sanitizers have reported since the last call. */
void check_sanitizers();
void silence_sanitizers(bool silent);

} // namespace simt

#endif /* TKJ_SIMT_MACHINE_H */
