/* SPDX-License-Identifier: Apache-2.0 */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Source: the release notes of each toolkit, and nvrtcGetSupportedArchs of 13.0. */
const tkj_architecture tkj_architectures[] = {
    {75, "10.0"}, {80, "11.0"},  {86, "11.1"},  {87, "11.4"},  {88, "13.0"},  {89, "11.8"},
    {90, "11.8"}, {100, "12.8"}, {103, "12.9"}, {110, "13.0"}, {120, "12.8"}, {121, "12.9"},
};
const size_t tkj_architecture_count = sizeof tkj_architectures / sizeof tkj_architectures[0];

_Static_assert(2 * sizeof tkj_architectures / sizeof tkj_architectures[0] <= TKJ_TARGETS_MAX,
               "each has machine code and PTX");

void tkj_target_format(tkj_target target, char name[TKJ_TARGET_NAME_SIZE])
{
    snprintf(name, TKJ_TARGET_NAME_SIZE, "%s_%d", target.ptx ? "compute" : "sm",
             target.architecture);
}

/** True if `name` is `plain`, or its synonym with the suffix of architecture-specific features. */
static bool names(const char *name, const char *plain, bool has_synonym)
{
    size_t length = strlen(plain);
    if (strncmp(name, plain, length) != 0)
        return false;
    return name[length] == '\0' || (has_synonym && strcmp(name + length, "a") == 0);
}

bool tkj_target_parse(const char *name, tkj_target *out)
{
    for (size_t i = 0; i < tkj_architecture_count; i++)
        for (int ptx = 0; ptx < 2; ptx++) {
            tkj_target target = {tkj_architectures[i].number, ptx != 0};
            char plain[TKJ_TARGET_NAME_SIZE];
            tkj_target_format(target, plain);
            if (names(name, plain, !ptx && target.architecture >= 90)) {
                *out = target;
                return true;
            }
        }
    return false;
}

int tkj_target_known_below(int compute_major, int compute_minor)
{
    int known = 0;
    for (size_t i = 0; i < tkj_architecture_count; i++)
        if (tkj_architectures[i].number <= 10 * compute_major + compute_minor)
            known = tkj_architectures[i].number;
    return known;
}

size_t tkj_target_order(int compute_major, int compute_minor, tkj_target out[TKJ_TARGET_ORDER_MAX])
{
    int own = 10 * compute_major + compute_minor;
    size_t count = 0;
    out[count++] = (tkj_target){own, false};
    for (size_t i = tkj_architecture_count; i-- > 0;) {
        int number = tkj_architectures[i].number;
        if (number < own && number / 10 == compute_major)
            out[count++] = (tkj_target){number, false};
    }
    for (size_t i = tkj_architecture_count; i-- > 0;)
        if (tkj_architectures[i].number <= own)
            out[count++] = (tkj_target){tkj_architectures[i].number, true};
    return count;
}

tkj_target tkj_target_best_known(const tkj_target *order, size_t count)
{
    size_t i = 0;
    tkj_target parsed;
    char name[TKJ_TARGET_NAME_SIZE];
    for (; i + 1 < count; i++) {
        tkj_target_format(order[i], name);
        if (tkj_target_parse(name, &parsed))
            break;
    }
    return order[i];
}
