/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "parse_number.h"

#define USUAL 80

size_t warm_terminal_columns(int fd)
{
    const char *said = getenv("COLUMNS");
    struct winsize size;
    int64_t columns;
    if (isatty(fd) != 1)
        return SIZE_MAX;
    if (said != NULL && tkj_parse_number(said, 1, UINT16_MAX, &columns))
        return (size_t)columns;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : USUAL;
}
