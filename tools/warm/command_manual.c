/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_manual.c @brief topk-jit-warm manual: the manual page topk-jit-warm(1), in roff.
 */
#include <stdio.h>
#include <string.h>
#include <topk_jit/topk_jit.h>

#include "commands.h"
#include "common.h"
#include "out.h"
#include "wrap.h"

/** A character that roff would take for something else, or print as something else. */
static const char *glyph_of(char character)
{
    switch (character) {
    case '\\':
        return "\\(rs";
    case '-':
        return "\\-";
    case '\'':
        return "\\(aq";
    case '`':
        return "\\(ga";
    case '^':
        return "\\(ha";
    case '~':
        return "\\(ti";
    default:
        return NULL;
    }
}

static void print_roff(const char *text, size_t length)
{
    bool begins = true; /* a line; a dot there would be a request */
    for (size_t i = 0; i < length; i++) {
        const char *glyph = glyph_of(text[i]);
        if (begins && text[i] == '.')
            fputs("\\&", stdout);
        if (glyph != NULL)
            fputs(glyph, stdout);
        else
            putchar(text[i]);
        begins = text[i] == '\n';
    }
}

static void print_text(const char *text)
{
    print_roff(text, strlen(text));
}

/** A tagged paragraph: the tag in bold. */
static void print_item(const char *tag, const char *text)
{
    fputs(".TP\n\\fB", stdout);
    print_text(tag);
    fputs("\\fR\n", stdout);
    print_text(text);
    putchar('\n');
}

static void print_verbatim(const char *text, size_t length)
{
    fputs(".nf\n", stdout);
    print_roff(text, length);
    fputs("\n.fi\n", stdout);
}

static void print_usage(const warm_command *command)
{
    for (const char *line = command->usage;;) {
        const size_t length = strcspn(line, "\n");
        printf(".br\n\\fBtopk\\-jit\\-warm %s\\fR ", command->name);
        print_roff(line, length);
        putchar('\n');
        line += length;
        if (*line++ == '\0')
            return;
    }
}

static void print_description(const char *text)
{
    warm_paragraph paragraph;
    while (warm_paragraph_next(&text, &paragraph)) {
        fputs(".PP\n", stdout);
        if (paragraph.text[0] == ' ')
            print_verbatim(paragraph.text, paragraph.length);
        else {
            print_roff(paragraph.text, paragraph.length);
            putchar('\n');
        }
    }
}

static void print_option(const warm_option *option)
{
    fputs(".TP\n", stdout);
    if (option->letter != 0)
        printf("\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", stdout);
    print_text(option->name);
    fputs("\\fR", stdout);
    if (option->argument != NULL)
        printf(" \\fI%s\\fR", option->argument);
    putchar('\n');
    print_text(option->help);
    if (option->otherwise != NULL) {
        fputs(" [", stdout);
        print_text(option->otherwise);
        putchar(']');
    }
    putchar('\n');
}

/** The command's own, or the common ones that it has. */
static void print_options(const warm_command *command, bool common)
{
    const warm_option *option;
    for (size_t i = 0; (option = warm_option_at(command, i)) != NULL; i++)
        if ((option->common != 0) == common)
            print_option(option);
}

static void print_common_names(const warm_command *command)
{
    const warm_option *option;
    const char *before = ".PP\nCommon options: ";
    for (size_t i = 0; (option = warm_option_at(command, i)) != NULL; i++) {
        if (option->common == 0)
            continue;
        printf("%s\\fB\\-\\-", before);
        print_text(option->name);
        fputs("\\fR", stdout);
        before = ", ";
    }
    fputs(".\n", stdout);
}

static void print_exits(const warm_command *command)
{
    warm_exit status;
    fputs(".PP\nExit status:\n", stdout);
    for (size_t i = 0; warm_exit_at(command, i, &status); i++) {
        char code[16];
        snprintf(code, sizeof code, "%d", status.code);
        print_item(code, status.meaning);
    }
}

static void print_examples(const warm_command *command)
{
    const warm_example *example = command->examples;
    for (; example != NULL && example->line != NULL; example++) {
        fputs(".PP\n", stdout);
        print_text(example->what);
        fputs(":\n.PP\n.RS 4\n", stdout);
        print_verbatim(example->line, strlen(example->line));
        fputs(".RE\n", stdout);
    }
}

static void print_command(const warm_command *command)
{
    printf(".SS %s\n", command->name);
    print_usage(command);
    print_description(command->description);
    print_options(command, false);
    print_common_names(command);
    print_exits(command);
}

/** No date: the page is the same, byte for byte, whenever it is made. */
static void print_head(const warm_command *top)
{
    printf(".TH TOPK\\-JIT\\-WARM 1 \"\" \"topk\\-jit %s\" \"User Commands\"\n"
           ".SH NAME\n"
           "topk\\-jit\\-warm \\- looks after the cache of compiled top\\-k kernels\n"
           ".SH SYNOPSIS\n"
           "\\fBtopk\\-jit\\-warm\\fR [\\fB%s\\fR] ",
           topk_jit_version(), top->name);
    print_text(top->usage);
    printf("\n.br\n"
           "\\fBtopk\\-jit\\-warm\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n"
           ".SH DESCRIPTION\n"
           "The first argument names a command; if it is an option, \\fB%s\\fR runs.\n",
           top->name);
    for (size_t i = 0; i < warm_command_count; i++)
        print_item(warm_commands[i]->name, warm_commands[i]->summary);
}

static int run(const warm_call *call)
{
    (void)call;
    const warm_command top = warm_command_top();
    print_head(&top);
    fputs(".SH COMMANDS\n", stdout);
    for (size_t i = 0; i < warm_command_count; i++)
        print_command(warm_commands[i]);
    fputs(".SH COMMON OPTIONS\n", stdout);
    print_options(&top, true);
    fputs(".SH ENVIRONMENT\n", stdout);
    for (const warm_variable *variable = warm_variables; variable->name != NULL; variable++)
        print_item(variable->name, variable->meaning);
    fputs(".SH EXAMPLES\n", stdout);
    for (size_t i = 0; i < warm_command_count; i++)
        print_examples(warm_commands[i]);
    return warm_out_end(true);
}

const warm_command warm_command_manual = {
    .name = "manual",
    .summary = "prints the manual page",
    .usage = "",
    .description = "Prints topk-jit-warm(1) as roff, which man -l shows.",
    .run = run,
};
