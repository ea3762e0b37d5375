/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "context.h"
#include "explain.h"
#include "out.h"
#include "out_human.h"
#include "spec.h"
#include "text.h"
#include "variant_text.h"

static void print_text(const char *text)
{
    warm_out_text(stdout, text, strlen(text));
}

static void print_hit(const warm_answer *answer)
{
    const tkj_entry *entry = &answer->cache.entry;
    char size[WARM_HUMAN_SIZE], age[WARM_HUMAN_SIZE];
    warm_human_bytes(answer->cache.bytes.size, size);
    warm_human_age(answer->cache.note.modified, time(NULL), age);
    printf("%s: ", answer->used ? "used" : "there, too");
    print_text(entry->target);
    printf(", %s, age %s, by ", size, age);
    print_text(entry->toolchain);
}

static void print_answer(const warm_explanation *about, const warm_answer *answer)
{
    fputs("  ", stdout);
    print_text(answer->cache.path);
    fputs(": ", stdout);
    if (answer->cache.outcome == TKJ_CACHE_HIT)
        print_hit(answer);
    else if (answer->too_new)
        printf("one of CUDA %d, but the driver runs CUDA %d", answer->major,
               about->aim.newest_major);
    else
        fputs(answer->cache.note.why, stdout);
    putchar('\n');
}

static void print_kernel(const warm_explanation *about, const warm_explained *kernel,
                         bool preimages)
{
    char purpose[TKJ_VARIANT_TEXT_SIZE];
    char key[2 * TKJ_DIGEST_SIZE + 1];
    tkj_variant_text(&kernel->variant, purpose);
    tkj_digest_format(kernel->build.key.digest, key);
    printf("\nkernel %s: %s\n", kernel->build.entry_name, purpose);
    printf("  key %s, of %s\n", key, kernel->variant.template_name);
    if (preimages) {
        puts("  preimage");
        warm_out_lines(stdout, "    ", kernel->build.key.preimage);
    }
    for (size_t i = 0; i < kernel->answer_count; i++)
        print_answer(about, &kernel->answers[i]);
    if (kernel->answer_count == 0)
        puts(about->context->config.values.mode == TOPK_JIT_MODE_OFF
                 ? "  nowhere: TOPK_JIT_MODE is off"
                 : "  nowhere: there is no directory and no pack");
}

static void print_subject(const warm_explanation *about)
{
    char spec[TKJ_SPEC_TEXT_SIZE];
    char target[TKJ_TARGET_NAME_SIZE];
    tkj_spec_format(&about->spec, spec);
    tkj_target_format(about->aim.order[0], target);
    printf("spec %s\ntarget %s", spec, target);
    if (about->aim.ordinal >= 0)
        printf(", GPU %d, driver for CUDA %d", about->aim.ordinal, about->aim.newest_major);
    putchar('\n');
    if (about->toolchain != NULL) {
        fputs("only entries by ", stdout);
        print_text(about->toolchain[0] != '\0' ? about->toolchain
                                               : "an NVRTC, of which there is none,");
        puts(" count, for TOPK_JIT_TOOLCHAIN is exact");
    }
}

void warm_explain_print(const warm_explanation *about, bool preimages)
{
    char command[WARM_EXPLAIN_COMMAND_SIZE];
    print_subject(about);
    for (size_t i = 0; i < about->kernel_count; i++)
        print_kernel(about, &about->kernels[i], preimages);
    if (about->missing == 0)
        return;
    printf("\n%zu of %zu %s missing; ", about->missing, about->kernel_count,
           tkj_plural(about->kernel_count, "kernel", "kernels"));
    if (warm_explain_advice(about) != NULL) {
        puts(warm_explain_advice(about));
        return;
    }
    warm_explain_command(about, command);
    fputs("this builds them:\n  ", stdout);
    print_text(command);
    putchar('\n');
}
