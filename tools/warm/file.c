/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "complain.h"

static bool refuse(const warm_file *file, const char *why)
{
    warm_complain("%s: %s", file->path, why);
    return false;
}

bool warm_file_open(const char *path, warm_file *out)
{
    *out = (warm_file){.path = path, .fd = -1};
    do
        out->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    while (out->fd < 0 && errno == EINTR);
    struct stat status;
    out->absent = out->fd < 0 && errno == ENOENT;
    if (out->fd < 0 || fstat(out->fd, &status) != 0)
        return refuse(out, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return refuse(out, "it is no regular file");
    out->size = (uint64_t)status.st_size;
    return true;
}

bool warm_file_read(warm_file *file, uint64_t size)
{
    free(file->bytes);
    file->bytes =
        size < SIZE_MAX ? malloc((size_t)size + 1) : NULL; /* one more: none is no error */
    if (file->bytes == NULL)
        return refuse(file, "there is no memory for it");
    for (uint64_t done = 0; done < size;) {
        const ssize_t count =
            pread(file->fd, file->bytes + done, (size_t)(size - done), (off_t)done);
        if (count < 0 && errno != EINTR)
            return refuse(file, strerror(errno));
        if (count == 0)
            return refuse(file, "it was cut while it was read");
        if (count > 0)
            done += (uint64_t)count;
    }
    return true;
}

void warm_file_close(warm_file *file)
{
    free(file->bytes);
    if (file->fd >= 0)
        close(file->fd);
}
