/* SPDX-License-Identifier: Apache-2.0 */
#include "nvrtc_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "os.h"
#include "status.h"

/* Newest first: it knows most architectures. The bare name is a toolkit's link of any version. */
static const char *const library_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
#define LIBRARY_NAME_COUNT (sizeof library_names / sizeof library_names[0])

/** A search under way. */
typedef struct quest {
    const tkj_logger *logger;
    tkj_nvrtc_judge judge;
    void *user;
    const char *rule;          /* that is being followed */
    tkj_nvrtc_refusal refusal; /* the last one; status OK = none was found that could be refused */
    char searched[700];        /* places, separated by ", ": leaves room in a message */
} quest;

static void note_place(quest *q, const char *place)
{
    size_t used = strlen(q->searched);
    snprintf(q->searched + used, sizeof q->searched - used, "%s%s", used > 0 ? ", " : "", place);
}

/** A path leads to a file; a name without a slash is one that the loader looks for. */
static bool is_path(const char *name)
{
    return strchr(name, '/') != NULL;
}

/** The loader waits for ever for somebody to write to a FIFO, and no signal ends that. */
static bool is_no_file(const char *name)
{
    struct stat status;
    return is_path(name) && stat(name, &status) == 0 && !S_ISREG(status.st_mode);
}

/** The loader's reasons begin with the name, which the message about it has already. */
static const char *without_name(const char *reason, const char *name)
{
    const size_t length = strlen(name);
    const bool named = strncmp(reason, name, length) == 0 && reason[length] == ':';
    return named ? reason + length + 1 + strspn(reason + length + 1, " ") : reason;
}

/** Loads one file or soname. @param[out] why  it could not be loaded; valid until the next try */
static void *load(const char *name, int extra_flags, const char **why)
{
    *why = "it is no regular file";
    if (is_no_file(name))
        return NULL;
    dlerror(); /* cleared, so that the reason is that of this name */
    /* Local: symbols of NVRTC must not become those of the server's other libraries. */
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | extra_flags);
    const char *reason = handle == NULL ? dlerror() : NULL;
    *why = reason != NULL ? without_name(reason, name) : "unknown";
    return handle;
}

/** Loads one file or soname and has it judged. @return true if it was taken */
static bool try_library(quest *q, const char *name, int extra_flags)
{
    const char *why;
    void *handle = load(name, extra_flags, &why);
    if (handle == NULL) {
        if (extra_flags == 0)
            tkj_log(q->logger, TOPK_JIT_LOG_DEBUG, "no NVRTC at %s: %s", name, why);
        return false;
    }
    tkj_nvrtc_refusal refusal = {0};
    q->judge(q->user, handle, &refusal);
    if (refusal.status != TOPK_JIT_OK) {
        q->refusal = refusal;
        tkj_log(q->logger, TOPK_JIT_LOG_INFO, "NVRTC at %s is not used: %s", name, refusal.reason);
        return false;
    }
    tkj_log(q->logger, TOPK_JIT_LOG_DEBUG, "NVRTC taken from %s", name);
    return true;
}

static bool try_names(quest *q, int extra_flags)
{
    for (size_t i = 0; i < LIBRARY_NAME_COUNT; i++)
        if (try_library(q, library_names[i], extra_flags))
            return true;
    return false;
}

/** Tries every name in base/below. Relative directories are passed over: code must never come from
 *  whatever the working directory is. */
static bool try_directory(quest *q, const char *rule, const char *base, const char *below)
{
    q->rule = rule;
    if (base == NULL || !tkj_os_is_absolute(base))
        return false;
    char place[PATH_MAX];
    snprintf(place, sizeof place, "%s%s", base, below);
    note_place(q, place);
    for (size_t i = 0; i < LIBRARY_NAME_COUNT; i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s%s/%s", base, below, library_names[i]);
        if (length < (int)sizeof path && try_library(q, path, 0))
            return true;
    }
    return false;
}

static bool search_everywhere(quest *q, const tkj_nvrtc_search *search)
{
    q->rule = "the libraries already loaded";
    note_place(q, q->rule);
    if (try_names(q, RTLD_NOLOAD))
        return true;
    static const char usual[] = "/usr/local/cuda";
    if (try_directory(q, "beside the library", search->own_directory, "") ||
        try_directory(q, "the option nvrtc_hint", search->hint_directory, "") ||
        try_directory(q, "CUDA_HOME", search->cuda_home, "/lib64") ||
        try_directory(q, "CUDA_HOME", search->cuda_home, "/lib") ||
        try_directory(q, usual, usual, "/lib64") || try_directory(q, usual, usual, "/lib"))
        return true;
    q->rule = "the loader's own path";
    note_place(q, q->rule);
    return try_names(q, 0);
}

/** The library at a path that was set, and no other: falling through would compile with another
 *  version than the one asked for. */
static topk_jit_status load_named(quest *q, const char *path, const char *set_by)
{
    const char *why;
    q->rule = set_by;
    void *handle = load(path, 0, &why);
    if (handle == NULL)
        return tkj_fail(TOPK_JIT_NVRTC_NOT_FOUND, "NVRTC at '%s', set by %s, cannot be loaded: %s",
                        path, set_by, why);
    q->judge(q->user, handle, &q->refusal);
    if (q->refusal.status != TOPK_JIT_OK)
        return tkj_fail_native(q->refusal.status, q->refusal.native_code,
                               "NVRTC at '%s', set by %s, cannot be used: %s", path, set_by,
                               q->refusal.reason);
    return TOPK_JIT_OK;
}

static topk_jit_status follow(quest *q, const tkj_nvrtc_search *search)
{
    const char *option =
        search->option_name != NULL ? search->option_name : "the option nvrtc_path";
    if (search->option_path != NULL)
        return load_named(q, search->option_path, option);
    if (search->environment_path != NULL)
        return load_named(q, search->environment_path, "TOPK_JIT_NVRTC");
    if (search_everywhere(q, search))
        return TOPK_JIT_OK;
    if (q->refusal.status != TOPK_JIT_OK)
        return tkj_fail_native(q->refusal.status, q->refusal.native_code,
                               "no usable NVRTC: %s; searched: %s", q->refusal.reason, q->searched);
    return tkj_fail(TOPK_JIT_NVRTC_NOT_FOUND,
                    "no libnvrtc.so.13, .12 or libnvrtc.so found; searched: %s; TOPK_JIT_NVRTC or "
                    "%s can name it",
                    q->searched, option);
}

topk_jit_status tkj_nvrtc_library_find(const tkj_logger *logger, const tkj_nvrtc_search *search,
                                       tkj_nvrtc_judge judge, void *user, const char **rule)
{
    quest q = {.logger = logger, .judge = judge, .user = user};
    topk_jit_status status = follow(&q, search);
    if (status == TOPK_JIT_OK)
        *rule = q.rule;
    return status;
}

/** Loads `name` from the directory of the file `sibling`. */
static bool load_beside(const char *sibling, const char *name)
{
    const char *slash = strrchr(sibling, '/');
    char path[PATH_MAX];
    if (slash == NULL)
        return false;
    int length = snprintf(path, sizeof path, "%.*s/%s", (int)(slash - sibling), sibling, name);
    const char *why;
    return length < (int)sizeof path && load(path, 0, &why) != NULL;
}

void tkj_nvrtc_library_preload_builtins(const tkj_logger *logger, void *handle, int major,
                                        int minor, tkj_nvrtc_origin *origin)
{
    struct link_map *map = NULL;
    snprintf(origin->builtins, sizeof origin->builtins, "libnvrtc-builtins.so.%d.%d", major, minor);
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
        return;
    /* A package manager may link libnvrtc alone into a directory: where it really is comes first,
     * where it was found second. */
    if (realpath(map->l_name, origin->file) == NULL)
        origin->file[0] = '\0';
    origin->builtins_beside =
        load_beside(origin->file, origin->builtins) || load_beside(map->l_name, origin->builtins);
    if (!origin->builtins_beside)
        tkj_log(logger, TOPK_JIT_LOG_DEBUG, "%s is not beside %s; NVRTC will look for it itself",
                origin->builtins, map->l_name);
}

/** What the walk over all loaded objects looks for and finds. */
typedef struct build_id_search {
    const struct link_map *map;
    char *text;
} build_id_search;

static size_t align_up(size_t size, size_t alignment)
{
    return (size + alignment - 1) / alignment * alignment;
}

static bool read_note_segment(const uint8_t *bytes, size_t size, size_t alignment, char *text)
{
    size_t offset = 0;
    while (size - offset >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, bytes + offset, sizeof note);
        const uint8_t *name = bytes + offset + sizeof note;
        size_t start = align_up(offset + sizeof note + note.n_namesz, alignment);
        size_t next = align_up(start + note.n_descsz, alignment);
        if (start > size || note.n_descsz > size - start)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
            for (size_t i = 0; i < note.n_descsz && 2 * i + 2 < TKJ_NVRTC_BUILD_ID_SIZE; i++)
                snprintf(text + 2 * i, 3, "%02x", bytes[start + i]);
            return true;
        }
        if (next > size)
            return false;
        offset = next;
    }
    return false;
}

static int visit_object(struct dl_phdr_info *info, size_t info_size, void *user)
{
    (void)info_size;
    const build_id_search *search = user;
    if (info->dlpi_addr != search->map->l_addr || strcmp(info->dlpi_name, search->map->l_name) != 0)
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE &&
            read_note_segment((const uint8_t *)(info->dlpi_addr + segment->p_vaddr),
                              segment->p_memsz, segment->p_align == 8 ? 8 : 4, search->text))
            break;
    }
    return 1;
}

void tkj_nvrtc_library_build_id(void *handle, char text[TKJ_NVRTC_BUILD_ID_SIZE])
{
    build_id_search search = {.text = text};
    struct link_map *map = NULL;
    text[0] = '\0';
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
        return;
    search.map = map;
    dl_iterate_phdr(visit_object, &search);
}
