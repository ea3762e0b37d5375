/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a copy of topk-jit, which loads a plugin with another (argument), and has
   functions of its own under names that the library uses inside. It exports all its symbols, as a
   program with plugins does; what the library calls must be the library's own all the same. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <topk_jit/topk_jit.h>

static int strayed;

#define OURS(name)                                                                                 \
    extern void *name(void);                                                                       \
    void *name(void)                                                                               \
    {                                                                                              \
        strayed++;                                                                                 \
        return NULL;                                                                               \
    }
OURS(tkj_alloc)
OURS(tkj_alloc_zeroed)
OURS(tkj_fail)
OURS(tkj_log)
OURS(tkj_config_read)

int main(int argc, char **argv)
{
    const topk_jit_error *(*plugin_last_error)(void);
    void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    void *symbol = plugin != NULL ? dlsym(plugin, "plugin_last_error") : NULL;
    if (symbol == NULL) {
        fprintf(stderr, "no plugin\n");
        return 1;
    }
    memcpy(&plugin_last_error, &symbol, sizeof symbol);

    topk_jit_context *context = NULL;
    if (topk_jit_context_create(&context, NULL) != TOPK_JIT_OK)
        return 1;
    topk_jit_context_destroy(context);
    if (plugin_last_error()->status != TOPK_JIT_INVALID_ARGUMENT)
        fprintf(stderr, "the plugin's copy has no error of its own\n");
    else if (topk_jit_last_error()->status != TOPK_JIT_OK)
        fprintf(stderr, "the plugin's error came to the program's copy\n");
    else if (strayed > 0)
        fprintf(stderr, "the library called a function of the program\n");
    else
        return 0;
    return 1;
}
