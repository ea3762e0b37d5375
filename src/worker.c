/* SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include "os.h"
#include "status.h"

/* The compiler has a thread of its own; what is left needs little. */
#define STACK_SIZE ((size_t)512 << 10)

void tkj_worker_init(tkj_worker *worker)
{
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    worker->first = worker->last = NULL;
    worker->started = worker->stopping = false;
}

static tkj_task *take(tkj_worker *worker)
{
    tkj_task *task = worker->first;
    if (task != NULL)
        worker->first = task->next;
    return task;
}

static void work(void *argument)
{
    tkj_worker *worker = argument;
    pthread_mutex_lock(&worker->lock);
    while (!worker->stopping) {
        tkj_task *task = take(worker);
        if (task == NULL) {
            pthread_cond_wait(&worker->changed, &worker->lock);
            continue;
        }
        pthread_mutex_unlock(&worker->lock);
        task->run(task, false);
        pthread_mutex_lock(&worker->lock);
    }
    pthread_mutex_unlock(&worker->lock);
}

static topk_jit_status start(tkj_worker *worker)
{
    int error = tkj_os_start_thread(STACK_SIZE, work, worker, &worker->thread);
    if (error != 0)
        return tkj_fail_native(TOPK_JIT_OS_FAILED, error, "no thread can be started (%d)", error);
    worker->started = true;
    return TOPK_JIT_OK;
}

topk_jit_status tkj_worker_add(tkj_worker *worker, tkj_task *task)
{
    topk_jit_status status = TOPK_JIT_OK;
    pthread_mutex_lock(&worker->lock);
    if (!worker->started)
        status = start(worker);
    if (status == TOPK_JIT_OK) {
        task->next = NULL;
        if (worker->first != NULL)
            worker->last->next = task;
        else
            worker->first = task;
        worker->last = task;
        pthread_cond_signal(&worker->changed);
    }
    pthread_mutex_unlock(&worker->lock);
    return status;
}

void tkj_worker_stop(tkj_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    const bool started = worker->started;
    worker->stopping = true;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    if (started)
        pthread_join(worker->thread, NULL);
    for (tkj_task *task = take(worker); task != NULL; task = take(worker))
        task->run(task, true);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
}
