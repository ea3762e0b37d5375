/* SPDX-License-Identifier: Apache-2.0 */
/** @file os.h @brief What the library needs of the operating system beyond libc: files, time,
 * threads. */
#ifndef TKJ_OS_H
#define TKJ_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

/** Bytes owned through an allocator; zero-initialised = empty. */
typedef struct tkj_blob {
    uint8_t *bytes;
    size_t size;
} tkj_blob;

/** Monotonic time in nanoseconds. */
uint64_t tkj_os_now_ns(void);

/** True if an absolute path. */
bool tkj_os_is_absolute(const char *path);

/**
 * Opens a directory that this user can trust, following no symlink in its last component: owned by
 * the user or root and writable by nobody else.
 * @param[out] why  what is wrong, a static string that follows the path in a message, such as "is
 *                  a symbolic link"; set on failure
 * @return a close-on-exec descriptor, or -1 with errno (EPERM = not to be trusted)
 */
int tkj_os_open_trusted_dir(const char *path, const char **why);

/**
 * Reads a whole regular file below a directory descriptor, without following a symlink in its last
 * component (errno ELOOP).
 * @param limit     a larger file is not read (errno EFBIG)
 * @param[out] out  owned by the caller; empty after a failure. One byte beyond out->size is
 *                  allocated and 0, so that a text file is a C string.
 * @return 0, or -1 with errno; EINVAL if it is no regular file, EPERM if it belongs to another user
 *         or others can write it, ENOMEM if the allocator failed
 */
int tkj_os_read_file(const topk_jit_allocator *allocator, int dir_fd, const char *name,
                     size_t limit, tkj_blob *out);

/** Closes a descriptor whose contents no longer matter; errno stays. */
void tkj_os_close(int fd);

/** Writes all bytes, resuming after EINTR and short writes. @return 0, or -1 with errno */
int tkj_os_write_all(int fd, const void *bytes, size_t size);

/** mkdir -p with mode 0700 for what it creates. @return 0, or -1 with errno */
int tkj_os_make_dirs(const char *path);

/**
 * Directory of the shared object (or executable) that holds this code, absolute, symlinks resolved.
 * @param[out] out  owned by the caller; NULL if it cannot be told
 * @return TOPK_JIT_OK, TOPK_JIT_OUT_OF_MEMORY
 */
topk_jit_status tkj_os_own_directory(const topk_jit_allocator *allocator, char **out);

/**
 * Runs a function to its end on a thread with its own stack, all signals blocked there.
 * @return 0, or the errno of thread creation
 */
int tkj_os_run_on_stack(size_t stack_size, void (*function)(void *argument), void *argument);

#endif /* TKJ_OS_H */
