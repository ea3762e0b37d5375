/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file topk_jit.h
 * @brief Exact top-k selection for sparse attention, compiled for the GPU at hand.
 *
 * Purpose
 * =======
 * Sparse-attention models score every cached token for every query and keep the best k of them.
 * This library computes that selection, exactly, for any k, any row length and any data, and writes
 * it in the form the attention kernel reads: positions, slots of a paged KV cache, or positions in
 * a ragged KV buffer. On a GPU it specialises CUDA kernel templates for what the call needs,
 * compiles them once with NVRTC, keeps the cubin in an on-disk cache and launches it through the
 * CUDA Driver API. CPU tensors are computed by the host engine with the same result.
 *
 * Life cycle
 * ==========
 *     create a context -> prepare the specs a server needs -> call, as often as needed -> destroy
 *
 * `topk_jit_prepare` does everything that can block: it looks in the layers of the cache, compiles
 * on a miss and loads the kernels. A prepared call only checks its arguments and enqueues one
 * kernel: it never synchronises with the GPU, allocates, or opens a file, so it may be captured in
 * a CUDA graph. A call that was not prepared prepares itself first, unless its stream is being
 * captured: then it returns TOPK_JIT_NOT_PREPARED and leaves the capture as it was.
 *
 * Tensors are DLPack's `DLTensor`; the library reads shape, strides, dtype, device, data and
 * byte_offset, and keeps no reference after the call returns. Memory of kDLCUDA and
 * kDLCUDAManaged tensors is read and written by the stream's GPU; kDLCPU and kDLCUDAHost tensors
 * are computed on the calling thread before the call returns (the stream must then be NULL).
 *
 * A complete example, which runs on any machine
 * ---------------------------------------------
 * @code{.c}
 *     #include <stdio.h>
 *     #include <topk_jit/topk_jit.h>
 *
 *     int main(void)
 *     {
 *         float score_data[2][4] = {{0.5f, 2.0f, -1.0f, 1.0f}, {3.0f, 0.0f, 4.0f, 9.0f}};
 *         int32_t length_data[2] = {4, 3};
 *         int32_t index_data[2][2];
 *         int64_t score_shape[2] = {2, 4}, length_shape[1] = {2}, index_shape[2] = {2, 2};
 *         DLDevice cpu = {kDLCPU, 0};
 *         DLDataType float32 = {kDLFloat, 32, 1}, int32 = {kDLInt, 32, 1};
 *         DLTensor score = {score_data, cpu, 2, float32, score_shape, NULL, 0};
 *         DLTensor lengths = {length_data, cpu, 1, int32, length_shape, NULL, 0};
 *         DLTensor indices = {index_data, cpu, 2, int32, index_shape, NULL, 0};
 *
 *         topk_jit_context *context = NULL;
 *         if (topk_jit_context_create(&context, NULL) != TOPK_JIT_OK)
 *             return 1;
 *         topk_jit_status status =
 *             topk_jit_fast_topk_v2(context, &score, &lengths, 2, NULL, &indices, NULL);
 *         if (status != TOPK_JIT_OK)
 *             fprintf(stderr, "%s\n", topk_jit_last_error()->message);
 *         else
 *             printf("%d %d\n", index_data[0][0], index_data[0][1]);
 *         topk_jit_context_destroy(context);
 *         return status;
 *     }
 * @endcode
 *
 * A decode step on a GPU
 * ----------------------
 * @code{.c}
 *     topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
 *     spec.layout = TOPK_JIT_LAYOUT_PAGED;
 *     spec.topk = 2048;
 *     spec.page_size = 64;
 *     topk_jit_prepare(context, &spec, 1, stream);            // once, while the server starts
 *
 *     topk_jit_fast_topk_transform_fused(context, &score, &lengths, &page_table, 64, NULL, 2048,
 *                                        NULL, &kv_slots, stream);    // per step, also in a graph
 * @endcode
 *
 * Everything beyond the four operations (row_ends, row_to_batch, speculative decoding, sorted,
 * deterministic, values, ...) is a field of `topk_jit_select_args`.
 *
 * The order of scores
 * ===================
 * Scores compare as numbers. +0 and -0 are equal, -inf is an ordinary value, NaN of either sign is
 * greater than +inf and all NaN are equal, as in torch.topk; the option `nan_last` puts NaN below
 * -inf instead.
 *
 * Errors
 * ======
 * Every function that can fail returns a `topk_jit_status`. The message of the last failure in the
 * calling thread is at `topk_jit_last_error()`; it names the argument, what was given and what is
 * expected. A call that returns anything but TOPK_JIT_OK enqueued nothing and wrote to no output.
 *
 * Threads
 * =======
 * Every function may be called from any thread, on the same context too, except
 * `topk_jit_context_destroy`, which must be the last call on its context.
 */
#ifndef TOPK_JIT_TOPK_JIT_H
#define TOPK_JIT_TOPK_JIT_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#include <topk_jit/export.h>
#include <topk_jit/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The CUDA driver's stream handle, declared as in cuda.h. NULL is the legacy default stream. */
typedef struct CUstream_st *CUstream;

/* ------------------------------------------------------------------------------------------- */
/* Status and last error                                                                        */
/* ------------------------------------------------------------------------------------------- */

/**
 * Every status: number, name, meaning. The tens digit is the domain: 0 caller, 1 template,
 * 2 NVRTC, 3 driver, 4 cache and operating system.
 */
#define TOPK_JIT_STATUS_MAP(X)                                                                     \
    X(0, OK, "success")                                                                            \
    X(1, INVALID_ARGUMENT, "an argument is wrong; the message names it")                           \
    X(2, NOT_SUPPORTED, "a legal request that this version does not offer")                        \
    X(3, NOT_PREPARED, "the spec was not prepared and the stream is capturing")                    \
    X(4, OUT_OF_MEMORY, "the allocator returned NULL")                                             \
    X(5, ABI_MISMATCH, "struct_size is 0, or a field this version does not know is set")           \
    X(6, CANCELLED, "the context was destroyed before it was done")                                \
    X(10, TEMPLATE_NOT_FOUND, "a template directory or one of its files cannot be read")           \
    X(11, TEMPLATE_ABI, "the template directory belongs to another version of the library")        \
    X(12, TEMPLATE_UNTRUSTED, "the template directory could have been written by somebody else")   \
    X(20, NVRTC_NOT_FOUND, "no usable NVRTC library")                                              \
    X(21, NVRTC_TOO_OLD, "the NVRTC found is older than 12.0")                                     \
    X(22, NVRTC_TARGET, "the NVRTC found cannot compile for this target")                          \
    X(23, COMPILE_FAILED, "NVRTC rejected the source; the log has its messages")                   \
    X(24, NVRTC_FAILED, "an NVRTC call failed for another reason than the source")                 \
    X(30, DRIVER_NOT_FOUND, "libcuda is not on this machine")                                      \
    X(31, NO_DEVICE, "no such CUDA device, or no current context")                                 \
    X(32, DRIVER_TOO_OLD, "the CUDA driver is older than 12.0")                                    \
    X(33, DRIVER_FAILED, "a CUDA driver call failed")                                              \
    X(34, LOAD_FAILED, "the driver refused the compiled kernel")                                   \
    X(35, LAUNCH_FAILED, "the driver refused the launch")                                          \
    X(40, CACHE_FAILED, "an entry could not be stored (only where storing is the purpose)")        \
    X(41, OS_FAILED, "a system call failed")                                                       \
    X(42, OFFLINE_MISS, "the mode is offline and no layer of the cache has the kernel")

/** @cond */
#define TOPK_JIT_STATUS_ENUMERATOR(number, name, meaning) TOPK_JIT_##name = number,
/** @endcond */
/** Outcome of a call; see TOPK_JIT_STATUS_MAP. */
typedef enum topk_jit_status { TOPK_JIT_STATUS_MAP(TOPK_JIT_STATUS_ENUMERATOR) } topk_jit_status;
#undef TOPK_JIT_STATUS_ENUMERATOR

/** Where a failure comes from: the tens digit of its status. */
typedef enum topk_jit_domain {
    TOPK_JIT_DOMAIN_CALLER = 0,
    TOPK_JIT_DOMAIN_TEMPLATE = 1,
    TOPK_JIT_DOMAIN_NVRTC = 2,
    TOPK_JIT_DOMAIN_DRIVER = 3,
    TOPK_JIT_DOMAIN_SYSTEM = 4,
} topk_jit_domain;

/** Detail of a failure. */
typedef struct topk_jit_error {
    topk_jit_status status; /**< what the call returned */
    topk_jit_domain domain; /**< its domain */
    int native_code;        /**< CUresult, nvrtcResult or errno, whichever the domain has; else 0 */
    char message[1024];     /**< one line, NUL-terminated */
} topk_jit_error;

/**
 * @brief Detail of the last failure in the calling thread.
 * @return never NULL; borrowed, valid until the next failure in this thread. Successful calls leave
 *         it as it is; before the first failure its status is TOPK_JIT_OK.
 */
TOPK_JIT_EXPORT const topk_jit_error *topk_jit_last_error(void);

/**
 * @brief Name of a status, such as "INVALID_ARGUMENT".
 * @return a static string; "UNKNOWN" for a number that is no status.
 */
TOPK_JIT_EXPORT const char *topk_jit_status_name(topk_jit_status status);

/* ------------------------------------------------------------------------------------------- */
/* Context and options                                                                          */
/* ------------------------------------------------------------------------------------------- */

/** Everything the library holds: options, templates, compiled and loaded kernels. Opaque. */
typedef struct topk_jit_context topk_jit_context;

/** Importance of a log line. */
typedef enum topk_jit_log_level {
    TOPK_JIT_LOG_ERROR = 1,
    TOPK_JIT_LOG_WARNING = 2,
    TOPK_JIT_LOG_INFO = 3,
    TOPK_JIT_LOG_DEBUG = 4,
} topk_jit_log_level;

/**
 * @brief Receives log text: one line, or a whole compiler log, without a trailing newline.
 * Called from any thread that uses the context, never from a prepared call. Must not call back into
 * the same context.
 */
typedef void (*topk_jit_log_callback)(void *user, topk_jit_log_level level, const char *text);

/** Memory functions of a context; both or neither are set. `allocate` aligns as malloc does. */
typedef struct topk_jit_allocator {
    void *(*allocate)(void *user, size_t size); /**< size >= 1; NULL = out of memory */
    void (*release)(void *user, void *memory);  /**< memory is never NULL */
    void *user;                                 /**< handed to both */
} topk_jit_allocator;

/** How a context uses the layers of the cache on disk. Packs and read-only directories are never
 * written to. */
typedef enum topk_jit_mode {
    TOPK_JIT_MODE_DEFAULT = 0,  /**< what TOPK_JIT_MODE says, else AUTO */
    TOPK_JIT_MODE_AUTO = 1,     /**< reads; compiles on a miss; writes to the user's directory */
    TOPK_JIT_MODE_READONLY = 2, /**< reads and compiles; never writes, touches or locks */
    TOPK_JIT_MODE_OFFLINE = 3,  /**< reads; never compiles or writes: a miss is an error */
    TOPK_JIT_MODE_OFF = 4,      /**< neither reads nor writes: compiles into memory */
} topk_jit_mode;

/** Which entries of the cache count. */
typedef enum topk_jit_toolchain {
    TOPK_JIT_TOOLCHAIN_DEFAULT = 0, /**< what TOPK_JIT_TOOLCHAIN says, else ANY */
    TOPK_JIT_TOOLCHAIN_ANY = 1,     /**< whatever NVRTC compiled them */
    TOPK_JIT_TOOLCHAIN_EXACT = 2,   /**< those that the NVRTC of this machine compiled; where none
                                         is found, every entry is a miss */
} topk_jit_toolchain;

/** An option that is on, off, or as its environment variable says. */
typedef enum topk_jit_switch {
    TOPK_JIT_SWITCH_DEFAULT = 0,
    TOPK_JIT_SWITCH_ON = 1,
    TOPK_JIT_SWITCH_OFF = 2,
} topk_jit_switch;

/**
 * Options of a context. Start from TOPK_JIT_OPTIONS_INIT; a zero field is the default. A field that
 * is set beats its environment variable, which beats the default. Strings are copied.
 */
typedef struct topk_jit_options {
    size_t struct_size;                 /**< sizeof of this struct, as the INIT macro sets it */
    topk_jit_allocator allocator;       /**< default: malloc and free */
    topk_jit_log_callback log_callback; /**< default: stderr if TOPK_JIT_LOG is set, else nothing */
    void *log_user;                     /**< handed to log_callback */
    topk_jit_log_level log_level; /**< least important level reported; default TOPK_JIT_LOG, else
                                       TOPK_JIT_LOG_WARNING */
    const char *cache_dir;        /**< absolute directory of the kernel cache; default
                                       TOPK_JIT_CACHE_DIR, $XDG_CACHE_HOME/topk-jit,
                                       $HOME/.cache/topk-jit, the password database's home, none */
    const char *template_dir;     /**< directory of the kernel templates; default
                                       TOPK_JIT_TEMPLATE_DIR, the installed ones, the embedded ones */
    const char *nvrtc_path;       /**< the libnvrtc to load and no other: a file or, without a
                                       slash, a name for the loader; default TOPK_JIT_NVRTC */
    const char *nvrtc_hint;       /**< a directory where libnvrtc may also be found */
    const char *ro_dirs;          /**< further layers, which are read first and never written:
                                       absolute paths separated by colons, each a directory laid
                                       out like a cache, whose *.tkp files are its packs, or one
                                       .tkp file; default TOPK_JIT_RO_DIRS. The directory
                                       share/topk_jit/cache of the installation is always the
                                       last of them */
    topk_jit_mode mode;           /**< default TOPK_JIT_MODE (auto, readonly, offline, off) */
    topk_jit_toolchain toolchain; /**< default TOPK_JIT_TOOLCHAIN (any, exact) */
    topk_jit_switch shared;       /**< the cache may belong to and be written by the members of its
                                       group; default TOPK_JIT_SHARED (1, 0), else OFF */
    int32_t lock_timeout_ms;      /**< how long a miss waits for another process that compiles the
                                       same kernel; negative: not at all; default
                                       TOPK_JIT_LOCK_TIMEOUT_MS, else 30000 */
    uint64_t cache_max_bytes;     /**< what the user's directory may hold; the least recently used
                                       entries are removed beyond it; UINT64_MAX: no limit; default
                                       TOPK_JIT_CACHE_MAX_BYTES, else 1 GiB */
    const char *record_file;      /**< absolute; each spec that is prepared for a GPU is appended to
                                       this file in its canonical form, one a line, once; default
                                       TOPK_JIT_RECORD, else nothing is recorded */
} topk_jit_options;

/** Options with every field at its default. */
#define TOPK_JIT_OPTIONS_INIT                                                                      \
    {                                                                                              \
        sizeof(topk_jit_options), {0, 0, 0}, 0, 0, (topk_jit_log_level)0, 0, 0, 0, 0, 0,           \
            TOPK_JIT_MODE_DEFAULT, TOPK_JIT_TOOLCHAIN_DEFAULT, TOPK_JIT_SWITCH_DEFAULT, 0, 0, 0    \
    }

/**
 * @brief Creates a context. Reads the environment, here and nowhere else; touches no GPU, no cache
 *        and no compiler.
 * @param[out] out      host; the new context, owned by the caller; NULL after a failure
 * @param[in] options   host; NULL = all defaults
 * @return TOPK_JIT_OK
 * @return TOPK_JIT_INVALID_ARGUMENT  out is NULL, an allocator has one function only, a path that
 *                                    must be absolute is not, an option or an environment variable
 *                                    has a value that it does not know
 * @return TOPK_JIT_ABI_MISMATCH      struct_size is 0 or an unknown tail is not all zero
 * @return TOPK_JIT_OUT_OF_MEMORY
 */
TOPK_JIT_EXPORT topk_jit_status topk_jit_context_create(topk_jit_context **out,
                                                        const topk_jit_options *options);

/**
 * @brief Destroys a context and unloads its kernels.
 * @param[in] context  may be NULL. Launches that use its kernels must have ended and graphs that
 *                     hold them must not be launched again; no other thread may be in a call.
 */
TOPK_JIT_EXPORT void topk_jit_context_destroy(topk_jit_context *context);

/* ------------------------------------------------------------------------------------------- */
/* Spec: what a kernel is compiled for                                                          */
/* ------------------------------------------------------------------------------------------- */

/** Which computation. */
typedef enum topk_jit_operation {
    TOPK_JIT_OPERATION_SELECT = 0,    /**< the selection: fast_topk_v2 and both transforms */
    TOPK_JIT_OPERATION_FAST_TOPK = 1, /**< the n-dimensional fast_topk */
} topk_jit_operation;

/** How a selected position is written. */
typedef enum topk_jit_layout {
    TOPK_JIT_LAYOUT_PLAIN = 0,  /**< the position relative to the window's start */
    TOPK_JIT_LAYOUT_PAGED = 1,  /**< its slot in a paged KV cache */
    TOPK_JIT_LAYOUT_RAGGED = 2, /**< the position plus the row's offset in a ragged KV buffer */
} topk_jit_layout;

/** Element types of scores and indices. */
typedef enum topk_jit_dtype {
    TOPK_JIT_FLOAT32 = 0,
    TOPK_JIT_FLOAT16 = 1,
    TOPK_JIT_BFLOAT16 = 2,
    TOPK_JIT_FLOAT64 = 3,
    TOPK_JIT_INT32 = 4,
    TOPK_JIT_INT64 = 5,
} topk_jit_dtype;

/** Which of several equal scores at the k-th place are taken. */
typedef enum topk_jit_tie_break {
    TOPK_JIT_TIE_BREAK_NONE = 0,     /**< any */
    TOPK_JIT_TIE_BREAK_SMALLEST = 1, /**< those at the smallest positions */
    TOPK_JIT_TIE_BREAK_LARGEST = 2,  /**< those at the largest positions */
} topk_jit_tie_break;

/**
 * What is compiled: everything else about a call (shapes, strides, lengths, alignment, next_n,
 * which optional tensors are given) is decided at launch, so one prepared spec serves every batch.
 */
typedef struct topk_jit_spec {
    size_t struct_size;           /**< sizeof of this struct, as the INIT macro sets it */
    topk_jit_operation operation; /**< SELECT, or FAST_TOPK for topk_jit_fast_topk */
    topk_jit_layout layout;       /**< PLAIN for fast_topk */
    int64_t topk;                 /**< >= 1 */
    topk_jit_dtype dtype;         /**< of the scores; select: FLOAT32, FLOAT16 or BFLOAT16 */
    topk_jit_dtype index_dtype;   /**< of the indices: INT32 or INT64; INT64 for fast_topk */
    int64_t page_size;            /**< PAGED: power of two, 1..2^30; otherwise 0 */
    topk_jit_tie_break tie_break; /**< which scores equal to the k-th are taken */
    uint8_t sorted;        /**< slots in descending score, equal scores by ascending position */
    uint8_t deterministic; /**< a row's output depends on its window, k, dtype and options alone */
    uint8_t nan_last;      /**< NaN sorts below -inf */
    uint8_t check;         /**< counts bad inputs into check_counts */
} topk_jit_spec;

/** The spec of a plain float32 selection with int32 indices and k = 2048. */
#define TOPK_JIT_SPEC_INIT                                                                         \
    {                                                                                              \
        sizeof(topk_jit_spec), TOPK_JIT_OPERATION_SELECT, TOPK_JIT_LAYOUT_PLAIN, 2048,             \
            TOPK_JIT_FLOAT32, TOPK_JIT_INT32, 0, TOPK_JIT_TIE_BREAK_NONE, 0, 0, 0, 0               \
    }

/**
 * @brief Makes specs ready: looks each kernel up in memory and on disk, compiles what is missing,
 *        loads it into the stream's context. Blocks; enqueues nothing. May be called while another
 *        thread captures a graph.
 * @param[in] context
 * @param[in] specs   host; count specs, each specs[0].struct_size bytes apart
 * @param[in] count   0 is a no-op
 * @param[in] stream  the GPU is the one of this stream's context; NULL = the current context
 * @return TOPK_JIT_OK
 * @return TOPK_JIT_INVALID_ARGUMENT  a field of a spec is out of range
 * @return TOPK_JIT_ABI_MISMATCH      struct_size is 0 or an unknown tail is not all zero
 * @return TOPK_JIT_NOT_SUPPORTED     a spec this version does not offer
 * @return TOPK_JIT_OUT_OF_MEMORY
 * @return TOPK_JIT_DRIVER_NOT_FOUND, TOPK_JIT_DRIVER_TOO_OLD, TOPK_JIT_NO_DEVICE  there is no GPU
 * to prepare for; CPU tensors work all the same
 * @return TOPK_JIT_TEMPLATE_..., TOPK_JIT_NVRTC_..., TOPK_JIT_COMPILE_FAILED  a kernel was not in
 * the cache and could not be compiled
 * @return TOPK_JIT_OFFLINE_MISS      the mode is offline and no layer of the cache has a kernel;
 * the message has the command that creates it
 * @return TOPK_JIT_DRIVER_FAILED, TOPK_JIT_LOAD_FAILED  the driver refused; LOAD_FAILED: the code
 * @return TOPK_JIT_OS_FAILED         no thread to compile on
 */
TOPK_JIT_EXPORT topk_jit_status topk_jit_prepare(topk_jit_context *context,
                                                 const topk_jit_spec *specs, size_t count,
                                                 CUstream stream);

/**
 * @brief Told that topk_jit_prepare_async is done, on a thread of the library.
 * @param user    as given
 * @param status  TOPK_JIT_OK, what topk_jit_prepare returns, or TOPK_JIT_CANCELLED
 * @param error   detail of a failure, valid during the call; its status is TOPK_JIT_OK otherwise
 * May call anything on the same context but topk_jit_context_destroy.
 */
typedef void (*topk_jit_prepare_callback)(void *user, topk_jit_status status,
                                          const topk_jit_error *error);

/**
 * @brief Makes specs ready as topk_jit_prepare does, on a thread of the context, so that the caller
 *        goes on: a server that serves what it has while it compiles what it will need.
 *
 * A context has one such thread, from the first of these calls until it is destroyed; it takes the
 * calls in their order. Other threads may prepare the same specs meanwhile and share the work.
 * topk_jit_context_destroy waits for the call under way and cancels those behind it.
 *
 * @param[in] context
 * @param[in] specs     host; read before the call returns; as in topk_jit_prepare
 * @param[in] count     may be 0: then the callback only tells that all calls before are done
 * @param[in] stream    as in topk_jit_prepare; NULL = the context that is current in the calling
 *                      thread. It, or that CUDA context, must exist until the callback
 * @param[in] callback  called exactly once unless this call fails; NULL = nobody is told
 * @param[in] user      handed to the callback
 * @return TOPK_JIT_OK                the work will be done, or has been
 * @return TOPK_JIT_INVALID_ARGUMENT, TOPK_JIT_ABI_MISMATCH, TOPK_JIT_NOT_SUPPORTED  as
 *                                    topk_jit_prepare
 * @return TOPK_JIT_DRIVER_NOT_FOUND, TOPK_JIT_DRIVER_TOO_OLD, TOPK_JIT_NO_DEVICE,
 *         TOPK_JIT_DRIVER_FAILED     there is no GPU to prepare for
 * @return TOPK_JIT_OUT_OF_MEMORY, TOPK_JIT_OS_FAILED  no memory, or no thread
 */
TOPK_JIT_EXPORT topk_jit_status topk_jit_prepare_async(topk_jit_context *context,
                                                       const topk_jit_spec *specs, size_t count,
                                                       CUstream stream,
                                                       topk_jit_prepare_callback callback,
                                                       void *user);

/**
 * @brief Whether specs are ready on the GPU of a stream. Never blocks.
 * @param[in] context
 * @param[in] specs   host; as in topk_jit_prepare
 * @param[in] count   0 is TOPK_JIT_OK
 * @param[in] stream  as in topk_jit_prepare
 * @return TOPK_JIT_OK            all are: calls that need them only enqueue
 * @return TOPK_JIT_NOT_PREPARED  one is not; the message names it
 * @return TOPK_JIT_INVALID_ARGUMENT, TOPK_JIT_ABI_MISMATCH, TOPK_JIT_NOT_SUPPORTED,
 *         TOPK_JIT_DRIVER_NOT_FOUND, TOPK_JIT_DRIVER_TOO_OLD, TOPK_JIT_NO_DEVICE,
 *         TOPK_JIT_DRIVER_FAILED  as topk_jit_prepare
 */
TOPK_JIT_EXPORT topk_jit_status topk_jit_is_prepared(topk_jit_context *context,
                                                     const topk_jit_spec *specs, size_t count,
                                                     CUstream stream);

/**
 * @brief What a spec means on a GPU, for people: its kernels, what each is for, and where its code
 *        is, or why it is in no layer of the cache. Compiles, loads and changes nothing.
 * @param[in] context
 * @param[in] spec      host
 * @param[in] target    such as "sm_90", needs no GPU; NULL = the GPU of the stream's context
 * @param[in] stream    as in topk_jit_prepare; not used with a target
 * @param[out] text     host; lines of text, always NUL-terminated if capacity > 0, cut at capacity
 * @param[in] capacity  bytes at text; 8 KiB hold most texts
 * @param[out] length   host; of the whole text without its NUL; NULL = not wanted
 * @return TOPK_JIT_OK
 * @return TOPK_JIT_INVALID_ARGUMENT  a field of the spec is out of range, the target is unknown,
 *                                    text is NULL though capacity > 0
 * @return TOPK_JIT_ABI_MISMATCH, TOPK_JIT_NOT_SUPPORTED, TOPK_JIT_TEMPLATE_...,
 *         TOPK_JIT_OUT_OF_MEMORY     as topk_jit_prepare
 * @return TOPK_JIT_DRIVER_NOT_FOUND, TOPK_JIT_DRIVER_TOO_OLD, TOPK_JIT_NO_DEVICE,
 *         TOPK_JIT_DRIVER_FAILED     without a target
 */
TOPK_JIT_EXPORT topk_jit_status topk_jit_explain(topk_jit_context *context,
                                                 const topk_jit_spec *spec, const char *target,
                                                 CUstream stream, char *text, size_t capacity,
                                                 size_t *length);

/* ------------------------------------------------------------------------------------------- */
/* The general selection                                                                        */
/* ------------------------------------------------------------------------------------------- */

/**
 * Inputs, outputs and options of a selection over B rows of L scores. Start from
 * TOPK_JIT_SELECT_ARGS_INIT; a zero field means absent.
 *
 * Row i looks at its window, the columns [start_i, start_i + len_i), and nothing outside it has any
 * influence. It writes k slots: the first k_i = min(topk, len_i) belong to the k_i largest scores
 * of the window, the rest hold -1. When len_i <= topk the positions are 0 .. len_i - 1 in this
 * order (unless `sorted`); otherwise their order is unspecified unless an option asks for one.
 *
 * One-dimensional inputs are int32 with any stride >= 0 and may be longer than needed. Outputs are
 * (R, topk) with R >= B, stride(1) == 1 and stride(0) >= topk; rows B .. R-1 are filled with -1
 * (values: -inf). An output may overlap neither an input nor another output; two tensors with the
 * same row pitch in bytes and separate byte columns (halves of one wider buffer) do not overlap.
 * Every tensor is on the same device. A tensor without elements may have NULL data.
 */
typedef struct topk_jit_select_args {
    size_t struct_size; /**< sizeof of this struct, as the INIT macro sets it */

    const DLTensor *score;      /**< (B, L) float32, float16 or bfloat16; stride(1) == 1,
                                     stride(0) >= 0; aligned to its element */
    const DLTensor *lengths;    /**< (B) valid length of row i, clamped to [0, L - start_i]; with
                                     next_n also (batch, next_n), (B, 1), or one-dimensional with
                                     exactly batch or exactly B entries; absent = L - start_i */
    const DLTensor *row_starts; /**< (B) start_i, clamped to [0, L]; absent = 0 */
    const DLTensor *row_ends; /**< (B) exclusive end instead of lengths, clamped to [start_i, L] */

    topk_jit_layout layout;     /**< how positions are written */
    const DLTensor *page_table; /**< PAGED: (batch, P) int32, stride(1) == 1, stride(0) >= 0 */
    int64_t page_size;          /**< PAGED: positions per page, power of two, 1..2^30 */
    const DLTensor *page_table_row_starts; /**< PAGED: (B) first entry of row i; absent = 0 */
    const DLTensor *cu_seqlens_q;          /**< PAGED: (batch + 1); row i uses table row b with
                                                cu[b] <= i < cu[b + 1]; a row that no interval covers is
                                                treated as empty */
    const DLTensor *row_to_batch; /**< PAGED: (B) table row of row i, instead of cu_seqlens_q; a row
                                       whose entry is out of range is treated as empty. Neither:
                                       row i uses table row i / next_n */
    const DLTensor *topk_indices_offset; /**< RAGGED: (B) offset of row i in the ragged KV */

    int64_t topk;           /**< >= 1; may exceed L */
    int64_t next_n;         /**< speculative tokens per request, B == batch * next_n; 0 means 1.
                                 One-dimensional lengths of batch entries give row (b, j) the length
                                 max(0, lengths[b] - next_n + 1 + j) */
    int64_t compress_ratio; /**< divides the length, rounding down, before the clamp; 0 means 1 */

    const DLTensor *indices;     /**< out, (R, topk) int32 or int64: the transformed positions */
    const DLTensor *raw_indices; /**< out, optional, (R, topk) int32: positions relative to the
                                      window's start, slot by slot aligned with indices */
    const DLTensor *values;      /**< out, optional, (R, topk) score dtype: the scores bit for bit,
                                      padded with -inf */

    topk_jit_tie_break tie_break; /**< see topk_jit_spec */
    uint8_t sorted;               /**< see topk_jit_spec */
    uint8_t deterministic;  /**< see topk_jit_spec; ties as tie_break says (SMALLEST if NONE), slots
                                 in ascending position unless sorted */
    uint8_t nan_last;       /**< see topk_jit_spec */
    uint8_t pdl;            /**< launch with programmatic stream serialisation (sm_90 and later) */
    int32_t max_sms;        /**< at most so many multiprocessors are occupied; 0 = all */
    uint32_t *check_counts; /**< optional, uint32[8] on the tensors' device, 4-byte aligned; the
                                 library adds to it atomically and never reads it:
                                 [0] row_starts out of range, [1] length or row_ends out of range,
                                 [2] row outside cu_seqlens_q, [3] row_to_batch out of range (0-3
                                 once a row), [4] page entry outside [0, P), [5] unmapped page,
                                 [6] value does not fit the index dtype (4-6 once a slot), [7] 0 */
    void *workspace;        /**< optional, 256-byte aligned memory on the tensors' device; contents
                                 undefined before and after; not shared by calls that may overlap;
                                 absent or too small: the result is the same */
    size_t workspace_size;  /**< bytes; see topk_jit_select_workspace_size */
} topk_jit_select_args;

/** Arguments with every field absent. */
#define TOPK_JIT_SELECT_ARGS_INIT                                                                  \
    {                                                                                              \
        sizeof(topk_jit_select_args), 0, 0, 0, 0, TOPK_JIT_LAYOUT_PLAIN, 0, 0, 0, 0, 0, 0, 0, 0,   \
            0, 0, 0, 0, TOPK_JIT_TIE_BREAK_NONE, 0, 0, 0, 0, 0, 0, 0, 0                            \
    }

/**
 * @brief Selects the topk largest scores of every row.
 *
 * GPU tensors: enqueues one kernel on the stream and returns; or, on GPUs before sm_90 and with a
 * workspace, two kernels, of which only the second one writes to the outputs. CPU tensors: computes
 * before it returns.
 *
 * @param[in] context
 * @param[in] args    host; read before the call returns
 * @param[in] stream  stream of the tensors' GPU; NULL for CPU tensors
 * @return TOPK_JIT_OK
 * @return TOPK_JIT_INVALID_ARGUMENT  wrong rank, dtype, device, shape, stride or alignment; a
 * tensor missing or given twice; tensors that overlap; topk < 1
 * @return TOPK_JIT_ABI_MISMATCH      struct_size is 0 or an unknown tail is not all zero
 * @return TOPK_JIT_NOT_PREPARED      the stream is capturing and the spec was not prepared
 * @return TOPK_JIT_LAUNCH_FAILED     the driver refused the launch
 * @return TOPK_JIT_OUT_OF_MEMORY     CPU tensors: no memory for one row's scratch
 * @return anything topk_jit_prepare returns, if the spec was not prepared
 */
TOPK_JIT_EXPORT topk_jit_status topk_jit_select(topk_jit_context *context,
                                                const topk_jit_select_args *args, CUstream stream);

/**
 * @brief The spec that a selection with these arguments needs: what to hand to topk_jit_prepare.
 * @param[in] args   host; checked as in topk_jit_select; tensors' data is not read
 * @param[out] spec  host; struct_size must be set
 * @return TOPK_JIT_OK, TOPK_JIT_INVALID_ARGUMENT, TOPK_JIT_ABI_MISMATCH
 */
TOPK_JIT_EXPORT topk_jit_status topk_jit_select_spec(const topk_jit_select_args *args,
                                                     topk_jit_spec *spec);

/**
 * @brief Bytes of workspace that make a selection fastest; with less it is right all the same.
 *
 * GPUs before sm_90 have no clusters: there a few long rows are each shared by several blocks,
 * which leave in the workspace what a second launch selects from. The size is a function of the
 * arguments alone, whichever GPU they are on: 49408 bytes a row of the output, for at most 72 rows
 * (and at most max_sms / 2) that are longer than one block holds (32768 scores, or 16384 with some
 * options) and topk <= 4096; else 0. It does not depend on `workspace`. A call of which a GPU makes
 * no use of the workspace, such as any on sm_90 and later, does not touch it.
 *
 * @param[in] args   host; as in topk_jit_select
 * @param[out] size  host; bytes, 0 for most, and for CPU tensors
 * @return TOPK_JIT_OK, TOPK_JIT_INVALID_ARGUMENT, TOPK_JIT_ABI_MISMATCH
 */
TOPK_JIT_EXPORT topk_jit_status topk_jit_select_workspace_size(const topk_jit_select_args *args,
                                                               size_t *size);

/**
 * @brief Turns a copied-back check_counts array into one line of text.
 * @param[in] counts   host; uint32[8]
 * @param[out] text    host; always NUL-terminated if capacity > 0, cut at capacity
 * @param[in] capacity bytes at text
 * @return the length of the whole text without its NUL, as snprintf
 */
TOPK_JIT_EXPORT size_t topk_jit_check_counts_format(const uint32_t counts[8], char *text,
                                                    size_t capacity);

/* ------------------------------------------------------------------------------------------- */
/* The four operations                                                                          */
/* ------------------------------------------------------------------------------------------- */

/**
 * @brief The topk largest elements along one dimension, in descending order (torch.topk's and, for
 *        topk == 1, torch.max's use with the dimension kept).
 *
 * Deterministic: of equal values at the k-th place those with the smallest indices are taken, and
 * equal values are ordered by ascending index. NaN is the greatest value. Values are copied bit for
 * bit. Enqueues one kernel, or computes before it returns for CPU tensors.
 *
 * @param[in] context
 * @param[in] values       0 to 64 dimensions (0 = one element), float32, float16, bfloat16,
 * float64, int32 or int64, any strides
 * @param[in] topk         1 .. size of dim
 * @param[in] dim          counts from the end if negative; 0 or -1 for 0 dimensions
 * @param[out] out_values  shape of values with topk in place of dim's size, same dtype, any strides
 *                         that put no two elements in one place
 * @param[out] out_indices the same shape, int64, likewise
 * @param[in] stream       stream of the tensors' GPU; NULL for CPU tensors
 * @return as topk_jit_select
 * @note source: the call that sparse-attention servers make as fast_topk (SGLang,
 * sgl_kernel.top_k).
 */
TOPK_JIT_EXPORT topk_jit_status topk_jit_fast_topk(topk_jit_context *context,
                                                   const DLTensor *values, int64_t topk,
                                                   int64_t dim, const DLTensor *out_values,
                                                   const DLTensor *out_indices, CUstream stream);

/**
 * @brief Positions of the topk largest scores of every row (plain layout).
 * @param[in] context
 * @param[in] score       (B, L), see topk_jit_select_args
 * @param[in] lengths     (B) int32 or NULL
 * @param[in] topk        >= 1
 * @param[in] row_starts  (B) int32 or NULL
 * @param[out] indices    (R, topk) int32 or int64
 * @param[in] stream      stream of the tensors' GPU; NULL for CPU tensors
 * @return as topk_jit_select
 * @note source: fast_topk_v2 of SGLang (sgl_kernel.top_k), there with topk == 2048 and float32
 * only.
 */
TOPK_JIT_EXPORT topk_jit_status topk_jit_fast_topk_v2(topk_jit_context *context,
                                                      const DLTensor *score,
                                                      const DLTensor *lengths, int64_t topk,
                                                      const DLTensor *row_starts,
                                                      const DLTensor *indices, CUstream stream);

/**
 * @brief KV-cache slots of the topk largest scores of every row (paged layout).
 * @param[in] context
 * @param[in] score         (B, L), see topk_jit_select_args
 * @param[in] lengths       (B) int32 or NULL
 * @param[in] page_table    (batch, P) int32
 * @param[in] page_size     positions per page-table entry; 1 for the source's page_table_size_1
 * @param[in] cu_seqlens_q  (batch + 1) int32, or NULL: row i uses table row i
 * @param[in] topk          >= 1
 * @param[in] row_starts    (B) int32 or NULL
 * @param[out] indices      (R, topk) int32 or int64
 * @param[in] stream        stream of the tensors' GPU; NULL for CPU tensors
 * @return as topk_jit_select
 * @note source: fast_topk_transform_fused of SGLang (sgl_kernel.top_k), there with page_size 1.
 */
TOPK_JIT_EXPORT topk_jit_status topk_jit_fast_topk_transform_fused(
    topk_jit_context *context, const DLTensor *score, const DLTensor *lengths,
    const DLTensor *page_table, int64_t page_size, const DLTensor *cu_seqlens_q, int64_t topk,
    const DLTensor *row_starts, const DLTensor *indices, CUstream stream);

/**
 * @brief Positions of the topk largest scores of every row in a ragged KV buffer.
 * @param[in] context
 * @param[in] score                (B, L), see topk_jit_select_args
 * @param[in] lengths              (B) int32 or NULL
 * @param[in] topk_indices_offset  (B) int32
 * @param[in] topk                 >= 1
 * @param[in] row_starts           (B) int32 or NULL
 * @param[out] indices             (R, topk) int32 or int64
 * @param[in] stream               stream of the tensors' GPU; NULL for CPU tensors
 * @return as topk_jit_select
 * @note source: fast_topk_transform_ragged_fused of SGLang (sgl_kernel.top_k).
 */
TOPK_JIT_EXPORT topk_jit_status topk_jit_fast_topk_transform_ragged_fused(
    topk_jit_context *context, const DLTensor *score, const DLTensor *lengths,
    const DLTensor *topk_indices_offset, int64_t topk, const DLTensor *row_starts,
    const DLTensor *indices, CUstream stream);

/* ------------------------------------------------------------------------------------------- */
/* Statistics and version                                                                       */
/* ------------------------------------------------------------------------------------------- */

/** What a context did so far. Counts are since its creation; times are in nanoseconds. */
typedef struct topk_jit_statistics {
    size_t struct_size;      /**< sizeof of this struct, as the INIT macro sets it */
    uint64_t memory_hits;    /**< kernels that were already loaded or held in memory */
    uint64_t pack_hits;      /**< kernels read from a pack */
    uint64_t read_only_hits; /**< kernels read from a read-only directory */
    uint64_t user_hits;      /**< kernels read from the user's directory */
    uint64_t misses;         /**< kernels found in no layer */
    uint64_t waits;          /**< times that another thread or process compiled the kernel wanted */
    uint64_t lock_timeouts;  /**< waits for another process that were given up */
    uint64_t compiles;       /**< kernels compiled, successfully or not */
    uint64_t stores;         /**< entries written to the cache */
    uint64_t failed_stores;  /**< entries that could not be written */
    uint64_t corrupt_entries; /**< entries on disk that did not verify and counted as misses */
    uint64_t evictions;       /**< entries removed because the cache was full */
    uint64_t bytes_read;      /**< of verified entries */
    uint64_t bytes_written;   /**< of stored entries */
    uint64_t bytes_evicted;   /**< of removed entries */
    uint64_t lookup_ns;       /**< spent reading and verifying entries */
    uint64_t wait_ns;         /**< spent waiting for other threads and processes */
    uint64_t compile_ns;      /**< spent in NVRTC */
    uint64_t store_ns;        /**< spent storing entries and removing old ones */
    uint64_t load_ns;         /**< spent loading into the driver */
} topk_jit_statistics;

/** Statistics ready to be filled. */
#define TOPK_JIT_STATISTICS_INIT                                                                   \
    {                                                                                              \
        sizeof(topk_jit_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0    \
    }

/**
 * @brief Copies the counters of a context.
 * @param[in] context
 * @param[in,out] out  host; struct_size must be set; fields beyond it are not written
 * @return TOPK_JIT_OK, TOPK_JIT_INVALID_ARGUMENT, TOPK_JIT_ABI_MISMATCH
 */
TOPK_JIT_EXPORT topk_jit_status topk_jit_get_statistics(const topk_jit_context *context,
                                                        topk_jit_statistics *out);

/**
 * @brief Version of the library that is running, against TOPK_JIT_VERSION_STRING of the header.
 * @return a static string such as "0.1.0".
 */
TOPK_JIT_EXPORT const char *topk_jit_version(void);

#ifdef __cplusplus
}
#endif

#endif /* TOPK_JIT_TOPK_JIT_H */
