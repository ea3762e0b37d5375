/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file simt_preludes.c
 * @brief Writes the main source of each kernel of a list, byte for byte what NVRTC gets, and a
 *        table of the kernels.
 *
 * Usage: simt_preludes LIST FOLDER OLDER COUNT. A line of the list is an architecture, the index of
 * a variant modulo the number that the spec has, and the spec: "sm_90 3 operation=select,...".
 * Kernel n of the list becomes kernel_n.cpp. Kernels of the covering sets follow, as many as COUNT
 * leaves room for: that of sm_90, and from kernel number OLDER on what sm_80 alone has, the splits.
 * Files up to COUNT that are not needed, and those of kernels that a line before named, are empty.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "covering.h"
#include "prelude.h"
#include "spec.h"
#include "status.h"
#include "text.h"
#include "variants.h"

/** Writes a file if it would change, so that nothing is compiled in vain. */
static bool write_file(const char *folder, const char *name, const char *text)
{
    char path[4096];
    static char old[1 << 19];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    size_t size = file != NULL ? fread(old, 1, sizeof old, file) : 0;
    if (file != NULL && fclose(file) == 0 && size == strlen(text) && memcmp(old, text, size) == 0)
        return true;
    file = fopen(path, "w");
    if (file == NULL)
        return false;
    bool written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

/** One line of the list. */
typedef struct line {
    int architecture;
    size_t index; /* of the variant */
    tkj_variant variant;
    topk_jit_spec spec;
    char spec_text[TKJ_SPEC_TEXT_SIZE];
    char prelude[TKJ_PRELUDE_SIZE];
} line;

static bool parse_line(const char *text, line *l)
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    char given[TKJ_SPEC_TEXT_SIZE];
    char *end;
    if (strncmp(text, "sm_", 3) != 0)
        return false;
    l->architecture = (int)strtol(text + 3, &end, 10);
    l->index = strtoul(end, &end, 10);
    if (*end++ != ' ')
        return false;
    snprintf(given, sizeof given, "%.*s", (int)strcspn(end, "\n"), end);
    if (tkj_spec_parse(given, &l->spec) != TOPK_JIT_OK) {
        fprintf(stderr, "%s\n", topk_jit_last_error()->message);
        return false;
    }
    l->spec = tkj_spec_canonical(&l->spec);
    tkj_spec_format(&l->spec, l->spec_text);
    l->index %= tkj_variants_enumerate(&l->spec, l->architecture, variants);
    l->variant = variants[l->index];
    tkj_prelude(&l->spec, &l->variant, l->prelude);
    return true;
}

#define TABLE_SIZE (1 << 18)

/** What the table is made of. */
static char declared[TABLE_SIZE];
static char listed[TABLE_SIZE];
static tkj_text declarations = {declared, TABLE_SIZE, 0};
static tkj_text entries = {listed, TABLE_SIZE, 0};
static line lines[1000];
static unsigned count;

static bool is_listed(const line *l)
{
    for (unsigned n = 0; n < count; n++)
        if (lines[n].architecture == l->architecture && strcmp(lines[n].prelude, l->prelude) == 0)
            return true;
    return false;
}

static bool write_empty(const char *folder, unsigned n)
{
    char name[32];
    snprintf(name, sizeof name, "kernel_%u.cpp", n);
    return write_file(folder, name, "/* no kernel, or one that another line names too */\n");
}

static bool add_line(const char *folder, const char *text)
{
    char name[32];
    line *l = &lines[count];
    if (count + 1 == sizeof lines / sizeof lines[0] || !parse_line(text, l))
        return false;
    snprintf(name, sizeof name, "kernel_%u.cpp", count);
    if (is_listed(l))
        return write_empty(folder, count++);
    tkj_text_append(&declarations, "extern const tkj_simt_kernel tkj_simt_kernel_%u;\n", count);
    tkj_text_append(&entries, "    {\"%s\", %zu, &tkj_simt_kernel_%u},\n", l->spec_text, l->index,
                    count);
    count++;
    return write_file(folder, name, l->prelude);
}

static bool write_table(const char *folder)
{
    static char all[TABLE_SIZE];
    tkj_text table = tkj_text_start(all, TABLE_SIZE);
    tkj_text_append(
        &table, "#include \"kernels.h\"\n%sconst tkj_simt_listed tkj_simt_kernels[] = {\n%s};\n",
        declared, listed);
    tkj_text_append(&table, "const size_t tkj_simt_kernel_count =\n"
                            "    sizeof tkj_simt_kernels / sizeof tkj_simt_kernels[0];\n");
    return table.used < TABLE_SIZE && write_file(folder, "kernels.c", all);
}

static bool add_list(const char *folder, const char *path)
{
    char text[512];
    FILE *list = fopen(path, "r");
    bool added = list != NULL;
    while (added && fgets(text, sizeof text, list) != NULL) {
        if (text[0] == '#' || text[0] == '\n')
            continue;
        added = add_line(folder, text);
        if (!added)
            fprintf(stderr, "%s: cannot use or write this line: %s", path, text);
    }
    return list != NULL && fclose(list) == 0 && added;
}

static bool add_covering_set(const char *folder, int architecture, bool splits, unsigned most)
{
    static tkj_covering_pair pairs[TKJ_COVERING_MAX];
    size_t pair_count = tkj_covering_set(architecture, pairs);
    for (size_t i = 0; i < pair_count && count < most; i++) {
        if (pairs[i].variant.split != splits)
            continue;
        char spec[TKJ_SPEC_TEXT_SIZE];
        char text[TKJ_SPEC_TEXT_SIZE + 32];
        tkj_variant variants[TKJ_VARIANTS_MAX];
        size_t v = 0;
        tkj_variants_enumerate(&pairs[i].spec, architecture, variants);
        while (!tkj_covering_same_variant(&variants[v], &pairs[i].variant))
            v++;
        tkj_spec_format(&pairs[i].spec, spec);
        snprintf(text, sizeof text, "sm_%d %zu %s", architecture, v, spec);
        if (!add_line(folder, text))
            return false;
    }
    return true;
}

static bool fill_up(const char *folder, unsigned most)
{
    bool right = true;
    while (right && count < most)
        right = write_empty(folder, count++);
    return right;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    const char *folder = argv[2];
    unsigned older = (unsigned)strtoul(argv[3], NULL, 10);
    unsigned most = (unsigned)strtoul(argv[4], NULL, 10);
    bool right = add_list(folder, argv[1]) && add_covering_set(folder, 90, false, older) &&
                 fill_up(folder, older) && add_covering_set(folder, 80, true, most) &&
                 fill_up(folder, most);
    return right && write_table(folder) ? 0 : 1;
}
