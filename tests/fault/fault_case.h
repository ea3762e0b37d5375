/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fault_case.h
 * @brief Processes that meet: memory they share, gates at which they wait for each other, a clock
 *        and a compiler that a test can stop.
 *
 * Linked with three functions wrapped: tkj_os_now_ns and tkj_os_sleep_ns, so that time passes where
 * a test says so, and tkj_nvrtc_compile, so that it hears of each compilation.
 */
#ifndef TKJ_FAULT_CASE_H
#define TKJ_FAULT_CASE_H

#include "testing.h"

#include <sys/types.h>

/** Zeroed memory that is one with every child's; unmapped with the process. */
void *fault_shared(size_t size);

/** What a process does. Assertions may be used in it, in any of its threads: a failed one kills
 *  it. */
typedef void (*fault_work)(void *user, int number);

/** Starts a process; it dies with this one. */
pid_t fault_start(fault_work run, void *user, int number);

/** Waits for a process; asserts that it returned from its work. */
void fault_assert_done(pid_t child);

/** Waits for a process; @return true if it was killed by SIGKILL, false if it returned from its
 *  work; asserts that it was one or the other. */
bool fault_was_killed(pid_t child);

/** Sends SIGKILL and waits until the process is gone, with all that it had open. */
void fault_kill(pid_t child);

/** Starts so many processes, which begin their work at the same time with numbers from 0 on;
 *  asserts that each returned from it. */
void fault_assert_all_done(int count, fault_work run, void *user);

/** Where processes wait for each other: each pass takes what one opening gave. */
typedef struct fault_gate {
    int ends[2]; /* of a pipe that children and their programs inherit */
} fault_gate;

fault_gate fault_gate_make(void);
void fault_gate_open(const fault_gate *gate);
/** Blocks until the gate is opened; fails the test after 20 seconds. */
void fault_gate_pass(const fault_gate *gate);
void fault_gate_remove(fault_gate *gate);

/** Time, and what happens in it. Each process has its own. */
typedef struct fault_time {
    bool stopped; /* time passes in sleeps only, which take none */
    uint64_t now_ns;
    int sleeps;                                        /* of this process's one thread */
    void (*on_sleep)(void *user);                      /* before each sleep; NULL = nothing */
    void (*on_compile)(void *user, const char *entry); /* before each compilation; NULL = nothing */
    void *user;
} fault_time;

extern fault_time fault;

/** A clock that runs and nothing to be heard: for a test's set-up. */
void fault_reset(void);
/** The clock stops; nobody has slept yet. */
void fault_stop_clock(void);

#endif /* TKJ_FAULT_CASE_H */
