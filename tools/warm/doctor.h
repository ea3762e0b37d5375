/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file doctor.h
 * @brief What topk-jit-warm doctor looks at. A check is a function in the file of its group and a
 * line of the table in doctor.c; it says one or more findings:
 *
 *     void warm_check_mode(warm_doctor *doctor)
 *     {
 *         if (...)
 *             warm_ok(doctor, "auto: reads, compiles, writes");
 *         else {
 *             warm_problem(doctor, "off: every start compiles");
 *             warm_advise(doctor, "unset TOPK_JIT_MODE");
 *         }
 *     }
 *
 * A check creates and writes nothing, and asks the library for its own decisions.
 */
#ifndef TKJ_WARM_DOCTOR_H
#define TKJ_WARM_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "command.h"
#include "context.h"

typedef enum warm_health {
    WARM_OK,
    WARM_NOTE,    /* worth knowing, and right for some */
    WARM_PROBLEM, /* something does not work as it was meant to */
} warm_health;

typedef struct warm_finding {
    const char *group;
    const char *name;
    warm_health health;
    char *found;  /* owned */
    char *advice; /* owned; NULL = none */
} warm_finding;

/** A variable of the environment as it was when the command began. */
typedef struct warm_setting {
    char *name;    /* owned, with the value behind its zero */
    char *value;   /* in name */
    char *refusal; /* owned: the library's words; NULL = it takes it */
} warm_setting;

typedef struct warm_doctor {
    topk_jit_context *context; /* without the settings that were refused */
    char warning[1024];        /* the library's last one while it reads the templates */
    warm_setting *settings;    /* by name, all that begin with TOPK_JIT_ */
    size_t setting_count;
    const char *group; /* of the check under way */
    const char *name;
    warm_finding *findings;
    size_t finding_count;
    size_t finding_capacity;
    bool failed; /* memory was short */
} warm_doctor;

/* What a check found, as one line of text. */
void warm_ok(warm_doctor *doctor, const char *format, ...) __attribute__((format(printf, 2, 3)));
void warm_note(warm_doctor *doctor, const char *format, ...) __attribute__((format(printf, 2, 3)));
void warm_problem(warm_doctor *doctor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** What to do about the last finding. */
void warm_advise(warm_doctor *doctor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Runs every check.
 * @param[out] doctor  released with warm_doctor_release, also after a failure
 * @return false after one line on stderr
 */
bool warm_doctor_run(const warm_common *common, warm_doctor *doctor);
void warm_doctor_release(warm_doctor *doctor);

/** Whether the library would write into the cache's directory, if it can. */
bool warm_doctor_writes(const warm_doctor *doctor);

/* doctor_environment.c */

/** Takes the settings down, and refuses one after the other until the library takes the rest.
 *  @return false after one line on stderr */
bool warm_doctor_settle(const topk_jit_options *options, warm_doctor *doctor);
void warm_doctor_settings_release(warm_doctor *doctor);
void warm_check_privileges(warm_doctor *doctor);
void warm_check_variables(warm_doctor *doctor);
void warm_check_paths(warm_doctor *doctor);

/* doctor_library.c */
void warm_check_version(warm_doctor *doctor);
void warm_check_templates(warm_doctor *doctor);

/* doctor_nvrtc.c */
void warm_check_nvrtc(warm_doctor *doctor);
void warm_check_builtins(warm_doctor *doctor);
void warm_check_targets(warm_doctor *doctor);

/** NVRTC, or NULL, which warm_check_nvrtc says. */
const tkj_nvrtc *warm_doctor_nvrtc(warm_doctor *doctor);

/* doctor_driver.c */
void warm_check_driver(warm_doctor *doctor);
void warm_check_toolkit(warm_doctor *doctor);
void warm_check_gpus(warm_doctor *doctor);

/* doctor_contents.c */

/** Says of each directory within one that it cannot be used, if so. @return whether there is any */
bool warm_doctor_look_into(warm_doctor *doctor, const char *path);
void warm_check_contents(warm_doctor *doctor);

/* doctor_cache.c */
void warm_check_mode(warm_doctor *doctor);
void warm_check_root(warm_doctor *doctor);
void warm_check_size(warm_doctor *doctor);
void warm_check_tag(warm_doctor *doctor);
void warm_check_leavings(warm_doctor *doctor);
void warm_check_layers(warm_doctor *doctor);

/* doctor_disk.c */
void warm_check_file_system(warm_doctor *doctor);
void warm_check_space(warm_doctor *doctor);

/* doctor_locks.c */
void warm_check_lock_place(warm_doctor *doctor);
void warm_check_lock_support(warm_doctor *doctor);
void warm_check_lock_holders(warm_doctor *doctor);

/* doctor_recording.c */
void warm_check_recording(warm_doctor *doctor);

/* doctor_limits.c */
void warm_check_address_space(warm_doctor *doctor);
void warm_check_stack(warm_doctor *doctor);
void warm_check_file_size(warm_doctor *doctor);
void warm_check_cgroup(warm_doctor *doctor);

#endif /* TKJ_WARM_DOCTOR_H */
