/* SPDX-License-Identifier: Apache-2.0 */
#include "build_options.h"

#include <ctype.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lists.h"
#include "parse_number.h"

void warm_complain(const char *format, ...)
{
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *at = line; *at != '\0'; at++) /* names of files hold anything: one line stays one */
        if (iscntrl((unsigned char)*at))
            *at = '?';
    fprintf(stderr, "topk-jit-warm: %s\n", line);
}

/* What getopt_long returns. Below FLAG_OTHERS: the lists. */
enum {
    FLAG_LISTS = 1000,
    FLAG_OTHERS = FLAG_LISTS + WARM_LIST_COUNT,
    FLAG_SORTED = FLAG_OTHERS,
    FLAG_DETERMINISTIC,
    FLAG_NAN_LAST,
    FLAG_CHECK,
    FLAG_CACHE_DIR,
    FLAG_TEMPLATE_DIR,
    FLAG_NVRTC,
    FLAG_JSON,
    FLAG_VERSION,
};

static const struct option flags[] = {
    {"arch", required_argument, NULL, FLAG_LISTS + WARM_LIST_ARCH},
    {"operation", required_argument, NULL, FLAG_LISTS + WARM_LIST_OPERATION},
    {"topk", required_argument, NULL, FLAG_LISTS + WARM_LIST_TOPK},
    {"dtype", required_argument, NULL, FLAG_LISTS + WARM_LIST_DTYPE},
    {"layout", required_argument, NULL, FLAG_LISTS + WARM_LIST_LAYOUT},
    {"page-size", required_argument, NULL, FLAG_LISTS + WARM_LIST_PAGE_SIZE},
    {"index-dtype", required_argument, NULL, FLAG_LISTS + WARM_LIST_INDEX_DTYPE},
    {"tie-break", required_argument, NULL, FLAG_LISTS + WARM_LIST_TIE_BREAK},
    {"sorted", no_argument, NULL, FLAG_SORTED},
    {"deterministic", no_argument, NULL, FLAG_DETERMINISTIC},
    {"nan-last", no_argument, NULL, FLAG_NAN_LAST},
    {"check", no_argument, NULL, FLAG_CHECK},
    {"cache-dir", required_argument, NULL, FLAG_CACHE_DIR},
    {"template-dir", required_argument, NULL, FLAG_TEMPLATE_DIR},
    {"nvrtc", required_argument, NULL, FLAG_NVRTC},
    {"json", no_argument, NULL, FLAG_JSON},
    {"version", no_argument, NULL, FLAG_VERSION},
    {"jobs", required_argument, NULL, 'j'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/** The library wants absolute paths, a person types relative ones. */
static bool take_directory(const char *flag, const char *given, char **out)
{
    free(*out);
    *out = NULL;
    char here[PATH_MAX] = "";
    const bool relative = given[0] != '/';
    if (given[0] == '\0' || (relative && getcwd(here, sizeof here) == NULL)) {
        warm_complain("--%s: '%s' is no directory", flag, given);
        return false;
    }
    if (asprintf(out, "%s%s%s", here, relative ? "/" : "", given) < 0)
        *out = NULL;
    return *out != NULL;
}

static bool take_jobs(const char *word, size_t *out)
{
    int64_t value;
    if (!tkj_parse_number(word, 1, 1024, &value)) {
        warm_complain("-j: wrong number '%s' (known: from 1 to 1024)", word);
        return false;
    }
    *out = (size_t)value;
    return true;
}

static bool take_flag(int flag, warm_options *out)
{
    switch (flag) {
    case FLAG_SORTED:
        return out->sorted = true;
    case FLAG_DETERMINISTIC:
        return out->deterministic = true;
    case FLAG_NAN_LAST:
        return out->nan_last = true;
    case FLAG_CHECK:
        return out->check = true;
    case FLAG_CACHE_DIR:
        return take_directory("cache-dir", optarg, &out->cache_dir);
    case FLAG_TEMPLATE_DIR:
        return take_directory("template-dir", optarg, &out->template_dir);
    case FLAG_NVRTC:
        return (out->nvrtc = optarg) != NULL;
    case FLAG_JSON:
        return out->json = true;
    case FLAG_VERSION:
        return out->version = true;
    case 'j':
        return take_jobs(optarg, &out->builders);
    case 'v':
        return ++out->verbose > 0;
    case 'h':
        return out->help = true;
    default:
        return false; /* getopt_long has said what is wrong */
    }
}

static bool take_all(int argc, char **argv, warm_options *out)
{
    for (int flag; (flag = getopt_long(argc, argv, "j:vh", flags, NULL)) != -1;) {
        const bool list = flag >= FLAG_LISTS && flag < FLAG_OTHERS;
        if (!(list ? warm_list_take(out, (warm_list)(flag - FLAG_LISTS), optarg)
                   : take_flag(flag, out)))
            return false;
        if (out->help || out->version)
            return true;
    }
    if (optind < argc) {
        warm_complain("unexpected argument '%s'; --help lists the options", argv[optind]);
        return false;
    }
    return true;
}

bool warm_options_parse(int argc, char **argv, warm_options *out)
{
    *out = (warm_options){0};
    if (!take_all(argc, argv, out))
        return false;
    if (!out->help && !out->version && out->target_count == 0 && !out->native) {
        warm_complain("--arch is missing, such as --arch sm_90 or --arch native");
        return false;
    }
    return true;
}

void warm_options_release(warm_options *options)
{
    free(options->cache_dir);
    free(options->template_dir);
}
