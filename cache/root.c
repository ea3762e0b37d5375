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

static const char *password_home(char *buffer, size_t size)
{
    struct passwd record, *found = NULL;
    if (getpwuid_r(geteuid(), &record, buffer, size, &found) != 0 || found == NULL)
        return NULL;
    return is_home(found->pw_dir) ? found->pw_dir : NULL;
}

/* The root is `base` and what is below it; no base, no root. */
static topk_jit_status give(const topk_jit_allocator *allocator, const char *base,
                            const char *below, char **out)
{
    *out = base != NULL ? tkj_format(allocator, "%s%s", base, below) : NULL;
    return base == NULL || *out != NULL ? TOPK_JIT_OK : TOPK_JIT_OUT_OF_MEMORY;
}

topk_jit_status tkj_cache_root_choose(const topk_jit_allocator *allocator,
                                      const tkj_cache_places *places, char **out, const char **rule)
{
    char buffer[4096];
    *rule = "the option cache_dir";
    if (is_usable(places->option))
        return give(allocator, places->option, "", out);
    *rule = "TOPK_JIT_CACHE_DIR";
    if (is_usable(places->environment))
        return give(allocator, places->environment, "", out);
    *rule = "XDG_CACHE_HOME";
    if (is_usable(places->xdg_cache_home))
        return give(allocator, places->xdg_cache_home, "/topk-jit", out);
    *rule = "HOME";
    if (is_home(places->home))
        return give(allocator, places->home, "/.cache/topk-jit", out);
    const char *home = password_home(buffer, sizeof buffer);
    *rule = home != NULL ? "the password database" : NULL;
    return give(allocator, home, "/.cache/topk-jit", out);
}
