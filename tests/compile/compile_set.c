/* SPDX-License-Identifier: Apache-2.0 */
#include "compile_set.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "prelude.h"
#include "spec.h"
#include "target.h"
#include "template.h"

#define OLDEST_ARCHITECTURE 75
#define ARCHITECTURE_LIMIT 1000
#define WORKERS_MAX 64

static const int covered_architectures[] = {80, 90, 120};

static bool is_covered(int architecture)
{
    for (size_t i = 0; i < sizeof covered_architectures / sizeof covered_architectures[0]; i++)
        if (covered_architectures[i] == architecture)
            return true;
    return false;
}

/** True if a pair comes first among those of its template and variant. */
static bool is_first(const tkj_covering_pair *pairs, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (tkj_covering_same_variant(&pairs[i].variant, &pairs[index].variant))
            return false;
    return true;
}

static void name_kernel(tkj_compiled *kernel)
{
    char spec[TKJ_SPEC_TEXT_SIZE];
    char target[TKJ_TARGET_NAME_SIZE];
    tkj_spec_format(&kernel->pair.spec, spec);
    tkj_target_format((tkj_target){kernel->architecture, false}, target);
    snprintf(kernel->row.kernel, sizeof kernel->row.kernel, "%s %s %s", spec,
             kernel->pair.variant.name, target);
}

static size_t list_architecture(int architecture, tkj_compiled *out, size_t room)
{
    static tkj_covering_pair pairs[TKJ_COVERING_MAX];
    size_t pair_count = tkj_covering_set(architecture, pairs);
    size_t count = 0;
    for (size_t i = 0; i < pair_count; i++) {
        if (!is_covered(architecture) && !is_first(pairs, i))
            continue;
        if (count == room) {
            fprintf(stderr, "the set has more than %d kernels\n", TKJ_COMPILE_SET_MAX);
            abort();
        }
        out[count] = (tkj_compiled){.pair = pairs[i], .architecture = architecture};
        name_kernel(&out[count++]);
    }
    return count;
}

size_t tkj_compile_set_list(const tkj_nvrtc *nvrtc, tkj_compiled out[TKJ_COMPILE_SET_MAX])
{
    size_t count = 0;
    for (int number = OLDEST_ARCHITECTURE; number < ARCHITECTURE_LIMIT; number++)
        if (tkj_nvrtc_knows(nvrtc, number))
            count += list_architecture(number, out + count, TKJ_COMPILE_SET_MAX - count);
    return count;
}

/** What the workers share. */
typedef struct work {
    const tkj_nvrtc *nvrtc;
    const tkj_source *templates;
    tkj_compiled *kernels;
    size_t count;
    atomic_size_t next;
} work;

static void compile(const work *w, tkj_compiled *kernel)
{
    char entry[TKJ_ENTRY_NAME_SIZE];
    char prelude[TKJ_PRELUDE_SIZE];
    tkj_compile_result result = {0};
    tkj_entry_name(&kernel->pair.spec, &kernel->pair.variant, entry);
    tkj_prelude(&kernel->pair.spec, &kernel->pair.variant, prelude);
    const tkj_compile_job job = {.main = {entry, prelude},
                                 .includes = w->templates,
                                 .include_count = tkj_embedded_template_count,
                                 .architecture = kernel->architecture};
    uint64_t start = tkj_os_now_ns();
    topk_jit_status status = tkj_nvrtc_compile(w->nvrtc, &job, entry, &result);
    kernel->nanoseconds = tkj_os_now_ns() - start;
    if (status != TOPK_JIT_OK)
        kernel->failure = *topk_jit_last_error();
    uint32_t *numbers = kernel->row.numbers;
    numbers[TKJ_REGISTERS] = result.usage.registers;
    numbers[TKJ_STATIC_SHARED] = result.usage.static_shared;
    numbers[TKJ_DYNAMIC_SHARED] = kernel->pair.variant.shared_bytes;
    numbers[TKJ_STACK] = result.usage.stack;
    numbers[TKJ_SPILL] = result.usage.spill;
    numbers[TKJ_OTHER_SPILL] = result.usage.other_spill;
    tkj_free(&tkj_default_allocator, result.payload.bytes);
}

static void *compile_until_none_is_left(void *argument)
{
    work *w = argument;
    size_t index;
    while ((index = atomic_fetch_add(&w->next, 1)) < w->count)
        compile(w, &w->kernels[index]);
    return NULL;
}

static size_t core_count(void)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        return 1;
    int count = CPU_COUNT(&cores);
    return count < WORKERS_MAX ? (size_t)count : WORKERS_MAX;
}

static bool run_workers(work *w)
{
    pthread_t workers[WORKERS_MAX];
    size_t started = 0;
    size_t wanted = core_count();
    while (started < wanted &&
           pthread_create(&workers[started], NULL, compile_until_none_is_left, w) == 0)
        started++;
    for (size_t i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
    return started > 0;
}

bool tkj_compile_set_run(const tkj_nvrtc *nvrtc, tkj_compiled *kernels, size_t count)
{
    static const tkj_logger silent = {0};
    static const tkj_template_search nowhere = {0}; /* so the embedded ones serve */
    tkj_template_set templates;
    bool good =
        tkj_templates_load(&tkj_default_allocator, &silent, &nowhere, &templates) == TOPK_JIT_OK;
    work w = {.nvrtc = nvrtc, .templates = templates.files, .kernels = kernels, .count = count};
    atomic_init(&w.next, 0);
    good = good && run_workers(&w);
    tkj_templates_free(&tkj_default_allocator, &templates);
    return good;
}
