/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"

/* In the order in which they are told: each stands on those above it. */
static const struct {
    const char *group;
    const char *name;
    void (*run)(warm_doctor *doctor);
} checks[] = {
    {"environment", "privileges", warm_check_privileges},
    {"environment", "variables", warm_check_variables},
    {"environment", "paths", warm_check_paths},
    {"library", "version", warm_check_version},
    {"library", "templates", warm_check_templates},
    {"nvrtc", "library", warm_check_nvrtc},
    {"nvrtc", "builtins", warm_check_builtins},
    {"nvrtc", "targets", warm_check_targets},
    {"driver", "library", warm_check_driver},
    {"driver", "toolkit", warm_check_toolkit},
    {"driver", "gpus", warm_check_gpus},
    {"cache", "mode", warm_check_mode},
    {"cache", "directory", warm_check_root},
    {"cache", "file system", warm_check_file_system},
    {"cache", "space", warm_check_space},
    {"cache", "contents", warm_check_contents},
    {"cache", "size", warm_check_size},
    {"cache", "tag", warm_check_tag},
    {"cache", "leavings", warm_check_leavings},
    {"cache", "read only", warm_check_layers},
    {"locks", "place", warm_check_lock_place},
    {"locks", "support", warm_check_lock_support},
    {"locks", "held", warm_check_lock_holders},
    {"recording", "file", warm_check_recording},
    {"limits", "address space", warm_check_address_space},
    {"limits", "stack", warm_check_stack},
    {"limits", "file size", warm_check_file_size},
    {"limits", "memory", warm_check_cgroup},
};

/* ---- findings ---- */

static warm_finding *append(warm_doctor *doctor)
{
    if (doctor->finding_count == doctor->finding_capacity) {
        const size_t capacity = 2 * doctor->finding_capacity + 32;
        warm_finding *larger = reallocarray(doctor->findings, capacity, sizeof *larger);
        if (larger == NULL)
            return NULL;
        doctor->findings = larger;
        doctor->finding_capacity = capacity;
    }
    warm_finding *finding = &doctor->findings[doctor->finding_count];
    *finding = (warm_finding){.group = doctor->group, .name = doctor->name};
    return finding;
}

static void say(warm_doctor *doctor, warm_health health, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

static void say(warm_doctor *doctor, warm_health health, const char *format, va_list arguments)
{
    warm_finding *finding = append(doctor);
    if (finding == NULL || vasprintf(&finding->found, format, arguments) < 0) {
        doctor->failed = true;
        return;
    }
    finding->health = health;
    doctor->finding_count++;
}

#define DEFINE_SAYER(name, health)                                                                 \
    void name(warm_doctor *doctor, const char *format, ...)                                        \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        say(doctor, health, format, arguments);                                                    \
        va_end(arguments);                                                                         \
    }
DEFINE_SAYER(warm_ok, WARM_OK)
DEFINE_SAYER(warm_note, WARM_NOTE)
DEFINE_SAYER(warm_problem, WARM_PROBLEM)

void warm_advise(warm_doctor *doctor, const char *format, ...)
{
    char *advice = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (doctor->failed || vasprintf(&advice, format, arguments) < 0)
        doctor->failed = true;
    else
        doctor->findings[doctor->finding_count - 1].advice = advice;
    va_end(arguments);
}

/* ---- the context ---- */

static void keep_warning(void *user, topk_jit_log_level level, const char *text)
{
    warm_doctor *doctor = user;
    if (level == TOPK_JIT_LOG_WARNING)
        snprintf(doctor->warning, sizeof doctor->warning, "%s", text);
}

static void log_and_keep(void *user, topk_jit_log_level level, const char *text)
{
    keep_warning(user, level, text);
    tkj_log_to_stderr(NULL, level, text);
}

/** As a server here would have it. */
static topk_jit_options choose_options(const warm_common *common, warm_doctor *doctor)
{
    static const topk_jit_log_level levels[] = {TOPK_JIT_LOG_WARNING, TOPK_JIT_LOG_INFO,
                                                TOPK_JIT_LOG_DEBUG};
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.cache_dir = common->cache_dir[0] != '\0' ? common->cache_dir : NULL;
    options.log_callback = common->verbose > 0 ? log_and_keep : keep_warning;
    options.log_level = levels[common->verbose < 2 ? common->verbose : 2];
    options.log_user = doctor;
    return options;
}

bool warm_doctor_writes(const warm_doctor *doctor)
{
    return doctor->context->config.values.mode == TOPK_JIT_MODE_AUTO;
}

bool warm_doctor_run(const warm_common *common, warm_doctor *doctor)
{
    *doctor = (warm_doctor){.context = NULL};
    const topk_jit_options options = choose_options(common, doctor);
    if (!warm_doctor_settle(&options, doctor))
        return false;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        doctor->group = checks[i].group;
        doctor->name = checks[i].name;
        checks[i].run(doctor);
    }
    if (doctor->failed)
        warm_complain("out of memory");
    return !doctor->failed;
}

void warm_doctor_release(warm_doctor *doctor)
{
    for (size_t i = 0; i < doctor->finding_count; i++) {
        free(doctor->findings[i].found);
        free(doctor->findings[i].advice);
    }
    free(doctor->findings);
    topk_jit_context_destroy(doctor->context);
    warm_doctor_settings_release(doctor);
}
