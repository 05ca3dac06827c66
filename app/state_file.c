#include "app/state_file.h"

#include "app/process.h"
#include "core/error.h"
#include "core/file.h"
#include "core/memory.h"

#include "thenar/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

thenar_status state_file_save(const char *path, const thenar_sim *sim, thenar_error *error) {
    char part[4096];
    int length = snprintf(part, sizeof part, "%s.part", path);
    if (length < 0 || (size_t)length >= sizeof part)
        return error_set(error, THENAR_ERROR_FILE, "the path of --save is too long");
    size_t size = thenar_sim_snapshot_size(sim);
    void *bytes = memory_array(size, 1);
    if (!bytes) return error_memory(error, path);
    thenar_sim_snapshot(sim, bytes);
    FILE *file;
    thenar_status status = file_create(part, &file, error);
    if (status == THENAR_OK) {
        fwrite(bytes, 1, size, file);
        status = file_close(file, part, error);
        if (status == THENAR_OK && rename(part, path) != 0) status = error_errno(error, path, "replace");
        if (status != THENAR_OK) unlink(part);
    }
    free(bytes);
    return status;
}

thenar_status state_file_restore(const char *path, thenar_sim *sim, thenar_error *error) {
    file_bytes bytes;
    thenar_status status = file_read(path, FILE_SIZE_LIMIT, &bytes, error);
    if (status != THENAR_OK) return status;
    thenar_error reported;
    status = thenar_sim_restore(sim, bytes.data, bytes.size, &reported);
    if (status != THENAR_OK) error_at(error, path, 0, 0, "%s", reported.text);
    free(bytes.data);
    return status;
}

thenar_status state_file_replay(const char *path, thenar_sim *sim, thenar_error *error) {
    thenar_replay *replay;
    thenar_status status = thenar_replay_open(path, sim, &replay, error);
    if (status != THENAR_OK) return status;
    uint64_t steps = 0;
    for (int done = 0; !process_interrupted(); steps++) {
        status = thenar_replay_step(replay, &done, error);
        if (status != THENAR_OK || done) break;
    }
    thenar_replay_close(replay);
    if (status == THENAR_OK) printf("%s: %llu steps, each ends as recorded\n", path, (unsigned long long)steps);
    return status;
}
