/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_inspect.c @brief topk-jit-warm inspect: what is in an entry or a pack. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "complain.h"
#include "file.h"
#include "find_key.h"
#include "inspect_view.h"
#include "item.h"
#include "out.h"
#include "out_json.h"
#include "pack_open.h"

typedef struct inspect_options {
    bool preimage;
} inspect_options;

WARM_TAKE_FLAG(inspect_options, preimage)

static int fail(const warm_file *file, const char *flaw)
{
    warm_complain("%s: %s", file->path, flaw);
    return WARM_EXIT_FAILED;
}

static int print_entry(const warm_call *call, const tkj_entry *entry, size_t size)
{
    const inspect_options *options = call->options;
    const warm_entry_view view = {.entry = *entry, .size = size, .preimage = options->preimage};
    if (call->common.json)
        return warm_out_end(warm_out_json(warm_inspect_json_entry(&view)));
    warm_inspect_text_entry(&view);
    return warm_out_end(true);
}

static int inspect_entry(const warm_call *call, warm_file *file)
{
    /* of a larger file as much as it takes to tell that it is too large */
    const uint64_t size =
        file->size <= TKJ_ENTRY_SIZE_MAX ? file->size : (uint64_t)TKJ_ENTRY_SIZE_MAX + 1;
    if (!warm_file_read(file, size))
        return WARM_EXIT_FAILED;
    tkj_entry entry;
    const char *flaw = tkj_entry_decode(file->bytes, (size_t)size, &entry);
    return flaw != NULL ? fail(file, flaw) : print_entry(call, &entry, (size_t)size);
}

static int print_pack(const warm_call *call, const warm_opened_pack *pack)
{
    const warm_pack_view view = {pack->index, pack->bytes.bytes, pack->bytes.size};
    if (call->common.json)
        return warm_out_end(warm_out_json(warm_inspect_json_pack(&view)));
    return warm_out_end(warm_inspect_text_pack(&view));
}

static int inspect_pack(const warm_call *call, const warm_file *file)
{
    if (((const inspect_options *)call->options)->preimage) {
        warm_complain("%s: --preimage is of an entry, and this is a pack", file->path);
        return WARM_EXIT_USAGE;
    }
    const tkj_file opened = {.fd = file->fd, .size = (size_t)file->size};
    warm_opened_pack pack;
    const int code = warm_pack_read(file->path, &opened, &pack) ? print_pack(call, &pack)
                                                                : fail(file, pack.flaw);
    warm_pack_close(&pack);
    return code;
}

static int inspect(const warm_call *call, warm_file *file)
{
    if (!warm_file_open(call->operands[0], file))
        return file->absent ? WARM_EXIT_NOT_THERE : WARM_EXIT_FAILED;
    const size_t first =
        file->size < TKJ_PACK_HEADER_SIZE ? (size_t)file->size : TKJ_PACK_HEADER_SIZE;
    if (!warm_file_read(file, first))
        return WARM_EXIT_FAILED;
    if (tkj_entry_has_magic(file->bytes, first))
        return inspect_entry(call, file);
    if (tkj_pack_has_magic(file->bytes, first))
        return inspect_pack(call, file);
    return fail(file, "it is neither a cache entry nor a pack");
}

static int inspect_file(const warm_call *call)
{
    warm_file file;
    const int code = inspect(call, &file);
    warm_file_close(&file);
    return code;
}

static int inspect_item(const warm_call *call, const warm_inventory *inventory)
{
    const warm_item *item;
    tkj_blob bytes;
    tkj_entry entry;
    const char *why;
    int code = warm_find_key(inventory, call->operands[0], &item);
    if (code != WARM_EXIT_DONE)
        return code;
    if (warm_item_read(inventory, item, &bytes, &entry, &why) != TKJ_CACHE_HIT) {
        char path[PATH_MAX];
        warm_item_path(inventory, item, path);
        warm_complain("%s: %s", path, why);
        return WARM_EXIT_FAILED;
    }
    code = print_entry(call, &entry, bytes.size);
    warm_item_release(inventory, &bytes);
    return code;
}

static int inspect_key(const warm_call *call)
{
    const topk_jit_options wanted = TOPK_JIT_OPTIONS_INIT;
    warm_inventory inventory;
    const int code = warm_inventory_open(&call->common, &wanted, false, &inventory)
                         ? inspect_item(call, &inventory)
                         : WARM_EXIT_FAILED;
    warm_inventory_release(&inventory);
    return code;
}

static int run(const warm_call *call)
{
    const char *what = call->operands[0];
    const bool absent = access(what, F_OK) != 0 && errno == ENOENT;
    if (!absent || strchr(what, '/') != NULL)
        return inspect_file(call);
    if (warm_is_key(what))
        return inspect_key(call);
    warm_complain("'%s' is no file here and no KEY (expected: a file, or of a key that list shows "
                  "the first digits, 4 to 32 hexadecimal ones)",
                  what);
    return WARM_EXIT_NOT_THERE;
}

static const warm_option options[] = {
    {.name = "preimage",
     .help = "also the text whose digest is the key; of an entry only",
     .take = take_preimage},
    {.name = NULL},
};

static const warm_exit exits[] = {
    {WARM_EXIT_DONE, "it is sound"},
    {WARM_EXIT_FAILED, "it is damaged or cannot be read, or several keys begin so"},
    {WARM_EXIT_NOT_THERE, "nothing has that path, and no entry of the cache such a key"},
    {0, NULL},
};

static const warm_example examples[] = {
    {"topk-jit-warm inspect 03d2ec", "the entry whose key begins so, wherever servers find it"},
    {NULL, NULL},
};

const warm_command warm_command_inspect = {
    .name = "inspect",
    .summary = "says what is in an entry or a pack, after checking it",
    .usage = "FILE|KEY [options]",
    .description =
        "Says what is in a cache entry (.tkc) or a pack of them (.tkp), after checking all of it. "
        "FILE may come from anywhere: nothing in it is run or believed. Characters that are not "
        "printable ASCII are shown as \\xNN, a backslash as two; with --json a byte is the "
        "character of the same number."
        "\n\n"
        "KEY stands for the entry of the cache whose key begins with it: 4 hexadecimal digits or "
        "more, of the places that list shows. A file of that name comes first.",
    .options = options,
    .options_size = sizeof(inspect_options),
    .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
    .operand = {.name = "FILE", .least = 1, .most = 1, .complete = WARM_COMPLETE_FILES},
    .exits = exits,
    .examples = examples,
    .run = run,
};
