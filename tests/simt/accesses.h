/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file accesses.h
 * @brief Which memory a launch may touch, and who touched it last.
 *
 * A shadow remembers, for each piece of 4 bytes (of 1, once something smaller was accessed), the
 * last write and the reads and atomic accesses since. Two accesses race if at least one writes, at
 * least one is not atomic, and nothing orders the second after the first.
 */
#ifndef TKJ_SIMT_ACCESSES_H
#define TKJ_SIMT_ACCESSES_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simt.h"
#include "vector_clock.h"

namespace simt
{

struct thread;
struct machine;
struct block;

/** Address in the kernel's code. */
using place = const void *;

enum class access { read, write, atomic };

/** Who accesses: a thread, or an async operation with what its issuer knew. */
struct accessor {
    uint32_t cluster;
    uint32_t actor;
    uint32_t epoch;
    const thread *self;        /* the thread, or the issuer */
    const vector_clock *known; /* nullptr = a thread */
    bool fenced;               /* the issuer had made all writes that it knew of visible to it */
    place pc;
};

/** One access as it is remembered. */
struct mark {
    uint32_t cluster = 0; /* 0 = none */
    uint32_t actor = 0;
    uint32_t epoch = 0;
    uint32_t code = 0; /* its offset; the lowest bit: an async operation */

    bool async() const
    {
        return (code & 1) != 0;
    }
};

/** What is remembered of a piece of memory. */
struct cell {
    mark write;  /* not atomic */
    mark atomic; /* since that write */
    mark read;
    std::vector<mark> *more_reads = nullptr; /* owned by the shadow */
};

class shadow
{
  public:
    shadow() = default;
    shadow(const shadow &) = delete;
    shadow &operator=(const shadow &) = delete;
    shadow(shadow &&other) = delete;
    ~shadow();

    /** @param written  what was not written by the launch may be read,
     *  @param kept     or, if it is given, what is marked there */
    void create(const void *first, size_t bytes, bool written, const bool *kept);
    /** Marks what was written. */
    void keep(bool *kept) const;
    bool contains(const void *address, size_t bytes) const;
    /** Checks and remembers. @param what names the memory in messages */
    void touch(const accessor &who, const void *address, size_t bytes, access kind,
               const char *what);

  private:
    void refine();
    bool is_readable(const cell &c, size_t offset) const;
    void touch_cell(const accessor &who, cell *c, size_t offset, access kind, const char *what);
    void remember_read(const accessor &who, cell *c);
    void check_reads(const accessor &who, cell *c, size_t offset, const char *what);

    uintptr_t begin = 0;
    size_t size = 0;
    unsigned shift = 2;
    bool initialised = true;
    const bool *written_before = nullptr; /* one for each byte */
    std::vector<cell> cells;
};

/** Global memory of a launch. */
struct region {
    tkj_simt_region given = {};
    uintptr_t begin = 0;
    size_t extent = 0;         /* from the first byte to the last */
    std::vector<shadow> races; /* one if it is writable, or was for a launch before */
};

/** Registers what the launch may touch, and forbids what is around it. */
void open_regions(machine *m);
void close_regions(machine *m);

/** Checks one access of the kernel: bounds, order, races. Does not return from a fault. */
void check_access(const accessor &who, const void *address, size_t bytes, access kind);

/** As a thread that runs. */
accessor as_thread(const thread *t, place pc);

/** A line of source for an address in the kernel's code, in a static buffer. */
const char *text_of(place pc);
/** Addresses of code as numbers, and back. */
uint32_t offset_of(place pc);
place place_of(uint32_t offset);

/** True if the kernels report their accesses: the race build. */
extern const bool race_build;

} // namespace simt

#endif /* TKJ_SIMT_ACCESSES_H */
