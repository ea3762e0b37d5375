/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the fake driver and its controls; its functions are in fake_cuda_calls.c. */
#include "fake_cuda_state.h"

#include <stdio.h>
#include <stdlib.h>

struct fake_state fake = {.mutex = PTHREAD_MUTEX_INITIALIZER, .version = 13000, .device_count = 2};
_Thread_local struct fake_thread fake_thread;

const struct fake_device fake_devices[FAKE_CUDA_DEVICES] = {
    {.major = 8, .minor = 0, .sm_count = 108, .shared = 166912, .l2 = 40 << 20, .clusters = 0},
    {.major = 9, .minor = 0, .sm_count = 132, .shared = 232448, .l2 = 50 << 20, .clusters = 1},
};

static struct fake_function *find_function(const char *name)
{
    for (int i = 0; i < FAKE_FUNCTIONS_MAX; i++) {
        struct fake_function *function = &fake.functions[i];
        if (function->name == NULL)
            function->name = name; /* a literal, here and in the tests */
        if (strcmp(function->name, name) == 0)
            return function;
    }
    fprintf(stderr, "fake_cuda: more functions than expected\n");
    abort();
}

/** Takes a handle of a pool; handles are never reused before reset. */
static int take_handle(int *used, int limit)
{
    if (*used >= limit) {
        fprintf(stderr, "fake_cuda: too many handles\n");
        abort();
    }
    return (*used)++;
}

CUresult fake_begin(const char *name)
{
    pthread_mutex_lock(&fake.mutex);
    struct fake_function *function = find_function(name);
    function->calls++;
    fake.total_calls++;
    struct fake_function *const asked[] = {function, &fake.any};
    for (int i = 0; i < 2; i++)
        if (asked[i]->fail_in > 0 && --asked[i]->fail_in == 0) {
            fake.failed = name;
            return (CUresult)asked[i]->fail_code;
        }
    return CUDA_SUCCESS;
}

CUresult fake_end(CUresult result)
{
    pthread_mutex_unlock(&fake.mutex);
    return result;
}

bool fake_is_hidden(const char *name)
{
    return find_function(name)->hidden;
}

/** A global-mode capture anywhere forbids this thread what could synchronise, unless relaxed. */
CUresult fake_check_unsafe_call(void)
{
    if (fake_thread.mode != CU_STREAM_CAPTURE_MODE_GLOBAL)
        return CUDA_SUCCESS;
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < fake.stream_count; i++)
        if (fake.streams[i].capture == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
            fake.streams[i].capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    return result;
}

struct fake_context *fake_current(void)
{
    return fake_thread.depth > 0 ? fake_thread.stack[fake_thread.depth - 1] : fake_thread.bottom;
}

/* ---- controls ---- */

static int number_or(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    return text != NULL ? (int)strtol(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
    fake.version = number_or("FAKE_CUDA_VERSION", fake.version);
    fake.claimed_capability = number_or("FAKE_CUDA_CAPABILITY", 0);
    fake.hidden = number_or("FAKE_CUDA_HIDDEN", 0) != 0;
}

static void control_reset(void)
{
    pthread_mutex_lock(&fake.mutex);
    for (struct fake_library *library = fake.libraries; library != NULL;) {
        struct fake_library *next = library->next;
        for (struct fake_kernel *kernel = library->kernels; kernel != NULL;) {
            struct fake_kernel *next_kernel = kernel->next;
            free(kernel);
            kernel = next_kernel;
        }
        free(library->entries);
        free(library);
        library = next;
    }
    fake.libraries = NULL;
    fake.version = 13000;
    fake.device_count = FAKE_CUDA_DEVICES;
    fake.params_size = 0;
    fake.claimed_capability = 0;
    fake.hidden = false;
    fake.capability = 0;
    memset(fake.claimed_sm_count, 0, sizeof fake.claimed_sm_count);
    fake.cluster_room = 16;
    fake.total_calls = fake.launches = 0;
    fake.context_count = fake.stream_count = 0;
    fake.failed = NULL;
    fake.any = (struct fake_function){0};
    memset(fake.functions, 0, sizeof fake.functions);
    memset(&fake.last, 0, sizeof fake.last);
    memset(&fake.before, 0, sizeof fake.before);
    memset(fake.streams, 0, sizeof fake.streams);
    memset(&fake_thread, 0, sizeof fake_thread);
    pthread_mutex_unlock(&fake.mutex);
}

static void control_set_version(int version)
{
    pthread_mutex_lock(&fake.mutex);
    fake.version = version;
    pthread_mutex_unlock(&fake.mutex);
}

static void control_set_device_count(int count)
{
    pthread_mutex_lock(&fake.mutex);
    fake.device_count = count;
    pthread_mutex_unlock(&fake.mutex);
}

static void control_claim_capability(int capability)
{
    pthread_mutex_lock(&fake.mutex);
    fake.claimed_capability = capability;
    pthread_mutex_unlock(&fake.mutex);
}

static void control_set_capability(int capability)
{
    pthread_mutex_lock(&fake.mutex);
    fake.capability = capability;
    pthread_mutex_unlock(&fake.mutex);
}

static void control_claim_sm_count(int ordinal, int count)
{
    pthread_mutex_lock(&fake.mutex);
    fake.claimed_sm_count[ordinal] = count;
    pthread_mutex_unlock(&fake.mutex);
}

static void control_set_cluster_room(int blocks)
{
    pthread_mutex_lock(&fake.mutex);
    fake.cluster_room = blocks;
    pthread_mutex_unlock(&fake.mutex);
}

static void control_set_params_size(size_t bytes)
{
    pthread_mutex_lock(&fake.mutex);
    fake.params_size = bytes < FAKE_CUDA_PARAMS_MAX ? bytes : FAKE_CUDA_PARAMS_MAX;
    pthread_mutex_unlock(&fake.mutex);
}

static void control_inject(const char *name, int code, int nth)
{
    pthread_mutex_lock(&fake.mutex);
    struct fake_function *function = find_function(name);
    function->fail_in = nth;
    function->fail_code = code;
    pthread_mutex_unlock(&fake.mutex);
}

static void control_inject_any(int code, int nth)
{
    pthread_mutex_lock(&fake.mutex);
    fake.any.fail_in = nth;
    fake.any.fail_code = code;
    pthread_mutex_unlock(&fake.mutex);
}

static const char *control_failed(void)
{
    pthread_mutex_lock(&fake.mutex);
    const char *name = fake.failed != NULL ? fake.failed : "";
    pthread_mutex_unlock(&fake.mutex);
    return name;
}

static void control_hide(const char *name)
{
    pthread_mutex_lock(&fake.mutex);
    find_function(name)->hidden = true;
    pthread_mutex_unlock(&fake.mutex);
}

static int control_calls(const char *name)
{
    pthread_mutex_lock(&fake.mutex);
    int calls = find_function(name)->calls;
    pthread_mutex_unlock(&fake.mutex);
    return calls;
}

static int control_total_calls(void)
{
    pthread_mutex_lock(&fake.mutex);
    int calls = fake.total_calls;
    pthread_mutex_unlock(&fake.mutex);
    return calls;
}

static void *control_context_create(int ordinal)
{
    pthread_mutex_lock(&fake.mutex);
    int index = take_handle(&fake.context_count, FAKE_CONTEXTS_MAX);
    fake.contexts[index] = (struct fake_context){.ordinal = ordinal, .index = index};
    pthread_mutex_unlock(&fake.mutex);
    return &fake.contexts[index];
}

static void *control_stream_create(void *context)
{
    pthread_mutex_lock(&fake.mutex);
    int index = take_handle(&fake.stream_count, FAKE_STREAMS_MAX);
    fake.streams[index] = (struct fake_stream){.context = context};
    pthread_mutex_unlock(&fake.mutex);
    return &fake.streams[index];
}

static void control_set_current(void *context)
{
    fake_thread.bottom = context;
}

static void *control_current(void)
{
    return fake_current();
}

static int control_stack_depth(void)
{
    return fake_thread.depth;
}

static void control_capture_begin(void *stream)
{
    pthread_mutex_lock(&fake.mutex);
    ((struct fake_stream *)stream)->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    pthread_mutex_unlock(&fake.mutex);
}

static bool control_capture_end(void *stream)
{
    pthread_mutex_lock(&fake.mutex);
    bool valid = ((struct fake_stream *)stream)->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    ((struct fake_stream *)stream)->capture = CU_STREAM_CAPTURE_STATUS_NONE;
    pthread_mutex_unlock(&fake.mutex);
    return valid;
}

static int control_capture_mode(void)
{
    return (int)fake_thread.mode;
}

static int control_live_libraries(void)
{
    pthread_mutex_lock(&fake.mutex);
    int live = 0;
    for (struct fake_library *library = fake.libraries; library != NULL; library = library->next)
        live += library->live;
    pthread_mutex_unlock(&fake.mutex);
    return live;
}

static int control_shared_allowed(void *kernel, int ordinal)
{
    pthread_mutex_lock(&fake.mutex);
    int shared = ((struct fake_kernel *)kernel)->shared[ordinal];
    pthread_mutex_unlock(&fake.mutex);
    return shared;
}

static int control_launches(void)
{
    pthread_mutex_lock(&fake.mutex);
    int launches = fake.launches;
    pthread_mutex_unlock(&fake.mutex);
    return launches;
}

static void control_last_launch(fake_cuda_launch *out)
{
    pthread_mutex_lock(&fake.mutex);
    *out = fake.last;
    pthread_mutex_unlock(&fake.mutex);
}

static void control_launch_before(fake_cuda_launch *out)
{
    pthread_mutex_lock(&fake.mutex);
    *out = fake.before;
    pthread_mutex_unlock(&fake.mutex);
}

__attribute__((visibility("default"))) const fake_cuda *fake_cuda_get(void);

const fake_cuda *fake_cuda_get(void)
{
    static const fake_cuda controls = {
        .reset = control_reset,
        .set_version = control_set_version,
        .set_device_count = control_set_device_count,
        .set_params_size = control_set_params_size,
        .claim_capability = control_claim_capability,
        .claim_sm_count = control_claim_sm_count,
        .set_capability = control_set_capability,
        .set_cluster_room = control_set_cluster_room,
        .inject = control_inject,
        .inject_any = control_inject_any,
        .failed = control_failed,
        .hide = control_hide,
        .calls = control_calls,
        .total_calls = control_total_calls,
        .context_create = control_context_create,
        .stream_create = control_stream_create,
        .set_current = control_set_current,
        .current = control_current,
        .stack_depth = control_stack_depth,
        .capture_begin = control_capture_begin,
        .capture_end = control_capture_end,
        .capture_mode = control_capture_mode,
        .live_libraries = control_live_libraries,
        .shared_allowed = control_shared_allowed,
        .launches = control_launches,
        .last_launch = control_last_launch,
        .launch_before = control_launch_before,
    };
    return &controls;
}
