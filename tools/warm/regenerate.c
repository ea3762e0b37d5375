/* SPDX-License-Identifier: Apache-2.0 */
#include "regenerate.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "complain.h"
#include "identify.h"
#include "key.h"
#include "memory.h"
#include "plan_build.h"

static bool is_of_templates(const tkj_entry *entry, const tkj_template_set *templates)
{
    char digest[2 * TKJ_DIGEST_SIZE + 1];
    const char *text;
    size_t length;
    tkj_digest_format(templates->digest, digest);
    return tkj_key_field(entry->preimage, "templates", &text, &length) &&
           length == strlen(digest) && memcmp(text, digest, length) == 0;
}

static int refuse(const char *why)
{
    warm_complain("the source of this entry cannot be made here: %s", why);
    return WARM_EXIT_FAILED;
}

/* Begins the build whose key is the entry's. The build borrows the identity. */
static int start(tkj_build *build, topk_jit_context *context, const tkj_entry *entry,
                 warm_identity *identity)
{
    warm_identify(entry, identity);
    if (!identity->known)
        return refuse("it is of a kernel that this version does not have");
    if (tkj_build_start(build, context, &identity->parsed, &identity->variant) != TOPK_JIT_OK)
        return refuse(topk_jit_last_error()->message);
    tkj_build_aim(build, identity->target);
    if (!is_of_templates(entry, build->templates))
        return refuse("it was made of other templates than those here (their digests differ)");
    if (strcmp(build->key.preimage, entry->preimage) != 0)
        return refuse("another version made it of the same templates with other constants");
    return WARM_EXIT_DONE;
}

static void print_file(FILE *to, const char *name, const char *text)
{
    fprintf(to, "/* ==== %s ==== */\n", name);
    fputs(text, to);
}

static int print_source(const tkj_build *build, char **text, size_t *size)
{
    FILE *to = open_memstream(text, size);
    if (to == NULL)
        return refuse("there is no memory for it");
    print_file(to, build->entry_name, build->prelude);
    for (size_t i = 0; i < tkj_embedded_template_count; i++)
        print_file(to, build->templates->files[i].name, build->templates->files[i].text);
    return fclose(to) == 0 ? WARM_EXIT_DONE : refuse("there is no memory for it");
}

int warm_regenerate_source(topk_jit_context *context, const tkj_entry *entry, tkj_blob *out)
{
    tkj_build build;
    warm_identity identity;
    char *text = NULL;
    *out = (tkj_blob){NULL, 0};
    int code = start(&build, context, entry, &identity);
    if (code == WARM_EXIT_DONE)
        code = print_source(&build, &text, &out->size);
    out->bytes = (uint8_t *)text;
    return code;
}

int warm_regenerate_ptx(topk_jit_context *context, const tkj_entry *entry, tkj_blob *out)
{
    tkj_build build;
    warm_identity identity;
    const tkj_nvrtc *nvrtc;
    *out = (tkj_blob){NULL, 0};
    const int code = start(&build, context, entry, &identity);
    if (code != WARM_EXIT_DONE)
        return code;
    const tkj_compile_job job = {
        .main = {build.entry_name, build.prelude},
        .includes = build.templates->files,
        .include_count = tkj_embedded_template_count,
        .architecture = identity.target.architecture,
        .ptx = true,
    };
    tkj_compile_result result = {0};
    if (tkj_context_nvrtc(context, &nvrtc) != TOPK_JIT_OK ||
        tkj_nvrtc_compile(nvrtc, &job, build.entry_name, &result) != TOPK_JIT_OK) {
        warm_complain("%s", topk_jit_last_error()->message);
        return WARM_EXIT_FAILED;
    }
    *out = result.payload;
    return WARM_EXIT_DONE;
}
