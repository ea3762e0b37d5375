/* SPDX-License-Identifier: Apache-2.0 */
#include "nvrtc_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

const fake_nvrtc *fake;
nvrtc_case_log heard;

bool nvrtc_case_connect(void)
{
    fake = fake_nvrtc_connect(FAKE_NVRTC_PATH);
    if (fake == NULL)
        print_error("%s is not the fake NVRTC\n", FAKE_NVRTC_PATH);
    return fake != NULL;
}

int nvrtc_case_start(void **state)
{
    (void)state;
    fake->reset();
    return 0;
}

static void hear(void *user, topk_jit_log_level level, const char *text)
{
    nvrtc_case_log *h = user;
    h->count[level]++;
    free(h->last[level]);
    h->last[level] = strdup(text);
    size_t used = strlen(h->all);
    snprintf(h->all + used, sizeof h->all - used, "%s\n", text);
}

const tkj_logger silent = {0};

tkj_logger listen_to(topk_jit_log_level level)
{
    for (int i = 0; i <= TOPK_JIT_LOG_DEBUG; i++)
        free(heard.last[i]);
    heard = (nvrtc_case_log){0};
    return (tkj_logger){hear, &heard, level};
}

void assert_message_has(const char *text)
{
    if (strstr(topk_jit_last_error()->message, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, topk_jit_last_error()->message);
}

void assert_message_lacks(const char *text)
{
    if (strstr(topk_jit_last_error()->message, text) != NULL)
        fail_msg("'%s' is in '%s'", text, topk_jit_last_error()->message);
}

tkj_nvrtc *load_fake(const tkj_logger *logger)
{
    tkj_nvrtc *nvrtc = NULL;
    const tkj_nvrtc_search search = {.option_path = FAKE_NVRTC_PATH};
    assert_int_equal(tkj_nvrtc_load(&tkj_default_allocator, logger, &search, &nvrtc), TOPK_JIT_OK);
    return nvrtc;
}
