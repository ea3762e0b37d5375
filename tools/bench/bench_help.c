/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "bench_options.h"
#include "device_facts.h"

static const char head[] =
    "Usage: topk-jit-bench [options]\n"
    "\n"
    "Times the kernels of this library on the GPU present, and in the same process a floor: a\n"
    "kernel that only reads every score once. Each figure is the median of replays of a CUDA "
    "graph\n"
    "of calls, in microseconds a call. Ratios to the floor compare between machines;\n"
    "microseconds only between runs on one GPU model; a difference under 5 % is noise.\n"
    "\n"
    "What is measured: a set, or the product of lists that are separated by commas.\n"
    "  --set must           the table of figures, with must and aim\n"
    "  --set standard       also windows off a 16-byte boundary, forced +inf, short rows: the\n"
    "                       default\n"
    "  --set rules          the bounds that are relative to another case, with verdicts: width,\n"
    "                       short, mixed, data, dtype, layout, options, topk, shared\n"
    "  --quick              what of it can be begun in 50 s\n"
    "  --only TEXT          cases whose line, and rules whose name or line has the text\n"
    "\n"
    "Lists (defaults in brackets). Those after --mode may also be put over a set of cells.\n"
    "  --rows LIST          B                                            [64]\n"
    "  --width LIST         columns of the scores                        [8192]\n"
    "  --length LIST        of every row: numbers, full; mixed and mixed:NUMBER are log-uniform\n"
    "                       from 1 to the width or NUMBER                [full]\n"
    "  --mode LIST          hot (the same buffer again), cold (rotating over more than twice L2)\n"
    "                                                                    [hot]\n"
    "  --operation LIST     select, fast_topk (along the last dimension) [select]\n"
    "  --layout LIST        plain, paged, ragged                         [plain]\n"
    "  --dtype LIST         float32, float16, bfloat16                   [float32]\n"
    "  --topk LIST                                                       [2048]\n"
    "  --distribution LIST  see below                                    [normal]\n"
    "  --sorted, --deterministic, --raw-indices, --values LIST  off, on  [off]\n"
    "  --tie-break LIST     none, smallest, largest                      [none]\n"
    "  --page-size LIST     paged: powers of two                         [64]\n"
    "  --sharing LIST       paged: consecutive rows that share a row of the page table [1]\n"
    "  --row-starts LIST    off, on: windows start off a 16-byte boundary [off]\n"
    "  --max-sms LIST       0 = all                                      [0]\n"
    "  --held-sm LIST       off, on: another kernel occupies one SM      [off]\n"
    "  Combinations that make no sense are left out, and equal ones are measured once.\n"
    "  Distributions:";

static const char tail[] =
    "\n\n"
    "How:\n"
    "  --runs N             separate rounds; the figure is the median of theirs [1]\n"
    "  --replays N          of each graph, 11 or more                    [15]\n"
    "  --calls N            in each graph, 10 or more; cold: at least as many as buffers [20]\n"
    "  --verify             judges every row of every case; by default as many rows as cost\n"
    "                       little time\n"
    "  --no-verify          judges nothing\n"
    "  --json FILE          everything, for programs\n"
    "  --cache              the cache instead, without a GPU: hits with their parts, stores,\n"
    "                       look-ups in memory, 10000 entries, eviction, 16 cold processes\n"
    "                       beside one\n"
    "  --host               what calls cost the thread that makes them: every operation beside\n"
    "                       the bare launch of the same kernel, and the start with a warm cache\n"
    "  --explain            measures nothing: prints which kernel each case launches, and its "
    "grid;\n"
    "                       16+1 where it is launched twice\n"
    "  --device-facts LIST  explains for these GPUs instead of the one present, or for all:";

static const char end[] =
    "\n"
    "  -h, --help\n"
    "  --version\n"
    "\n"
    "A cell is met, and a rule kept, at up to 1.03 times its bound: the rest is noise. fast_topk\n"
    "beside torch.topk: bench_torch.py.\n"
    "\n"
    "Exit status:\n"
    "  0  everything was measured\n"
    "  1  a result was wrong, or a case could not be run\n"
    "  2  the command line is wrong\n"
    "  3  there is no GPU\n"
    "\n"
    "Examples:\n"
    "  topk-jit-bench --set must --runs 5 --json must.json\n"
    "  topk-jit-bench --set must --distribution ascending,forced --only 'B=8 '\n"
    "  topk-jit-bench --rows 1,8,64 --width 131072 --length 4096,full --layout plain,ragged\n"
    "  topk-jit-bench --set must --explain --device-facts all\n"
    "  topk-jit-bench --cache --json cache.json\n"
    "  topk-jit-bench --host\n";

void bench_help(void)
{
    fputs(head, stdout);
    for (int d = 0; d < TKJ_SCORES_COUNT; d++)
        printf("%s %s", d > 0 && d % 6 == 0 ? "\n   " : "",
               tkj_scores_name((tkj_scores_distribution)d));
    fputs(tail, stdout);
    for (size_t i = 0; i < tkj_known_device_count; i++)
        printf("%s %s", i == 0 ? "\n                      " : "", tkj_known_devices[i].name);
    fputs(end, stdout);
}
