/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_unpack.c @brief topk-jit-warm unpack: the entries of packs into the cache. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "complain.h"
#include "context.h"
#include "create_context.h"
#include "out.h"
#include "out_json.h"
#include "out_table.h"
#include "unpack_json.h"
#include "unpack_store.h"

typedef struct unpack_options {
    bool dry_run;
} unpack_options;

WARM_TAKE_FLAG(unpack_options, dry_run)

static bool print_table(const warm_unpack *unpack)
{
    static const warm_column columns[] = {{"KEY", false},  {"CUDA", true},    {"TARGET", false},
                                          {"BYTES", true}, {"STATUS", false}, {"KERNEL", false}};
    warm_table table;
    warm_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < unpack->count; i++) {
        const warm_unpacked *at = &unpack->entries[i];
        const tkj_blob bytes = warm_pack_entry(at->pack, &at->record);
        char key[2 * TKJ_DIGEST_SIZE + 1];
        tkj_entry entry;
        if (tkj_entry_decode(bytes.bytes, bytes.size, &entry) != NULL)
            continue; /* the pack is sound: it does not happen */
        tkj_digest_format(at->record.key, key);
        warm_table_add(&table, "%s", key);
        warm_table_add(&table, "%lu", (unsigned long)at->record.major);
        warm_table_add(&table, "%s", entry.target);
        warm_table_add(&table, "%zu", at->record.size);
        warm_table_add(&table, "%s", at->already_there ? "already there" : "new");
        warm_table_add(&table, "%s", entry.entry_name);
    }
    const bool printed = warm_table_print(&table, stdout);
    warm_table_release(&table);
    return printed;
}

static int print_result(const warm_call *call, const char *root, const warm_unpack *unpack)
{
    const bool looks = ((const unpack_options *)call->options)->dry_run;
    if (call->common.json)
        return warm_out_end(warm_out_json(warm_unpack_json(unpack, root, looks)));
    const bool printed = !looks || print_table(unpack);
    printf("%s %zu, already there %zu, %llu bytes: ", looks ? "would unpack" : "unpacked",
           unpack->count - unpack->already_there, unpack->already_there,
           (unsigned long long)unpack->bytes);
    warm_out_text(stdout, root, strlen(root));
    putchar('\n');
    return warm_out_end(printed);
}

static int open_all(const warm_call *call, tkj_trust trust, warm_opened_pack *packs)
{
    int code = WARM_EXIT_DONE;
    for (size_t i = 0; code == WARM_EXIT_DONE && i < call->operand_count; i++)
        code = warm_pack_open(call->operands[i], trust, &packs[i]);
    return code;
}

static int unpack(const warm_call *call, topk_jit_context *context)
{
    const bool looks = ((const unpack_options *)call->options)->dry_run;
    warm_unpack done = {.entries = NULL};
    if (!tkj_cache_writes(context->cache))
        return warm_no_cache_directory();
    warm_opened_pack *packs = calloc(call->operand_count, sizeof *packs);
    if (packs == NULL) {
        warm_complain("there is no memory for the packs");
        return WARM_EXIT_FAILED;
    }
    int code = open_all(call, context->config.values.trust, packs);
    if (code == WARM_EXIT_DONE)
        code = warm_unpack_store(context, packs, call->operand_count, looks, &done)
                   ? print_result(call, tkj_cache_root(context->cache), &done)
                   : WARM_EXIT_FAILED;
    warm_unpack_release(&done);
    for (size_t i = 0; i < call->operand_count; i++)
        warm_pack_close(&packs[i]);
    free(packs);
    return code;
}

static int run(const warm_call *call)
{
    topk_jit_options wanted = TOPK_JIT_OPTIONS_INIT;
    wanted.mode = TOPK_JIT_MODE_AUTO; /* to unpack is to write, whatever servers here may do */
    topk_jit_context *context = warm_context_create(&call->common, &wanted);
    const int code = context != NULL ? unpack(call, context) : WARM_EXIT_FAILED;
    topk_jit_context_destroy(context);
    return code;
}

static const warm_option options[] = {
    {.name = "dry-run",
     .letter = 'n',
     .help = "say what would be done, and do nothing",
     .take = take_dry_run},
    {.name = NULL},
};

static const warm_exit exits[] = {
    {WARM_EXIT_DONE, "every entry of the packs is in the cache"},
    {WARM_EXIT_FAILED, "a pack is damaged or not to be trusted, or an entry was not stored"},
    {WARM_EXIT_NOT_THERE, "nothing has the path of a PACK, or there is no cache directory"},
    {0, NULL},
};

const warm_command warm_command_unpack = {
    .name = "unpack",
    .summary = "puts the entries of packs into the cache",
    .usage = "PACK... [options]",
    .description =
        "Puts the entries of packs into the cache's directory, as a compilation would. All packs "
        "are verified as a whole before the first entry is written: a damaged one writes nothing. "
        "What is in a pack will be run, so one that belongs to another user than this one or "
        "root, that others can write or that is a symbolic link is refused, as a server refuses "
        "it."
        "\n\n"
        "An entry that is already there is left alone; one that differs, damaged or of another "
        "compiler, is replaced. Servers may go on meanwhile: each finds the old entry or the new "
        "one. Packs whose entries exceed what the cache may hold (TOPK_JIT_CACHE_MAX_BYTES) are "
        "refused; otherwise the entries used least recently make room."
        "\n\n"
        "Servers can use a pack as it is: see pack.",
    .options = options,
    .options_size = sizeof(unpack_options),
    .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
    .operand = {.name = "PACK", .least = 1, .most = SIZE_MAX, .complete = WARM_COMPLETE_FILES},
    .exits = exits,
    .run = run,
};
