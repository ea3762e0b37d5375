/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "doctor.h"
#include "params.h"

void warm_check_version(warm_doctor *doctor)
{
    warm_ok(doctor, "topk_jit %s", topk_jit_version());
}

void warm_check_templates(warm_doctor *doctor)
{
    const tkj_template_set *set;
    char digest[2 * TKJ_DIGEST_SIZE + 1];
    doctor->warning[0] = '\0';
    if (tkj_context_templates(doctor->context, &set) != TOPK_JIT_OK) {
        warm_problem(doctor, "%s", topk_jit_last_error()->message);
        warm_advise(doctor, "name the templates of this version, or unset TOPK_JIT_TEMPLATE_DIR");
        return;
    }
    tkj_digest_format(set->digest, digest);
    warm_ok(doctor, "%s, digest %s, ABI %d",
            set->directory != NULL ? set->directory : "the copy in the library", digest,
            TKJ_TEMPLATE_ABI);
    if (doctor->warning[0] == '\0')
        return;
    warm_problem(doctor, "%s", doctor->warning);
    warm_advise(doctor, "install the library anew");
}
