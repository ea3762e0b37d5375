/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_build.c @brief topk-jit-warm build: compiles kernels into the cache ahead of time.
 */
#include <stdio.h>
#include <unistd.h>

#include "build_json.h"
#include "build_options.h"
#include "builders.h"
#include "commands.h"
#include "complain.h"
#include "create_context.h"
#include "native.h"
#include "out.h"
#include "out_json.h"
#include "product.h"
#include "report.h"

/** The GPUs named on the command line, then those present if it says so. */
static int list_gpus(const warm_options *options, topk_jit_context *context, warm_gpu *out,
                     size_t *count)
{
    for (*count = 0; *count < options->target_count; ++*count)
        out[*count] = (warm_gpu){options->targets[*count].architecture, options->targets[*count]};
    if (!options->native)
        return WARM_EXIT_DONE;
    size_t present = 0;
    const int code = warm_native(context, out + *count, &present);
    *count += present;
    return code;
}

static size_t builder_count(const warm_options *options)
{
    if (options->jobs > 0)
        return options->jobs;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (size_t)cores : 1;
}

static int print_result(const warm_call *call, const warm_kernels *kernels,
                        const warm_summary *summary)
{
    if (call->common.json)
        return warm_out_end(warm_out_json(warm_build_json(kernels, summary)));
    printf("compiled %zu, already there %zu, failed %zu in %.1f s, %llu bytes\n", summary->compiled,
           summary->already_there, summary->failed, summary->seconds,
           (unsigned long long)summary->bytes);
    return warm_out_end(true);
}

static int build_product(const warm_call *call, topk_jit_context *context, warm_report *report)
{
    const warm_options *options = call->options;
    warm_gpu gpus[WARM_TARGETS_MAX + WARM_NATIVE_MAX];
    size_t gpu_count = 0;
    warm_kernels kernels = {0};
    int code = list_gpus(options, context, gpus, &gpu_count);
    if (code == WARM_EXIT_DONE)
        code = warm_product(options, gpus, gpu_count, &kernels);
    if (code != WARM_EXIT_DONE)
        goto cleanup;
    warm_build(context, &kernels, builder_count(options), report);
    const warm_summary summary = warm_report_end(report, &kernels);
    code = print_result(call, &kernels, &summary);
    if (summary.failed > 0)
        code = WARM_EXIT_FAILED;
cleanup:
    warm_kernels_release(&kernels);
    return code;
}

static int run(const warm_call *call)
{
    const warm_options *options = call->options;
    if (options->target_count == 0 && !options->native) {
        warm_complain("--arch is missing, such as --arch sm_90 or --arch native");
        return WARM_EXIT_USAGE;
    }
    warm_report report;
    warm_report_init(&report);
    topk_jit_options wanted = TOPK_JIT_OPTIONS_INIT;
    wanted.log_callback = warm_report_log;
    wanted.log_user = &report;
    wanted.template_dir = options->template_dir[0] != '\0' ? options->template_dir : NULL;
    wanted.nvrtc_path = options->nvrtc;
    wanted.mode = TOPK_JIT_MODE_AUTO; /* to warm is to write, whatever servers here may do */
    topk_jit_context *context = warm_context_create(&call->common, &wanted);
    int code = WARM_EXIT_FAILED;
    if (context != NULL)
        code = build_product(call, context, &report);
    topk_jit_context_destroy(context);
    warm_report_release(&report);
    return code;
}

static const warm_exit exits[] = {
    {WARM_EXIT_DONE, "every kernel is in the cache"},
    {WARM_EXIT_FAILED, "a kernel could not be compiled or stored, or the result not be written"},
    {WARM_EXIT_NO_GPU, "--arch native, and there is no GPU"},
    {0, NULL},
};

static const warm_example examples[] = {
    {"topk-jit-warm --arch sm_90,sm_100 --dtype float32,bfloat16 --layout plain,paged "
     "--page-size 64",
     "what two kinds of GPU need for pages of 64 and for plain rows"},
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
        "Operation fast_topk has none of the options from --layout to --check: together with "
        "select "
        "they apply to select only. A value that applies to nothing is an error."
        "\n\n"
        "With --json the object has a summary and a list of kernels, each with its spec, target, "
        "variant, status (compiled, already_there or failed), bytes, seconds and error.",
    .options = warm_build_options,
    .options_size = sizeof(warm_options),
    .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
    .exits = exits,
    .examples = examples,
    .run = run,
};
