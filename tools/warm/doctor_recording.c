/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what servers prepare can be written down. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"
#include "plan_record.h"

/** A file that is there, and opened as the library does. */
static void say_opened(warm_doctor *doctor, const char *path, int fd)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && status.st_uid != geteuid()) {
        warm_note(doctor, "%s: belongs to user %lu", path, (unsigned long)status.st_uid);
        warm_advise(doctor, "give each user a file of its own: in a directory as /tmp is, the "
                            "kernel refuses that of another");
        return;
    }
    warm_ok(doctor, "%s: each new spec is appended", path);
}

/** One that comes with the first spec, if its directory lets it. */
static void say_missing(warm_doctor *doctor, const char *path)
{
    char copy[PATH_MAX];
    if (strlen(path) >= sizeof copy) {
        warm_problem(doctor, "%s: %s", path, strerror(ENAMETOOLONG));
        return;
    }
    memcpy(copy, path, strlen(path) + 1);
    const char *directory = dirname(copy);
    if (faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0) {
        warm_ok(doctor, "%s: comes with the first spec", path);
        return;
    }
    warm_problem(doctor, "%s: cannot be created: %s: %s", path, directory, strerror(errno));
    warm_advise(doctor, "name a file in a directory that user %lu can write to",
                (unsigned long)geteuid());
}

static const char *reason(int error)
{
    if (error == ELOOP)
        return "it is a symbolic link";
    return error == EINVAL ? "it is no regular file" : strerror(error);
}

void warm_check_recording(warm_doctor *doctor)
{
    const char *path = doctor->context->config.record_file;
    if (path == NULL) {
        warm_ok(doctor, "none: specs are not written down");
        return;
    }
    const int fd = tkj_plan_record_open(path, 0);
    if (fd >= 0) {
        say_opened(doctor, path, fd);
        close(fd);
    } else if (errno == ENOENT) {
        say_missing(doctor, path);
    } else {
        warm_problem(doctor, "%s: cannot be written: %s", path, reason(errno));
        warm_advise(doctor, "name a regular file that user %lu can read and write",
                    (unsigned long)geteuid());
    }
}
