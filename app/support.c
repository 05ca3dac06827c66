#include "app/support.h"
#include "io/file.h"
#include "core/threads.h"
#include "io/json.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static volatile sig_atomic_t noted_signal;

static void note_signal(int signal_number) {
    noted_signal = signal_number;
}

static void watch(int signal_number) {
    struct sigaction action;
    if (sigaction(signal_number, NULL, &action) != 0 || action.sa_handler == SIG_IGN) return;
    action = (struct sigaction){.sa_handler = note_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

void process_watch_interrupts(void) {
    noted_signal = 0;
    watch(SIGINT);
    watch(SIGTERM);
    watch(SIGHUP);
}

int process_interrupted(void) {
    return noted_signal;
}

void process_die_of(int signal_number) {
    fflush(stdout);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

#define READ_MAX ((size_t)1 << 26) /* bytes */

thenar_status json_file_write(json_t *root, const char *path, thenar_error *error) {
    if (!root) return error_memory(error, path);
    FILE *file;
    thenar_status status = file_create(path, &file, error);
    if (status == THENAR_OK) {
        json_dumpf(root, file, JSON_INDENT(2));
        fputc('\n', file);
        status = file_close(file, path, error);
    }
    json_decref(root);
    return status;
}

json_t *json_file_read(const char *path) {
    file_bytes bytes;
    thenar_error error;
    json_text_fault fault;
    if (file_read(path, READ_MAX, &bytes, &error) != THENAR_OK) return NULL;
    json_t *root = json_text_read(bytes.data, bytes.size, &fault);
    free(bytes.data);
    return root;
}

json_t *json_of_text(const char *text) {
    json_text_fault fault;
    return json_text_read(text, strlen(text), &fault);
}

/* The processor's name as the kernel tells it. */
static void read_cpu(char *name, size_t size) {
    snprintf(name, size, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(name, size, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    fclose(file);
}

json_t *machine_describe(void) {
    char cpu[128];
    read_cpu(cpu, sizeof cpu);
    struct utsname system;
    if (uname(&system) != 0) snprintf(system.sysname, sizeof system.sysname, "unknown");
    return json_pack("{s:s, s:I, s:s, s:s}", "cpu", cpu, "cores", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "system",
                     system.sysname, "compiler",
#ifdef __clang__
                     "clang " __clang_version__
#else
                     "gcc " __VERSION__
#endif
    );
}

#define REDRAW_NANOSECONDS 100000000
#define BAR_WIDTH 24

progress progress_start(const char *what, const char *unit, double total) {
    int64_t now = clock_now();
    return (progress){
        .shown = isatty(STDERR_FILENO), .what = what, .unit = unit, .total = total, .start = now, .last = now};
}

void progress_update(progress *line, double done) {
    if (!line->shown) return;
    int64_t now = clock_now();
    if (now - line->last < REDRAW_NANOSECONDS) return;
    line->last = now;
    double elapsed = (double)(now - line->start) * 1e-9;
    double share = line->total > 0 ? done / line->total : 0;
    double rate = done / elapsed;
    double left = rate > 0 ? (line->total - done) / rate : 0;
    char bar[BAR_WIDTH + 1];
    for (int i = 0; i < BAR_WIDTH; i++) bar[i] = i < share * BAR_WIDTH ? '#' : '.';
    bar[BAR_WIDTH] = 0;
    fprintf(stderr, "\r\033[K%s [%s] %3.0f %%  %.0f %s/s, %.0f s left%s%s", line->what, bar, 100 * share, rate,
            line->unit, left, line->note && *line->note ? "; " : "", line->note ? line->note : "");
    fflush(stderr);
}

void progress_end(progress *line) {
    if (line->shown) fprintf(stderr, "\r\033[K");
}
