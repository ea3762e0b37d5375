/* SPDX-License-Identifier: Apache-2.0 */
/* What AddressSanitizer and the code of UndefinedBehaviorSanitizer call when they find something:
   it becomes the message of the launch. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#include "machine.h"

using namespace simt;

const bool simt::race_build = false;

/* The first report since the last check. A report is made inside the sanitizer, under its lock, so
   the launch ends at the thread's next operation. */
static char reported[200];

void simt::check_sanitizers()
{
    if (reported[0] == '\0')
        return;
    char text[sizeof reported];
    memcpy(text, reported, sizeof text);
    reported[0] = '\0';
    const machine *m = running;
    if (m->current != nullptr)
        fault("%s: %s", text_of(m->current), text);
    fault("%s", text);
}

extern "C" const char *__asan_default_options()
{
    /* Kernels are compiled to go on after a report. */
    return "halt_on_error=0:suppress_equal_pcs=0:detect_stack_use_after_return=0";
}

/** Appends the rest of a line that begins with `from`; true if there is one. */
static bool note_line(const char *report, const char *from)
{
    const char *found = strstr(report, from);
    size_t used = strlen(reported);
    if (found == nullptr)
        return false;
    snprintf(reported + used, sizeof reported - used, "%s%.*s", used > 0 ? ": " : "",
             static_cast<int>(strcspn(found, "\n")), found);
    return true;
}

/** Notes what happened, and where. */
static void note_report(const char *report)
{
    if (running == nullptr || reported[0] != '\0')
        return;
    if (!note_line(report, "SUMMARY: "))
        note_line(report, "ERROR: ");
}

/* While a launch runs its message says it all. */
void simt::silence_sanitizers(bool silent)
{
    static int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    __sanitizer_set_report_fd(
        reinterpret_cast<void *>(static_cast<intptr_t>(silent ? nowhere : 2)));
}

__attribute__((constructor)) static void listen()
{
    __asan_set_error_report_callback(note_report);
}

struct source_location {
    const char *file;
    uint32_t line;
    uint32_t column;
};

static void note_undefined(const char *what, const void *data)
{
    source_location where;
    memcpy(&where, data, sizeof where); /* every kind of data begins with it */
    if (running == nullptr || running->current == nullptr) {
        fprintf(stderr, "%s:%u: %s\n", where.file, where.line, what);
        abort();
    }
    fault("%s: undefined behaviour: %s (%s)", text_of(running->current), what,
          text_of(tkj_simt_site{where.file, static_cast<int>(where.line)}));
}

/* The arguments after the data are of no interest; a caller may pass more than a callee takes. */
#define HANDLER(name, what)                                                                        \
    void __ubsan_handle_##name(void *data)                                                         \
    {                                                                                              \
        note_undefined(what, data);                                                                \
    }                                                                                              \
    void __ubsan_handle_##name##_abort(void *data)                                                 \
    {                                                                                              \
        note_undefined(what, data);                                                                \
    }

extern "C" {

HANDLER(add_overflow, "signed overflow of an addition")
HANDLER(sub_overflow, "signed overflow of a subtraction")
HANDLER(mul_overflow, "signed overflow of a multiplication")
HANDLER(negate_overflow, "signed overflow of a negation")
HANDLER(divrem_overflow, "division by zero or its overflow")
HANDLER(shift_out_of_bounds, "shift by too much, or of a negative number")
HANDLER(out_of_bounds, "index outside of an array")
HANDLER(type_mismatch_v1, "misaligned address, NULL, or one outside of the object")
HANDLER(load_invalid_value, "value that its type does not have")
HANDLER(float_cast_overflow, "floating-point value outside of the integer type")
HANDLER(pointer_overflow, "overflow of a pointer")
HANDLER(builtin_unreachable, "unreachable code")
HANDLER(missing_return, "no return value")
HANDLER(vla_bound_not_positive, "size of an array")
HANDLER(nonnull_arg, "NULL argument")
HANDLER(invalid_builtin, "argument of a builtin")

} /* extern "C" */
