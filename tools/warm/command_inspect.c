/* SPDX-License-Identifier: Apache-2.0 */
#include "command_inspect.h"

#include <getopt.h>
#include <stdio.h>

#include "build_options.h"
#include "file.h"
#include "inspect_view.h"

typedef struct inspect_options {
    const char *path; /* borrowed from argv */
    bool json;
    bool preimage;
    bool help;
} inspect_options;

enum {
    FLAG_JSON = 1000,
    FLAG_PREIMAGE,
};

static const struct option flags[] = {
    {"json", no_argument, NULL, FLAG_JSON},
    {"preimage", no_argument, NULL, FLAG_PREIMAGE},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool take_flag(int flag, inspect_options *out)
{
    switch (flag) {
    case FLAG_JSON:
        return out->json = true;
    case FLAG_PREIMAGE:
        return out->preimage = true;
    case 'h':
        return out->help = true;
    default:
        return false; /* getopt_long has said what is wrong */
    }
}

static bool parse(int argc, char **argv, inspect_options *out)
{
    *out = (inspect_options){0};
    for (int flag; (flag = getopt_long(argc, argv, "h", flags, NULL)) != -1;) {
        if (!take_flag(flag, out))
            return false;
        if (out->help)
            return true;
    }
    if (argc - optind == 1) {
        out->path = argv[optind];
        return true;
    }
    if (optind < argc)
        warm_complain("inspect: unexpected argument '%s'", argv[optind + 1]);
    else
        warm_complain("inspect: the file is missing; inspect --help lists the options");
    return false;
}

static int end(bool printed)
{
    if (fflush(stdout) == 0 && printed)
        return WARM_EXIT_DONE;
    warm_complain("the result could not be written to stdout");
    return WARM_EXIT_FAILED;
}

static int fail(const warm_file *file, const char *flaw)
{
    warm_complain("%s: %s", file->path, flaw);
    return WARM_EXIT_FAILED;
}

static int inspect_entry(const inspect_options *options, warm_file *file)
{
    /* of a larger file as much as it takes to tell that it is too large */
    const uint64_t size =
        file->size <= TKJ_ENTRY_SIZE_MAX ? file->size : (uint64_t)TKJ_ENTRY_SIZE_MAX + 1;
    if (!warm_file_read(file, size))
        return WARM_EXIT_FAILED;
    warm_entry_view view = {.size = (size_t)size, .preimage = options->preimage};
    const char *flaw = tkj_entry_decode(file->bytes, view.size, &view.entry);
    if (flaw != NULL)
        return fail(file, flaw);
    if (options->json)
        return end(warm_inspect_json_entry(&view));
    warm_inspect_text_entry(&view);
    return end(true);
}

/** Reads the head of a pack whose first bytes are there, and nothing more: memory and time are
 *  spent only on a file whose size its entries account for. */
static bool head_is_sound(warm_file *file, size_t first)
{
    size_t head_size;
    tkj_pack_index index;
    const char *flaw = tkj_pack_head_size(file->bytes, first, file->size, &head_size);
    if (flaw == NULL && !warm_file_read(file, head_size))
        return false;
    if (flaw == NULL)
        flaw = tkj_pack_index_decode(file->bytes, head_size, file->size, &index);
    if (flaw != NULL)
        fail(file, flaw);
    return flaw == NULL;
}

static int inspect_pack(const inspect_options *options, warm_file *file, size_t first)
{
    if (options->preimage) {
        warm_complain("%s: --preimage is of an entry, and this is a pack", file->path);
        return WARM_EXIT_USAGE;
    }
    if (!head_is_sound(file, first) || !warm_file_read(file, file->size))
        return WARM_EXIT_FAILED;
    warm_pack_view view = {.bytes = file->bytes, .size = (size_t)file->size};
    const char *flaw = tkj_pack_verify(view.bytes, view.size); /* again: it may have changed */
    if (flaw == NULL)
        flaw = tkj_pack_index_decode(view.bytes, view.size, view.size, &view.index);
    if (flaw != NULL)
        return fail(file, flaw);
    if (options->json)
        return end(warm_inspect_json_pack(&view));
    warm_inspect_text_pack(&view);
    return end(true);
}

static int inspect(const inspect_options *options, warm_file *file)
{
    if (!warm_file_open(options->path, file))
        return WARM_EXIT_FAILED;
    const size_t first =
        file->size < TKJ_PACK_HEADER_SIZE ? (size_t)file->size : TKJ_PACK_HEADER_SIZE;
    if (!warm_file_read(file, first))
        return WARM_EXIT_FAILED;
    if (tkj_entry_has_magic(file->bytes, first))
        return inspect_entry(options, file);
    if (tkj_pack_has_magic(file->bytes, first))
        return inspect_pack(options, file, first);
    return fail(file, "it is neither a cache entry nor a pack");
}

int warm_inspect(int argc, char **argv)
{
    inspect_options options;
    if (!parse(argc, argv, &options))
        return WARM_EXIT_USAGE;
    if (options.help)
        return end(fputs(warm_inspect_help, stdout) >= 0);
    warm_file file;
    const int code = inspect(&options, &file);
    warm_file_close(&file);
    return code;
}
