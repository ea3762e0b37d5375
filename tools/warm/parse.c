/* SPDX-License-Identifier: Apache-2.0 */
#include "parse.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common.h"
#include "complain.h"
#include "suggest.h"

#define OPTIONS_MAX 64
#define FIRST_OPTION 1000 /* what getopt_long returns for the first one: no letter */

/** A table in the form of getopt_long. */
typedef struct getopt_table {
    struct option longs[OPTIONS_MAX + 1];
    char shorts[2 * OPTIONS_MAX + 2];
} getopt_table;

static void make_table(const warm_command *command, getopt_table *out)
{
    *out = (getopt_table){.shorts = ":"}; /* a value that is missing is told apart */
    char *letters = out->shorts + 1;
    const warm_option *option;
    for (int i = 0; i < OPTIONS_MAX && (option = warm_option_at(command, (size_t)i)) != NULL; i++) {
        const bool value = option->argument != NULL;
        out->longs[i] = (struct option){option->name, value ? required_argument : no_argument, NULL,
                                        FIRST_OPTION + i};
        if (option->letter != 0)
            *letters++ = option->letter;
        if (option->letter != 0 && value)
            *letters++ = ':';
    }
}

/** The option of a value that getopt_long returned. @return NULL if it is of none */
static const warm_option *find_option(const warm_command *command, int flag)
{
    if (flag >= FIRST_OPTION)
        return warm_option_at(command, (size_t)(flag - FIRST_OPTION));
    const warm_option *option;
    for (size_t i = 0; (option = warm_option_at(command, i)) != NULL; i++)
        if (option->letter != 0 && option->letter == flag)
            return option;
    return NULL;
}

static void complain_unknown(const warm_command *command, const char *given)
{
    char near[256];
    char *bare = strndup(given, strcspn(given, "="));
    if (bare == NULL) {
        warm_complain("out of memory");
        return;
    }
    tkj_suggestion suggestion = {.given = bare + strspn(bare, "-")};
    const warm_option *option;
    for (size_t i = 0; (option = warm_option_at(command, i)) != NULL; i++)
        tkj_suggest(&suggestion, option->name);
    tkj_suggestion_format(&suggestion, "--", near, sizeof near);
    warm_complain("unknown option '%s'%s%s 'topk-jit-warm help %s' lists the options", bare, near,
                  near[0] != '\0' ? "" : ";", command->name);
    free(bare);
}

/** Whether the name of a command stands behind options, where none is looked for. */
static bool complain_order(const warm_command *command, int argc, char **argv)
{
    const bool top = (command->common & WARM_COMMON_TOP) != 0;
    for (int i = 1; top && i < argc; i++)
        if (warm_command_find(argv[i]) != NULL) {
            warm_complain("the command comes first: topk-jit-warm %s [options]", argv[i]);
            return true;
        }
    return false;
}

/** What getopt_long could not understand: optopt is a known option that lacks a value or has one
 * too many, an unknown letter, or 0. */
static void complain_flag(const warm_command *command, int flag, const char *argument)
{
    const warm_option *option = find_option(command, optopt);
    const char letter[] = {'-', (char)optopt, '\0'};
    if (option == NULL)
        complain_unknown(command, optopt != 0 && optopt < FIRST_OPTION ? letter : argument);
    else if (flag == ':')
        warm_complain("--%s needs a value: --%s %s", option->name, option->name, option->argument);
    else
        warm_complain("--%s has no value, and '%s' gives it one", option->name, argument);
}

void warm_complain_word(const char *what, const char *given, warm_words *words)
{
    tkj_suggestion suggestion = {.given = given};
    char word[WARM_WORD_SIZE];
    char near[256];
    char known[1024] = "";
    for (size_t i = 0; words(i, word); i++) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i == 0 ? "" : ", ", word);
        tkj_suggest(&suggestion, word);
    }
    tkj_suggestion_format(&suggestion, "", near, sizeof near);
    warm_complain("%s: unknown '%s'%s (expected: %s)", what, given, near, known);
}

static void complain_value(const warm_option *option, const char *given)
{
    const char *why = option->explain != NULL ? option->explain(given) : NULL;
    char name[WARM_WORD_SIZE + 2];
    snprintf(name, sizeof name, "--%s", option->name);
    if (why != NULL)
        warm_complain("%s: %s", name, why);
    else if (option->expected == NULL && option->words != NULL)
        warm_complain_word(name, given, option->words);
    else
        warm_complain("%s: wrong value '%s' (expected: %s)", name, given,
                      option->expected != NULL ? option->expected : option->argument);
}

static bool take_one(const warm_option *option, const char *value, void *options)
{
    if (option->take(value, options))
        return true;
    complain_value(option, value);
    return false;
}

/** Of a list with a comma: an empty value alone is a wrong value. */
static bool has_empty_item(const char *words)
{
    const size_t length = strlen(words);
    return strstr(words, ",,") != NULL || words[0] == ',' ||
           (length > 0 && words[length - 1] == ',');
}

static bool take_list(const warm_option *option, const char *words, void *options)
{
    if (has_empty_item(words)) {
        warm_complain("--%s: an item is empty in '%s'", option->name, words);
        return false;
    }
    char *copy = strdup(words);
    bool ok = copy != NULL;
    char *rest = copy;
    for (char *word = strsep(&rest, ","); ok && word != NULL; word = strsep(&rest, ","))
        ok = take_one(option, word, options);
    free(copy);
    return ok;
}

static bool take_option(const warm_option *option, warm_call *call)
{
    void *options = option->common != 0 ? &call->common : call->options;
    return option->list ? take_list(option, optarg, options) : take_one(option, optarg, options);
}

static bool operand_is_known(const warm_operand *operand, const char *given)
{
    char word[WARM_WORD_SIZE];
    for (size_t i = 0; operand->words != NULL && operand->words(i, word); i++)
        if (strcmp(word, given) == 0)
            return true;
    if (operand->words != NULL)
        warm_complain_word(operand->name, given, operand->words);
    return operand->words == NULL;
}

static bool take_operands(int argc, char **argv, warm_call *call)
{
    const warm_operand *operand = &call->command->operand;
    call->operands = argv + optind;
    call->operand_count = (size_t)(argc - optind);
    if (call->operand_count > operand->most && complain_order(call->command, argc, argv))
        return false;
    if (call->operand_count > operand->most) {
        warm_complain("unexpected argument '%s'; 'topk-jit-warm help %s' lists the options",
                      call->operands[operand->most], call->command->name);
        return false;
    }
    if (call->operand_count < operand->least) {
        warm_complain("%s: %s is missing; usage: topk-jit-warm %s %s", call->command->name,
                      operand->name, call->command->name, call->command->usage);
        return false;
    }
    for (size_t i = 0; i < call->operand_count; i++)
        if (!operand_is_known(operand, call->operands[i]))
            return false;
    return true;
}

static bool take_all(int argc, char **argv, warm_call *call)
{
    getopt_table table;
    make_table(call->command, &table);
    opterr = 0;
    optind = 0; /* begins anew, also in a process that has read a command line before */
    for (;;) {
        const int flag = getopt_long(argc, argv, table.shorts, table.longs, NULL);
        if (flag == -1)
            return take_operands(argc, argv, call);
        if (flag == '?' || flag == ':') {
            if (!complain_order(call->command, argc, argv))
                complain_flag(call->command, flag, argv[optind - 1]);
            return false;
        }
        if (!take_option(find_option(call->command, flag), call))
            return false;
        if (call->common.help || call->common.version)
            return true;
    }
}

int warm_parse(const warm_command *command, int argc, char **argv, warm_call *out)
{
    *out = (warm_call){.command = command, .options = calloc(1, command->options_size + 1)};
    if (out->options == NULL) {
        warm_complain("out of memory");
        return WARM_EXIT_FAILED;
    }
    return take_all(argc, argv, out) ? WARM_EXIT_DONE : WARM_EXIT_USAGE;
}

void warm_call_release(warm_call *call)
{
    free(call->options);
}
