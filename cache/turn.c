/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is to compile a kernel, among processes. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lock.h"
#include "memory.h"
#include "os.h"
#include "state.h"

/* Between two looks at what another process does: from a fraction of the shortest compilation up
   to one that nobody feels after a long one. */
#define PAUSE_FIRST_NS UINT64_C(1000000)
#define PAUSE_LONGEST_NS UINT64_C(20000000)

/* As long as stores pause after a full disk, for the same reasons. */
#define IMPATIENCE_NS (UINT64_C(60) * 1000000000u)

static void replace(tkj_cache *cache, int fd, const tkj_held_lock *by)
{
    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < TKJ_TURNS_MAX; i++)
        if (cache->turns[i].fd == fd) {
            cache->turns[i] = *by;
            break;
        }
    pthread_mutex_unlock(&cache->lock);
}

/* Where a child after fork finds it. */
static void remember(tkj_cache *cache, int fd)
{
    struct stat status;
    if (fstat(fd, &status) == 0)
        replace(cache, -1, &(tkj_held_lock){fd, status.st_dev, status.st_ino});
}

static void forget(tkj_cache *cache, int fd)
{
    replace(cache, fd, &(tkj_held_lock){.fd = -1});
}

static void drop(tkj_cache *cache, tkj_cache_turn *turn)
{
    if (turn->fd < 0)
        return;
    forget(cache, turn->fd);
    tkj_lock_release(turn->fd, &turn->key);
    close(turn->fd);
    turn->fd = -1;
}

static bool is_worth_a_lock(tkj_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    const uint64_t now = tkj_os_now_ns();
    bool paused = now < cache->pause_end;       /* nothing would be stored */
    bool patient = now >= cache->impatient_end; /* nobody was waited for in vain of late */
    pthread_mutex_unlock(&cache->lock);
    return tkj_cache_writes(cache) && cache->lock_timeout_ns > 0 && !paused && patient;
}

/* A process that holds a lock for ever costs one wait, and not one for each kernel. */
static void give_up(tkj_cache *cache)
{
    cache->counters.lock_timeouts++;
    pthread_mutex_lock(&cache->lock);
    cache->impatient_end = tkj_os_now_ns() + IMPATIENCE_NS;
    pthread_mutex_unlock(&cache->lock);
    tkj_log(&cache->logger, TOPK_JIT_LOG_WARNING,
            "another process has been compiling the same kernel for %llu ms: not waiting any "
            "longer, nor for the next minute",
            (unsigned long long)(cache->lock_timeout_ns / 1000000u));
}

/* Waits until the lock is held here, the entry is there, or the time is over. @return as
   tkj_cache_await_turn; lock: how the last attempt ended */
static bool wait_for_another(tkj_cache *cache, const tkj_cache_query *query, tkj_cache_turn *turn,
                             tkj_blob *bytes, tkj_entry *entry, tkj_lock_result *lock)
{
    const uint64_t began = tkj_os_now_ns();
    uint64_t pause = PAUSE_FIRST_NS;
    bool stored = false;
    while (*lock == TKJ_LOCK_BUSY && !stored) {
        if (tkj_os_now_ns() - began >= cache->lock_timeout_ns) {
            give_up(cache);
            break;
        }
        tkj_os_sleep_ns(pause);
        pause = 2 * pause < PAUSE_LONGEST_NS ? 2 * pause : PAUSE_LONGEST_NS;
        *lock = tkj_lock_try(turn->fd, &query->key);
        stored = tkj_cache_get_new(cache, query, bytes, entry);
    }
    cache->counters.waits++;
    cache->counters.wait_ns += tkj_os_now_ns() - began;
    return stored;
}

/* Whoever held the lock may have stored the entry since we looked. If it did not, it failed or
   died: we keep the lock, and the others go on waiting, each as long as it would have. */
bool tkj_cache_await_turn(tkj_cache *cache, const tkj_cache_query *query, tkj_cache_turn *turn,
                          tkj_blob *bytes, tkj_entry *entry)
{
    bool stored = false;
    turn->fd = -1;
    turn->key = query->key;
    *bytes = (tkj_blob){NULL, 0};
    memset(entry, 0, sizeof *entry);
    if (!is_worth_a_lock(cache))
        return false;
    turn->fd = tkj_lock_open(cache->runtime_dir, cache->root, cache->reader.trust);
    if (turn->fd < 0)
        return false;
    remember(cache, turn->fd);
    tkj_lock_result lock = tkj_lock_try(turn->fd, &query->key);
    if (lock == TKJ_LOCK_BUSY)
        stored = wait_for_another(cache, query, turn, bytes, entry, &lock);
    else if (lock == TKJ_LOCK_HELD)
        stored = tkj_cache_get_new(cache, query, bytes, entry);
    if (lock != TKJ_LOCK_HELD)
        drop(cache, turn);
    return stored;
}

void tkj_cache_end_turn(tkj_cache *cache, tkj_cache_turn *turn)
{
    drop(cache, turn);
}
