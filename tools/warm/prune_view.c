/* SPDX-License-Identifier: Apache-2.0 */
#include "prune_view.h"

#include <stdio.h>
#include <string.h>

#include "out.h"
#include "out_human.h"
#include "out_json.h"
#include "out_table.h"
#include "unreadable.h"

static void add_fate(const warm_prune_view *view, const warm_pruned *pruned, warm_table *table)
{
    switch (pruned->fate) {
    case WARM_PRUNED_REMOVED:
        warm_table_add(table, view->dry_run ? "would be removed" : "removed");
        break;
    case WARM_PRUNED_GONE:
        warm_table_add(table, "was gone already");
        break;
    case WARM_PRUNED_USED:
        warm_table_add(table, "stays: it was used meanwhile");
        break;
    case WARM_PRUNED_FAILED:
        warm_table_add(table, "cannot be removed: %s", strerror(pruned->error));
        break;
    }
}

static void add_entry(const warm_prune_view *view, const warm_pruned *pruned, time_t now,
                      warm_table *table)
{
    char key[2 * TKJ_DIGEST_SIZE + 1], size[WARM_HUMAN_SIZE], age[WARM_HUMAN_SIZE];
    tkj_digest_format(pruned->file->key.digest, key);
    warm_human_bytes(pruned->file->size, size);
    warm_human_age(pruned->file->modified.tv_sec, now, age);
    warm_table_add(table, "%s", key);
    warm_table_add(table, "%d", pruned->file->major);
    warm_table_add(table, "%s", size);
    warm_table_add(table, "%s", age);
    add_fate(view, pruned, table);
}

static bool print_entries(const warm_prune_view *view)
{
    static const warm_column columns[] = {
        {"KEY", false}, {"CUDA", false}, {"SIZE", true}, {"AGE", true}, {"STATUS", false}};
    const time_t now = time(NULL);
    warm_table table;
    warm_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < view->count; i++)
        add_entry(view, &view->at[i], now, &table);
    const bool printed = view->count == 0 || warm_table_print(&table, stdout);
    warm_table_release(&table);
    return printed;
}

bool warm_prune_text(const warm_prune_view *view)
{
    char removed[WARM_HUMAN_SIZE], left[WARM_HUMAN_SIZE];
    const bool printed = print_entries(view);
    warm_human_bytes(view->removed_bytes, removed);
    warm_human_bytes(view->left_bytes, left);
    warm_out_text(stdout, view->place->path, strlen(view->place->path));
    printf(": %zu %s (%s), %zu %s (%s)\n", view->removed,
           view->dry_run ? "would be removed" : "removed", removed, view->left,
           view->dry_run ? "would be left" : "left", left);
    return printed;
}

static const char *const fates[] = {
    [WARM_PRUNED_REMOVED] = "removed",
    [WARM_PRUNED_GONE] = "gone",
    [WARM_PRUNED_USED] = "used",
    [WARM_PRUNED_FAILED] = "failed",
};

static json_t *describe(const warm_pruned *pruned)
{
    char key[2 * TKJ_DIGEST_SIZE + 1];
    const bool failed = pruned->fate == WARM_PRUNED_FAILED;
    tkj_digest_format(pruned->file->key.digest, key);
    return json_pack("{s:s, s:i, s:I, s:I, s:s, s:o}", "key", key, "major", pruned->file->major,
                     "bytes", (json_int_t)pruned->file->size, "modified",
                     (json_int_t)pruned->file->modified.tv_sec, "status", fates[pruned->fate],
                     "error", failed ? json_string(strerror(pruned->error)) : json_null());
}

json_t *warm_prune_json(const warm_prune_view *view)
{
    json_t *entries = json_array();
    for (size_t i = 0; entries != NULL && i < view->count; i++)
        if (json_array_append_new(entries, describe(&view->at[i])) != 0) {
            json_decref(entries);
            return NULL;
        }
    return json_pack("{s:s, s:o, s:b, s:o, s:{s:I, s:I, s:I, s:I, s:I}, s:o}", "version",
                     TOPK_JIT_VERSION_STRING, "path",
                     warm_json_text(view->place->path, strlen(view->place->path)), "dry_run",
                     view->dry_run, "unreadable", warm_unreadable_json(view->place), "summary",
                     "removed", (json_int_t)view->removed, "removed_bytes",
                     (json_int_t)view->removed_bytes, "failed", (json_int_t)view->failed, "left",
                     (json_int_t)view->left, "left_bytes", (json_int_t)view->left_bytes, "entries",
                     entries);
}
