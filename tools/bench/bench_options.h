/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_options.h @brief Command line of topk-jit-bench. */
#ifndef TKJ_BENCH_OPTIONS_H
#define TKJ_BENCH_OPTIONS_H

#include "bench_axes.h"
#include "bench_sets.h"

/** Which rows of a result are judged. */
typedef enum bench_verify {
    BENCH_VERIFY_SOME, /* the first rows, up to a number of scores that costs little time */
    BENCH_VERIFY_ALL,
    BENCH_VERIFY_NONE,
} bench_verify;

typedef struct bench_options {
    bench_lists lists;
    const bench_set *set;     /* NULL: the product of the lists */
    const char *only;         /* NULL = all */
    const char *json;         /* NULL = none */
    const char *device_facts; /* a list; NULL = the GPU present */
    bench_verify verify;
    int runs;
    int replays; /* of a graph, in a round */
    int calls;   /* in a graph, at least */
    bool explain;
    bool cache; /* the cache, and nothing else */
    bool host;  /* what calls cost the thread that makes them, and nothing else */
    bool quick;
    bool help;
    bool version;
} bench_options;

/** Reads the command line. What is wrong is said in one line on stderr.
 *  @return false if it cannot be understood */
bool bench_options_parse(int argc, char **argv, bench_options *out);

/** Lists what is to be measured. @return false, after a line on stderr, if that is nothing */
bool bench_options_plan(const bench_options *options, bench_plan *plan);

/** Prints the manual. */
void bench_help(void);

#endif /* TKJ_BENCH_OPTIONS_H */
