/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin with a copy of topk-jit of its own. */
#include <topk_jit/topk_jit.h>

extern const topk_jit_error *plugin_last_error(void);

/* Fails in the plugin's copy, and shows where that keeps its error. */
const topk_jit_error *plugin_last_error(void)
{
    topk_jit_context_create(NULL, NULL);
    return topk_jit_last_error();
}
