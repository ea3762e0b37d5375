/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "digest.h"
#include "inspect_view.h"
#include "key.h"
#include "out.h"
#include "out_table.h"
#include "text.h"

static void print_field(const char *name, const char *text)
{
    printf("%-11s", name);
    warm_out_text(stdout, text, strlen(text));
    putchar('\n');
}

static void print_key(const char *preimage)
{
    uint8_t digest[TKJ_DIGEST_SIZE];
    char key[2 * TKJ_DIGEST_SIZE + 1];
    tkj_digest(preimage, strlen(preimage), digest);
    tkj_digest_format(digest, key);
    print_field("key", key);
}

static void print_resources(const tkj_entry_resources *resources)
{
    printf("registers  %lu\n", (unsigned long)resources->registers);
    printf("shared     %lu static, %lu dynamic\n", (unsigned long)resources->static_shared,
           (unsigned long)resources->dynamic_shared);
    printf("stack      %lu\n", (unsigned long)resources->stack);
    printf("spills     %lu, %lu in other functions\n", (unsigned long)resources->spill,
           (unsigned long)resources->other_spill);
}

static void print_spec(const char *preimage)
{
    const char *text = "none";
    size_t length = strlen(text);
    tkj_key_field(preimage, "spec", &text, &length);
    fputs("spec       ", stdout);
    warm_out_text(stdout, text, length);
    putchar('\n');
}

void warm_inspect_text_entry(const warm_entry_view *view)
{
    const tkj_entry *entry = &view->entry;
    printf("entry      %zu bytes\n", view->size);
    print_key(entry->preimage);
    print_field("kind", entry->kind == TKJ_PAYLOAD_PTX ? "ptx" : "cubin");
    print_field("target", entry->target);
    print_field("toolchain", entry->toolchain);
    print_field("library", entry->library);
    print_field("name", entry->entry_name);
    print_resources(&entry->resources);
    printf("payload    %zu bytes\n", entry->payload_size);
    print_spec(entry->preimage);
    if (view->preimage) {
        puts("preimage");
        warm_out_lines(stdout, "  ", entry->preimage);
    }
}

static void add_record(const warm_pack_view *view, const tkj_pack_record *record, warm_table *table)
{
    char key[2 * TKJ_DIGEST_SIZE + 1];
    tkj_entry entry;
    tkj_digest_format(record->key, key);
    if (tkj_entry_decode(view->bytes + record->offset, record->size, &entry) != NULL)
        return; /* the pack is sound: it does not happen */
    warm_table_add(table, "%s", key);
    warm_table_add(table, "%lu", (unsigned long)record->major);
    warm_table_add(table, "%s", entry.target);
    warm_table_add(table, "%zu", record->size);
    warm_table_add(table, "%s", entry.entry_name);
}

static bool print_records(const warm_pack_view *view)
{
    static const warm_column columns[] = {
        {"KEY", false}, {"CUDA", false}, {"TARGET", false}, {"BYTES", true}, {"KERNEL", false}};
    warm_table table;
    warm_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < view->index.count; i++) {
        const tkj_pack_record record = tkj_pack_at(&view->index, i);
        add_record(view, &record, &table);
    }
    const bool printed = view->index.count == 0 || warm_table_print(&table, stdout);
    warm_table_release(&table);
    return printed;
}

bool warm_inspect_text_pack(const warm_pack_view *view)
{
    char digest[2 * TKJ_DIGEST_SIZE + 1];
    tkj_digest_format(view->bytes + view->size - TKJ_DIGEST_SIZE, digest);
    printf("pack       %zu %s, %zu bytes, digest %s\n", view->index.count,
           tkj_plural(view->index.count, "entry", "entries"), view->size, digest);
    return print_records(view);
}
