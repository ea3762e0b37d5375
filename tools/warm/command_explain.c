/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_explain.c @brief topk-jit-warm explain: what a spec means, and where it is. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "complain.h"
#include "create_context.h"
#include "driver.h"
#include "explain.h"
#include "out.h"
#include "out_json.h"
#include "spec.h"

#define TARGETS_MAX 64

typedef struct explain_options {
    tkj_plan_aim aims[TARGETS_MAX]; /* named targets, then devices */
    size_t count;
    bool native;
} explain_options;

static bool is_listed(const explain_options *options, const tkj_plan_aim *aim)
{
    for (size_t i = 0; i < options->count; i++)
        if (options->aims[i].order[0].architecture == aim->order[0].architecture &&
            options->aims[i].order[0].ptx == aim->order[0].ptx &&
            (options->aims[i].ordinal >= 0) == (aim->ordinal >= 0))
            return true;
    return false;
}

/** @return false if there is no room for it */
static bool add(explain_options *options, const tkj_plan_aim *aim)
{
    if (is_listed(options, aim))
        return true;
    if (options->count == TARGETS_MAX)
        return false;
    options->aims[options->count++] = *aim;
    return true;
}

static bool take_arch(const char *word, void *options)
{
    explain_options *out = options;
    tkj_plan_aim aim;
    if (strcmp(word, "native") == 0)
        return out->native = true;
    return tkj_plan_aim_name(word, &aim) == TOPK_JIT_OK && add(out, &aim);
}

static bool arch_words(size_t index, char out[WARM_WORD_SIZE])
{
    if (index > tkj_architecture_count)
        return false;
    if (index == 0)
        snprintf(out, WARM_WORD_SIZE, "native");
    else
        snprintf(out, WARM_WORD_SIZE, "sm_%d", tkj_architectures[index - 1].number);
    return true;
}

/** Adds the devices present, of each architecture one. */
static int add_devices(explain_options *options)
{
    int version, devices = 0;
    const bool is_asked_for = options->native;
    if (tkj_driver_open(&version) != TOPK_JIT_OK ||
        tkj_driver_device_count(&devices) != TOPK_JIT_OK || devices == 0) {
        const char *why = topk_jit_last_error()->message;
        if (is_asked_for)
            warm_complain("--arch native: no GPU: %s", why);
        else
            warm_complain("--arch is missing, such as --arch sm_90: there is no GPU here (%s)",
                          why);
        return is_asked_for ? WARM_EXIT_NO_GPU : WARM_EXIT_USAGE;
    }
    for (int i = 0; i < devices; i++) {
        tkj_plan_aim aim;
        if (tkj_plan_aim_device(i, &aim) != TOPK_JIT_OK) {
            warm_complain("%s", topk_jit_last_error()->message);
            return WARM_EXIT_FAILED;
        }
        if (!add(options, &aim)) {
            warm_complain("more than %d targets", TARGETS_MAX);
            return WARM_EXIT_USAGE;
        }
    }
    return WARM_EXIT_DONE;
}

/** Takes the target's object over. */
static bool append(json_t *targets, const warm_explanation *explanation)
{
    return json_array_append_new(targets, warm_explain_json(explanation)) == 0;
}

/** Explains each target: prints it, or adds it to the list if there is one. */
static int explain_all(const warm_call *call, topk_jit_context *context, const topk_jit_spec *spec,
                       json_t *targets)
{
    const explain_options *options = call->options;
    size_t missing = 0;
    for (size_t i = 0; i < options->count; i++) {
        warm_explanation explanation;
        bool done = warm_explain(context, spec, &options->aims[i], &explanation);
        missing += explanation.missing;
        if (done && call->common.json)
            done = append(targets, &explanation);
        else if (done)
            warm_explain_print(&explanation, call->common.verbose > 0);
        if (done && !call->common.json && i + 1 < options->count)
            putchar('\n');
        warm_explanation_release(&explanation);
        if (!done)
            return WARM_EXIT_FAILED;
    }
    return missing > 0 ? WARM_EXIT_NOT_THERE : WARM_EXIT_DONE;
}

static int explain(const warm_call *call, topk_jit_context *context, const topk_jit_spec *spec)
{
    char text[TKJ_SPEC_TEXT_SIZE];
    json_t *targets = json_array();
    const int code = explain_all(call, context, spec, targets);
    if (code == WARM_EXIT_FAILED) {
        json_decref(targets);
        return code;
    }
    bool printed = true;
    tkj_spec_format(spec, text);
    if (call->common.json)
        printed = warm_out_json(json_pack("{s:s, s:o}", "spec", text, "targets", targets));
    else
        json_decref(targets);
    const int end = warm_out_end(printed);
    return end != WARM_EXIT_DONE ? end : code;
}

static int run(const warm_call *call)
{
    explain_options *options = call->options;
    topk_jit_spec spec;
    if (tkj_spec_parse(call->operands[0], &spec) != TOPK_JIT_OK) {
        warm_complain("%s", topk_jit_last_error()->message);
        return WARM_EXIT_USAGE;
    }
    tkj_spec_make_canonical(&spec);
    if (options->native || options->count == 0) {
        const int code = add_devices(options);
        if (code != WARM_EXIT_DONE)
            return code;
    }
    topk_jit_options wanted = TOPK_JIT_OPTIONS_INIT;
    topk_jit_context *context = warm_context_create(&call->common, &wanted);
    const int code = context != NULL ? explain(call, context, &spec) : WARM_EXIT_FAILED;
    topk_jit_context_destroy(context);
    return code;
}

static const warm_option options[] = {
    {.name = "arch",
     .argument = "LIST",
     .help = "targets, such as sm_90 or native: that of the GPUs present",
     .otherwise = "native",
     .words = arch_words,
     .list = true,
     .take = take_arch},
    {.name = NULL},
};

static const warm_exit exits[] = {
    {WARM_EXIT_DONE, "every kernel is in the cache"},
    {WARM_EXIT_NO_GPU, "--arch native, and there is no GPU"},
    {WARM_EXIT_NOT_THERE, "a kernel is not in the cache"},
    {0, NULL},
};

static const warm_example examples[] = {
    {"topk-jit-warm explain operation=select,layout=paged,topk=2048,page_size=64 --arch sm_90",
     "the kernels of a decode step with pages of 64"},
    {NULL, NULL},
};

const warm_command warm_command_explain = {
    .name = "explain",
    .summary = "says what kernels a spec has, and what each layer of the cache has of them",
    .usage = "SPEC [options]",
    .description =
        "Says which kernels serve a spec, as logs, recordings and messages write it, with its "
        "fields in any order; fields that are not given have their defaults. Of each kernel: what "
        "it is for, its template, its key (with -v and with --json also the text whose digest that "
        "is), and what each layer of the cache answers, in the order in which a server that is "
        "started with these settings would ask. What is missing comes with the command that "
        "builds it. Nothing is compiled, loaded, written or touched."
        "\n\n"
        "For a named target, entries of every CUDA version count; for a GPU, those that its driver "
        "runs.",
    .options = options,
    .options_size = sizeof(explain_options),
    .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
    .operand = {.name = "SPEC", .least = 1, .most = 1},
    .exits = exits,
    .examples = examples,
    .run = run,
};
