/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "complain.h"
#include "quote.h"
#include "source_json.h"
#include "spec.h"

#define VERSION 1
#define TARGETS_MAX 64 /* the schema says so */

/** A list of targets: the manifest's, or a kernel's. */
typedef struct target_list {
    warm_gpu at[TARGETS_MAX];
    size_t count; /* 0 = it has none */
} target_list;

/** What the kernels of one share. */
typedef struct manifest_reader {
    const char *path;
    warm_gpus gpus; /* for kernels without targets */
    warm_pairs *out;
} manifest_reader;

/** Room for what a kernel is called, such as "kernels[123]", and for what is in it. */
#define PLACE_SIZE 40
#define KEY_SIZE 96

static bool read_targets(const char *path, const char *place, const json_t *list, target_list *out)
{
    char expected[64];
    out->count = 0;
    if (list == NULL)
        return true;
    snprintf(expected, sizeof expected, "an array of 1 to %d names", TARGETS_MAX);
    if (json_array_size(list) < 1 || json_array_size(list) > TARGETS_MAX)
        return warm_source_wrong(path, place, list, expected);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *name = json_array_get(list, i);
        tkj_target target;
        char key[KEY_SIZE];
        snprintf(key, sizeof key, "%s[%zu]", place, i);
        if (!json_is_string(name) || !tkj_target_parse(json_string_value(name), &target))
            return warm_source_wrong(path, key, name,
                                     "a target such as \"sm_90\" or \"compute_90\"");
        out->at[out->count++] = warm_gpu_of(target);
    }
    return true;
}

static bool read_spec(const char *path, const char *place, const json_t *text, topk_jit_spec *out)
{
    if (!json_is_string(text))
        return warm_source_wrong(path, place, text,
                                 "a text such as \"layout=paged,topk=2048,page_size=64\"");
    if (tkj_spec_parse(json_string_value(text), out) == TOPK_JIT_OK)
        return true;
    char why[WARM_QUOTE_SIZE];
    warm_quote(topk_jit_last_error()->message, strlen(topk_jit_last_error()->message), why);
    warm_complain("%s: %s: %s", path, place, why);
    return false;
}

static bool read_kernel(const char *path, const char *place, json_t *kernel, topk_jit_spec *spec,
                        target_list *targets)
{
    static const char *const known[] = {"spec", "targets", NULL};
    char key[KEY_SIZE];
    if (!json_is_object(kernel))
        return warm_source_wrong(path, place, kernel, "an object with a spec");
    if (!warm_source_keys(path, place, kernel, known))
        return false;
    snprintf(key, sizeof key, "%s.spec", place);
    if (!read_spec(path, key, json_object_get(kernel, "spec"), spec))
        return false;
    snprintf(key, sizeof key, "%s.targets", place);
    return read_targets(path, key, json_object_get(kernel, "targets"), targets);
}

static int add_kernel(const manifest_reader *reader, size_t index, json_t *kernel)
{
    char place[PLACE_SIZE];
    topk_jit_spec spec;
    target_list targets = {.count = 0};
    snprintf(place, sizeof place, "kernels[%zu]", index);
    if (!read_kernel(reader->path, place, kernel, &spec, &targets))
        return WARM_EXIT_USAGE;
    if (targets.count > 0)
        return warm_pairs_add(reader->out, &spec, (warm_gpus){targets.at, targets.count});
    if (reader->gpus.count > 0)
        return warm_pairs_add(reader->out, &spec, reader->gpus);
    warm_complain("%s: %s.targets is missing, as are targets for all and --arch", reader->path,
                  place);
    return WARM_EXIT_USAGE;
}

static int add_all(const char *path, json_t *root, warm_gpus gpus, warm_pairs *out)
{
    static const char *const known[] = {"version", "targets", "kernels", NULL};
    target_list targets;
    int64_t version;
    const json_t *kernels = json_object_get(root, "kernels");
    if (!warm_source_keys(path, "it", root, known) ||
        !warm_source_number(path, "version", json_object_get(root, "version"), VERSION, VERSION,
                            &version) ||
        !read_targets(path, "targets", json_object_get(root, "targets"), &targets))
        return WARM_EXIT_USAGE;
    if (json_array_size(kernels) == 0) {
        warm_source_wrong(path, "kernels", kernels, "an array with at least one kernel");
        return WARM_EXIT_USAGE;
    }
    const warm_gpus otherwise = targets.count > 0 ? (warm_gpus){targets.at, targets.count} : gpus;
    const manifest_reader reader = {path, otherwise, out};
    int code = WARM_EXIT_DONE;
    for (size_t i = 0; i < json_array_size(kernels) && code == WARM_EXIT_DONE; i++)
        code = add_kernel(&reader, i, json_array_get(kernels, i));
    return code;
}

int warm_manifest(const char *path, warm_gpus gpus, warm_pairs *out)
{
    json_t *root = warm_source_json(path);
    const int code = root != NULL ? add_all(path, root, gpus, out) : WARM_EXIT_USAGE;
    json_decref(root);
    return code;
}
