/* SPDX-License-Identifier: Apache-2.0 */
/** @file pack_expect.h @brief Is in a pack all that a server needs of what is in it? */
#ifndef TKJ_WARM_PACK_EXPECT_H
#define TKJ_WARM_PACK_EXPECT_H

#include "pack_collect.h"

/**
 * Checks that each spec that is named is there for each target that is named, and of every spec
 * that is there every kernel: a server would find out late that a pack lacks one. Of entries that
 * were damaged it was said already that they are not there. What other templates would need, nobody
 * knows.
 * @param root       the cache's directory, for complaints
 * @param templates  digest of the library's; NULL = not known: kernels are not counted
 * @return WARM_EXIT_DONE; WARM_EXIT_NOT_THERE after one line on stderr for each that is missing;
 *         WARM_EXIT_FAILED without memory
 */
int warm_pack_expect(const warm_pack_found *found, const warm_pack_options *options,
                     const char *root, const uint8_t *templates);

#endif /* TKJ_WARM_PACK_EXPECT_H */
