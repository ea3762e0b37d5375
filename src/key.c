/* SPDX-License-Identifier: Apache-2.0 */
#include "key.h"

#include <stdio.h>
#include <string.h>

#include "spec.h"

/* Raised when the meaning of a key's fields changes. */
#define SCHEMA "1"

/** Appends "tag length:text\n"; the length keeps two fields from reading as one. */
static size_t append(char *preimage, size_t used, const char *tag, const char *text)
{
    int written =
        snprintf(preimage + used, TKJ_PREIMAGE_SIZE - used, "%s %zu:%s\n", tag, strlen(text), text);
    return used + (size_t)written;
}

void tkj_key_build(const uint8_t template_digest[TKJ_DIGEST_SIZE], const topk_jit_spec *spec,
                   const char *prelude, tkj_target target, tkj_key *out)
{
    char templates[2 * TKJ_DIGEST_SIZE + 1];
    char spec_text[TKJ_SPEC_TEXT_SIZE];
    char target_name[TKJ_TARGET_NAME_SIZE];
    tkj_digest_format(template_digest, templates);
    tkj_spec_format(spec, spec_text);
    tkj_target_format(target, target_name);

    size_t used = append(out->preimage, 0, "schema", SCHEMA);
    used = append(out->preimage, used, "templates", templates);
    used = append(out->preimage, used, "spec", spec_text);
    used = append(out->preimage, used, "prelude", prelude);
    used = append(out->preimage, used, "target", target_name);
    tkj_digest(out->preimage, used, out->digest);
}

typedef struct field {
    const char *tag, *text;
    size_t tag_length, length;
} field;

/** @return what follows the field; NULL if there is none */
static const char *read_field(const char *at, field *out)
{
    out->tag = at;
    out->tag_length = strcspn(at, " \n");
    const char *next = at + out->tag_length;
    if (*next++ != ' ')
        return NULL;
    const char *digits = next;
    const size_t left = strlen(next);
    out->length = 0;
    for (; *next >= '0' && *next <= '9' && out->length <= left; next++)
        out->length = 10 * out->length + (size_t)(*next - '0');
    if (next == digits || *next != ':' || out->length >= strlen(next + 1))
        return NULL;
    out->text = next + 1;
    return out->text[out->length] == '\n' ? out->text + out->length + 1 : NULL;
}

bool tkj_key_field(const char *preimage, const char *tag, const char **text, size_t *length)
{
    field found;
    for (const char *at = preimage; (at = read_field(at, &found)) != NULL;) {
        if (found.tag_length == strlen(tag) && memcmp(found.tag, tag, found.tag_length) == 0) {
            *text = found.text;
            *length = found.length;
            return true;
        }
    }
    return false;
}
