/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace simt
{

machine *running;

void fault(const char *format, ...)
{
    machine *m = running;
    va_list arguments;
    va_start(arguments, format);
    if (!m->failed)
        vsnprintf(m->message, sizeof m->message, format, arguments);
    va_end(arguments);
    m->failed = true;
    thread *self = m->current;
    if (self == nullptr)
        throw fault_outside{};
    m->current = nullptr;
    fiber_switch(&self->context, &m->main, false);
    abort(); /* a thread at fault is never resumed */
}

const char *text_of(const thread *t)
{
    static char text[4][64];
    static unsigned next;
    char *into = text[next++ % 4];
    snprintf(into, sizeof text[0], "thread %u of block %u", t->index, t->home->index);
    return into;
}

const char *text_of(tkj_simt_site where)
{
    static char text[4][96];
    static unsigned next;
    char *into = text[next++ % 4];
    const char *slash = strrchr(where.file, '/');
    snprintf(into, sizeof text[0], "%.80s:%d", slash != nullptr ? slash + 1 : where.file,
             where.line);
    return into;
}

uint64_t random_number(uint64_t below)
{
    uint64_t x = running->random_state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) % below;
}

thread *caller(tkj_simt_site where)
{
    thread *self = running->current;
    self->where = where;
    check_sanitizers();
    return self;
}

/* ---- what threads know ---- */

void learn_all(vector_clock *into, const thread *t)
{
    if (t->home->base != nullptr)
        join(into, *t->home->base);
    if (t->extra != nullptr)
        join(into, *t->extra);
    uint32_t first = t->actor - t->lane;
    for (uint32_t lane = 0; lane < warp_size; lane++)
        raise(into, first + lane, t->group->known[lane]);
    raise(into, t->actor, t->epoch);
}

void acquire(thread *t, const vector_clock_ptr &from)
{
    t->fence_covers_all = false;
    if (from == nullptr || from == t->extra)
        return;
    if (t->extra == nullptr) {
        t->extra = from;
        return;
    }
    auto both = std::make_shared<vector_clock>(*t->extra);
    join(both.get(), *from);
    t->extra = std::move(both);
}

void bump(thread *t)
{
    t->epoch++;
}

/* ---- who runs next ---- */

void make_ready(thread *t)
{
    t->doing = nullptr;
    running->ready.push_back(t);
}

static thread *take(std::deque<thread *> *ready, size_t i)
{
    std::swap((*ready)[i], ready->front());
    thread *t = ready->front();
    ready->pop_front();
    return t;
}

/** A thread of the warp that ran last, or any. */
static thread *take_of_warp(std::deque<thread *> *ready, const warp *group)
{
    for (size_t i = ready->size(); i-- > 0 && i + warp_size > ready->size();)
        if ((*ready)[i]->group == group)
            return take(ready, i);
    return take(ready, random_number(ready->size()));
}

thread *next_thread(machine *m, const thread *last)
{
    std::deque<thread *> *ready = &m->ready;
    if (ready->empty() || (!m->in_flight.empty() && random_number(8) == 0))
        return nullptr;
    switch (m->policy) {
    case order::oldest_first:
        return take(ready, 0);
    case order::newest_first: {
        thread *t = ready->back();
        ready->pop_back();
        return t;
    }
    case order::greedy_warp:
        if (last != nullptr)
            return take_of_warp(ready, last->group);
        return take(ready, random_number(ready->size()));
    default:
        return take(ready, random_number(ready->size()));
    }
}

void leave(thread *self, bool last)
{
    machine *m = running;
    thread *next = last && self->home->live == 0 ? nullptr : next_thread(m, self);
    if (next == self)
        return;
    m->current = next;
    fiber_switch(&self->context, next != nullptr ? &next->context : &m->main, last);
}

void wait_for(thread *self, const char *what)
{
    self->doing = what;
    leave(self, false);
}

void yield()
{
    thread *self = running->current;
    make_ready(self);
    leave(self, false);
}

} // namespace simt
