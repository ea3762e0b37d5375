/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that were built against an older header: every struct, cut behind each of its fields,
 * works as if the missing ones were zero, and no byte beyond the cut is touched. */
#include "plan_case.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cache.h"
#include "config.h"
#include "rule_case.h"

/* ---- fields ---- */

typedef struct field {
    const char *name;
    size_t offset;
    size_t size;
    bool tells; /* without it, the outcome is another */
} field;

#define FIELD(type, name, tells)                                                                   \
    {                                                                                              \
#name, offsetof(type, name), sizeof(__typeof__(((type *)0)->name)), tells                  \
    }
#define COUNT(fields) (sizeof(fields) / sizeof(fields)[0])

static const field option_fields[] = {
#define OPTION(name) FIELD(topk_jit_options, name, true)
    OPTION(allocator),       OPTION(log_callback),
    OPTION(log_user),        OPTION(log_level),
    OPTION(cache_dir),       OPTION(template_dir),
    OPTION(nvrtc_path),      OPTION(nvrtc_hint),
    OPTION(ro_dirs),         OPTION(mode),
    OPTION(toolchain),       OPTION(shared),
    OPTION(lock_timeout_ms), OPTION(cache_max_bytes),
    OPTION(record_file),
};

static const field spec_fields[] = {
    FIELD(topk_jit_spec, operation, false), /* a selection is 0 */
    FIELD(topk_jit_spec, layout, false),    /* topk is still missing */
    FIELD(topk_jit_spec, topk, true),
    FIELD(topk_jit_spec, dtype, false), /* page_size is still missing */
    FIELD(topk_jit_spec, index_dtype, false),
    FIELD(topk_jit_spec, page_size, true),
    FIELD(topk_jit_spec, tie_break, true),
    FIELD(topk_jit_spec, sorted, true),
    FIELD(topk_jit_spec, deterministic, true),
    FIELD(topk_jit_spec, nan_last, true),
    FIELD(topk_jit_spec, check, true),
};

static const field args_fields[] = {
#define INPUT(name) FIELD(topk_jit_select_args, name, false) /* an output is still missing */
#define OUTPUT(name) FIELD(topk_jit_select_args, name, true)
    INPUT(score),
    INPUT(lengths),
    INPUT(row_starts),
    INPUT(row_ends),
    INPUT(layout),
    INPUT(page_table),
    INPUT(page_size),
    INPUT(page_table_row_starts),
    INPUT(cu_seqlens_q),
    INPUT(row_to_batch),
    INPUT(topk_indices_offset),
    INPUT(topk),
    INPUT(next_n),
    INPUT(compress_ratio),
    OUTPUT(indices),
    OUTPUT(raw_indices),
    OUTPUT(values),
    OUTPUT(tie_break),
    OUTPUT(sorted),
    FIELD(topk_jit_select_args, deterministic, true),
    FIELD(topk_jit_select_args, nan_last, true),
    FIELD(topk_jit_select_args, pdl, false), /* says how to launch */
    FIELD(topk_jit_select_args, max_sms, false),
    FIELD(topk_jit_select_args, check_counts, true),
    FIELD(topk_jit_select_args, workspace, false), /* of a GPU */
    FIELD(topk_jit_select_args, workspace_size, false),
};

/* No field is left out: what lies between two of them is padding. */
static void assert_complete(const field *fields, size_t count, size_t size)
{
    size_t end = sizeof(size_t);
    for (size_t f = 0; f < count; f++) {
        if (fields[f].offset < end || fields[f].offset - end >= fields[f].size)
            fail_msg("a field is missing before %s", fields[f].name);
        end = fields[f].offset + fields[f].size;
    }
    if (size - end >= 4)
        fail_msg("a field is missing behind %s", fields[count - 1].name);
}

static void tables_name_every_field(void **state)
{
    (void)state;
    assert_complete(option_fields, COUNT(option_fields), sizeof(topk_jit_options));
    assert_complete(spec_fields, COUNT(spec_fields), sizeof(topk_jit_spec));
    assert_complete(args_fields, COUNT(args_fields), sizeof(topk_jit_select_args));
}

/* ---- an older program's memory ---- */

static char *pages;
static size_t page;

static int map_pages(void **state)
{
    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0;
}

static int unmap_pages(void **state)
{
    (void)state;
    return munmap(pages, 2 * page);
}

/* The first bytes of a struct, aligned, then set bytes and then no memory at all. */
static void *older(const void *whole, size_t size)
{
    const size_t room = (size + 7) / 8 * 8;
    char *at = pages + page - room;
    memset(at, 0xff, room);
    memcpy(at, whole, size);
    memcpy(at, &size, sizeof size); /* struct_size */
    return at;
}

/* What a call says and does with a struct, as text. */
typedef struct outcome {
    char text[16384];
} outcome;

typedef void (*observe)(const void *given, outcome *out);

static void check_prefixes(const void *whole, size_t whole_size, const field *fields, size_t count,
                           observe look)
{
    static outcome cut, zeroed, before;
    char zeros[512];
    assert_true(whole_size <= sizeof zeros);
    for (size_t f = 0; f < count; f++) {
        const size_t size = fields[f].offset + fields[f].size;
        memset(zeros, 0, sizeof zeros);
        memcpy(zeros, whole, size);
        look(older(whole, size), &cut);
        look(zeros, &zeroed);
        if (strcmp(cut.text, zeroed.text) != 0)
            fail_msg("cut behind %s: %s\nexpected: %s", fields[f].name, cut.text, zeroed.text);
        if (fields[f].tells && strcmp(cut.text, before.text) == 0)
            fail_msg("%s tells nothing: %s", fields[f].name, cut.text);
        before = cut;
    }
}

static void tell(outcome *out, const char *what)
{
    snprintf(out->text, sizeof out->text, "%s: %s", what, topk_jit_last_error()->message);
}

/* ---- options ---- */

static const char *name(const char *string)
{
    return string != NULL ? string : "-";
}

static void see_config(const void *given, outcome *out)
{
    tkj_config c;
    topk_jit_context *context;
    assert_int_equal(tkj_config_resolve(given, &c), TOPK_JIT_OK);
    snprintf(out->text, sizeof out->text, "%d %d %p %d %s %s %s %s %s %s %d %d %d %llu %llu",
             c.allocator.user != NULL, c.logger.callback != NULL, c.logger.user,
             (int)c.logger.level, name(c.cache_dir), name(c.template_dir), name(c.nvrtc_path),
             name(c.nvrtc_hint), name(c.ro_dirs), name(c.record_file), (int)c.values.mode,
             (int)c.values.toolchain, (int)c.values.trust,
             (unsigned long long)c.values.lock_timeout_ns,
             (unsigned long long)c.values.cache_max_bytes);
    tkj_config_release(&c);
    assert_int_equal(topk_jit_context_create(&context, given), TOPK_JIT_OK);
    topk_jit_context_destroy(context);
}

static void ignore(void *user, topk_jit_log_level level, const char *text)
{
    (void)user, (void)level, (void)text;
}

static void options_of_every_older_version_are_taken(void **state)
{
    plan_case *it = *state;
    topk_jit_options options = plan_case_options(it);
    options.log_callback = ignore;
    options.log_level = TOPK_JIT_LOG_ERROR;
    options.template_dir = "/nowhere/templates";
    options.nvrtc_hint = "/nowhere";
    options.ro_dirs = "/nowhere/layer";
    options.mode = TOPK_JIT_MODE_READONLY;
    options.toolchain = TOPK_JIT_TOOLCHAIN_EXACT;
    options.shared = TOPK_JIT_SWITCH_ON;
    options.lock_timeout_ms = 7;
    options.cache_max_bytes = 1 << 20;
    options.record_file = "/nowhere/record";
    check_prefixes(&options, sizeof options, option_fields, COUNT(option_fields), see_config);
}

/* ---- specs ---- */

static topk_jit_context *explaining;

static void see_explanation(const void *given, outcome *out)
{
    topk_jit_status status =
        topk_jit_explain(explaining, given, "sm_90", NULL, out->text, sizeof out->text, NULL);
    if (status != TOPK_JIT_OK)
        tell(out, topk_jit_status_name(status));
}

static void see_prepared(const void *given, outcome *out)
{
    topk_jit_status status = topk_jit_is_prepared(explaining, given, 1, streams[SM90]);
    tell(out, topk_jit_status_name(status)); /* names the spec that is not prepared */
}

static void specs_of_every_older_version_are_taken(void **state)
{
    plan_case *it = *state;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.layout = TOPK_JIT_LAYOUT_PAGED;
    spec.topk = 77;
    spec.dtype = TOPK_JIT_BFLOAT16;
    spec.index_dtype = TOPK_JIT_INT64;
    spec.page_size = 64;
    spec.tie_break = TOPK_JIT_TIE_BREAK_LARGEST;
    spec.sorted = spec.deterministic = spec.nan_last = spec.check = 1;
    explaining = it->context;
    check_prefixes(&spec, sizeof spec, spec_fields, COUNT(spec_fields), see_explanation);
    check_prefixes(&spec, sizeof spec, spec_fields, COUNT(spec_fields), see_prepared);
}

/* What is written to an older caller ends where its struct does. */
static void specs_of_a_selection_end_where_the_callers_do(void **state)
{
    (void)state;
    tkj_call call;
    rule_case_open_with(&call, TKJ_CALL_ROW_TO_BATCH);
    topk_jit_select_args args = tkj_call_args(&call);
    topk_jit_spec whole = TOPK_JIT_SPEC_INIT;
    args.sorted = args.nan_last = 1;
    args.tie_break = TOPK_JIT_TIE_BREAK_LARGEST;
    assert_int_equal(topk_jit_select_spec(&args, &whole), TOPK_JIT_OK);
    for (size_t f = 0; f < COUNT(spec_fields); f++) {
        const size_t size = spec_fields[f].offset + spec_fields[f].size;
        char *cut = older(&(topk_jit_spec){0}, size);
        assert_int_equal(topk_jit_select_spec(&args, (topk_jit_spec *)(void *)cut), TOPK_JIT_OK);
        assert_memory_equal(cut + sizeof size, (char *)&whole + sizeof size, size - sizeof size);
        for (const char *beyond = cut + size; beyond < pages + page; beyond++)
            assert_int_equal((unsigned char)*beyond, 0xff);
    }
    tkj_call_release(&call);
}

/* ---- arguments of a selection ---- */

static tkj_call selection;

static void add_output(outcome *out, const void *bytes, size_t size)
{
    size_t length = strlen(out->text);
    for (size_t i = 0; i < size && length + 3 < sizeof out->text; i++)
        length += (size_t)snprintf(out->text + length, 3, "%02x", ((const uint8_t *)bytes)[i]);
}

static void see_selection(const void *given, outcome *out)
{
    char text[TKJ_SPEC_TEXT_SIZE] = "no spec";
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    size_t size = 0;
    tkj_call_poison(&selection);
    memset(selection.check_counts, 0, sizeof selection.check_counts);
    const topk_jit_status status = topk_jit_select(explaining, given, NULL);
    tell(out, topk_jit_status_name(status));
    assert_int_equal(topk_jit_select_spec(given, &spec), status);
    assert_int_equal(topk_jit_select_workspace_size(given, &size), status);
    if (status != TOPK_JIT_OK)
        return;
    tkj_spec_format(&spec, text);
    snprintf(out->text, sizeof out->text, "%s %zu ", text, size);
    for (int slot = TKJ_CALL_INDICES; slot < TKJ_CALL_TENSORS; slot++)
        add_output(out, selection.tensors[slot].memory.block,
                   selection.tensors[slot].memory.block_size);
    add_output(out, selection.check_counts, sizeof selection.check_counts);
}

static void arguments_of_every_older_version_are_taken(void **state)
{
    plan_case *it = *state;
    static _Alignas(256) char workspace[256];
    explaining = it->context;
    rule_case_open_with(&selection, TKJ_CALL_ROW_TO_BATCH);
    topk_jit_select_args args = tkj_call_args(&selection);
    args.next_n = 1;
    args.compress_ratio = 1;
    args.tie_break = TOPK_JIT_TIE_BREAK_LARGEST;
    args.sorted = args.deterministic = args.nan_last = args.pdl = 1;
    args.max_sms = 3;
    args.check_counts = selection.check_counts;
    args.workspace = workspace;
    args.workspace_size = sizeof workspace;
    check_prefixes(&args, sizeof args, args_fields, COUNT(args_fields), see_selection);
    tkj_call_release(&selection);
}

/* ---- statistics ---- */

static void statistics_end_where_the_callers_do(void **state)
{
    plan_case *it = *state;
    tkj_cache_counters *cache = tkj_cache_counts(it->context->cache);
    memset(cache, 1, sizeof *cache); /* nothing is zero */
    memset(&it->context->counters, 1, sizeof it->context->counters);
    const topk_jit_statistics whole = plan_case_statistics(it);
    for (size_t size = sizeof size; size <= sizeof whole; size += sizeof(uint64_t)) {
        char *cut = older(&(topk_jit_statistics){0}, size);
        assert_int_equal(topk_jit_get_statistics(it->context, (topk_jit_statistics *)(void *)cut),
                         TOPK_JIT_OK);
        assert_memory_equal(cut, &size, sizeof size);
        assert_memory_equal(cut + sizeof size, (const char *)&whole + sizeof size,
                            size - sizeof size);
        for (size_t i = sizeof size; i < size; i++)
            assert_int_not_equal(cut[i / 8 * 8], 0);
    }
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(tables_name_every_field),
        TEST(options_of_every_older_version_are_taken),
        TEST(specs_of_every_older_version_are_taken),
        TEST(specs_of_a_selection_end_where_the_callers_do),
        TEST(arguments_of_every_older_version_are_taken),
        TEST(statistics_end_where_the_callers_do),
    };
    return cmocka_run_group_tests_name("abi_prefixes", tests, map_pages, unmap_pages);
}
