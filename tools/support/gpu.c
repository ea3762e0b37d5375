/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* name in the library, name and type here */
#define FUNCTIONS(X)                                                                               \
    X("cuInit", init, (unsigned))                                                                  \
    X("cuDriverGetVersion", driver_version, (int *))                                               \
    X("cuDeviceGetCount", device_count, (int *))                                                   \
    X("cuDeviceGetName", device_name, (char *, int, CUdevice))                                     \
    X("cuDevicePrimaryCtxRetain", context_retain, (CUcontext *, CUdevice))                         \
    X("cuCtxSetCurrent", context_set, (CUcontext))                                                 \
    X("cuStreamCreate", stream_create, (CUstream *, unsigned))                                     \
    X("cuStreamDestroy_v2", stream_destroy, (CUstream))                                            \
    X("cuStreamSynchronize", stream_synchronize, (CUstream))                                       \
    X("cuStreamWaitEvent", stream_wait, (CUstream, CUevent, unsigned))                             \
    X("cuMemAlloc_v2", allocate, (CUdeviceptr *, size_t))                                          \
    X("cuMemFree_v2", release, (CUdeviceptr))                                                      \
    X("cuMemcpyHtoD_v2", upload, (CUdeviceptr, const void *, size_t))                              \
    X("cuMemcpyDtoH_v2", download, (void *, CUdeviceptr, size_t))                                  \
    X("cuMemcpyDtoDAsync_v2", copy, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                  \
    X("cuMemsetD8Async", fill, (CUdeviceptr, unsigned char, size_t, CUstream))                     \
    X("cuStreamBeginCapture_v2", capture_begin, (CUstream, CUstreamCaptureMode))                   \
    X("cuStreamEndCapture", capture_end, (CUstream, CUgraph *))                                    \
    X("cuGraphInstantiateWithFlags", graph_instantiate,                                            \
      (CUgraphExec *, CUgraph, unsigned long long))                                                \
    X("cuGraphLaunch", graph_launch, (CUgraphExec, CUstream))                                      \
    X("cuGraphExecDestroy", graph_exec_destroy, (CUgraphExec))                                     \
    X("cuGraphDestroy", graph_destroy, (CUgraph))                                                  \
    X("cuEventCreate", event_create, (CUevent *, unsigned))                                        \
    X("cuEventDestroy_v2", event_destroy, (CUevent))                                               \
    X("cuEventRecord", event_record, (CUevent, CUstream))                                          \
    X("cuEventElapsedTime", event_elapsed, (float *, CUevent, CUevent))

#define MEMBER(symbol, name, arguments) CUresult(*name) arguments;
static struct {
    bool ready;
    FUNCTIONS(MEMBER)
} cuda;

struct tkj_gpu_graph {
    CUgraph graph;
    CUgraphExec exec;
};

static bool find(void *library, const char *symbol, void *function)
{
    void *address = dlsym(library, symbol);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool load(void)
{
    if (cuda.ready)
        return true;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL)
        return false;
    bool found = true;
#define FIND(symbol, name, arguments) found = found && find(library, symbol, &cuda.name);
    FUNCTIONS(FIND)
    cuda.ready = found && cuda.init(0) == CUDA_SUCCESS;
    return cuda.ready;
}

static void must(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "the CUDA driver failed to %s: error %d\n", what, (int)result);
    exit(EXIT_FAILURE);
}

static void *must_allocate(size_t size)
{
    void *memory = malloc(size);
    if (memory != NULL)
        return memory;
    fprintf(stderr, "no memory for %zu bytes\n", size);
    exit(EXIT_FAILURE);
}

int tkj_gpu_count(void)
{
    int count = 0;
    if (!load() || cuda.device_count(&count) != CUDA_SUCCESS)
        return 0;
    return count;
}

bool tkj_gpu_open(int ordinal)
{
    CUcontext context;
    if (ordinal >= tkj_gpu_count())
        return false;
    must(cuda.context_retain(&context, ordinal), "retain the primary context");
    must(cuda.context_set(context), "make a context current");
    return true;
}

void tkj_gpu_describe(int ordinal, char name[128], int *driver_version)
{
    must(cuda.device_name(name, 128, ordinal), "name a device");
    must(cuda.driver_version(driver_version), "tell its version");
}

CUstream tkj_gpu_stream_create(void)
{
    CUstream stream;
    must(cuda.stream_create(&stream, CU_STREAM_NON_BLOCKING), "create a stream");
    return stream;
}

void tkj_gpu_stream_destroy(CUstream stream)
{
    must(cuda.stream_destroy(stream), "destroy a stream");
}

void tkj_gpu_synchronize(CUstream stream)
{
    must(cuda.stream_synchronize(stream), "finish the work on a stream");
}

void tkj_gpu_stream_wait(CUstream stream, CUstream other)
{
    CUevent event;
    must(cuda.event_create(&event, CU_EVENT_DISABLE_TIMING), "create an event");
    must(cuda.event_record(event, other), "record an event");
    must(cuda.stream_wait(stream, event, 0), "wait for an event");
    must(cuda.event_destroy(event), "destroy an event");
}

void *tkj_gpu_allocate(size_t size)
{
    CUdeviceptr memory;
    must(cuda.allocate(&memory, size > 0 ? size : 256), "allocate memory");
    return (void *)(uintptr_t)memory;
}

void tkj_gpu_free(void *memory)
{
    must(cuda.release((uintptr_t)memory), "free memory");
}

void tkj_gpu_upload(void *device, const void *host, size_t size)
{
    if (size == 0)
        return;
    must(cuda.upload((uintptr_t)device, host, size), "copy to the device");
    tkj_gpu_synchronize(NULL); /* it may return early, and other streams do not wait for it */
}

void tkj_gpu_download(void *host, const void *device, size_t size)
{
    if (size > 0)
        must(cuda.download(host, (uintptr_t)device, size), "copy from the device");
}

void tkj_gpu_copy(CUstream stream, void *to, const void *from, size_t size)
{
    if (size > 0)
        must(cuda.copy((uintptr_t)to, (uintptr_t)from, size, stream), "copy memory");
}

void tkj_gpu_fill(CUstream stream, void *device, unsigned char byte, size_t size)
{
    if (size > 0)
        must(cuda.fill((uintptr_t)device, byte, size, stream), "fill memory");
}

void tkj_gpu_capture_begin(CUstream stream)
{
    must(cuda.capture_begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin a capture");
}

tkj_gpu_graph *tkj_gpu_capture_end(CUstream stream)
{
    tkj_gpu_graph *graph = must_allocate(sizeof *graph);
    must(cuda.capture_end(stream, &graph->graph), "end a capture");
    must(cuda.graph_instantiate(&graph->exec, graph->graph, 0), "instantiate a graph");
    return graph;
}

void tkj_gpu_graph_launch(tkj_gpu_graph *graph, CUstream stream)
{
    must(cuda.graph_launch(graph->exec, stream), "launch a graph");
}

void tkj_gpu_graph_destroy(tkj_gpu_graph *graph)
{
    must(cuda.graph_exec_destroy(graph->exec), "destroy a graph");
    must(cuda.graph_destroy(graph->graph), "destroy a graph");
    free(graph);
}

tkj_gpu_graph *tkj_gpu_capture(CUstream stream, int calls, tkj_gpu_enqueue enqueue, void *argument)
{
    tkj_gpu_capture_begin(stream);
    for (int call = 0; call < calls; call++)
        enqueue(argument, stream);
    return tkj_gpu_capture_end(stream);
}

static float replay_ms(tkj_gpu_graph *graph, CUstream stream, CUevent start, CUevent end)
{
    float ms;
    tkj_gpu_graph_launch(graph, stream); /* warms up, and covers the launch of the next */
    must(cuda.event_record(start, stream), "record an event");
    tkj_gpu_graph_launch(graph, stream);
    must(cuda.event_record(end, stream), "record an event");
    tkj_gpu_synchronize(stream);
    must(cuda.event_elapsed(&ms, start, end), "tell the time");
    return ms;
}

tkj_spread tkj_gpu_replay_us(tkj_gpu_graph *graph, CUstream stream, int repeats, int calls)
{
    CUevent start, end;
    double *us = must_allocate((size_t)repeats * sizeof *us);
    must(cuda.event_create(&start, 0), "create an event");
    must(cuda.event_create(&end, 0), "create an event");
    for (int repeat = 0; repeat < repeats; repeat++)
        us[repeat] = (double)replay_ms(graph, stream, start, end) * 1000.0 / calls;
    must(cuda.event_destroy(start), "destroy an event");
    must(cuda.event_destroy(end), "destroy an event");
    tkj_spread spread = tkj_spread_of(us, (size_t)repeats);
    free(us);
    return spread;
}

double tkj_gpu_time_us(CUstream stream, int repeats, int calls, tkj_gpu_enqueue enqueue,
                       void *argument)
{
    tkj_gpu_graph *graph = tkj_gpu_capture(stream, calls, enqueue, argument);
    tkj_spread spread = tkj_gpu_replay_us(graph, stream, repeats, calls);
    tkj_gpu_graph_destroy(graph);
    return spread.median;
}
