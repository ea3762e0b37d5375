/* SPDX-License-Identifier: Apache-2.0 */
#include "recording.h"

#include <string.h>

#include "command.h"
#include "complain.h"
#include "quote.h"
#include "source_file.h"
#include "spec.h"

/* The library looks at 4 MiB of a recording; what lies beyond may be there twice. */
#define RECORDING_MAX ((uint64_t)16 << 20)

typedef struct recorded_line {
    const char *path;
    size_t number; /* from 1 on */
    const char *text;
    size_t length;
} recorded_line;

static int refuse(const recorded_line *line, const char *why)
{
    char text[WARM_QUOTE_SIZE];
    char reason[WARM_QUOTE_SIZE];
    warm_quote(line->text, line->length, text);
    warm_quote(why, strlen(why), reason);
    warm_complain("%s:%zu: '%s' is no line of TOPK_JIT_RECORD: %s", line->path, line->number, text,
                  reason);
    return WARM_EXIT_USAGE;
}

static int add_line(const recorded_line *line, warm_gpus gpus, warm_pairs *out)
{
    char text[TKJ_SPEC_TEXT_SIZE];
    char canonical[TKJ_SPEC_TEXT_SIZE];
    topk_jit_spec spec;
    if (line->length >= sizeof text || memchr(line->text, '\0', line->length) != NULL)
        return refuse(line, "expected a spec, which is shorter text");
    memcpy(text, line->text, line->length);
    text[line->length] = '\0';
    if (tkj_spec_parse(text, &spec) != TOPK_JIT_OK)
        return refuse(line, topk_jit_last_error()->message);
    tkj_spec_format(&spec, canonical);
    if (strcmp(text, canonical) != 0)
        return refuse(line, "expected all fields, in the order in which the library writes them");
    return warm_pairs_add(out, &spec, gpus);
}

static int add_lines(const warm_file *file, warm_gpus gpus, warm_pairs *out)
{
    const char *at = (const char *)file->bytes;
    const char *end = at + file->size;
    const size_t before = out->count;
    int code = WARM_EXIT_DONE;
    for (size_t number = 1; at < end && code == WARM_EXIT_DONE; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop != NULL ? stop : end) - at);
        const recorded_line line = {file->path, number, at, length};
        if (length > 0)
            code = add_line(&line, gpus, out);
        at += length + 1;
    }
    if (code != WARM_EXIT_DONE || out->count > before)
        return code;
    warm_complain("%s: it has no spec, expected one a line", file->path);
    return WARM_EXIT_USAGE;
}

int warm_recording(const char *path, warm_gpus gpus, warm_pairs *out)
{
    warm_file file;
    int code = WARM_EXIT_USAGE;
    if (warm_source_file(path, RECORDING_MAX, &file))
        code = add_lines(&file, gpus, out);
    warm_file_close(&file);
    return code;
}
