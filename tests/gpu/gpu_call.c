/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_call.h"

#include <stdio.h>
#include <string.h>

topk_jit_context *tkj_gpu_context;
CUstream tkj_gpu_stream;

static const DLTensor *device_tensor(tkj_gpu_call *g, tkj_call_slot slot)
{
    return g->blocks[slot] != NULL ? &g->tensors[slot] : NULL;
}

static topk_jit_select_args device_args(tkj_gpu_call *g)
{
    topk_jit_select_args args = g->call->args;
    args.score = device_tensor(g, TKJ_CALL_SCORE);
    args.lengths = device_tensor(g, TKJ_CALL_LENGTHS);
    args.row_starts = device_tensor(g, TKJ_CALL_ROW_STARTS);
    args.row_ends = device_tensor(g, TKJ_CALL_ROW_ENDS);
    args.page_table = device_tensor(g, TKJ_CALL_PAGE_TABLE);
    args.page_table_row_starts = device_tensor(g, TKJ_CALL_PAGE_TABLE_ROW_STARTS);
    args.cu_seqlens_q = device_tensor(g, TKJ_CALL_CU_SEQLENS_Q);
    args.row_to_batch = device_tensor(g, TKJ_CALL_ROW_TO_BATCH);
    args.topk_indices_offset = device_tensor(g, TKJ_CALL_OFFSET);
    args.indices = device_tensor(g, TKJ_CALL_INDICES);
    args.raw_indices = device_tensor(g, TKJ_CALL_RAW_INDICES);
    args.values = device_tensor(g, TKJ_CALL_VALUES);
    return args;
}

void tkj_gpu_call_create(tkj_gpu_call *g, tkj_call *call)
{
    memset(g, 0, sizeof *g);
    g->call = call;
    for (int slot = 0; slot < TKJ_CALL_TENSORS; slot++) {
        const tkj_call_tensor *tensor = &call->tensors[slot];
        if (tensor->memory.block == NULL)
            continue;
        g->blocks[slot] = tkj_gpu_allocate(tensor->memory.block_size);
        g->tensors[slot] = tensor->tensor;
        g->tensors[slot].device = (DLDevice){kDLCUDA, 0};
        g->tensors[slot].data = g->blocks[slot];
        g->tensors[slot].byte_offset = tensor->memory.data_offset;
    }
    g->args = device_args(g);
    if (call->spec.check)
        g->args.check_counts = tkj_gpu_allocate(sizeof call->check_counts);
    assert_int_equal(topk_jit_select_workspace_size(&g->args, &g->args.workspace_size),
                     TOPK_JIT_OK);
    if (g->args.workspace_size > 0)
        g->args.workspace = tkj_gpu_allocate(g->args.workspace_size);
    tkj_gpu_call_upload(g);
}

void tkj_gpu_call_destroy(tkj_gpu_call *g)
{
    for (int slot = 0; slot < TKJ_CALL_TENSORS; slot++)
        if (g->blocks[slot] != NULL)
            tkj_gpu_free(g->blocks[slot]);
    if (g->args.check_counts != NULL)
        tkj_gpu_free(g->args.check_counts);
    if (g->args.workspace != NULL)
        tkj_gpu_free(g->args.workspace);
}

void tkj_gpu_call_upload(tkj_gpu_call *g)
{
    for (int slot = 0; slot < TKJ_CALL_TENSORS; slot++)
        if (g->blocks[slot] != NULL)
            tkj_gpu_upload(g->blocks[slot], g->call->tensors[slot].memory.block,
                           g->call->tensors[slot].memory.block_size);
    if (g->args.check_counts != NULL)
        tkj_gpu_upload(g->args.check_counts, g->call->check_counts, sizeof g->call->check_counts);
}

void tkj_gpu_call_download(tkj_gpu_call *g)
{
    tkj_gpu_synchronize(tkj_gpu_stream);
    for (int slot = TKJ_CALL_INDICES; slot < TKJ_CALL_TENSORS; slot++)
        if (g->blocks[slot] != NULL)
            tkj_gpu_download(g->call->tensors[slot].memory.block, g->blocks[slot],
                             g->call->tensors[slot].memory.block_size);
    if (g->args.check_counts != NULL)
        tkj_gpu_download(g->call->check_counts, g->args.check_counts, sizeof g->call->check_counts);
}

void tkj_gpu_call_run(tkj_call *call, const char *name)
{
    char message[TKJ_JUDGE_MESSAGE_SIZE];
    tkj_gpu_call g;
    tkj_call_poison(call);
    tkj_gpu_call_create(&g, call);
    if (topk_jit_select(tkj_gpu_context, &g.args, tkj_gpu_stream) != TOPK_JIT_OK)
        fail_msg("%s: %s", name, topk_jit_last_error()->message);
    tkj_gpu_call_download(&g);
    tkj_gpu_call_destroy(&g);
    if (!tkj_call_judge(call, message))
        fail_msg("%s: %s", name, message);
}

static int create_all(void **state)
{
    (void)state;
    tkj_gpu_stream = tkj_gpu_stream_create();
    return topk_jit_context_create(&tkj_gpu_context, NULL) == TOPK_JIT_OK ? 0 : -1;
}

static int destroy_all(void **state)
{
    (void)state;
    topk_jit_context_destroy(tkj_gpu_context);
    tkj_gpu_stream_destroy(tkj_gpu_stream);
    return 0;
}

int tkj_gpu_main(const char *group, const struct CMUnitTest *tests, size_t count)
{
    if (!tkj_gpu_open(0)) {
        printf("%zu tests\n", count);
        return 77;
    }
    return _cmocka_run_group_tests(group, tests, count, create_all, destroy_all);
}
