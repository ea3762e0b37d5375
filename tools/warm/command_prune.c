/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_prune.c @brief topk-jit-warm prune: removes entries from the cache directory. */
#include "amount.h"
#include "commands.h"
#include "complain.h"
#include "create_context.h"
#include "out.h"
#include "out_json.h"
#include "prune.h"
#include "unreadable.h"

WARM_TAKE_FLAG(warm_prune_wish, all)
WARM_TAKE_FLAG(warm_prune_wish, dry_run)

static bool take_arch(const char *word, void *options)
{
    return warm_target_set_take(&((warm_prune_wish *)options)->filter.targets, word);
}

static bool take_max_bytes(const char *value, void *options)
{
    warm_prune_wish *given = options;
    return given->has_max_bytes = warm_parse_size(value, &given->max_bytes);
}

static bool take_older_than(const char *value, void *options)
{
    warm_prune_wish *given = options;
    return given->has_older_than = warm_parse_age(value, &given->older_than);
}

/* @return false after one line on stderr */
static bool is_clear(const warm_prune_wish *given)
{
    const bool some =
        given->has_max_bytes || given->has_older_than || given->filter.targets.count > 0;
    if (!some && !given->all) {
        warm_complain("nothing says which entries are to go (expected: --max-bytes, --older-than, "
                      "--arch or --all)");
        return false;
    }
    if (some && given->all) {
        warm_complain("--all leaves nothing for --max-bytes, --older-than and --arch to choose");
        return false;
    }
    return true;
}

static int print(const warm_call *call, const warm_prune_view *view)
{
    const int code = warm_out_end(call->common.json ? warm_out_json(warm_prune_json(view))
                                                    : warm_prune_text(view));
    const bool unreadable = warm_unreadable_complain(view->place);
    return view->failed > 0 || unreadable ? WARM_EXIT_FAILED : code;
}

static int prune(const warm_call *call, const warm_inventory *inventory)
{
    const warm_place *place = warm_inventory_user(inventory);
    warm_prune_view view;
    if (place == NULL)
        return warm_no_cache_directory();
    if (warm_place_is_missed(place))
        return WARM_EXIT_NOT_THERE;
    const int code =
        warm_prune(call->options, inventory, place, &view) ? print(call, &view) : WARM_EXIT_FAILED;
    warm_prune_release(&view);
    return code;
}

static int run(const warm_call *call)
{
    if (!is_clear(call->options))
        return WARM_EXIT_USAGE;
    const topk_jit_options wanted = TOPK_JIT_OPTIONS_INIT;
    warm_inventory inventory;
    const int code = warm_inventory_open(&call->common, &wanted, false, &inventory)
                         ? prune(call, &inventory)
                         : WARM_EXIT_FAILED;
    warm_inventory_release(&inventory);
    return code;
}

static const warm_option options[] = {
    {.name = "max-bytes",
     .argument = "SIZE",
     .group = "What goes",
     .help = "the entries whose use is longest ago, until so much is left: 4096, 500M, 2G",
     .expected = "bytes, or a number with K, M, G or T",
     .take = take_max_bytes},
    {.name = "older-than",
     .argument = "AGE",
     .help = "only entries that nobody used for so long: 90s, 15m, 12h, 30d, 4w",
     .expected = "a number with s, m, h, d or w",
     .take = take_older_than},
    {.name = "arch",
     .argument = "LIST",
     .help = "only entries for these: sm_90, compute_90",
     .words = warm_target_words,
     .list = true,
     .take = take_arch},
    {.name = "all", .help = "every entry", .take = take_all},
    {.name = "dry-run",
     .letter = 'n',
     .group = "How",
     .help = "say what would go, remove nothing",
     .take = take_dry_run},
    {.name = NULL},
};

static const warm_exit exits[] = {
    {WARM_EXIT_DONE, "what was to go is gone, also if nothing was"},
    {WARM_EXIT_FAILED, "an entry could not be removed, or a directory not be looked into"},
    {WARM_EXIT_NOT_THERE, "no cache directory: --cache-dir is not there, or there is no home"},
    {0, NULL},
};

static const warm_example examples[] = {
    {"topk-jit-warm prune --older-than 30d --dry-run", "what nobody used for a month"},
    {"topk-jit-warm prune --arch sm_80 --max-bytes 500M",
     "kernels for sm_80, until the cache has 500 MiB"},
    {NULL, NULL},
};

const warm_command warm_command_prune = {
    .name = "prune",
    .summary = "removes entries from the cache directory",
    .usage = "[--max-bytes SIZE] [--older-than AGE] [options]",
    .description =
        "Removes entries from the cache directory; what is only read is never touched. Where "
        "several options say what goes, an entry goes if all of them allow it."
        "\n\n"
        "Safe beside servers and builds: an entry that is used or written meanwhile stays, and who "
        "has read one keeps it. Use is noted once an hour. An entry that is corrupt has no target "
        "that --arch could meet; verify --repair removes it.",
    .options = options,
    .options_size = sizeof(warm_prune_wish),
    .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
    .exits = exits,
    .examples = examples,
    .run = run,
};
