/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of libcuda: symbol, name here, arguments. Handles are pointers, device memory a number, a result
   an int that is 0 for success; so neither cuda.h nor libcuda is needed to build this. */
#define FUNCTIONS(X)                                                                               \
    X("cuInit", init, (unsigned))                                                                  \
    X("cuDeviceGetCount", device_count, (int *))                                                   \
    X("cuDevicePrimaryCtxRetain", context_retain, (void **, int))                                  \
    X("cuDevicePrimaryCtxRelease_v2", context_release, (int))                                      \
    X("cuCtxSetCurrent", context_set, (void *))                                                    \
    X("cuCtxSynchronize", context_synchronize, (void))                                             \
    X("cuStreamCreate", stream_create, (CUstream *, unsigned))                                     \
    X("cuStreamDestroy_v2", stream_destroy, (CUstream))                                            \
    X("cuStreamSynchronize", stream_synchronize, (CUstream))                                       \
    X("cuMemAlloc_v2", allocate, (uintptr_t *, size_t))                                            \
    X("cuMemFree_v2", release, (uintptr_t))                                                        \
    X("cuMemcpyHtoDAsync_v2", upload, (uintptr_t, const void *, size_t, CUstream))                 \
    X("cuMemcpyDtoHAsync_v2", download, (void *, uintptr_t, size_t, CUstream))                     \
    X("cuModuleLoadData", module_load, (void **, const char *))                                    \
    X("cuModuleUnload", module_unload, (void *))                                                   \
    X("cuModuleGetFunction", module_function, (void **, void *, const char *))                     \
    X("cuLaunchKernel", launch,                                                                    \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,     \
       void **, void **))                                                                          \
    X("cuStreamBeginCapture_v2", capture_begin, (CUstream, int))                                   \
    X("cuStreamEndCapture", capture_end, (CUstream, void **))                                      \
    X("cuGraphInstantiateWithFlags", graph_instantiate,                                            \
      (server_graph **, void *, unsigned long long))                                               \
    X("cuGraphDestroy", graph_destroy, (void *))                                                   \
    X("cuGraphLaunch", graph_launch, (server_graph *, CUstream))                                   \
    X("cuGraphExecDestroy", graph_exec_destroy, (server_graph *))

#define MEMBER(symbol, name, arguments) int(*name) arguments;
static struct {
    FUNCTIONS(MEMBER)
} cuda;

/* What server_close frees. */
#define OWNED_MAX 64
static struct {
    void *memory[OWNED_MAX];
    CUstream streams[OWNED_MAX];
    server_graph *graphs[OWNED_MAX];
    int memory_count, stream_count, graph_count;
    void *module, *attend;
} owned;

static bool has_gpu;

/* for (row = blockIdx.x, i = 0; i < topk; i++)
       if (slots[row * topk + i] >= 0) sum += kv_cache[slots[row * topk + i]];
   out[row] = sum; */
static const char attend_ptx[] = ".version 8.0\n"
                                 ".target sm_75\n"
                                 ".address_size 64\n"
                                 ".visible .entry attend(.param .u64 slots, .param .u64 kv_cache,\n"
                                 "                       .param .u64 out, .param .u32 topk)\n"
                                 "{\n"
                                 "    .reg .pred %p<2>;\n"
                                 "    .reg .b32 %row, %left, %sum, %slot, %value;\n"
                                 "    .reg .b64 %slots, %kv, %out, %offset;\n"
                                 "    ld.param.u64 %slots, [slots];\n"
                                 "    ld.param.u64 %kv, [kv_cache];\n"
                                 "    ld.param.u64 %out, [out];\n"
                                 "    ld.param.u32 %left, [topk];\n"
                                 "    mov.u32 %row, %ctaid.x;\n"
                                 "    mov.u32 %sum, 0;\n"
                                 "    mul.wide.u32 %offset, %row, %left;\n"
                                 "    shl.b64 %offset, %offset, 2;\n"
                                 "    add.s64 %slots, %slots, %offset;\n"
                                 "next:\n"
                                 "    setp.eq.u32 %p0, %left, 0;\n"
                                 "    @%p0 bra done;\n"
                                 "    ld.global.s32 %slot, [%slots];\n"
                                 "    add.s64 %slots, %slots, 4;\n"
                                 "    sub.u32 %left, %left, 1;\n"
                                 "    setp.lt.s32 %p1, %slot, 0;\n"
                                 "    @%p1 bra next;\n"
                                 "    mul.wide.s32 %offset, %slot, 4;\n"
                                 "    add.s64 %offset, %kv, %offset;\n"
                                 "    ld.global.s32 %value, [%offset];\n"
                                 "    add.s32 %sum, %sum, %value;\n"
                                 "    bra next;\n"
                                 "done:\n"
                                 "    mul.wide.u32 %offset, %row, 4;\n"
                                 "    add.s64 %out, %out, %offset;\n"
                                 "    st.global.s32 [%out], %sum;\n"
                                 "    ret;\n"
                                 "}\n";

static void must(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "could not %s: error %d\n", what, result);
    exit(EXIT_FAILURE);
}

static bool find(void *library, const char *symbol, void *function)
{
    void *address = dlsym(library, symbol);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

bool server_open(void)
{
    int count = 0;
    bool found = true;
    void *context, *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL)
        return false;
#define FIND(symbol, name, arguments) found = found && find(library, symbol, &cuda.name);
    FUNCTIONS(FIND)
    if (!found || cuda.init(0) != 0 || cuda.device_count(&count) != 0 || count == 0)
        return false;
    must(cuda.context_retain(&context, 0), "retain the primary context");
    must(cuda.context_set(context), "make a context current");
    must(cuda.module_load(&owned.module, attend_ptx), "load the attention kernel");
    must(cuda.module_function(&owned.attend, owned.module, "attend"), "find the attention kernel");
    return has_gpu = true;
}

static void close_gpu(void)
{
    must(cuda.context_synchronize(), "finish");
    for (int i = 0; i < owned.graph_count; i++)
        must(cuda.graph_exec_destroy(owned.graphs[i]), "destroy a graph");
    for (int i = 0; i < owned.stream_count; i++)
        must(cuda.stream_destroy(owned.streams[i]), "destroy a stream");
    must(cuda.module_unload(owned.module), "unload the attention kernel");
}

void server_close(void)
{
    if (has_gpu)
        close_gpu();
    for (int i = 0; i < owned.memory_count; i++)
        if (has_gpu)
            must(cuda.release((uintptr_t)owned.memory[i]), "free memory");
        else
            free(owned.memory[i]);
    if (has_gpu)
        must(cuda.context_release(0), "release the primary context");
}

DLDeviceType server_device(void)
{
    return has_gpu ? kDLCUDA : kDLCPU;
}

static void must_have_room(int count)
{
    must(count >= OWNED_MAX, "remember more than there is room for");
}

CUstream server_stream(void)
{
    CUstream stream = NULL;
    if (!has_gpu)
        return NULL;
    must_have_room(owned.stream_count);
    must(cuda.stream_create(&stream, 1 /* CU_STREAM_NON_BLOCKING */), "create a stream");
    return owned.streams[owned.stream_count++] = stream;
}

void *server_allocate(size_t size)
{
    uintptr_t memory = 0;
    must_have_room(owned.memory_count);
    if (has_gpu)
        must(cuda.allocate(&memory, size), "allocate memory");
    else
        must((memory = (uintptr_t)malloc(size)) == 0, "allocate memory");
    return owned.memory[owned.memory_count++] = (void *)memory;
}

void server_write(void *device, const void *host, size_t size, CUstream stream)
{
    if (has_gpu)
        must(cuda.upload((uintptr_t)device, host, size, stream), "copy to the GPU");
    else
        memcpy(device, host, size);
}

void server_read(void *host, const void *device, size_t size, CUstream stream)
{
    if (!has_gpu) {
        memcpy(host, device, size);
        return;
    }
    must(cuda.download(host, (uintptr_t)device, size, stream), "copy from the GPU");
    must(cuda.stream_synchronize(stream), "finish the work of a stream");
}

void server_capture_begin(CUstream stream)
{
    must(cuda.capture_begin(stream, 0 /* CU_STREAM_CAPTURE_MODE_GLOBAL */), "begin a capture");
}

server_graph *server_capture_end(CUstream stream)
{
    void *captured;
    server_graph *graph;
    must_have_room(owned.graph_count);
    must(cuda.capture_end(stream, &captured), "end a capture");
    must(cuda.graph_instantiate(&graph, captured, 0), "instantiate a graph");
    must(cuda.graph_destroy(captured), "destroy a captured graph");
    return owned.graphs[owned.graph_count++] = graph;
}

void server_launch(server_graph *graph, CUstream stream)
{
    must(cuda.graph_launch(graph, stream), "launch a graph");
}

void server_attend(const int32_t *slots, const int32_t *kv_cache, int32_t *out, unsigned rows,
                   unsigned topk, CUstream stream)
{
    void *parameters[] = {&slots, &kv_cache, &out, &topk};
    if (has_gpu) {
        must(cuda.launch(owned.attend, rows, 1, 1, 1, 1, 1, 0, stream, parameters, NULL),
             "launch the attention kernel");
        return;
    }
    for (unsigned row = 0; row < rows; row++, slots += topk) {
        out[row] = 0;
        for (unsigned i = 0; i < topk; i++)
            out[row] += slots[i] >= 0 ? kv_cache[slots[i]] : 0;
    }
}
