/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_pack.c @brief topk-jit-warm pack: the entries of the cache as one file. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "complain.h"
#include "context.h"
#include "memory.h"
#include "new_file.h"
#include "out.h"
#include "out_json.h"
#include "pack_collect.h"
#include "pack_expect.h"
#include "pack_file.h"
#include "pack_json.h"
#include "pack_options.h"
#include "text.h"

/** A name that no server would take for a pack is a mistake that shows late. */
static int check_place(const char *path, const warm_pack_options *options)
{
    if (!tkj_pack_is_name(path)) {
        warm_complain("%s: OUT is a file whose name ends in .tkp, by which servers know a pack",
                      path);
        return WARM_EXIT_USAGE;
    }
    return warm_new_file_check(path, options->force) ? WARM_EXIT_DONE : WARM_EXIT_FAILED;
}

static bool write_pieces(const char *path, bool replaces, const tkj_pack_pieces *pieces)
{
    warm_new_file file;
    bool written = warm_new_file_open(path, replaces, &file);
    for (size_t i = 0; written && i < pieces->count; i++)
        written = warm_new_file_write(&file, pieces->at[i].bytes, pieces->at[i].size);
    if (written)
        return warm_new_file_finish(&file);
    warm_new_file_abandon(&file);
    return false;
}

static void print_text(const warm_pack_result *result)
{
    char digest[2 * TKJ_DIGEST_SIZE + 1];
    const warm_pack_found *found = result->found;
    tkj_digest_format(result->digest, digest);
    printf("packed %zu %s, %llu bytes, digest %s: ", found->count,
           tkj_plural(found->count, "entry", "entries"), (unsigned long long)result->size, digest);
    warm_out_text(stdout, result->path, strlen(result->path));
    putchar('\n');
    if (found->other_templates + found->not_asked_for + found->flaw_count > 0)
        printf("left out: %zu of other templates, %zu not asked for, %zu damaged\n",
               found->other_templates, found->not_asked_for, found->flaw_count);
}

static int write_pack(const warm_call *call, warm_pack_found *found)
{
    const char *path = call->operands[0];
    const bool replaces = ((const warm_pack_options *)call->options)->force;
    tkj_pack_pieces pieces;
    if (tkj_pack_assemble(&tkj_default_allocator, found->items, found->count, &pieces) !=
        TOPK_JIT_OK) {
        warm_complain("%s: %s", path, topk_jit_last_error()->message);
        return WARM_EXIT_FAILED;
    }
    int code = WARM_EXIT_FAILED;
    const warm_pack_result result = {path, pieces.size, pieces.digest, found};
    if (!write_pieces(path, replaces, &pieces))
        goto cleanup;
    if (call->common.json) {
        code = warm_out_end(warm_out_json(warm_pack_json(&result)));
    } else {
        print_text(&result);
        code = warm_out_end(true);
    }
cleanup:
    tkj_pack_pieces_release(&tkj_default_allocator, &pieces);
    return code;
}

/** Of the library, whose kernels servers look for. @return false after one line on stderr */
static bool find_templates(const warm_pack_options *options, topk_jit_context *context,
                           const uint8_t **digest)
{
    const tkj_template_set *templates;
    const bool found = tkj_context_templates(context, &templates) == TOPK_JIT_OK;
    *digest = found ? templates->digest : NULL;
    if (!found && !options->all)
        warm_complain("%s", topk_jit_last_error()->message);
    return found || options->all;
}

static int pack(const warm_call *call, const warm_inventory *inventory)
{
    const warm_pack_options *options = call->options;
    const uint8_t *templates;
    warm_pack_found found;
    if (!find_templates(options, inventory->context, &templates))
        return WARM_EXIT_FAILED;
    int code = warm_pack_collect(inventory, options, options->all ? NULL : templates, &found);
    if (code == WARM_EXIT_DONE)
        code = warm_pack_expect(&found, options, warm_inventory_user(inventory)->path, templates);
    if (code == WARM_EXIT_DONE)
        code = write_pack(call, &found);
    warm_pack_release(&found);
    return code;
}

static int run(const warm_call *call)
{
    const warm_pack_options *options = call->options;
    topk_jit_options wanted = TOPK_JIT_OPTIONS_INIT;
    wanted.template_dir = options->template_dir[0] != '\0' ? options->template_dir : NULL;
    int code = check_place(call->operands[0], options);
    if (code != WARM_EXIT_DONE)
        return code;
    warm_inventory inventory;
    code = warm_inventory_open(&call->common, &wanted, true, &inventory) ? pack(call, &inventory)
                                                                         : WARM_EXIT_FAILED;
    warm_inventory_release(&inventory);
    return code;
}

static const warm_exit exits[] = {
    {WARM_EXIT_DONE, "OUT is a pack of all that was asked for"},
    {WARM_EXIT_FAILED, "an entry is damaged, OUT is there, or it could not be written"},
    {WARM_EXIT_NOT_THERE, "no cache directory, no entry of what was named, or a kernel is missing"},
    {0, NULL},
};

static const warm_example examples[] = {
    {"topk-jit-warm pack kernels.tkp --arch sm_90,sm_100", "what two kinds of GPU need"},
    {NULL, NULL},
};

const warm_command warm_command_pack = {
    .name = "pack",
    .summary = "makes one file of the cache, for images",
    .usage = "OUT.tkp [options]",
    .description =
        "Makes one file, a pack, of the entries in the cache's directory: those that the library "
        "would look for with its templates. What was compiled from other templates, such as an "
        "earlier version's, is of no use to it and left out, unless --all is given. Needs no "
        "compiler, no driver and no GPU."
        "\n\n"
        "A pack has checksums and never changes. The same entries give the same bytes, whoever "
        "packs them, when, and in whatever order they were compiled."
        "\n\n"
        "OUT appears whole or not at all; a command that is killed may leave a file named "
        ".topk-jit-new-* beside it, which can be removed. It cannot be stdout."
        "\n\n"
        "Each spec that is named must be there for each target that is named, and of each spec "
        "every kernel that a server needs for the target, else what is missing is named and "
        "nothing is written. Nor is it where an entry is damaged, unless --keep-going is given, "
        "which leaves out what is damaged and excuses nothing else. `topk-jit-warm build` builds "
        "both anew. Of entries of other templates nobody knows how many there should be."
        "\n\n"
        "A server reads every .tkp file in <prefix>/share/topk_jit/cache and in the directories "
        "of TOPK_JIT_RO_DIRS, or which TOPK_JIT_RO_DIRS names itself. What is in a pack will be "
        "run: so it must belong to root or to the user of the server, be writable by nobody else "
        "and be no symbolic link, and the same holds for the directory. OUT has mode 0644 "
        "whatever the umask is.",
    .options = warm_pack_option_table,
    .options_size = sizeof(warm_pack_options),
    .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
    .operand = {.name = "OUT", .least = 1, .most = 1, .complete = WARM_COMPLETE_FILES},
    .exits = exits,
    .examples = examples,
    .run = run,
};
