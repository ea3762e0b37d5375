/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_explain.h"

#include <inttypes.h>
#include <stdio.h>

#include "bench_call.h"
#include "problem.h"
#include "target.h"

/** Addresses that are as aligned as an allocation's and far from one another: nobody reads them. */
static void place(bench_call *call)
{
    for (int slot = 0; slot < BENCH_SLOTS; slot++)
        call->tensors[slot].tensor.data = (void *)((uintptr_t)(slot + 1) << 42);
}

/** The spec and shape of a case, by the library's own reading of its call. */
static topk_jit_status read_case(const bench_case *what, topk_jit_spec *spec, tkj_call_shape *shape)
{
    bench_call call;
    topk_jit_status status;
    bench_call_init(&call, what);
    place(&call);
    if (what->operation == TOPK_JIT_OPERATION_SELECT) {
        tkj_select_problem problem;
        const topk_jit_select_args args = bench_call_args(&call, false);
        status = tkj_problem_select(&args, &problem);
        *spec = problem.spec;
        *shape = problem.shape;
        shape->workspace_size = tkj_variants_workspace(spec, shape);
    } else {
        tkj_fast_topk_problem problem;
        status = tkj_problem_fast_topk(&call.tensors[BENCH_SCORE].tensor, what->topk, -1,
                                       &call.tensors[BENCH_VALUES].tensor,
                                       &call.tensors[BENCH_INDICES].tensor, &problem);
        *spec = problem.spec;
        *shape = problem.shape;
    }
    return status;
}

bool bench_explain(const bench_case *what, const tkj_device_facts *facts, bench_launch *out)
{
    const int architecture = tkj_target_known_below(facts->compute_major, facts->compute_minor);
    topk_jit_spec spec;
    tkj_call_shape shape;
    tkj_variant variants[TKJ_VARIANTS_MAX];
    if (architecture == 0 || read_case(what, &spec, &shape) != TOPK_JIT_OK)
        return false;
    const size_t count = tkj_variants_enumerate(&spec, architecture, variants);
    out->variant = variants[tkj_variants_choose(&spec, variants, count, &shape, facts)];
    out->variant_count = count;
    out->cluster = tkj_variants_cluster(&out->variant, &shape, facts);
    const uint32_t parts = tkj_variants_parts(&out->variant, &shape, facts);
    out->first_grid = parts > 1 ? tkj_variants_parts_grid(&shape, parts) : 0;
    out->grid = tkj_variants_grid(&shape, out->cluster,
                                  tkj_variants_lines(&out->variant, &shape, facts).lines);
    return true;
}

/** "132", or "16+1" of two launches. */
static void format_grid(const bench_launch *launch, char text[24])
{
    if (launch->first_grid > 0)
        snprintf(text, 24, "%" PRIu32 "+%" PRIu32, launch->first_grid, launch->grid);
    else
        snprintf(text, 24, "%" PRIu32, launch->grid);
}

static void print_launch(const bench_case *what, const tkj_device_facts *facts)
{
    char text[BENCH_CASE_TEXT_SIZE];
    char grid[24];
    bench_launch launch;
    bench_case_format(what, text);
    if (bench_explain(what, facts, &launch)) {
        format_grid(&launch, grid);
        printf("%-18s %8s %8" PRIu32 " %9" PRIu32 "  %s\n", launch.variant.name, grid,
               launch.variant.threads, launch.variant.shared_bytes, text);
    } else {
        printf("%-18s %8s %8s %9s  %s\n", "not supported", "", "", "", text);
    }
}

void bench_explain_print(const bench_plan *plan, const char *name, const tkj_device_facts *facts)
{
    printf("%s: sm_%d%d, %d SMs, %d bytes of shared memory a block, %d MiB of L2, %s\n", name,
           facts->compute_major, facts->compute_minor, facts->sm_count, facts->shared_per_block,
           facts->l2_bytes >> 20, facts->cluster_max > 0 ? "clusters" : "no clusters");
    printf("%-18s %8s %8s %9s  %s\n", "variant", "grid", "threads", "shared", "case");
    for (size_t i = 0; i < plan->cell_count; i++)
        print_launch(&plan->cells[i].what, facts);
}
