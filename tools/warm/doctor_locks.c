/* SPDX-License-Identifier: Apache-2.0 */
/* Whether processes that want the same kernel wait for the one that compiles it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "lock.h"
#include "paths.h"

/** Whether locks are used at all. */
static bool are_used(const warm_doctor *doctor)
{
    return tkj_cache_writes(doctor->context->cache) &&
           doctor->context->config.values.lock_timeout_ns > 0;
}

/** @param[out] out  its descriptor is closed by the caller */
static bool look(const warm_doctor *doctor, tkj_lock_place *out)
{
    const tkj_config *config = &doctor->context->config;
    return are_used(doctor) &&
           tkj_lock_look(config->env_xdg_runtime_dir, tkj_cache_root(doctor->context->cache),
                         config->values.trust, out);
}

static void done(const tkj_lock_place *place)
{
    if (place->fd >= 0)
        close(place->fd);
}

/** The directory for it was set, and passed over. */
static bool is_second_choice(const tkj_config *config, const tkj_lock_place *place)
{
    const char *wanted = config->env_xdg_runtime_dir;
    return config->values.trust == TKJ_TRUST_OWNER && wanted != NULL &&
           strncmp(place->directory, wanted, strlen(wanted)) != 0;
}

void warm_check_lock_place(warm_doctor *doctor)
{
    tkj_lock_place place;
    if (!are_used(doctor)) {
        warm_ok(doctor, "none are used: without a directory to write to, or with a timeout of 0");
        return;
    }
    if (!look(doctor, &place)) {
        warm_problem(doctor, "there is no place for them: processes compile the same kernels");
        warm_advise(doctor, "set XDG_RUNTIME_DIR to a directory of user %lu on this machine",
                    (unsigned long)geteuid());
        return;
    }
    const char *when = place.fd >= 0 ? "" : ", with the first kernel";
    if (is_second_choice(&doctor->context->config, &place)) {
        warm_note(doctor, "%s%s; XDG_RUNTIME_DIR cannot be used", place.directory, when);
        warm_advise(doctor,
                    "let $XDG_RUNTIME_DIR/topk-jit be a local directory of user %lu alone, "
                    "for all processes that share the cache",
                    (unsigned long)geteuid());
    } else {
        warm_ok(doctor, "%s%s", place.directory, when);
    }
    done(&place);
}

/** A file without a name, which goes with its descriptor. */
static int open_nameless(const char *directory)
{
    char path[PATH_MAX];
    return warm_path_nearest(directory, path)
               ? open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR)
               : -1;
}

void warm_check_lock_support(warm_doctor *doctor)
{
    tkj_lock_place place;
    const tkj_cache_key key = {{0}};
    if (!look(doctor, &place))
        return;
    done(&place);
    const int fd = open_nameless(place.directory);
    if (fd < 0) {
        warm_note(doctor, "not tried, for no file without a name can be had there: %s",
                  strerror(errno));
        return;
    }
    if (tkj_lock_try(fd, &key) == TKJ_LOCK_HELD) {
        warm_ok(doctor, "locks of open files work there");
    } else {
        warm_problem(doctor, "locks of open files do not work there: %s", strerror(errno));
        warm_advise(doctor, "set XDG_RUNTIME_DIR to a local file system");
    }
    close(fd);
}

void warm_check_lock_holders(warm_doctor *doctor)
{
    tkj_lock_place place;
    if (!look(doctor, &place))
        return;
    const size_t count = place.fd >= 0 ? tkj_lock_count(place.fd) : 0;
    done(&place);
    if (count == 0)
        warm_ok(doctor, "none");
    else
        warm_note(doctor, "%zu: so many kernels are being compiled at this moment", count);
}
