/* SPDX-License-Identifier: Apache-2.0 */
#include "crew.h"

#include <string.h>

typedef struct crew {
    plan_case *it;
    crew_work run;
    pthread_barrier_t start;
    pthread_t threads[CREW_THREADS];
    atomic_int next;
    atomic_int failed;
    char message[sizeof((topk_jit_error *)0)->message];
    pthread_mutex_t lock;
} crew;

static void *run_one(void *argument)
{
    crew *c = argument;
    int thread = atomic_fetch_add(&c->next, 1);
    pthread_barrier_wait(&c->start);
    if (!c->run(c->it, thread)) {
        atomic_fetch_add(&c->failed, 1);
        pthread_mutex_lock(&c->lock);
        memcpy(c->message, topk_jit_last_error()->message, sizeof c->message);
        pthread_mutex_unlock(&c->lock);
    }
    return NULL;
}

void crew_assert_all_succeed(plan_case *it, crew_work run)
{
    crew c = {.it = it, .run = run, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_barrier_init(&c.start, NULL, CREW_THREADS);
    for (int i = 0; i < CREW_THREADS; i++)
        assert_int_equal(pthread_create(&c.threads[i], NULL, run_one, &c), 0);
    for (int i = 0; i < CREW_THREADS; i++)
        assert_int_equal(pthread_join(c.threads[i], NULL), 0);
    pthread_barrier_destroy(&c.start);
    if (atomic_load(&c.failed) != 0)
        fail_msg("%d threads failed: %s", atomic_load(&c.failed), c.message);
}
