/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_options.h"

#include <string.h>

#include "library_options.h"

static bool take_arch(const char *word, void *options)
{
    return warm_target_set_take(&((warm_pack_options *)options)->targets, word);
}

static bool take_spec(const char *text, void *options)
{
    warm_pack_options *out = options;
    topk_jit_spec spec;
    if (out->spec_count == WARM_PACK_SPECS_MAX || tkj_spec_parse(text, &spec) != TOPK_JIT_OK)
        return false;
    char *canonical = out->specs[out->spec_count];
    tkj_spec_make_canonical(&spec);
    tkj_spec_format(&spec, canonical);
    out->spec_count += warm_pack_spec(out, canonical, strlen(canonical)) == out->spec_count;
    return true;
}

static const char *explain_spec(const char *text)
{
    topk_jit_spec spec;
    return tkj_spec_parse(text, &spec) != TOPK_JIT_OK ? topk_jit_last_error()->message : NULL;
}

size_t warm_pack_spec(const warm_pack_options *options, const char *text, size_t length)
{
    size_t i = 0;
    while (i < options->spec_count &&
           (strlen(options->specs[i]) != length || memcmp(options->specs[i], text, length) != 0))
        i++;
    return i;
}

WARM_TAKE_FLAG(warm_pack_options, all)
WARM_TAKE_FLAG(warm_pack_options, keep_going)
WARM_TAKE_FLAG(warm_pack_options, force)
WARM_TAKE_PATH(warm_pack_options, template_dir)

const warm_option warm_pack_option_table[] = {
    {.name = "arch",
     .argument = "LIST",
     .group = "What is packed",
     .help = "sm_90, sm_90a (the same), compute_90 (PTX)",
     .otherwise = "whatever is there",
     .words = warm_target_words,
     .list = true,
     .take = take_arch},
    {.name = "spec",
     .argument = "TEXT",
     .help = "as TOPK_JIT_RECORD writes it; may be given again for further ones",
     .otherwise = "whatever is there",
     .expected = "a spec, such as operation=select,layout=ragged,topk=2048",
     .take = take_spec,
     .explain = explain_spec},
    {.name = "all",
     .help = "also entries of templates that are not those of the library",
     .take = take_all},
    WARM_TEMPLATE_DIR_OPTION("the kernel templates whose entries are wanted"),
    {.name = "keep-going",
     .group = "How",
     .help = "leave damaged entries out, instead of packing nothing",
     .take = take_keep_going},
    {.name = "force", .letter = 'f', .help = "replace OUT", .take = take_force},
    {.name = NULL},
};
