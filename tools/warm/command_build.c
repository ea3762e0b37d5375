/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_build.c @brief topk-jit-warm build: compiles kernels into the cache ahead of time.
 */
#include <signal.h>
#include <stdio.h>

#include "build_json.h"
#include "build_options.h"
#include "builders.h"
#include "capacity.h"
#include "commands.h"
#include "create_context.h"
#include "every_target.h"
#include "evicted.h"
#include "kernels.h"
#include "native.h"
#include "out.h"
#include "out_json.h"
#include "plan.h"
#include "prelude.h"
#include "report.h"
#include "sources.h"

#define GPUS_MAX (TKJ_TARGETS_MAX + WARM_NATIVE_MAX + WARM_EVERY_MAX)

/** The GPUs named on the command line, then those present and all if it says so. */
static int list_gpus(const warm_options *options, topk_jit_context *context, warm_gpu *out,
                     size_t *count)
{
    for (*count = 0; *count < options->targets.count; ++*count)
        out[*count] = warm_gpu_of(options->targets.at[*count]);
    int code = WARM_EXIT_DONE;
    size_t more = 0;
    if (options->native)
        code = warm_native(context, out + *count, &more);
    *count += more;
    more = 0;
    if (options->every && code == WARM_EXIT_DONE)
        code = warm_every_target(context, out + *count, &more);
    *count += more;
    return code;
}

static size_t builder_count(const warm_options *options)
{
    return options->jobs > 0 ? options->jobs : warm_capacity("");
}

static unsigned build_flags(const warm_options *options)
{
    return (options->refresh ? (unsigned)TKJ_WARM_REFRESH : 0) |
           (options->dry_run ? (unsigned)TKJ_WARM_LOOK : 0);
}

/** What --dry-run is for: one line a kernel, in the order of the command line. */
static void print_kernels(const warm_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++) {
        const warm_kernel *kernel = &kernels->at[i];
        char entry[TKJ_ENTRY_NAME_SIZE];
        char target[TKJ_TARGET_NAME_SIZE];
        if (kernel->state == WARM_FAILED || kernel->state == WARM_NOT_TRIED)
            continue; /* was said, or so was what ended the run */
        tkj_entry_name(&kernel->spec, &kernel->variant, entry);
        tkj_target_format(kernel->target, target);
        printf("%s %s for %s\n", warm_state_words(kernel->state), entry, target);
    }
}

/** How many kernels nobody came to, and how many did not stay, if there are any. */
static void print_others(const warm_summary *summary)
{
    if (summary->not_tried > 0)
        printf(", not tried %zu", summary->not_tried);
    if (summary->evicted > 0)
        printf(", removed again %zu", summary->evicted);
}

static int print_result(const warm_call *call, const warm_kernels *kernels,
                        const warm_summary *summary)
{
    if (call->common.json)
        return warm_out_end(warm_out_json(warm_build_json(kernels, summary)));
    if (((const warm_options *)call->options)->dry_run) {
        print_kernels(kernels);
        printf("would compile %zu, already there %zu, failed %zu", summary->would_compile,
               summary->already_there, summary->failed);
        print_others(summary);
        putchar('\n');
        return warm_out_end(true);
    }
    printf("compiled %zu, already there %zu, failed %zu", summary->compiled, summary->already_there,
           summary->failed);
    print_others(summary);
    printf(" in %.1f s, %llu bytes\n", summary->seconds, (unsigned long long)summary->bytes);
    return warm_out_end(true);
}

static int list_kernels(const warm_options *options, topk_jit_context *context, warm_kernels *out)
{
    warm_gpu gpus[GPUS_MAX];
    size_t gpu_count = 0;
    warm_pairs pairs = {0};
    int code = list_gpus(options, context, gpus, &gpu_count);
    if (code == WARM_EXIT_DONE)
        code = warm_sources(options, (warm_gpus){gpus, gpu_count}, &pairs);
    if (code == WARM_EXIT_DONE)
        code = warm_kernels_of(&pairs, out);
    warm_pairs_release(&pairs);
    return code;
}

static int build_kernels(const warm_call *call, topk_jit_context *context, warm_report *report)
{
    const warm_options *options = call->options;
    warm_kernels kernels = {0};
    int code = list_kernels(options, context, &kernels);
    if (code != WARM_EXIT_DONE)
        goto cleanup;
    const int caught =
        warm_build(context, &kernels, builder_count(options), build_flags(options), report);
    warm_report_close(report);
    if (caught == 0)
        warm_evicted_find(context, &kernels);
    else
        warm_report_interrupted(report);
    const warm_summary summary = warm_report_sum(report, &kernels);
    if (caught == 0 || call->common.json)
        code = print_result(call, &kernels, &summary);
    if (code == WARM_EXIT_DONE && summary.would_compile > 0)
        code = WARM_EXIT_NOT_THERE;
    if (summary.failed + summary.evicted > 0)
        code = WARM_EXIT_FAILED;
    if (caught != 0)
        code = WARM_EXIT_SIGNAL + caught;
cleanup:
    warm_kernels_release(&kernels);
    return code;
}

static int run(const warm_call *call)
{
    const warm_options *options = call->options;
    if (!warm_sources_allow(options))
        return WARM_EXIT_USAGE;
    warm_report report;
    warm_report_init(&report);
    report.quiet = options->dry_run;
    topk_jit_options wanted = TOPK_JIT_OPTIONS_INIT;
    wanted.log_callback = warm_report_log;
    wanted.log_user = &report;
    wanted.template_dir = options->template_dir[0] != '\0' ? options->template_dir : NULL;
    wanted.nvrtc_path = options->nvrtc[0] != '\0' ? options->nvrtc : NULL;
    wanted.mode = TOPK_JIT_MODE_AUTO; /* to warm is to write, whatever servers here may do */
    topk_jit_context *context = warm_context_create(&call->common, &wanted);
    int code = WARM_EXIT_FAILED;
    if (context != NULL)
        code = build_kernels(call, context, &report);
    topk_jit_context_destroy(context);
    warm_report_release(&report);
    return code;
}

static const warm_exit exits[] = {
    {WARM_EXIT_DONE, "every kernel is in the cache"},
    {WARM_EXIT_FAILED, "a kernel was not compiled, stored or kept, or the result not written"},
    {WARM_EXIT_USAGE, "the command line, or a file that it names, is wrong: nothing was done"},
    {WARM_EXIT_NO_GPU, "--arch native, and there is no GPU"},
    {WARM_EXIT_NOT_THERE, "--dry-run, and kernels are missing: something would be compiled"},
    {WARM_EXIT_SIGNAL + SIGHUP, "as 130, by SIGHUP"},
    {WARM_EXIT_INTERRUPTED, "interrupted by SIGINT; the same command goes on where it ended"},
    {WARM_EXIT_SIGNAL + SIGTERM, "as 130, by SIGTERM"},
    {0, NULL},
};

static const warm_example examples[] = {
    {"topk-jit-warm --arch sm_90,sm_100 --dtype float32,bfloat16 --layout plain,paged "
     "--page-size 64",
     "what two kinds of GPU need for pages of 64 and for plain rows"},
    {"topk-jit-warm --arch sm_90,sm_100 --model-config config.json", "what a model's server needs"},
    {"topk-jit-warm --manifest kernels.json --recording server.specs --arch sm_90",
     "what is listed, and what servers met"},
    {"topk-jit-warm --arch all --dry-run",
     "what would be compiled for every GPU, and is not there"},
    {"topk-jit-warm --arch native", "the default kernels for the GPUs of this machine"},
    {NULL, NULL},
};

const warm_command warm_command_build = {
    .name = "build",
    .summary = "compiles kernels into the cache ahead of time",
    .usage = "--arch LIST [options]",
    .description =
        "Compiles top-k kernels into the cache, so that a server which starts later finds them and "
        "needs no compiler. Needs NVRTC, but no driver and no GPU. Every LIST is separated by "
        "commas; all combinations of all lists are built, each kernel once."
        "\n\n"
        "What is built is the union of all files and options, each kernel once. Options that "
        "describe kernels, from --topk to --check, are a product of their own, which is built if "
        "one of them is given or no file is; with --model-config they stand in place of what the "
        "model says. A file is never partly used: if anything in it is wrong, nothing is built."
        "\n\n"
        "--model-config reads a config.json of at most 4 MiB. A model is known by its keys: one "
        "with index_topk selects that many (DeepSeek V3.2, DeepSeek V4, GLM-5), also where it is "
        "in text_config, language_config or llm_config. Built is what its server calls: scores "
        "float32, whatever torch_dtype says, indices int32, layouts paged and ragged; pages of 1 "
        "and of 64 tokens, or, where compress_ratios or compress_rates.compressed_sparse_attention "
        "says that keys are compressed, of 256 tokens, thus 256 / ratio keys. --dtype, --layout, "
        "--page-size, --index-dtype, --tie-break and the options after it replace these; --topk "
        "and --operation are refused beside it. max_position_embeddings chooses no kernel: it is "
        "checked against what int32 indices reach. index_n_heads and index_head_dim are checked to "
        "be numbers. A model that selects in two steps (index_kpool, candidate_topk_blocks), or "
        "that has no index_topk, is refused."
        "\n\n"
        "--manifest reads JSON of at most 4 MiB, whose schema is installed as "
        "share/topk_jit/manifest.schema.json:"
        "\n\n"
        "  {\"version\": 1,\n"
        "   \"targets\": [\"sm_90\", \"sm_100\"],\n"
        "   \"kernels\": [{\"spec\": \"layout=paged,topk=2048,page_size=64\"},\n"
        "               {\"spec\": \"operation=fast_topk,topk=8,index=int64\",\n"
        "                \"targets\": [\"compute_90\"]}]}"
        "\n\n"
        "A kernel is built for its own targets, else for those of the manifest, else for --arch; "
        "all of them may be left out where they are not needed. Fields of a spec that are left out "
        "have their default. "
        "Unknown keys, and keys that are there twice, are errors."
        "\n\n"
        "--recording reads a file of at most 16 MiB with one spec a line, as servers with "
        "TOPK_JIT_RECORD append them; a line that is not as they write it is an error."
        "\n\n"
        "Operation fast_topk has none of the options from --layout to --check: together with "
        "select "
        "they apply to select only. A value that applies to nothing is an error."
        "\n\n"
        "A kernel that is in the cache is not compiled again, so a run that was interrupted goes "
        "on "
        "where it ended. --refresh compiles all and replaces what is there, each kernel at once "
        "and "
        "whole. Runs at the same time share the work: each kernel is compiled by one of them. What "
        "counts as there depends on the major version of the NVRTC found, so --dry-run needs one, "
        "too; its exit status says whether all is there, with --refresh whether there is anything "
        "to compile."
        "\n\n"
        "Where the kernels are more than the cache directory may hold (TOPK_JIT_CACHE_MAX_BYTES), "
        "those stored first are removed again: the run fails, and says how many bytes they have."
        "\n\n"
        "Without -j the cores and the memory that may be used are those of the machine, less what "
        "affinity and control groups of version 2 take away; those of version 1 are not read. A -j "
        "that is given is obeyed as it is."
        "\n\n"
        "SIGINT, SIGTERM and SIGHUP end a run after the kernels at work, a second one at once. "
        "However it ends, the cache is valid."
        "\n\n"
        "With --json the object has a summary and a list of kernels, each with its spec, target, "
        "variant, status (compiled, already_there, would_compile, failed, not_tried: the run ended "
        "before it, or evicted: it was removed again), bytes, seconds and error. It comes also "
        "after a signal, if the kernels "
        "at work ended in time."
        "\n\n"
        "Progress goes to stderr: on a terminal one line that is rewritten, elsewhere, or if "
        "NO_COLOR is set or TERM is dumb, one line a kernel.",
    .options = warm_build_options,
    .options_size = sizeof(warm_options),
    .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
    .exits = exits,
    .examples = examples,
    .run = run,
};
