/* SPDX-License-Identifier: Apache-2.0 */
#include "variant_text.h"

#include <inttypes.h>
#include <stdio.h>

static const char *lines_text(tkj_line_kind lines)
{
    switch (lines) {
    case TKJ_LINES_NONE:
        break;
    case TKJ_LINES_ANY:
        return "any call that no other kernel takes";
    case TKJ_LINES_SHORT:
        return "short lines of any strides, a warp each";
    case TKJ_LINES_MAXIMUM:
        return "the maximum of lines of any strides";
    }
    return NULL;
}

/** Of variants whose rows may be longer than a block holds. */
static const char *long_text(const tkj_variant *variant)
{
    if (variant->capacity == 0)
        return "any call that no other kernel takes";
    if (variant->split)
        return "a small batch of long rows, given a workspace: several blocks a row, two launches";
    if (variant->clusters)
        return "a small batch of long rows: a cluster of blocks each";
    return variant->one_row ? "long rows, one block each, without a bound on SMs"
                            : "long rows, one block each";
}

void tkj_variant_text(const tkj_variant *variant, char text[TKJ_VARIANT_TEXT_SIZE])
{
    const bool held = !variant->clusters && !variant->split && variant->capacity > 0 &&
                      variant->capacity <= tkj_variants_share(variant);
    const char *lines = lines_text(variant->lines);
    if (lines != NULL)
        snprintf(text, TKJ_VARIANT_TEXT_SIZE, "%s", lines);
    else if (variant->whole)
        snprintf(text, TKJ_VARIANT_TEXT_SIZE, "rows of at most %" PRId64 " columns: all are taken",
                 variant->capacity);
    else if (held)
        snprintf(text, TKJ_VARIANT_TEXT_SIZE, "rows of up to %" PRId64 " scores, one block each",
                 variant->capacity);
    else
        snprintf(text, TKJ_VARIANT_TEXT_SIZE, "%s", long_text(variant));
}
