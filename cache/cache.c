/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "state.h"
#include "status.h"

/* ------------------------------------------------------------------------------------------- */
/* Life                                                                                         */
/* ------------------------------------------------------------------------------------------- */

static topk_jit_status copy_strings(tkj_cache *cache, const tkj_cache_options *options)
{
    const struct {
        char **to;
        const char *from;
    } strings[] = {
        {&cache->root, options->root},
        {&cache->ro_dirs, options->ro_dirs},
        {&cache->installed, options->installed},
        {&cache->runtime_dir, options->runtime_dir},
    };
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        if (strings[i].from != NULL &&
            (*strings[i].to = tkj_strdup(&cache->allocator, strings[i].from)) == NULL)
            return TOPK_JIT_OUT_OF_MEMORY;
    return TOPK_JIT_OK;
}

topk_jit_status tkj_cache_create(const topk_jit_allocator *allocator, const tkj_logger *logger,
                                 const tkj_cache_options *options, tkj_cache **out)
{
    *out = NULL;
    tkj_cache *cache = tkj_alloc_zeroed(allocator, 1, sizeof *cache);
    if (cache == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    cache->allocator = *allocator;
    cache->logger = *logger;
    cache->mode = options->mode;
    cache->reader = (tkj_layer_reader){*allocator, options->trust,
                                       .touches = options->mode == TOPK_JIT_MODE_AUTO};
    cache->max_bytes = options->max_bytes;
    cache->lock_timeout_ns = options->lock_timeout_ns;
    for (size_t i = 0; i < TKJ_TURNS_MAX; i++)
        cache->turns[i].fd = -1;
    pthread_mutex_init(&cache->finding, NULL);
    pthread_mutex_init(&cache->lock, NULL);
    topk_jit_status status = copy_strings(cache, options);
    if (status != TOPK_JIT_OK) {
        tkj_cache_destroy(cache);
        return status;
    }
    *out = cache;
    return TOPK_JIT_OK;
}

void tkj_cache_destroy(tkj_cache *cache)
{
    if (cache == NULL)
        return;
    topk_jit_allocator allocator = cache->allocator;
    tkj_layers_release(&allocator, &cache->layers);
    tkj_held_release(&cache->held, &allocator);
    pthread_mutex_destroy(&cache->finding);
    pthread_mutex_destroy(&cache->lock);
    char *strings[] = {cache->root, cache->ro_dirs, cache->installed, cache->runtime_dir};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        tkj_free(&allocator, strings[i]);
    tkj_free(&allocator, cache);
}

/* A child may have closed what it inherited, and have a file of its own under the number. */
static bool is_still_open(const tkj_held_lock *lock)
{
    struct stat status;
    return lock->fd >= 0 && fstat(lock->fd, &status) == 0 && status.st_dev == lock->device &&
           status.st_ino == lock->inode;
}

/* Whoever held the mutexes is not in this process. A lock is one of both processes, so that closing
   it here leaves it with the parent, and does not keep it should the parent die. */
void tkj_cache_after_fork(tkj_cache *cache)
{
    pthread_mutex_init(&cache->finding, NULL);
    pthread_mutex_init(&cache->lock, NULL);
    cache->evicting = false;
    for (size_t i = 0; i < TKJ_TURNS_MAX; i++) {
        if (is_still_open(&cache->turns[i]))
            close(cache->turns[i].fd);
        cache->turns[i].fd = -1;
    }
}

const char *tkj_cache_root(const tkj_cache *cache)
{
    return cache->root;
}

bool tkj_cache_writes(const tkj_cache *cache)
{
    return cache->root != NULL && cache->mode == TOPK_JIT_MODE_AUTO;
}

tkj_cache_counters *tkj_cache_counts(tkj_cache *cache)
{
    return &cache->counters;
}

/* ------------------------------------------------------------------------------------------- */
/* Layers                                                                                       */
/* ------------------------------------------------------------------------------------------- */

bool tkj_cache_layers(tkj_cache *cache)
{
    if (cache->mode == TOPK_JIT_MODE_OFF)
        return true;
    if (atomic_load_explicit(&cache->found, memory_order_acquire))
        return true;
    pthread_mutex_lock(&cache->finding);
    bool found = atomic_load_explicit(&cache->found, memory_order_relaxed);
    if (!found) {
        found = tkj_layers_find(&cache->reader, cache->ro_dirs, cache->installed, cache->root,
                                &cache->layers) == TOPK_JIT_OK;
        atomic_store_explicit(&cache->found, found, memory_order_release);
    }
    pthread_mutex_unlock(&cache->finding);
    return found;
}

/* Layer 0 is memory. */
size_t tkj_cache_user_layer(tkj_cache *cache)
{
    if (!tkj_cache_layers(cache))
        return SIZE_MAX;
    return cache->layers.count + (cache->root == NULL || cache->mode == TOPK_JIT_MODE_OFF);
}

const char *tkj_cache_layer_name(const tkj_cache *cache, size_t layer)
{
    return layer == 0 ? "memory" : cache->layers.at[layer - 1].path;
}

/* One warning a layer: those that meet an untrusted one are as many as its kernels. */
void tkj_cache_complain(tkj_cache *cache, tkj_layer *layer, const char *why)
{
    if (!atomic_exchange(&layer->complained, true))
        tkj_log(&cache->logger, TOPK_JIT_LOG_WARNING, "a cache is not used: %s%s %s", layer->path,
                layer->kind == TKJ_LAYER_PACK ? ":" : "", why);
}

static void warn_of_entry(tkj_cache *cache, const tkj_layer *layer, const tkj_cache_query *query,
                          const char *why)
{
    char name[TKJ_ENTRY_FILE_SIZE];
    tkj_entry_file(&query->key, query->major, name);
    tkj_log(&cache->logger, TOPK_JIT_LOG_WARNING, "cache entry %s%s%s is ignored: %s", layer->path,
            layer->kind == TKJ_LAYER_PACK ? ", " : "/", name, why);
}

/* What did not answer a query, though it should have. */
static void report(tkj_cache *cache, tkj_layer *layer, const tkj_cache_query *query,
                   tkj_cache_outcome outcome, const char *why)
{
    if (outcome == TKJ_CACHE_UNUSABLE)
        tkj_cache_complain(cache, layer, why);
    if (outcome == TKJ_CACHE_CORRUPT || outcome == TKJ_CACHE_UNREADABLE) {
        cache->counters.corrupt += outcome == TKJ_CACHE_CORRUPT;
        warn_of_entry(cache, layer, query, why);
    }
}

static void count_hit(tkj_cache *cache, tkj_layer_kind kind, size_t size)
{
    cache->counters.hits[kind]++;
    if (kind != TKJ_LAYER_MEMORY)
        cache->counters.bytes_read += size;
}

/* Counts no hit. @param peeks  nothing is counted, logged or touched at all */
static tkj_cache_outcome search(tkj_cache *cache, bool peeks, const tkj_cache_query *query,
                                size_t *layer, tkj_blob *bytes, tkj_entry *entry)
{
    tkj_cache_outcome worst = TKJ_CACHE_ABSENT;
    tkj_layer_reader reader = cache->reader;
    reader.touches = reader.touches && !peeks;
    *bytes = (tkj_blob){NULL, 0};
    memset(entry, 0, sizeof *entry);
    if (*layer == 0 && tkj_held_get(&cache->held, &cache->allocator, query, bytes, entry))
        return TKJ_CACHE_HIT;
    if (!tkj_cache_layers(cache))
        return TKJ_CACHE_UNUSABLE;
    for (*layer += *layer == 0; *layer <= cache->layers.count; ++*layer) {
        tkj_layer_note note;
        tkj_layer *at = &cache->layers.at[*layer - 1];
        tkj_cache_outcome outcome = tkj_layer_get(at, &reader, query, bytes, entry, &note);
        if (outcome == TKJ_CACHE_HIT)
            return outcome;
        if (!peeks)
            report(cache, at, query, outcome, note.why);
        worst = outcome > worst ? outcome : worst;
    }
    return worst;
}

tkj_cache_outcome tkj_cache_get(tkj_cache *cache, const tkj_cache_query *query, size_t *layer,
                                tkj_blob *bytes, tkj_entry *entry)
{
    uint64_t start = tkj_os_now_ns();
    tkj_cache_outcome outcome = search(cache, false, query, layer, bytes, entry);
    if (outcome == TKJ_CACHE_HIT)
        count_hit(cache, *layer == 0 ? TKJ_LAYER_MEMORY : cache->layers.at[*layer - 1].kind,
                  bytes->size);
    cache->counters.lookup_ns += tkj_os_now_ns() - start;
    return outcome;
}

tkj_cache_outcome tkj_cache_peek(tkj_cache *cache, const tkj_cache_query *query, size_t *layer,
                                 tkj_blob *bytes, tkj_entry *entry)
{
    return search(cache, true, query, layer, bytes, entry);
}

bool tkj_cache_get_new(tkj_cache *cache, const tkj_cache_query *query, tkj_blob *bytes,
                       tkj_entry *entry)
{
    tkj_layer_note note;
    *bytes = (tkj_blob){NULL, 0};
    memset(entry, 0, sizeof *entry);
    if (tkj_held_get(&cache->held, &cache->allocator, query, bytes, entry)) {
        count_hit(cache, TKJ_LAYER_MEMORY, bytes->size);
        return true;
    }
    if (!tkj_cache_writes(cache) || !tkj_cache_layers(cache))
        return false;
    const tkj_layer *user = &cache->layers.at[cache->layers.count - 1];
    if (tkj_layer_get(user, &cache->reader, query, bytes, entry, &note) != TKJ_CACHE_HIT)
        return false;
    count_hit(cache, TKJ_LAYER_USER, bytes->size);
    return true;
}

void tkj_cache_hold(tkj_cache *cache, const tkj_cache_key *key, const tkj_blob *bytes)
{
    (void)tkj_held_add(&cache->held, &cache->allocator, key, bytes);
}

bool tkj_cache_ask(tkj_cache *cache, const tkj_cache_query *query, size_t layer,
                   tkj_cache_answer *out)
{
    if (!tkj_cache_layers(cache) || layer < 1 || layer > cache->layers.count)
        return false;
    const tkj_layer *at = &cache->layers.at[layer - 1];
    tkj_layer_reader reader = cache->reader;
    reader.touches = false;
    *out = (tkj_cache_answer){.kind = at->kind, .path = at->path};
    out->outcome = tkj_layer_get(at, &reader, query, &out->bytes, &out->entry, &out->note);
    return true;
}

void tkj_cache_answer_release(const tkj_cache *cache, tkj_cache_answer *answer)
{
    tkj_free(&cache->allocator, answer->bytes.bytes);
    answer->bytes = (tkj_blob){NULL, 0};
}

bool tkj_cache_explain_miss(tkj_cache *cache, const tkj_cache_query *query, tkj_text *out)
{
    if (!tkj_cache_layers(cache)) {
        tkj_text_append(out, "nothing, for this process is short of memory or of descriptors");
        return true;
    }
    tkj_cache_answer answer;
    for (size_t layer = 1; tkj_cache_ask(cache, query, layer, &answer); layer++) {
        tkj_text_append(out, "%s%s: %s", layer > 1 ? "; " : "", answer.path,
                        answer.note.why != NULL ? answer.note.why : "it is there");
        tkj_cache_answer_release(cache, &answer);
    }
    return cache->layers.count > 0;
}
