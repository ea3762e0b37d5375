/* SPDX-License-Identifier: Apache-2.0 */
#include "help.h"

#include <string.h>

#include "commands.h"
#include "common.h"
#include "wrap.h"

#define TEXT_COLUMN 26

static void print_usage(const warm_command *command, FILE *to)
{
    const char *before = "Usage: ";
    for (const char *line = command->usage;; before = "       ") {
        const size_t length = strcspn(line, "\n");
        fprintf(to, "%stopk-jit-warm %s%s%.*s\n", before, command->name, length > 0 ? " " : "",
                (int)length, line);
        line += length;
        if (*line++ == '\0')
            return;
    }
}

static void print_description(const char *text, FILE *to)
{
    warm_paragraph paragraph;
    while (warm_paragraph_next(&text, &paragraph)) {
        putc('\n', to);
        if (paragraph.text[0] == ' ')
            fprintf(to, "%.*s\n", (int)paragraph.length, paragraph.text);
        else
            warm_wrap(to, paragraph.text, paragraph.length, 0, 0);
    }
}

/** What is on the left, then what it means, set in. */
static void print_item(const char *left, const char *text, FILE *to)
{
    const size_t used = strlen(left);
    if (used + 2 > TEXT_COLUMN)
        fprintf(to, "%s\n%*s", left, TEXT_COLUMN, "");
    else
        fprintf(to, "%-*s", TEXT_COLUMN, left);
    warm_wrap(to, text, strlen(text), TEXT_COLUMN, TEXT_COLUMN);
}

static void print_option(const warm_option *option, FILE *to)
{
    const char letter[] = {'-', option->letter, ',', '\0'};
    const char *argument = option->argument != NULL ? option->argument : "";
    const char *otherwise = option->otherwise;
    char left[128];
    char text[1024];
    snprintf(left, sizeof left, "  %-3s --%s%s%s", option->letter != 0 ? letter : "", option->name,
             argument[0] != '\0' ? " " : "", argument);
    snprintf(text, sizeof text, "%s%s%s%s", option->help, otherwise != NULL ? " [" : "",
             otherwise != NULL ? otherwise : "", otherwise != NULL ? "]" : "");
    print_item(left, text, to);
}

static void print_options(const warm_command *command, bool common_only, FILE *to)
{
    const char *group = "";
    const warm_option *option;
    for (size_t i = 0; (option = warm_option_at(command, i)) != NULL; i++) {
        if (common_only && option->common == 0)
            continue;
        const char *its = option->group != NULL ? option->group : group;
        if (strcmp(its, group) != 0 || group[0] == '\0')
            fprintf(to, "\n%s:\n", its[0] != '\0' ? its : "Options");
        group = its[0] != '\0' ? its : "Options";
        print_option(option, to);
    }
}

static void print_exits(const warm_command *command, FILE *to)
{
    warm_exit status;
    fputs("\nExit status:\n", to);
    for (size_t i = 0; warm_exit_at(command, i, &status); i++)
        fprintf(to, "  %-3d  %s\n", status.code, status.meaning);
}

static void print_examples(const warm_command *command, FILE *to)
{
    if (command->examples == NULL)
        return;
    fputs("\nExamples:\n", to);
    for (const warm_example *example = command->examples; example->line != NULL; example++)
        fprintf(to, "  %s:\n    %s\n", example->what, example->line);
}

void warm_help_command(const warm_command *command, FILE *to)
{
    print_usage(command, to);
    print_description(command->description, to);
    print_options(command, false, to);
    print_exits(command, to);
    print_examples(command, to);
}

void warm_help_overview(const warm_command *top, FILE *to)
{
    fprintf(to,
            "Usage: topk-jit-warm [%s] %s\n"
            "       topk-jit-warm COMMAND [options]\n"
            "\n"
            "Looks after the cache of compiled top-k kernels.\n"
            "\n"
            "Commands; without one, %s runs:\n",
            top->name, top->usage, top->name);
    for (size_t i = 0; i < warm_command_count; i++) {
        char left[64];
        snprintf(left, sizeof left, "  %s", warm_commands[i]->name);
        print_item(left, warm_commands[i]->summary, to);
    }
    print_options(top, true, to);
    fputs("\n'topk-jit-warm help COMMAND' is the manual of a command.\n", to);
}
