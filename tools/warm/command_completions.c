/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_completions.c @brief topk-jit-warm completions: a script that completes command
 *  lines in a shell. */
#include <stdio.h>

#include "commands.h"
#include "common.h"
#include "out.h"

static void print_words(warm_words *words)
{
    char word[WARM_WORD_SIZE];
    for (size_t i = 0; words(i, word); i++)
        printf("%s%s", i == 0 ? "" : " ", word);
}

/** What a value may be, as settings of the script's variables. */
static void print_kind(warm_words *words, bool list, warm_complete complete)
{
    static const char *const kinds[] = {"nothing", "files", "directories"};
    if (words == NULL) {
        printf("kind=%s", kinds[complete]);
        return;
    }
    printf("kind=%s words='", list ? "list" : "words");
    print_words(words);
    putchar('\'');
}

static void print_values(const warm_command *command)
{
    const warm_option *option;
    for (size_t i = 0; (option = warm_option_at(command, i)) != NULL; i++) {
        if (option->argument == NULL)
            continue;
        printf("    %s/--%s", command->name, option->name);
        if (option->letter != 0)
            printf(" | %s/-%c", command->name, option->letter);
        fputs(") ", stdout);
        print_kind(option->words, option->list, option->complete);
        fputs(" ;;\n", stdout);
    }
}

/** @param pattern  of the first argument: its name, or any option where none is named */
static void print_names(const char *pattern, const warm_command *command)
{
    const warm_option *option;
    printf("    %s)\n        command=%s options='", pattern, command->name);
    for (size_t i = 0; (option = warm_option_at(command, i)) != NULL; i++) {
        printf("%s--%s", i == 0 ? "" : " ", option->name);
        if (option->letter != 0)
            printf(" -%c", option->letter);
    }
    fputs("'\n        ", stdout);
    print_kind(command->operand.words, false, command->operand.complete);
    fputs("\n        ;;\n", stdout);
}

static void print_commands(void)
{
    const char *before = "";
    for (size_t i = 0; i < warm_command_count; i++, before = " ")
        printf("%s%s", before, warm_commands[i]->name);
}

/** Finds out which command it is and what stands before the word that is completed. --a=b is three
 *  words there: bash breaks at =. */
static const char script_head[] =
    "# Completes topk-jit-warm in bash. Made by: topk-jit-warm completions bash\n"
    "_topk_jit_warm()\n"
    "{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=${COMP_WORDS[1]} commands options kind=nothing words='' prefix=''\n"
    "    COMPREPLY=()\n"
    "    if [[ $word == = ]]; then\n"
    "        word=\n"
    "    elif [[ $before == = ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n";

/** Fills COMPREPLY. In a list the words before the last comma stay as they are. */
static const char script_tail[] =
    "    case $kind in\n"
    "    list)\n"
    "        [[ $word != *,* ]] || prefix=${word%,*},\n"
    "        mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -W \"$words\" -- \"${word##*,}\")\n"
    "        ;;\n"
    "    words) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\") ;;\n"
    "    files)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
    "        ;;\n"
    "    directories)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _topk_jit_warm topk-jit-warm\n";

static int run(const warm_call *call)
{
    (void)call;
    const warm_command top = warm_command_top();
    fputs(script_head, stdout);
    fputs("    commands='", stdout);
    print_commands();
    printf("'\n"
           "    if ((COMP_CWORD == 1)) && [[ $word != -* ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$word\")\n"
           "        return\n"
           "    fi\n"
           "    case $command in\n");
    print_names("-*", &top);
    for (size_t i = 0; i < warm_command_count; i++)
        print_names(warm_commands[i]->name, warm_commands[i]);
    fputs("    *) return ;;\n"
          "    esac\n"
          "    case $command/$before in\n",
          stdout);
    for (size_t i = 0; i < warm_command_count; i++)
        print_values(warm_commands[i]);
    fputs("    *)\n"
          "        if [[ $word == -* ]]; then\n"
          "            kind=words words=$options\n"
          "        fi\n"
          "        ;;\n"
          "    esac\n",
          stdout);
    fputs(script_tail, stdout);
    return warm_out_end(true);
}

static bool shell_words(size_t index, char out[WARM_WORD_SIZE])
{
    snprintf(out, WARM_WORD_SIZE, "bash");
    return index == 0;
}

static const warm_example examples[] = {
    {"topk-jit-warm completions bash >~/.local/share/bash-completion/completions/topk-jit-warm",
     "completions for one user"},
    {NULL, NULL},
};

const warm_command warm_command_completions = {
    .name = "completions",
    .summary = "prints a script that completes command lines in a shell",
    .usage = "SHELL",
    .description =
        "Prints a script that completes commands, options and their values, to be "
        "sourced by the shell. SHELL is bash, and no other. An installation has it already.",
    .operand = {.name = "SHELL", .least = 1, .most = 1, .words = shell_words},
    .examples = examples,
    .run = run,
};
