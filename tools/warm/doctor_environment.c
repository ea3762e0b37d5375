/* SPDX-License-Identifier: Apache-2.0 */
/* What is set, and whether the library takes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "complain.h"
#include "doctor.h"
#include "suggest.h"

#define PREFIX "TOPK_JIT_"

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* ---- taking down ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const warm_setting *)a)->name, ((const warm_setting *)b)->name);
}

/** Copies: what is refused is taken out of the environment. */
static bool copy_settings(warm_doctor *doctor)
{
    size_t count = 0;
    for (char **at = environ; at != NULL && *at != NULL; at++)
        count += has_prefix(*at, PREFIX);
    doctor->settings = calloc(count + 1, sizeof *doctor->settings);
    for (char **at = environ; doctor->settings != NULL && at != NULL && *at != NULL; at++) {
        if (!has_prefix(*at, PREFIX))
            continue;
        warm_setting *setting = &doctor->settings[doctor->setting_count];
        setting->name = strdup(*at);
        if (setting->name == NULL)
            return false;
        doctor->setting_count++;
        setting->value = setting->name + strcspn(setting->name, "=");
        if (*setting->value == '=')
            *setting->value++ = '\0';
    }
    if (doctor->settings != NULL)
        qsort(doctor->settings, doctor->setting_count, sizeof *doctor->settings, compare_names);
    return doctor->settings != NULL;
}

/** The setting that a refusal of the library is about: it names it first. */
static warm_setting *find_refused(warm_doctor *doctor, const char *message)
{
    const size_t length = strcspn(message, " ");
    for (size_t i = 0; i < doctor->setting_count; i++) {
        warm_setting *setting = &doctor->settings[i];
        if (setting->refusal == NULL && strlen(setting->name) == length &&
            strncmp(setting->name, message, length) == 0)
            return setting;
    }
    return NULL;
}

bool warm_doctor_settle(const topk_jit_options *options, warm_doctor *doctor)
{
    if (!copy_settings(doctor)) {
        warm_complain("out of memory");
        return false;
    }
    while (topk_jit_context_create(&doctor->context, options) != TOPK_JIT_OK) {
        const char *message = topk_jit_last_error()->message;
        warm_setting *refused = find_refused(doctor, message);
        if (refused == NULL || (refused->refusal = strdup(message)) == NULL) {
            warm_complain("%s", message);
            return false;
        }
        unsetenv(refused->name);
    }
    return true;
}

void warm_doctor_settings_release(warm_doctor *doctor)
{
    for (size_t i = 0; i < doctor->setting_count; i++) {
        free(doctor->settings[i].name);
        free(doctor->settings[i].refusal);
    }
    free(doctor->settings);
}

/* ---- checks ---- */

void warm_check_privileges(warm_doctor *doctor)
{
    static const char probe[] = PREFIX "PROBE";
    const bool is_believed = setenv(probe, "1", 1) != 0 || tkj_config_environment(probe) != NULL;
    unsetenv(probe);
    if (is_believed) {
        warm_ok(doctor, "user %lu, group %lu, as who started it", (unsigned long)geteuid(),
                (unsigned long)getegid());
        return;
    }
    warm_note(doctor, "it has more rights than who started it: the environment is ignored");
    warm_advise(doctor, "give options instead, such as --cache-dir");
}

static bool is_known(const char *name)
{
    for (const warm_variable *known = warm_variables; known->name != NULL; known++)
        if (strcmp(known->name, name) == 0)
            return true;
    return false;
}

static void say_unknown(warm_doctor *doctor, const warm_setting *setting)
{
    char text[256];
    tkj_suggestion suggestion = {.given = setting->name + strlen(PREFIX)};
    for (const warm_variable *known = warm_variables; known->name != NULL; known++)
        if (has_prefix(known->name, PREFIX))
            tkj_suggest(&suggestion, known->name + strlen(PREFIX));
    tkj_suggestion_format(&suggestion, PREFIX, text, sizeof text);
    warm_note(doctor, "%s is no variable of this library%s", setting->name, text);
}

/** A value that is taken, but not as it seems to be meant. @return false if there is none */
static bool say_misread(warm_doctor *doctor, const warm_setting *setting)
{
    const char *rule = doctor->context->root_rule;
    if (strcmp(setting->name, "TOPK_JIT_CACHE_DIR") == 0 &&
        (rule == NULL || strcmp(rule, setting->name) != 0)) {
        if (doctor->context->config.cache_dir != NULL) {
            warm_note(doctor, "%s=%s gives way to --cache-dir", setting->name, setting->value);
            return true;
        }
        warm_problem(doctor, "%s=%s is ignored", setting->name, setting->value);
        warm_advise(doctor, "set an absolute path");
        return true;
    }
    if (strcmp(setting->name, "TOPK_JIT_LOG") == 0 && strcmp(setting->value, "info") != 0 &&
        tkj_log_level_parse(setting->value) == TOPK_JIT_LOG_INFO) {
        warm_note(doctor, "%s=%s means info", setting->name, setting->value);
        warm_advise(doctor, "set error, warning, info or debug");
        return true;
    }
    return false;
}

static void judge(warm_doctor *doctor, const warm_setting *setting)
{
    if (!is_known(setting->name)) {
        say_unknown(doctor, setting);
    } else if (setting->refusal != NULL) {
        warm_problem(doctor, "%s; every context is refused", setting->refusal);
        warm_advise(doctor, "correct or unset it; what follows is without it");
    } else if (setting->value[0] == '\0') {
        warm_note(doctor, "%s is empty, which is as if it was not set", setting->name);
    } else if (tkj_config_environment(setting->name) == NULL) {
        warm_note(doctor, "%s=%s is ignored, for the rights of this process", setting->name,
                  setting->value);
    } else if (!say_misread(doctor, setting)) {
        warm_ok(doctor, "%s=%s", setting->name, setting->value);
    }
}

void warm_check_variables(warm_doctor *doctor)
{
    for (size_t i = 0; i < doctor->setting_count; i++)
        judge(doctor, &doctor->settings[i]);
    if (doctor->setting_count == 0)
        warm_ok(doctor, "no " PREFIX "* is set");
}

void warm_check_paths(warm_doctor *doctor)
{
    static const char *const names[] = {"XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "HOME", "CUDA_HOME"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = tkj_config_environment(names[i]);
        if (value == NULL || tkj_os_is_absolute(value))
            continue;
        warm_note(doctor, "%s=%s is ignored", names[i], value);
        warm_advise(doctor, "set an absolute path");
    }
}
