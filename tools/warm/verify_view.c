/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "out.h"
#include "out_json.h"
#include "text.h"
#include "verify.h"

static const char *const kinds[WARM_FINDING_KINDS] = {
    [WARM_FINDING_CORRUPT] = "corrupt",   [WARM_FINDING_UNREADABLE] = "unreadable",
    [WARM_FINDING_UNUSABLE] = "unusable", [WARM_FINDING_STALE] = "stale",
    [WARM_FINDING_FOREIGN] = "foreign",
};

static size_t count_repaired(const warm_verification *verification)
{
    size_t count = 0;
    for (size_t i = 0; i < verification->finding_count; i++)
        count += verification->findings[i].repaired;
    return count;
}

static void print_finding(const warm_verify_finding *finding)
{
    printf("%-10s  ", kinds[finding->kind]);
    warm_out_text(stdout, finding->path, strlen(finding->path));
    if (finding->key[0] != '\0')
        printf(": entry %s", finding->key);
    printf(": %s%s\n", finding->why, finding->repaired ? "; removed" : "");
}

bool warm_verify_text(const warm_verification *verification)
{
    for (size_t i = 0; i < verification->finding_count; i++)
        print_finding(&verification->findings[i]);
    printf("%zu %s and %zu %s checked", verification->entries,
           tkj_plural(verification->entries, "entry", "entries"), verification->packs,
           tkj_plural(verification->packs, "pack", "packs"));
    for (int kind = 0; kind < WARM_FINDING_KINDS; kind++) {
        const size_t count = warm_verify_count(verification, (warm_verify_kind)kind, false);
        if (count > 0)
            printf(", %zu %s", count, kinds[kind]);
    }
    if (verification->temporary > 0)
        printf(", %zu temporary %s of writers at work or killed within the hour",
               verification->temporary, verification->temporary == 1 ? "file" : "files");
    if (count_repaired(verification) > 0)
        printf("; %zu removed", count_repaired(verification));
    putchar('\n');
    return true;
}

static json_t *sum_up(const warm_verification *verification)
{
    json_t *summary =
        json_pack("{s:I, s:I, s:I, s:I}", "entries", (json_int_t)verification->entries, "packs",
                  (json_int_t)verification->packs, "temporary", (json_int_t)verification->temporary,
                  "repaired", (json_int_t)count_repaired(verification));
    bool ok = summary != NULL;
    for (int kind = 0; ok && kind < WARM_FINDING_KINDS; kind++)
        ok = json_object_set_new(summary, kinds[kind],
                                 json_integer((json_int_t)warm_verify_count(
                                     verification, (warm_verify_kind)kind, false))) == 0;
    if (ok)
        return summary;
    json_decref(summary);
    return NULL;
}

json_t *warm_verify_json(const warm_verification *verification)
{
    json_t *findings = json_array();
    for (size_t i = 0; findings != NULL && i < verification->finding_count; i++) {
        const warm_verify_finding *finding = &verification->findings[i];
        json_t *object = json_pack("{s:s, s:o, s:s?, s:o, s:b}", "kind", kinds[finding->kind],
                                   "path", warm_json_string(finding->path), "key",
                                   finding->key[0] != '\0' ? finding->key : NULL, "why",
                                   warm_json_string(finding->why), "repaired", finding->repaired);
        if (json_array_append_new(findings, object) != 0) {
            json_decref(findings);
            return NULL;
        }
    }
    return json_pack("{s:s, s:b, s:o, s:o}", "version", TOPK_JIT_VERSION_STRING, "repair",
                     verification->repair, "summary", sum_up(verification), "findings", findings);
}
