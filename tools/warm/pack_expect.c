/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_expect.h"

#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "key.h"
#include "pairs.h"
#include "prelude.h"
#include "spec.h"
#include "variants.h"

/** What is checked. */
typedef struct expectation {
    const warm_pack_found *found;
    const warm_pack_options *options;
    const char *root;
    const uint8_t *templates;
    bool seen[WARM_PACK_SPECS_MAX][TKJ_TARGETS_MAX]; /* 0 where none is named */
    warm_pairs pairs; /* of which there is a kernel of the library's templates */
} expectation;

/* ---- what is there ---- */

static bool is_of_library(const expectation *at, const tkj_entry *entry)
{
    char own[2 * TKJ_DIGEST_SIZE + 1];
    const char *text;
    size_t length;
    if (at->templates == NULL || !tkj_key_field(entry->preimage, "templates", &text, &length))
        return false;
    tkj_digest_format(at->templates, own);
    return length == strlen(own) && memcmp(text, own, length) == 0;
}

/** What this version makes of an entry's spec and target. @return false if it is nothing */
static bool parse(const tkj_entry *entry, const char *text, size_t length, topk_jit_spec *spec,
                  tkj_target *target)
{
    char copy[TKJ_SPEC_TEXT_SIZE];
    if (length >= sizeof copy || !tkj_target_parse(entry->target, target))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (tkj_spec_parse(copy, spec) != TOPK_JIT_OK)
        return false;
    tkj_spec_make_canonical(spec);
    return true;
}

static int add_entry(expectation *at, const tkj_entry *entry)
{
    const char *text = "";
    size_t length = 0;
    topk_jit_spec spec;
    tkj_target target;
    const bool named = tkj_key_field(entry->preimage, "spec", &text, &length);
    const size_t row = named ? warm_pack_spec(at->options, text, length) : at->options->spec_count;
    const size_t column = warm_target_set_find(&at->options->targets, entry->target);
    if (row < WARM_PACK_SPECS_MAX && column < TKJ_TARGETS_MAX)
        at->seen[row][column] = true;
    if (!named || !is_of_library(at, entry) || !parse(entry, text, length, &spec, &target))
        return WARM_EXIT_DONE;
    const warm_gpu gpu = warm_gpu_of(target);
    return warm_pairs_add(&at->pairs, &spec, (warm_gpus){&gpu, 1});
}

static int list_found(expectation *at)
{
    int code = WARM_EXIT_DONE;
    for (size_t i = 0; code == WARM_EXIT_DONE && i < at->found->count; i++) {
        const tkj_blob *bytes = &at->found->items[i].bytes;
        tkj_entry entry;
        if (tkj_entry_decode(bytes->bytes, bytes->size, &entry) == NULL)
            code = add_entry(at, &entry);
    }
    return code == WARM_EXIT_DONE ? warm_pairs_unique(&at->pairs) : code;
}

/* ---- what is named ---- */

static void miss(const expectation *at, const char *spec, const tkj_target *missed)
{
    char target[TKJ_TARGET_NAME_SIZE] = "";
    if (missed != NULL)
        tkj_target_format(*missed, target);
    warm_complain("%s has no entry%s%s%s%s%s", at->root, spec != NULL ? " of spec " : "",
                  spec != NULL ? spec : "", missed != NULL ? " for " : "", target,
                  at->found->other_templates > 0
                      ? " of the library's templates; --all packs those of others"
                      : "");
}

/** Of each spec for each target there is something. @return how many of them there is nothing */
static size_t check_named(const expectation *at)
{
    const warm_pack_options *options = at->options;
    const size_t spec_count = options->spec_count > 0 ? options->spec_count : 1;
    const size_t target_count = options->targets.count > 0 ? options->targets.count : 1;
    size_t missing = 0;
    for (size_t spec = 0; spec < spec_count; spec++)
        for (size_t target = 0; target < target_count; target++)
            if (!at->seen[spec][target]) {
                miss(at, options->spec_count > 0 ? options->specs[spec] : NULL,
                     options->targets.count > 0 ? &options->targets.at[target] : NULL);
                missing++;
            }
    return missing;
}

/* ---- every kernel ---- */

static int compare_key(const void *key, const void *item)
{
    return memcmp(key, ((const tkj_pack_item *)item)->key, TKJ_DIGEST_SIZE);
}

/** Whether the file of an entry of that key is one of the damaged, whatever compiled it. */
static bool is_damaged(const warm_pack_found *found, const uint8_t key[TKJ_DIGEST_SIZE])
{
    tkj_cache_key name;
    char file[TKJ_ENTRY_FILE_SIZE];
    memcpy(name.digest, key, sizeof name.digest);
    tkj_entry_file(&name, 0, file);
    const size_t length = strlen(file) - strlen("0.tkc"); /* until the compiler's number */
    for (size_t i = 0; i < found->flaw_count; i++)
        if (strncmp(found->flaws[i].file, file, length) == 0)
            return true;
    return false;
}

static bool is_there(const expectation *at, const warm_pair *pair, const tkj_variant *variant)
{
    const warm_pack_found *found = at->found;
    char prelude[TKJ_PRELUDE_SIZE];
    tkj_key key;
    tkj_prelude(&pair->spec, variant, prelude);
    tkj_key_build(at->templates, &pair->spec, prelude, pair->gpu.target, &key);
    return bsearch(key.digest, found->items, found->count, sizeof *found->items, compare_key) !=
               NULL ||
           is_damaged(found, key.digest);
}

static void name_missing(const expectation *at, const warm_pair *pair, const tkj_variant *variant)
{
    char name[TKJ_ENTRY_NAME_SIZE], spec[TKJ_SPEC_TEXT_SIZE], target[TKJ_TARGET_NAME_SIZE];
    tkj_entry_name(&pair->spec, variant, name);
    tkj_spec_format(&pair->spec, spec);
    tkj_target_format(pair->gpu.target, target);
    warm_complain("%s lacks %s of spec %s for %s", at->root, name, spec, target);
}

/** How many of the kernels of a GPU are missing. @param names  a line for each */
static size_t count_missing(const expectation *at, const warm_pair *pair, int architecture,
                            bool names)
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    const size_t count = tkj_variants_enumerate(&pair->spec, architecture, variants);
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        const bool there = is_there(at, pair, &variants[i]);
        if (!there && names)
            name_missing(at, pair, &variants[i]);
        missing += !there;
    }
    return missing;
}

/** What is compiled for an architecture may be of the kernels of a GPU above it, which runs it. */
static bool is_complete(const expectation *at, const warm_pair *pair)
{
    for (size_t i = 0; i < tkj_architecture_count; i++)
        if (tkj_architectures[i].number >= pair->gpu.architecture &&
            count_missing(at, pair, tkj_architectures[i].number, false) == 0)
            return true;
    return false;
}

static size_t check_kernels(const expectation *at)
{
    size_t missing = 0;
    for (size_t i = 0; i < at->pairs.count; i++) {
        const warm_pair *pair = &at->pairs.at[i];
        if (!is_complete(at, pair))
            missing += count_missing(at, pair, pair->gpu.architecture, true);
    }
    return missing;
}

int warm_pack_expect(const warm_pack_found *found, const warm_pack_options *options,
                     const char *root, const uint8_t *templates)
{
    expectation at = {.found = found, .options = options, .root = root, .templates = templates};
    int code = list_found(&at);
    if (code == WARM_EXIT_DONE && check_named(&at) + check_kernels(&at) > 0)
        code = WARM_EXIT_NOT_THERE;
    warm_pairs_release(&at.pairs);
    return code;
}
