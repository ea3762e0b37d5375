/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_place.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GREEN_SMS 16 /* room for a cluster of the largest size, and no more than any GPU has */

struct tkj_gpu_place {
    CUcontext context;
    CUstream stream;
    CUstream before; /* while it is current */
    void *green;     /* CUgreenCtx; NULL = none */
};

/* Of the driver that gpu.c has opened and initialised. */
static bool find(const char *symbol, void *function)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *address = library == NULL ? NULL : dlsym(library, symbol);
    memcpy(function, &address, sizeof address);
    if (library != NULL)
        dlclose(library); /* gpu.c keeps it */
    return address != NULL;
}

static void must(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "the CUDA driver failed to %s: error %d\n", what, (int)result);
    exit(EXIT_FAILURE);
}

static void must_find(const char *symbol, void *function)
{
    must(find(symbol, function) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND, symbol);
}

static tkj_gpu_place *new_place(void)
{
    tkj_gpu_place *place = calloc(1, sizeof *place);
    must(place != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY, "give the test memory");
    return place;
}

tkj_gpu_place *tkj_gpu_place_context(void)
{
    CUresult (*create)(CUcontext *, unsigned, CUdevice);
    CUresult (*pop)(CUcontext *);
    must_find("cuCtxCreate_v2", &create);
    must_find("cuCtxPopCurrent_v2", &pop);
    tkj_gpu_place *place = new_place();
    must(create(&place->context, 0, 0), "create a context");
    place->stream = tkj_gpu_stream_create();
    must(pop(&place->context), "pop a context"); /* the primary one is current again */
    return place;
}

#if CUDA_VERSION >= 12050

/* A descriptor of GREEN_SMS multiprocessors. */
static bool describe(CUdevResourceDesc *out)
{
    CUresult (*get)(CUdevice, CUdevResource *, CUdevResourceType);
    CUresult (*split)(CUdevResource *, unsigned *, const CUdevResource *, CUdevResource *, unsigned,
                      unsigned);
    CUresult (*generate)(CUdevResourceDesc *, CUdevResource *, unsigned);
    CUdevResource whole, part;
    unsigned parts = 1;
    if (!find("cuDeviceGetDevResource", &get) || !find("cuDevSmResourceSplitByCount", &split) ||
        !find("cuDevResourceGenerateDesc", &generate))
        return false;
    must(get(0, &whole, CU_DEV_RESOURCE_TYPE_SM), "name its multiprocessors");
    must(split(&part, &parts, &whole, NULL, 0, GREEN_SMS), "split its multiprocessors");
    must(generate(out, &part, 1), "describe a part of its multiprocessors");
    return true;
}

tkj_gpu_place *tkj_gpu_place_green(void)
{
    CUresult (*create)(CUgreenCtx *, CUdevResourceDesc, CUdevice, unsigned);
    CUresult (*context_of)(CUcontext *, CUgreenCtx);
    CUresult (*stream_create)(CUstream *, CUgreenCtx, unsigned, int);
    CUdevResourceDesc description;
    CUgreenCtx green;
    if (!find("cuGreenCtxCreate", &create) || !find("cuCtxFromGreenCtx", &context_of) ||
        !find("cuGreenCtxStreamCreate", &stream_create) || !describe(&description))
        return NULL;
    tkj_gpu_place *place = new_place();
    must(create(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM), "create a green context");
    must(context_of(&place->context, green), "tell the context of a green one");
    must(stream_create(&place->stream, green, CU_STREAM_NON_BLOCKING, 0), "create a green stream");
    place->green = green;
    return place;
}

static void destroy_green(void *green)
{
    CUresult (*destroy)(CUgreenCtx);
    must_find("cuGreenCtxDestroy", &destroy);
    must(destroy(green), "destroy a green context");
}

#else /* the header does not know them */

tkj_gpu_place *tkj_gpu_place_green(void)
{
    return NULL;
}

static void destroy_green(void *green)
{
    (void)green;
}

#endif

void tkj_gpu_place_destroy(tkj_gpu_place *place)
{
    CUresult (*destroy)(CUcontext);
    tkj_gpu_place_enter(place);
    tkj_gpu_stream_destroy(place->stream);
    tkj_gpu_place_leave(place);
    if (place->green != NULL) {
        destroy_green(place->green);
    } else {
        must_find("cuCtxDestroy_v2", &destroy);
        must(destroy(place->context), "destroy a context");
    }
    free(place);
}

void tkj_gpu_place_enter(tkj_gpu_place *place)
{
    CUresult (*set)(CUcontext);
    must_find("cuCtxSetCurrent", &set);
    must(set(place->context), "make a context current");
    place->before = tkj_gpu_stream;
    tkj_gpu_stream = place->stream;
}

void tkj_gpu_place_leave(tkj_gpu_place *place)
{
    tkj_gpu_stream = place->before;
    must(tkj_gpu_open(0) ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE, "go back to the primary context");
}
