/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file vector_clock.h
 * @brief Vector clocks: how far each actor of a cluster is known. Actors are threads, and the async
 *        operations that complete on one mbarrier or in one thread's bulk groups.
 */
#ifndef TKJ_SIMT_VECTOR_CLOCK_H
#define TKJ_SIMT_VECTOR_CLOCK_H

#include <cstdint>
#include <memory>
#include <vector>

namespace simt
{

/** Epoch by actor; actors beyond the end are at 0. */
using vector_clock = std::vector<uint32_t>;
using vector_clock_ptr = std::shared_ptr<const vector_clock>;

inline uint32_t epoch_in(const vector_clock &c, uint32_t actor)
{
    return actor < c.size() ? c[actor] : 0;
}

inline void raise(vector_clock *c, uint32_t actor, uint32_t epoch)
{
    if (actor >= c->size())
        c->resize(actor + 1);
    if ((*c)[actor] < epoch)
        (*c)[actor] = epoch;
}

inline void join(vector_clock *into, const vector_clock &from)
{
    if (into->size() < from.size())
        into->resize(from.size());
    for (size_t i = 0; i < from.size(); i++)
        (*into)[i] = (*into)[i] < from[i] ? from[i] : (*into)[i];
}

} // namespace simt

#endif /* TKJ_SIMT_VECTOR_CLOCK_H */
