/* SPDX-License-Identifier: Apache-2.0 */
#include "builders.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "os.h"
#include "plan.h"
#include "watch.h"

/* What stops a container waits 10 s before it kills; the slowest kernel takes 3 s. Longer waits are
   for another process that compiles the same one. */
#define GRACE_NS (UINT64_C(5) * 1000000000u)

/* The seconds of a terminal's line go on while a kernel is compiled. */
#define TICK_MS 1000

/** What the builders share. */
typedef struct build_queue {
    topk_jit_context *context;
    warm_kernels *kernels;
    warm_report *report;
    atomic_size_t next;
    atomic_bool stop;
    unsigned flags;
    warm_watch *watch; /* NULL = nobody waits for more than the end of threads */
} build_queue;

/** Causes that lie in the machine or the command line, not in one kernel. */
static bool fails_every_kernel(topk_jit_status status)
{
    switch (status) {
    case TOPK_JIT_OUT_OF_MEMORY:
    case TOPK_JIT_TEMPLATE_NOT_FOUND:
    case TOPK_JIT_TEMPLATE_ABI:
    case TOPK_JIT_TEMPLATE_UNTRUSTED:
    case TOPK_JIT_NVRTC_NOT_FOUND:
    case TOPK_JIT_NVRTC_TOO_OLD:
    case TOPK_JIT_CACHE_FAILED:
        return true;
    default:
        return false;
    }
}

static void build_one(build_queue *queue, warm_kernel *kernel)
{
    const warm_state made =
        (queue->flags & TKJ_WARM_LOOK) != 0 ? WARM_WOULD_COMPILE : WARM_COMPILED;
    tkj_warm_result result = {0};
    warm_report_begun(queue->report, kernel);
    const topk_jit_status status = tkj_plan_warm(queue->context, &kernel->spec, &kernel->variant,
                                                 kernel->target, queue->flags, &result);
    if (status == TOPK_JIT_OK) {
        kernel->state = result.compiled ? made : WARM_ALREADY_THERE;
        kernel->bytes = result.bytes;
        kernel->nanoseconds = result.nanoseconds;
    } else {
        kernel->state = WARM_FAILED;
        kernel->error = strdup(topk_jit_last_error()->message);
        kernel->everywhere = fails_every_kernel(status);
        if (kernel->everywhere)
            atomic_store(&queue->stop, true);
    }
    warm_report_kernel(queue->report, kernel);
}

/** From the last kernel to the first: a spec's last variants take longest (1.5 s, and 0.1 s the
 *  first ones: measured), and no builder should be alone with a long one at the end. */
static void *build_all(void *argument)
{
    build_queue *queue = argument;
    while (!atomic_load(&queue->stop)) {
        const size_t i = atomic_fetch_add(&queue->next, 1);
        if (i >= queue->kernels->count)
            break;
        build_one(queue, &queue->kernels->at[queue->kernels->count - 1 - i]);
    }
    if (queue->watch != NULL)
        warm_watch_tell(queue->watch);
    return NULL;
}

/** Leaves kernels at work as they are. They are published whole or not at all. */
static _Noreturn void abandon(build_queue *queue, int signal)
{
    warm_report_interrupted(queue->report);
    _exit(WARM_EXIT_SIGNAL + signal);
}

/** Until all builders have ended. @return the signal that made them end, 0 if none did */
static int attend(build_queue *queue, size_t builders)
{
    int caught = 0;
    uint64_t deadline = UINT64_MAX;
    while (builders > 0) {
        const int event = warm_watch_wait(queue->watch, TICK_MS);
        if (event == WARM_WATCH_ENDED) {
            builders--;
        } else if (event == WARM_WATCH_TIME || event == SIGWINCH) {
            warm_report_refresh(queue->report);
        } else if (caught == 0) {
            caught = event;
            deadline = tkj_os_now_ns() + GRACE_NS;
            atomic_store(&queue->stop, true);
            warm_report_stopping(queue->report);
        } else {
            abandon(queue, event);
        }
        if (tkj_os_now_ns() >= deadline)
            abandon(queue, caught);
    }
    return caught;
}

static int build_with_threads(build_queue *queue, pthread_t *threads, size_t count)
{
    size_t started = 0;
    int caught = 0;
    while (started < count && pthread_create(&threads[started], NULL, build_all, queue) == 0)
        started++;
    if (started == 0)
        build_all(queue); /* and the library says of each kernel that there is no thread for it */
    else if (queue->watch != NULL)
        caught = attend(queue, started);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return caught;
}

int warm_build(topk_jit_context *context, warm_kernels *kernels, size_t builders, unsigned flags,
               warm_report *report)
{
    if (kernels->count == 0)
        return 0;
    build_queue queue = {.context = context, .kernels = kernels, .report = report, .flags = flags};
    const size_t count = builders < kernels->count ? builders : kernels->count;
    pthread_t *threads = calloc(count, sizeof *threads);
    warm_watch watch;
    warm_report_begin(report, kernels->count);
    if (warm_watch_begin(&watch))
        queue.watch = &watch;
    const int caught = build_with_threads(&queue, threads, threads != NULL ? count : 0);
    if (queue.watch != NULL)
        warm_watch_end(&watch);
    free(threads);
    return caught;
}
