/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file replay.c
 * @brief Runs a harness on every file of a directory: the corpus as an everyday test, without
 * libFuzzer.
 *
 * Usage: replay_FORMAT DIRECTORY
 *
 * A promise that does not hold ends the process; the last line on stderr says on which file.
 */
#include <dirent.h>
#include <stdbool.h>
#include <unistd.h>

#include "fuzz.h"

#define FILE_SIZE_MAX ((size_t)1 << 20)

/* @return false if it is no file or cannot be read */
static bool replay(const char *path)
{
    static uint8_t bytes[FILE_SIZE_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    bool whole = ferror(file) == 0 && feof(file) != 0;
    whole = fclose(file) == 0 && whole;
    if (whole) {
        fprintf(stderr, "%s\n", path);
        LLVMFuzzerTestOneInput(bytes, size);
    }
    return whole;
}

int main(int argc, char **argv)
{
    DIR *directory = argc == 2 && chdir(argv[1]) == 0 ? opendir(".") : NULL;
    if (directory == NULL) {
        fputs("usage: replay_FORMAT DIRECTORY\n", stderr);
        return 2;
    }
    unsigned passed = 0, failed = 0;
    for (struct dirent *file; (file = readdir(directory)) != NULL;) {
        if (file->d_name[0] == '.')
            continue;
        if (replay(file->d_name)) {
            passed++;
        } else {
            failed++;
            fprintf(stderr, "%s: cannot be read\n", file->d_name);
        }
    }
    closedir(directory);
    printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    return passed > 0 && failed == 0 ? 0 : 1;
}
