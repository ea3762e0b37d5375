/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the fake NVRTC. */
#include "fake_nvrtc_state.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct _nvrtcProgram {
    char *source;
    char *name;
    int include_count;
    char **includes; /* texts, then names */
    char *log;       /* NULL before compiling */
    char *cubin;     /* NULL = none */
    char *ptx;
};

/* ---- general ---- */

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    nvrtcResult result = fake_begin("nvrtcVersion");
    *major = fake.major;
    *minor = fake.minor;
    return fake_end(result);
}

const char *nvrtcGetErrorString(nvrtcResult result)
{
    if (result == NVRTC_ERROR_COMPILATION)
        return "NVRTC_ERROR_COMPILATION";
    if (result == NVRTC_ERROR_INVALID_OPTION)
        return "NVRTC_ERROR_INVALID_OPTION";
    return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR of the fake";
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count)
{
    nvrtcResult result = fake_begin("nvrtcGetNumSupportedArchs");
    *count = fake.architecture_count;
    return fake_end(result);
}

nvrtcResult nvrtcGetSupportedArchs(int *list)
{
    nvrtcResult result = fake_begin("nvrtcGetSupportedArchs");
    memcpy(list, fake.architectures, (size_t)fake.architecture_count * sizeof *list);
    return fake_end(result);
}

/* ---- programs ---- */

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name,
                               int include_count, const char *const *includes,
                               const char *const *include_names)
{
    nvrtcResult result = fake_begin("nvrtcCreateProgram");
    if (result == NVRTC_SUCCESS) {
        nvrtcProgram made = calloc(1, sizeof *made);
        made->source = strdup(source);
        made->name = strdup(name);
        made->include_count = include_count;
        made->includes = calloc((size_t)include_count * 2 + 1, sizeof *made->includes);
        for (int i = 0; i < include_count; i++) {
            made->includes[i] = strdup(includes[i]);
            made->includes[include_count + i] = strdup(include_names[i]);
        }
        *program = made;
        fake.live_programs++;
    }
    return fake_end(result);
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    nvrtcResult result = fake_begin("nvrtcDestroyProgram");
    nvrtcProgram own = *program;
    for (int i = 0; i < 2 * own->include_count; i++)
        free(own->includes[i]);
    free(own->includes);
    free(own->source);
    free(own->name);
    free(own->log);
    free(own->cubin);
    free(own->ptx);
    free(own);
    *program = NULL;
    fake.live_programs--;
    return fake_end(result);
}

/* ---- compiling ---- */

static void copy_word(char *out, size_t size, const char *word)
{
    size_t length = 0;
    while (isalnum((unsigned char)word[length]) || word[length] == '_')
        length++;
    snprintf(out, size, "%.*s", (int)length, word);
}

static void find_entry(nvrtcProgram program, char *entry, size_t size)
{
    const char *define = strstr(program->source, "#define TKJ_ENTRY ");
    const char *kernel = strstr(program->source, "__global__ void ");
    entry[0] = '\0';
    if (define != NULL)
        copy_word(entry, size, define + strlen("#define TKJ_ENTRY "));
    else if (kernel != NULL)
        copy_word(entry, size, kernel + strlen("__global__ void "));
}

static uint64_t digest_text(uint64_t digest, const char *text)
{
    const char *byte = text;
    do { /* with its NUL, so that texts do not run into each other */
        digest = (digest ^ (unsigned char)*byte) * 0x100000001b3ULL;
    } while (*byte++ != '\0');
    return digest;
}

static uint64_t digest_all(nvrtcProgram program, int option_count, const char *const *options)
{
    uint64_t digest = digest_text(0xcbf29ce484222325ULL, program->source);
    digest = digest_text(digest, program->name);
    for (int i = 0; i < 2 * program->include_count; i++)
        digest = digest_text(digest, program->includes[i]);
    for (int i = 0; i < option_count; i++)
        digest = digest_text(digest, options[i]);
    return digest;
}

/** Numbers as a real one would give them: the entry spills nothing, another function 24 bytes. */
static char *write_log(const char *entry, int architecture)
{
    char *log = NULL;
    if (asprintf(&log,
                 "ptxas info    : 0 bytes gmem\n"
                 "ptxas info    : Compiling entry function '%s' for 'sm_%d'\n"
                 "ptxas info    : Function properties for %s\n"
                 "ptxas         .     16 bytes stack frame, 0 bytes spill stores, 0 bytes spill "
                 "loads\n"
                 "ptxas info    : Used 40 registers, used 1 barriers, 512 bytes smem\n"
                 "ptxas info    : Compile time = 1.000 ms\n"
                 "ptxas info    : Function properties for _Z5otherv\n"
                 "ptxas         .     0 bytes stack frame, 8 bytes spill stores, 16 bytes spill "
                 "loads\n",
                 entry, architecture, entry) < 0)
        abort();
    return log;
}

static void replace(char **log, const char *text)
{
    free(*log);
    *log = strdup(text);
}

static bool supports(int architecture)
{
    for (int i = 0; i < fake.architecture_count; i++)
        if (fake.architectures[i] == architecture)
            return true;
    return false;
}

/** Reads -arch and refuses what this version does not know. */
static nvrtcResult check_options(nvrtcProgram program, int count, const char *const *options,
                                 bool *ptx, int *architecture)
{
    *architecture = 0;
    for (int i = 0; i < count; i++) {
        *ptx = *ptx || strncmp(options[i], "-arch=compute_", 14) == 0;
        sscanf(options[i], *ptx ? "-arch=compute_%d" : "-arch=sm_%d", architecture);
        if (strcmp(options[i], "-v") == 0 ||
            (strcmp(options[i], "--no-cache") == 0 && !fake_version_has(12, 9))) {
            char text[128];
            snprintf(text, sizeof text, "nvrtc: error: unrecognized option %s found\n", options[i]);
            replace(&program->log, text);
            return NVRTC_ERROR_INVALID_OPTION;
        }
    }
    if (supports(*architecture))
        return NVRTC_SUCCESS;
    replace(&program->log, "nvrtc: error: invalid value for --gpu-architecture (-arch)\n");
    return NVRTC_ERROR_INVALID_OPTION;
}

static void record_compile(nvrtcProgram program, int count, const char *const *options)
{
    fake_nvrtc_compile *last = &fake.last;
    memset(last, 0, sizeof *last);
    last->option_count = count;
    for (int i = 0; i < count && i < FAKE_NVRTC_OPTIONS_MAX; i++)
        snprintf(last->options[i], sizeof last->options[i], "%s", options[i]);
    snprintf(last->name, sizeof last->name, "%s", program->name);
    last->include_count = program->include_count;
    if (program->include_count > 0)
        snprintf(last->first_include, sizeof last->first_include, "%s",
                 program->includes[program->include_count]);
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &last->stack_bytes);
        pthread_attr_destroy(&attributes);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &last->signal_mask);
    last->own_thread = !pthread_equal(fake.home, pthread_self());
}

/** Fills in log and payloads; the mutex is held. */
static nvrtcResult compile(nvrtcProgram program, int count, const char *const *options)
{
    bool ptx = false;
    int architecture;
    nvrtcResult result = check_options(program, count, options, &ptx, &architecture);
    if (result != NVRTC_SUCCESS)
        return result;
    if (strstr(program->source, "FAKE_SYNTAX_ERROR") != NULL) {
        char text[256];
        snprintf(text, sizeof text,
                 "%s(1): warning #177-D: variable \"error_count\" was declared but never used\n\n"
                 "%s(2): error: identifier \"FAKE_SYNTAX_ERROR\" is undefined\n\n"
                 "1 error detected in the compilation of \"%s\".\n",
                 program->name, program->name, program->name);
        replace(&program->log, text);
        return NVRTC_ERROR_COMPILATION;
    }
    char entry[128];
    find_entry(program, entry, sizeof entry);
    char **payload = ptx ? &program->ptx : &program->cubin;
    if (asprintf(payload, "%s_%d\nentry %s\ndigest %016llx\nend\n",
                 ptx ? "FAKEPTX compute" : "FAKECUBIN sm", architecture, entry,
                 (unsigned long long)digest_all(program, count, options)) < 0)
        abort();
    free(program->log);
    program->log = ptx ? strdup("") : write_log(entry, architecture);
    return NVRTC_SUCCESS;
}

/** Takes its time, with the mutex released: others may compile meanwhile. */
static void take_time(void)
{
    fake.running++;
    if (fake.most_at_once < fake.running) {
        fake.most_at_once = fake.running;
        pthread_cond_broadcast(&fake.met);
    }
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 10;
    while (fake.most_at_once < fake.meeting)
        if (pthread_cond_timedwait(&fake.met, &fake.mutex, &deadline) != 0)
            break;
    struct timespec delay = {.tv_sec = fake.delay_ms / 1000,
                             .tv_nsec = fake.delay_ms % 1000 * 1000000L};
    pthread_mutex_unlock(&fake.mutex);
    nanosleep(&delay, NULL);
    pthread_mutex_lock(&fake.mutex);
    fake.running--;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
    nvrtcResult result = fake_begin("nvrtcCompileProgram");
    record_compile(program, count, options);
    take_time();
    if (result == NVRTC_SUCCESS)
        result = compile(program, count, options);
    if (fake.log != NULL)
        replace(&program->log, fake.log);
    return fake_end(result);
}

/* ---- what came out ---- */

static size_t size_of(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

static nvrtcResult copy_out(const char *function, const char *text, char *out)
{
    nvrtcResult result = fake_begin(function);
    if (result == NVRTC_SUCCESS && text != NULL)
        memcpy(out, text, size_of(text));
    return fake_end(result);
}

static nvrtcResult size_out(const char *function, const char *text, bool payload, size_t *size)
{
    nvrtcResult result = fake_begin(function);
    *size = payload && fake.empty_payload ? 0 : size_of(text);
    return fake_end(result);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size)
{
    return size_out("nvrtcGetProgramLogSize", program->log != NULL ? program->log : "", false,
                    size);
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log)
{
    return copy_out("nvrtcGetProgramLog", program->log != NULL ? program->log : "", log);
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size)
{
    return size_out("nvrtcGetCUBINSize", program->cubin, true, size);
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin)
{
    return copy_out("nvrtcGetCUBIN", program->cubin, cubin);
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size)
{
    return size_out("nvrtcGetPTXSize", program->ptx, true, size);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx)
{
    return copy_out("nvrtcGetPTX", program->ptx, ptx);
}
