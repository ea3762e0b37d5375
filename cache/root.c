/* SPDX-License-Identifier: Apache-2.0 */
#include "root.h"

#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "os.h"

/* XDG: "All paths must be absolute. If an implementation encounters a relative path it should
   consider the path invalid and ignore it." */
static bool is_usable(const char *path)
{
    return path != NULL && tkj_os_is_absolute(path);
}

/* Containers without a user have HOME=/, which is nobody's own. */
static bool is_home(const char *path)
{
    return is_usable(path) && path[strspn(path, "/")] != '\0';
}

static topk_jit_status give(char *root, char **out)
{
    *out = root;
    return root != NULL ? TOPK_JIT_OK : TOPK_JIT_OUT_OF_MEMORY;
}

static topk_jit_status below_home(const topk_jit_allocator *allocator, const char *home, char **out)
{
    return give(tkj_format(allocator, "%s/.cache/topk-jit", home), out);
}

static topk_jit_status below_password_home(const topk_jit_allocator *allocator, char **out)
{
    char buffer[4096];
    struct passwd record, *found = NULL;
    if (getpwuid_r(geteuid(), &record, buffer, sizeof buffer, &found) != 0 || found == NULL)
        return TOPK_JIT_OK;
    return is_home(found->pw_dir) ? below_home(allocator, found->pw_dir, out) : TOPK_JIT_OK;
}

topk_jit_status tkj_cache_root_choose(const topk_jit_allocator *allocator,
                                      const tkj_cache_places *places, char **out)
{
    *out = NULL;
    if (is_usable(places->option))
        return give(tkj_strdup(allocator, places->option), out);
    if (is_usable(places->environment))
        return give(tkj_strdup(allocator, places->environment), out);
    if (is_usable(places->xdg_cache_home))
        return give(tkj_format(allocator, "%s/topk-jit", places->xdg_cache_home), out);
    if (is_home(places->home))
        return below_home(allocator, places->home, out);
    return below_password_home(allocator, out);
}
