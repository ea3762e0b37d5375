/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file gpu.h
 * @brief The CUDA driver for tools and tests: memory, streams, graphs, time. No part of the
 * library.
 *
 * libcuda is opened at run time. After tkj_gpu_open, a failing call prints the driver's reason and
 * ends the program: there is nothing a test or a demo could do instead.
 */
#ifndef TKJ_GPU_H
#define TKJ_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <topk_jit/topk_jit.h>

#include "spread.h"

/** A captured, instantiated graph. */
typedef struct tkj_gpu_graph tkj_gpu_graph;

/** Number of GPUs; 0 without a driver. */
int tkj_gpu_count(void);

/** Makes the primary context of a device current in this thread. @return false if there is no such
 *  GPU */
bool tkj_gpu_open(int ordinal);

/** Name of the device, and the driver's CUDA version as in 13000. */
void tkj_gpu_describe(int ordinal, char name[128], int *driver_version);

CUstream tkj_gpu_stream_create(void);
void tkj_gpu_stream_destroy(CUstream stream);
void tkj_gpu_synchronize(CUstream stream);

/** What comes on the stream from now on waits for what is on the other one, on the GPU; the stream
 *  joins the other one's capture. */
void tkj_gpu_stream_wait(CUstream stream, CUstream other);

/** Device memory, aligned to 256 bytes; size 0 gives 256 bytes. What is uploaded is there for
 *  every stream when the call returns. */
void *tkj_gpu_allocate(size_t size);
void tkj_gpu_free(void *memory);
void tkj_gpu_upload(void *device, const void *host, size_t size);
void tkj_gpu_download(void *host, const void *device, size_t size);

/** Copies and fills within the device are enqueued. Large ones are kernels, and once a second
 * stream has run eight of those, every launch takes 0.2 us more, whose ever it is (H200): what is
 * to be timed is written on the stream that it is timed on. */
void tkj_gpu_copy(CUstream stream, void *to, const void *from, size_t size);
void tkj_gpu_fill(CUstream stream, void *device, unsigned char byte, size_t size);

/** Captures what is enqueued on the stream between begin and end. Global mode: the strictest. */
void tkj_gpu_capture_begin(CUstream stream);
tkj_gpu_graph *tkj_gpu_capture_end(CUstream stream);
void tkj_gpu_graph_launch(tkj_gpu_graph *graph, CUstream stream);
void tkj_gpu_graph_destroy(tkj_gpu_graph *graph);

/** Enqueues one call. */
typedef void (*tkj_gpu_enqueue)(void *argument, CUstream stream);

/** A graph of `calls` calls one after the other. */
tkj_gpu_graph *tkj_gpu_capture(CUstream stream, int calls, tkj_gpu_enqueue enqueue, void *argument);

/** Microseconds that the GPU needs for a graph of `calls` calls, divided by calls, without the time
 *  to launch it, over `repeats` replays. Each is enqueued behind another replay, which is not
 *  measured and keeps the GPU busy until the graph has come. */
tkj_spread tkj_gpu_replay_us(tkj_gpu_graph *graph, CUstream stream, int repeats, int calls);

/** The median of tkj_gpu_replay_us for a graph of `calls` calls. */
double tkj_gpu_time_us(CUstream stream, int repeats, int calls, tkj_gpu_enqueue enqueue,
                       void *argument);

#endif /* TKJ_GPU_H */
