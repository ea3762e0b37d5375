/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dlpack_exchange.h
 * @brief What DLPack has beyond the dlpack.h 0.6 of Debian 12, laid out as in dmlc/dlpack 1.3.
 *
 * A tensor type may carry the attribute __dlpack_c_exchange_api__: a capsule named
 * "dlpack_exchange_api" with a table of functions that lives as long as the process. It replaces
 * __dlpack__() and the query of the current stream by C calls; torch has it from 2.10 on.
 */
#ifndef TKP_DLPACK_EXCHANGE_H
#define TKP_DLPACK_EXCHANGE_H

#include <dlpack/dlpack.h>
#include <stdint.h>

enum { TKP_DLPACK_MAJOR = 1 }; /* of the layouts below; minors only add at the end */

#define TKP_DLPACK_READ_ONLY UINT64_C(1) /* in tkp_managed_tensor.flags */

typedef struct tkp_dlpack_version {
    uint32_t major;
    uint32_t minor;
} tkp_dlpack_version;

/** DLManagedTensorVersioned. All before `tensor` has the same layout in every version. */
typedef struct tkp_managed_tensor {
    tkp_dlpack_version version;
    void *manager;
    void (*deleter)(struct tkp_managed_tensor *self); /* may be NULL */
    uint64_t flags;
    DLTensor tensor;
} tkp_managed_tensor;

typedef void (*tkp_set_error)(void *user, const char *kind, const char *message);

typedef struct tkp_exchange {
    tkp_dlpack_version version;
    const struct tkp_exchange *previous; /* the same for an older major, or NULL */
    int (*allocate)(DLTensor *prototype, tkp_managed_tensor **out, void *user, tkp_set_error fail);
    int (*export_managed)(void *object, tkp_managed_tensor **out);
    int (*import_managed)(tkp_managed_tensor *stolen, void **object);
    int (*export_borrowed)(void *object, DLTensor *out); /* may be NULL */
    int (*current_stream)(DLDeviceType type, int32_t device, void **stream);
} tkp_exchange;

#endif
