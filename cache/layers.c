/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the layers on disk. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layer.h"
#include "memory.h"

/* So many packs in one directory are none that anybody made on purpose. */
#define PACKS_MAX 1024

/* The index is kept, for a pack never changes. One that cannot be used is no failure: each look-up
   tries it anew, and says once what is wrong. @return TOPK_JIT_OK, TOPK_JIT_OS_FAILED for a
   shortage */
static topk_jit_status read_pack(const tkj_layer_reader *reader, tkj_layer *layer)
{
    tkj_file file;
    const char *flaw;
    if (tkj_pack_file_open(layer->path, reader->trust, &file, &flaw) != 0)
        return tkj_pack_is_shortage(errno) ? TOPK_JIT_OS_FAILED : TOPK_JIT_OK;
    const bool read = tkj_pack_head_read(&reader->allocator, &file, &layer->head);
    close(file.fd);
    return read ? TOPK_JIT_OK : TOPK_JIT_OS_FAILED;
}

/* Takes the path over. @return as tkj_layers_find */
static topk_jit_status add(const tkj_layer_reader *reader, tkj_layer_kind kind, char *path,
                           tkj_layers *layers)
{
    const topk_jit_allocator *allocator = &reader->allocator;
    tkj_layer *larger =
        path != NULL ? tkj_alloc_zeroed(allocator, layers->count + 1, sizeof *larger) : NULL;
    if (larger == NULL) {
        tkj_free(allocator, path);
        return TOPK_JIT_OUT_OF_MEMORY;
    }
    if (layers->count > 0)
        memcpy(larger, layers->at, layers->count * sizeof *larger);
    tkj_free(allocator, layers->at);
    layers->at = larger;
    tkj_layer *layer = &layers->at[layers->count++];
    layer->kind = kind;
    layer->path = path;
    return kind == TKJ_LAYER_PACK ? read_pack(reader, layer) : TOPK_JIT_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of a directory's packs. @return how many, or -1 with errno */
static int list_packs(const topk_jit_allocator *allocator, DIR *directory, char *names[PACKS_MAX])
{
    int count = 0;
    errno = 0;
    for (struct dirent *file = readdir(directory); file != NULL && count < PACKS_MAX;
         file = readdir(directory)) {
        if (tkj_pack_is_name(file->d_name)) {
            names[count] = tkj_strdup(allocator, file->d_name);
            if (names[count] == NULL) {
                errno = ENOMEM;
                break;
            }
            count++;
        }
        errno = 0; /* readdir tells its end from a failure by nothing else */
    }
    if (errno == 0)
        return count;
    const int error = errno;
    while (count-- > 0)
        tkj_free(allocator, names[count]);
    errno = error;
    return -1;
}

/* Packs of a directory that can be read and trusted; of another one there are none, and a look-up
   in the directory itself says why. */
static topk_jit_status add_packs(const tkj_layer_reader *reader, const char *path,
                                 tkj_layers *layers)
{
    char *names[PACKS_MAX];
    const char *why;
    int fd = tkj_os_open_trusted_dir(path, reader->trust, &why);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    int count = directory != NULL ? list_packs(&reader->allocator, directory, names) : -1;
    topk_jit_status status =
        count < 0 && tkj_pack_is_shortage(errno) ? TOPK_JIT_OS_FAILED : TOPK_JIT_OK;
    if (directory != NULL)
        closedir(directory);
    else if (fd >= 0)
        close(fd);
    if (count > 0)
        qsort(names, (size_t)count, sizeof names[0], compare_names);
    for (int i = 0; i < count; i++) {
        if (status == TOPK_JIT_OK)
            status = add(reader, TKJ_LAYER_PACK,
                         tkj_format(&reader->allocator, "%s/%s", path, names[i]), layers);
        tkj_free(&reader->allocator, names[i]);
    }
    return status;
}

/* A pack, or a directory after its packs. */
static topk_jit_status add_place(const tkj_layer_reader *reader, const char *path,
                                 tkj_layers *layers)
{
    const bool pack = tkj_pack_is_name(path);
    topk_jit_status status = pack ? TOPK_JIT_OK : add_packs(reader, path, layers);
    if (status == TOPK_JIT_OK)
        status = add(reader, pack ? TKJ_LAYER_PACK : TKJ_LAYER_READ_ONLY,
                     tkj_strdup(&reader->allocator, path), layers);
    return status;
}

static topk_jit_status add_places(const tkj_layer_reader *reader, const char *paths,
                                  tkj_layers *layers)
{
    topk_jit_status status = TOPK_JIT_OK;
    while (status == TOPK_JIT_OK && *paths != '\0') {
        size_t length = strcspn(paths, ":");
        if (length > 0) {
            char *path = tkj_format(&reader->allocator, "%.*s", (int)length, paths);
            status = path != NULL ? add_place(reader, path, layers) : TOPK_JIT_OUT_OF_MEMORY;
            tkj_free(&reader->allocator, path);
        }
        paths += length;
        paths += *paths == ':';
    }
    return status;
}

topk_jit_status tkj_layers_find(const tkj_layer_reader *reader, const char *ro_dirs,
                                const char *installed, const char *root, tkj_layers *out)
{
    topk_jit_status status = TOPK_JIT_OK;
    *out = (tkj_layers){NULL, 0};
    if (ro_dirs != NULL)
        status = add_places(reader, ro_dirs, out);
    if (status == TOPK_JIT_OK && installed != NULL && access(installed, F_OK) == 0)
        status = add_place(reader, installed, out);
    if (status == TOPK_JIT_OK && root != NULL)
        status = add(reader, TKJ_LAYER_USER, tkj_strdup(&reader->allocator, root), out);
    if (status != TOPK_JIT_OK)
        tkj_layers_release(&reader->allocator, out);
    return status;
}

void tkj_layers_release(const topk_jit_allocator *allocator, tkj_layers *layers)
{
    for (size_t i = 0; i < layers->count; i++) {
        tkj_free(allocator, layers->at[i].path);
        tkj_pack_head_release(allocator, &layers->at[i].head);
    }
    tkj_free(allocator, layers->at);
    *layers = (tkj_layers){NULL, 0};
}
