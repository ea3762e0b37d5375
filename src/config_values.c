/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "status.h"

#define LOCK_TIMEOUT_MS_DEFAULT 30000 /* far longer than any kernel takes to compile */
#define CACHE_MAX_BYTES_DEFAULT (UINT64_C(1) << 30)

/* The words of one option, in the order of its enumerators from 1 on. */
typedef struct vocabulary {
    const char *field;
    const char *variable;
    const char *words[5]; /* then NULL */
    const char *expected;
    int otherwise; /* the enumerator that is meant where nothing is said */
} vocabulary;

static topk_jit_status choose(const vocabulary *known, int option, int *out)
{
    int count = 0;
    while (known->words[count] != NULL)
        count++;
    if (option < 0 || option > count)
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "options.%s is %d, expected 0 to %d",
                        known->field, option, count);
    const char *text = tkj_config_environment(known->variable);
    *out = option != 0 ? option : known->otherwise;
    if (option != 0 || text == NULL)
        return TOPK_JIT_OK;
    for (int i = 0; i < count; i++)
        if (strcmp(text, known->words[i]) == 0) {
            *out = i + 1;
            return TOPK_JIT_OK;
        }
    return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "%s is \"%s\", expected %s", known->variable, text,
                    known->expected);
}

/* A whole number that is not negative, in decimal. */
static topk_jit_status read_number(const char *variable, uint64_t least, uint64_t most,
                                   uint64_t *out)
{
    const char *text = tkj_config_environment(variable);
    uint64_t number = 0;
    if (text == NULL)
        return TOPK_JIT_OK;
    const char *digit = text;
    for (; *digit >= '0' && *digit <= '9'; digit++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*digit - '0'), &number) || number > most)
            break;
    if (*digit != '\0' || number < least)
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT,
                        "%s is \"%s\", expected a number from %llu to %llu", variable, text,
                        (unsigned long long)least, (unsigned long long)most);
    *out = number;
    return TOPK_JIT_OK;
}

static topk_jit_status choose_lock_timeout(int32_t option, uint64_t *out)
{
    uint64_t milliseconds = LOCK_TIMEOUT_MS_DEFAULT;
    topk_jit_status status = TOPK_JIT_OK;
    if (option == 0)
        status = read_number("TOPK_JIT_LOCK_TIMEOUT_MS", 0, INT32_MAX, &milliseconds);
    else
        milliseconds = option > 0 ? (uint64_t)option : 0;
    *out = milliseconds * 1000000u;
    return status;
}

static topk_jit_status choose_max_bytes(uint64_t option, uint64_t *out)
{
    *out = option != 0 ? option : CACHE_MAX_BYTES_DEFAULT;
    return option != 0 ? TOPK_JIT_OK : read_number("TOPK_JIT_CACHE_MAX_BYTES", 1, UINT64_MAX, out);
}

topk_jit_status tkj_config_values_resolve(const topk_jit_options *options, tkj_config_values *out)
{
    static const vocabulary modes = {"mode",
                                     "TOPK_JIT_MODE",
                                     {"auto", "readonly", "offline", "off", NULL},
                                     "auto, readonly, offline or off",
                                     TOPK_JIT_MODE_AUTO};
    static const vocabulary toolchains = {"toolchain",
                                          "TOPK_JIT_TOOLCHAIN",
                                          {"any", "exact", NULL},
                                          "any or exact",
                                          TOPK_JIT_TOOLCHAIN_ANY};
    static const vocabulary switches = {
        "shared", "TOPK_JIT_SHARED", {"1", "0", NULL}, "1 or 0", TOPK_JIT_SWITCH_OFF};
    int mode = 0, toolchain = 0, shared = 0;
    topk_jit_status status = choose(&modes, (int)options->mode, &mode);
    if (status == TOPK_JIT_OK)
        status = choose(&toolchains, (int)options->toolchain, &toolchain);
    if (status == TOPK_JIT_OK)
        status = choose(&switches, (int)options->shared, &shared);
    if (status == TOPK_JIT_OK)
        status = choose_lock_timeout(options->lock_timeout_ms, &out->lock_timeout_ns);
    if (status == TOPK_JIT_OK)
        status = choose_max_bytes(options->cache_max_bytes, &out->cache_max_bytes);
    out->mode = (topk_jit_mode)mode;
    out->toolchain = (topk_jit_toolchain)toolchain;
    out->trust = shared == TOPK_JIT_SWITCH_ON ? TKJ_TRUST_GROUP : TKJ_TRUST_OWNER;
    return status;
}
