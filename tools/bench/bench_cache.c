/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_cache.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <topk_jit/topk_jit.h>

#include "bench_complain.h"

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type, (void)at;
    return remove(path);
}

int bench_cache(const char *json)
{
    char directory[4096];
    const char *parent = getenv("TMPDIR");
    bench_costs costs = {.count = 0};
    snprintf(directory, sizeof directory, "%s/topk-jit-bench-XXXXXX",
             parent != NULL && parent[0] == '/' ? parent : "/tmp");
    bench_require(mkdtemp(directory) != NULL, "no directory can be created for the caches");
    bench_cache_disk(directory, &costs);
    bench_cache_cold(directory, &costs);
    nftw(directory, remove_one, 32, FTW_DEPTH | FTW_PHYS);
    bench_costs_print(&costs);
    return json == NULL || bench_costs_write_json(json, &costs) ? BENCH_EXIT_DONE
                                                                : BENCH_EXIT_WRONG;
}
