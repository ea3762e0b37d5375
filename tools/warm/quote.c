/* SPDX-License-Identifier: Apache-2.0 */
#include "quote.h"

#include <stdio.h>

#include "out.h"

/* Each byte becomes four characters at most. */
#define QUOTED_MAX ((size_t)240)
_Static_assert(4 * QUOTED_MAX + sizeof "..." <= WARM_QUOTE_SIZE, "a quotation fits");

void warm_quote(const char *text, size_t length, char out[WARM_QUOTE_SIZE])
{
    out[0] = '\0';
    FILE *to = fmemopen(out, WARM_QUOTE_SIZE, "w");
    if (to == NULL)
        return; /* there is no memory: a message without it is better than none */
    warm_out_text(to, text, length < QUOTED_MAX ? length : QUOTED_MAX);
    if (length > QUOTED_MAX)
        fputs("...", to);
    (void)fclose(to);
}
