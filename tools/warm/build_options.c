/* SPDX-License-Identifier: Apache-2.0 */
#include "build_options.h"

#include <stdio.h>
#include <string.h>

#include "library_options.h"
#include "parse_number.h"
#include "spec.h"

/* Each taker of a list adds one word to the options. */

static bool take_arch(const char *word, void *options)
{
    warm_options *out = options;
    if (strcmp(word, "native") == 0)
        return out->native = true;
    if (strcmp(word, "all") == 0)
        return out->every = true;
    return warm_target_set_take(&out->targets, word);
}

static bool take_source(const char *path, warm_source_kind kind, warm_options *out)
{
    if (path[0] == '\0' || out->source_count == WARM_SOURCES_MAX)
        return false;
    out->sources[out->source_count++] = (warm_source){kind, path};
    return true;
}

static bool take_model_config(const char *path, void *options)
{
    return take_source(path, WARM_SOURCE_MODEL_CONFIG, options);
}

static bool take_manifest(const char *path, void *options)
{
    return take_source(path, WARM_SOURCE_MANIFEST, options);
}

static bool take_recording(const char *path, void *options)
{
    return take_source(path, WARM_SOURCE_RECORDING, options);
}

static bool take_operation(const char *word, void *options)
{
    topk_jit_operation value;
    if (!tkj_operation_parse(word, &value))
        return false;
    ((warm_options *)options)->operations |= 1u << value;
    return true;
}

static bool take_topk(const char *word, void *options)
{
    warm_options *out = options;
    if (out->topk_count == WARM_TOPK_MAX ||
        !tkj_parse_number(word, 1, INT64_MAX, &out->topk[out->topk_count]))
        return false;
    out->topk_count++;
    return true;
}

static bool take_dtype(const char *word, void *options)
{
    topk_jit_dtype value;
    if (!tkj_dtype_parse(word, &value))
        return false;
    ((warm_options *)options)->dtypes |= 1u << value;
    return true;
}

static bool take_layout(const char *word, void *options)
{
    topk_jit_layout value;
    if (!tkj_layout_parse(word, &value))
        return false;
    ((warm_options *)options)->layouts |= 1u << value;
    return true;
}

static bool take_page_size(const char *word, void *options)
{
    int64_t value;
    if (!tkj_parse_number(word, 1, INT64_C(1) << 30, &value) || (value & (value - 1)) != 0)
        return false;
    ((warm_options *)options)->page_sizes |= (uint32_t)value;
    return true;
}

static bool take_index_dtype(const char *word, void *options)
{
    topk_jit_dtype value;
    if (!tkj_dtype_parse(word, &value) || (value != TOPK_JIT_INT32 && value != TOPK_JIT_INT64))
        return false;
    ((warm_options *)options)->index_dtypes |= 1u << value;
    return true;
}

static bool take_tie_break(const char *word, void *options)
{
    topk_jit_tie_break value;
    if (!tkj_tie_break_parse(word, &value))
        return false;
    ((warm_options *)options)->tie_breaks |= 1u << value;
    return true;
}

WARM_TAKE_FLAG(warm_options, sorted)
WARM_TAKE_FLAG(warm_options, deterministic)
WARM_TAKE_FLAG(warm_options, nan_last)
WARM_TAKE_FLAG(warm_options, check)
WARM_TAKE_FLAG(warm_options, refresh)
WARM_TAKE_FLAG(warm_options, dry_run)
WARM_TAKE_PATH(warm_options, template_dir)
WARM_TAKE_PATH(warm_options, nvrtc)

static bool take_jobs(const char *word, void *options)
{
    int64_t value;
    if (!tkj_parse_number(word, 1, 1024, &value))
        return false;
    ((warm_options *)options)->jobs = (size_t)value;
    return true;
}

/** The names of the enumerators from `first` on; "?" is the one of none. */
#define ENUM_WORDS(words, type, name_of, first)                                                    \
    static bool words(size_t index, char out[WARM_WORD_SIZE])                                      \
    {                                                                                              \
        const char *name = name_of((type)((first) + index));                                       \
        snprintf(out, WARM_WORD_SIZE, "%s", name);                                                 \
        return name[0] != '?';                                                                     \
    }

ENUM_WORDS(operation_words, topk_jit_operation, tkj_operation_name, 0)
ENUM_WORDS(dtype_words, topk_jit_dtype, tkj_dtype_name, 0)
ENUM_WORDS(layout_words, topk_jit_layout, tkj_layout_name, 0)
ENUM_WORDS(index_dtype_words, topk_jit_dtype, tkj_dtype_name, TOPK_JIT_INT32)
ENUM_WORDS(tie_break_words, topk_jit_tie_break, tkj_tie_break_name, 0)

_Static_assert(TOPK_JIT_INT64 == TOPK_JIT_INT32 + 1, "they are the last dtypes");

#define SOURCE_EXPECTED "a file, at most 64 of them"
_Static_assert(WARM_SOURCES_MAX == 64, "SOURCE_EXPECTED says so");

const warm_option warm_build_options[] = {
    {.name = "arch",
     .argument = "LIST",
     .group = "GPUs",
     .help = "sm_90, sm_90a (the same), compute_90 (PTX), native (the GPUs present), all (every "
             "sm_XY that is known here and to the NVRTC)",
     .words = warm_target_words_native_all,
     .list = true,
     .take = take_arch},
    {.name = "model-config",
     .argument = "FILE",
     .group = "Files that say what is compiled; each may be given several times",
     .help = "a model's Hugging Face config.json: what its server needs",
     .expected = SOURCE_EXPECTED,
     .complete = WARM_COMPLETE_FILES,
     .take = take_model_config},
    {.name = "manifest",
     .argument = "FILE",
     .help = "a JSON list of specs and targets",
     .expected = SOURCE_EXPECTED,
     .complete = WARM_COMPLETE_FILES,
     .take = take_manifest},
    {.name = "recording",
     .argument = "FILE",
     .help = "what servers wrote down by TOPK_JIT_RECORD",
     .expected = SOURCE_EXPECTED,
     .complete = WARM_COMPLETE_FILES,
     .take = take_recording},
    {.name = "operation",
     .argument = "LIST",
     .group = "What is compiled (defaults in brackets)",
     .help = "select, fast_topk",
     .otherwise = "select",
     .words = operation_words,
     .list = true,
     .take = take_operation},
    {.name = "topk",
     .argument = "LIST",
     .help = "how many are selected",
     .otherwise = "2048",
     .expected = "numbers from 1 on, at most 256 of them",
     .list = true,
     .take = take_topk},
    {.name = "dtype",
     .argument = "LIST",
     .help = "float32, float16, bfloat16; fast_topk also float64, int32, int64",
     .otherwise = "float32",
     .words = dtype_words,
     .list = true,
     .take = take_dtype},
    {.name = "layout",
     .argument = "LIST",
     .help = "plain, paged, ragged",
     .otherwise = "plain",
     .words = layout_words,
     .list = true,
     .take = take_layout},
    {.name = "page-size",
     .argument = "LIST",
     .help = "powers of two; for paged, which needs it",
     .expected = "powers of two from 1 to 2^30",
     .list = true,
     .take = take_page_size},
    {.name = "index-dtype",
     .argument = "LIST",
     .help = "int32, int64",
     .otherwise = "int32",
     .words = index_dtype_words,
     .list = true,
     .take = take_index_dtype},
    {.name = "tie-break",
     .argument = "LIST",
     .help = "none, smallest, largest",
     .otherwise = "none",
     .words = tie_break_words,
     .list = true,
     .take = take_tie_break},
    {.name = "sorted", .help = "slots in descending score", .take = take_sorted},
    {.name = "deterministic",
     .help = "output depends on the row's data alone",
     .take = take_deterministic},
    {.name = "nan-last", .help = "NaN below -inf", .take = take_nan_last},
    {.name = "check", .help = "count bad inputs", .take = take_check},
    {.name = "jobs",
     .letter = 'j',
     .argument = "N",
     .group = "How",
     .help = "kernels compiled at a time",
     .otherwise =
         "as many as cores may be used, or fewer if free memory has no room for 100 MB each",
     .expected = "a number from 1 to 1024",
     .take = take_jobs},
    {.name = "refresh", .help = "compile also what is already there", .take = take_refresh},
    {.name = "dry-run",
     .letter = 'n',
     .help = "only say what would be compiled; writes nothing",
     .take = take_dry_run},
    WARM_TEMPLATE_DIR_OPTION("the kernel templates"),
    WARM_NVRTC_OPTION,
    {.name = NULL},
};
