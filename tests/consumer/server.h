/* SPDX-License-Identifier: Apache-2.0 */
/* What decode_loop.c takes for given: memory, streams and graphs of the first GPU, through libcuda,
   which is opened at run time; plain memory and calls where there is none. Failures of the driver
   end the program. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <topk_jit/topk_jit.h>

typedef struct server_graph server_graph;

/* Makes the primary context of the first GPU current. false: there is no GPU. */
bool server_open(void);
/* Ends the use of every stream and frees all memory. */
void server_close(void);

DLDeviceType server_device(void);
CUstream server_stream(void);
void *server_allocate(size_t size);
/* Copies to the device, in the order of the stream; the bytes are taken before it returns. */
void server_write(void *device, const void *host, size_t size, CUstream stream);
/* Waits for the stream, then copies from the device. */
void server_read(void *host, const void *device, size_t size, CUstream stream);

void server_capture_begin(CUstream stream);
server_graph *server_capture_end(CUstream stream);
void server_launch(server_graph *graph, CUstream stream);

/* Stands for attention: out[row] = sum of kv_cache[slot] over the row's slots that are not -1. */
void server_attend(const int32_t *slots, const int32_t *kv_cache, int32_t *out, unsigned rows,
                   unsigned topk, CUstream stream);

#endif
