/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_dump.c @brief topk-jit-warm dump: a kernel's machine code, PTX or source. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bytes_out.h"
#include "commands.h"
#include "complain.h"
#include "disassemble.h"
#include "find_key.h"
#include "item.h"
#include "library_options.h"
#include "out.h"
#include "out_json.h"
#include "regenerate.h"

typedef struct dump_options {
    bool cubin, ptx, source, sass;
    const char *output;
    char nvrtc[PATH_MAX];
    char template_dir[PATH_MAX];
} dump_options;

WARM_TAKE_FLAG(dump_options, cubin)
WARM_TAKE_FLAG(dump_options, ptx)
WARM_TAKE_FLAG(dump_options, source)
WARM_TAKE_FLAG(dump_options, sass)
WARM_TAKE_TEXT(dump_options, output)
WARM_TAKE_PATH(dump_options, nvrtc)
WARM_TAKE_PATH(dump_options, template_dir)

/* What is to be dumped: the name of its option; NULL after one line on stderr. */
static const char *what_of(const dump_options *given)
{
    const int count = given->cubin + given->ptx + given->source + given->sass;
    if (count != 1) {
        warm_complain("%s (expected: one of --cubin, --ptx, --source and --sass)",
                      count == 0 ? "nothing says what is to be dumped" : "one thing at a time");
        return NULL;
    }
    return given->cubin ? "cubin" : given->ptx ? "ptx" : given->source ? "source" : "sass";
}

static int copy_payload(const tkj_entry *entry, tkj_blob *out)
{
    *out = (tkj_blob){malloc(entry->payload_size), entry->payload_size};
    if (out->bytes == NULL) {
        warm_complain("there is no memory for it");
        return WARM_EXIT_FAILED;
    }
    memcpy(out->bytes, entry->payload, out->size);
    return WARM_EXIT_DONE;
}

/* The PTX of an entry that is PTX is in it, and is what runs. */
static int make_ptx(topk_jit_context *context, const tkj_entry *entry, tkj_blob *out)
{
    const int code = entry->kind == TKJ_PAYLOAD_PTX ? copy_payload(entry, out)
                                                    : warm_regenerate_ptx(context, entry, out);
    if (code == WARM_EXIT_DONE && out->size > 0 && out->bytes[out->size - 1] == '\0')
        out->size--; /* the text's own end is no part of it */
    return code;
}

/* @param[out] out  released with free: the context's allocator is malloc */
static int make(const dump_options *given, topk_jit_context *context, const tkj_entry *entry,
                tkj_blob *out)
{
    *out = (tkj_blob){NULL, 0};
    if (given->source)
        return warm_regenerate_source(context, entry, out);
    if (given->ptx)
        return make_ptx(context, entry, out);
    if (entry->kind != TKJ_PAYLOAD_CUBIN) {
        warm_complain("this entry is PTX, which the driver compiles: there is no cubin in it (see "
                      "--ptx)");
        return WARM_EXIT_FAILED;
    }
    return given->sass ? warm_disassemble(entry->payload, entry->payload_size, out)
                       : copy_payload(entry, out);
}

/* ---- saying it ---- */

static json_t *hex_of(const tkj_blob *bytes)
{
    static const char digits[] = "0123456789abcdef";
    char *hex = malloc(2 * bytes->size + 1);
    if (hex == NULL)
        return NULL;
    for (size_t i = 0; i < bytes->size; i++) {
        hex[2 * i] = digits[bytes->bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes->bytes[i] & 15];
    }
    json_t *string = json_stringn(hex, 2 * bytes->size);
    free(hex);
    return string;
}

/* What is in a file is not said once more. */
static json_t *describe(const warm_item *item, const char *what, const char *file,
                        const tkj_blob *bytes)
{
    char key[2 * TKJ_DIGEST_SIZE + 1];
    const bool text = strcmp(what, "cubin") != 0;
    tkj_digest_format(item->key.digest, key);
    return json_pack("{s:s, s:s, s:I, s:s, s:I, s:o, s:o, s:o}", "version", TOPK_JIT_VERSION_STRING,
                     "key", key, "major", (json_int_t)item->major, "what", what, "bytes",
                     (json_int_t)bytes->size, "file",
                     file != NULL ? warm_json_text(file, strlen(file)) : json_null(), "text",
                     file == NULL && text ? warm_json_text((const char *)bytes->bytes, bytes->size)
                                          : json_null(),
                     "hex", file == NULL && !text ? hex_of(bytes) : json_null());
}

static int put_out(const warm_call *call, const warm_item *item, const char *what,
                   const tkj_blob *bytes)
{
    const dump_options *given = call->options;
    const bool to_file = given->output != NULL && strcmp(given->output, "-") != 0;
    int code = WARM_EXIT_DONE;
    if (to_file || !call->common.json)
        code = warm_bytes_write(given->output, bytes->bytes, bytes->size);
    if (code == WARM_EXIT_DONE && call->common.json)
        code = warm_out_end(
            warm_out_json(describe(item, what, to_file ? given->output : NULL, bytes)));
    return code;
}

static int dump(const warm_call *call, const warm_inventory *inventory, const char *what)
{
    const warm_item *item;
    tkj_blob bytes, out;
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
    code = make(call->options, inventory->context, &entry, &out);
    if (code == WARM_EXIT_DONE)
        code = put_out(call, item, what, &out);
    free(out.bytes);
    warm_item_release(inventory, &bytes);
    return code;
}

static int run(const warm_call *call)
{
    const dump_options *given = call->options;
    const char *what = what_of(given);
    if (what == NULL)
        return WARM_EXIT_USAGE;
    topk_jit_options wanted = TOPK_JIT_OPTIONS_INIT;
    wanted.template_dir = given->template_dir[0] != '\0' ? given->template_dir : NULL;
    wanted.nvrtc_path = given->nvrtc[0] != '\0' ? given->nvrtc : NULL;
    warm_inventory inventory;
    const int code = warm_inventory_open(&call->common, &wanted, false, &inventory)
                         ? dump(call, &inventory, what)
                         : WARM_EXIT_FAILED;
    warm_inventory_release(&inventory);
    return code;
}

static const warm_option options[] = {
    {.name = "cubin",
     .group = "What is dumped, one of",
     .help = "the machine code, as it is in the cache",
     .take = take_cubin},
    {.name = "ptx",
     .help = "PTX: the source compiled for compute_XY; needs NVRTC",
     .take = take_ptx},
    {.name = "source", .help = "the source, made of the templates here", .take = take_source},
    {.name = "sass", .help = "the machine code as text; needs nvdisasm", .take = take_sass},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .group = "How",
     .help = "where it goes; - is stdout, even if that is a terminal",
     .otherwise = "stdout",
     .expected = "a file, or -",
     .complete = WARM_COMPLETE_FILES,
     .take = take_output},
    WARM_TEMPLATE_DIR_OPTION("the kernel templates"),
    WARM_NVRTC_OPTION,
    {.name = NULL},
};

static const warm_exit exits[] = {
    {WARM_EXIT_DONE, "it is dumped"},
    {WARM_EXIT_FAILED, "the entry is damaged, or it cannot be made of it or written"},
    {WARM_EXIT_NOT_THERE, "no entry has such a key, or there is no nvdisasm"},
    {0, NULL},
};

static const warm_example examples[] = {
    {"topk-jit-warm dump 03d2ec --sass | less", "the machine code of the entry"},
    {NULL, NULL},
};

const warm_command warm_command_dump = {
    .name = "dump",
    .summary = "writes out a kernel's machine code, PTX or source",
    .usage = "KEY --cubin|--ptx|--source|--sass [-o FILE] [options]",
    .description =
        "Writes out one kernel of the cache: the first that servers would find of those whose key "
        "begins with KEY, of which 4 hexadecimal digits or more are needed."
        "\n\n"
        "Source and PTX are not in the cache: they are made anew from the templates here, and "
        "refused unless these give the very key. (An entry that is PTX itself is written out as "
        "it is.) The source is all that NVRTC is given: the constants, then each template, each "
        "below a line with its name. Nothing of an entry is run; nvdisasm is given the cubin, "
        "found in PATH, CUDA_HOME/bin or /usr/local/cuda/bin."
        "\n\n"
        "FILE appears whole or not at all, also behind a symbolic link, which stays one; devices "
        "and "
        "pipes are written to."
        "\n\n"
        "With --json the object has key, major, what, bytes, and the contents as text or, of a "
        "cubin, as hex digits; with -o FILE they go there instead.",
    .options = options,
    .options_size = sizeof(dump_options),
    .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
    .operand = {.name = "KEY", .least = 1, .most = 1},
    .exits = exits,
    .examples = examples,
    .run = run,
};
