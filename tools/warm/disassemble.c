/* SPDX-License-Identifier: Apache-2.0 */
#include "disassemble.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "config.h"

#define PROGRAM "nvdisasm"

/* Far beyond any kernel's text, far below a machine's memory. */
#define TEXT_MAX ((size_t)1 << 30)

/* The cubin's descriptor in the child. */
#define CUBIN_FD 3

/* ---- finding it ---- */

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* @return true if it is in a directory, which is absolute: never in the working directory */
static bool is_in(const char *directory, size_t length, const char *below, char out[PATH_MAX])
{
    if (length == 0 || directory[0] != '/')
        return false;
    const int size = snprintf(out, PATH_MAX, "%.*s%s/" PROGRAM, (int)length, directory, below);
    return size < PATH_MAX && is_program(out);
}

static bool find_in_path(char out[PATH_MAX])
{
    const char *paths = tkj_config_environment("PATH");
    while (paths != NULL && *paths != '\0') {
        const size_t length = strcspn(paths, ":");
        if (is_in(paths, length, "", out))
            return true;
        paths += length;
        paths += *paths == ':';
    }
    return false;
}

static bool find_program(char out[PATH_MAX])
{
    static const char usual[] = "/usr/local/cuda";
    const char *home = tkj_config_environment("CUDA_HOME");
    return find_in_path(out) || (home != NULL && is_in(home, strlen(home), "/bin", out)) ||
           is_in(usual, strlen(usual), "/bin", out);
}

/* ---- running it ---- */

/* @return a descriptor, or -1 with errno */
static int hold_cubin(const uint8_t *cubin, size_t size)
{
    const int fd = memfd_create("cubin", MFD_CLOEXEC);
    if (fd >= 0 && tkj_os_write_all(fd, cubin, size) != 0) {
        tkj_os_close(fd);
        return -1;
    }
    return fd;
}

/* dup2 onto another number is what makes a descriptor stay open in the child: the two that are
   kept are out of each other's way. */
static int raise_fd(int fd)
{
    const int raised = fcntl(fd, F_DUPFD_CLOEXEC, CUBIN_FD + 1);
    tkj_os_close(fd);
    return raised;
}

static int spawn(const char *program, int cubin_fd, int text_fd, pid_t *child)
{
    char name[] = PROGRAM, code[] = "--print-code", path[] = "/proc/self/fd/3";
    char *arguments[] = {name, code, path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE); /* this process ignores it, which a child would inherit */
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, text_fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, cubin_fd, CUBIN_FD);
    const int error = posix_spawn(child, program, &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

static int read_some(int fd, void *bytes, size_t size)
{
    ssize_t count;
    do
        count = read(fd, bytes, size);
    while (count < 0 && errno == EINTR);
    return (int)count;
}

/* All that is written to a pipe. @return false without memory, or beyond any text */
static bool read_all(int fd, tkj_blob *out)
{
    char buffer[1 << 16];
    char *text = NULL;
    size_t size = 0;
    int count = 0;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL)
        return false;
    size_t total = 0;
    while (total < TEXT_MAX && (count = read_some(fd, buffer, sizeof buffer)) > 0) {
        (void)fwrite(buffer, 1, (size_t)count, to); /* ferror tells */
        total += (size_t)count;
    }
    const bool ok = count == 0 && !ferror(to);
    if (fclose(to) == 0 && ok) {
        *out = (tkj_blob){(uint8_t *)text, size};
        return true;
    }
    free(text);
    return false;
}

/* @return an exit status */
static int await(const char *program, pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return WARM_EXIT_FAILED;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return WARM_EXIT_DONE;
    if (WIFSIGNALED(status))
        warm_complain("%s ended by signal %d", program, WTERMSIG(status));
    else
        warm_complain("%s failed with exit status %d", program, WEXITSTATUS(status));
    return WARM_EXIT_FAILED;
}

static int run_program(const char *program, int cubin_fd, int text_fds[2], tkj_blob *out)
{
    pid_t child;
    const int error = spawn(program, cubin_fd, text_fds[1], &child);
    close(text_fds[1]);
    text_fds[1] = -1;
    if (error != 0) {
        warm_complain("%s: %s", program, strerror(error));
        return WARM_EXIT_FAILED;
    }
    const bool read = read_all(text_fds[0], out);
    close(text_fds[0]); /* who still writes is told by a signal */
    text_fds[0] = -1;
    const int code = await(program, child);
    if (code == WARM_EXIT_DONE && !read)
        warm_complain("what %s says cannot be read: there is no memory for it", program);
    return read ? code : WARM_EXIT_FAILED;
}

int warm_disassemble(const uint8_t *cubin, size_t size, tkj_blob *out)
{
    char program[PATH_MAX];
    int fds[2] = {-1, -1};
    *out = (tkj_blob){NULL, 0};
    if (!find_program(program)) {
        warm_complain(PROGRAM " is not there: neither in PATH nor below CUDA_HOME or "
                              "/usr/local/cuda; the CUDA toolkit has it");
        return WARM_EXIT_NOT_THERE;
    }
    int code = WARM_EXIT_FAILED;
    int cubin_fd = hold_cubin(cubin, size);
    cubin_fd = cubin_fd >= 0 ? raise_fd(cubin_fd) : -1;
    if (cubin_fd < 0 || pipe2(fds, O_CLOEXEC) != 0 || (fds[1] = raise_fd(fds[1])) < 0)
        warm_complain(PROGRAM " cannot be started: %s", strerror(errno));
    else
        code = run_program(program, cubin_fd, fds, out);
    for (size_t i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (cubin_fd >= 0)
        close(cubin_fd);
    if (code != WARM_EXIT_DONE) {
        free(out->bytes);
        *out = (tkj_blob){NULL, 0};
    }
    return code;
}
