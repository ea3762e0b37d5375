/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_offline.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "spec.h"
#include "status.h"

/* Far more than the paths of a usual configuration need; what does not fit is cut. */
#define TEXT_SIZE 16384

/* Majors of CUDA beyond the driver's of which entries are looked for, to say so. */
#define NEWER_MAJORS 3

typedef struct long_text {
    size_t used;
    char at[TEXT_SIZE];
} long_text;

__attribute__((format(printf, 2, 3))) static void append(long_text *text, const char *format, ...)
{
    va_list arguments;
    size_t left = sizeof text->at - text->used;
    va_start(arguments, format);
    int length = vsnprintf(text->at + text->used, left, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->used += (size_t)length < left ? (size_t)length : left - 1;
}

/** As a shell reads it back: in quotes, of which those inside end and begin anew. */
static void append_quoted(long_text *text, const char *word)
{
    append(text, "'");
    for (; *word != '\0'; word++)
        append(text, *word == '\'' ? "'\\''" : "%c", *word);
    append(text, "'");
}

/** One field of a spec's text as a flag: "index=int32" as "--index-dtype int32", "sorted" as
 *  "--sorted". */
static void append_flag(long_text *text, const char *field, size_t length)
{
    const char *equals = memchr(field, '=', length);
    size_t name = equals != NULL ? (size_t)(equals - field) : length;
    append(text, " --");
    for (size_t i = 0; i < name; i++)
        append(text, "%c", field[i] == '_' ? '-' : field[i]);
    if (name == strlen("index") && strncmp(field, "index", name) == 0)
        append(text, "-dtype");
    if (equals != NULL)
        append(text, " %.*s", (int)(length - name - 1), equals + 1);
}

/** fast_topk has no layout and no other index dtype than its own. */
static bool has_flag(const topk_jit_spec *spec, const char *field)
{
    return spec->operation == TOPK_JIT_OPERATION_SELECT ||
           (strncmp(field, "layout=", strlen("layout=")) != 0 &&
            strncmp(field, "index=", strlen("index=")) != 0);
}

static void append_command(long_text *text, const tkj_build *build, const char *target)
{
    const tkj_config *config = &build->context->config;
    const char *root = tkj_cache_root(build->context->cache);
    const char *templates =
        config->template_dir != NULL ? config->template_dir : config->env_template_dir;
    char spec[TKJ_SPEC_TEXT_SIZE];
    tkj_spec_format(build->spec, spec);
    if (config->values.trust == TKJ_TRUST_GROUP)
        append(text, "TOPK_JIT_SHARED=1 ");
    if (config->values.toolchain == TOPK_JIT_TOOLCHAIN_EXACT)
        append(text, "TOPK_JIT_TOOLCHAIN=exact ");
    append(text, "topk-jit-warm --arch %s", target);
    for (const char *field = spec; *field != '\0';) {
        size_t length = strcspn(field, ",");
        if (has_flag(build->spec, field))
            append_flag(text, field, length);
        field += length;
        field += *field == ',';
    }
    if (templates != NULL) {
        append(text, " --template-dir ");
        append_quoted(text, templates);
    }
    if (config->nvrtc_path != NULL) {
        append(text, " --nvrtc ");
        append_quoted(text, config->nvrtc_path);
    }
    append(text, " --cache-dir ");
    if (root != NULL)
        append_quoted(text, root);
    else
        append(text, "DIRECTORY, which TOPK_JIT_CACHE_DIR or TOPK_JIT_RO_DIRS names");
}

/** An entry that only a newer driver could load is none here, but worth a word. */
static void append_newer(long_text *text, const tkj_build *build, int major)
{
    for (int newer = major + 1; newer <= major + NEWER_MAJORS; newer++) {
        const tkj_cache_query query = tkj_build_query(build, newer, NULL);
        tkj_blob bytes;
        tkj_entry entry;
        size_t layer = 0;
        if (tkj_cache_peek(build->context->cache, &query, &layer, &bytes, &entry) != TKJ_CACHE_HIT)
            continue;
        tkj_free(&build->context->config.allocator, bytes.bytes);
        append(text, "; there is one of CUDA %d, but the driver runs CUDA %d", newer, major);
    }
}

static void append_places(long_text *text, const tkj_build *build, int major, const char *toolchain)
{
    const tkj_cache_query query = tkj_build_query(build, major, toolchain);
    const size_t left = sizeof text->at - text->used;
    size_t length =
        tkj_cache_explain_miss(build->context->cache, &query, text->at + text->used, left);
    if (length == 0)
        append(text, "nowhere, for no directory and no pack is set");
    text->used += length < left ? length : left - 1;
    append_newer(text, build, major);
}

topk_jit_status tkj_plan_offline_miss(tkj_build *build, tkj_target target, int major,
                                      const char *toolchain)
{
    char spec[TKJ_SPEC_TEXT_SIZE];
    char key[2 * TKJ_DIGEST_SIZE + 1];
    long_text text = {0};
    tkj_build_aim(build, target);
    tkj_spec_format(build->spec, spec);
    tkj_digest_format(build->key.digest, key);
    append(&text,
           "the mode is offline and kernel %s is in no layer of the cache; this creates it: ",
           build->entry_name);
    append_command(&text, build, build->target_name);
    append(&text, "; spec %s, target %s, key %s; searched: ", spec, build->target_name, key);
    append_places(&text, build, major, toolchain);
    tkj_log_text(&build->context->config.logger, TOPK_JIT_LOG_ERROR, text.at);
    return tkj_fail(TOPK_JIT_OFFLINE_MISS, "%s", text.at);
}
