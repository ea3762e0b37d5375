/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "list_view.h"
#include "out.h"
#include "out_human.h"
#include "out_table.h"
#include "text.h"

/* So many digits tell the keys of a million entries apart, almost surely. */
#define KEY_DIGITS 12

static const warm_column columns[] = {
    {"KEY", false}, {"TARGET", false}, {"CUDA", false},  {"SIZE", true},     {"AGE", true},
    {"REGS", true}, {"SHARED", true},  {"SPILLS", true}, {"VARIANT", false}, {"SPEC", false},
};
#define COLUMNS (sizeof columns / sizeof columns[0])

/* A place's rows on their way into the table. */
typedef struct place_rows {
    warm_table table;
    time_t now;
} place_rows;

static void add_resources(warm_table *table, const tkj_entry_resources *resources)
{
    warm_table_add(table, "%" PRIu32, resources->registers);
    warm_table_add(table, "%" PRIu32 "+%" PRIu32, resources->static_shared,
                   resources->dynamic_shared);
    warm_table_add(table, "%" PRIu64, (uint64_t)resources->spill + resources->other_spill);
}

static void add_sound(warm_table *table, const warm_row *row)
{
    const warm_identity *identity = &row->identity;
    const char *variant = warm_identity_variant(identity);
    add_resources(table, &row->entry->resources);
    warm_table_add(table, "%s", variant[0] != '\0' ? variant : "-");
    warm_table_add(table, "%.*s", identity->spec != NULL ? (int)identity->spec_length : 1,
                   identity->spec != NULL ? identity->spec : "-");
}

static bool add_row(const warm_row *row, void *user)
{
    place_rows *rows = user;
    warm_table *table = &rows->table;
    char key[2 * TKJ_DIGEST_SIZE + 1], size[WARM_HUMAN_SIZE], age[WARM_HUMAN_SIZE];
    tkj_digest_format(row->item->key.digest, key);
    warm_human_bytes(row->item->size, size);
    warm_human_age(row->item->modified.tv_sec, rows->now, age);
    warm_table_add(table, "%.*s", KEY_DIGITS, key);
    warm_table_add(table, "%s", row->entry != NULL ? row->entry->target : "CORRUPT");
    warm_table_add(table, "%" PRIu32, row->item->major);
    warm_table_add(table, "%s", size);
    warm_table_add(table, "%s", age);
    if (row->entry != NULL) {
        add_sound(table, row);
        return !table->failed;
    }
    for (size_t i = 0; i < 4; i++)
        warm_table_add(table, "-");
    warm_table_add(table, "%s", row->flaw);
    return !table->failed;
}

static void print_sums(const warm_sums *sums)
{
    char size[WARM_HUMAN_SIZE];
    warm_human_bytes(sums->bytes, size);
    printf("%zu %s, %s", sums->entries, tkj_plural(sums->entries, "entry", "entries"), size);
    if (sums->flawed > 0)
        printf(", %zu corrupt or unreadable", sums->flawed);
}

static void print_path(const warm_place *place)
{
    warm_out_text(stdout, place->path, strlen(place->path));
    printf(" (%s): ", warm_place_kind(place->kind));
}

static bool print_place(const warm_list *list, size_t position, warm_sums *all)
{
    const warm_place *place = &list->inventory->places[position];
    place_rows rows = {.now = time(NULL)};
    warm_sums sums = {0};
    print_path(place);
    if (place->flaw != NULL) {
        printf("%s%s\n", place->absent ? "" : "not used: ", place->flaw);
        return true;
    }
    warm_table_init(&rows.table, columns, COLUMNS);
    bool ok = warm_rows_each(list->inventory, position, list->filter, add_row, &rows, &sums);
    print_sums(&sums);
    putchar('\n');
    if (ok && sums.entries > 0)
        ok = warm_table_print(&rows.table, stdout);
    warm_table_release(&rows.table);
    warm_sums_add(all, &sums);
    return ok;
}

bool warm_list_text(const warm_list *list)
{
    size_t places = 0;
    warm_sums all = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < list->inventory->place_count; i++) {
        if (!warm_list_has(list, &list->inventory->places[i]))
            continue;
        if (places++ > 0)
            putchar('\n');
        ok = print_place(list, i, &all);
    }
    if (places == 0)
        puts("there is no place for a cache: no directory is named, and there is no home");
    if (places > 1) {
        fputs("\nall: ", stdout);
        print_sums(&all);
        putchar('\n');
    }
    return ok;
}
