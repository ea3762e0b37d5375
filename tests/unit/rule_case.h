/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rule_case.h
 * @brief A legal call through topk_jit_select, one part of which a test then breaks.
 *
 * A refused call must say which argument, what was given and what is expected, and must leave
 * every byte of every tensor as it was.
 */
#ifndef TKJ_RULE_CASE_H
#define TKJ_RULE_CASE_H

#include "testing.h"

#include "call.h"

/** Sizes of the legal call. */
enum {
    RULE_ROWS = 4,     /* B */
    RULE_WIDTH = 6,    /* L */
    RULE_TOPK = 3,     /* k */
    RULE_OUT_ROWS = 5, /* R */
    RULE_BATCH = 4,    /* rows of the page table */
    RULE_PAGES = 3,    /* P */
};

/** Part of a tensor. */
typedef enum rule_part {
    RULE_RANK,
    RULE_SIZE_0,
    RULE_SIZE_1,
    RULE_STRIDE_0,
    RULE_STRIDE_1,
    RULE_DTYPE_CODE,
    RULE_DTYPE_BITS,
    RULE_DATA, /* its address */
    RULE_BYTE_OFFSET,
    RULE_DEVICE_TYPE,
    RULE_DEVICE_ID,
} rule_part;

/** One way to break a call. */
typedef struct rule {
    tkj_call_slot slot;
    rule_part part;
    int64_t value;
    const char *message; /* of the refusal, whole */
} rule;

/** The context of all cases: for cmocka_run_group_tests. */
int rule_case_setup(void **state);
int rule_case_teardown(void **state);
topk_jit_context *rule_case_context(void);

/** Opens a legal call of a layout with lengths, row_starts and all three outputs; paged with
 *  page_table and page_table_row_starts, ragged with its offsets. */
void rule_case_open(tkj_call *call, topk_jit_layout layout);

/** Opens a legal call that has this tensor. */
void rule_case_open_with(tkj_call *call, tkj_call_slot slot);

/** Adds an int32 input, or replaces it, with other sizes; its elements are 0, 1, 2, ... */
void rule_case_add_input(tkj_call *call, tkj_call_slot slot, int rank, int64_t rows,
                         int64_t columns);

/** Takes a tensor out of the call. */
void rule_case_drop(tkj_call *call, tkj_call_slot slot);

/** Changes one part of a tensor. */
void rule_case_set(tkj_call *call, tkj_call_slot slot, rule_part part, int64_t value);

/** Makes the call: fails the test unless it is an invalid argument with exactly this message, and
 *  no byte of any tensor changed. Closes the call. */
void rule_case_expect_refusal(tkj_call *call, const char *message);

/** Makes the call: fails the test unless it succeeds and the judge agrees. Closes the call. */
void rule_case_expect_success(tkj_call *call);

/** For each rule: opens a call, breaks it, expects the refusal. */
void rule_case_check_refusals(const rule *rules, size_t count);

/** As rule_case_check_refusals, expecting success. */
void rule_case_check_successes(const rule *rules, size_t count);

#endif /* TKJ_RULE_CASE_H */
