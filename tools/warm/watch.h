/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file watch.h
 * @brief One thread that waits for builders and for signals at once, so that a signal is a value
 * and no handler interrupts anything.
 */
#ifndef TKJ_WARM_WATCH_H
#define TKJ_WARM_WATCH_H

#include <signal.h>
#include <stdbool.h>

typedef struct warm_watch {
    int signals; /* a descriptor from which they are read; -1 = they do what they always do */
    int ended;   /* to which a builder writes at its end */
    sigset_t before;
} warm_watch;

/** What was waited for, if it is no signal. */
enum {
    WARM_WATCH_TIME = 0,
    WARM_WATCH_ENDED = -1,
};

/**
 * From now on the ending signals (ending_signals.h) and SIGWINCH are read here, and blocked in this
 * thread and those that it starts.
 * @return false if the process has no descriptors left: nothing has changed
 */
bool warm_watch_begin(warm_watch *watch);

/** Tells the watching thread that one builder has ended. */
void warm_watch_tell(warm_watch *watch);

/** Waits so long. @return a signal, WARM_WATCH_ENDED for each builder once, or WARM_WATCH_TIME */
int warm_watch_wait(warm_watch *watch, int milliseconds);

/** A signal that arrived and was not read does now what it always does. */
void warm_watch_end(warm_watch *watch);

#endif /* TKJ_WARM_WATCH_H */
