/* SPDX-License-Identifier: Apache-2.0 */
#include "builders.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

/** What the builders share. */
typedef struct build_queue {
    topk_jit_context *context;
    warm_kernels *kernels;
    warm_report *report;
    atomic_size_t next;
    atomic_bool stop;
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
    tkj_warm_result result = {0};
    const topk_jit_status status =
        tkj_plan_warm(queue->context, &kernel->spec, &kernel->variant, kernel->target, &result);
    if (status == TOPK_JIT_OK) {
        kernel->state = result.compiled ? WARM_COMPILED : WARM_ALREADY_THERE;
        kernel->bytes = result.bytes;
        kernel->nanoseconds = result.nanoseconds;
    } else {
        kernel->error = strdup(topk_jit_last_error()->message);
        kernel->everywhere = fails_every_kernel(status);
        if (kernel->everywhere)
            atomic_store(&queue->stop, true);
    }
    warm_report_kernel(queue->report, kernel);
}

static void *build_all(void *argument)
{
    build_queue *queue = argument;
    while (!atomic_load(&queue->stop)) {
        const size_t i = atomic_fetch_add(&queue->next, 1);
        if (i >= queue->kernels->count)
            break;
        build_one(queue, &queue->kernels->at[i]);
    }
    return NULL;
}

void warm_build(topk_jit_context *context, warm_kernels *kernels, size_t builders,
                warm_report *report)
{
    if (kernels->count == 0)
        return;
    build_queue queue = {.context = context, .kernels = kernels, .report = report};
    size_t helpers = (builders < kernels->count ? builders : kernels->count) - 1;
    pthread_t *threads = calloc(helpers + 1, sizeof *threads);
    size_t started = 0;
    warm_report_begin(report, kernels->count);
    /* this thread builds too, so a machine that gives no threads is only slower */
    while (threads != NULL && started < helpers &&
           pthread_create(&threads[started], NULL, build_all, &queue) == 0)
        started++;
    build_all(&queue);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}
