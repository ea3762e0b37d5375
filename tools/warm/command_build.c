/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file command_build.c
 * @brief topk-jit-warm: compiles kernels into the cache ahead of time, or runs the command that its
 * first argument names. `--help` is its manual.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_json.h"
#include "build_options.h"
#include "builders.h"
#include "command_inspect.h"
#include "native.h"
#include "product.h"
#include "report.h"

/** A warning says what the failure of a kernel says again; only the compiler's log is more. */
static topk_jit_log_level log_level(const warm_options *options)
{
    if (options->verbose > 0)
        return options->verbose == 1 ? TOPK_JIT_LOG_INFO : TOPK_JIT_LOG_DEBUG;
    return getenv("TOPK_JIT_LOG") == NULL ? TOPK_JIT_LOG_ERROR : 0; /* 0: as it says */
}

static topk_jit_context *create_context(const warm_options *given, warm_report *report)
{
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.log_callback = warm_report_log;
    options.log_user = report;
    options.log_level = log_level(given);
    options.cache_dir = given->cache_dir;
    options.template_dir = given->template_dir;
    options.nvrtc_path = given->nvrtc;
    options.mode = TOPK_JIT_MODE_AUTO; /* to warm is to write, whatever servers here may do */
    topk_jit_context *context = NULL;
    if (topk_jit_context_create(&context, &options) != TOPK_JIT_OK)
        warm_complain("%s", topk_jit_last_error()->message);
    return context;
}

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
    if (options->builders > 0)
        return options->builders;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (size_t)cores : 1;
}

/** @return false if stdout did not take it, such as a full disk */
static bool print_result(const warm_options *options, const warm_kernels *kernels,
                         const warm_summary *summary)
{
    bool ok = true;
    if (options->json)
        ok = warm_json_print(kernels, summary);
    else
        printf("compiled %zu, already there %zu, failed %zu in %.1f s, %llu bytes\n",
               summary->compiled, summary->already_there, summary->failed, summary->seconds,
               (unsigned long long)summary->bytes);
    ok = fflush(stdout) == 0 && ok;
    if (!ok)
        warm_complain("the result could not be written to stdout");
    return ok;
}

static int build_product(const warm_options *options, topk_jit_context *context,
                         warm_report *report)
{
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
    if (!print_result(options, &kernels, &summary) || summary.failed > 0)
        code = WARM_EXIT_FAILED;
cleanup:
    warm_kernels_release(&kernels);
    return code;
}

static int warm(const warm_options *options)
{
    warm_report report;
    warm_report_init(&report);
    topk_jit_context *context = create_context(options, &report);
    int code = WARM_EXIT_FAILED;
    if (context != NULL)
        code = build_product(options, context, &report);
    topk_jit_context_destroy(context);
    warm_report_release(&report);
    return code;
}

static int warm_main(int argc, char **argv)
{
    warm_options options;
    int code = WARM_EXIT_USAGE;
    if (warm_options_parse(argc, argv, &options)) {
        code = WARM_EXIT_DONE;
        if (options.help)
            fputs(warm_help, stdout);
        else if (options.version)
            printf("topk-jit-warm %s\n", topk_jit_version());
        else
            code = warm(&options);
    }
    warm_options_release(&options);
    return code;
}

/** What a first argument that is no option may be. */
static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"inspect", warm_inspect},
};

int main(int argc, char **argv)
{
    static char name[] = "topk-jit-warm"; /* getopt_long's messages begin with it */
    if (argc > 0)
        argv[0] = name;
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            argv[1] = name;
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return warm_main(argc, argv);
}
