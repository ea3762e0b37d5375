/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "ending_signals.h"

bool warm_watch_begin(warm_watch *watch)
{
    sigset_t set = warm_ending_signals();
    sigaddset(&set, SIGWINCH);
    watch->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    watch->ended = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    if (watch->signals >= 0 && watch->ended >= 0)
        return pthread_sigmask(SIG_BLOCK, &set, &watch->before) == 0;
    if (watch->signals >= 0)
        close(watch->signals);
    if (watch->ended >= 0)
        close(watch->ended);
    return false;
}

void warm_watch_tell(warm_watch *watch)
{
    (void)eventfd_write(watch->ended, 1); /* cannot fail below 2^64 builders */
}

static int take_signal(const warm_watch *watch)
{
    struct signalfd_siginfo info;
    return read(watch->signals, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo
                                                                            : WARM_WATCH_TIME;
}

int warm_watch_wait(warm_watch *watch, int milliseconds)
{
    struct pollfd at[] = {{.fd = watch->signals, .events = POLLIN},
                          {.fd = watch->ended, .events = POLLIN}};
    eventfd_t one;
    if (poll(at, 2, milliseconds) <= 0)
        return WARM_WATCH_TIME;
    if (at[0].revents != 0)
        return take_signal(watch);
    return eventfd_read(watch->ended, &one) == 0 ? WARM_WATCH_ENDED : WARM_WATCH_TIME;
}

void warm_watch_end(warm_watch *watch)
{
    close(watch->signals);
    close(watch->ended);
    pthread_sigmask(SIG_SETMASK, &watch->before, NULL);
}
