/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file make_corpus.c
 * @brief Writes the seed corpus of the fuzzers, or says whether the one that is there is current.
 *
 * Usage: make_corpus [--check] DIRECTORY
 *
 * DIRECTORY has the folders entry and pack. What a fuzzer found and a person added there stays.
 */
#include <unistd.h>

#include "corpus.h"
#include "fuzz.h"

static bool checking;
static bool (*is_sound)(const uint8_t *bytes, size_t size);
static unsigned passed, failed;

static bool is_sound_entry(const uint8_t *bytes, size_t size)
{
    tkj_entry entry;
    return tkj_entry_decode(bytes, size, &entry) == NULL;
}

static bool is_sound_pack(const uint8_t *bytes, size_t size)
{
    return tkj_pack_verify(bytes, size) == NULL;
}

static bool has_bytes(const char *name, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(name, "rb");
    if (file == NULL)
        return false;
    bool same = true;
    for (size_t i = 0; same && i < size; i++)
        same = fgetc(file) == bytes[i];
    same = same && fgetc(file) == EOF;
    return fclose(file) == 0 && same;
}

static bool write_bytes(const char *name, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(name, "wb");
    if (file == NULL)
        return false;
    const bool written = fwrite(bytes, 1, size, file) == size;
    return fclose(file) == 0 && written;
}

static void emit(const char *name, const uint8_t *bytes, size_t size)
{
    const bool named_sound = strncmp(name, "sound-", 6) == 0;
    bool ok = is_sound(bytes, size) == named_sound;
    if (ok)
        ok = checking ? has_bytes(name, bytes, size) : write_bytes(name, bytes, size);
    passed += ok;
    failed += !ok;
    if (!ok)
        fprintf(stderr, "make_corpus: %s: not what it must be\n", name);
}

static bool enter(const char *directory)
{
    if (chdir(directory) == 0)
        return true;
    fprintf(stderr, "make_corpus: there is no directory %s\n", directory);
    return false;
}

int main(int argc, char **argv)
{
    checking = argc == 3 && strcmp(argv[1], "--check") == 0;
    if (argc != (checking ? 3 : 2)) {
        fputs("usage: make_corpus [--check] DIRECTORY\n", stderr);
        return 2;
    }
    if (!enter(argv[argc - 1]) || !enter("entry"))
        return 1;
    is_sound = is_sound_entry;
    corpus_entries(emit);
    if (!enter("../pack"))
        return 1;
    is_sound = is_sound_pack;
    corpus_packs(emit);
    printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
