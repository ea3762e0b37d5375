/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

#include "paths.h"

WARM_TAKE_FLAG(warm_common, help)
WARM_TAKE_FLAG(warm_common, version)
WARM_TAKE_FLAG(warm_common, json)
WARM_TAKE_PATH(warm_common, cache_dir)

static bool take_verbose(const char *value, void *options)
{
    (void)value;
    ((warm_common *)options)->verbose++;
    return true;
}

static const warm_option common_options[] = {
    {.name = "cache-dir",
     .argument = "DIR",
     .group = "Common options",
     .help = "the cache",
     .otherwise = "TOPK_JIT_CACHE_DIR, $XDG_CACHE_HOME/topk-jit, ~/.cache/topk-jit",
     .expected = "a directory",
     .complete = WARM_COMPLETE_DIRECTORIES,
     .common = WARM_COMMON_CACHE,
     .take = take_cache_dir},
    {.name = "json",
     .group = "Common options",
     .help = "the result as one JSON object on stdout",
     .common = WARM_COMMON_OUTPUT,
     .take = take_json},
    {.name = "verbose",
     .letter = 'v',
     .group = "Common options",
     .help = "log more; twice: everything",
     .common = WARM_COMMON_OUTPUT,
     .take = take_verbose},
    {.name = "help",
     .letter = 'h',
     .group = "Common options",
     .help = "what is written here",
     .common = WARM_COMMON_HELP,
     .take = take_help},
    {.name = "version",
     .group = "Common options",
     .help = "the version of topk-jit-warm",
     .common = WARM_COMMON_TOP,
     .take = take_version},
    {.name = NULL},
};

const warm_option *warm_option_at(const warm_command *command, size_t index)
{
    const warm_option *option = command->options;
    for (; option != NULL && option->name != NULL; option++)
        if (index-- == 0)
            return option;
    for (option = common_options; option->name != NULL; option++) {
        const bool has = (option->common & (command->common | WARM_COMMON_HELP)) != 0;
        if (has && index-- == 0)
            return option;
    }
    return NULL;
}

static const warm_exit common_exits[] = {
    {WARM_EXIT_DONE, "done"},
    {WARM_EXIT_FAILED, "it could not be done, or the result not be written"},
    {WARM_EXIT_USAGE, "the command line is wrong"},
    {0, NULL},
};

/** The entry with the lowest code from `least` on, or NULL. */
static const warm_exit *lowest_from(const warm_exit *table, int least)
{
    const warm_exit *found = NULL;
    for (; table != NULL && table->meaning != NULL; table++)
        if (table->code >= least && (found == NULL || table->code < found->code))
            found = table;
    return found;
}

bool warm_exit_at(const warm_command *command, size_t index, warm_exit *out)
{
    for (int least = 0;;) {
        const warm_exit *own = lowest_from(command->exits, least);
        const warm_exit *common = lowest_from(common_exits, least);
        if (own == NULL && common == NULL)
            return false;
        const bool is_own = common == NULL || (own != NULL && own->code <= common->code);
        const warm_exit *found = is_own ? own : common;
        if (index-- == 0) {
            *out = *found;
            return true;
        }
        least = found->code + 1;
    }
}

const warm_variable warm_variables[] = {
    {"TOPK_JIT_CACHE_DIR", "Absolute directory of the kernel cache."},
    {"XDG_CACHE_HOME, HOME",
     "Where the cache is otherwise: $XDG_CACHE_HOME/topk-jit, else $HOME/.cache/topk-jit."},
    {"TOPK_JIT_RO_DIRS",
     "Further caches that are only read, and read first: absolute paths separated by colons."},
    {"TOPK_JIT_MODE", "How servers use the cache: auto, readonly, offline or off."},
    {"TOPK_JIT_TOOLCHAIN",
     "any: entries count whatever NVRTC compiled them; exact: only those of the NVRTC found here."},
    {"TOPK_JIT_CACHE_MAX_BYTES", "What the cache directory may hold."},
    {"TOPK_JIT_LOCK_TIMEOUT_MS",
     "How long a process waits for another one that compiles the same kernel."},
    {"TOPK_JIT_SHARED", "1: the cache may be written by a group that the process is in."},
    {"XDG_RUNTIME_DIR", "Where the locks are kept, else /dev/shm, else the cache directory."},
    {"TOPK_JIT_RECORD", "Absolute path of a file to which servers append each spec they prepare."},
    {"TOPK_JIT_TEMPLATE_DIR", "Directory of the kernel templates, instead of the installed ones."},
    {"TOPK_JIT_NVRTC",
     "The libnvrtc to load, and no other: a file, or, without a slash, a name that the loader "
     "looks for."},
    {"CUDA_HOME",
     "Where libnvrtc is looked for after the places beside the library, and nvdisasm after PATH."},
    {"TOPK_JIT_LOG", "error, warning, info or debug: log lines of this importance on stderr."},
    {"COLUMNS", "How wide a terminal is, instead of what it says itself."},
    {NULL, NULL},
};
