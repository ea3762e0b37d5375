/* SPDX-License-Identifier: Apache-2.0 */
#include "offline_case.h"

#include <string.h>

/* What stands between two words. */
static void take(const char *text, const char *from, const char *to, char *out, size_t capacity)
{
    const char *start = strstr(text, from);
    const char *end = start != NULL ? strstr(start + strlen(from), to) : NULL;
    if (start == NULL || end == NULL) {
        fail_msg("'%s' and '%s' are not in '%s'", from, to, text);
        return;
    }
    start += strlen(from);
    assert_in_range(end - start, 0, capacity - 1);
    memcpy(out, start, (size_t)(end - start));
    out[end - start] = '\0';
}

offline_message offline_case_miss(plan_case *it, const topk_jit_spec *spec)
{
    offline_message parts;
    char *text = it->text[TOPK_JIT_LOG_ERROR];
    text[0] = '\0';
    assert_int_equal(plan_case_prepare(it, spec, SM90), TOPK_JIT_OFFLINE_MISS);
    assert_int_equal(topk_jit_last_error()->domain, TOPK_JIT_DOMAIN_SYSTEM);
    take(text, "this creates it: ", "; spec ", parts.command, sizeof parts.command);
    take(text, "; spec ", ", target ", parts.spec, sizeof parts.spec);
    take(text, ", target ", ", key ", parts.target, sizeof parts.target);
    take(text, ", key ", "; searched: ", parts.key, sizeof parts.key);
    take(text, "; searched: ", "\n", parts.places, sizeof parts.places);
    return parts;
}
