/* SPDX-License-Identifier: Apache-2.0 */
#include "targets_option.h"

#include <stdio.h>
#include <string.h>

bool warm_target_same(tkj_target a, tkj_target b)
{
    return a.architecture == b.architecture && a.ptx == b.ptx;
}

bool warm_target_set_take(warm_target_set *set, const char *name)
{
    tkj_target target;
    if (!tkj_target_parse(name, &target))
        return false;
    for (size_t i = 0; i < set->count; i++)
        if (warm_target_same(set->at[i], target))
            return true;
    set->at[set->count++] = target; /* there is room: no more than TKJ_TARGETS_MAX have a name */
    return true;
}

size_t warm_target_set_find(const warm_target_set *set, const char *name)
{
    size_t i = 0;
    for (char own[TKJ_TARGET_NAME_SIZE]; i < set->count; i++) {
        tkj_target_format(set->at[i], own);
        if (strcmp(own, name) == 0)
            break;
    }
    return i;
}

bool warm_target_words(size_t index, char out[WARM_WORD_SIZE])
{
    if (index >= tkj_architecture_count)
        return false;
    snprintf(out, WARM_WORD_SIZE, "sm_%d", tkj_architectures[index].number);
    return true;
}

/** The first words of `sets`, then the names. */
static bool words_after(const char *const *sets, size_t count, size_t index,
                        char out[WARM_WORD_SIZE])
{
    if (index >= count)
        return warm_target_words(index - count, out);
    snprintf(out, WARM_WORD_SIZE, "%s", sets[index]);
    return true;
}

static const char *const sets[] = {"native", "all"};

bool warm_target_words_native(size_t index, char out[WARM_WORD_SIZE])
{
    return words_after(sets, 1, index, out);
}

bool warm_target_words_native_all(size_t index, char out[WARM_WORD_SIZE])
{
    return words_after(sets, 2, index, out);
}
