/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiler calls for every access under -fsanitize=thread, in place of libtsan. */
#include <cstdint>

#include "machine.h"

using namespace simt;

const bool simt::race_build = true;

void simt::check_sanitizers()
{
}

void simt::silence_sanitizers(bool)
{
}

/** @param aligned  the type of the access promises its natural alignment */
static void observe(void *address, size_t bytes, access kind, place pc, bool aligned)
{
    machine *m = running;
    if (m == nullptr || m->current == nullptr)
        return; /* initialisation of the program */
    const thread *self = m->current;
    uintptr_t at = reinterpret_cast<uintptr_t>(address);
    if (at - reinterpret_cast<uintptr_t>(self->context.stack) < self->context.size)
        return; /* a local variable */
    if (m->preempt_every != 0 && m->preempt_left-- == 0) {
        m->preempt_left = static_cast<uint32_t>(random_number(2 * m->preempt_every));
        yield();
    }
    if (aligned && at % bytes != 0)
        fault("%s accesses %zu bytes at an address that is misaligned by %zu (%s)", text_of(self),
              bytes, at % bytes, text_of(pc));
    check_access(as_thread(self, pc), address, bytes, kind);
}

#define HOOK(name, bytes, kind, aligned)                                                           \
    void name(void *address)                                                                       \
    {                                                                                              \
        observe(address, bytes, kind, __builtin_return_address(0), aligned);                       \
    }
#define HOOKS(bytes)                                                                               \
    HOOK(__tsan_read##bytes, bytes, access::read, true)                                            \
    HOOK(__tsan_write##bytes, bytes, access::write, true)                                          \
    HOOK(__tsan_unaligned_read##bytes, bytes, access::read, false)                                 \
    HOOK(__tsan_unaligned_write##bytes, bytes, access::write, false)

extern "C" {

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

void __tsan_init()
{
}

void __tsan_func_entry(void *)
{
}

void __tsan_func_exit()
{
}

void __tsan_read_range(void *address, size_t bytes)
{
    if (bytes > 0)
        observe(address, bytes, access::read, __builtin_return_address(0), false);
}

void __tsan_write_range(void *address, size_t bytes)
{
    if (bytes > 0)
        observe(address, bytes, access::write, __builtin_return_address(0), false);
}

} /* extern "C" */
