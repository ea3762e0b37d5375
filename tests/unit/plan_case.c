/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_case.h"

#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const fake_cuda *cuda;
const fake_nvrtc *nvrtc;
void *contexts[FAKE_CUDA_DEVICES];
CUstream streams[FAKE_CUDA_DEVICES];

int __wrap_getpwuid_r(uid_t uid, struct passwd *record, char *buffer, size_t size,
                      struct passwd **found);
int __wrap_getpwuid_r(uid_t uid, struct passwd *record, char *buffer, size_t size,
                      struct passwd **found)
{
    (void)uid, (void)record, (void)buffer, (void)size;
    *found = NULL;
    return 0;
}

int __wrap_fsync(int fd);
/* Weak: a test in which fsync fails has its own. */
__attribute__((weak)) int __wrap_fsync(int fd)
{
    (void)fd;
    return 0;
}

bool plan_case_connect(void)
{
    cuda = fake_cuda_connect();
    nvrtc = fake_nvrtc_connect(FAKE_NVRTC_PATH);
    if (cuda == NULL)
        print_error("libcuda.so.1 is not the fake: LD_LIBRARY_PATH must name its directory\n");
    if (nvrtc == NULL)
        print_error("%s is not the fake NVRTC\n", FAKE_NVRTC_PATH);
    return cuda != NULL && nvrtc != NULL;
}

static void clear_environment(void)
{
    static const char *const variables[] = {
        "TOPK_JIT_CACHE_DIR",
        "TOPK_JIT_TEMPLATE_DIR",
        "TOPK_JIT_NVRTC",
        "XDG_CACHE_HOME",
        "CUDA_HOME",
        "TOPK_JIT_LOG",
        "TOPK_JIT_RO_DIRS",
        "TOPK_JIT_RECORD",
        "TOPK_JIT_MODE",
        "TOPK_JIT_TOOLCHAIN",
        "TOPK_JIT_SHARED",
        "TOPK_JIT_LOCK_TIMEOUT_MS",
        "TOPK_JIT_CACHE_MAX_BYTES",
    };
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        assert_int_equal(unsetenv(variables[i]), 0);
    assert_int_equal(setenv("HOME", "/", 1), 0);
}

void plan_case_reset_fakes(void)
{
    cuda->reset();
    nvrtc->reset();
    for (int i = 0; i < FAKE_CUDA_DEVICES; i++) {
        contexts[i] = cuda->context_create(i);
        streams[i] = cuda->stream_create(contexts[i]);
    }
}

int plan_case_set_up(void **state)
{
    clear_environment();
    plan_case_reset_fakes();
    plan_case *it = calloc(1, sizeof *it);
    assert_non_null(it);
    it->directory = tkj_test_dir_create();
    it->root = strdup(tkj_test_path(it->directory, "cache"));
    assert_non_null(it->root);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", it->directory, 1), 0); /* locks of this test only */
    pthread_mutex_init(&it->lock, NULL);
    tkj_test_allocator_init(&it->memory, 0);
    const topk_jit_options options = plan_case_options(it);
    plan_case_open(it, &options);
    *state = it;
    return 0;
}

int plan_case_tear_down(void **state)
{
    plan_case *it = *state;
    plan_case_close(it);
    assert_int_equal(nvrtc->live_programs(), 0);
    assert_int_equal(cuda->stack_depth(), 0);
    assert_int_equal(cuda->capture_mode(), 0);
    tkj_test_dir_remove(it->directory);
    pthread_mutex_destroy(&it->lock);
    free(it->root);
    free(it);
    return 0;
}

/* ---- contexts ---- */

static void listen_to(void *user, topk_jit_log_level level, const char *text)
{
    plan_case *it = user;
    pthread_mutex_lock(&it->lock);
    size_t used = strlen(it->text[level]);
    snprintf(it->text[level] + used, sizeof it->text[level] - used, "%s\n", text);
    it->logged[level]++;
    pthread_mutex_unlock(&it->lock);
}

topk_jit_options plan_case_options(plan_case *it)
{
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.allocator = it->memory.allocator;
    options.log_callback = listen_to;
    options.log_user = it;
    options.log_level = TOPK_JIT_LOG_DEBUG;
    options.cache_dir = it->root;
    options.nvrtc_path = FAKE_NVRTC_PATH;
    return options;
}

void plan_case_open(plan_case *it, const topk_jit_options *options)
{
    plan_case_close(it);
    memset(it->logged, 0, sizeof it->logged);
    memset(it->text, 0, sizeof it->text);
    assert_int_equal(topk_jit_context_create(&it->context, options), TOPK_JIT_OK);
}

void plan_case_reopen(plan_case *it, const char *nvrtc_path)
{
    topk_jit_options options = plan_case_options(it);
    options.nvrtc_path = nvrtc_path;
    plan_case_open(it, &options);
}

void plan_case_close(plan_case *it)
{
    topk_jit_context_destroy(it->context);
    it->context = NULL;
    assert_int_equal(cuda->live_libraries(), 0);
    assert_int_equal(atomic_load(&it->memory.live), 0);
}

topk_jit_statistics plan_case_statistics(const plan_case *it)
{
    topk_jit_statistics statistics = TOPK_JIT_STATISTICS_INIT;
    assert_int_equal(topk_jit_get_statistics(it->context, &statistics), TOPK_JIT_OK);
    return statistics;
}

/* ---- specs ---- */

topk_jit_spec plan_case_spec(int64_t topk)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.topk = topk;
    return tkj_spec_canonical(&spec);
}

size_t plan_case_kernels(const topk_jit_spec *spec, int ordinal)
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    return tkj_variants_enumerate(spec, ordinal == SM80 ? 80 : 90, variants);
}

topk_jit_status plan_case_prepare(plan_case *it, const topk_jit_spec *spec, int ordinal)
{
    return topk_jit_prepare(it->context, spec, 1, streams[ordinal]);
}

const tkj_prepared *plan_case_find(const plan_case *it, const topk_jit_spec *spec, int ordinal)
{
    return tkj_kernel_map_find(&it->context->kernels, spec, ordinal);
}

topk_jit_status plan_case_warm(plan_case *it, const topk_jit_spec *spec, int architecture,
                               const char *target)
{
    tkj_target parsed;
    tkj_variant variants[TKJ_VARIANTS_MAX];
    topk_jit_status status = TOPK_JIT_OK;
    assert_true(tkj_target_parse(target, &parsed));
    size_t count = tkj_variants_enumerate(spec, architecture, variants);
    for (size_t v = 0; v < count && status == TOPK_JIT_OK; v++) {
        tkj_warm_result result;
        status = tkj_plan_warm(it->context, spec, &variants[v], parsed, 0, &result);
    }
    return status;
}

/* ---- files ---- */

static _Thread_local struct {
    const char *suffix;
    void (*act)(const char *path, void *user);
    void *user;
    size_t count;
} walk;

static int visit(const char *path, const struct stat *status, int type, struct FTW *position)
{
    (void)status, (void)position;
    size_t length = strlen(path);
    size_t wanted = strlen(walk.suffix);
    if (type != FTW_F || length < wanted || strcmp(path + length - wanted, walk.suffix) != 0)
        return 0;
    walk.count++;
    if (walk.act != NULL)
        walk.act(path, walk.user);
    return 0;
}

size_t plan_case_each_file(const char *directory, const char *suffix,
                           void (*act)(const char *path, void *user), void *user)
{
    walk.suffix = suffix;
    walk.act = act;
    walk.user = user;
    walk.count = 0;
    nftw(directory, visit, 16, FTW_PHYS); /* fails where there is no such directory: no files */
    size_t count = walk.count;
    memset(&walk, 0, sizeof walk);
    return count;
}

void plan_case_remove_file(const char *path, void *user)
{
    (void)user;
    assert_int_equal(remove(path), 0);
}

size_t plan_case_entries(const plan_case *it, int major)
{
    char suffix[32];
    snprintf(suffix, sizeof suffix, ".cu%d.tkc", major);
    return plan_case_each_file(it->root, suffix, NULL, NULL);
}

static void add_size(const char *path, void *user)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    *(uint64_t *)user += (uint64_t)status.st_size;
}

uint64_t plan_case_entry_bytes(const plan_case *it)
{
    uint64_t bytes = 0;
    plan_case_each_file(it->root, ".tkc", add_size, &bytes);
    return bytes;
}

/* ---- what was said ---- */

void plan_case_assert_message(const char *part)
{
    if (strstr(topk_jit_last_error()->message, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, topk_jit_last_error()->message);
}

void plan_case_assert_logged(plan_case *it, topk_jit_log_level level, const char *part)
{
    if (strstr(it->text[level], part) == NULL)
        fail_msg("'%s' is not in '%s'", part, it->text[level]);
}

/* ---- calls ---- */

#define WIDTH 65536

static DLTensor gpu_tensor(int ordinal, uintptr_t address, int64_t *shape, DLDataType dtype)
{
    return (DLTensor){
        .data = (void *)address,
        .device = {kDLCUDA, ordinal},
        .ndim = 2,
        .dtype = dtype,
        .shape = shape,
    };
}

void plan_call_init(plan_call *call, int ordinal, int64_t rows, int64_t out_rows, int64_t topk)
{
    memset(call, 0, sizeof *call);
    call->score_shape[0] = rows;
    call->score_shape[1] = WIDTH;
    call->index_shape[0] = out_rows;
    call->index_shape[1] = topk;
    call->score = gpu_tensor(ordinal, 1ULL << 40, call->score_shape, (DLDataType){kDLFloat, 32, 1});
    call->indices = gpu_tensor(ordinal, 1ULL << 41, call->index_shape, (DLDataType){kDLInt, 32, 1});
    call->args.struct_size = sizeof call->args;
    call->args.score = &call->score;
    call->args.indices = &call->indices;
    call->args.topk = topk;
}
