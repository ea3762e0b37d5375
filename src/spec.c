/* SPDX-License-Identifier: Apache-2.0 */
#include "spec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"
#include "suggest.h"
#include "text.h"

#define PAGE_SIZE_MAX ((int64_t)1 << 30)

static const char *const operation_names[] = {"select", "fast_topk"};
static const char *const layout_names[] = {"plain", "paged", "ragged"};
static const char *const dtype_names[] = {"float32", "float16", "bfloat16",
                                          "float64", "int32",   "int64"};
static const char *const tie_break_names[] = {"none", "smallest", "largest"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *name_of(const char *const *names, size_t count, unsigned value)
{
    return value < count ? names[value] : "?";
}

static bool value_of(const char *const *names, size_t count, const char *name, unsigned *value)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0) {
            *value = i;
            return true;
        }
    return false;
}

#define ENUM_NAMES(word, type)                                                                     \
    const char *tkj_##word##_name(type value)                                                      \
    {                                                                                              \
        return name_of(word##_names, COUNT(word##_names), (unsigned)value);                        \
    }                                                                                              \
    bool tkj_##word##_parse(const char *name, type *out)                                           \
    {                                                                                              \
        unsigned value;                                                                            \
        if (!value_of(word##_names, COUNT(word##_names), name, &value))                            \
            return false;                                                                          \
        *out = (type)value;                                                                        \
        return true;                                                                               \
    }

ENUM_NAMES(operation, topk_jit_operation)
ENUM_NAMES(layout, topk_jit_layout)
ENUM_NAMES(dtype, topk_jit_dtype)
ENUM_NAMES(tie_break, topk_jit_tie_break)

static topk_jit_status bad(const char *field, const char *given, const char *expected)
{
    return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "%s is %s, expected %s", field, given, expected);
}

static topk_jit_status bad_number(const char *field, int64_t given, const char *expected)
{
    return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "%s is %" PRId64 ", expected %s", field, given,
                    expected);
}

static topk_jit_status check_enumerators(const topk_jit_spec *spec)
{
    if ((unsigned)spec->operation >= COUNT(operation_names))
        return bad_number("operation", spec->operation, "a topk_jit_operation");
    if ((unsigned)spec->layout >= COUNT(layout_names))
        return bad_number("layout", spec->layout, "a topk_jit_layout");
    if ((unsigned)spec->dtype >= COUNT(dtype_names))
        return bad_number("dtype", spec->dtype, "a topk_jit_dtype");
    if ((unsigned)spec->index_dtype >= COUNT(dtype_names))
        return bad_number("index_dtype", spec->index_dtype, "a topk_jit_dtype");
    if ((unsigned)spec->tie_break >= COUNT(tie_break_names))
        return bad_number("tie_break", spec->tie_break, "a topk_jit_tie_break");
    return TOPK_JIT_OK;
}

static topk_jit_status check_select(const topk_jit_spec *spec, const char *index_name)
{
    if (spec->dtype > TOPK_JIT_BFLOAT16)
        return bad("dtype", tkj_dtype_name(spec->dtype),
                   "float32, float16 or bfloat16 for operation select");
    if (spec->index_dtype != TOPK_JIT_INT32 && spec->index_dtype != TOPK_JIT_INT64)
        return bad(index_name, tkj_dtype_name(spec->index_dtype), "int32 or int64");
    int64_t size = spec->page_size;
    if (spec->layout != TOPK_JIT_LAYOUT_PAGED && size != 0)
        return bad_number("page_size", size, "0 unless the layout is paged");
    if (spec->layout == TOPK_JIT_LAYOUT_PAGED &&
        (size < 1 || size > PAGE_SIZE_MAX || (size & (size - 1)) != 0))
        return bad_number("page_size", size, "a power of two from 1 to 2^30");
    return TOPK_JIT_OK;
}

static topk_jit_status check_fast_topk(const topk_jit_spec *spec, const char *index_name)
{
    if (spec->layout != TOPK_JIT_LAYOUT_PLAIN)
        return bad("layout", tkj_layout_name(spec->layout), "plain for operation fast_topk");
    if (spec->index_dtype != TOPK_JIT_INT64)
        return bad(index_name, tkj_dtype_name(spec->index_dtype), "int64 for operation fast_topk");
    if (spec->page_size != 0)
        return bad_number("page_size", spec->page_size, "0 for operation fast_topk");
    if (spec->tie_break || spec->sorted || spec->deterministic || spec->nan_last || spec->check)
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT,
                        "spec: an option is set, expected none for operation fast_topk, which is "
                        "always sorted and deterministic");
    return TOPK_JIT_OK;
}

/** @param index_name  what the caller calls index_dtype */
static topk_jit_status check(const topk_jit_spec *spec, const char *index_name)
{
    topk_jit_status status = check_enumerators(spec);
    if (status != TOPK_JIT_OK)
        return status;
    if (spec->topk < 1)
        return bad_number("topk", spec->topk, "at least 1");
    return spec->operation == TOPK_JIT_OPERATION_SELECT ? check_select(spec, index_name)
                                                        : check_fast_topk(spec, index_name);
}

topk_jit_status tkj_spec_validate(const topk_jit_spec *spec)
{
    return check(spec, "index_dtype");
}

/* Specs are compared as bytes. */
_Static_assert(sizeof(topk_jit_spec) == sizeof(size_t) + 2 * sizeof(int64_t) + 5 * sizeof(int) + 4,
               "a spec has no padding");

void tkj_spec_make_canonical(topk_jit_spec *spec)
{
    spec->struct_size = sizeof *spec;
    if (spec->deterministic && spec->tie_break == TOPK_JIT_TIE_BREAK_NONE)
        spec->tie_break = TOPK_JIT_TIE_BREAK_SMALLEST;
    spec->sorted = spec->sorted != 0;
    spec->deterministic = spec->deterministic != 0;
    spec->nan_last = spec->nan_last != 0;
    spec->check = spec->check != 0;
}

topk_jit_spec tkj_spec_canonical(const topk_jit_spec *spec)
{
    topk_jit_spec canonical = *spec;
    tkj_spec_make_canonical(&canonical);
    return canonical;
}

topk_jit_spec tkj_spec_of_rows(const topk_jit_spec *spec)
{
    topk_jit_spec selection = *spec;
    if (spec->operation == TOPK_JIT_OPERATION_FAST_TOPK) {
        selection.sorted = 1;
        selection.tie_break = TOPK_JIT_TIE_BREAK_SMALLEST;
    }
    return selection;
}

void tkj_spec_format(const topk_jit_spec *spec, char text[TKJ_SPEC_TEXT_SIZE])
{
    char page_size[40] = "";
    char tie_break[32] = "";
    if (spec->layout == TOPK_JIT_LAYOUT_PAGED)
        snprintf(page_size, sizeof page_size, ",page_size=%" PRId64, spec->page_size);
    if (spec->tie_break != TOPK_JIT_TIE_BREAK_NONE)
        snprintf(tie_break, sizeof tie_break, ",tie_break=%s", tkj_tie_break_name(spec->tie_break));
    snprintf(text, TKJ_SPEC_TEXT_SIZE,
             "operation=%s,layout=%s,topk=%" PRId64 ",dtype=%s,index=%s%s%s%s%s%s%s",
             tkj_operation_name(spec->operation), tkj_layout_name(spec->layout), spec->topk,
             tkj_dtype_name(spec->dtype), tkj_dtype_name(spec->index_dtype), page_size,
             spec->sorted ? ",sorted" : "", tie_break, spec->deterministic ? ",deterministic" : "",
             spec->nan_last ? ",nan_last" : "", spec->check ? ",check" : "");
}

static bool number_of(const char *text, int64_t *out)
{
    char *end;
    if (*text < '0' || *text > '9') /* strtoll would take signs and blanks */
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0;
}

/* Fields as the text names them; from FIELD_SORTED on they are options, which have no value. */
enum field {
    FIELD_OPERATION,
    FIELD_LAYOUT,
    FIELD_TOPK,
    FIELD_DTYPE,
    FIELD_INDEX,
    FIELD_PAGE_SIZE,
    FIELD_TIE_BREAK,
    FIELD_SORTED,
    FIELD_DETERMINISTIC,
    FIELD_NAN_LAST,
    FIELD_CHECK,
};
static const char *const field_names[] = {"operation",     "layout",    "topk",      "dtype",
                                          "index",         "page_size", "tie_break", "sorted",
                                          "deterministic", "nan_last",  "check"};

/** Words that are known. */
typedef struct vocabulary {
    const char *const *words;
    size_t count;
} vocabulary;

/** What a field's value may be; nothing for a number and for an option. */
static vocabulary values_of(unsigned field)
{
    switch (field) {
    case FIELD_OPERATION:
        return (vocabulary){operation_names, COUNT(operation_names)};
    case FIELD_LAYOUT:
        return (vocabulary){layout_names, COUNT(layout_names)};
    case FIELD_DTYPE:
        return (vocabulary){dtype_names, COUNT(dtype_names)};
    case FIELD_INDEX:
        return (vocabulary){dtype_names + TOPK_JIT_INT32, TOPK_JIT_INT64 - TOPK_JIT_INT32 + 1};
    case FIELD_TIE_BREAK:
        return (vocabulary){tie_break_names, COUNT(tie_break_names)};
    default:
        return (vocabulary){NULL, 0};
    }
}

/** Names what was probably meant, and all that could be. @param what  the word was given as */
static topk_jit_status refuse_word(const char *what, const char *word, vocabulary known)
{
    char near[160], list[160];
    tkj_suggestion suggestion = {.given = word};
    tkj_text expected = tkj_text_start(list, sizeof list);
    for (size_t i = 0; i < known.count; i++) {
        tkj_text_append(&expected, "%s%s", i > 0 ? ", " : "", known.words[i]);
        tkj_suggest(&suggestion, known.words[i]);
    }
    tkj_suggestion_format(&suggestion, "", near, sizeof near);
    return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "spec text: %s \"%s\"%s (expected: %s)", what, word,
                    near, list);
}

static topk_jit_status set_option(topk_jit_spec *spec, unsigned field, const char *value)
{
    uint8_t *const options[] = {&spec->sorted, &spec->deterministic, &spec->nan_last, &spec->check};
    if (value != NULL)
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT,
                        "spec text: %s has the value \"%s\", expected none", field_names[field],
                        value);
    *options[field - FIELD_SORTED] = 1;
    return TOPK_JIT_OK;
}

static topk_jit_status set_number(topk_jit_spec *spec, unsigned field, const char *value)
{
    if (number_of(value, field == FIELD_TOPK ? &spec->topk : &spec->page_size))
        return TOPK_JIT_OK;
    return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "spec text: %s is \"%s\", expected a number",
                    field_names[field], value);
}

static topk_jit_status set_word(topk_jit_spec *spec, unsigned field, const char *value)
{
    char what[32];
    unsigned word;
    const vocabulary known = values_of(field);
    snprintf(what, sizeof what, "%s is", field_names[field]);
    if (!value_of(known.words, known.count, value, &word))
        return refuse_word(what, value, known);
    if (field == FIELD_OPERATION)
        spec->operation = (topk_jit_operation)word;
    else if (field == FIELD_LAYOUT)
        spec->layout = (topk_jit_layout)word;
    else if (field == FIELD_DTYPE)
        spec->dtype = (topk_jit_dtype)word;
    else if (field == FIELD_INDEX)
        spec->index_dtype = (topk_jit_dtype)(TOPK_JIT_INT32 + word);
    else
        spec->tie_break = (topk_jit_tie_break)word;
    return TOPK_JIT_OK;
}

/** Applies one word, "name=value" or an option alone, which is cut in two. */
static topk_jit_status apply_word(topk_jit_spec *spec, char *word, unsigned *seen)
{
    const vocabulary known = {field_names, COUNT(field_names)};
    unsigned field;
    char *value = strchr(word, '=');
    if (value != NULL)
        *value++ = '\0';
    if (!value_of(known.words, known.count, word, &field))
        return refuse_word("no field is called", word, known);
    if (*seen >> field & 1u)
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "spec text: %s is given twice, expected once",
                        word);
    *seen |= 1u << field;
    if (field >= FIELD_SORTED)
        return set_option(spec, field, value);
    if (values_of(field).count == 0)
        return set_number(spec, field, value != NULL ? value : "");
    return set_word(spec, field, value != NULL ? value : "");
}

topk_jit_status tkj_spec_parse(const char *text, topk_jit_spec *out)
{
    char copy[TKJ_SPEC_TEXT_SIZE];
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    size_t length = strlen(text);
    if (length >= sizeof copy)
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "spec text: %zu bytes, expected at most %zu",
                        length, sizeof copy - 1);
    memcpy(copy, text, length + 1);
    unsigned seen = 0;
    char *rest = copy;
    for (char *word = strsep(&rest, ","); word != NULL; word = strsep(&rest, ",")) {
        topk_jit_status status = apply_word(&spec, word, &seen);
        if (status != TOPK_JIT_OK)
            return status;
    }
    topk_jit_status status = check(&spec, field_names[FIELD_INDEX]);
    if (status == TOPK_JIT_OK)
        *out = tkj_spec_canonical(&spec);
    return status;
}
