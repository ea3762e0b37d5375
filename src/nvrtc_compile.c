/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "nvrtc_api.h"
#include "status.h"

/* NVRTC crashes on a 64 KiB stack and recurses deeply on large sources: measured. */
#define COMPILE_STACK_BYTES ((size_t)16 << 20)

/* The one table of options, in the order in which they are always given: NVRTC records them in the
 * cubin, which must be the same for the same key. -arch= is completed with the target. */
static const struct compile_option {
    const char *text;
    int since_major;
    int since_minor;
} compile_options[] = {
    {"-arch=", 12, 0},
    {"-std=c++17", 12, 0},
    {"-default-device", 12, 0},
    {"--fmad=false", 12, 0},
    {"--no-source-include", 12, 0},        /* else #include reads the working directory */
    {"--no-cache", 12, 9},                 /* else NVRTC calls cuInit */
    {"--modify-stack-limit=false", 12, 0}, /* else RLIMIT_STACK is lifted for the process */
    {"--ptxas-options=-v", 12, 0},         /* a plain -v is refused */
};
#define COMPILE_OPTION_COUNT (sizeof compile_options / sizeof compile_options[0])

/** One compilation, handed to its thread and back. */
typedef struct compilation {
    const tkj_nvrtc *nvrtc;
    const tkj_compile_job *job;
    const char *options[COMPILE_OPTION_COUNT];
    int option_count;
    char architecture[32];
    const char **include_names; /* include_texts follow in the same array */
    /* out */
    nvrtcResult result;
    const char *failed_call; /* NULL = none */
    bool out_of_memory;
    char *log; /* owned; NULL if empty */
    tkj_blob payload;
} compilation;

static void choose_options(compilation *c)
{
    snprintf(c->architecture, sizeof c->architecture, "-arch=%s_%d", c->job->ptx ? "compute" : "sm",
             c->job->architecture);
    for (size_t i = 0; i < COMPILE_OPTION_COUNT; i++) {
        const struct compile_option *option = &compile_options[i];
        if (c->nvrtc->major < option->since_major ||
            (c->nvrtc->major == option->since_major && c->nvrtc->minor < option->since_minor))
            continue;
        bool is_architecture = strcmp(option->text, "-arch=") == 0;
        c->options[c->option_count++] = is_architecture ? c->architecture : option->text;
    }
}

static bool list_includes(compilation *c)
{
    size_t count = c->job->include_count;
    c->include_names = tkj_alloc(&c->nvrtc->allocator, count, 2 * sizeof *c->include_names);
    if (c->include_names == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        c->include_names[i] = c->job->includes[i].name;
        c->include_names[count + i] = c->job->includes[i].text;
    }
    return true;
}

/** Notes a failed call unless an earlier one failed. @return true if the result is a success */
static bool succeeded(compilation *c, nvrtcResult result, const char *call)
{
    if (result == NVRTC_SUCCESS)
        return true;
    if (c->failed_call == NULL) {
        c->failed_call = call;
        c->result = result;
    }
    return false;
}

static void *allocate_output(compilation *c, size_t size)
{
    void *memory = tkj_alloc(&c->nvrtc->allocator, size, 1);
    c->out_of_memory = c->out_of_memory || memory == NULL;
    return memory;
}

static void take_log(compilation *c, nvrtcProgram program)
{
    size_t size = 0;
    if (!succeeded(c, c->nvrtc->GetProgramLogSize(program, &size), "nvrtcGetProgramLogSize") ||
        size <= 1) /* its NUL is counted */
        return;
    c->log = allocate_output(c, size + 1);
    if (c->log == NULL)
        return;
    memset(c->log, 0, size + 1);
    succeeded(c, c->nvrtc->GetProgramLog(program, c->log), "nvrtcGetProgramLog");
}

static void take_payload(compilation *c, nvrtcProgram program)
{
    const tkj_nvrtc *nvrtc = c->nvrtc;
    bool ptx = c->job->ptx;
    size_t size = 0;
    nvrtcResult result =
        ptx ? nvrtc->GetPTXSize(program, &size) : nvrtc->GetCUBINSize(program, &size);
    if (!succeeded(c, result, ptx ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize"))
        return;
    if (size == 0) {
        succeeded(c, NVRTC_ERROR_INTERNAL_ERROR, "reading an empty payload");
        return;
    }
    c->payload.bytes = allocate_output(c, size);
    if (c->payload.bytes == NULL)
        return;
    c->payload.size = size;
    char *bytes = (char *)c->payload.bytes;
    result = ptx ? nvrtc->GetPTX(program, bytes) : nvrtc->GetCUBIN(program, bytes);
    succeeded(c, result, ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN");
}

/** The whole life of the program, on the thread with the large stack. */
static void compile_on_own_thread(void *argument)
{
    compilation *c = argument;
    const tkj_nvrtc *nvrtc = c->nvrtc;
    size_t include_count = c->job->include_count;
    nvrtcProgram program = NULL;
    nvrtcResult result =
        nvrtc->CreateProgram(&program, c->job->main.text, c->job->main.name, (int)include_count,
                             c->include_names + include_count, c->include_names);
    if (!succeeded(c, result, "nvrtcCreateProgram"))
        return;
    result = nvrtc->CompileProgram(program, c->option_count, c->options);
    bool compiled = succeeded(c, result, "nvrtcCompileProgram");
    take_log(c, program);
    if (compiled)
        take_payload(c, program);
    succeeded(c, nvrtc->DestroyProgram(&program), "nvrtcDestroyProgram");
}

/** Start of the first line that is an error ("file(3): error: ...", "line 23; error   : ..."), of
 *  the first that speaks of one, or of the log. A warning may quote a name such as error_count. */
static const char *find_error_line(const char *log)
{
    const char *mention = NULL;
    for (const char *word = strstr(log, "error"); word != NULL; word = strstr(word + 5, "error")) {
        mention = mention != NULL ? mention : word;
        const char *next = word + 5 + strspn(word + 5, " ");
        if (*next == ':' || *next == '#') {
            mention = word;
            break;
        }
    }
    if (mention == NULL)
        return log;
    while (mention > log && mention[-1] != '\n')
        mention--;
    return mention;
}

/** Logs and records on the calling thread: the last error belongs to the caller, not to the thread
 *  that has ended (DeepGEMM#359: the compile log lost, an invalid image shown instead). */
static topk_jit_status report(const compilation *c)
{
    const tkj_nvrtc *nvrtc = c->nvrtc;
    if (c->log != NULL)
        tkj_log_text(&nvrtc->logger,
                     c->failed_call != NULL ? TOPK_JIT_LOG_ERROR : TOPK_JIT_LOG_DEBUG, c->log);
    if (c->failed_call == NULL && c->out_of_memory)
        return tkj_fail(TOPK_JIT_OUT_OF_MEMORY, "no memory for what NVRTC compiled from %s",
                        c->job->main.name);
    if (c->failed_call == NULL)
        return TOPK_JIT_OK;
    const char *line = find_error_line(c->log != NULL ? c->log : "");
    int length = (int)strcspn(line, "\n");
    return tkj_fail_native(
        c->result == NVRTC_ERROR_COMPILATION ? TOPK_JIT_COMPILE_FAILED : TOPK_JIT_NVRTC_FAILED,
        (int)c->result, "%s of NVRTC %d.%d: %s%s%.*s", c->failed_call, nvrtc->major, nvrtc->minor,
        nvrtc->GetErrorString(c->result), length > 0 ? ": " : "", length, line);
}

/* NVRTC compiles under a mutex of its own. */
static tkj_fork_guard compiling;

static topk_jit_status run(compilation *c)
{
    choose_options(c);
    if (!list_includes(c))
        return TOPK_JIT_OUT_OF_MEMORY;
    if (!tkj_os_fork_guard_enter(&compiling))
        return tkj_fail(TOPK_JIT_NVRTC_FAILED,
                        "%s cannot be compiled: this process was forked while NVRTC was compiling "
                        "in a thread of its parent, which it would wait for; fork earlier, or exec",
                        c->job->main.name);
    int error = tkj_os_run_on_stack(COMPILE_STACK_BYTES, compile_on_own_thread, c);
    tkj_os_fork_guard_leave(&compiling);
    if (error != 0)
        return tkj_fail_native(TOPK_JIT_OS_FAILED, error, "no thread to compile %s on: %s",
                               c->job->main.name, strerror(error));
    return report(c);
}

topk_jit_status tkj_nvrtc_compile(const tkj_nvrtc *nvrtc, const tkj_compile_job *job,
                                  const char *entry, tkj_compile_result *out)
{
    *out = (tkj_compile_result){0};
    if (!tkj_nvrtc_knows(nvrtc, job->architecture))
        return tkj_fail(TOPK_JIT_NVRTC_TARGET, "NVRTC %d.%d cannot compile for %s_%d", nvrtc->major,
                        nvrtc->minor, job->ptx ? "compute" : "sm", job->architecture);
    compilation c = {.nvrtc = nvrtc, .job = job};
    topk_jit_status status = run(&c);
    if (status == TOPK_JIT_OK) {
        if (c.log != NULL && !job->ptx)
            tkj_ptxas_log_parse(c.log, entry, &out->usage);
        out->payload = c.payload;
        c.payload.bytes = NULL;
    }
    tkj_free(&nvrtc->allocator, c.payload.bytes);
    tkj_free(&nvrtc->allocator, c.log);
    tkj_free(&nvrtc->allocator, c.include_names);
    return status;
}
