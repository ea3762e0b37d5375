/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bar.h"
#include "complain.h"
#include "prelude.h"
#include "spec.h"
#include "terminal.h"
#include "text.h"

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/** True if a line of stderr can be rewritten, and nobody asked for plain text. */
static bool can_rewrite(void)
{
    const char *terminal = getenv("TERM");
    const char *plain = getenv("NO_COLOR");
    return isatty(STDERR_FILENO) == 1 && terminal != NULL && strcmp(terminal, "dumb") != 0 &&
           (plain == NULL || plain[0] == '\0');
}

void warm_report_init(warm_report *report)
{
    *report = (warm_report){.terminal = can_rewrite(), .started = now()};
    pthread_mutex_init(&report->mutex, NULL);
}

void warm_report_release(warm_report *report)
{
    for (size_t i = 0; i < report->seen_count; i++)
        free(report->seen[i]);
    pthread_mutex_destroy(&report->mutex);
}

static void close_line(warm_report *report)
{
    if (report->line_open)
        fputs("\r\033[K", stderr);
    report->line_open = false;
}

static void rewrite_line(warm_report *report)
{
    char line[WARM_BAR_SIZE];
    if (!report->terminal || report->quiet)
        return;
    const warm_bar bar = {
        .total = report->total,
        .done = report->done,
        .found = report->found,
        .elapsed_ns = now() - report->started,
        .current =
            report->stopping ? "ends after the kernels at work; again: at once" : report->current,
    };
    /* one less than there are: \r could not undo a line that wraps */
    warm_bar_format(&bar, warm_terminal_columns(STDERR_FILENO) - 1, line);
    fprintf(stderr, "\r%s\033[K", line);
    report->line_open = true;
}

static void progress(warm_report *report, const char *text)
{
    if (!report->terminal && !report->quiet)
        fprintf(stderr, "[%zu/%zu] %s\n", report->done, report->total, text);
    rewrite_line(report);
}

/** True from the second time on. The first line decides: further down a compiler's log names the
 *  kernel, and a broken template would fill the screen once a kernel. */
static bool was_said(warm_report *report, const char *text)
{
    const size_t length = strcspn(text, "\n");
    for (size_t i = 0; i < report->seen_count; i++) {
        if (strlen(report->seen[i]) == length && strncmp(report->seen[i], text, length) == 0)
            return true;
    }
    if (report->seen_count == WARM_REPORT_SEEN_MAX)
        return false;
    char *copy = strndup(text, length);
    if (copy != NULL)
        report->seen[report->seen_count++] = copy;
    return false;
}

void warm_report_begin(warm_report *report, size_t total)
{
    pthread_mutex_lock(&report->mutex);
    report->total = total;
    if (report->terminal)
        progress(report, "looking in the cache, compiling what is missing");
    pthread_mutex_unlock(&report->mutex);
}

static void complain_failed(warm_report *report, const warm_kernel *kernel, const char *target)
{
    if (kernel->error == NULL || was_said(report, kernel->error))
        return;
    close_line(report);
    if (kernel->everywhere) {
        warm_complain("%s", kernel->error);
        return;
    }
    char spec[TKJ_SPEC_TEXT_SIZE];
    tkj_spec_format(&kernel->spec, spec);
    warm_complain("%s on %s: %s", spec, target, kernel->error);
}

void warm_report_begun(warm_report *report, const warm_kernel *kernel)
{
    char entry[TKJ_ENTRY_NAME_SIZE];
    char target[TKJ_TARGET_NAME_SIZE];
    tkj_entry_name(&kernel->spec, &kernel->variant, entry);
    tkj_target_format(kernel->target, target);
    pthread_mutex_lock(&report->mutex);
    snprintf(report->current, sizeof report->current, "%s for %s", entry, target);
    rewrite_line(report);
    pthread_mutex_unlock(&report->mutex);
}

void warm_report_kernel(warm_report *report, const warm_kernel *kernel)
{
    char target[TKJ_TARGET_NAME_SIZE];
    char entry[TKJ_ENTRY_NAME_SIZE];
    char seconds[32] = "";
    char text[512];
    tkj_target_format(kernel->target, target);
    tkj_entry_name(&kernel->spec, &kernel->variant, entry);
    if (kernel->state != WARM_FAILED)
        snprintf(seconds, sizeof seconds, ", %.2f s", (double)kernel->nanoseconds * 1e-9);
    snprintf(text, sizeof text, "%s %s for %s%s", warm_state_words(kernel->state), entry, target,
             seconds);
    pthread_mutex_lock(&report->mutex);
    report->done++;
    report->found += kernel->state == WARM_ALREADY_THERE;
    report->failed += kernel->state == WARM_FAILED;
    if (kernel->state == WARM_FAILED)
        complain_failed(report, kernel, target);
    progress(report, text);
    pthread_mutex_unlock(&report->mutex);
}

void warm_report_refresh(warm_report *report)
{
    if (pthread_mutex_trylock(&report->mutex) != 0)
        return; /* another thread is writing */
    rewrite_line(report);
    pthread_mutex_unlock(&report->mutex);
}

void warm_report_stopping(warm_report *report)
{
    if (pthread_mutex_trylock(&report->mutex) != 0)
        return;
    report->stopping = true;
    rewrite_line(report);
    pthread_mutex_unlock(&report->mutex);
}

void warm_report_interrupted(warm_report *report)
{
    if (pthread_mutex_trylock(&report->mutex) != 0)
        return;
    close_line(report);
    warm_complain("interrupted: %zu of %zu %s done; the same command goes on with "
                  "the others",
                  report->done - report->failed, report->total,
                  tkj_plural(report->total, "kernel is", "kernels are"));
    pthread_mutex_unlock(&report->mutex);
}

void warm_report_close(warm_report *report)
{
    pthread_mutex_lock(&report->mutex);
    close_line(report);
    pthread_mutex_unlock(&report->mutex);
}

warm_summary warm_report_sum(const warm_report *report, const warm_kernels *kernels)
{
    warm_summary summary = {.seconds = (double)(now() - report->started) * 1e-9};
    for (size_t i = 0; i < kernels->count; i++) {
        const warm_kernel *kernel = &kernels->at[i];
        summary.compiled += kernel->state == WARM_COMPILED;
        summary.already_there += kernel->state == WARM_ALREADY_THERE;
        summary.would_compile += kernel->state == WARM_WOULD_COMPILE;
        summary.failed += kernel->state == WARM_FAILED;
        summary.not_tried += kernel->state == WARM_NOT_TRIED;
        summary.evicted += kernel->state == WARM_EVICTED;
        summary.bytes += kernel->bytes;
    }
    return summary;
}

void warm_report_log(void *user, topk_jit_log_level level, const char *text)
{
    static const char *const levels[] = {"", "error", "warning", "info", "debug"};
    warm_report *report = user;
    pthread_mutex_lock(&report->mutex);
    if (!was_said(report, text)) {
        close_line(report);
        fprintf(stderr, "topk-jit-warm: %s: %s\n", levels[level], text);
    }
    pthread_mutex_unlock(&report->mutex);
}
