/* SPDX-License-Identifier: Apache-2.0 */
#include "flight.h"

#include <string.h>

#include "memory.h"
#include "os.h"
#include "status.h"

struct tkj_flight {
    tkj_flight *next;
    uint8_t id[TKJ_DIGEST_SIZE];
    size_t passengers; /* threads that use this: the one at work, and those that wait */
    bool landed;
    topk_jit_status status;
    topk_jit_error error;
};

void tkj_flights_init(tkj_flights *flights)
{
    pthread_mutex_init(&flights->lock, NULL);
    pthread_cond_init(&flights->landed, NULL);
    flights->first = NULL;
}

void tkj_flights_destroy(tkj_flights *flights)
{
    pthread_cond_destroy(&flights->landed);
    pthread_mutex_destroy(&flights->lock);
}

static tkj_flight *find(const tkj_flights *flights, const uint8_t id[TKJ_DIGEST_SIZE])
{
    tkj_flight *flight = flights->first;
    while (flight != NULL && memcmp(flight->id, id, TKJ_DIGEST_SIZE) != 0)
        flight = flight->next;
    return flight;
}

static tkj_flight *begin(tkj_flights *flights, const topk_jit_allocator *allocator,
                         const uint8_t id[TKJ_DIGEST_SIZE])
{
    tkj_flight *flight = tkj_alloc_zeroed(allocator, 1, sizeof *flight);
    if (flight == NULL)
        return NULL;
    memcpy(flight->id, id, TKJ_DIGEST_SIZE);
    flight->passengers = 1;
    flight->next = flights->first;
    flights->first = flight;
    return flight;
}

/* The last one to leave releases it. */
static void leave(const topk_jit_allocator *allocator, tkj_flight *flight)
{
    if (--flight->passengers == 0)
        tkj_free(allocator, flight);
}

bool tkj_flights_board(tkj_flights *flights, const topk_jit_allocator *allocator,
                       const uint8_t id[TKJ_DIGEST_SIZE], tkj_flight **flight,
                       topk_jit_status *status, uint64_t *waited_ns)
{
    *flight = NULL;
    *status = TOPK_JIT_OK;
    *waited_ns = 0;
    pthread_mutex_lock(&flights->lock);
    tkj_flight *other = find(flights, id);
    if (other == NULL) {
        *flight = begin(flights, allocator, id);
        pthread_mutex_unlock(&flights->lock);
        return true;
    }
    const uint64_t began = tkj_os_now_ns();
    other->passengers++;
    while (!other->landed)
        pthread_cond_wait(&flights->landed, &flights->lock);
    *waited_ns = tkj_os_now_ns() - began;
    *status = other->status;
    if (other->status != TOPK_JIT_OK)
        tkj_error_restore(&other->error);
    leave(allocator, other);
    pthread_mutex_unlock(&flights->lock);
    return false;
}

void tkj_flights_land(tkj_flights *flights, const topk_jit_allocator *allocator, tkj_flight *flight,
                      topk_jit_status status)
{
    if (flight == NULL)
        return;
    pthread_mutex_lock(&flights->lock);
    tkj_flight **link = &flights->first;
    while (*link != flight)
        link = &(*link)->next;
    *link = flight->next;
    flight->landed = true;
    flight->status = status;
    flight->error = *topk_jit_last_error();
    pthread_cond_broadcast(&flights->landed);
    leave(allocator, flight);
    pthread_mutex_unlock(&flights->lock);
}
