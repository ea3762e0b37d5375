/* SPDX-License-Identifier: Apache-2.0 */
#include "verify_finding.h"

#include <stdlib.h>
#include <string.h>

static bool grow(warm_verification *to)
{
    if (to->finding_count < to->finding_capacity)
        return true;
    const size_t capacity = to->finding_capacity > 0 ? 2 * to->finding_capacity : 32;
    warm_verify_finding *larger = reallocarray(to->findings, capacity, sizeof *larger);
    if (larger == NULL)
        return false;
    to->findings = larger;
    to->finding_capacity = capacity;
    return true;
}

/** Takes over what the finding owns. */
static void add(warm_verification *to, warm_verify_finding finding)
{
    if (finding.path != NULL && finding.why != NULL && grow(to)) {
        to->findings[to->finding_count++] = finding;
        return;
    }
    to->complete = false;
    free(finding.path);
    free(finding.why);
}

void warm_verify_note(warm_verification *to, warm_verify_kind kind, const char *path,
                      const char *why, bool repaired)
{
    add(to, (warm_verify_finding){
                .kind = kind, .path = strdup(path), .why = strdup(why), .repaired = repaired});
}

void warm_verify_note_missing(warm_verification *to, const char *path)
{
    to->missing++;
    warm_verify_note(to, WARM_FINDING_UNREADABLE, path, "it does not exist", false);
}

void warm_verify_note_entry(warm_verification *to, const char *pack, const uint8_t *key,
                            const char *why)
{
    warm_verify_finding finding = {
        .kind = WARM_FINDING_CORRUPT, .path = strdup(pack), .why = strdup(why)};
    tkj_digest_format(key, finding.key);
    add(to, finding);
}

size_t warm_verify_count(const warm_verification *verification, warm_verify_kind kind, bool open)
{
    size_t count = 0;
    for (size_t i = 0; i < verification->finding_count; i++)
        count +=
            verification->findings[i].kind == kind && !(open && verification->findings[i].repaired);
    return count;
}

bool warm_verify_is_sound(const warm_verification *verification)
{
    return verification->complete &&
           warm_verify_count(verification, WARM_FINDING_CORRUPT, true) == 0 &&
           warm_verify_count(verification, WARM_FINDING_UNREADABLE, true) == 0 &&
           warm_verify_count(verification, WARM_FINDING_UNUSABLE, true) == 0;
}

void warm_verify_release(warm_verification *verification)
{
    for (size_t i = 0; i < verification->finding_count; i++) {
        free(verification->findings[i].path);
        free(verification->findings[i].why);
    }
    free(verification->findings);
}
