/* SPDX-License-Identifier: Apache-2.0 */
#include "model_facts.h"

#include <stdio.h>
#include <string.h>

#include "complain.h"
#include "quote.h"
#include "source_json.h"

#define RATIO_MAX 65536

/** The part of a config that describes the attention. */
typedef struct config_section {
    const char *path;
    const json_t *root;
    const json_t *keys;
    const char *prefix; /* of its keys in a message: "" or "text_config." */
} config_section;

/** Room for a key with the name of its section. */
#define KEY_SIZE 96

static bool has(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value != NULL && !json_is_null(value);
}

/** What the model calls itself, for messages. */
static void describe(const json_t *root, char out[WARM_QUOTE_SIZE])
{
    const char *type = json_string_value(json_object_get(root, "model_type"));
    const char *name = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
    char both[256];
    snprintf(both, sizeof both, "model_type %s, architecture %s", type != NULL ? type : "not said",
             name != NULL ? name : "not said");
    warm_quote(both, strlen(both), out);
}

/** Finds the part that has index_topk: the config itself, or the language model of one that also
 * sees or hears. */
static bool find_section(const char *path, const json_t *root, config_section *out)
{
    static const char *const nested[][2] = {{"text_config", "text_config."},
                                            {"language_config", "language_config."},
                                            {"llm_config", "llm_config."}};
    *out = (config_section){path, root, root, ""};
    if (has(root, "index_topk"))
        return true;
    for (size_t i = 0; i < sizeof nested / sizeof nested[0]; i++) {
        const json_t *part = json_object_get(root, nested[i][0]);
        if (has(root, nested[i][0]) && !json_is_object(part))
            return warm_source_wrong(path, nested[i][0], part, "an object");
        *out = (config_section){path, root, part, nested[i][1]};
        if (has(part, "index_topk"))
            return true;
    }
    char name[WARM_QUOTE_SIZE];
    describe(root, name);
    warm_complain("%s: no index_topk in it, nor in its text_config, language_config or llm_config, "
                  "so this model (%s) is not known to select keys; --topk says by hand what to "
                  "build",
                  path, name);
    return false;
}

/** Reads a number that may be missing or null, which leaves *out. */
static bool read_number(const config_section *section, const json_t *object, const char *key,
                        int64_t highest, int64_t *out)
{
    char name[KEY_SIZE];
    if (!has(object, key))
        return true;
    snprintf(name, sizeof name, "%s%s", object == section->root ? "" : section->prefix, key);
    return warm_source_number(section->path, name, json_object_get(object, key), 1, highest, out);
}

/** Models that select in two steps, of pools or among candidates, need what no config says. */
static bool selects_at_once(const config_section *section)
{
    static const char *const keys[] = {"index_kpool", "candidate_topk_blocks"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *value = json_object_get(section->keys, keys[i]);
        if (!has(section->keys, keys[i]) || json_integer_value(value) == 1)
            continue;
        char name[KEY_SIZE];
        snprintf(name, sizeof name, "%s%s", section->prefix, keys[i]);
        return warm_source_wrong(section->path, name, value,
                                 "a model without it: this one selects in two steps, and --topk "
                                 "says by hand what to build for them");
    }
    return true;
}

/** Of one ratio a layer, the lowest that compresses: in DeepSeek V4 layers of ratio 4 select, those
 * of 0 have no keys to select, and those of 128 take all. */
static bool read_ratios(const config_section *section, const json_t *ratios, int64_t *out)
{
    char name[KEY_SIZE];
    snprintf(name, sizeof name, "%scompress_ratios", section->prefix);
    if (!json_is_array(ratios))
        return warm_source_wrong(section->path, name, ratios, "an array of numbers");
    for (size_t i = 0; i < json_array_size(ratios); i++) {
        int64_t ratio;
        snprintf(name, sizeof name, "%scompress_ratios[%zu]", section->prefix, i);
        if (!warm_source_number(section->path, name, json_array_get(ratios, i), 0, RATIO_MAX,
                                &ratio))
            return false;
        if (ratio > 1 && (*out == 1 || ratio < *out))
            *out = ratio;
    }
    return true;
}

/** The same as Transformers writes it: one rate for each kind of layer. */
static bool read_rates(const config_section *section, const json_t *rates, int64_t *out)
{
    static const char key[] = "compressed_sparse_attention";
    char name[KEY_SIZE];
    snprintf(name, sizeof name, "%scompress_rates", section->prefix);
    if (!json_is_object(rates))
        return warm_source_wrong(section->path, name, rates, "an object of numbers");
    snprintf(name, sizeof name, "%scompress_rates.%s", section->prefix, key);
    return !has(rates, key) ||
           warm_source_number(section->path, name, json_object_get(rates, key), 1, RATIO_MAX, out);
}

static bool read_model(const config_section *section, warm_model *out)
{
    int64_t unused; /* an indexer's heads and their size choose no kernel, but must make sense */
    const json_t *keys = section->keys;
    *out = (warm_model){.ratio = 1};
    if (!read_number(section, keys, "index_topk", INT32_MAX, &out->topk) ||
        !read_number(section, keys, "index_n_heads", INT32_MAX, &unused) ||
        !read_number(section, keys, "index_head_dim", INT32_MAX, &unused) ||
        !read_number(section, section->root, "max_position_embeddings", INT64_MAX, &out->context) ||
        !read_number(section, keys, "max_position_embeddings", INT64_MAX, &out->context) ||
        !selects_at_once(section))
        return false;
    if (has(keys, "compress_ratios"))
        return read_ratios(section, json_object_get(keys, "compress_ratios"), &out->ratio);
    if (has(keys, "compress_rates"))
        return read_rates(section, json_object_get(keys, "compress_rates"), &out->ratio);
    return true;
}

bool warm_model_read(const char *path, warm_model *out)
{
    config_section section;
    json_t *root = warm_source_json(path);
    const bool ok = root != NULL && find_section(path, root, &section) && read_model(&section, out);
    json_decref(root);
    return ok;
}
