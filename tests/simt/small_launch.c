/* SPDX-License-Identifier: Apache-2.0 */
#include "small_launch.h"

#include "testing.h"

static tkj_simt_region region_of(const char *name, const tkj_guarded *memory, bool output)
{
    return (tkj_simt_region){
        .name = name,
        .data = tkj_guarded_data(memory),
        .rows = memory->rows,
        .row_bytes = memory->columns * 4,
        .pitch_bytes = memory->stride * 4,
        .writable = output,
        .written = !output,
        .block = memory->block,
        .block_size = memory->block_size,
    };
}

bool small_launch_run(small_memory *memory, const tkj_simt_kernel *kernel, uint32_t wrong,
                      uint32_t grid, uint32_t cluster, uint64_t seed, char *message)
{
    memory->counter = 0;
    assert_true(tkj_guarded_create(&memory->in, WRONG_ROWS, WRONG_COLUMNS, WRONG_PITCH, 4, 0));
    assert_true(tkj_guarded_create(&memory->out, WRONG_ROWS, WRONG_COLUMNS, WRONG_PITCH, 4, 0));
    uint32_t *in = tkj_guarded_data(&memory->in);
    for (uint32_t row = 0; row < WRONG_ROWS; row++)
        for (uint32_t column = 0; column < WRONG_COLUMNS; column++)
            in[row * WRONG_PITCH + column] = 1000 * row + column;
    const wrong_params params = {in, tkj_guarded_data(&memory->out), &memory->counter, wrong};
    const tkj_simt_region regions[] = {
        region_of("in", &memory->in, false),
        region_of("out", &memory->out, true),
        {.name = "counter",
         .data = &memory->counter,
         .rows = 1,
         .row_bytes = 4,
         .writable = true,
         .written = true},
    };
    const tkj_simt_launch launch = {kernel, grid, cluster, &params, regions, 3, seed};
    return tkj_simt_run(&launch, message);
}

uint32_t small_launch_out(const small_memory *memory, int row, int column)
{
    return ((const uint32_t *)tkj_guarded_data(&memory->out))[row * WRONG_PITCH + column];
}

void small_launch_release(small_memory *memory)
{
    tkj_guarded_destroy(&memory->in);
    tkj_guarded_destroy(&memory->out);
}
