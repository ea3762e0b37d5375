/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file command.h
 * @brief What a command of topk-jit-warm is: data, from which parsing, --help, the manual page and
 * the completions are made, so that none of them can differ from another.
 *
 * A command X lives in command_X.c, which defines `const warm_command warm_command_X`, and is
 * listed in commands.c. Example:
 *
 *     typedef struct verify_options {
 *         bool quick;
 *         int64_t most;
 *     } verify_options;
 *
 *     WARM_TAKE_FLAG(verify_options, quick)
 *
 *     static bool take_most(const char *value, void *options)
 *     {
 *         return tkj_parse_number(value, 1, INT64_MAX, &((verify_options *)options)->most);
 *     }
 *
 *     static const warm_option options[] = {
 *         {.name = "quick", .help = "heads only", .take = take_quick},
 *         {.name = "most", .letter = 'm', .argument = "N", .help = "end after N flaws",
 *          .expected = "a number from 1 on", .take = take_most},
 *         {.name = NULL},
 *     };
 *
 *     static int run(const warm_call *call)
 *     {
 *         const verify_options *given = call->options; // zero = not given
 *         if (call->common.json)
 *             return warm_out_end(warm_out_json(json_pack(...)));
 *         puts(...);
 *         return warm_out_end(true);
 *     }
 *
 *     const warm_command warm_command_verify = {
 *         .name = "verify",
 *         .summary = "checks every entry of the cache",
 *         .usage = "[options] [FILE...]",
 *         .description = "Paragraphs.\n\nSeparated by blank lines.",
 *         .options = options,
 *         .options_size = sizeof(verify_options),
 *         .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
 *         .operand = {.name = "FILE", .most = SIZE_MAX, .complete = WARM_COMPLETE_FILES},
 *         .run = run,
 *     };
 */
#ifndef TKJ_WARM_COMMAND_H
#define TKJ_WARM_COMMAND_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/** Exit statuses of all commands. */
enum {
    WARM_EXIT_DONE = 0,
    WARM_EXIT_FAILED = 1,
    WARM_EXIT_USAGE = 2,
    WARM_EXIT_NO_GPU = 3,
    WARM_EXIT_NOT_THERE = 4, /* what was asked for, or a program that is needed for it */
    WARM_EXIT_SIGNAL = 128,  /* and the signal's number */
    WARM_EXIT_INTERRUPTED = 130,
};

/** Room for a word of an enumeration with its terminator. */
#define WARM_WORD_SIZE 32

/** The words that a value may be: writes the index-th. @return false past the last one */
typedef bool warm_words(size_t index, char out[WARM_WORD_SIZE]);

/** What a shell offers for a value that is no word of a known set. */
typedef enum warm_complete {
    WARM_COMPLETE_NOTHING = 0,
    WARM_COMPLETE_FILES,
    WARM_COMPLETE_DIRECTORIES,
} warm_complete;

/** Common options that a command has beside --help. */
enum {
    WARM_COMMON_HELP = 1 << 0,   /* every command has it */
    WARM_COMMON_OUTPUT = 1 << 1, /* --json, --verbose */
    WARM_COMMON_CACHE = 1 << 2,  /* --cache-dir */
    WARM_COMMON_TOP = 1 << 3,    /* --version; only where no command is named */
};

typedef struct warm_option {
    const char *name;      /* without its dashes; NULL ends a table */
    const char *argument;  /* what help calls its value, such as "DIR"; NULL = it has none */
    const char *group;     /* heading in help, of this and those that follow; NULL = as before */
    const char *help;      /* what it means */
    const char *otherwise; /* what holds if it is not given; NULL = not worth a word */
    const char *expected;  /* what a value should be, for complaints; NULL = one of the words */
    warm_words *words;     /* NULL = no known set */
    warm_complete complete;
    char letter;     /* 0 = none */
    bool list;       /* values are separated by commas; take gets each */
    unsigned common; /* 0 = the command's own, else the WARM_COMMON_ that has it */
    /** Puts a value (NULL if it has none) into the command's options, or the warm_common of a
     * common one. @return false = it is none; the parser says so */
    bool (*take)(const char *value, void *options);
    /** What is wrong with a value that take refused, in one line; NULL, or it returns NULL: that
     * it is not what is expected. */
    const char *(*explain)(const char *value);
} warm_option;

/** The arguments that are no options. */
typedef struct warm_operand {
    const char *name; /* such as "FILE"; NULL = the command has none */
    size_t least;
    size_t most;
    warm_words *words; /* NULL = no known set, else no other is taken */
    warm_complete complete;
} warm_operand;

typedef struct warm_exit {
    int code;
    const char *meaning; /* NULL ends a table */
} warm_exit;

typedef struct warm_example {
    const char *line; /* NULL ends a table */
    const char *what; /* it does */
} warm_example;

/** What the common options said. */
typedef struct warm_common {
    bool help;
    bool version;
    bool json;
    unsigned verbose;         /* times -v was given */
    char cache_dir[PATH_MAX]; /* absolute; "" = default */
} warm_common;

typedef struct warm_command warm_command;

/** A command line that was understood. */
typedef struct warm_call {
    const warm_command *command;
    warm_common common;
    void *options;         /* owned: the command's own struct; zero where nothing was given */
    char *const *operands; /* borrowed from argv */
    size_t operand_count;
} warm_call;

struct warm_command {
    const char *name;
    const char *summary; /* what it does, as the end of a sentence */
    const char *usage;   /* what follows its name; one line for each way to use it */
    /** Paragraphs, separated by empty lines; one that begins with a blank is shown as it is. */
    const char *description;
    const warm_option *options; /* its own; NULL = none */
    size_t options_size;        /* of the struct that they fill, which holds no pointer to free */
    unsigned common;            /* WARM_COMMON_ set */
    warm_operand operand;
    const warm_exit *exits; /* beyond the common ones, or instead of their meaning; NULL = none */
    const warm_example *examples; /* NULL = none */
    /** @return an exit status; what is wrong was said in one line on stderr */
    int (*run)(const warm_call *call);
};

/** Defines take_MEMBER, for an option without a value: sets a bool of the options. */
#define WARM_TAKE_FLAG(type, member)                                                               \
    static bool take_##member(const char *value, void *into)                                       \
    {                                                                                              \
        (void)value;                                                                               \
        return ((type *)into)->member = true;                                                      \
    }

/** Defines take_MEMBER: sets a borrowed text of the options; an empty one is refused. */
#define WARM_TAKE_TEXT(type, member)                                                               \
    static bool take_##member(const char *value, void *into)                                       \
    {                                                                                              \
        ((type *)into)->member = value;                                                            \
        return value[0] != '\0';                                                                   \
    }

/** Defines take_MEMBER: sets a char[PATH_MAX] of the options to an absolute path (paths.h). */
#define WARM_TAKE_PATH(type, member)                                                               \
    static bool take_##member(const char *value, void *into)                                       \
    {                                                                                              \
        return warm_path_absolute(value, ((type *)into)->member);                                  \
    }

#endif /* TKJ_WARM_COMMAND_H */
