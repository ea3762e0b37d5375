/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"
#include "guarded.h"
#include "judge.h"

/* Scores that are judged unless all are asked for: well under a tenth of a second. */
#define SCORES_JUDGED ((int64_t)1 << 21)

/** Positions are an output of their own where the indices are something else. */
static bool needs_raw(const bench_input *input)
{
    return input->call.what.layout != TOPK_JIT_LAYOUT_PLAIN;
}

/** Outputs on the host, by slot; NULL = not written. */
typedef struct outputs {
    void *at[BENCH_SLOTS];
} outputs;

static void poison(const bench_input *input)
{
    for (int slot = BENCH_INDICES; slot < BENCH_SLOTS; slot++)
        tkj_gpu_fill(input->gpu->stream, bench_input_data(input, (bench_slot)slot),
                     TKJ_GUARDED_POISON, bench_call_bytes(&input->call, (bench_slot)slot));
}

static void download(const bench_input *input, outputs *out)
{
    tkj_gpu_synchronize(input->gpu->stream);
    for (int s = BENCH_INDICES; s < BENCH_SLOTS; s++) {
        const bench_slot slot = (bench_slot)s;
        const size_t size = bench_call_bytes(&input->call, slot);
        if (!bench_call_has(&input->call, slot) && !(slot == BENCH_RAW_INDICES && needs_raw(input)))
            continue;
        out->at[slot] = bench_allocate(size);
        tkj_gpu_download(out->at[slot], bench_input_data(input, slot), size);
    }
}

/** An output from a row on; NULL if there is none. */
static void *from_row(const bench_input *input, const outputs *out, bench_slot slot, int64_t row)
{
    const size_t row_bytes = bench_call_bytes(&input->call, slot) / (size_t)input->call.what.rows;
    return out->at[slot] != NULL ? (char *)out->at[slot] + (size_t)row * row_bytes : NULL;
}

/** A vector from a row on. */
static tkj_vector vector_from(const int32_t *vector, int64_t row)
{
    return (tkj_vector){vector != NULL ? vector + row : NULL, 1};
}

/** Rows first .. first + count - 1, whose scores are the distinct rows from 0 on. */
static bool judge_select(const bench_input *input, const outputs *out, int64_t first, int64_t count,
                         char *message)
{
    const bench_case *what = &input->call.what;
    const bench_rows *rows = &input->rows;
    const topk_jit_spec spec = bench_case_spec(what);
    int32_t *raw = from_row(input, out, BENCH_RAW_INDICES, first);
    void *indices = from_row(input, out, BENCH_INDICES, first);
    const tkj_select_params params = {
        .score = rows->scores,
        .score_stride = what->width,
        .rows = count,
        .width = what->width,
        .out_rows = count,
        .lengths = rows->lengths + first,
        .lengths_stride_b = 1,
        .next_n = 1,
        .compress_ratio = 1,
        .row_starts = vector_from(rows->starts, first),
        .page_table = rows->table,
        .page_table_stride = rows->entries,
        .page_table_rows = rows->tables,
        .page_table_width = rows->entries,
        .row_to_batch = vector_from(rows->row_to_table, first),
        .offsets = vector_from(rows->offsets, first),
        .indices = indices,
        .indices_stride = what->topk,
        .raw_indices = raw != NULL ? raw : indices,
        .raw_indices_stride = what->topk,
        .values = from_row(input, out, BENCH_VALUES, first),
        .values_stride = what->topk,
    };
    return tkj_judge_select(&spec, &params, message);
}

static bool judge_fast_topk(const bench_input *input, const outputs *out, int64_t first,
                            int64_t count, char *message)
{
    const bench_case *what = &input->call.what;
    const topk_jit_spec spec = bench_case_spec(what);
    const tkj_fast_topk_params params = {
        .in = input->rows.scores,
        .values = from_row(input, out, BENCH_VALUES, first),
        .indices = from_row(input, out, BENCH_INDICES, first),
        .rows = count,
        .size = what->width,
        .in_stride = 1,
        .values_stride = 1,
        .indices_stride = 1,
        .outer_dims = 1,
        .outer = {{count, what->width, what->topk, what->topk}},
    };
    return tkj_judge_fast_topk(&spec, &params, message);
}

/** How many rows from the first on are judged. */
static int64_t judged_rows(const bench_case *what, bench_verify rows)
{
    const int64_t some = SCORES_JUDGED / what->length;
    if (rows == BENCH_VERIFY_ALL || what->rows <= some)
        return what->rows;
    return some > 1 ? some : 1;
}

static bool judge(const bench_input *input, const outputs *out, bench_verify rows,
                  bench_result *result)
{
    const bench_case *what = &input->call.what;
    const int64_t distinct = input->rows.distinct;
    const int64_t end = judged_rows(what, rows);
    const bool select = what->operation == TOPK_JIT_OPERATION_SELECT;
    char message[TKJ_JUDGE_MESSAGE_SIZE] = "";
    result->verified = true;
    for (int64_t first = 0; result->verified && first < end; first += distinct) {
        const int64_t count = distinct < end - first ? distinct : end - first;
        result->verified =
            (select ? judge_select : judge_fast_topk)(input, out, first, count, message);
        if (!result->verified)
            snprintf(result->message, sizeof result->message, "from row %" PRId64 " on: %s", first,
                     message);
    }
    return result->verified;
}

bool bench_verify_input(bench_input *input, bench_verify rows, bench_result *result)
{
    outputs out = {0};
    bool right = true;
    poison(input);
    if (bench_input_enqueue(input, needs_raw(input), input->gpu->stream) != TOPK_JIT_OK) {
        result->outcome = BENCH_FAILED;
        snprintf(result->message, sizeof result->message, "%s", topk_jit_last_error()->message);
        return false;
    }
    tkj_gpu_synchronize(input->gpu->stream);
    if (rows != BENCH_VERIFY_NONE) {
        download(input, &out);
        right = judge(input, &out, rows, result);
    }
    if (!right)
        result->outcome = BENCH_WRONG;
    input->next = 0;
    for (int slot = 0; slot < BENCH_SLOTS; slot++)
        free(out.at[slot]);
    return right;
}
