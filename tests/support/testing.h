/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file testing.h
 * @brief What several tests share: cmocka with what it needs, a scripted allocator, temporary
 * directories.
 */
#ifndef TKJ_TESTING_H
#define TKJ_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <topk_jit/topk_jit.h>

/**
 * An allocator that counts, fails on request and knows what was not released. New memory is filled
 * with 0xA5, so that code which relies on zeros is found out; releasing what it did not hand out
 * fails the test.
 */
typedef struct tkj_test_allocator {
    topk_jit_allocator allocator; /* for the code under test */
    int fail_at;                  /* this allocation fails, 1 = the first; 0 = none does */
    atomic_int asked;             /* allocations so far, the failed one too */
    atomic_int live;              /* not yet released: 0 when nothing leaks */
} tkj_test_allocator;

/** Must stay where it is while it is used. */
void tkj_test_allocator_init(tkj_test_allocator *test, int fail_at);

/** True if the allocation that was to fail was reached. */
bool tkj_test_allocator_failed(const tkj_test_allocator *test);

/** A new empty directory, mode 0700; removed with tkj_test_dir_remove. */
char *tkj_test_dir_create(void);

/** Removes a directory with all it holds, and releases its name. */
void tkj_test_dir_remove(char *path);

/** "directory/name", in a static buffer of the calling thread that the eighth next call reuses. */
const char *tkj_test_path(const char *directory, const char *name);

/** Writes a file, mode 0600, replacing what is there. */
void tkj_test_file_write(const char *path, const void *bytes, size_t size);

/** Number of regular files, symbolic links and others that are no directory, at any depth; 0 if
 *  there is no such directory. */
size_t tkj_test_file_count(const char *directory);

/** Number of files that this process has open. */
size_t tkj_test_open_files(void);

/** Runs the work in a child, where cmocka's assertions have no place; it has a quarter of a minute,
 *  so that a deadlock is a failure. @return what it returned; -1 if it died */
int tkj_test_run_child(int (*work)(void *user), void *user);

#endif /* TKJ_TESTING_H */
