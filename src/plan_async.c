/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_async.h"

#include <string.h>

#include "memory.h"
#include "plan.h"
#include "status.h"

/** Specs that somebody asked for. */
typedef struct preparation {
    tkj_task task;
    topk_jit_context *context;
    CUstream stream;
    void *cuda_context; /* of the thread that asked, if the stream is NULL */
    topk_jit_prepare_callback callback;
    void *user;
    size_t count;
    topk_jit_spec specs[];
} preparation;

static topk_jit_status prepare_all(const preparation *work)
{
    topk_jit_status status = tkj_driver_enter_context(work->cuda_context);
    if (status != TOPK_JIT_OK)
        return status;
    for (size_t i = 0; status == TOPK_JIT_OK && i < work->count; i++) {
        const tkj_prepared *prepared;
        status = tkj_plan_prepare(work->context, &work->specs[i], work->stream, &prepared);
    }
    tkj_driver_leave_context(work->cuda_context);
    return status;
}

static void run(tkj_task *task, bool cancelled)
{
    static const topk_jit_error none;
    preparation *work = (preparation *)task;
    topk_jit_status status = cancelled
                                 ? tkj_fail(TOPK_JIT_CANCELLED, "the context is being destroyed")
                                 : prepare_all(work);
    if (work->callback != NULL)
        work->callback(work->user, status, status == TOPK_JIT_OK ? &none : topk_jit_last_error());
    tkj_free(&work->context->config.allocator, work);
}

topk_jit_status tkj_plan_prepare_async(topk_jit_context *context, const topk_jit_spec *specs,
                                       size_t count, CUstream stream,
                                       topk_jit_prepare_callback callback, void *user)
{
    const topk_jit_allocator *allocator = &context->config.allocator;
    int version;
    void *cuda_context = NULL;
    topk_jit_status status = tkj_driver_open(&version);
    if (status == TOPK_JIT_OK && stream == NULL)
        status = tkj_driver_current_context(&cuda_context);
    if (status != TOPK_JIT_OK)
        return status;
    preparation *work = tkj_alloc_zeroed(allocator, 1, sizeof *work + count * sizeof *specs);
    if (work == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    *work = (preparation){{NULL, run}, context, stream, cuda_context, callback, user, count};
    if (count > 0)
        memcpy(work->specs, specs, count * sizeof *specs);
    status = tkj_worker_add(&context->worker, &work->task);
    if (status != TOPK_JIT_OK)
        tkj_free(allocator, work);
    return status;
}
