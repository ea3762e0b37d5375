/* SPDX-License-Identifier: Apache-2.0 */
#include "ptxas_log.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/** What the lines read so far were about. */
typedef struct reader {
    const char *entry;
    size_t entry_length;
    bool found;             /* the entry was compiled */
    bool compiling_entry;   /* a "Used" line belongs to the entry */
    bool properties_of_own; /* a "stack frame" line belongs to the entry */
    tkj_ptxas_usage usage;
} reader;

/** End of the word that follows `marker` in [line, end), or NULL if the marker is not there. */
static const char *after(const char *line, const char *end, const char *marker)
{
    const char *found = memmem(line, (size_t)(end - line), marker, strlen(marker));
    return found == NULL ? NULL : found + strlen(marker);
}

static bool names_entry(const reader *r, const char *name, const char *end)
{
    return (size_t)(end - name) >= r->entry_length &&
           memcmp(name, r->entry, r->entry_length) == 0 &&
           (name + r->entry_length == end || strchr("' \r", name[r->entry_length]) != NULL);
}

/** The number before `unit`, such as 12 in "Used 12 registers"; 0 if the unit is not there. */
static uint32_t number_before(const char *line, const char *end, const char *unit)
{
    const char *digits = after(line, end, unit);
    if (digits == NULL)
        return 0;
    digits -= strlen(unit);
    while (digits > line && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    unsigned long value = strtoul(digits, NULL, 10);
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static void read_stack_line(reader *r, const char *line, const char *end)
{
    uint32_t spill = number_before(line, end, " bytes spill stores") +
                     number_before(line, end, " bytes spill loads");
    if (!r->properties_of_own) {
        r->usage.other_spill += spill;
        return;
    }
    uint32_t frame = number_before(line, end, " bytes stack frame");
    if (r->usage.stack < frame)
        r->usage.stack = frame;
    r->usage.spill = spill;
}

static void read_used_line(reader *r, const char *line, const char *end)
{
    r->usage.registers = number_before(line, end, " registers");
    r->usage.static_shared = number_before(line, end, " bytes smem");
    uint32_t cumulative = number_before(line, end, " bytes cumulative stack size");
    if (r->usage.stack < cumulative)
        r->usage.stack = cumulative;
}

static void read_line(reader *r, const char *line, const char *end)
{
    const char *name = after(line, end, "Compiling entry function '");
    if (name != NULL) {
        r->compiling_entry = names_entry(r, name, end);
        r->found = r->found || r->compiling_entry;
        return;
    }
    name = after(line, end, "Function properties for ");
    if (name != NULL)
        r->properties_of_own = names_entry(r, name, end);
    else if (after(line, end, " bytes stack frame") != NULL)
        read_stack_line(r, line, end);
    else if (r->compiling_entry && after(line, end, ": Used ") != NULL)
        read_used_line(r, line, end);
}

bool tkj_ptxas_log_parse(const char *log, const char *entry, tkj_ptxas_usage *out)
{
    reader r = {.entry = entry, .entry_length = strlen(entry)};
    for (const char *line = log; *line != '\0';) {
        const char *end = line + strcspn(line, "\n");
        read_line(&r, line, end);
        line = *end == '\n' ? end + 1 : end;
    }
    *out = r.found ? r.usage : (tkj_ptxas_usage){0};
    return r.found;
}
