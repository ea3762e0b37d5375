/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "os.h"
#include "publish.h"
#include "status.h"

/* The layout below the root; another one gets another number, so that old and new can share it. */
#define LAYOUT_DIR "v1"

/* Long enough that a full disk costs nothing, short enough that a server recovers by itself. */
#define PAUSE_NS (UINT64_C(60) * 1000000000u)

#define NAME_SIZE 64

/* Why a store failed. */
typedef struct failure {
    int error;   /* errno */
    bool logged; /* as distrust of the root, which is logged once in a cache's life */
    char reason[900];
} failure;

struct tkj_cache {
    topk_jit_allocator allocator;
    tkj_logger logger;
    char *root;           /* NULL = no cache */
    pthread_mutex_t lock; /* guards all below; never held across a system call */
    uint64_t pause_end;   /* monotonic; stores before it meet `paused_by` */
    failure paused_by;
    bool distrust_logged;
};

topk_jit_status tkj_cache_create(const topk_jit_allocator *allocator, const tkj_logger *logger,
                                 const char *root, tkj_cache **out)
{
    *out = NULL;
    tkj_cache *cache = tkj_alloc_zeroed(allocator, 1, sizeof *cache);
    if (cache == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    cache->allocator = *allocator;
    cache->logger = *logger;
    if (root != NULL && (cache->root = tkj_strdup(allocator, root)) == NULL) {
        tkj_free(allocator, cache);
        return TOPK_JIT_OUT_OF_MEMORY;
    }
    pthread_mutex_init(&cache->lock, NULL);
    *out = cache;
    return TOPK_JIT_OK;
}

void tkj_cache_destroy(tkj_cache *cache)
{
    if (cache == NULL)
        return;
    topk_jit_allocator allocator = cache->allocator;
    pthread_mutex_destroy(&cache->lock);
    tkj_free(&allocator, cache->root);
    tkj_free(&allocator, cache);
}

const char *tkj_cache_root(const tkj_cache *cache)
{
    return cache->root;
}

/* ------------------------------------------------------------------------------------------- */
/* Names and the root                                                                           */
/* ------------------------------------------------------------------------------------------- */

/* "v1/<2 hex>/<30 hex>.cu<major>.tkc" */
static void format_name(const tkj_cache_key *key, int major, char name[NAME_SIZE])
{
    char hex[2 * TKJ_DIGEST_SIZE + 1];
    tkj_digest_format(key->digest, hex);
    snprintf(name, NAME_SIZE, LAYOUT_DIR "/%.2s/%s.cu%d.tkc", hex, hex + 2, major);
}

/* One warning a cache: the places that meet an untrusted root are as many as its kernels. */
static void log_distrust(tkj_cache *cache, const char *why)
{
    pthread_mutex_lock(&cache->lock);
    bool first = !cache->distrust_logged;
    cache->distrust_logged = true;
    pthread_mutex_unlock(&cache->lock);
    if (first)
        tkj_log(&cache->logger, TOPK_JIT_LOG_WARNING,
                "the cache directory %s %s: it is not used, kernels are compiled in memory",
                cache->root, why);
}

/* Opened anew for every operation, everything below it through the descriptor: no file that a
   host could close behind our back, no stale handle when the directory was removed or replaced. */
static int open_root(tkj_cache *cache, const char **why)
{
    int fd = tkj_os_open_trusted_dir(cache->root, why);
    if (fd < 0 && errno == EPERM) {
        log_distrust(cache, *why);
        errno = EPERM;
    }
    return fd;
}

/* ------------------------------------------------------------------------------------------- */
/* Get                                                                                          */
/* ------------------------------------------------------------------------------------------- */

/* What stands in an entry's place if it cannot be read; NULL if that is no entry's fault. */
static const char *read_flaw(int error)
{
    switch (error) {
    case EFBIG:
        return "it is larger than any entry";
    case ELOOP:
        return "it is a symbolic link";
    case EINVAL:
        return "it is not a regular file";
    case EPERM:
        return "it belongs to another user or others can write it";
    default:
        return NULL;
    }
}

static const char *verify(const tkj_blob *bytes, const char *preimage, const char *target,
                          tkj_entry *entry)
{
    const char *flaw = tkj_entry_decode(bytes->bytes, bytes->size, entry);
    if (flaw != NULL)
        return flaw;
    if (strcmp(entry->preimage, preimage) != 0)
        return "it is of another kernel";
    if (strcmp(entry->target, target) != 0)
        return "it is for another target";
    return NULL;
}

static tkj_cache_outcome reject(tkj_cache *cache, const char *name, const char *flaw,
                                tkj_blob *bytes, tkj_entry *entry)
{
    tkj_log(&cache->logger, TOPK_JIT_LOG_WARNING, "cache entry %s/%s is ignored: %s", cache->root,
            name, flaw);
    tkj_free(&cache->allocator, bytes->bytes);
    *bytes = (tkj_blob){NULL, 0};
    memset(entry, 0, sizeof *entry);
    return TKJ_CACHE_CORRUPT;
}

tkj_cache_outcome tkj_cache_get(tkj_cache *cache, const tkj_cache_key *key, int major,
                                const char *preimage, const char *target, tkj_blob *bytes,
                                tkj_entry *entry)
{
    *bytes = (tkj_blob){NULL, 0};
    memset(entry, 0, sizeof *entry);
    if (cache->root == NULL)
        return TKJ_CACHE_ABSENT;
    const char *why;
    int root_fd = open_root(cache, &why);
    if (root_fd < 0)
        return TKJ_CACHE_ABSENT;
    char name[NAME_SIZE];
    format_name(key, major, name);
    int result = tkj_os_read_file(&cache->allocator, root_fd, name, TKJ_ENTRY_SIZE_MAX, bytes);
    int error = errno;
    close(root_fd);
    const char *flaw = result == 0 ? verify(bytes, preimage, target, entry) : read_flaw(error);
    if (flaw != NULL)
        return reject(cache, name, flaw, bytes, entry);
    if (result == 0)
        return TKJ_CACHE_HIT;
    if (error != ENOENT)
        tkj_log(&cache->logger, TOPK_JIT_LOG_WARNING, "cache entry %s/%s cannot be read: %s",
                cache->root, name, strerror(error));
    return TKJ_CACHE_ABSENT;
}

/* ------------------------------------------------------------------------------------------- */
/* Put                                                                                          */
/* ------------------------------------------------------------------------------------------- */

/* Describes a failure, with errno as it is. @return -1 */
static int describe(failure *out, const tkj_cache *cache, const char *where, const char *what)
{
    out->error = errno;
    out->logged = false;
    snprintf(out->reason, sizeof out->reason, "%s cache directory %s %s (%s)", where, cache->root,
             what, strerror(out->error));
    return -1;
}

/* The root, created if it is missing. @return a descriptor, or -1 with the failure described */
static int open_or_create_root(tkj_cache *cache, failure *out)
{
    const char *why;
    int fd = open_root(cache, &why);
    if (fd < 0 && errno == ENOENT) {
        if (tkj_os_make_dirs(cache->root) != 0)
            return describe(out, cache, "the", "cannot be created");
        fd = open_root(cache, &why);
    }
    if (fd >= 0)
        return fd;
    describe(out, cache, "the", why);
    out->logged = out->error == EPERM; /* by open_root */
    return -1;
}

/* One attempt. @return 0, or -1 with the failure described */
static int store(tkj_cache *cache, const char *name, const tkj_blob *bytes, failure *out)
{
    int root_fd = open_or_create_root(cache, out);
    if (root_fd < 0)
        return -1;
    const char *step;
    int result = tkj_publish(root_fd, name, bytes, &step);
    if (result != 0)
        describe(out, cache, "in the", step);
    close(root_fd);
    return result;
}

/* True for a failure that the next store would meet too. */
static bool is_lasting(int error)
{
    static const int lasting[] = {ENOSPC, EDQUOT, EROFS,   EACCES, EPERM,
                                  ESTALE, EIO,    ENOTDIR, ELOOP,  ENAMETOOLONG};
    for (size_t i = 0; i < sizeof lasting / sizeof lasting[0]; i++)
        if (error == lasting[i])
            return true;
    return false;
}

/* @return true with the failure, if stores pause now */
static bool is_paused(tkj_cache *cache, failure *out)
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
static bool begin_pause(tkj_cache *cache, const failure *failed)
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

topk_jit_status tkj_cache_put(tkj_cache *cache, const tkj_cache_key *key, int major,
                              const tkj_blob *bytes)
{
    if (cache->root == NULL)
        return TOPK_JIT_OK;
    failure failed;
    if (!is_paused(cache, &failed)) {
        char name[NAME_SIZE];
        format_name(key, major, name);
        int result = store(cache, name, bytes, &failed);
        if (result != 0 && failed.error == ENOENT) /* somebody cleared the cache meanwhile */
            result = store(cache, name, bytes, &failed);
        if (result == 0)
            return TOPK_JIT_OK;
        if (begin_pause(cache, &failed) && !failed.logged)
            tkj_log(&cache->logger, TOPK_JIT_LOG_WARNING, "a kernel was not stored: %s",
                    failed.reason);
    }
    return tkj_fail_native(TOPK_JIT_CACHE_FAILED, failed.error, "a kernel was not stored: %s",
                           failed.reason);
}
