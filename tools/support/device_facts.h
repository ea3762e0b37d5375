/* SPDX-License-Identifier: Apache-2.0 */
/** @file device_facts.h @brief Facts of GPUs that are not at hand, as their drivers tell them. */
#ifndef TKJ_DEVICE_FACTS_H
#define TKJ_DEVICE_FACTS_H

#include <stddef.h>

#include "device.h"

/** A GPU by its name on the command line. */
typedef struct tkj_named_facts {
    const char *name;
    tkj_device_facts facts;
} tkj_named_facts;

extern const tkj_named_facts tkj_known_devices[];
extern const size_t tkj_known_device_count;

/** @return borrowed; NULL if no device has this name */
const tkj_named_facts *tkj_known_device(const char *name);

#endif /* TKJ_DEVICE_FACTS_H */
