/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file report.h
 * @brief What a person sees while kernels are built, and at the end.
 *
 * Minutes of silence look like a hang (vllm PR#54529): on a terminal one line is rewritten,
 * elsewhere, and where NO_COLOR or TERM=dumb asks for plain text, each kernel has its line. All on
 * stderr; stdout has the result alone. A reader of stderr that went away ends nothing.
 */
#ifndef TKJ_WARM_REPORT_H
#define TKJ_WARM_REPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "kernels.h"

#define WARM_REPORT_SEEN_MAX 64

typedef struct warm_report {
    pthread_mutex_t mutex; /* builders and the library's log lines arrive from any thread */
    bool terminal;
    bool quiet;     /* no progress, only what is wrong */
    bool stopping;  /* a signal ended the run early */
    bool line_open; /* a progress line without its newline */
    size_t total;
    size_t done;
    size_t found;      /* of those done, already there */
    size_t failed;     /* of those done */
    char current[256]; /* the kernel that was begun last, and its target */
    uint64_t started;  /* nanoseconds, monotonic */
    size_t seen_count; /* texts that were said: one cause often fails every kernel */
    char *seen[WARM_REPORT_SEEN_MAX];
} warm_report;

/** Totals of a run. */
typedef struct warm_summary {
    size_t compiled;
    size_t already_there;
    size_t failed;
    size_t would_compile;
    size_t not_tried;
    size_t evicted;
    uint64_t bytes; /* of all entries that are there now */
    double seconds;
} warm_summary;

void warm_report_init(warm_report *report);
void warm_report_release(warm_report *report);

/** Says that so many kernels will be built now. */
void warm_report_begin(warm_report *report, size_t total);

/** Says that one kernel is begun. Thread-safe. */
void warm_report_begun(warm_report *report, const warm_kernel *kernel);

/** Says what became of one kernel. Thread-safe. */
void warm_report_kernel(warm_report *report, const warm_kernel *kernel);

/** Brings the line of a terminal up to date: time went by, or the terminal has another width. */
void warm_report_refresh(warm_report *report);

/** Says that the run ends after the kernels at work. */
void warm_report_stopping(warm_report *report);

/** Says in one line how far an interrupted run came. Waits for nobody: a reader that stopped
 * reading must not keep the process. */
void warm_report_interrupted(warm_report *report);

/** Ends the progress line. */
void warm_report_close(warm_report *report);

/** Adds the run up. */
warm_summary warm_report_sum(const warm_report *report, const warm_kernels *kernels);

/** A topk_jit_log_callback; user is the report. A text is said once. */
void warm_report_log(void *user, topk_jit_log_level level, const char *text);

#endif /* TKJ_WARM_REPORT_H */
