/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_list.c @brief topk-jit-warm list: which kernels are in the cache. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "list_view.h"
#include "out.h"
#include "out_json.h"
#include "unreadable.h"

typedef struct list_options {
    warm_filter filter;
    warm_layers layers;
} list_options;

static bool take_arch(const char *word, void *options)
{
    return warm_target_set_take(&((list_options *)options)->filter.targets, word);
}

static bool take_spec(const char *value, void *options)
{
    ((list_options *)options)->filter.spec = value;
    return value[0] != '\0';
}

static const char *const layer_names[] = {
    [WARM_LAYERS_ALL] = "all",
    [WARM_LAYERS_USER] = "user",
    [WARM_LAYERS_READ_ONLY] = "read-only",
};
#define LAYER_NAMES (sizeof layer_names / sizeof layer_names[0])

static bool layer_words(size_t index, char out[WARM_WORD_SIZE])
{
    if (index >= LAYER_NAMES)
        return false;
    snprintf(out, WARM_WORD_SIZE, "%s", layer_names[index]);
    return true;
}

static bool take_layer(const char *word, void *options)
{
    for (size_t i = 0; i < LAYER_NAMES; i++)
        if (strcmp(word, layer_names[i]) == 0) {
            ((list_options *)options)->layers = (warm_layers)i;
            return true;
        }
    return false;
}

bool warm_list_has(const warm_list *list, const warm_place *place)
{
    const bool own = place->kind == TKJ_LAYER_USER;
    return list->layers == WARM_LAYERS_ALL || own == (list->layers == WARM_LAYERS_USER);
}

/* Says on stderr what is missing from the list. @return the exit status that it makes */
static int complain(const warm_list *list)
{
    int code = WARM_EXIT_DONE;
    for (size_t i = 0; i < list->inventory->place_count; i++) {
        const warm_place *place = &list->inventory->places[i];
        if (!warm_list_has(list, place))
            continue;
        if (warm_unreadable_complain(place))
            code = WARM_EXIT_FAILED;
        else if (warm_place_is_missed(place) && code == WARM_EXIT_DONE)
            code = WARM_EXIT_NOT_THERE;
    }
    return code;
}

static int print(const warm_call *call, const warm_inventory *inventory)
{
    const list_options *given = call->options;
    const warm_list list = {inventory, &given->filter, given->layers};
    const int code = warm_out_end(call->common.json ? warm_out_json(warm_list_json(&list))
                                                    : warm_list_text(&list));
    const int lack = complain(&list);
    return code != WARM_EXIT_DONE ? code : lack;
}

static int run(const warm_call *call)
{
    const topk_jit_options wanted = TOPK_JIT_OPTIONS_INIT;
    warm_inventory inventory;
    const int code = warm_inventory_open(&call->common, &wanted, false, &inventory)
                         ? print(call, &inventory)
                         : WARM_EXIT_FAILED;
    warm_inventory_release(&inventory);
    return code;
}

static const warm_option options[] = {
    {.name = "arch",
     .argument = "LIST",
     .help = "only entries for these: sm_90, compute_90",
     .words = warm_target_words,
     .list = true,
     .take = take_arch},
    {.name = "spec",
     .argument = "TEXT",
     .help = "only entries whose spec has this in it, such as topk=2048",
     .expected = "a part of a spec",
     .take = take_spec},
    {.name = "layer",
     .argument = "WHICH",
     .help = "user (the cache directory), read-only (what is only read), all",
     .otherwise = "all",
     .words = layer_words,
     .take = take_layer},
    {.name = NULL},
};

static const warm_exit exits[] = {
    {WARM_EXIT_DONE, "all is listed, also if it is empty, not there, or some of it is corrupt"},
    {WARM_EXIT_FAILED, "a directory could not be looked into, or the result not be written"},
    {WARM_EXIT_NOT_THERE, "nothing else is wrong, and the directory of --cache-dir is not there"},
    {0, NULL},
};

static const warm_example examples[] = {
    {"topk-jit-warm list --arch sm_90 --spec layout=paged", "the kernels for pages on sm_90"},
    {NULL, NULL},
};

const warm_command warm_command_list = {
    .name = "list",
    .summary = "lists the kernels that are in the cache",
    .usage = "[options]",
    .description =
        "Lists every place where servers look for kernels, in the order in which they do: the "
        "packs and directories of TOPK_JIT_RO_DIRS, those of the installation, the cache "
        "directory; and for each its entries by key. A place that servers would not use, since "
        "others could write to it, is named with the reason, and not looked into. So is, on "
        "stderr, "
        "a directory within a place that cannot be looked into, or that servers would not use: "
        "what is in it is not listed."
        "\n\n"
        "CUDA is the major version of the toolkit that compiled it; SHARED is static and dynamic "
        "shared memory in bytes, SPILLS are bytes; AGE is since its last use, to the hour, in "
        "the cache directory; elsewhere since the time of the file, in a pack of the pack. All of "
        "each entry is read and checked; what is wrong with one stands in place of its spec. "
        "On a terminal a row that is too wide goes on below itself; elsewhere it is one line.",
    .options = options,
    .options_size = sizeof(list_options),
    .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
    .exits = exits,
    .examples = examples,
    .run = run,
};
