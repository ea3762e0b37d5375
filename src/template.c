/* SPDX-License-Identifier: Apache-2.0 */
#include "template.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "installed.h"
#include "memory.h"
#include "os.h"
#include "params.h"
#include "status.h"

/* Where data are, seen from the library's directory: below the prefix, or below the library's own
   directory (a build tree, a Python package). */
static const char *const data_places[] = {tkj_installed_data, "share"};

/* A template larger than this is not one. */
#define FILE_SIZE_MAX ((size_t)1 << 20)

static topk_jit_status reject_file(int error, const char *dir, const char *name)
{
    if (error == EPERM)
        return tkj_fail_native(TOPK_JIT_TEMPLATE_UNTRUSTED, error,
                               "template directory %s: %s belongs to another user or is writable "
                               "by its group or by everybody",
                               dir, name);
    if (error == ELOOP)
        return tkj_fail_native(TOPK_JIT_TEMPLATE_UNTRUSTED, error,
                               "template directory %s: %s is a symbolic link", dir, name);
    return tkj_fail_native(TOPK_JIT_TEMPLATE_NOT_FOUND, error,
                           "template directory %s: %s cannot be read: %s", dir, name,
                           strerror(error));
}

static topk_jit_status read_file(const topk_jit_allocator *allocator, int dir_fd, const char *dir,
                                 const char *name, tkj_source *out)
{
    tkj_blob blob = {0};
    if (tkj_os_read_file(allocator, dir_fd, name, FILE_SIZE_MAX, &blob) != 0) {
        if (errno == ENOMEM)
            return TOPK_JIT_OUT_OF_MEMORY;
        return reject_file(errno, dir, name);
    }
    out->name = name;
    out->text = (const char *)blob.bytes;
    return TOPK_JIT_OK;
}

/** The number that params.h defines as TKJ_TEMPLATE_ABI, or -1. */
static long template_abi(const tkj_template_set *set)
{
    static const char definition[] = "#define TKJ_TEMPLATE_ABI ";
    for (size_t i = 0; i < tkj_embedded_template_count; i++) {
        if (strcmp(set->files[i].name, "params.h") != 0)
            continue;
        const char *line = strstr(set->files[i].text, definition);
        return line != NULL ? strtol(line + strlen(definition), NULL, 10) : -1;
    }
    return -1;
}

static topk_jit_status check_abi(const tkj_template_set *set, const char *dir)
{
    long abi = template_abi(set);
    if (abi == TKJ_TEMPLATE_ABI)
        return TOPK_JIT_OK;
    return tkj_fail(TOPK_JIT_TEMPLATE_ABI,
                    "template directory %s: TKJ_TEMPLATE_ABI is %ld, expected %d", dir, abi,
                    TKJ_TEMPLATE_ABI);
}

/** Digest of "name length:digest" lines, one a file. */
static topk_jit_status digest_set(const topk_jit_allocator *allocator, tkj_template_set *set)
{
    char *text = tkj_strdup(allocator, "");
    for (size_t i = 0; text != NULL && i < tkj_embedded_template_count; i++) {
        const tkj_source *file = &set->files[i];
        uint8_t digest[TKJ_DIGEST_SIZE];
        char hex[2 * TKJ_DIGEST_SIZE + 1];
        tkj_digest(file->text, strlen(file->text), digest);
        tkj_digest_format(digest, hex);
        char *longer =
            tkj_format(allocator, "%s%s %zu:%s\n", text, file->name, strlen(file->text), hex);
        tkj_free(allocator, text);
        text = longer;
    }
    if (text == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    tkj_digest(text, strlen(text), set->digest);
    tkj_free(allocator, text);
    return TOPK_JIT_OK;
}

/** @param[out] exists  false where there is no such directory */
static topk_jit_status load_directory(const topk_jit_allocator *allocator, const char *dir,
                                      tkj_template_set *set, bool *exists)
{
    const char *why = NULL;
    topk_jit_status status = TOPK_JIT_OK;
    int dir_fd = tkj_os_open_trusted_dir(dir, TKJ_TRUST_OWNER, &why);
    *exists = dir_fd >= 0 || errno != ENOENT;
    if (dir_fd < 0)
        return tkj_fail_native(errno == EPERM ? TOPK_JIT_TEMPLATE_UNTRUSTED
                                              : TOPK_JIT_TEMPLATE_NOT_FOUND,
                               errno, "template directory %s %s", dir, why);
    for (size_t i = 0; status == TOPK_JIT_OK && i < tkj_embedded_template_count; i++)
        status = read_file(allocator, dir_fd, dir, tkj_embedded_templates[i].name, &set->files[i]);
    tkj_os_close(dir_fd);
    if (status == TOPK_JIT_OK)
        status = check_abi(set, dir);
    if (status == TOPK_JIT_OK && (set->directory = tkj_strdup(allocator, dir)) == NULL)
        status = TOPK_JIT_OUT_OF_MEMORY;
    return status;
}

static void release_files(const topk_jit_allocator *allocator, tkj_template_set *set)
{
    for (size_t i = 0; set->files != NULL && i < tkj_embedded_template_count; i++) {
        if (set->files[i].text != tkj_embedded_templates[i].text)
            tkj_free(allocator, (void *)(uintptr_t)set->files[i].text);
        set->files[i].text = NULL;
    }
}

/** Tries the installed sets. @return OK also if none is usable: *found says */
static topk_jit_status load_installed(const topk_jit_allocator *allocator, const tkj_logger *logger,
                                      const char *own_directory, tkj_template_set *set, bool *found)
{
    const topk_jit_error kept = *topk_jit_last_error();
    for (size_t i = 0; i < sizeof data_places / sizeof data_places[0]; i++) {
        bool exists = false;
        char *dir =
            tkj_format(allocator, "%s/%s/topk_jit/kernel_templates", own_directory, data_places[i]);
        if (dir == NULL)
            return TOPK_JIT_OUT_OF_MEMORY;
        topk_jit_status status = load_directory(allocator, dir, set, &exists);
        tkj_free(allocator, dir);
        *found = status == TOPK_JIT_OK;
        if (*found || status == TOPK_JIT_OUT_OF_MEMORY)
            return status;
        release_files(allocator, set);
        if (exists)
            tkj_log(logger, TOPK_JIT_LOG_WARNING, "%s; not used", topk_jit_last_error()->message);
        tkj_error_restore(&kept); /* a call that succeeds leaves it as it was */
    }
    return TOPK_JIT_OK;
}

static topk_jit_status load_any(const topk_jit_allocator *allocator, const tkj_logger *logger,
                                const tkj_template_search *search, tkj_template_set *set)
{
    const char *named = search->option_dir ? search->option_dir : search->environment_dir;
    bool found = false, exists;
    if (named != NULL)
        return load_directory(allocator, named, set, &exists);
    if (search->own_directory != NULL) {
        topk_jit_status status =
            load_installed(allocator, logger, search->own_directory, set, &found);
        if (status != TOPK_JIT_OK)
            return status;
    }
    if (!found)
        memcpy(set->files, tkj_embedded_templates,
               tkj_embedded_template_count * sizeof *set->files);
    return TOPK_JIT_OK;
}

topk_jit_status tkj_templates_load(const topk_jit_allocator *allocator, const tkj_logger *logger,
                                   const tkj_template_search *search, tkj_template_set *out)
{
    memset(out, 0, sizeof *out);
    out->files = tkj_alloc_zeroed(allocator, tkj_embedded_template_count, sizeof *out->files);
    if (out->files == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    topk_jit_status status = load_any(allocator, logger, search, out);
    if (status == TOPK_JIT_OK)
        status = digest_set(allocator, out);
    return status;
}

void tkj_templates_free(const topk_jit_allocator *allocator, tkj_template_set *set)
{
    release_files(allocator, set);
    tkj_free(allocator, set->files);
    tkj_free(allocator, set->directory);
    memset(set, 0, sizeof *set);
}
