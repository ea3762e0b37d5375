/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache's directory is on. */
#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "doctor.h"
#include "out_human.h"
#include "paths.h"

typedef struct file_system {
    unsigned long magic;
    const char *name;
    const char *meaning; /* NULL = nothing special */
} file_system;

/* Source of the numbers that linux/magic.h lacks: each file system's own source in Linux. */
static const file_system *identify(unsigned long magic)
{
    static const char lost_with_container[] =
        "what is written is lost with the container: mount a volume, or bake packs into the image";
    static const char is_remote[] = "other machines may compile the same kernels at the same time; "
                                    "the locks are kept elsewhere";
    static const file_system known[] = {
        {TMPFS_MAGIC, "tmpfs", "what is written is memory, and lost at a restart"},
        {RAMFS_MAGIC, "ramfs", "what is written is memory, and lost at a restart"},
        {OVERLAYFS_SUPER_MAGIC, "overlay", lost_with_container},
        {NFS_SUPER_MAGIC, "nfs", is_remote},
        {0xff534d42, "cifs", is_remote},
        {0xfe534d42, "smb2", is_remote},
        {V9FS_MAGIC, "9p", is_remote},
        {0x00c36400, "ceph", is_remote},
        {0x0bd00bd0, "lustre", is_remote},
        {0x47504653, "gpfs", is_remote},
        {0x65735546, "fuse", NULL},
        {EXT4_SUPER_MAGIC, "ext4", NULL},
        {XFS_SUPER_MAGIC, "xfs", NULL},
        {BTRFS_SUPER_MAGIC, "btrfs", NULL},
        {F2FS_SUPER_MAGIC, "f2fs", NULL},
        {0x2fc12fc1, "zfs", NULL},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].magic == magic)
            return &known[i];
    return NULL;
}

/** Of the cache's directory, or of where it will be. @return false if there is none, or nothing can
 *  be said of it, which other checks say */
static bool look(const warm_doctor *doctor, struct statfs *out)
{
    char path[PATH_MAX];
    const char *root = tkj_cache_root(doctor->context->cache);
    return root != NULL && warm_path_nearest(root, path) && statfs(path, out) == 0;
}

void warm_check_file_system(warm_doctor *doctor)
{
    struct statfs system;
    if (!look(doctor, &system))
        return;
    const unsigned long magic = (unsigned long)system.f_type & 0xffffffff;
    const file_system *known = identify(magic);
    const char *name = known != NULL ? known->name : "another one";
    if ((system.f_flags & ST_RDONLY) != 0 && warm_doctor_writes(doctor)) {
        warm_problem(doctor, "%s (%#lx), mounted read-only", name, magic);
        warm_advise(doctor, "mount it writable, or set TOPK_JIT_MODE=readonly if it is not to be "
                            "written");
    } else if (known != NULL && known->meaning != NULL && warm_doctor_writes(doctor)) {
        warm_note(doctor, "%s: %s", name, known->meaning);
    } else {
        warm_ok(doctor, "%s (%#lx)", name, magic);
    }
}

/** For this user; a number that no disk has is as good as any. */
static uint64_t room_of(const struct statfs *system)
{
    uint64_t room;
    return __builtin_mul_overflow(system->f_bavail, system->f_bsize, &room) ? UINT64_MAX : room;
}

void warm_check_space(warm_doctor *doctor)
{
    struct statfs system;
    if (!warm_doctor_writes(doctor) || !look(doctor, &system))
        return;
    char room[WARM_HUMAN_SIZE];
    const uint64_t left = room_of(&system);
    const bool has_files = system.f_files == 0 || system.f_ffree > 0; /* 0: it does not count */
    warm_human_bytes(left, room);
    if (left >= TKJ_ENTRY_SIZE_MAX && has_files) {
        warm_ok(doctor, "%s free", room);
        return;
    }
    if (has_files)
        warm_problem(doctor, "%s free", room);
    else
        warm_problem(doctor, "no file can be created: the file system has no inodes left");
    warm_advise(doctor, "make room, or set TOPK_JIT_CACHE_DIR to another disk");
}
