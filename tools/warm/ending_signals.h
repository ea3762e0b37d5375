/* SPDX-License-Identifier: Apache-2.0 */
/** @file ending_signals.h @brief The signals by which a person or a system asks a command to end.
 */
#ifndef TKJ_WARM_ENDING_SIGNALS_H
#define TKJ_WARM_ENDING_SIGNALS_H

#include <signal.h>

/** SIGINT, SIGTERM, SIGHUP, without those that are ignored, as nohup has it: blocked, such a signal
 *  would arrive all the same. */
sigset_t warm_ending_signals(void);

#endif /* TKJ_WARM_ENDING_SIGNALS_H */
