#include "app/support.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define FILE_LIMIT ((off_t)1 << 31) /* bytes */

/* ----------------------------------------------------------------------------------------------- errors and memory */

thenar_status fail(thenar_error *error, thenar_status status, const char *format, ...) {
    if (!error) return status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return error->status = status;
}

thenar_status fail_errno(thenar_error *error, const char *file, const char *action) {
    return fail(error, THENAR_ERROR_FILE, "%s: cannot %s: %s", file, action, strerror(errno));
}

thenar_status fail_memory(thenar_error *error, const char *what) {
    return fail(error, THENAR_ERROR_MEMORY, "out of memory: %s", what);
}

void *new_array(size_t count, size_t size) {
    return calloc(count > 0 ? count : 1, size);
}

bool list_reserve(void **data, size_t *capacity, size_t wanted, size_t element_size) {
    if (wanted <= *capacity) return true;
    size_t larger = *capacity + *capacity / 2 + 8;
    if (larger < wanted) larger = wanted;
    void *moved = reallocarray(*data, larger, element_size);
    if (!moved) return false;
    *data = moved;
    *capacity = larger;
    return true;
}

/* ----------------------------------------------------------------------------------------------------------- files */

char *read_file(const char *path, size_t *size, thenar_error *error) {
    struct stat info;
    /* Opening a pipe that nobody writes to must not block. */
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &info) != 0) {
        fail_errno(error, path, "open");
        if (descriptor >= 0) close(descriptor);
        return NULL;
    }
    char *text = NULL;
    FILE *file = NULL;
    if (!S_ISREG(info.st_mode) || info.st_size == 0 || info.st_size > FILE_LIMIT)
        fail(error, THENAR_ERROR_INPUT, "%s: %s", path,
             S_ISDIR(info.st_mode)    ? "is a directory; expected a file"
             : !S_ISREG(info.st_mode) ? "is not a regular file; expected a regular file"
             : info.st_size == 0      ? "is empty"
                                      : "has more than 2 GiB");
    else if (!(text = NEW_ARRAY(char, info.st_size + 1)) || !(file = fdopen(descriptor, "rb")))
        fail_memory(error, path);
    else if (fread(text, 1, (size_t)info.st_size, file) == (size_t)info.st_size) {
        if (size) *size = (size_t)info.st_size;
        fclose(file);
        return text;
    } else
        fail(error, THENAR_ERROR_FILE, "%s: cannot read: the file became shorter while it was read", path);
    if (file)
        fclose(file);
    else
        close(descriptor);
    free(text);
    return NULL;
}

FILE *create_file(const char *path, thenar_error *error) {
    FILE *file = fopen(path, "wb");
    if (!file) fail_errno(error, path, "write");
    return file;
}

thenar_status close_file(FILE *file, const char *path, thenar_error *error) {
    bool failed = ferror(file);
    errno = 0;
    if (fclose(file) != 0) return fail_errno(error, path, "write");
    /* The reason of an earlier failure is lost; a full disk is the usual one. */
    return failed ? fail(error, THENAR_ERROR_FILE, "%s: cannot write: a write failed (disk full?)", path) : THENAR_OK;
}

thenar_status make_directory(const char *path, thenar_error *error) {
    char parent[4096];
    if (!*path) return fail(error, THENAR_ERROR_FILE, "the name of the directory is empty");
    for (const char *end = path + 1; *end; end++) {
        if (*end != '/') continue;
        snprintf(parent, sizeof parent, "%.*s", (int)(end - path), path);
        if (mkdir(parent, 0777) != 0 && errno != EEXIST) return fail_errno(error, path, "make the directory");
    }
    if (mkdir(path, 0777) == 0 || is_directory(path)) return THENAR_OK;
    if (errno == EEXIST) return fail(error, THENAR_ERROR_FILE, "%s: is a file; expected a directory", path);
    return fail_errno(error, path, "make the directory");
}

bool is_directory(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_same_file(const char *a, const char *b) {
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

const char *path_extension(const char *path) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot + 1 : "";
}

/* ------------------------------------------------------------------------------------------------- text and numbers */

bool parse_number(const char *text, double *value) {
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || isspace((unsigned char)*text) || strpbrk(text, "xX")) return false;
    *value = number;
    return true;
}

bool parse_integer(const char *text, long low, long high, long *value) {
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || *end || isspace((unsigned char)*text) || errno || number < low || number > high) return false;
    *value = number;
    return true;
}

/* Number of edits between two words: insertions, deletions, replacements, swaps of neighbours. */
static size_t edit_distance(const char *a, const char *b) {
    enum { LONGEST = 63 };
    size_t d[LONGEST + 1][LONGEST + 1], rows = strlen(a), columns = strlen(b);
    if (rows > LONGEST || columns > LONGEST) return SIZE_MAX;
    for (size_t i = 0; i <= rows; i++)
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            d[i][j] = swapped && d[i - 2][j - 2] + 1 < best ? d[i - 2][j - 2] + 1 : best;
        }
    return d[rows][columns];
}

const char *closest_name(const char *word, const char *const *names, size_t count) {
    const char *closest = NULL;
    size_t smallest = 2 + strlen(word) / 3; /* more edits than this are another word */
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(word, names[i]);
        if (distance >= smallest) continue;
        smallest = distance;
        closest = names[i];
    }
    return closest;
}

int64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int compare_numbers(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

void sort_numbers(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare_numbers);
}

/* ------------------------------------------------------------------------------------------------------ interrupts */

static volatile sig_atomic_t caught_signal;

static void catch_signal(int signal_number) {
    caught_signal = signal_number;
}

static void watch(int signal_number) {
    struct sigaction action;
    if (sigaction(signal_number, NULL, &action) != 0 || action.sa_handler == SIG_IGN) return;
    action = (struct sigaction){.sa_handler = catch_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

void process_watch_interrupts(void) {
    caught_signal = 0;
    watch(SIGINT);
    watch(SIGTERM);
    watch(SIGHUP);
}

int process_interrupted(void) {
    return caught_signal;
}

void process_die_of(int signal_number) {
    fflush(stdout);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* ------------------------------------------------------------------------------------------------------ JSON files */

thenar_status json_file_write(json_t *root, const char *path, thenar_error *error) {
    if (!root) return fail_memory(error, path);
    FILE *file = create_file(path, error);
    thenar_status status = THENAR_ERROR_FILE;
    if (file) {
        json_dumpf(root, file, JSON_INDENT(2));
        fputc('\n', file);
        status = close_file(file, path, error);
    }
    json_decref(root);
    return status;
}

json_t *json_file_read(const char *path) {
    char *text = read_file(path, NULL, NULL);
    json_t *root = text ? json_of_text(text) : NULL;
    free(text);
    return root;
}

json_t *json_of_text(const char *text) {
    return json_loads(text, JSON_REJECT_DUPLICATES, NULL);
}

/* The name of the processor, from the kernel. */
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

/* --------------------------------------------------------------------------------------------------- the progress line */

#define REDRAW_NANOSECONDS 100000000
#define BAR_WIDTH 24

progress progress_start(const char *what, const char *unit, double total) {
    int64_t now = clock_ns();
    return (progress){
        .shown = isatty(STDERR_FILENO), .what = what, .unit = unit, .total = total, .start = now, .last = now};
}

void progress_update(progress *line, double done) {
    if (!line->shown) return;
    int64_t now = clock_ns();
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
