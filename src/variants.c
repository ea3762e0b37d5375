/* SPDX-License-Identifier: Apache-2.0 */
#include "variants.h"

#include "device.h"
#include "ordered_key.h"
#include "params.h"
#include "spec.h"

/* Every thread owns bins of an 11-bit digit: a divisor of 2048. 512 threads a block leave room for
   several blocks an SM at any register count. */
#define GENERAL_THREADS 512u
#define GENERAL_ITEMS 8u

/* Shared memory of a block that every GPU grants, as an opt-in. More slots than fit it are sorted
   in place. */
#define SHARED_BYTES_MAX 65536u

/* The largest k whose positions the rows in registers leave shared memory for. */
#define REGISTERS_TOPK_MAX 8192

#define LARGER(a, b) ((a) > (b) ? (a) : (b))

static uint32_t key_bytes(topk_jit_dtype dtype)
{
    return dtype == TOPK_JIT_FLOAT64 || dtype == TOPK_JIT_INT64 ? 8 : 4;
}

static uint32_t index_bytes(const topk_jit_spec *spec)
{
    return spec->index_dtype == TOPK_JIT_INT64 ? 8 : 4;
}

/** Counts of a block's warps, as wide as an index (tkj_scan_shared). */
static uint32_t scan_bytes(const topk_jit_spec *spec, uint32_t threads)
{
    return threads / 32u * index_bytes(spec);
}

/** tkj_sort_shared of so many slots: positions over bins, elements, their bins, crowds. */
static uint64_t sort_bytes_of(const topk_jit_spec *spec, uint64_t slots, uint32_t threads)
{
    uint64_t bytes = key_bytes(spec->dtype) + index_bytes(spec); /* of an element */
    uint64_t rounded = (slots + 3) / 4 * 4;
    uint64_t crowds = (slots / 32 + 1) * ((2 * bytes + 15) / 16 * 16);
    return rounded * index_bytes(spec) + 16 + (slots + 1) * (bytes > 8 ? 16 : 8) + slots * 2 +
           crowds + scan_bytes(spec, threads) + 64;
}

/** Slots that are sorted in shared memory: all or none. */
static uint32_t sort_capacity(const topk_jit_spec *spec)
{
    bool fits = spec->topk <= SHARED_BYTES_MAX &&
                sort_bytes_of(spec, (uint64_t)spec->topk, 1024) <= SHARED_BYTES_MAX;
    return spec->sorted && fits ? (uint32_t)spec->topk : 0;
}

static uint32_t sort_bytes(const topk_jit_spec *spec, uint32_t threads)
{
    uint32_t capacity = sort_capacity(spec);
    return capacity ? (uint32_t)sort_bytes_of(spec, capacity, threads) : 0;
}

/** The 2048 bins of a histogram and of the search in it (tkj_histogram). */
static uint32_t histogram_bytes(const topk_jit_spec *spec, uint32_t threads)
{
    return 2052u * 4u + scan_bytes(spec, threads) + 32u;
}

static tkj_variant general_variant(const topk_jit_spec *spec)
{
    return (tkj_variant){
        .name = "general",
        .template_name = "select_general.cu",
        .threads = GENERAL_THREADS,
        .items = GENERAL_ITEMS,
        .blocks_per_sm = 1,
        .sort_capacity = sort_capacity(spec),
        .shared_bytes =
            LARGER(sort_bytes(spec, GENERAL_THREADS), histogram_bytes(spec, GENERAL_THREADS)),
    };
}

/** select_whole.cu: small, so that many rows are under way at once. */
static tkj_variant whole_variant(const topk_jit_spec *spec)
{
    return (tkj_variant){
        .name = "whole",
        .template_name = "select_whole.cu",
        .threads = 256,
        .items = 4,
        .blocks_per_sm = 8,
        .capacity = spec->topk,
        .whole = true,
    };
}

/** Shapes of select_registers.cu: rows of up to threads * items scores. */
typedef struct registers_shape {
    const char *name;
    uint32_t threads;
    uint32_t items;
    uint32_t blocks_per_sm;
} registers_shape;

static const registers_shape registers_shapes[] = {
    {"registers_256x32", 256, 32, 4},
    {"registers_512x32", 512, 32, 2},
    {"registers_1024x32", 1024, 32, 1},
};

/** tkj_held_shared. */
static uint32_t held_bytes(const topk_jit_spec *spec, const registers_shape *shape)
{
    uint32_t capacity = shape->threads * shape->items;
    uint32_t selected = 2u * (spec->topk < capacity ? (uint32_t)spec->topk : capacity);
    uint32_t group = 16u / (uint32_t)tkj_dtype_size(spec->dtype);
    uint32_t bitmaps = 2u * (capacity / group);
    uint32_t candidates = 128u * 8u;
    uint32_t warps = 2u * 4u * (shape->threads / 32u); /* below: and the row and its window */
    return (selected + histogram_bytes(spec, shape->threads) + bitmaps + candidates + warps +
            scan_bytes(spec, shape->threads) + 160u + 15u) /
           16u * 16u;
}

/** True for specs whose kernels need more registers than the dense shapes grant. */
static bool is_heavy(const topk_jit_spec *spec)
{
    return spec->index_dtype == TOPK_JIT_INT64 || spec->nan_last || spec->check;
}

/** Blocks an SM, which bound the registers: a sort keeps elements in them. */
static uint32_t blocks_of(const topk_jit_spec *spec, const registers_shape *shape)
{
    bool halved = is_heavy(spec) || (spec->sorted && spec->topk > 2048);
    return halved ? (shape->blocks_per_sm + 1) / 2 : shape->blocks_per_sm;
}

static tkj_variant registers_variant(const topk_jit_spec *spec, const registers_shape *shape)
{
    return (tkj_variant){
        .name = shape->name,
        .template_name = "select_registers.cu",
        .threads = shape->threads,
        .items = shape->items,
        .blocks_per_sm = blocks_of(spec, shape),
        .sort_capacity = sort_capacity(spec),
        .shared_bytes = LARGER(held_bytes(spec, shape), sort_bytes(spec, shape->threads)),
        .capacity = (int64_t)shape->threads * shape->items,
    };
}

/* Smaller pages are so many that copying all of them takes longer than fetching k. */
#define STAGED_PAGE_SIZE_MIN 16

/** Shared memory of an SM: programming guide, technical specifications. */
static uint32_t shared_of_sm(int architecture)
{
    if (architecture < 80)
        return 64 * 1024;
    if (architecture == 80 || architecture == 87)
        return 164 * 1024;
    return architecture >= 90 && architecture < 120 ? 228 * 1024 : 100 * 1024;
}

/** Lets a variant of select_registers.cu hold the page table of a row, where that leaves its blocks
 * room on an SM. */
static void stage_pages(const topk_jit_spec *spec, int architecture, tkj_variant *variant)
{
    const uint32_t reserved = 1024; /* of each block, by the driver */
    if (spec->layout != TOPK_JIT_LAYOUT_PAGED || spec->page_size < STAGED_PAGE_SIZE_MIN)
        return;
    uint32_t pages = (uint32_t)((variant->capacity - 1) / spec->page_size + 1);
    pages = (pages + variant->threads - 1) / variant->threads * variant->threads;
    uint32_t bytes = variant->shared_bytes + 15u + 4u * pages;
    if (variant->blocks_per_sm * (bytes + reserved) > shared_of_sm(architecture))
        return;
    variant->staged_pages = pages;
    variant->shared_bytes = bytes / 16u * 16u + 16u;
}

/* The largest k of which a sample lets few enough others pass beside it. */
#define STREAM_TOPK_MAX 4096

/* Scores that may pass (LIST). */
#define STREAM_LIST 6144u

/** tkj_listed_shared: bitmap, codes, extremes, positions. */
static uint32_t listed_bytes(const topk_jit_spec *spec, uint32_t threads)
{
    bool ordered = spec->deterministic || spec->tie_break != TOPK_JIT_TIE_BREAK_NONE;
    uint32_t bitmap = ordered ? (spec->topk > 2048 ? 65536u : 131072u) / 8u : 0;
    return bitmap + 128u * 8u + 2u * 8u * (threads / 32u) + scan_bytes(spec, threads) +
           4u * (uint32_t)spec->topk + 48u;
}

/** Shared memory of the lists of select_stream.cu, select_split.cu and select_cluster.cu. */
static uint32_t stream_bytes(const topk_jit_spec *spec, const registers_shape *shape)
{
    uint32_t counts = 2u * 4u * (shape->threads / 32u) + 48u;
    return held_bytes(spec, shape) + STREAM_LIST * 8u + listed_bytes(spec, shape->threads) + counts;
}

/** select_stream.cu: four groups of 16 bytes a thread, so that 8192 scores are held. */
static tkj_variant stream_variant(const topk_jit_spec *spec)
{
    bool wide = spec->dtype == TOPK_JIT_FLOAT32;
    const registers_shape shape = {"stream", wide ? 512 : 256, wide ? 16 : 32, 2};
    tkj_variant variant = registers_variant(spec, &shape);
    variant.template_name = "select_stream.cu";
    variant.shared_bytes = LARGER(stream_bytes(spec, &shape), sort_bytes(spec, shape.threads));
    variant.capacity = INT32_MAX - 16384; /* columns and rounds are counted in 32 bits */
    return variant;
}

/** The same of a sort, whose registers leave room for one block, or for two of one row each. */
static tkj_variant looping_stream_variant(const topk_jit_spec *spec)
{
    tkj_variant variant = stream_variant(spec);
    variant.name = "stream_rows";
    variant.blocks_per_sm = 1;
    return variant;
}

/** select_split.cu: 8192 scores a block of any dtype; as it has SMs to spare, one block an SM. */
static tkj_variant split_variant(const topk_jit_spec *spec)
{
    const registers_shape shape = {"split", 512, 16, 1};
    tkj_variant variant = registers_variant(spec, &shape);
    variant.template_name = "select_split.cu";
    variant.shared_bytes = LARGER(stream_bytes(spec, &shape), sort_bytes(spec, shape.threads));
    variant.capacity = INT32_MAX - TKJ_SPLIT_PARTS_MAX * 16384; /* likewise */
    variant.split = true;
    return variant;
}

/** Shapes of select_cluster.cu, in groups of 16 bytes a thread. */
typedef struct cluster_shape {
    const char *name;
    uint32_t groups;
} cluster_shape;

static const cluster_shape cluster_shapes[] = {
    {"cluster_1", 1}, /* scores of 16 bits: as many a thread as two groups have of 32 */
    {"cluster_2", 2},
    {"cluster_4", 4},
};

/** True if a shape suits a spec: rows that a block does not hold have more than k scores. */
static bool has_cluster(const topk_jit_spec *spec, const cluster_shape *cluster)
{
    int64_t group = 16 / (int64_t)tkj_dtype_size(spec->dtype);
    if (cluster->groups * group < 8)
        return false;
    return spec->topk < (512 * (int64_t)cluster->groups - 1) * group;
}

int64_t tkj_variants_share(const tkj_variant *variant)
{
    return (int64_t)variant->threads * variant->items;
}

static tkj_variant cluster_variant(const topk_jit_spec *spec, const cluster_shape *cluster)
{
    const registers_shape shape = {
        cluster->name, 512, cluster->groups * 16u / (uint32_t)tkj_dtype_size(spec->dtype), 1};
    tkj_variant variant = registers_variant(spec, &shape);
    variant.template_name = "select_cluster.cu";
    variant.shared_bytes =
        LARGER(stream_bytes(spec, &shape), sort_bytes(spec, shape.threads)) + 192; /* tkj_gather */
    variant.capacity =
        INT32_MAX - TKJ_CLUSTER_MAX * tkj_variants_share(&variant) * 2; /* likewise */
    variant.clusters = true;
    return variant;
}

/** True if threads of a shape have registers enough for a spec, a sort included. */
static bool has_registers(const topk_jit_spec *spec, const registers_shape *shape)
{
    const uint32_t sorted_most = 8; /* elements of each thread */
    bool dense = shape->blocks_per_sm > 1;
    return (dense || !is_heavy(spec)) && sort_capacity(spec) <= sorted_most * shape->threads;
}

/** Kernels for rows up to a length, if any, added to a list of so many. @return how many then */
static size_t add_selections(const topk_jit_spec *spec, int architecture, size_t count,
                             tkj_variant out[TKJ_VARIANTS_MAX])
{
    if (spec->topk > REGISTERS_TOPK_MAX)
        return count;
    if (!spec->sorted)
        out[count++] = whole_variant(spec);
    for (size_t i = 0; i < sizeof registers_shapes / sizeof registers_shapes[0]; i++)
        if (has_registers(spec, &registers_shapes[i])) {
            out[count] = registers_variant(spec, &registers_shapes[i]);
            stage_pages(spec, architecture, &out[count++]);
        }
    if (spec->topk <= STREAM_TOPK_MAX && architecture >= 80) { /* 7.5 has 64 KiB a block */
        out[count] = stream_variant(spec);
        out[count].one_row = spec->sorted && out[count].blocks_per_sm > 1;
        if (out[count++].one_row)
            out[count++] = looping_stream_variant(spec);
        for (size_t i = 0; i < sizeof cluster_shapes / sizeof cluster_shapes[0]; i++)
            if (architecture >= 90 && has_cluster(spec, &cluster_shapes[i]))
                out[count++] = cluster_variant(spec, &cluster_shapes[i]);
        if (architecture < 90 && spec->operation == TOPK_JIT_OPERATION_SELECT)
            out[count++] = split_variant(spec); /* without clusters, but with a workspace */
    }
    return count;
}

/* ---- fast_topk ---- */

/* The most slots of a line that its warp compares with one another. */
#define SHORT_TOPK_MAX 256

/** fast_topk_general.cu: short lines are copied to shared memory. */
static tkj_variant general_lines_variant(const topk_jit_spec *selection)
{
    tkj_variant variant = general_variant(selection);
    const uint32_t line = histogram_bytes(selection, GENERAL_THREADS) + TKJ_STAGED_BYTES + 16u;
    variant.template_name = "fast_topk_general.cu";
    variant.shared_bytes = LARGER(variant.shared_bytes, line);
    variant.lines = TKJ_LINES_ANY;
    return variant;
}

/** fast_topk_max.cu: items are the elements that a thread loads at once. */
static tkj_variant max_variant(const topk_jit_spec *spec)
{
    const uint32_t threads = 512;
    return (tkj_variant){
        .name = "max",
        .template_name = "fast_topk_max.cu",
        .threads = threads,
        .items = key_bytes(spec->dtype) == 8 ? 4 : 16,
        .blocks_per_sm = 2,
        .shared_bytes = threads * 16, /* a key and an index each */
        .capacity = INT64_MAX,
        .whole = true,
        .lines = TKJ_LINES_MAXIMUM,
    };
}

/** fast_topk_short.cu: items are the keys of shared memory for each thread. */
static tkj_variant short_variant(const topk_jit_spec *spec)
{
    const uint32_t threads = 256;
    const uint32_t key = key_bytes(spec->dtype);
    const uint32_t items = 128 / key;
    const uint32_t topk = (uint32_t)spec->topk;
    const uint32_t keys = threads * items + 32 + threads / 32 * topk;
    return (tkj_variant){
        .name = "short",
        .template_name = "fast_topk_short.cu",
        .threads = threads,
        .items = items,
        .blocks_per_sm = 4,
        .shared_bytes = keys * key + (threads / 32 + 32) * topk * 2 + 16,
        .capacity = 32 * (int64_t)items,
        .whole = true,
        .lines = TKJ_LINES_SHORT,
    };
}

/** Kernels of fast_topk: for lines, and for those that are rows of a selection. */
static size_t enumerate_fast_topk(const topk_jit_spec *spec, int architecture,
                                  tkj_variant out[TKJ_VARIANTS_MAX])
{
    const topk_jit_spec selection = tkj_spec_of_rows(spec);
    size_t count = 0;
    out[count++] = general_lines_variant(&selection);
    if (spec->topk == 1) {
        out[count++] = max_variant(spec);
        return count;
    }
    if (spec->topk <= SHORT_TOPK_MAX && short_variant(spec).shared_bytes <= SHARED_BYTES_MAX)
        out[count++] = short_variant(spec);
    bool selects = spec->dtype <= TOPK_JIT_BFLOAT16;
    return selects ? add_selections(&selection, architecture, count, out) : count;
}

size_t tkj_variants_enumerate(const topk_jit_spec *spec, int architecture,
                              tkj_variant out[TKJ_VARIANTS_MAX])
{
    if (spec->operation == TOPK_JIT_OPERATION_FAST_TOPK)
        return enumerate_fast_topk(spec, architecture, out);
    out[0] = general_variant(spec);
    return add_selections(spec, architecture, 1, out);
}
