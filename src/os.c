/* SPDX-License-Identifier: Apache-2.0 */
#include "os.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

uint64_t tkj_os_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Times of files may be any, so the difference may not fit. */
bool tkj_os_is_far(time_t a, time_t b, time_t seconds)
{
    time_t apart;
    return __builtin_sub_overflow(a, b, &apart) || apart > seconds || apart < -seconds;
}

void tkj_os_sleep_ns(uint64_t nanoseconds)
{
    const struct timespec time = {.tv_sec = (time_t)(nanoseconds / 1000000000u),
                                  .tv_nsec = (long)(nanoseconds % 1000000000u)};
    nanosleep(&time, NULL);
}

/* File that holds this very object; the loader has no name for the executable but argv[0], which
   need not be a path. */
static const char *own_file(void)
{
    static const char inside = 0;
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1(&inside, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL)
        return NULL;
    return map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe";
}

topk_jit_status tkj_os_own_directory(const topk_jit_allocator *allocator, char **out)
{
    *out = NULL;
    char path[PATH_MAX];
    const char *file = own_file();
    if (file == NULL || realpath(file, path) == NULL)
        return TOPK_JIT_OK;
    char *slash = strrchr(path, '/');
    slash[slash == path] = '\0';
    *out = tkj_strdup(allocator, path);
    return *out != NULL ? TOPK_JIT_OK : TOPK_JIT_OUT_OF_MEMORY;
}

typedef struct thread_call {
    void (*function)(void *argument);
    void *argument;
    sem_t taken; /* the new thread has its own copy */
} thread_call;

static void *enter_thread(void *argument)
{
    thread_call *call = argument;
    void (*function)(void *) = call->function;
    void *own = call->argument;
    sem_post(&call->taken);
    function(own);
    return NULL;
}

/* The host's signal handlers must not run on a thread it does not know. */
static int create_blocked(pthread_t *thread, const pthread_attr_t *attributes, thread_call *call)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, attributes, enter_thread, call);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void await(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR) {
    }
}

int tkj_os_start_thread(size_t stack_size, void (*function)(void *argument), void *argument,
                        pthread_t *thread)
{
    thread_call call = {.function = function, .argument = argument};
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    sem_init(&call.taken, 0, 0);
    error = pthread_attr_setstacksize(&attributes, stack_size);
    if (error == 0)
        error = create_blocked(thread, &attributes, &call);
    if (error == 0)
        await(&call.taken);
    sem_destroy(&call.taken);
    pthread_attr_destroy(&attributes);
    return error;
}

int tkj_os_run_on_stack(size_t stack_size, void (*function)(void *argument), void *argument)
{
    pthread_t thread;
    int error = tkj_os_start_thread(stack_size, function, argument, &thread);
    if (error == 0)
        pthread_join(thread, NULL);
    return error;
}

/* A page of its own: the wipe takes whole pages. */
#define MARK_SIZE 1

tkj_fork_mark *tkj_os_fork_mark_create(void)
{
    void *page = mmap(NULL, MARK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, MARK_SIZE, MADV_WIPEONFORK) != 0) { /* since Linux 4.14 */
        munmap(page, MARK_SIZE);
        return NULL;
    }
    tkj_fork_mark *mark = page;
    atomic_store(mark, 1);
    return mark;
}

void tkj_os_fork_mark_destroy(tkj_fork_mark *mark)
{
    if (mark != NULL)
        munmap(mark, MARK_SIZE);
}

#define GUARD_COUNT UINT64_C(0xffffffff)

bool tkj_os_fork_guard_enter(tkj_fork_guard *guard)
{
    const uint64_t own = (uint64_t)getpid() << 32;
    uint64_t seen = atomic_load(guard), next;
    do {
        const bool ours = (seen & ~GUARD_COUNT) == own;
        if (!ours && (seen & GUARD_COUNT) != 0)
            return false;
        next = (ours ? seen : own) + 1;
    } while (!atomic_compare_exchange_weak(guard, &seen, next));
    return true;
}

void tkj_os_fork_guard_leave(tkj_fork_guard *guard)
{
    atomic_fetch_sub(guard, 1);
}
