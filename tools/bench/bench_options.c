/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_options.h"

#include <getopt.h>
#include <stdint.h>

#include "bench_complain.h"
#include "parse_number.h"

enum {
    FLAG_LISTS = 256, /* + bench_axis */
    FLAG_OTHERS = FLAG_LISTS + BENCH_AXIS_COUNT,
    FLAG_SET = FLAG_OTHERS,
    FLAG_ONLY,
    FLAG_QUICK,
    FLAG_EXPLAIN,
    FLAG_CACHE,
    FLAG_HOST,
    FLAG_DEVICE_FACTS,
    FLAG_JSON,
    FLAG_RUNS,
    FLAG_REPLAYS,
    FLAG_CALLS,
    FLAG_VERIFY,
    FLAG_NO_VERIFY,
    FLAG_VERSION,
};

static const struct option other_flags[] = {
    {"set", required_argument, NULL, FLAG_SET},
    {"only", required_argument, NULL, FLAG_ONLY},
    {"quick", no_argument, NULL, FLAG_QUICK},
    {"explain", no_argument, NULL, FLAG_EXPLAIN},
    {"cache", no_argument, NULL, FLAG_CACHE},
    {"host", no_argument, NULL, FLAG_HOST},
    {"device-facts", required_argument, NULL, FLAG_DEVICE_FACTS},
    {"json", required_argument, NULL, FLAG_JSON},
    {"runs", required_argument, NULL, FLAG_RUNS},
    {"replays", required_argument, NULL, FLAG_REPLAYS},
    {"calls", required_argument, NULL, FLAG_CALLS},
    {"verify", no_argument, NULL, FLAG_VERIFY},
    {"no-verify", no_argument, NULL, FLAG_NO_VERIFY},
    {"version", no_argument, NULL, FLAG_VERSION},
    {"help", no_argument, NULL, 'h'},
};
#define OTHER_FLAG_COUNT (sizeof other_flags / sizeof other_flags[0])

static void list_flags(struct option flags[BENCH_AXIS_COUNT + OTHER_FLAG_COUNT + 1])
{
    for (int axis = 0; axis < BENCH_AXIS_COUNT; axis++)
        flags[axis] = (struct option){bench_axis_name((bench_axis)axis), required_argument, NULL,
                                      FLAG_LISTS + axis};
    for (size_t i = 0; i < OTHER_FLAG_COUNT; i++)
        flags[BENCH_AXIS_COUNT + i] = other_flags[i];
    flags[BENCH_AXIS_COUNT + OTHER_FLAG_COUNT] = (struct option){NULL, 0, NULL, 0};
}

static bool take_number(const char *flag, const char *word, int lowest, int highest, int *out)
{
    int64_t value = 0;
    if (!tkj_parse_number(word, lowest, highest, &value)) {
        bench_complain("--%s: '%s' is no number from %d to %d", flag, word, lowest, highest);
        return false;
    }
    *out = (int)value;
    return true;
}

static bool take_set(const char *word, const bench_set **out)
{
    *out = bench_set_find(word);
    if (*out == NULL)
        bench_complain("--set: '%s' is none of: must, standard, rules", word);
    return *out != NULL;
}

static bool take_flag(int flag, bench_options *out)
{
    switch (flag) {
    case FLAG_SET:
        return take_set(optarg, &out->set);
    case FLAG_ONLY:
        return (out->only = optarg) != NULL;
    case FLAG_QUICK:
        return out->quick = true;
    case FLAG_EXPLAIN:
        return out->explain = true;
    case FLAG_CACHE:
        return out->cache = true;
    case FLAG_HOST:
        return out->host = true;
    case FLAG_DEVICE_FACTS:
        return (out->device_facts = optarg) != NULL;
    case FLAG_JSON:
        return (out->json = optarg) != NULL;
    case FLAG_RUNS:
        return take_number("runs", optarg, 1, BENCH_RUNS_MAX, &out->runs);
    case FLAG_REPLAYS:
        return take_number("replays", optarg, 11, 10000, &out->replays);
    case FLAG_CALLS:
        return take_number("calls", optarg, 10, 10000, &out->calls);
    case FLAG_VERIFY:
        out->verify = BENCH_VERIFY_ALL;
        return true;
    case FLAG_NO_VERIFY:
        out->verify = BENCH_VERIFY_NONE;
        return true;
    case FLAG_VERSION:
        return out->version = true;
    case 'h':
        return out->help = true;
    default:
        return false; /* getopt_long has said what is wrong */
    }
}

static bool take_all(int argc, char **argv, bench_options *out)
{
    struct option flags[BENCH_AXIS_COUNT + OTHER_FLAG_COUNT + 1];
    list_flags(flags);
    for (int flag; (flag = getopt_long(argc, argv, "h", flags, NULL)) != -1;) {
        if (flag >= FLAG_LISTS && flag < FLAG_OTHERS)
            out->lists.words[flag - FLAG_LISTS] = optarg;
        else if (!take_flag(flag, out))
            return false;
        if (out->help || out->version)
            return true;
    }
    if (optind < argc) {
        bench_complain("unexpected argument '%s'; --help lists the options", argv[optind]);
        return false;
    }
    return true;
}

static int lists_given(const bench_lists *lists, int first, int end)
{
    int given = 0;
    for (int axis = first; axis < end; axis++)
        given += lists->words[axis] != NULL;
    return given;
}

bool bench_options_parse(int argc, char **argv, bench_options *out)
{
    *out = (bench_options){.runs = 1, .replays = 15, .calls = 20};
    if (!take_all(argc, argv, out))
        return false;
    if (out->help || out->version)
        return true;
    if (out->device_facts != NULL && !out->explain) {
        bench_complain("--device-facts is for --explain: nothing can be measured on facts");
        return false;
    }
    if ((out->cache || out->host) && (out->cache == out->host || out->explain || out->set != NULL ||
                                      lists_given(&out->lists, 0, BENCH_AXIS_COUNT) > 0)) {
        bench_complain("--cache and --host each measure one thing: they go with --json and nothing "
                       "else");
        return false;
    }
    const bool shape = lists_given(&out->lists, 0, BENCH_AXIS_MODE + 1) > 0;
    const bool any = lists_given(&out->lists, 0, BENCH_AXIS_COUNT) > 0;
    if (out->set != NULL && (shape || (any && out->set->add == bench_add_rules))) {
        bench_complain("--set %s has its own cases; choose among them with --only", out->set->name);
        return false;
    }
    if (out->set == NULL && !any && !out->cache && !out->host)
        out->set = bench_set_find("standard");
    return true;
}

/* ---- what is measured ---- */

/** Every cell of a set with the lists over it. */
static bool expand_set(const bench_options *options, bench_plan *plan)
{
    bench_plan set = {0};
    bool ok = true;
    options->set->add(&set);
    for (size_t i = 0; ok && i < set.cell_count; i++)
        ok = bench_axes_expand(&options->lists, &set.cells[i], plan);
    bench_plan_release(&set);
    return ok;
}

static bool expand(const bench_options *options, bench_plan *plan)
{
    bench_cell base = {.what = BENCH_CASE_INIT};
    base.what.rows = 64;
    base.what.width = 8192;
    if (options->set == NULL)
        return bench_axes_expand(&options->lists, &base, plan);
    if (lists_given(&options->lists, 0, BENCH_AXIS_COUNT) > 0)
        return expand_set(options, plan);
    options->set->add(plan);
    return true;
}

bool bench_options_plan(const bench_options *options, bench_plan *plan)
{
    if (!expand(options, plan))
        return false;
    if (plan->cell_count == 0) {
        bench_complain("no combination makes a legal case: %s", plan->reason);
        return false;
    }
    if (options->only != NULL)
        bench_plan_filter(plan, options->only);
    if (plan->cell_count == 0)
        bench_complain("--only: no case has '%s'", options->only);
    return plan->cell_count > 0;
}
