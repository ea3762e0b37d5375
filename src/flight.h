/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file flight.h
 * @brief Pieces of work that are under way in one thread, while others that want the same wait for
 * how it ends. Thread-safe.
 */
#ifndef TKJ_FLIGHT_H
#define TKJ_FLIGHT_H

#include <pthread.h>
#include <stdbool.h>
#include <topk_jit/topk_jit.h>

#include "digest.h"

typedef struct tkj_flight tkj_flight;

/** All pieces under way. */
typedef struct tkj_flights {
    pthread_mutex_t lock;
    pthread_cond_t landed;
    tkj_flight *first;
} tkj_flights;

/** Also in a child after fork, where the threads that were at work are not. */
void tkj_flights_init(tkj_flights *flights);
/** No piece may be under way. */
void tkj_flights_destroy(tkj_flights *flights);

/**
 * Begins a piece of work, or waits for the thread that is at it.
 * @param id           what tells pieces apart
 * @param[out] flight  the caller's piece, to be ended with tkj_flights_land; NULL if another thread
 *                     had it, or (then nobody waits for this one) without memory
 * @param[out] status  how another thread's piece ended: its failure is recorded as this thread's
 * @param[out] waited_ns  nanoseconds spent waiting for that
 * @return true if the caller does the work, false if another thread has done it
 */
bool tkj_flights_board(tkj_flights *flights, const topk_jit_allocator *allocator,
                       const uint8_t id[TKJ_DIGEST_SIZE], tkj_flight **flight,
                       topk_jit_status *status, uint64_t *waited_ns);

/** Ends a piece; those that wait get this status and, if it failed, this thread's last error.
 *  NULL is ignored. */
void tkj_flights_land(tkj_flights *flights, const topk_jit_allocator *allocator, tkj_flight *flight,
                      topk_jit_status status);

#endif /* TKJ_FLIGHT_H */
