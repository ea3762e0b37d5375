/* SPDX-License-Identifier: Apache-2.0 */
/** @file nvrtc_case.h @brief What the tests with the fake NVRTC share. */
#ifndef TKJ_NVRTC_CASE_H
#define TKJ_NVRTC_CASE_H

#include "testing.h"

#include "fake_nvrtc.h"
#include "nvrtc.h"

/** The fake at FAKE_NVRTC_PATH. */
extern const fake_nvrtc *fake;

/** Finds the fake; says so if it cannot. */
bool nvrtc_case_connect(void);

/** Resets the fake: the setup of every test. */
int nvrtc_case_start(void **state);

/** What the log callback was given since nvrtc_case_listen. */
typedef struct nvrtc_case_log {
    int count[TOPK_JIT_LOG_DEBUG + 1];
    char *last[TOPK_JIT_LOG_DEBUG + 1];
    char all[8192];
} nvrtc_case_log;

extern nvrtc_case_log heard;

/** A logger that says nothing. */
extern const tkj_logger silent;

/** A logger that fills `heard`, from empty. */
tkj_logger listen_to(topk_jit_log_level level);

void assert_message_has(const char *text);
void assert_message_lacks(const char *text);

/** The fake, loaded through the option; freed with tkj_nvrtc_free. */
tkj_nvrtc *load_fake(const tkj_logger *logger);

#endif /* TKJ_NVRTC_CASE_H */
