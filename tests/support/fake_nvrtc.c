/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the fake NVRTC and its controls; its functions are in fake_nvrtc_calls.c. */
#include "fake_nvrtc_state.h"

#include <stdio.h>
#include <stdlib.h>

struct fake_state fake = {.mutex = PTHREAD_MUTEX_INITIALIZER, .met = PTHREAD_COND_INITIALIZER};

static const int architectures_12[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90};
static const int architectures_13[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

static void list_architectures(const int *list, int count)
{
    memcpy(fake.architectures, list, (size_t)count * sizeof *list);
    fake.architecture_count = count;
}

static void be_version(int major, int minor)
{
    fake.major = major;
    fake.minor = minor;
    if (major >= 13)
        list_architectures(architectures_13, sizeof architectures_13 / sizeof architectures_13[0]);
    else
        list_architectures(architectures_12, sizeof architectures_12 / sizeof architectures_12[0]);
}

void fake_ensure_defaults(void)
{
    const char *wanted = getenv("FAKE_NVRTC_VERSION"); /* such as "12.9" */
    const char *delay = getenv("FAKE_NVRTC_DELAY_MS");
    char *point = NULL;
    if (fake.major != 0)
        return;
    fake.delay_ms = delay != NULL ? (int)strtol(delay, NULL, 10) : 0;
    const long major = wanted != NULL ? strtol(wanted, &point, 10) : 13;
    be_version((int)major, point != NULL && *point == '.' ? (int)strtol(point + 1, NULL, 10) : 0);
}

bool fake_version_has(int major, int minor)
{
    return fake.major > major || (fake.major == major && fake.minor >= minor);
}

static struct fake_function *find_function(const char *name)
{
    for (int i = 0; i < FAKE_FUNCTIONS_MAX; i++) {
        struct fake_function *function = &fake.functions[i];
        if (function->name == NULL)
            function->name = name; /* a literal, here and in the tests */
        if (strcmp(function->name, name) == 0)
            return function;
    }
    fprintf(stderr, "fake_nvrtc: more functions than expected\n");
    abort();
}

nvrtcResult fake_begin(const char *name)
{
    pthread_mutex_lock(&fake.mutex);
    fake_ensure_defaults();
    struct fake_function *function = find_function(name);
    function->calls++;
    if (function->fail_in > 0 && --function->fail_in == 0)
        return (nvrtcResult)function->fail_code;
    return NVRTC_SUCCESS;
}

nvrtcResult fake_end(nvrtcResult result)
{
    pthread_mutex_unlock(&fake.mutex);
    return result;
}

/* ---- controls ---- */

static void control_reset(void)
{
    pthread_mutex_lock(&fake.mutex);
    be_version(13, 0);
    fake.home = pthread_self();
    fake.log = NULL;
    fake.empty_payload = false;
    fake.delay_ms = fake.meeting = fake.most_at_once = 0;
    memset(&fake.last, 0, sizeof fake.last);
    memset(fake.functions, 0, sizeof fake.functions);
    pthread_mutex_unlock(&fake.mutex);
}

static void control_set_version(int major, int minor)
{
    pthread_mutex_lock(&fake.mutex);
    be_version(major, minor);
    pthread_mutex_unlock(&fake.mutex);
}

static void control_set_architectures(const int *list, int count)
{
    pthread_mutex_lock(&fake.mutex);
    fake_ensure_defaults();
    list_architectures(list, count);
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

static void control_set_log(const char *text)
{
    pthread_mutex_lock(&fake.mutex);
    fake.log = text;
    pthread_mutex_unlock(&fake.mutex);
}

static void control_set_empty_payload(bool empty)
{
    pthread_mutex_lock(&fake.mutex);
    fake.empty_payload = empty;
    pthread_mutex_unlock(&fake.mutex);
}

static void control_set_delay_ms(int milliseconds)
{
    pthread_mutex_lock(&fake.mutex);
    fake.delay_ms = milliseconds;
    pthread_mutex_unlock(&fake.mutex);
}

static void control_set_meeting(int count)
{
    pthread_mutex_lock(&fake.mutex);
    fake.meeting = count;
    pthread_mutex_unlock(&fake.mutex);
}

static int control_calls(const char *name)
{
    pthread_mutex_lock(&fake.mutex);
    int calls = find_function(name)->calls;
    pthread_mutex_unlock(&fake.mutex);
    return calls;
}

static int control_most_at_once(void)
{
    pthread_mutex_lock(&fake.mutex);
    int most = fake.most_at_once;
    pthread_mutex_unlock(&fake.mutex);
    return most;
}

static int control_live_programs(void)
{
    pthread_mutex_lock(&fake.mutex);
    int live = fake.live_programs;
    pthread_mutex_unlock(&fake.mutex);
    return live;
}

static void control_last_compile(fake_nvrtc_compile *out)
{
    pthread_mutex_lock(&fake.mutex);
    *out = fake.last;
    pthread_mutex_unlock(&fake.mutex);
}

__attribute__((visibility("default"))) const fake_nvrtc *fake_nvrtc_get(void);

const fake_nvrtc *fake_nvrtc_get(void)
{
    static const fake_nvrtc controls = {
        .reset = control_reset,
        .set_version = control_set_version,
        .set_architectures = control_set_architectures,
        .inject = control_inject,
        .set_log = control_set_log,
        .set_empty_payload = control_set_empty_payload,
        .set_delay_ms = control_set_delay_ms,
        .set_meeting = control_set_meeting,
        .calls = control_calls,
        .most_at_once = control_most_at_once,
        .live_programs = control_live_programs,
        .last_compile = control_last_compile,
    };
    return &controls;
}
