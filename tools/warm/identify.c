/* SPDX-License-Identifier: Apache-2.0 */
#include "identify.h"

#include <string.h>

#include "key.h"
#include "prelude.h"
#include "spec.h"

static bool has_prelude(const tkj_entry *entry, const topk_jit_spec *spec,
                        const tkj_variant *variant)
{
    char prelude[TKJ_PRELUDE_SIZE];
    const char *text;
    size_t length;
    tkj_prelude(spec, variant, prelude);
    return tkj_key_field(entry->preimage, "prelude", &text, &length) && length == strlen(prelude) &&
           memcmp(text, prelude, length) == 0;
}

/* The variants of an architecture. Two of them may have one name, and other constants in their
   preludes: the exact one counts more. @return true if that one is found */
static bool find_variant(const tkj_entry *entry, int architecture, warm_identity *out)
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    const size_t count = tkj_variants_enumerate(&out->parsed, architecture, variants);
    for (size_t i = 0; i < count; i++) {
        char name[TKJ_ENTRY_NAME_SIZE];
        tkj_entry_name(&out->parsed, &variants[i], name);
        if (strcmp(name, entry->entry_name) != 0)
            continue;
        const bool exact = has_prelude(entry, &out->parsed, &variants[i]);
        if (exact || !out->known)
            out->variant = variants[i];
        out->known = true;
        if (exact)
            return true;
    }
    return false;
}

/* What is compiled for an architecture may be of the variants of a GPU above it, which runs it. */
static void find_kernel(const tkj_entry *entry, warm_identity *out)
{
    for (size_t i = 0; i < tkj_architecture_count; i++)
        if (tkj_architectures[i].number >= out->target.architecture &&
            find_variant(entry, tkj_architectures[i].number, out))
            return;
}

void warm_identify(const tkj_entry *entry, warm_identity *out)
{
    char text[TKJ_SPEC_TEXT_SIZE];
    *out = (warm_identity){.spec = NULL};
    if (!tkj_key_field(entry->preimage, "spec", &out->spec, &out->spec_length)) {
        out->spec = NULL;
        return;
    }
    if (out->spec_length >= sizeof text)
        return;
    memcpy(text, out->spec, out->spec_length);
    text[out->spec_length] = '\0';
    if (tkj_spec_parse(text, &out->parsed) == TOPK_JIT_OK &&
        tkj_target_parse(entry->target, &out->target)) {
        tkj_spec_make_canonical(&out->parsed);
        find_kernel(entry, out);
    }
}

const char *warm_identity_variant(const warm_identity *identity)
{
    return identity->known ? identity->variant.name : "";
}
