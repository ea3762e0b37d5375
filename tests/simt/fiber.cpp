/* SPDX-License-Identifier: Apache-2.0 */
#include "fiber.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <sys/mman.h>
#if !defined(__x86_64__) || defined(TKJ_SIMT_UCONTEXT)
#define TKJ_SIMT_SWITCH_BY_UCONTEXT
#include <ucontext.h>
#endif

#ifdef TKJ_SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt
{

/* A report of AddressSanitizer is written on the stack of the thread that is at fault. Pages that
   are never touched cost nothing. */
static constexpr size_t stack_size = 256 * 1024;
static constexpr size_t page_size = 4096;
[[maybe_unused]] static constexpr size_t top_size = 16 * 1024;

static std::deque<char *> stacks;

/** Stack number i, whose lowest page faults. */
static char *stack_of(size_t index)
{
    while (stacks.size() <= index) {
        void *memory = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED || mprotect(memory, page_size, PROT_NONE) != 0) {
            perror("simt: no memory for stacks");
            abort();
        }
        stacks.push_back(static_cast<char *>(memory));
    }
    return stacks[index];
}

/** Stacks are equally aligned: without this their tops would share a few sets of the caches. */
static size_t colour_of(size_t index)
{
    return index % 61 * 64 * 3;
}

#ifdef TKJ_SIMT_ASAN
static fiber *left;

static void announce_start(fiber *from, fiber *to, bool last)
{
    left = from;
    __sanitizer_start_switch_fiber(last ? nullptr : &from->fake_stack, to->stack, to->size);
}

/** First thing on the new stack. The first fiber to be left is the process's: its stack is learnt
 *  here. */
static void announce_end(fiber *now)
{
    const void *stack;
    size_t size;
    __sanitizer_finish_switch_fiber(now->fake_stack, &stack, &size);
    if (left->stack == nullptr) {
        left->stack = static_cast<char *>(const_cast<void *>(stack));
        left->size = size;
    }
}
#else
static void announce_start(fiber *, fiber *, bool)
{
}

static void announce_end(fiber *)
{
}
#endif

static fiber *entering;
static void (*fiber_entry)();

extern "C" {
void tkj_simt_first_entry();
void tkj_simt_switch(void **from, void *to);
}

void tkj_simt_first_entry()
{
    announce_end(entering);
    fiber_entry();
    abort(); /* a fiber ends by a last switch */
}

#ifndef TKJ_SIMT_SWITCH_BY_UCONTEXT
/* Saves what a call must preserve; the rest of the state is dead at a call. */
asm(".text\n"
    ".globl tkj_simt_switch\n"
    ".hidden tkj_simt_switch\n"
    ".type tkj_simt_switch, @function\n"
    "tkj_simt_switch:\n"
    "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"
    "    pushq %r13\n    pushq %r14\n    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n    popq %r14\n    popq %r13\n"
    "    popq %r12\n    popq %rbx\n    popq %rbp\n"
    "    ret\n"
    ".size tkj_simt_switch, . - tkj_simt_switch\n");

static void prepare(fiber *created, size_t index)
{
    /* The return into the entry must find the stack as after a call: 8 off a 16-byte boundary. */
    auto **top = reinterpret_cast<void **>(created->stack + stack_size - colour_of(index) - 64);
    *--top = nullptr; /* where a debugger's back trace ends */
    *--top = reinterpret_cast<void *>(tkj_simt_first_entry);
    for (int i = 0; i < 6; i++)
        *--top = nullptr;
    created->machine = top;
}

static void hand_over(fiber *from, fiber *to)
{
    tkj_simt_switch(&from->machine, to->machine);
}
#else
static void prepare(fiber *created, size_t index)
{
    static std::deque<ucontext_t> contexts;
    while (contexts.size() <= index)
        contexts.emplace_back();
    ucontext_t *context = &contexts[index];
    getcontext(context);
    context->uc_stack.ss_sp = created->stack;
    context->uc_stack.ss_size = stack_size - colour_of(index);
    context->uc_link = nullptr;
    makecontext(context, tkj_simt_first_entry, 0);
    created->machine = context;
}

static void hand_over(fiber *from, fiber *to)
{
    static ucontext_t own;
    if (from->machine == nullptr)
        from->machine = &own;
    swapcontext(static_cast<ucontext_t *>(from->machine), static_cast<ucontext_t *>(to->machine));
}
#endif

void fiber_create(fiber *created, size_t index, void (*entry)())
{
    fiber_entry = entry;
    created->stack = stack_of(index);
    created->size = stack_size;
    created->fake_stack = nullptr;
#ifdef TKJ_SIMT_ASAN
    /* The frames of the entry, which never returned, leave their red zones. */
    __asan_unpoison_memory_region(created->stack + stack_size - top_size, top_size);
#endif
    prepare(created, index);
}

void fiber_abandon_all()
{
#ifdef TKJ_SIMT_ASAN
    for (char *stack : stacks)
        __asan_unpoison_memory_region(stack + page_size, stack_size - page_size);
#endif
}

void fiber_switch(fiber *from, fiber *to, bool last)
{
    entering = to;
    announce_start(from, to, last);
    hand_over(from, to);
    announce_end(from);
}

} // namespace simt
