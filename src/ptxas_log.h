/* SPDX-License-Identifier: Apache-2.0 */
/** @file ptxas_log.h @brief Reads what ptxas -v says of a kernel's resources. Pure. */
#ifndef TKJ_PTXAS_LOG_H
#define TKJ_PTXAS_LOG_H

#include <stdbool.h>
#include <stdint.h>

/** Resources of one kernel, in registers and bytes. */
typedef struct tkj_ptxas_usage {
    uint32_t registers;
    uint32_t static_shared;
    uint32_t stack;       /* the entry's frame, or with its callees' where ptxas adds them up */
    uint32_t spill;       /* spill stores + spill loads of the entry function */
    uint32_t other_spill; /* the same, summed over all other functions */
} tkj_ptxas_usage;

/** @return false if the log does not speak of the entry; *out is then zero */
bool tkj_ptxas_log_parse(const char *log, const char *entry, tkj_ptxas_usage *out);

#endif /* TKJ_PTXAS_LOG_H */
