/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "context.h"
#include "key.h"
#include "memory.h"
#include "walk.h"

/** A collection under way. */
typedef struct collector {
    const warm_pack_options *options;
    tkj_trust trust;
    int root_fd;
    char templates[2 * TKJ_DIGEST_SIZE + 1]; /* digest of those that are wanted; "" = any */
    warm_pack_found *found;
    bool seen[WARM_PACK_SPECS_MAX][WARM_PACK_TARGETS_MAX]; /* 0 where none is named */
} collector;

/* ---- what is wanted ---- */

/** Of an untrusted preimage. @return its length; 0 if there is none */
static size_t field_of(const tkj_entry *entry, const char *tag, const char **text)
{
    size_t length;
    *text = "";
    return tkj_key_field(entry->preimage, tag, text, &length) ? length : 0;
}

static bool has_templates(const collector *to, const tkj_entry *entry)
{
    const char *text;
    const size_t wanted = strlen(to->templates);
    return wanted == 0 || (field_of(entry, "templates", &text) == wanted &&
                           memcmp(text, to->templates, wanted) == 0);
}

/** Counts the reason if it is not. */
static bool is_wanted(collector *to, const tkj_entry *entry)
{
    const warm_pack_options *options = to->options;
    const char *text;
    const size_t length = field_of(entry, "spec", &text);
    const size_t spec = warm_pack_spec(options, text, length);
    const size_t target = warm_pack_target(options, entry->target);
    if (!has_templates(to, entry)) {
        to->found->other_templates++;
        return false;
    }
    if ((options->spec_count > 0 && spec == options->spec_count) ||
        (options->target_count > 0 && target == options->target_count)) {
        to->found->not_asked_for++;
        return false;
    }
    return to->seen[spec][target] = true;
}

/* ---- the entries ---- */

static bool short_of_memory(void)
{
    warm_complain("there is no memory for the entries");
    return false;
}

static bool add_flaw(const collector *to, const char *file, const char *what)
{
    warm_pack_found *found = to->found;
    warm_pack_flaw *more = reallocarray(found->flaws, found->flaw_count + 1, sizeof *found->flaws);
    if (more == NULL)
        return short_of_memory();
    found->flaws = more;
    warm_pack_flaw *flaw = &more[found->flaw_count];
    flaw->file = strdup(file);
    if (flaw->file == NULL)
        return short_of_memory();
    flaw->what = what;
    found->flaw_count++;
    warm_complain("%s: %s", file, what);
    return true;
}

/** Takes the bytes over if it returns true. */
static bool add_item(const collector *to, const tkj_walk_entry *at, tkj_blob bytes)
{
    warm_pack_found *found = to->found;
    if (found->count == TKJ_PACK_COUNT_MAX || found->bytes + bytes.size > TKJ_PACK_SIZE_MAX) {
        warm_complain("these are more entries than a pack holds, which is %zu of them and %llu "
                      "bytes: choose some with --arch or --spec",
                      TKJ_PACK_COUNT_MAX, (unsigned long long)TKJ_PACK_SIZE_MAX);
        return false;
    }
    if ((found->count & (found->count - 1)) == 0) { /* twice as many from each power of two on */
        const size_t capacity = found->count == 0 ? 1 : 2 * found->count;
        tkj_pack_item *more = reallocarray(found->items, capacity, sizeof *more);
        if (more == NULL)
            return short_of_memory();
        found->items = more;
    }
    tkj_pack_item *item = &found->items[found->count++];
    *item = (tkj_pack_item){.major = (uint32_t)at->major, .bytes = bytes};
    memcpy(item->key, at->key.digest, TKJ_DIGEST_SIZE);
    found->bytes += bytes.size;
    return true;
}

/** @return NULL if the bytes are an entry under its key, else what is wrong */
static const char *check(const tkj_walk_entry *at, const tkj_blob *bytes, tkj_entry *entry)
{
    const char *flaw = tkj_entry_decode(bytes->bytes, bytes->size, entry);
    uint8_t key[TKJ_DIGEST_SIZE];
    if (flaw != NULL)
        return flaw;
    tkj_digest(entry->preimage, strlen(entry->preimage), key);
    return memcmp(key, at->key.digest, sizeof key) == 0 ? NULL : "it is not under its key";
}

/** @return 0, or -1 with errno */
static int read_entry(const collector *to, const char *name, tkj_blob *bytes)
{
    tkj_file file;
    *bytes = (tkj_blob){NULL, 0};
    if (tkj_os_open_file(to->root_fd, name, to->trust, TKJ_ENTRY_SIZE_MAX, &file) != 0)
        return -1;
    const int result = tkj_os_read(&tkj_default_allocator, &file, 0, file.size, bytes);
    tkj_os_close(file.fd);
    return result;
}

/** What is removed meanwhile was never there. @return false if the collection is over */
static bool take(collector *to, const tkj_walk_entry *at)
{
    tkj_blob bytes;
    tkj_entry entry = {.target = NULL};
    const char *flaw = NULL;
    const int error = read_entry(to, at->name, &bytes) == 0 ? 0 : errno;
    if (error == ENOENT)
        return true;
    if (error != 0)
        tkj_entry_explain(error, &flaw);
    else
        flaw = check(at, &bytes, &entry);
    const bool wanted = flaw == NULL && is_wanted(to, &entry);
    if (wanted && add_item(to, at, bytes))
        return true;
    tkj_free(&tkj_default_allocator, bytes.bytes);
    return flaw != NULL ? add_flaw(to, at->name, flaw) : !wanted;
}

static const char *flaw_of(const tkj_walk_other *other)
{
    if (other->kind == TKJ_WALK_UNREADABLE)
        return "it cannot be looked into";
    return other->kind == TKJ_WALK_NO_FILE ? "it is not a regular file" : NULL;
}

static bool take_all(collector *to, const tkj_walk *walk)
{
    if (!walk->complete)
        return short_of_memory();
    for (size_t i = 0; i < walk->other_count; i++) {
        const char *flaw = flaw_of(&walk->others[i]);
        if (flaw != NULL && !add_flaw(to, walk->others[i].name, flaw))
            return false;
    }
    for (size_t i = 0; i < walk->entry_count; i++)
        if (!take(to, &walk->entries[i]))
            return false;
    return true;
}

/* ---- all of it ---- */

static int miss(const collector *to, const char *root, const char *spec, const char *target)
{
    warm_complain(
        "%s has no entry%s%s%s%s%s", root, spec != NULL ? " of spec " : "",
        spec != NULL ? spec : "", target != NULL ? " for " : "", target != NULL ? target : "",
        to->found->other_templates > 0 ? " of the library's templates; --all packs those of others"
                                       : "");
    return WARM_EXIT_NOT_THERE;
}

/** What is named is there, every spec for every target: a pack that lacks one would be found out by
 *  a server. */
static int expect_all(const collector *to, const char *root)
{
    const warm_pack_options *options = to->options;
    const size_t spec_count = options->spec_count > 0 ? options->spec_count : 1;
    const size_t target_count = options->target_count > 0 ? options->target_count : 1;
    for (size_t spec = 0; spec < spec_count; spec++)
        for (size_t target = 0; target < target_count; target++)
            if (!to->seen[spec][target])
                return miss(to, root, options->spec_count > 0 ? options->specs[spec] : NULL,
                            options->target_count > 0 ? options->targets[target] : NULL);
    return WARM_EXIT_DONE;
}

static int collect(collector *to, const char *root)
{
    tkj_walk walk;
    tkj_walk_all(&tkj_default_allocator, to->root_fd, &walk);
    int code = take_all(to, &walk) ? WARM_EXIT_DONE : WARM_EXIT_FAILED;
    tkj_walk_release(&tkj_default_allocator, &walk);
    if (code == WARM_EXIT_DONE && to->found->flaw_count > 0 && !to->options->keep_going) {
        warm_complain("%s: damaged entries: %zu; nothing was packed, --keep-going leaves them out",
                      root, to->found->flaw_count);
        code = WARM_EXIT_FAILED;
    }
    return code == WARM_EXIT_DONE ? expect_all(to, root) : code;
}

/** The templates that are wanted. */
static bool choose_templates(topk_jit_context *context, collector *to)
{
    const tkj_template_set *templates;
    to->templates[0] = '\0';
    if (to->options->all)
        return true;
    if (tkj_context_templates(context, &templates) != TOPK_JIT_OK) {
        warm_complain("%s", topk_jit_last_error()->message);
        return false;
    }
    tkj_digest_format(templates->digest, to->templates);
    return true;
}

int warm_pack_collect(topk_jit_context *context, const warm_pack_options *options,
                      warm_pack_found *out)
{
    *out = (warm_pack_found){.items = NULL};
    collector to = {
        .options = options, .trust = context->config.values.trust, .root_fd = -1, .found = out};
    const char *root = tkj_cache_root(context->cache);
    const char *why;
    if (root == NULL) {
        warm_complain("neither a cache directory nor a home is set");
        return WARM_EXIT_NOT_THERE;
    }
    to.root_fd = tkj_os_open_trusted_dir(root, to.trust, &why);
    if (to.root_fd < 0) {
        const int code = errno == ENOENT ? WARM_EXIT_NOT_THERE : WARM_EXIT_FAILED;
        warm_complain("the cache directory %s %s", root, why);
        return code;
    }
    const int code = choose_templates(context, &to) ? collect(&to, root) : WARM_EXIT_FAILED;
    close(to.root_fd);
    return code;
}

void warm_pack_release(warm_pack_found *found)
{
    for (size_t i = 0; i < found->count; i++)
        tkj_free(&tkj_default_allocator, found->items[i].bytes.bytes);
    for (size_t i = 0; i < found->flaw_count; i++)
        free(found->flaws[i].file);
    free(found->items);
    free(found->flaws);
}
