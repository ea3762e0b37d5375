/* SPDX-License-Identifier: Apache-2.0 */
/** @file command_doctor.c @brief topk-jit-warm doctor: what is wrong with this machine. */
#include <stdio.h>

#include "commands.h"
#include "doctor.h"
#include "out.h"
#include "out_json.h"
#include "out_table.h"

static json_t *describe(const warm_doctor *doctor)
{
    static const char *const states[] = {
        [WARM_OK] = "ok", [WARM_NOTE] = "note", [WARM_PROBLEM] = "problem"};
    json_t *list = json_array();
    for (size_t i = 0; i < doctor->finding_count; i++) {
        const warm_finding *finding = &doctor->findings[i];
        json_t *object =
            json_pack("{s:s, s:s, s:s, s:o, s:o}", "group", finding->group, "name", finding->name,
                      "state", states[finding->health], "found", warm_json_string(finding->found),
                      "advice", warm_json_string(finding->advice));
        if (json_array_append_new(list, object) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return json_pack("{s:s, s:o}", "version", topk_jit_version(), "checks", list);
}

static bool print(const warm_doctor *doctor)
{
    static const char *const states[] = {
        [WARM_OK] = "OK", [WARM_NOTE] = "note", [WARM_PROBLEM] = "PROBLEM"};
    static const warm_column columns[] = {{"state", false}, {"check", false}, {"found", false}};
    warm_table table;
    warm_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < doctor->finding_count; i++) {
        const warm_finding *finding = &doctor->findings[i];
        warm_table_add(&table, "%s", states[finding->health]);
        warm_table_add(&table, "%s %s", finding->group, finding->name);
        if (finding->advice != NULL)
            warm_table_add(&table, "%s => %s", finding->found, finding->advice);
        else
            warm_table_add(&table, "%s", finding->found);
    }
    const bool printed = warm_table_print(&table, stdout);
    warm_table_release(&table);
    return printed;
}

static int run(const warm_call *call)
{
    warm_doctor doctor;
    int code = WARM_EXIT_FAILED;
    if (warm_doctor_run(&call->common, &doctor))
        code = warm_out_end(call->common.json ? warm_out_json(describe(&doctor)) : print(&doctor));
    for (size_t i = 0; i < doctor.finding_count; i++)
        if (doctor.findings[i].health == WARM_PROBLEM)
            code = WARM_EXIT_FAILED;
    warm_doctor_release(&doctor);
    return code;
}

static const warm_exit exits[] = {
    {WARM_EXIT_DONE, "there is no problem"},
    {WARM_EXIT_FAILED, "there is one, or the result could not be written"},
    {0, NULL},
};

const warm_command warm_command_doctor = {
    .name = "doctor",
    .summary = "says what is wrong with this machine's setup, and what to do about it",
    .usage = "[options]",
    .description =
        "Looks at all that the library stands on, with the library's own rules: the environment, "
        "the kernel templates, NVRTC and its builtins, the driver and the GPUs, the directories of "
        "the cache and what they are on, packs, locks, the file of TOPK_JIT_RECORD and limits. A "
        "line for each: OK, note (worth "
        "knowing, and right for some) or PROBLEM, with what to do after \"=>\". Run it as the "
        "server runs: same user, same environment, same container. Nothing is created or written."
        "\n\n"
        "A machine without a GPU, which only builds, has no problem. Limits by control groups are "
        "read of version 2, not of version 1.",
    .common = WARM_COMMON_OUTPUT | WARM_COMMON_CACHE,
    .exits = exits,
    .run = run,
};
