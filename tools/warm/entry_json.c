/* SPDX-License-Identifier: Apache-2.0 */
#include "entry_json.h"

#include "key.h"
#include "out_json.h"

json_t *warm_entry_json(const uint8_t key[TKJ_DIGEST_SIZE], uint32_t major, const tkj_blob *bytes)
{
    char hex[2 * TKJ_DIGEST_SIZE + 1];
    tkj_entry entry;
    const char *spec;
    size_t length;
    if (tkj_entry_decode(bytes->bytes, bytes->size, &entry) != NULL)
        return NULL; /* it is sound: it does not happen */
    tkj_digest_format(key, hex);
    const bool has_spec = tkj_key_field(entry.preimage, "spec", &spec, &length);
    return json_pack("{s:s, s:I, s:o, s:I, s:o, s:o}", "key", hex, "major", (json_int_t)major,
                     "target", warm_json_string(entry.target), "bytes", (json_int_t)bytes->size,
                     "entry_name", warm_json_string(entry.entry_name), "spec",
                     has_spec ? warm_json_text(spec, length) : json_null());
}
