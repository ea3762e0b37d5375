/* SPDX-License-Identifier: Apache-2.0 */
/** @file template_case.h @brief Loading template sets from directories that a test makes. */
#ifndef TKJ_TEMPLATE_CASE_H
#define TKJ_TEMPLATE_CASE_H

#include "testing.h"

#include "template.h"

/** The log lines of one load. */
typedef struct template_log {
    int count;
    topk_jit_log_level level; /* of the last one */
    char text[2048];
} template_log;

/** A directory to search in, and what a load of it says. */
typedef struct template_case {
    char *dir;
    char places[4][512]; /* below it */
    int place_count;
    tkj_test_allocator memory;
    template_log log;
    tkj_logger logger;
    tkj_template_set set;
} template_case;

void template_case_open(template_case *c);

/** Fails the test if memory leaked. */
void template_case_close(template_case *c);

/** A path below the directory that stays as it is as long as the case; four of them at most. */
const char *template_case_place(template_case *c, const char *name);

/** Loads from other places, releasing what was loaded before. */
topk_jit_status template_case_load(template_case *c, tkj_template_search search);

/** Text of a file of the set. */
const char *template_case_text(const template_case *c, const char *name);

/** Writes a file, the embedded file i, or the whole embedded set into a directory. */
void template_case_write(const char *dir, const char *name, const char *text);
void template_case_write_embedded(const char *dir, size_t i);
void template_case_write_set(const char *dir);

/** params.h of another ABI. */
#define OTHER_ABI "#define TKJ_TEMPLATE_ABI 4711\n"

#endif /* TKJ_TEMPLATE_CASE_H */
