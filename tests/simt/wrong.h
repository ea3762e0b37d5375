/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file wrong.h
 * @brief Tiny kernels that are wrong in one way each, and right where `wrong` is 0.
 *
 * In and out have WRONG_ROWS rows of WRONG_COLUMNS words, WRONG_PITCH apart.
 */
#ifndef TKJ_SIMT_WRONG_H
#define TKJ_SIMT_WRONG_H

#include <stdint.h>

#include "simt.h"

#define WRONG_THREADS 64
#define WRONG_SHARED_BYTES 2048
#define WRONG_ROWS 4
#define WRONG_COLUMNS 64
#define WRONG_PITCH 96

typedef struct wrong_params {
    const uint32_t *in;
    uint32_t *out;
    uint32_t *counter; /* one word, 0 at first */
    uint32_t wrong;    /* which way; 0 = none */
} wrong_params;

/* Which build finds it. */
#define BY_RACE 1
#define BY_SANITIZED 2
#define BY_BOTH 3

/** Every kernel: its name, way of being wrong, blocks, blocks a cluster, who finds it, and a part
 *  of the message. */
#define WRONG_KERNELS(X)                                                                           \
    X(missing_block_barrier, 1, 1, 1, BY_RACE, "race on shared memory|nobody has")                 \
    X(missing_barrier_before_reuse, 1, 1, 1, BY_RACE, "race on shared memory")                     \
    X(plain_read_beside_atomic, 1, 1, 1, BY_RACE, "race on shared memory")                         \
    X(plain_write_beside_atomic, 1, 1, 1, BY_RACE, "race on shared memory|nobody has")             \
    X(bytes_of_one_word, 1, 1, 1, BY_RACE, "race on shared memory")                                \
    X(global_race_in_a_block, 1, 1, 1, BY_RACE, "race on out|nobody has")                          \
    X(global_race_of_blocks, 1, 2, 1, BY_RACE, "race on out")                                      \
    X(shared_read_before_written, 1, 1, 1, BY_RACE, "nobody has written")                          \
    X(output_read_before_written, 1, 1, 1, BY_RACE, "nobody has written")                          \
    X(shared_out_of_bounds, 1, 1, 1, BY_BOTH, "")                                                  \
    X(read_before_the_first_row, 1, 1, 1, BY_BOTH, "")                                             \
    X(read_behind_the_last_row, 1, 1, 1, BY_BOTH, "")                                              \
    X(read_between_rows, 1, 1, 1, BY_BOTH, "")                                                     \
    X(write_between_rows, 1, 1, 1, BY_BOTH, "")                                                    \
    X(write_to_an_input, 1, 1, 1, BY_RACE, "which is an input")                                    \
    X(write_to_the_parameters, 1, 1, 1, BY_RACE, "outside of all")                                 \
    X(local_memory_of_another_thread, 1, 1, 1, BY_RACE, "outside of all")                          \
    X(misaligned_quad, 1, 1, 1, BY_BOTH, "misaligned")                                             \
    X(misaligned_word, 1, 1, 1, BY_BOTH, "misaligned")                                             \
    X(misaligned_atomic, 1, 1, 1, BY_BOTH, "misaligned")                                           \
    X(ballot_orders_no_memory, 1, 1, 1, BY_RACE, "race on shared memory|nobody has")               \
    X(warp_barrier_orders_no_other_warp, 1, 1, 1, BY_RACE, "race on shared memory|nobody has")     \
    X(barriers_of_two_branches, 1, 1, 1, BY_BOTH, "divergent barriers")                            \
    X(barrier_that_a_thread_skips, 1, 1, 1, BY_BOTH, "exited|exits")                               \
    X(barrier_that_a_thread_skips, 2, 1, 1, BY_BOTH, "deadlock|exited|exits")                      \
    X(lanes_at_two_votes, 1, 1, 1, BY_BOTH, "divergent warp")                                      \
    X(lanes_at_vote_and_shuffle, 1, 1, 1, BY_BOTH, "divergent warp")                               \
    X(vote_with_a_lane_elsewhere, 1, 1, 1, BY_BOTH, "deadlock")                                    \
    X(shuffle_with_an_exited_lane, 1, 1, 1, BY_BOTH, "lanes")                                      \
    X(access_before_grid_dependencies, 1, 1, 1, BY_RACE, "before it waited")                       \
    X(access_before_grid_dependencies, 2, 1, 1, BY_BOTH, "before it waited")                       \
    X(exit_without_grid_dependencies, 1, 1, 1, BY_BOTH, "without having waited")                   \
    X(release_before_wait, 1, 1, 1, BY_BOTH, "before it has waited")                               \
    X(shift_by_the_width, 1, 1, 1, BY_SANITIZED, "shift")                                          \
    X(signed_overflow, 1, 1, 1, BY_SANITIZED, "overflow")                                          \
    X(float_out_of_range, 1, 1, 1, BY_SANITIZED, "floating-point")                                 \
    X(local_out_of_bounds, 1, 1, 1, BY_SANITIZED, "index")

/** The same, of clusters, asynchronous copies and named barriers. */
#define WRONG_ASYNC_KERNELS(X)                                                                     \
    X(named_barrier_of_two_sizes, 1, 1, 1, BY_BOTH, "others with|deadlock")                        \
    X(named_barrier_that_misses_a_warp, 1, 1, 1, BY_BOTH, "")                                      \
    X(arrive_orders_nothing, 1, 1, 1, BY_RACE, "race on shared memory|nobody has")                 \
    X(remote_access_before_barrier, 1, 2, 2, BY_RACE, "may not have started")                      \
    X(remote_read_without_barrier, 1, 2, 2, BY_RACE, "race on shared memory|nobody has")           \
    X(relaxed_arrive_publishes_nothing, 1, 2, 2, BY_RACE, "race on shared memory|nobody has")      \
    X(exit_before_remote_access, 1, 2, 2, BY_RACE, "exited|may exit")                              \
    X(remote_mbarrier_init_not_fenced, 1, 2, 2, BY_RACE, "initialisation is not known to it")      \
    X(cluster_arrive_twice, 1, 2, 2, BY_BOTH, "twice without a wait")                              \
    X(cluster_wait_without_arrival, 1, 2, 2, BY_BOTH, "without an arrival")                        \
    X(cluster_arrive_without_wait, 1, 2, 2, BY_BOTH, "without a wait")                             \
    X(cluster_rank_that_is_not, 1, 2, 2, BY_BOTH, "a rank that its cluster does not have")         \
    X(mbarrier_not_initialised, 1, 1, 1, BY_BOTH, "not initialised")                               \
    X(mbarrier_init_not_published, 1, 1, 1, BY_RACE, "not initialised|not known")                  \
    X(mbarrier_init_not_fenced, 1, 1, 1, BY_BOTH, "not fenced")                                    \
    X(mbarrier_initialised_twice, 1, 1, 1, BY_BOTH, "in use")                                      \
    X(mbarrier_one_arrival_too_many, 1, 1, 1, BY_BOTH, "once more|expects")                        \
    X(mbarrier_expects_too_little, 1, 1, 1, BY_BOTH, "more than it was told|expects")              \
    X(mbarrier_expects_too_much, 1, 1, 1, BY_BOTH, "deadlock")                                     \
    X(mbarrier_not_waited_for, 1, 1, 1, BY_RACE, "race on shared memory|nobody has written")       \
    X(mbarrier_wrong_parity, 1, 1, 1, BY_RACE, "race on shared memory|nobody has written")         \
    X(mbarrier_arrival_publishes, 1, 1, 1, BY_RACE, "race on shared memory|nobody has written")    \
    X(buffer_refilled_too_early, 1, 1, 1, BY_RACE, "race on shared memory|once more")              \
    X(copy_misaligned, 1, 1, 1, BY_BOTH, "multiples of 16")                                        \
    X(copy_from_between_rows, 1, 1, 1, BY_BOTH, "between the rows")                                \
    X(copy_behind_shared_memory, 1, 1, 1, BY_BOTH, "not shared memory")                            \
    X(copy_before_grid_dependencies, 1, 1, 1, BY_BOTH, "before it waited")                         \
    X(copy_without_proxy_fence, 1, 1, 1, BY_RACE, "fence for the async proxy")                     \
    X(copy_out_overwritten, 1, 1, 1, BY_RACE, "race on shared memory")                             \
    X(copy_out_not_waited_for, 1, 1, 1, BY_BOTH, "waited for its bulk copies")                     \
    X(copy_out_not_committed, 1, 1, 1, BY_BOTH, "waited for its bulk copies")                      \
    X(copy_to_rank_not_waited_for, 1, 2, 2, BY_RACE, "race on shared memory|nobody|exited|exits")  \
    X(store_async_not_waited_for, 1, 2, 2, BY_RACE, "race on shared memory|nobody|exited|exits")   \
    X(store_async_not_expected, 1, 2, 2, BY_BOTH,                                                  \
      "more than it was told|expects|deadlock|nobody|race")

#endif /* TKJ_SIMT_WRONG_H */
