/* SPDX-License-Identifier: Apache-2.0 */
/** @file explain.h @brief What a spec means on a target, and what each layer of the cache says. */
#ifndef TKJ_WARM_EXPLAIN_H
#define TKJ_WARM_EXPLAIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cache.h"
#include "plan_build.h"
#include "plan_explain.h"

/** What a layer says to a kernel: the outcome of a look-up, and one more. */
typedef struct warm_answer {
    tkj_cache_answer cache; /* the best for any target and CUDA major that counts */
    int major;              /* of the toolchain; of a hit, or of what is too new */
    bool too_new;           /* there is one, but of a CUDA that the driver does not run */
    bool used;              /* it is what a look-up takes */
    size_t rank;            /* of a hit: among targets and majors; 0 is the best */
} warm_answer;

/** One kernel of the spec. */
typedef struct warm_explained {
    tkj_build build; /* aimed at the best target */
    tkj_variant variant;
    warm_answer *answers; /* owned, one a layer, in the order of the search */
    size_t answer_count;
    bool found;
} warm_explained;

/** A spec on one target. */
typedef struct warm_explanation {
    topk_jit_context *context; /* borrowed */
    topk_jit_spec spec;
    tkj_plan_aim aim;
    const char *toolchain;   /* the only one whose entries count; NULL = any */
    warm_explained *kernels; /* owned */
    size_t kernel_count;
    size_t missing;
} warm_explanation;

/**
 * Asks every layer for every kernel of a spec.
 * @param spec      canonical
 * @param[out] out  released with warm_explanation_release, also after a failure
 * @return false after one line on stderr
 */
bool warm_explain(topk_jit_context *context, const topk_jit_spec *spec, const tkj_plan_aim *aim,
                  warm_explanation *out);
void warm_explanation_release(warm_explanation *explanation);

/** Room for a command: as for all that an offline miss says. */
#define WARM_EXPLAIN_COMMAND_SIZE 16384

/** What to do before anything can be found, such as no command could help; NULL = nothing. */
const char *warm_explain_advice(const warm_explanation *explanation);

/** Writes the command that builds the kernels of the spec for the best target that can be named. */
void warm_explain_command(const warm_explanation *explanation, char out[WARM_EXPLAIN_COMMAND_SIZE]);

/** Prints it for a person. @param preimages  with the text whose digest the key is */
void warm_explain_print(const warm_explanation *explanation, bool preimages);

/** One object for a program. @return NULL if there was no memory */
json_t *warm_explain_json(const warm_explanation *explanation);

#endif /* TKJ_WARM_EXPLAIN_H */
