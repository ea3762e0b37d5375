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

/* The user's directory alone: what was in another layer would have been found before. */
static bool is_stored(tkj_cache *cache, const tkj_cache_query *query, tkj_blob *bytes,
                      tkj_entry *entry)
{
    const char *why;
    if (!tkj_cache_layers(cache))
        return false;
    const tkj_layer *user = &cache->layers.at[cache->layers.count - 1];
    if (tkj_layer_get(user, &cache->reader, query, bytes, entry, &why) != TKJ_CACHE_HIT)
        return false;
    cache->counters.hits[TKJ_LAYER_USER]++;
    cache->counters.bytes_read += bytes->size;
    return true;
}

static bool is_worth_a_lock(tkj_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    bool paused = tkj_os_now_ns() < cache->pause_end; /* nothing would be stored */
    pthread_mutex_unlock(&cache->lock);
    return tkj_cache_writes(cache) && cache->lock_timeout_ns > 0 && !paused;
}

/* Waits until the lock is free, the entry is there, or the time is over. */
static bool wait_for_another(tkj_cache *cache, const tkj_cache_query *query, tkj_cache_turn *turn,
                             tkj_blob *bytes, tkj_entry *entry)
{
    const uint64_t began = tkj_os_now_ns();
    uint64_t pause = PAUSE_FIRST_NS;
    bool stored = false;
    tkj_lock_result lock = TKJ_LOCK_BUSY;
    while (lock == TKJ_LOCK_BUSY && !stored) {
        if (tkj_os_now_ns() - began >= cache->lock_timeout_ns) {
            cache->counters.lock_timeouts++;
            tkj_log(&cache->logger, TOPK_JIT_LOG_WARNING,
                    "another process has been compiling the same kernel for %llu ms: not waiting "
                    "any longer",
                    (unsigned long long)(cache->lock_timeout_ns / 1000000u));
            break;
        }
        tkj_os_sleep_ns(pause);
        pause = 2 * pause < PAUSE_LONGEST_NS ? 2 * pause : PAUSE_LONGEST_NS;
        lock = tkj_lock_try(turn->fd, &query->key);
        stored = is_stored(cache, query, bytes, entry);
    }
    cache->counters.waits++;
    cache->counters.wait_ns += tkj_os_now_ns() - began;
    return stored;
}

bool tkj_cache_await_turn(tkj_cache *cache, const tkj_cache_query *query, tkj_cache_turn *turn,
                          tkj_blob *bytes, tkj_entry *entry)
{
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
    switch (tkj_lock_try(turn->fd, &query->key)) {
    case TKJ_LOCK_HELD: /* whoever held it may have stored the entry since we looked */
        return is_stored(cache, query, bytes, entry);
    case TKJ_LOCK_BUSY:
        if (wait_for_another(cache, query, turn, bytes, entry))
            return true;
        /* Whoever was at it failed, died or is stuck: nobody queues behind us for the same. */
        break;
    case TKJ_LOCK_IMPOSSIBLE:
        break;
    }
    drop(cache, turn);
    return false;
}

void tkj_cache_end_turn(tkj_cache *cache, tkj_cache_turn *turn)
{
    drop(cache, turn);
}
