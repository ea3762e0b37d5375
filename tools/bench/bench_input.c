/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_input.h"

#include "bench_complain.h"
#include "gpu.h"

/* Nodes of a graph that rotates over copies of tiny cases: it is instantiated in a fraction of a
   second. */
#define COPIES_MAX 16384

/* Copies keep the alignment of allocations. */
#define COPY_ALIGNMENT 256

int bench_input_copies(const bench_case *what, const tkj_device_facts *facts)
{
    if (what->mode == BENCH_HOT)
        return 1;
    const int64_t bytes = bench_case_scores(what) * (int64_t)bench_case_score_size(what);
    const int64_t copies = 2 * (int64_t)facts->l2_bytes / bytes + 1;
    if (copies > COPIES_MAX)
        bench_complain("a case is too small to be cold: %d buffers of it fit twice in L2",
                       COPIES_MAX);
    if (copies < 2)
        return 2;
    return copies < COPIES_MAX ? (int)copies : COPIES_MAX;
}

/* ---- device memory ---- */

/** At least one byte more: the floor reads whole 16 bytes. */
static size_t round_up(size_t size)
{
    return (size + COPY_ALIGNMENT) / COPY_ALIGNMENT * COPY_ALIGNMENT;
}

/** Extends what the first `done` bytes hold to all of them, over and over. */
static void repeat(CUstream stream, void *memory, size_t done, size_t size)
{
    while (done < size) {
        const size_t part = done < size - done ? done : size - done;
        tkj_gpu_copy(stream, (char *)memory + done, memory, part);
        done += part;
    }
}

/** Allocates `copies` of a tensor, of which the host has the first `known` bytes.
 *  @return bytes from copy to copy */
static size_t upload(CUstream stream, bench_call *call, bench_slot slot, const void *host,
                     size_t known, int copies)
{
    const size_t bytes = bench_call_bytes(call, slot);
    const size_t copy_bytes = round_up(bytes);
    char *memory = tkj_gpu_allocate(copy_bytes * (size_t)copies);
    call->tensors[slot].tensor.data = memory;
    if (host == NULL)
        return copy_bytes;
    tkj_gpu_upload(memory, host, known);
    repeat(stream, memory, known, bytes);
    tkj_gpu_fill(stream, memory + bytes, 0, copy_bytes - bytes);
    repeat(stream, memory, copy_bytes, copy_bytes * (size_t)copies);
    return copy_bytes;
}

static void upload_vector(CUstream stream, bench_call *call, bench_slot slot, const int32_t *host)
{
    if (host != NULL)
        upload(stream, call, slot, host, bench_call_bytes(call, slot), 1);
}

/** What a selection asks for. */
static void add_workspace(bench_call *call)
{
    const topk_jit_select_args args = bench_call_args(call, false);
    size_t size = 0;
    if (call->what.operation == TOPK_JIT_OPERATION_SELECT)
        bench_require(topk_jit_select_workspace_size(&args, &size) == TOPK_JIT_OK,
                      "a case is refused");
    if (size > 0)
        call->workspace = tkj_gpu_allocate(size);
    call->workspace_size = size;
}

void bench_input_create(bench_input *input, const bench_gpu *gpu, const bench_case *what)
{
    bench_rows *rows = &input->rows;
    bench_call *call = &input->call;
    *input = (bench_input){.gpu = gpu, .copies = bench_input_copies(what, &gpu->facts)};
    bench_rows_create(rows, what);
    bench_call_init(call, what);
    const size_t row_bytes = (size_t)what->width * bench_case_score_size(what);
    input->score_bytes = upload(gpu->stream, call, BENCH_SCORE, rows->scores,
                                (size_t)rows->distinct * row_bytes, input->copies);
    upload_vector(gpu->stream, call, BENCH_LENGTHS, rows->lengths);
    upload_vector(gpu->stream, call, BENCH_ROW_STARTS, rows->starts);
    upload_vector(gpu->stream, call, BENCH_OFFSETS, rows->offsets);
    upload_vector(gpu->stream, call, BENCH_ROW_TO_BATCH, rows->row_to_batch);
    if (rows->table != NULL)
        input->table_bytes =
            upload(gpu->stream, call, BENCH_TABLE, rows->table,
                   (size_t)(rows->tables * rows->entries) * sizeof *rows->table, input->copies);
    for (int slot = BENCH_INDICES; slot < BENCH_SLOTS; slot++)
        upload(gpu->stream, call, (bench_slot)slot, NULL, 0, 1);
    add_workspace(call);
}

void bench_input_destroy(bench_input *input)
{
    for (int slot = 0; slot < BENCH_SLOTS; slot++)
        if (input->call.tensors[slot].tensor.data != NULL)
            tkj_gpu_free(input->call.tensors[slot].tensor.data);
    if (input->call.workspace != NULL)
        tkj_gpu_free(input->call.workspace);
    bench_rows_destroy(&input->rows);
}

void *bench_input_data(const bench_input *input, bench_slot slot)
{
    return input->call.tensors[slot].tensor.data;
}

topk_jit_status bench_input_enqueue(bench_input *input, bool raw, CUstream stream)
{
    const uint64_t copy = (uint64_t)input->next;
    topk_jit_context *context = input->gpu->context;
    bench_tensor *tensors = input->call.tensors;
    tensors[BENCH_SCORE].tensor.byte_offset = copy * input->score_bytes;
    tensors[BENCH_TABLE].tensor.byte_offset = copy * input->table_bytes;
    input->next = (input->next + 1) % input->copies;
    if (input->call.what.operation == TOPK_JIT_OPERATION_FAST_TOPK)
        return topk_jit_fast_topk(context, &tensors[BENCH_SCORE].tensor, input->call.what.topk, -1,
                                  &tensors[BENCH_VALUES].tensor, &tensors[BENCH_INDICES].tensor,
                                  stream);
    const topk_jit_select_args args = bench_call_args(&input->call, raw);
    return topk_jit_select(context, &args, stream);
}
