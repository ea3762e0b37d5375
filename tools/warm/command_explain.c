/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_explain.c @brief topk-jit-warm explain: what a spec means, and where it is. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "complain.h"
#include "create_context.h"
#include "devices.h"
#include "explain.h"
#include "out.h"
#include "out_json.h"
#include "spec.h"
#include "targets_option.h"

#define AIMS_MAX (TKJ_TARGETS_MAX + WARM_DEVICES_MAX)

typedef struct explain_options {
    warm_target_set targets;
    bool native;
} explain_options;

static bool take_arch(const char *word, void *options)
{
    explain_options *out = options;
    if (strcmp(word, "native") == 0)
        return out->native = true;
    return warm_target_set_take(&out->targets, word);
}

/** What is explained: named targets, then devices. */
typedef struct explain_aims {
    tkj_plan_aim at[AIMS_MAX];
    size_t count;
} explain_aims;

/** Adds what the command line names. */
static void add_named(const warm_target_set *targets, explain_aims *out)
{
    for (size_t i = 0; i < targets->count; i++) {
        char name[TKJ_TARGET_NAME_SIZE];
        tkj_target_format(targets->at[i], name);
        out->count += tkj_plan_aim_name(name, &out->at[out->count]) == TOPK_JIT_OK;
    }
}

/** Whether there is a device of the same architecture. */
static bool has_device(const explain_aims *aims, const tkj_plan_aim *device)
{
    for (size_t i = 0; i < aims->count; i++)
        if (aims->at[i].ordinal >= 0 && warm_target_same(aims->at[i].order[0], device->order[0]))
            return true;
    return false;
}

/** Adds the devices present, of each architecture one. */
static int add_devices(bool is_asked_for, explain_aims *out)
{
    int devices;
    const char *why = warm_devices(&devices);
    if (why != NULL) {
        if (is_asked_for)
            warm_complain("--arch native: no GPU: %s", why);
        else
            warm_complain("--arch is missing, such as --arch sm_90: there is no GPU here (%s)",
                          why);
        return WARM_EXIT_NO_GPU;
    }
    for (int i = 0; i < devices; i++) {
        tkj_plan_aim aim;
        if (tkj_plan_aim_device(i, &aim) != TOPK_JIT_OK) {
            warm_complain("%s", topk_jit_last_error()->message);
            return WARM_EXIT_FAILED;
        }
        if (!has_device(out, &aim))
            out->at[out->count++] = aim;
    }
    return WARM_EXIT_DONE;
}

static int list_aims(const explain_options *options, explain_aims *out)
{
    out->count = 0;
    add_named(&options->targets, out);
    if (options->native || out->count == 0)
        return add_devices(options->native, out);
    return WARM_EXIT_DONE;
}

/** Takes the target's object over. */
static bool append(json_t *targets, const warm_explanation *explanation)
{
    return json_array_append_new(targets, warm_explain_json(explanation)) == 0;
}

/** Explains each target: prints it, or adds it to the list if there is one. */
static int explain_all(const warm_call *call, topk_jit_context *context, const topk_jit_spec *spec,
                       const explain_aims *aims, json_t *targets)
{
    size_t missing = 0;
    for (size_t i = 0; i < aims->count; i++) {
        warm_explanation explanation;
        bool done = warm_explain(context, spec, &aims->at[i], &explanation);
        missing += explanation.missing;
        if (done && call->common.json)
            done = append(targets, &explanation);
        else if (done)
            warm_explain_print(&explanation, call->common.verbose > 0);
        if (done && !call->common.json && i + 1 < aims->count)
            putchar('\n');
        warm_explanation_release(&explanation);
        if (!done)
            return WARM_EXIT_FAILED;
    }
    return missing > 0 ? WARM_EXIT_NOT_THERE : WARM_EXIT_DONE;
}

static int explain(const warm_call *call, topk_jit_context *context, const topk_jit_spec *spec,
                   const explain_aims *aims)
{
    char text[TKJ_SPEC_TEXT_SIZE];
    json_t *targets = json_array();
    const int code = explain_all(call, context, spec, aims, targets);
    if (code == WARM_EXIT_FAILED) {
        json_decref(targets);
        return code;
    }
    bool printed = true;
    tkj_spec_format(spec, text);
    if (call->common.json)
        printed = warm_out_json(json_pack("{s:s, s:s, s:o}", "version", topk_jit_version(), "spec",
                                          text, "targets", targets));
    else
        json_decref(targets);
    const int end = warm_out_end(printed);
    return end != WARM_EXIT_DONE ? end : code;
}

static int run(const warm_call *call)
{
    topk_jit_spec spec;
    explain_aims aims;
    if (tkj_spec_parse(call->operands[0], &spec) != TOPK_JIT_OK) {
        warm_complain("%s", topk_jit_last_error()->message);
        return WARM_EXIT_USAGE;
    }
    tkj_spec_make_canonical(&spec);
    int code = list_aims(call->options, &aims);
    if (code != WARM_EXIT_DONE)
        return code;
    topk_jit_options wanted = TOPK_JIT_OPTIONS_INIT;
    topk_jit_context *context = warm_context_create(&call->common, &wanted);
    code = context != NULL ? explain(call, context, &spec, &aims) : WARM_EXIT_FAILED;
    topk_jit_context_destroy(context);
    return code;
}

static const warm_option options[] = {
    {.name = "arch",
     .argument = "LIST",
     .help = "targets, such as sm_90 or native: that of the GPUs present",
     .otherwise = "native",
     .words = warm_target_words_native,
     .list = true,
     .take = take_arch},
    {.name = NULL},
};

static const warm_exit exits[] = {
    {WARM_EXIT_DONE, "every kernel is in the cache"},
    {WARM_EXIT_NO_GPU, "--arch is native or not given, and there is no GPU"},
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
        "it is for, its template, its key (only with -v or --json also its preimage: the text "
        "whose digest it is), and what each layer of the cache answers, in the order in which a "
        "server that is "
        "started with these settings would ask. What is missing comes with the command that "
        "builds it, unless TOPK_JIT_MODE is off, where none could help. Nothing is compiled, "
        "loaded, written or touched."
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
