/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "os.h"
#include "out.h"

bool warm_bytes_are_text(const void *bytes, size_t size)
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

/* Devices and pipes are written to as they are; of a file, no half is left. */
static int write_file(const char *path, const void *bytes, size_t size)
{
    struct stat status;
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return fail(path);
    const bool file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    const bool written = tkj_os_write_all(fd, bytes, size) == 0;
    if (!written)
        tkj_os_close(fd);
    if (written && close(fd) == 0)
        return WARM_EXIT_DONE;
    const int code = fail(path);
    if (file)
        unlink(path);
    return code;
}

int warm_bytes_write(const char *path, const void *bytes, size_t size)
{
    if (path != NULL && strcmp(path, "-") != 0)
        return write_file(path, bytes, size);
    if (path == NULL && isatty(STDOUT_FILENO) == 1 && !warm_bytes_are_text(bytes, size)) {
        warm_complain("what a terminal cannot show is not written to one (expected: -o FILE, or "
                      "-o - to have it all the same)");
        return WARM_EXIT_USAGE;
    }
    return write_stdout(bytes, size);
}
