/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and threads that want the same kernels at the same time: each is compiled once among
   all. (cutile-rs#205, flashinfer#4062, DeepGEMM#301) */
#include "plan_case.h"

#include <stdio.h>
#include <string.h>

#include "digest.h"
#include "fault_case.h"

#define PROCESSES 16
#define THREADS 16
#define ROUNDS 3 /* each in a directory of its own */
#define KERNELS_MAX 64

/* Long enough that all are there before the first is done. */
#define COMPILE_MS 5

/** One kernel, in all processes. */
typedef struct kernel_record {
    char entry[128];
    uint8_t digest[TKJ_DIGEST_SIZE]; /* of the first bytes that were loaded */
    int compiles;
    int loads;
    int others; /* loads of other bytes than the first */
} kernel_record;

/** All kernels: in shared memory. */
typedef struct kernel_records {
    pthread_mutex_t lock;
    size_t count;
    kernel_record at[KERNELS_MAX];
} kernel_records;

static kernel_records *records;

static void clear_records(void)
{
    pthread_mutexattr_t attributes;
    if (records == NULL)
        records = fault_shared(sizeof *records);
    memset(records, 0, sizeof *records);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    assert_int_equal(pthread_mutex_init(&records->lock, &attributes), 0);
    pthread_mutexattr_destroy(&attributes);
}

/* With the lock held. */
static kernel_record *record_of(const char *entry)
{
    size_t i = 0;
    while (i < records->count && strcmp(records->at[i].entry, entry) != 0)
        i++;
    assert_true(i < KERNELS_MAX);
    if (i == records->count) {
        snprintf(records->at[i].entry, sizeof records->at[i].entry, "%s", entry);
        records->count++;
    }
    return &records->at[i];
}

static void record_compile(void *user, const char *entry)
{
    (void)user;
    pthread_mutex_lock(&records->lock);
    record_of(entry)->compiles++;
    pthread_mutex_unlock(&records->lock);
}

topk_jit_status __real_tkj_driver_load(const void *image, const char *entry, uint32_t shared_bytes,
                                       int ordinal, CUstream stream, tkj_kernel *out);
topk_jit_status __wrap_tkj_driver_load(const void *image, const char *entry, uint32_t shared_bytes,
                                       int ordinal, CUstream stream, tkj_kernel *out);
topk_jit_status __wrap_tkj_driver_load(const void *image, const char *entry, uint32_t shared_bytes,
                                       int ordinal, CUstream stream, tkj_kernel *out)
{
    uint8_t digest[TKJ_DIGEST_SIZE];
    tkj_digest(image, strlen(image), digest);
    pthread_mutex_lock(&records->lock);
    kernel_record *record = record_of(entry);
    if (record->loads++ == 0)
        memcpy(record->digest, digest, sizeof digest);
    record->others += memcmp(record->digest, digest, sizeof digest) != 0;
    pthread_mutex_unlock(&records->lock);
    return __real_tkj_driver_load(image, entry, shared_bytes, ordinal, stream, out);
}

static const int64_t keys[] = {2048, 1024, 512, 256};
#define KEYS (sizeof keys / sizeof keys[0])

static size_t kernels_of(size_t key_count)
{
    size_t kernels = 0;
    for (size_t i = 0; i < key_count; i++) {
        const topk_jit_spec spec = plan_case_spec(keys[i]);
        kernels += plan_case_kernels(&spec, SM90);
    }
    return kernels;
}

/* ---- what a process does ---- */

static void prepare_keys(plan_case *it, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const topk_jit_spec spec = plan_case_spec(keys[(first + i) % KEYS]);
        assert_int_equal(plan_case_prepare(it, &spec, SM90), TOPK_JIT_OK);
        assert_non_null(plan_case_find(it, &spec, SM90));
    }
}

static void assert_no_trouble(plan_case *it)
{
    const topk_jit_statistics s = plan_case_statistics(it);
    assert_int_equal(s.lock_timeouts, 0);
    assert_int_equal(s.failed_stores, 0);
    assert_int_equal(s.corrupt_entries, 0);
    assert_int_equal(it->logged[TOPK_JIT_LOG_WARNING], 0);
}

static void prepare_one_key(void *user, int number)
{
    (void)number;
    prepare_keys(user, 0, 1);
    assert_no_trouble(user);
}

static void prepare_all_keys_from_another_one_on(void *user, int number)
{
    prepare_keys(user, (size_t)number, KEYS);
    assert_no_trouble(user);
}

static void *prepare_all_keys_in_a_thread(void *user)
{
    static atomic_int next;
    prepare_keys(user, (size_t)atomic_fetch_add(&next, 1), KEYS);
    return NULL;
}

static void prepare_all_keys_in_threads(void *user, int count)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, prepare_all_keys_in_a_thread, user), 0);
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_no_trouble(user);
}

/* Without locks, which keep threads apart as well as processes. */
static void prepare_in_sixteen_threads(void *user, int number)
{
    plan_case *it = user;
    topk_jit_options options = plan_case_options(it);
    (void)number;
    options.lock_timeout_ms = -1;
    plan_case_open(it, &options);
    prepare_all_keys_in_threads(it, THREADS);
}

static void prepare_in_four_threads(void *user, int number)
{
    (void)number;
    prepare_all_keys_in_threads(user, THREADS / 4);
}

/* ---- rounds ---- */

/** Lets processes loose on an empty cache; every kernel of the keys must be compiled once. */
static void check_round(int processes, fault_work work, size_t key_count)
{
    void *state = NULL;
    plan_case_set_up(&state);
    plan_case *it = state;
    clear_records();
    fault_reset();
    fault.on_compile = record_compile;
    nvrtc->set_delay_ms(COMPILE_MS);
    fault_assert_all_done(processes, work, it);
    assert_int_equal(records->count, kernels_of(key_count));
    for (size_t i = 0; i < records->count; i++) {
        const kernel_record *record = &records->at[i];
        if (record->compiles != 1)
            fail_msg("%s was compiled %d times", record->entry, record->compiles);
        assert_int_equal(record->loads, processes);
        assert_int_equal(record->others, 0);
    }
    assert_int_equal(plan_case_entries(it, 13), records->count);
    assert_int_equal(tkj_test_file_count(tkj_test_path(it->root, "tmp")), 0);
    plan_case_tear_down(&state);
}

static void processes_that_want_one_kernel_compile_it_once(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
        check_round(PROCESSES, prepare_one_key, 1);
}

static void processes_that_walk_four_keys_compile_each_once(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
        check_round(PROCESSES, prepare_all_keys_from_another_one_on, KEYS);
}

static void threads_of_one_context_compile_each_key_once(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
        check_round(1, prepare_in_sixteen_threads, KEYS);
}

static void threads_of_several_processes_compile_each_key_once(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
        check_round(4, prepare_in_four_threads, KEYS);
}

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_that_want_one_kernel_compile_it_once),
        cmocka_unit_test(processes_that_walk_four_keys_compile_each_once),
        cmocka_unit_test(threads_of_one_context_compile_each_key_once),
        cmocka_unit_test(threads_of_several_processes_compile_each_key_once),
    };
    return cmocka_run_group_tests_name("one_compile", tests, NULL, NULL);
}
