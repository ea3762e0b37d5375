/* SPDX-License-Identifier: Apache-2.0 */
/** @file worker.h @brief A thread that does pieces of work in their order. Thread-safe. */
#ifndef TKJ_WORKER_H
#define TKJ_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <topk_jit/topk_jit.h>

/** A piece of work: the first member of a larger struct, allocated by whoever hands it in. */
typedef struct tkj_task {
    struct tkj_task *next;
    /** Does it, or is told that it will not be done; releases the task. */
    void (*run)(struct tkj_task *task, bool cancelled);
} tkj_task;

typedef struct tkj_worker {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    tkj_task *first;
    tkj_task *last;
    pthread_t thread;
    bool started;
    bool stopping;
} tkj_worker;

/** Also in a child after fork, which does not have the thread: what it had to do is forgotten. */
void tkj_worker_init(tkj_worker *worker);

/** Queues a task. The thread is started by the first one, with all signals blocked.
 *  @return TOPK_JIT_OK, TOPK_JIT_OS_FAILED (the task stays the caller's) */
topk_jit_status tkj_worker_add(tkj_worker *worker, tkj_task *task);

/** Waits for the task under way, cancels the others, on this thread, and releases everything. */
void tkj_worker_stop(tkj_worker *worker);

#endif /* TKJ_WORKER_H */
