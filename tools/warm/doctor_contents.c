/* SPDX-License-Identifier: Apache-2.0 */
/* The directories within those of the cache: a root that is sound says nothing of them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "publish.h"
#include "unreadable.h"
#include "walk.h"

static void say_unreadable(warm_doctor *doctor, const char *path, const tkj_walk_other *other)
{
    warm_problem(doctor, "%s/%s is not used: %s", path, other->name, warm_unreadable_why(other));
    if (other->error == EPERM)
        warm_advise(doctor,
                    "remove it, for what is in it may be anybody's; or chown it to user "
                    "%lu and chmod go-w it",
                    (unsigned long)geteuid());
    else if (other->error == ENOTDIR)
        warm_advise(doctor, "remove it: the next store makes a directory in its place");
    else
        warm_advise(doctor, "make it readable for user %lu, or remove it",
                    (unsigned long)geteuid());
}

/** @return how many there are */
static size_t say_all(warm_doctor *doctor, const char *path, int fd)
{
    tkj_walk found;
    size_t count = 0;
    const topk_jit_allocator *allocator = &doctor->context->config.allocator;
    tkj_walk_all(allocator, fd, doctor->context->config.values.trust, &found);
    for (size_t i = 0; i < found.other_count; i++) {
        if (found.others[i].kind != TKJ_WALK_UNREADABLE)
            continue;
        say_unreadable(doctor, path, &found.others[i]);
        count++;
    }
    tkj_walk_release(allocator, &found);
    return count;
}

static int open_directory(const warm_doctor *doctor, const char *path)
{
    const char *why;
    return path != NULL ? tkj_os_open_trusted_dir(path, doctor->context->config.values.trust, &why)
                        : -1;
}

bool warm_doctor_look_into(warm_doctor *doctor, const char *path)
{
    const int fd = open_directory(doctor, path);
    if (fd < 0)
        return false;
    const size_t count = say_all(doctor, path, fd);
    close(fd);
    return count > 0;
}

/** Those that every store writes into. @return how many cannot be written */
static size_t say_unwritable(warm_doctor *doctor, const char *path, int fd)
{
    static const char *const names[] = {TKJ_LAYOUT_DIR, TKJ_PUBLISH_DIR};
    size_t count = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (faccessat(fd, names[i], W_OK | X_OK, AT_EACCESS) == 0 || errno == ENOENT)
            continue;
        warm_problem(doctor, "%s/%s cannot be written: %s", path, names[i], strerror(errno));
        warm_advise(doctor, "make it writable for user %lu", (unsigned long)geteuid());
        count++;
    }
    return count;
}

/* Nothing is said of one that cannot be opened or be written itself, which was. */
void warm_check_contents(warm_doctor *doctor)
{
    const char *root = tkj_cache_root(doctor->context->cache);
    const int fd = open_directory(doctor, root);
    if (fd < 0)
        return;
    size_t count = say_all(doctor, root, fd);
    if (count == 0 && warm_doctor_writes(doctor) &&
        faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0)
        count = say_unwritable(doctor, root, fd);
    close(fd);
    if (count == 0)
        warm_ok(doctor, "every directory in it can be used");
}
