/* SPDX-License-Identifier: Apache-2.0 */
#include "template_case.h"

#include <stdio.h>
#include <string.h>

#include "os.h"

static void listen_to(void *user, topk_jit_log_level level, const char *text)
{
    template_log *line = user;
    line->count++;
    line->level = level;
    snprintf(line->text, sizeof line->text, "%s", text);
}

void template_case_open(template_case *c)
{
    memset(c, 0, sizeof *c);
    c->dir = tkj_test_dir_create();
    tkj_test_allocator_init(&c->memory, 0);
    c->logger = (tkj_logger){listen_to, &c->log, TOPK_JIT_LOG_DEBUG};
}

void template_case_close(template_case *c)
{
    tkj_templates_free(&c->memory.allocator, &c->set);
    assert_int_equal(c->memory.live, 0);
    tkj_test_dir_remove(c->dir);
}

const char *template_case_place(template_case *c, const char *name)
{
    assert_in_range(c->place_count, 0, 3);
    char *path = c->places[c->place_count++];
    assert_in_range(snprintf(path, sizeof c->places[0], "%s/%s", c->dir, name), 1, 511);
    return path;
}

topk_jit_status template_case_load(template_case *c, tkj_template_search search)
{
    tkj_templates_free(&c->memory.allocator, &c->set);
    c->log.count = 0;
    return tkj_templates_load(&c->memory.allocator, &c->logger, &search, &c->set);
}

void template_case_write(const char *dir, const char *name, const char *text)
{
    tkj_test_file_write(tkj_test_path(dir, name), text, strlen(text));
}

void template_case_write_embedded(const char *dir, size_t i)
{
    template_case_write(dir, tkj_embedded_templates[i].name, tkj_embedded_templates[i].text);
}

void template_case_write_set(const char *dir)
{
    assert_int_equal(tkj_os_make_dirs(dir, TKJ_TRUST_OWNER), 0);
    for (size_t i = 0; i < tkj_embedded_template_count; i++)
        template_case_write_embedded(dir, i);
}

const char *template_case_text(const template_case *c, const char *name)
{
    for (size_t i = 0; i < tkj_embedded_template_count; i++)
        if (strcmp(c->set.files[i].name, name) == 0)
            return c->set.files[i].text;
    fail_msg("%s is not in the set", name);
    return NULL;
}
