/* SPDX-License-Identifier: Apache-2.0 */
/* Put: publishing, the pause after a failure that lasts, and the size of the directory. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "evict.h"
#include "os.h"
#include "publish.h"
#include "state.h"
#include "status.h"

/* Long enough that a full disk costs nothing, short enough that a server recovers by itself. */
#define PAUSE_NS (UINT64_C(60) * 1000000000u)

/* How much is removed where there is too much: so that the next removal is not due at once. */
#define SPARE_PART 8

/* Describes a failure, with errno as it is. @return -1 */
static int describe(tkj_store_failure *out, const tkj_cache *cache, const char *where,
                    const char *what)
{
    out->error = errno;
    out->logged = false;
    snprintf(out->reason, sizeof out->reason, "%s cache directory %s %s (%s)", where, cache->root,
             what, strerror(out->error));
    return -1;
}

/* The root, created if it is missing. @return a descriptor, or -1 with the failure described */
static int open_or_create_root(tkj_cache *cache, tkj_store_failure *out)
{
    const char *why;
    int fd = tkj_os_open_trusted_dir(cache->root, cache->reader.trust, &why);
    if (fd < 0 && errno == ENOENT) {
        if (tkj_os_make_dirs(cache->root, cache->reader.trust) != 0)
            return describe(out, cache, "the", "cannot be created");
        fd = tkj_os_open_trusted_dir(cache->root, cache->reader.trust, &why);
    }
    if (fd >= 0)
        return fd;
    describe(out, cache, "the", why);
    out->logged = out->error == EPERM;
    if (out->logged && tkj_cache_layers(cache))
        tkj_cache_complain(cache, &cache->layers.at[cache->layers.count - 1], why);
    return -1;
}

/* One attempt. @return 0, or -1 with the failure described */
static int store(tkj_cache *cache, const char *name, const tkj_blob *bytes, tkj_store_failure *out)
{
    int root_fd = open_or_create_root(cache, out);
    if (root_fd < 0)
        return -1;
    const char *step;
    int result = tkj_publish(root_fd, name, bytes, cache->reader.trust, &step);
    if (result != 0)
        describe(out, cache, "in the", step);
    close(root_fd);
    return result;
}

/* True for a failure that the next store would meet too. */
static bool is_lasting(int error)
{
    static const int lasting[] = {ENOSPC, EDQUOT, EROFS,   EACCES, EPERM,       ESTALE,
                                  EIO,    EFBIG,  ENOTDIR, ELOOP,  ENAMETOOLONG};
    for (size_t i = 0; i < sizeof lasting / sizeof lasting[0]; i++)
        if (error == lasting[i])
            return true;
    return false;
}

/* @return true with the failure, if stores pause now */
static bool is_paused(tkj_cache *cache, tkj_store_failure *out)
{
    uint64_t now = tkj_os_now_ns();
    pthread_mutex_lock(&cache->lock);
    bool paused = now < cache->pause_end;
    if (paused)
        *out = cache->paused_by;
    pthread_mutex_unlock(&cache->lock);
    return paused;
}

/* Begins a pause if the failure is a lasting one. @return true if it is news */
static bool begin_pause(tkj_cache *cache, const tkj_store_failure *failed)
{
    uint64_t now = tkj_os_now_ns();
    pthread_mutex_lock(&cache->lock);
    bool news = now >= cache->pause_end;
    if (news && is_lasting(failed->error)) {
        cache->pause_end = now + PAUSE_NS;
        cache->paused_by = *failed;
    }
    pthread_mutex_unlock(&cache->lock);
    return news;
}

/* Counts a stored entry. @return true if this thread is to look whether there is too much: what
   other processes store is seen then only, so each process looks at its first store */
static bool begin_eviction(tkj_cache *cache, uint64_t size)
{
    pthread_mutex_lock(&cache->lock);
    cache->used_bytes += size;
    bool due = (!cache->used_is_known || cache->used_bytes > cache->max_bytes) && !cache->evicting;
    if (due) {
        cache->evicting = true;
        cache->used_bytes = 0; /* of what is stored from now on */
    }
    pthread_mutex_unlock(&cache->lock);
    return due;
}

static tkj_eviction evict_once(tkj_cache *cache, const char *stored)
{
    const uint64_t most = cache->max_bytes;
    tkj_eviction done = {0};
    const char *why;
    int root_fd = tkj_os_open_trusted_dir(cache->root, cache->reader.trust, &why);
    if (root_fd >= 0) {
        done = tkj_evict(&cache->allocator, root_fd, cache->reader.trust, most,
                         most - most / SPARE_PART, stored);
        close(root_fd);
    }
    cache->counters.evictions += done.removed;
    cache->counters.bytes_evicted += done.removed_bytes;
    if (done.removed > 0)
        tkj_log(&cache->logger, TOPK_JIT_LOG_INFO,
                "the cache %s was full: %llu entries of %llu bytes were removed", cache->root,
                (unsigned long long)done.removed, (unsigned long long)done.removed_bytes);
    return done;
}

/* @return false if this thread is to look once more: others stored meanwhile, of which little may
   have been seen, and that may be too much */
static bool end_eviction(tkj_cache *cache, const tkj_eviction *done)
{
    pthread_mutex_lock(&cache->lock);
    const uint64_t meanwhile = cache->used_bytes;
    cache->used_bytes += done->left_bytes;
    cache->used_is_known = done->complete;
    cache->evicting = meanwhile > 0 && cache->used_bytes > cache->max_bytes;
    if (cache->evicting)
        cache->used_bytes = 0;
    const bool ended = !cache->evicting;
    pthread_mutex_unlock(&cache->lock);
    return ended;
}

static void evict(tkj_cache *cache, const char *stored)
{
    tkj_eviction done;
    do
        done = evict_once(cache, stored);
    while (!end_eviction(cache, &done));
}

/* @return 0, or -1 with the failure described */
static int try_to_store(tkj_cache *cache, const char *name, const tkj_blob *bytes,
                        tkj_store_failure *failed)
{
    int result = store(cache, name, bytes, failed);
    if (result != 0 && failed->error == ENOENT) /* somebody cleared the cache meanwhile */
        result = store(cache, name, bytes, failed);
    if (result == 0 && cache->max_bytes != UINT64_MAX && begin_eviction(cache, bytes->size))
        evict(cache, name);
    return result;
}

topk_jit_status tkj_cache_put(tkj_cache *cache, const tkj_cache_key *key, int major,
                              const tkj_blob *bytes)
{
    if (!tkj_cache_writes(cache))
        return TOPK_JIT_OK;
    tkj_store_failure failed;
    if (!is_paused(cache, &failed)) {
        char name[TKJ_ENTRY_FILE_SIZE];
        tkj_entry_file(key, major, name);
        uint64_t start = tkj_os_now_ns();
        int result = try_to_store(cache, name, bytes, &failed);
        cache->counters.store_ns += tkj_os_now_ns() - start;
        if (result == 0) {
            cache->counters.stores++;
            cache->counters.bytes_written += bytes->size;
            return TOPK_JIT_OK;
        }
        if (begin_pause(cache, &failed) && !failed.logged)
            tkj_log(&cache->logger, TOPK_JIT_LOG_WARNING, "a kernel was not stored: %s",
                    failed.reason);
    }
    cache->counters.failed_stores++;
    return tkj_fail_native(TOPK_JIT_CACHE_FAILED, failed.error, "a kernel was not stored: %s",
                           failed.reason);
}
