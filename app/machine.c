#include "app/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

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
