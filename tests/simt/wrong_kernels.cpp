/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, barriers, warps, grid dependencies, undefined behaviour. */
#include "wrong_kernels.cuh"

/* The thread's neighbour, in another warp for two of them. */
static tkj_u32 next_thread(void)
{
    return (tkj_thread() + 1) % WRONG_THREADS;
}

WRONG_KERNEL(missing_block_barrier)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    shared[tkj_thread()] = p.in[tkj_thread()];
    if (!p.wrong)
        tkj_block_barrier();
    p.out[tkj_thread()] = shared[next_thread()];
}

WRONG_KERNEL(missing_barrier_before_reuse)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    for (int i = 0; i < 2; i++) {
        shared[tkj_thread()] = p.in[tkj_thread()];
        tkj_block_barrier();
        p.out[i * WRONG_PITCH + (int)tkj_thread()] = shared[next_thread()];
        if (!p.wrong)
            tkj_block_barrier();
    }
}

WRONG_KERNEL(plain_read_beside_atomic)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    if (tkj_thread() == 0)
        shared[0] = 0;
    tkj_block_barrier();
    tkj_atomic_add(&shared[0], 1);
    if (!p.wrong)
        tkj_block_barrier();
    p.out[tkj_thread()] = shared[0];
}

WRONG_KERNEL(plain_write_beside_atomic)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    if (tkj_thread() == 0)
        shared[0] = 0;
    if (!p.wrong)
        tkj_block_barrier();
    if (tkj_thread() != 0 || !p.wrong)
        tkj_atomic_or(&shared[0], 1);
}

/* Bytes are tracked one by one: neighbours do not collide, equals do. */
WRONG_KERNEL(bytes_of_one_word)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    tkj_u8 *bytes = (tkj_u8 *)shared;
    bytes[p.wrong ? tkj_thread() / 2 : tkj_thread()] = (tkj_u8)tkj_thread();
}

WRONG_KERNEL(global_race_in_a_block)
{
    tkj_wait_for_dependencies();
    p.out[tkj_thread()] = tkj_thread();
    if (!p.wrong)
        tkj_block_barrier();
    p.out[WRONG_PITCH + tkj_thread()] = p.out[next_thread()];
}

WRONG_KERNEL(global_race_of_blocks)
{
    tkj_wait_for_dependencies();
    tkj_u32 row = p.wrong ? 0 : tkj_block();
    p.out[row * WRONG_PITCH + tkj_thread()] = tkj_block();
    tkj_atomic_add(p.counter, 1);
}

WRONG_KERNEL(shared_read_before_written)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    if (!p.wrong)
        shared[tkj_thread()] = 1;
    p.out[tkj_thread()] = shared[tkj_thread()];
}

WRONG_KERNEL(output_read_before_written)
{
    tkj_wait_for_dependencies();
    if (!p.wrong)
        p.out[tkj_thread()] = 1;
    p.out[WRONG_PITCH + tkj_thread()] = p.out[tkj_thread()];
}

WRONG_KERNEL(shared_out_of_bounds)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    shared[WRONG_SHARED_BYTES / 4 - WRONG_THREADS + tkj_thread() + p.wrong] = 1;
}

WRONG_KERNEL(read_before_the_first_row)
{
    tkj_wait_for_dependencies();
    if (tkj_thread() == 5)
        p.out[0] = *(p.in - p.wrong);
}

WRONG_KERNEL(read_behind_the_last_row)
{
    tkj_wait_for_dependencies();
    if (tkj_thread() == 5)
        p.out[0] = p.in[(WRONG_ROWS - 1) * WRONG_PITCH + WRONG_COLUMNS - 1 + p.wrong];
}

WRONG_KERNEL(read_between_rows)
{
    tkj_wait_for_dependencies();
    p.out[tkj_thread()] = p.in[tkj_thread() + p.wrong];
}

WRONG_KERNEL(write_between_rows)
{
    tkj_wait_for_dependencies();
    p.out[tkj_thread() + p.wrong] = 1;
}

WRONG_KERNEL(write_to_an_input)
{
    tkj_wait_for_dependencies();
    (p.wrong ? (tkj_u32 *)p.in : p.out)[tkj_thread()] = 1;
}

WRONG_KERNEL(write_to_the_parameters)
{
    tkj_wait_for_dependencies();
    *(p.wrong ? (tkj_u32 *)&p.wrong : p.out + tkj_thread()) = 1;
}

WRONG_KERNEL(local_memory_of_another_thread)
{
    WRONG_SHARED(shared);
    volatile tkj_u32 local = tkj_thread();
    tkj_wait_for_dependencies();
    ((volatile tkj_u32 **)shared)[tkj_thread()] = &local;
    tkj_block_barrier();
    tkj_u32 of = p.wrong ? next_thread() : tkj_thread();
    p.out[tkj_thread()] = *((volatile tkj_u32 **)shared)[of];
    tkj_block_barrier();
}

WRONG_KERNEL(misaligned_quad)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    for (tkj_u32 i = 0; i < 3; i++)
        shared[i * WRONG_THREADS + tkj_thread()] = i;
    tkj_block_barrier();
    tkj_u32 first = tkj_thread() / 4 * 4 + p.wrong;
    tkj_quad quad = *(const tkj_quad *)(shared + first);
    p.out[tkj_thread()] = quad.words[tkj_thread() % 4];
}

WRONG_KERNEL(misaligned_word)
{
    tkj_wait_for_dependencies();
    const char *bytes = (const char *)p.in;
    p.out[tkj_thread()] = *(const tkj_u32 *)(bytes + 2 * p.wrong);
}

WRONG_KERNEL(misaligned_atomic)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    if (tkj_thread() < 2)
        shared[tkj_thread()] = 0;
    tkj_block_barrier();
    tkj_atomic_add((tkj_u32 *)((char *)shared + 2 * p.wrong), 1);
}

WRONG_KERNEL(ballot_orders_no_memory)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    shared[tkj_thread()] = 1;
    if (p.wrong)
        tkj_ballot(true);
    else
        tkj_warp_barrier();
    p.out[tkj_thread()] = shared[tkj_thread() ^ 1];
}

WRONG_KERNEL(warp_barrier_orders_no_other_warp)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    shared[tkj_thread()] = 1;
    tkj_warp_barrier();
    p.out[tkj_thread()] = shared[tkj_thread() ^ (p.wrong ? 32 : 31)];
}

WRONG_KERNEL(barriers_of_two_branches)
{
    tkj_wait_for_dependencies();
    if (p.wrong && tkj_warp() == 0)
        tkj_block_barrier();
    else
        tkj_block_barrier();
}

WRONG_KERNEL(barrier_that_a_thread_skips)
{
    WRONG_SHARED(shared);
    tkj_wait_for_dependencies();
    if (p.wrong == 1 && tkj_thread() == 7)
        return;
    shared[tkj_thread()] = 0;
    if (p.wrong == 2 && tkj_warp() == 1)
        tkj_ballot(true);
    tkj_block_barrier();
    if (p.wrong == 2 && tkj_thread() == 7)
        tkj_block_barrier();
}

WRONG_KERNEL(lanes_at_two_votes)
{
    tkj_wait_for_dependencies();
    if (p.wrong && tkj_lane() < 5)
        p.out[tkj_thread()] = tkj_ballot(true);
    else
        p.out[tkj_thread()] = tkj_ballot(true);
}

WRONG_KERNEL(lanes_at_vote_and_shuffle)
{
    tkj_wait_for_dependencies();
    if (p.wrong && tkj_lane() < 5)
        p.out[tkj_thread()] = tkj_shuffle_up(tkj_lane(), 1);
    else
        p.out[tkj_thread()] = tkj_ballot(true);
}

WRONG_KERNEL(vote_with_a_lane_elsewhere)
{
    tkj_wait_for_dependencies();
    if (!p.wrong || tkj_lane() != 9)
        p.out[tkj_thread()] = tkj_ballot(true);
    tkj_block_barrier();
}

WRONG_KERNEL(shuffle_with_an_exited_lane)
{
    tkj_wait_for_dependencies();
    if (p.wrong && tkj_lane() == 9)
        return;
    p.out[tkj_thread()] = tkj_shuffle_up(tkj_lane(), 1);
}

WRONG_KERNEL(access_before_grid_dependencies)
{
    if (p.wrong == 2)
        tkj_atomic_add(p.counter, 1);
    tkj_u32 early = p.wrong == 1 ? p.in[0] : 0;
    tkj_wait_for_dependencies();
    p.out[tkj_thread()] = early;
}

WRONG_KERNEL(exit_without_grid_dependencies)
{
    if (p.wrong && tkj_thread() == 3)
        return;
    tkj_wait_for_dependencies();
}

WRONG_KERNEL(release_before_wait)
{
    if (p.wrong)
        tkj_release_dependents();
    tkj_wait_for_dependencies();
    tkj_release_dependents();
}

WRONG_KERNEL(shift_by_the_width)
{
    tkj_wait_for_dependencies();
    p.out[tkj_thread()] = 1u << (p.in[0] % 32 + (p.wrong ? 32 : 0));
}

WRONG_KERNEL(signed_overflow)
{
    tkj_wait_for_dependencies();
    tkj_i32 sum = (tkj_i32)(p.wrong ? 0x7fffffffu : 5u) + (tkj_i32)tkj_thread();
    p.out[tkj_thread()] = (tkj_u32)sum;
}

WRONG_KERNEL(float_out_of_range)
{
    tkj_wait_for_dependencies();
    float value = p.wrong ? 1e20f : 1e5f;
    p.out[tkj_thread()] = (tkj_u32)(tkj_i32)(value + (float)tkj_thread());
}

WRONG_KERNEL(local_out_of_bounds)
{
    tkj_u32 local[WRONG_THREADS] = {0};
    tkj_wait_for_dependencies();
    local[tkj_thread() + p.wrong] = 1;
    p.out[tkj_thread()] = local[p.in[0] % 8];
}
