/* SPDX-License-Identifier: Apache-2.0 */
/** @file os.h @brief What the library needs of the operating system beyond libc: files, time,
 * threads. */
#ifndef TKJ_OS_H
#define TKJ_OS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <topk_jit/topk_jit.h>

_Static_assert(sizeof(off_t) == 8, "a pack may have 4 GiB: _FILE_OFFSET_BITS=64 is needed");

/** Bytes owned through an allocator; zero-initialised = empty. */
typedef struct tkj_blob {
    uint8_t *bytes;
    size_t size;
} tkj_blob;

/** Monotonic time in nanoseconds. */
uint64_t tkj_os_now_ns(void);

/** True if two times are further apart than so many seconds, whichever is the later. */
bool tkj_os_is_far(time_t a, time_t b, time_t seconds);

/** Sleeps so long, or less. */
void tkj_os_sleep_ns(uint64_t nanoseconds);

/** True if an absolute path. */
bool tkj_os_is_absolute(const char *path);

/** Who may have written what is read, and may read what is written. */
typedef enum tkj_trust {
    TKJ_TRUST_OWNER, /* this user; what is read may be root's, too */
    TKJ_TRUST_GROUP, /* members of the file's group, if this process is one, too */
} tkj_trust;

/** Modes of what is created: 0700 and 0600, or with the group's rights. */
mode_t tkj_os_dir_mode(tkj_trust trust);
mode_t tkj_os_file_mode(tkj_trust trust);

/**
 * Opens a directory that can be trusted, following no symlink in its last component: owned and
 * writable by nobody else than `trust` says.
 * @param[out] why  what is wrong, a static string that follows the path in a message, such as "is
 *                  a symbolic link"; set on failure
 * @return a close-on-exec descriptor, or -1 with errno (EPERM = not to be trusted)
 */
int tkj_os_open_trusted_dir(const char *path, tkj_trust trust, const char **why);

/** A regular file that is open for reading. */
typedef struct tkj_file {
    int fd; /* closed by the owner */
    size_t size;
    time_t modified;
    dev_t device; /* with the inode and the two above: which file it is, and which state of it */
    ino_t inode;
} tkj_file;

/** Opens a directory in another one, following no symlink. @return a descriptor, or -1 with errno
 *  (ENOTDIR, ELOOP: a symlink; EPERM: not to be trusted) */
int tkj_os_enter_dir(int dir_fd, const char *name, tkj_trust trust);

/** Opens what is below a directory, following no symlink on the way, and through no directory that
 *  is not to be trusted: whoever may write there cannot lead elsewhere. @return as
 *  tkj_os_enter_dir */
int tkj_os_open_below(int dir_fd, const char *path, tkj_trust trust, int flags);

/**
 * Opens a file below a directory descriptor, as tkj_os_open_below does.
 * @param dir_fd    AT_FDCWD: name is a path, of which the last component alone must be no symlink
 * @param limit     a larger file is refused (errno EFBIG)
 * @param[out] out  fd is -1 after a failure to open, so that an EPERM of a directory on the way is
 *                  told from the file's own
 * @return 0, or -1 with errno; EINVAL if it is no regular file, EPERM if others than `trust` says
 *         own it or can write it
 */
int tkj_os_open_file(int dir_fd, const char *name, tkj_trust trust, size_t limit, tkj_file *out);

/**
 * Reads a part of a file, less if the file ends before it does.
 * @param[out] out  owned by the caller; empty after a failure. One byte beyond out->size is
 *                  allocated and 0, so that a text file is a C string.
 * @return 0, or -1 with errno; ENOMEM if the allocator failed
 */
int tkj_os_read(const topk_jit_allocator *allocator, const tkj_file *file, uint64_t offset,
                size_t size, tkj_blob *out);

/** Opens, reads and closes a whole file that this user or root wrote. Errors as above. */
int tkj_os_read_file(const topk_jit_allocator *allocator, int dir_fd, const char *name,
                     size_t limit, tkj_blob *out);

/** Closes a descriptor whose contents no longer matter; errno stays. */
void tkj_os_close(int fd);

/** Writes all bytes to the end of a file, resuming after EINTR and short writes. @return 0, or -1
 *  with errno; EFBIG, and nothing written, beyond RLIMIT_FSIZE, of which a write is a signal */
int tkj_os_write_all(int fd, const void *bytes, size_t size);

/** Creates one directory below a descriptor, with the mode that `trust` says whatever the umask is.
 *  @return 0, or -1 with errno */
int tkj_os_make_dir(int dir_fd, const char *name, tkj_trust trust);

/** mkdir -p; what `trust` says is for the last directory, those above it are this user's alone.
 *  @return 0, or -1 with errno */
int tkj_os_make_dirs(const char *path, tkj_trust trust);

/** Whether tkj_os_make_dirs could make a directory that does not exist: what exists of its path is
 *  a directory that may be written. */
bool tkj_os_can_make_dirs(const char *path);

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

/**
 * Starts a thread with its own stack, all signals blocked there.
 * @param[out] thread  joined by the caller
 * @return 0, or the errno of thread creation
 */
int tkj_os_start_thread(size_t stack_size, void (*function)(void *argument), void *argument,
                        pthread_t *thread);

/** A byte that is 1 here and 0 in every child that fork makes of this process. */
typedef _Atomic(uint8_t) tkj_fork_mark;

/** @return owned by the caller; NULL if the system offers none */
tkj_fork_mark *tkj_os_fork_mark_create(void);

/** NULL is ignored. */
void tkj_os_fork_mark_destroy(tkj_fork_mark *mark);

/** How many threads are inside a foreign library that locks, and in which process: its id above,
 *  their count below. Zero-initialised = none. A child that was forked while one was inside has the
 *  library's locks and not the thread that would release them. */
typedef _Atomic(uint64_t) tkj_fork_guard;

/** @return false in such a child and in its children: whoever goes in there waits for ever. Else
 *  true, and tkj_os_fork_guard_leave follows. */
bool tkj_os_fork_guard_enter(tkj_fork_guard *guard);
void tkj_os_fork_guard_leave(tkj_fork_guard *guard);

#endif /* TKJ_OS_H */
