/* SPDX-License-Identifier: Apache-2.0 */
/** @file source.h @brief One source file in memory. */
#ifndef TKJ_SOURCE_H
#define TKJ_SOURCE_H

/** A file as #include names it, and its text. */
typedef struct tkj_source {
    const char *name;
    const char *text;
} tkj_source;

#endif /* TKJ_SOURCE_H */
