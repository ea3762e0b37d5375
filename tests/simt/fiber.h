/* SPDX-License-Identifier: Apache-2.0 */
/** @file fiber.h @brief Contexts that hand the processor to one another, and their stacks. */
#ifndef TKJ_SIMT_FIBER_H
#define TKJ_SIMT_FIBER_H

#include <cstddef>
#include <cstdint>

namespace simt
{

/** A context that can be left and resumed. */
struct fiber {
    void *machine = nullptr; /* saved stack pointer, or a ucontext_t */
    char *stack = nullptr;   /* lowest byte; of the process's own stack once it was left */
    size_t size = 0;
    void *fake_stack = nullptr; /* AddressSanitizer's */
};

/** Makes a fiber of stack number `index`, which runs `entry` when it is first switched to. Reuses
 *  the stack of any earlier fiber of that number, finished or not. */
void fiber_create(fiber *created, size_t index, void (*entry)());

/** Leaves one fiber for another. @param last the fiber left is never resumed */
void fiber_switch(fiber *from, fiber *to, bool last);

/** After a fault: the frames of fibers that will not be resumed are forgotten. */
void fiber_abandon_all();

} // namespace simt

#endif /* TKJ_SIMT_FIBER_H */
