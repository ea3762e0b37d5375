/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* As in cuda.h, which is not needed for five calls. */
typedef int driver_result;

enum { DRIVER_VERSION = 12000, MAX_DEVICES = 64 };

/* The once-loaded driver table, written under the GIL. */
static struct {
    bool tried;
    driver_result (*context_device)(int *device);
    driver_result (*retain_primary)(void **context, int device);
    driver_result (*push)(void *context);
    driver_result (*pop)(void **context);
    driver_result (*initialise)(unsigned flags);
    void *primary[MAX_DEVICES]; /* kept for the life of the process, as frameworks do */
} driver;

typedef driver_result find_function(const char *symbol, void **address, int version, uint64_t flags,
                                    int *found);

/* Not by dlsym: the plain name of some functions is that of an older version. */
static void find(find_function *look_up, const char *symbol, void *function)
{
    void *address = NULL;
    int found = 0;
    if (look_up(symbol, &address, DRIVER_VERSION, 0, &found) != 0)
        address = NULL;
    memcpy(function, &address, sizeof address);
}

static void open_driver(void)
{
    driver.tried = true;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library == NULL ? NULL : dlsym(library, "cuGetProcAddress_v2");
    if (symbol == NULL)
        return;
    find_function *look_up;
    memcpy(&look_up, &symbol, sizeof symbol);
    find(look_up, "cuInit", &driver.initialise);
    find(look_up, "cuCtxGetDevice", &driver.context_device);
    find(look_up, "cuDevicePrimaryCtxRetain", &driver.retain_primary);
    find(look_up, "cuCtxPushCurrent", &driver.push);
    find(look_up, "cuCtxPopCurrent", &driver.pop);
}

static void *primary_context(int device)
{
    if (device < 0 || device >= MAX_DEVICES || driver.retain_primary == NULL)
        return NULL;
    if (driver.primary[device] == NULL &&
        (driver.initialise == NULL || driver.initialise(0) != 0 ||
         driver.retain_primary(&driver.primary[device], device) != 0))
        driver.primary[device] = NULL;
    return driver.primary[device];
}

tkp_device_scope tkp_driver_enter(int device)
{
    tkp_device_scope scope = {false};
    if (!driver.tried)
        open_driver();
    if (driver.context_device == NULL || driver.push == NULL || driver.pop == NULL)
        return scope;
    int current = -1;
    if (driver.context_device(&current) == 0 && (device == TKP_ANY_DEVICE || current == device))
        return scope;
    void *context = primary_context(device == TKP_ANY_DEVICE ? 0 : device);
    scope.entered = context != NULL && driver.push(context) == 0;
    return scope;
}

void tkp_driver_leave(tkp_device_scope scope)
{
    void *context;
    if (scope.entered)
        driver.pop(&context);
}
