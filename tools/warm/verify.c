/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include "verify_directory.h"
#include "verify_file.h"

static void check_place(const warm_inventory *inventory, const warm_place *place,
                        warm_verification *to)
{
    if (place->kind == TKJ_LAYER_PACK)
        warm_verify_pack(place->path, inventory->reader.trust, to);
    else if (place->flaw == NULL)
        warm_verify_directory(inventory, place, to);
    else if (place->absent && place->named)
        warm_verify_note_missing(to, place->path);
    else if (!place->absent || place->kind != TKJ_LAYER_USER) /* it comes with its first entry */
        warm_verify_note(to, WARM_FINDING_UNUSABLE, place->path, place->flaw, false);
}

void warm_verify_places(const warm_inventory *inventory, warm_verification *verification)
{
    for (size_t i = 0; i < inventory->place_count; i++)
        check_place(inventory, &inventory->places[i], verification);
}
