/* SPDX-License-Identifier: Apache-2.0 */
#include "load_calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is noted; whose code it was is found out later, when the loader is done ---- */

#define CALLS_MAX 4096

static struct {
    const char *name;
    const void *from;
} calls[CALLS_MAX];
static atomic_size_t count;

static void note(const char *name, const void *from)
{
    size_t at = atomic_fetch_add(&count, 1);
    if (at < CALLS_MAX) {
        calls[at].name = name;
        calls[at].from = from;
    }
}

size_t load_calls_from(const char *part)
{
    size_t found = 0;
    const size_t noted = atomic_load(&count);
    if (noted > CALLS_MAX)
        abort();
    for (size_t i = 0; i < noted; i++) {
        Dl_info info;
        if (dladdr(calls[i].from, &info) == 0 || strstr(info.dli_fname, part) == NULL)
            continue;
        if (found++ < 8)
            printf("%s calls %s\n", part, calls[i].name);
    }
    return found;
}

/* ---- the functions themselves ---- */

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

#define NOTED(type, name, parameters, arguments)                                                   \
    type name parameters                                                                           \
    {                                                                                              \
        note(#name, __builtin_return_address(0));                                                  \
        return NEXT(name) arguments;                                                               \
    }

/* Their last argument, of whatever type it is, is passed on as the widest one. */
#define NOTED_WITH_MORE(name, parameters, last, arguments)                                         \
    int name parameters                                                                            \
    {                                                                                              \
        va_list more;                                                                              \
        note(#name, __builtin_return_address(0));                                                  \
        va_start(more, last);                                                                      \
        long argument = va_arg(more, long);                                                        \
        va_end(more);                                                                              \
        return NEXT(name) arguments;                                                               \
    }

NOTED_WITH_MORE(open, (const char *path, int flags, ...), flags, (path, flags, argument))
NOTED_WITH_MORE(open64, (const char *path, int flags, ...), flags, (path, flags, argument))
NOTED_WITH_MORE(openat, (int fd, const char *path, int flags, ...), flags,
                (fd, path, flags, argument))
NOTED_WITH_MORE(openat64, (int fd, const char *path, int flags, ...), flags,
                (fd, path, flags, argument))
NOTED_WITH_MORE(fcntl, (int fd, int command, ...), command, (fd, command, argument))
NOTED_WITH_MORE(fcntl64, (int fd, int command, ...), command, (fd, command, argument))
NOTED(FILE *, fopen, (const char *path, const char *mode), (path, mode))
NOTED(FILE *, fopen64, (const char *path, const char *mode), (path, mode))
/* cppcheck 2.10 takes what __typeof__ gives for an integer. */
// cppcheck-suppress CastIntegerToAddressAtReturn
NOTED(DIR *, opendir, (const char *path), (path))
NOTED(int, stat, (const char *path, struct stat *status), (path, status))
NOTED(int, fstat, (int fd, struct stat *status), (fd, status))
NOTED(int, lstat, (const char *path, struct stat *status), (path, status))
NOTED(int, fstatat, (int fd, const char *path, struct stat *status, int flags),
      (fd, path, status, flags))
NOTED(int, access, (const char *path, int mode), (path, mode))
NOTED(ssize_t, readlink, (const char *path, char *text, size_t size), (path, text, size))
NOTED(char *, realpath, (const char *path, char *resolved), (path, resolved))
NOTED(int, mkdir, (const char *path, mode_t mode), (path, mode))
NOTED(void *, mmap, (void *at, size_t size, int rights, int flags, int fd, off_t offset),
      (at, size, rights, flags, fd, offset))
NOTED(int, madvise, (void *at, size_t size, int advice), (at, size, advice))
// cppcheck-suppress CastIntegerToAddressAtReturn
NOTED(char *, getenv, (const char *name), (name))
// cppcheck-suppress CastIntegerToAddressAtReturn
NOTED(char *, secure_getenv, (const char *name), (name))
NOTED(int, pthread_create,
      (pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *),
       void *argument),
      (thread, attributes, start, argument))
NOTED(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
NOTED(int, pthread_once, (pthread_once_t * once, void (*function)(void)), (once, function))
NOTED(void *, dlopen, (const char *path, int flags), (path, flags))
NOTED(int, sigaction, (int number, const struct sigaction *to, struct sigaction *from),
      (number, to, from))
NOTED(pid_t, fork, (void), ())

/* ---- what the loader runs ---- */

typedef struct search {
    const char *part;
    load_functions *out;
    int found;
} search;

static int look_at(struct dl_phdr_info *info, size_t size, void *user)
{
    search *it = user;
    (void)size;
    if (strstr(info->dlpi_name, it->part) == NULL)
        return 0;
    it->found++;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            const size_t listed = entry->d_un.d_val / sizeof(void *);
            it->out->before += entry->d_tag == DT_INIT;
            it->out->before += entry->d_tag == DT_INIT_ARRAYSZ ? listed : 0;
            it->out->before += entry->d_tag == DT_PREINIT_ARRAYSZ ? listed : 0;
            it->out->after += entry->d_tag == DT_FINI;
            it->out->after += entry->d_tag == DT_FINI_ARRAYSZ ? listed : 0;
        }
    }
    return 0;
}

load_functions load_functions_of(const char *part)
{
    load_functions functions = {0, 0};
    search it = {part, &functions, 0};
    dl_iterate_phdr(look_at, &it);
    if (it.found != 1)
        abort();
    return functions;
}
