/* Runs a fuzz target over every file of the folders that are named, without libFuzzer: what was found once stays found,
 * with every compiler. Lengths of inputs cut short are tried too, as many as leave a run within a moment. */
#include "fuzz.h"

#include <dirent.h>

#ifndef CUTS
#define CUTS 24 /* of each input */
#endif

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void replay_file(const char *path) {
    file_bytes bytes;
    thenar_error error;
    if (file_read(path, FILE_SIZE_LIMIT, &bytes, &error) != THENAR_OK) {
        LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
        return;
    }
    LLVMFuzzerTestOneInput((const uint8_t *)bytes.data, bytes.size);
    for (size_t cut = 0; cut < CUTS; cut++)
        LLVMFuzzerTestOneInput((const uint8_t *)bytes.data, bytes.size * cut / CUTS);
    free(bytes.data);
}

static long replay_folder(const char *folder) {
    char *names[4096], path[4096];
    size_t count = 0;
    DIR *directory = opendir(folder);
    if (!directory) return 0;
    for (struct dirent *entry; (entry = readdir(directory)) && count < 4096;)
        if (entry->d_name[0] != '.') names[count++] = strdup(entry->d_name);
    closedir(directory);
    qsort(names, count, sizeof *names, compare);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        fprintf(stderr, "%s\n", path);
        replay_file(path);
        free(names[i]);
    }
    return (long)count;
}

int main(int argc, char **argv) {
    long count = 0;
    for (int i = 1; i < argc; i++) count += replay_folder(argv[i]);
    printf("%ld inputs\n", count);
    return count > 0 ? 0 : 1;
}
