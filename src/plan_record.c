/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "spec.h"

/* Many thousand specs; what lies beyond is not looked at, so that a line may be there twice. */
#define RECORD_SIZE_MAX ((size_t)4 << 20)

/* Another process's write takes microseconds; a line twice is better than a long wait. */
#define LOCK_ATTEMPTS 50
#define LOCK_PAUSE_NS UINT64_C(1000000)

int tkj_plan_record_open(const char *path, int more)
{
    struct stat status;
    int fd = open(path, O_RDWR | more | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

/** Closing the file unlocks it. */
static void lock_record(int fd)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (int i = 0; i < LOCK_ATTEMPTS && fcntl(fd, F_OFD_SETLK, &all) != 0 && errno == EAGAIN; i++)
        tkj_os_sleep_ns(LOCK_PAUSE_NS);
}

static bool has_line(const tkj_blob *record, const char *line)
{
    const char *text = (const char *)record->bytes;
    size_t length = strlen(line);
    for (const char *at = strstr(text, line); at != NULL; at = strstr(at + 1, line))
        if ((at == text || at[-1] == '\n') && (at[length] == '\n' || at[length] == '\0'))
            return true;
    return false;
}

/** @return 0, or -1 with errno */
static int append_line(const topk_jit_allocator *allocator, int fd, const char *line)
{
    tkj_blob record;
    const tkj_file file = {.fd = fd};
    char text[TKJ_SPEC_TEXT_SIZE + 2];
    lock_record(fd);
    if (tkj_os_read(allocator, &file, 0, RECORD_SIZE_MAX, &record) != 0)
        return -1;
    const bool torn = record.size > 0 && record.bytes[record.size - 1] != '\n';
    const bool there = has_line(&record, line);
    tkj_free(allocator, record.bytes);
    if (there)
        return 0;
    snprintf(text, sizeof text, "%s%s\n", torn ? "\n" : "", line);
    return tkj_os_write_all(fd, text, strlen(text));
}

void tkj_plan_record(topk_jit_context *context, const topk_jit_spec *spec)
{
    const tkj_config *config = &context->config;
    char line[TKJ_SPEC_TEXT_SIZE];
    if (config->record_file == NULL)
        return;
    tkj_spec_format(spec, line);
    int fd = tkj_plan_record_open(config->record_file, O_CREAT);
    int result = fd >= 0 ? append_line(&config->allocator, fd, line) : -1;
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (result != 0 && !atomic_exchange(&context->record_failed, true))
        tkj_log(&config->logger, TOPK_JIT_LOG_WARNING, "the record %s cannot be written: %s",
                config->record_file, strerror(error));
}
