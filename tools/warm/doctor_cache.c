/* SPDX-License-Identifier: Apache-2.0 */
/* The directories of the cache: which they are, whether the library uses them, what is there. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"
#include "evict.h"
#include "out_human.h"
#include "plan_build.h"
#include "publish.h"

static const char *root_of(const warm_doctor *doctor)
{
    return tkj_cache_root(doctor->context->cache);
}

void warm_check_mode(warm_doctor *doctor)
{
    switch (doctor->context->config.values.mode) {
    case TOPK_JIT_MODE_READONLY:
        warm_ok(doctor, "readonly: reads, compiles what is missing, writes nothing");
        return;
    case TOPK_JIT_MODE_OFFLINE:
        warm_ok(doctor, "offline: reads; what is missing is an error");
        return;
    case TOPK_JIT_MODE_OFF:
        warm_note(doctor, "off: reads and writes nothing, every start compiles everything");
        return;
    default:
        warm_ok(doctor, "auto: reads, compiles what is missing, writes it");
        return;
    }
}

/* ---- the user's directory ---- */

/** Opens it as the library does, if there is one. @return -1 with errno */
static int open_root(const warm_doctor *doctor, const char **why)
{
    if (root_of(doctor) != NULL)
        return tkj_os_open_trusted_dir(root_of(doctor), doctor->context->config.values.trust, why);
    errno = ENOENT;
    return -1;
}

static void say_missing(warm_doctor *doctor)
{
    const char *root = root_of(doctor);
    const char *rule = doctor->context->root_rule;
    if (!warm_doctor_writes(doctor))
        warm_note(doctor, "%s, by %s: does not exist", root, rule);
    else if (tkj_os_can_make_dirs(root))
        warm_ok(doctor, "%s, by %s: does not exist, comes with the first kernel", root, rule);
    else {
        warm_problem(doctor, "%s, by %s: does not exist and cannot be created", root, rule);
        warm_advise(doctor, "create it for user %lu, or set TOPK_JIT_CACHE_DIR to another one",
                    (unsigned long)geteuid());
    }
}

/** What makes a directory one to trust. */
static void advise_trust(warm_doctor *doctor, const struct stat *status)
{
    if (S_ISLNK(status->st_mode))
        warm_advise(doctor, "set TOPK_JIT_CACHE_DIR to where the link leads");
    else if (status->st_uid != geteuid() && status->st_uid != 0)
        warm_advise(doctor,
                    "chown it to user %lu; or, to share it among a group of this user, set "
                    "TOPK_JIT_SHARED=1",
                    (unsigned long)geteuid());
    else
        warm_advise(doctor, "chmod go-w it; or, to share it among a group of this user, set "
                            "TOPK_JIT_SHARED=1 and chmod o-w it");
}

static void say_unusable(warm_doctor *doctor, int error, const char *why)
{
    struct stat status;
    const char *root = root_of(doctor);
    if (error != EPERM || lstat(root, &status) != 0) {
        warm_problem(doctor, "%s, by %s: %s: %s", root, doctor->context->root_rule, why,
                     strerror(error));
        warm_advise(doctor, "put a directory of user %lu there, or set TOPK_JIT_CACHE_DIR",
                    (unsigned long)geteuid());
        return;
    }
    warm_problem(doctor, "%s, by %s: is not used, for it %s (user %lu, mode %04o)", root,
                 doctor->context->root_rule, why, (unsigned long)status.st_uid,
                 (unsigned)status.st_mode & 07777);
    advise_trust(doctor, &status);
}

static void say_opened(warm_doctor *doctor, int fd)
{
    struct stat status;
    const char *root = root_of(doctor);
    const char *rule = doctor->context->root_rule;
    if (fstat(fd, &status) != 0) {
        warm_problem(doctor, "%s, by %s: %s", root, rule, strerror(errno));
        return;
    }
    if (!warm_doctor_writes(doctor) || faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0) {
        warm_ok(doctor, "%s, by %s: user %lu, mode %04o", root, rule, (unsigned long)status.st_uid,
                (unsigned)status.st_mode & 07777);
        return;
    }
    warm_problem(doctor, "%s, by %s: cannot be written: %s", root, rule, strerror(errno));
    warm_advise(doctor,
                "make it writable for user %lu, or set TOPK_JIT_MODE=readonly if it is "
                "not to be written",
                (unsigned long)geteuid());
}

void warm_check_root(warm_doctor *doctor)
{
    const char *why = "";
    if (root_of(doctor) == NULL) {
        warm_note(doctor,
                  "there is none, and no home: every start compiles what no other layer has");
        warm_advise(doctor, "set TOPK_JIT_CACHE_DIR to an absolute path");
        return;
    }
    const int fd = open_root(doctor, &why);
    if (fd >= 0)
        say_opened(doctor, fd);
    else if (errno == ENOENT)
        say_missing(doctor);
    else
        say_unusable(doctor, errno, why);
    if (fd >= 0)
        close(fd);
}

/* ---- what is in it: nothing is said of one that cannot be opened, which was ---- */

void warm_check_size(warm_doctor *doctor)
{
    const char *why;
    const uint64_t most = doctor->context->config.values.cache_max_bytes;
    const int fd = open_root(doctor, &why);
    if (fd < 0)
        return;
    const tkj_eviction counted =
        tkj_evict(&doctor->context->config.allocator, fd, doctor->context->config.values.trust,
                  UINT64_MAX, UINT64_MAX, ""); /* beyond no size: it only counts */
    close(fd);
    char used[WARM_HUMAN_SIZE], limit[WARM_HUMAN_SIZE];
    warm_human_bytes(counted.left_bytes, used);
    warm_human_bytes(most, limit);
    const char *so_far = counted.complete ? "" : "at least ";
    if (counted.left_bytes > most) {
        warm_note(doctor, "%s%s of entries, of %s allowed: the next store removes the oldest",
                  so_far, used, limit);
        warm_advise(doctor, "raise TOPK_JIT_CACHE_MAX_BYTES if all of them are in use");
    } else if (most == UINT64_MAX) {
        warm_ok(doctor, "%s%s of entries, without a limit", so_far, used);
    } else {
        warm_ok(doctor, "%s%s of entries, of %s allowed", so_far, used, limit);
    }
}

void warm_check_tag(warm_doctor *doctor)
{
    const char *why;
    struct stat status;
    const int fd = open_root(doctor, &why);
    if (fd < 0)
        return;
    if (fstatat(fd, TKJ_PUBLISH_TAG, &status, AT_SYMLINK_NOFOLLOW) == 0)
        warm_ok(doctor, TKJ_PUBLISH_TAG " is there: backups skip the directory");
    else
        warm_note(doctor, "there is no " TKJ_PUBLISH_TAG ": backups take the directory until the "
                          "next store");
    close(fd);
}

void warm_check_leavings(warm_doctor *doctor)
{
    const char *why;
    const int fd = open_root(doctor, &why);
    if (fd < 0)
        return;
    const size_t count = tkj_publish_count_stale(fd, doctor->context->config.values.trust);
    close(fd);
    if (count == 0)
        warm_ok(doctor, "none of processes that died more than an hour ago");
    else
        warm_note(doctor,
                  "%zu files in " TKJ_PUBLISH_DIR " of processes that died: the next store "
                  "removes them",
                  count);
}

/* ---- other layers ---- */

/** Asks a layer for a kernel that nobody has: whether it can be used is all there is to hear. */
static bool ask(warm_doctor *doctor, size_t layer, tkj_cache_answer *out)
{
    const tkj_cache_query nothing = {
        .major = TKJ_OLDEST_MAJOR, .preimage = "", .target = "", .kind = TKJ_PAYLOAD_CUBIN};
    return tkj_cache_ask(doctor->context->cache, &nothing, layer, out);
}

static void say_layer(warm_doctor *doctor, const tkj_cache_answer *answer)
{
    const bool is_pack = answer->kind == TKJ_LAYER_PACK;
    if (!is_pack && warm_doctor_look_into(doctor, answer->path))
        return;
    if (answer->outcome == TKJ_CACHE_ABSENT) {
        warm_ok(doctor, "%s: %s", answer->path, is_pack ? "a pack" : "a directory");
        return;
    }
    warm_problem(doctor, "%s is not used: %s", answer->path, answer->note.why);
    warm_advise(doctor, is_pack ? "make it anew, or take it out of TOPK_JIT_RO_DIRS"
                                : "correct it, or take it out of TOPK_JIT_RO_DIRS");
}

void warm_check_layers(warm_doctor *doctor)
{
    tkj_cache_answer answer;
    size_t count = 0;
    for (size_t layer = 1; ask(doctor, layer, &answer); layer++) {
        if (answer.kind != TKJ_LAYER_USER) {
            say_layer(doctor, &answer);
            count++;
        }
        tkj_cache_answer_release(doctor->context->cache, &answer);
    }
    if (count == 0)
        warm_ok(doctor, "no packs and no directories are set");
}
