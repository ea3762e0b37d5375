/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_verify.c @brief topk-jit-warm verify: is the cache sound? */
#include <sys/stat.h>

#include "commands.h"
#include "complain.h"
#include "out.h"
#include "out_json.h"
#include "verify.h"
#include "verify_file.h"

typedef struct verify_options {
    bool repair;
} verify_options;

WARM_TAKE_FLAG(verify_options, repair)

/* Whether nothing is wrong but that a PATH is not there. */
static bool only_missing(const warm_verification *verification)
{
    return verification->complete &&
           warm_verify_count(verification, WARM_FINDING_CORRUPT, true) == 0 &&
           warm_verify_count(verification, WARM_FINDING_UNUSABLE, true) == 0 &&
           warm_verify_count(verification, WARM_FINDING_UNREADABLE, true) == verification->missing;
}

static int print(const warm_call *call, const warm_verification *verification)
{
    if (!verification->complete)
        warm_complain("there is no memory for all that was found");
    const int code = warm_out_end(call->common.json ? warm_out_json(warm_verify_json(verification))
                                                    : warm_verify_text(verification));
    if (warm_verify_is_sound(verification))
        return code;
    return only_missing(verification) ? WARM_EXIT_NOT_THERE : WARM_EXIT_FAILED;
}

/* All places where servers look. @return false after one line on stderr */
static bool verify_all(const warm_call *call, warm_verification *verification)
{
    const topk_jit_options wanted = TOPK_JIT_OPTIONS_INIT;
    warm_inventory inventory;
    const bool opened = warm_inventory_open(&call->common, &wanted, true, &inventory);
    if (opened)
        warm_verify_places(&inventory, verification);
    warm_inventory_release(&inventory);
    return opened;
}

/* A directory with its packs, or a file. */
static bool verify_path(const warm_call *call, const char *path, warm_verification *verification)
{
    struct stat status;
    warm_inventory inventory;
    const bool is_directory = lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
    const bool opened =
        warm_inventory_of(&call->common, is_directory ? path : "", true, &inventory);
    if (opened && is_directory)
        warm_verify_places(&inventory, verification);
    else if (opened)
        warm_verify_file(path, inventory.reader.trust, verification);
    warm_inventory_release(&inventory);
    return opened;
}

static int run(const warm_call *call)
{
    const verify_options *given = call->options;
    if (given->repair && call->operand_count > 0) {
        warm_complain("--repair is for the cache directory, and takes no PATH (see --cache-dir)");
        return WARM_EXIT_USAGE;
    }
    warm_verification verification = {.repair = given->repair, .complete = true};
    bool ok = call->operand_count > 0 || verify_all(call, &verification);
    for (size_t i = 0; ok && i < call->operand_count; i++)
        ok = verify_path(call, call->operands[i], &verification);
    const int code = ok ? print(call, &verification) : WARM_EXIT_FAILED;
    warm_verify_release(&verification);
    return code;
}

static const warm_option options[] = {
    {.name = "repair",
     .help = "remove corrupt entries and what died processes left from the cache directory",
     .take = take_repair},
    {.name = NULL},
};

static const warm_exit exits[] = {
    {WARM_EXIT_DONE, "all is sound, or what was not is removed"},
    {WARM_EXIT_FAILED, "something is corrupt, unreadable or not used by servers"},
    {WARM_EXIT_NOT_THERE, "nothing else is wrong; a PATH, or that of --cache-dir, is not there"},
    {0, NULL},
};

static const warm_example examples[] = {
    {"topk-jit-warm verify image/kernels.tkp", "a pack, before it is shipped"},
    {NULL, NULL},
};

const warm_command warm_command_verify = {
    .name = "verify",
    .summary = "checks every entry and pack of the cache",
    .usage = "[PATH...] [options]",
    .description =
        "Reads every entry and pack of all places where servers look for kernels (those that list "
        "shows), or of each PATH: an entry, a pack, or a directory with its packs. An entry is "
        "sound if its checksum and all else of it is, its name is the digest of what it was made "
        "of and the CUDA that compiled it, and its target is what it was made for; a pack if all "
        "its entries are, too."
        "\n\n"
        "A line names what is not: corrupt and unreadable files; unusable places, which others "
        "could write to or which are not there; stale files of processes that died while they "
        "wrote, more than an hour ago; foreign files. Stale and foreign ones harm nobody. Younger "
        "temporary files are only counted: whoever writes them may be alive. Of a pack the entries "
        "that are "
        "corrupt are named by their keys, and the pack itself only if none of them explains it."
        "\n\n"
        "--repair touches nothing but the cache directory, and no file that changed meanwhile. "
        "What it removes is compiled anew when it is wanted.",
    .options = options,
    .options_size = sizeof(verify_options),
    .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
    .operand = {.name = "PATH", .most = SIZE_MAX, .complete = WARM_COMPLETE_FILES},
    .exits = exits,
    .examples = examples,
    .run = run,
};
