/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <dlfcn.h>
#include <string.h>

#define TKP_ENTRY(name) {"topk_jit_" #name, offsetof(tkp_library, name)},
static const struct {
    const char *symbol;
    size_t offset;
} entries[] = {TKP_FUNCTIONS(TKP_ENTRY)};

int tkp_library_load(tkp_library *library, const char *path)
{
    tkp_library loaded = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (loaded.handle == NULL) {
        PyErr_SetString(PyExc_OSError, dlerror());
        return -1;
    }
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        void *address = dlsym(loaded.handle, entries[i].symbol);
        if (address == NULL) {
            PyErr_Format(PyExc_OSError, "%s: it has no %s", path, entries[i].symbol);
            dlclose(loaded.handle);
            return -1;
        }
        memcpy((char *)&loaded + entries[i].offset, &address, sizeof address);
    }
    *library = loaded;
    return 0;
}
