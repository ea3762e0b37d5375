/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_offline.h"

#include <string.h>

#include "memory.h"
#include "spec.h"
#include "status.h"
#include "text.h"

/* Far more than the paths of a usual configuration need; what does not fit is cut. */
#define TEXT_SIZE 16384

/** As a shell reads it back: in quotes, of which those inside end and begin anew. */
static void append_quoted(tkj_text *text, const char *word)
{
    tkj_text_append(text, "'");
    for (; *word != '\0'; word++)
        tkj_text_append(text, *word == '\'' ? "'\\''" : "%c", *word);
    tkj_text_append(text, "'");
}

/** One field of a spec's text as a flag: "index=int32" as "--index-dtype int32", "sorted" as
 *  "--sorted". */
static void append_flag(tkj_text *text, const char *field, size_t length)
{
    const char *equals = memchr(field, '=', length);
    size_t name = equals != NULL ? (size_t)(equals - field) : length;
    tkj_text_append(text, " --");
    for (size_t i = 0; i < name; i++)
        tkj_text_append(text, "%c", field[i] == '_' ? '-' : field[i]);
    if (name == strlen("index") && strncmp(field, "index", name) == 0)
        tkj_text_append(text, "-dtype");
    if (equals != NULL)
        tkj_text_append(text, " %.*s", (int)(length - name - 1), equals + 1);
}

/** fast_topk has no layout and no other index dtype than its own. */
static bool has_flag(const topk_jit_spec *spec, const char *field)
{
    return spec->operation == TOPK_JIT_OPERATION_SELECT ||
           (strncmp(field, "layout=", strlen("layout=")) != 0 &&
            strncmp(field, "index=", strlen("index=")) != 0);
}

void tkj_plan_command(tkj_text *text, const tkj_build *build)
{
    const tkj_config *config = &build->context->config;
    const char *root = tkj_cache_root(build->context->cache);
    const char *templates =
        config->template_dir != NULL ? config->template_dir : config->env_template_dir;
    char spec[TKJ_SPEC_TEXT_SIZE];
    tkj_spec_format(build->spec, spec);
    if (config->values.trust == TKJ_TRUST_GROUP)
        tkj_text_append(text, "TOPK_JIT_SHARED=1 ");
    if (config->values.toolchain == TOPK_JIT_TOOLCHAIN_EXACT)
        tkj_text_append(text, "TOPK_JIT_TOOLCHAIN=exact ");
    const char *nvrtc = config->nvrtc_path;
    const bool nvrtc_is_path = nvrtc != NULL && strchr(nvrtc, '/') != NULL;
    if (nvrtc != NULL && !nvrtc_is_path) { /* the loader's to find; --nvrtc takes it for a file */
        tkj_text_append(text, "TOPK_JIT_NVRTC=");
        append_quoted(text, nvrtc);
        tkj_text_append(text, " ");
    }
    tkj_text_append(text, "topk-jit-warm --arch %s", build->target_name);
    for (const char *field = spec; *field != '\0';) {
        size_t length = strcspn(field, ",");
        if (has_flag(build->spec, field))
            append_flag(text, field, length);
        field += length;
        field += *field == ',';
    }
    if (templates != NULL) {
        tkj_text_append(text, " --template-dir ");
        append_quoted(text, templates);
    }
    if (nvrtc_is_path) {
        tkj_text_append(text, " --nvrtc ");
        append_quoted(text, nvrtc);
    }
    tkj_text_append(text, " --cache-dir ");
    if (root != NULL)
        append_quoted(text, root);
    else
        tkj_text_append(text, "DIRECTORY, which TOPK_JIT_CACHE_DIR or TOPK_JIT_RO_DIRS names");
}

/** An entry that only a newer driver could load is none here, but worth a word. */
static void append_newer(tkj_text *text, const tkj_build *build, int major)
{
    for (int newer = major + 1; newer <= major + TKJ_NEWER_MAJORS; newer++) {
        const tkj_cache_query query = tkj_build_query(build, newer, NULL);
        tkj_blob bytes;
        tkj_entry entry;
        size_t layer = 0;
        if (tkj_cache_peek(build->context->cache, &query, &layer, &bytes, &entry) != TKJ_CACHE_HIT)
            continue;
        tkj_free(&build->context->config.allocator, bytes.bytes);
        tkj_text_append(text, "; there is one of CUDA %d, but the driver runs CUDA %d", newer,
                        major);
    }
}

static void append_places(tkj_text *text, const tkj_build *build, int major, const char *toolchain)
{
    const tkj_cache_query query = tkj_build_query(build, major, toolchain);
    if (!tkj_cache_explain_miss(build->context->cache, &query, text))
        tkj_text_append(text, "nowhere, for no directory and no pack is set");
    append_newer(text, build, major);
}

topk_jit_status tkj_plan_offline_miss(tkj_build *build, tkj_target target, int major,
                                      const char *toolchain)
{
    char spec[TKJ_SPEC_TEXT_SIZE];
    char key[2 * TKJ_DIGEST_SIZE + 1];
    char message[TEXT_SIZE];
    tkj_text text = tkj_text_start(message, sizeof message);
    tkj_build_aim(build, target);
    tkj_spec_format(build->spec, spec);
    tkj_digest_format(build->key.digest, key);
    tkj_text_append(
        &text, "the mode is offline and kernel %s is in no layer of the cache; this creates it: ",
        build->entry_name);
    tkj_plan_command(&text, build);
    tkj_text_append(&text, "; spec %s, target %s, key %s; searched: ", spec, build->target_name,
                    key);
    append_places(&text, build, major, toolchain);
    tkj_log_text(&build->context->config.logger, TOPK_JIT_LOG_ERROR, message);
    return tkj_fail(TOPK_JIT_OFFLINE_MISS, "%s", message);
}
