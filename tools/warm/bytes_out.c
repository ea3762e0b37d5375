/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "new_file.h"
#include "os.h"
#include "out.h"

/* Whether nothing in it can steer a terminal: printable ASCII, tabs and ends of lines. */
static bool are_text(const void *bytes, size_t size)
{
    const char *text = bytes;
    for (size_t i = 0; i < size; i++)
        if ((text[i] < ' ' || text[i] > '~') && text[i] != '\n' && text[i] != '\t')
            return false;
    return true;
}

static int write_stdout(const void *bytes, size_t size)
{
    return warm_out_end(fwrite(bytes, 1, size, stdout) == size);
}

static int fail(const char *path)
{
    warm_complain("%s: %s", path, strerror(errno));
    return WARM_EXIT_FAILED;
}

/* A device or a pipe: written to as it is. */
static int write_through(const char *path, const void *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fail(path);
    const bool written = tkj_os_write_all(fd, bytes, size) == 0;
    if (!written)
        tkj_os_close(fd);
    return written && close(fd) == 0 ? WARM_EXIT_DONE : fail(path);
}

/* Whole or not at all: what stood there is whole as long as the new one is not. */
static int replace(const char *path, const void *bytes, size_t size)
{
    warm_new_file file;
    const bool written = warm_new_file_open(path, true, &file) &&
                         warm_new_file_write(&file, bytes, size) && warm_new_file_finish(&file);
    warm_new_file_abandon(&file);
    return written ? WARM_EXIT_DONE : WARM_EXIT_FAILED;
}

/* The link stays, and the file that it leads to is replaced. */
static int replace_behind_link(const char *path, const void *bytes, size_t size)
{
    char *real = realpath(path, NULL);
    const int code = real != NULL ? replace(real, bytes, size) : fail(path);
    free(real);
    return code;
}

static int write_file(const char *path, const void *bytes, size_t size)
{
    struct stat itself, behind;
    if (lstat(path, &itself) != 0)
        return replace(path, bytes, size);
    if (stat(path, &behind) != 0) /* of a link that leads nowhere */
        return fail(path);
    if (!S_ISREG(behind.st_mode))
        return write_through(path, bytes, size);
    return S_ISLNK(itself.st_mode) ? replace_behind_link(path, bytes, size)
                                   : replace(path, bytes, size);
}

int warm_bytes_write(const char *path, const void *bytes, size_t size)
{
    if (path != NULL && strcmp(path, "-") != 0)
        return write_file(path, bytes, size);
    if (path == NULL && isatty(STDOUT_FILENO) == 1 && !are_text(bytes, size)) {
        warm_complain("what a terminal cannot show is not written to one (expected: -o FILE, or "
                      "-o - to have it all the same)");
        return WARM_EXIT_USAGE;
    }
    return write_stdout(bytes, size);
}
