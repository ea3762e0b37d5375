/* SPDX-License-Identifier: Apache-2.0 */
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"

void warm_out_begin(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        /* read-only also in stdout's place: what is written there was not written anywhere */
        const int filled = open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
        if (filled != fd)
            _exit(WARM_EXIT_FAILED); /* nothing is known to be safe, and nobody to tell */
    }
    signal(SIGPIPE, SIG_IGN);
}

/** Asked of the descriptor: the error of a write that failed early is no longer in errno. */
static bool reader_went_away(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

int warm_out_end(bool printed)
{
    const bool flushed = fflush(stdout) == 0;
    if (flushed && printed && !ferror(stdout))
        return WARM_EXIT_DONE;
    if (!reader_went_away())
        warm_complain("the result could not be written to stdout");
    return WARM_EXIT_FAILED;
}

static void write_character(FILE *to, char character)
{
    if (character == '\\')
        fputs("\\\\", to);
    else if (character >= ' ' && character <= '~')
        putc(character, to);
    else
        fprintf(to, "\\x%02x", (unsigned char)character);
}

void warm_out_text(FILE *to, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        write_character(to, text[i]);
}

void warm_out_lines(FILE *to, const char *indent, const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        fputs(indent, to);
        warm_out_text(to, text, length);
        putc('\n', to);
        text += length;
        text += *text == '\n';
    }
}
