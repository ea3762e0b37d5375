/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_prune.c @brief topk-jit-warm prune: removes entries from the cache directory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "amount.h"
#include "commands.h"
#include "complain.h"
#include "create_context.h"
#include "evict.h"
#include "out.h"
#include "out_json.h"
#include "prune_view.h"
#include "rows.h"

typedef struct prune_options {
    warm_filter filter;
    int64_t max_bytes;
    int64_t older_than; /* seconds */
    bool has_max_bytes;
    bool has_older_than;
    bool all;
    bool dry_run;
} prune_options;

WARM_TAKE_FLAG(prune_options, all)
WARM_TAKE_FLAG(prune_options, dry_run)

static bool take_arch(const char *word, void *options)
{
    return warm_filter_take_arch(word, &((prune_options *)options)->filter);
}

static bool take_max_bytes(const char *value, void *options)
{
    prune_options *given = options;
    return given->has_max_bytes = warm_parse_size(value, &given->max_bytes);
}

static bool take_older_than(const char *value, void *options)
{
    prune_options *given = options;
    return given->has_older_than = warm_parse_age(value, &given->older_than);
}

/* @return false after one line on stderr */
static bool is_clear(const prune_options *given)
{
    const bool some =
        given->has_max_bytes || given->has_older_than || given->filter.target_count > 0;
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

/* ---- which entries may go ---- */

static bool is_old_enough(const prune_options *given, const warm_item *item, time_t now)
{
    time_t age;
    return !given->has_older_than ||
           (!__builtin_sub_overflow(now, item->modified.tv_sec, &age) && age > given->older_than);
}

static bool is_for_target(const prune_options *given, const warm_inventory *inventory,
                          const warm_item *item)
{
    if (given->filter.target_count == 0)
        return true;
    tkj_blob bytes;
    tkj_entry entry;
    warm_row row = {.inventory = inventory, .item = item, .entry = &entry};
    if (warm_item_read(inventory, item, &bytes, &entry, &row.flaw) != TKJ_CACHE_HIT)
        return false; /* nobody knows for which */
    const bool meant = warm_filter_meets(&given->filter, &row);
    warm_item_release(inventory, &bytes);
    return meant;
}

/* The entries of the user's directory that may go, the one whose use is longest ago first.
   @return NULL without memory */
static tkj_walk_entry *choose(const prune_options *given, const warm_inventory *inventory,
                              const warm_place *place, size_t *count)
{
    const time_t now = time(NULL);
    *count = 0;
    tkj_walk_entry *chosen = calloc(place->count + 1, sizeof *chosen); /* none is no error */
    for (size_t i = place->first; chosen != NULL && i < place->first + place->count; i++) {
        const warm_item *item = &inventory->items[i];
        if (is_old_enough(given, item, now) && is_for_target(given, inventory, item))
            chosen[(*count)++] = *item->file;
    }
    if (chosen != NULL)
        tkj_evict_order(chosen, *count);
    return chosen;
}

/* ---- removing ---- */

/* What becomes of an entry, and what of it is to be said. */
static warm_pruned remove_entry(const prune_options *given, int root_fd, const tkj_walk_entry *file)
{
    warm_pruned pruned = {.file = file, .fate = WARM_PRUNED_REMOVED};
    if (given->dry_run)
        return pruned;
    const tkj_removal removal = tkj_evict_file(root_fd, file->name, file->size, file->modified);
    if (removal == TKJ_REMOVAL_STAYS) {
        pruned.fate = errno == 0 ? WARM_PRUNED_USED : WARM_PRUNED_FAILED;
        pruned.error = errno;
    } else if (removal == TKJ_REMOVAL_GONE) {
        pruned.fate = WARM_PRUNED_GONE;
    }
    return pruned;
}

/* Removes what may go until no more than is wanted is left. */
static void prune_files(const prune_options *given, int root_fd, const tkj_walk_entry *files,
                        size_t count, warm_prune_view *view)
{
    const uint64_t most = given->has_max_bytes ? (uint64_t)given->max_bytes : 0;
    for (size_t i = 0; i < count && (!given->has_max_bytes || view->left_bytes > most); i++) {
        const warm_pruned pruned = remove_entry(given, root_fd, &files[i]);
        view->at[view->count++] = pruned;
        const bool left = pruned.fate == WARM_PRUNED_USED || pruned.fate == WARM_PRUNED_FAILED;
        view->left -= !left;
        view->left_bytes -= left ? 0 : files[i].size;
        view->removed += pruned.fate == WARM_PRUNED_REMOVED;
        view->removed_bytes += pruned.fate == WARM_PRUNED_REMOVED ? files[i].size : 0;
        view->failed += pruned.fate == WARM_PRUNED_FAILED;
    }
}

static int print(const warm_call *call, const warm_prune_view *view)
{
    const int code = warm_out_end(call->common.json ? warm_out_json(warm_prune_json(view))
                                                    : warm_prune_text(view));
    return view->failed > 0 ? WARM_EXIT_FAILED : code;
}

static int prune_at(const warm_call *call, const warm_inventory *inventory, const warm_place *place,
                    int root_fd)
{
    const prune_options *given = call->options;
    size_t count;
    tkj_walk_entry *files = choose(given, inventory, place, &count);
    warm_prune_view view = {
        .path = place->path,
        .dry_run = given->dry_run,
        .left = place->count,
        .left_bytes = place->bytes,
        .at = calloc(place->count + 1, sizeof *view.at),
    };
    int code = WARM_EXIT_FAILED;
    if (files == NULL || view.at == NULL) {
        warm_complain("there is no memory for what the cache holds");
    } else {
        prune_files(given, root_fd, files, count, &view);
        code = print(call, &view);
    }
    free(view.at);
    free(files);
    return code;
}

static int prune(const warm_call *call, const warm_inventory *inventory)
{
    const warm_place *place = warm_inventory_user(inventory);
    if (place == NULL)
        return warm_no_cache_directory();
    if (place->absent) {
        const prune_options *given = call->options;
        const warm_prune_view none = {.path = place->path, .dry_run = given->dry_run};
        return print(call, &none);
    }
    const char *why = place->flaw;
    const int root_fd =
        why == NULL ? tkj_os_open_trusted_dir(place->path, inventory->reader.trust, &why) : -1;
    if (root_fd < 0) {
        warm_complain("%s %s", place->path, why);
        return WARM_EXIT_FAILED;
    }
    const int code = prune_at(call, inventory, place, root_fd);
    close(root_fd);
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
     .words = warm_filter_arch_words,
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
    {WARM_EXIT_FAILED, "an entry could not be removed, or the result not be written"},
    {WARM_EXIT_NOT_THERE, "there is no cache directory: none is named, and there is no home"},
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
    .options_size = sizeof(prune_options),
    .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
    .exits = exits,
    .examples = examples,
    .run = run,
};
