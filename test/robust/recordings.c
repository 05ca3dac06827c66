/* Recordings whose writer is killed, and recordings that are cut or damaged.
 * usage: robust_recordings kill|damage SECONDS SEED SCENE.yaml FILE
 * The last line is "cases<TAB>failures". Damage is repeated by its seed; where a kill
 * strikes is up to the machine.
 *
 * kill: a child records FRAMES frames of the scene and is killed at a random moment. Every frame whose writing had come
 * to an end must be there, no more than one frame more, all exactly as in a recording that was not disturbed, and the
 * inputs must replay.
 * damage: every byte of the first bytes and of every chunk's header is flipped, random bytes of payloads too, and the
 * file is cut at random and around every chunk. Opening is an error with a message, or what can be read is exact. */
#include "core/threads.h"
#include "io/file.h"
#include "core/memory.h"
#include "random.h"
#include "io/recording.h"

#include "thenar/thenar.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAMES = 40 };

typedef struct checks {
    const thenar_model *model;
    const char *path;
    char reference_path[4096];
    thenar_recording *reference; /* of all frames, undisturbed */
    int64_t lifetime;            /* that it took to write, ns */
    random_source random;
    uint64_t seed; /* of the case at hand */
    long cases, failures;
    long early, amid, late; /* kills before the first frame, between the first and the last, behind the last */
} checks;

static void fail(checks *c, const char *what, const char *detail) {
    c->failures++;
    printf("FAILED with seed %llu: %s: %s\n", (unsigned long long)c->seed, what, detail);
}

/* Records all frames; *added counts those whose writing has come to an end. */
static void record(const thenar_model *model, const char *path, atomic_int *added) {
    thenar_error error;
    thenar_sim *sim;
    thenar_recorder *recorder;
    if (thenar_sim_create(model, NULL, &sim, &error) != THENAR_OK ||
        thenar_recorder_create(path, sim, NULL, &recorder, &error) != THENAR_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    for (int frame = 0; frame < FRAMES; frame++) {
        if (frame > 0) thenar_sim_step(sim);
        if (thenar_recorder_add(recorder, &error) != THENAR_OK) {
            fprintf(stderr, "%s\n", error.text);
            exit(1);
        }
        if (added) atomic_store(added, frame + 1);
    }
    if (thenar_recorder_close(recorder, &error) != THENAR_OK) exit(1);
    thenar_sim_free(sim);
}

/* Whether a frame is the reference's; the clock's times are never twice the same. */
static bool frame_is_exact(checks *c, thenar_recording *recording, int frame, bool *readable) {
    *readable = true;
    for (int k = 0; k < thenar_recording_channel_count(recording); k++) {
        const thenar_recording_channel *channel = thenar_recording_channel_at(recording, k);
        size_t count = (size_t)channel->element_count * (size_t)channel->components;
        double *got = MEMORY_ARRAY(double, count), *expected = MEMORY_ARRAY(double, count);
        thenar_error error;
        bool read = thenar_recording_read_channel(recording, k, frame, got, &error) == THENAR_OK;
        if (!read) *readable = false;
        bool same = thenar_recording_read_channel(c->reference, k, frame, expected, &error) == THENAR_OK &&
                    (!read || strcmp(channel->name, "step_us") == 0 || memcmp(got, expected, count * sizeof *got) == 0);
        free(got);
        free(expected);
        if (!same) return false;
        if (!read) return true;
    }
    return thenar_recording_frame_step(recording, frame) == (uint64_t)frame;
}

static void check_replay(checks *c, int frames) {
    thenar_error error;
    thenar_sim *sim;
    thenar_replay *replay;
    if (thenar_sim_create(c->model, NULL, &sim, &error) != THENAR_OK) exit(1);
    thenar_status status = thenar_replay_open(c->path, sim, &replay, &error);
    int steps = 0;
    for (int done = 0; status == THENAR_OK && !done; steps++) status = thenar_replay_step(replay, &done, &error);
    if (status != THENAR_OK)
        fail(c, "a replay of what was written before the kill", error.text);
    else if (steps - 1 < frames - 1)
        fail(c, "a replay of what was written before the kill", "it ends before the last frame");
    thenar_replay_close(replay);
    thenar_sim_free(sim);
}

static void check_killed(checks *c, int added) {
    thenar_error error = {0};
    thenar_recording *recording;
    char detail[128];
    if (thenar_recording_open(c->path, &recording, &error) != THENAR_OK) {
        if (added > 0 || !error.text[0]) fail(c, "a recording with frames does not open", error.text);
        return;
    }
    int frames = thenar_recording_frame_count(recording);
    snprintf(detail, sizeof detail, "%d frames were written, %d can be read", added, frames);
    if (frames < added || frames > added + 1) fail(c, "frames are lost", detail);
    for (int frame = 0; frame < frames; frame++) {
        bool readable;
        snprintf(detail, sizeof detail, "frame %d of %d", frame, frames);
        if (!frame_is_exact(c, recording, frame, &readable) || !readable) fail(c, "a frame is not as it was", detail);
    }
    thenar_recording_close(recording);
    if (frames > 0) check_replay(c, frames);
}

static void kill_once(checks *c, atomic_int *added) {
    /* From the first bytes of the header to the index. */
    useconds_t delay = (useconds_t)random_uniform(&c->random, 0, 1.3e-3 * (double)c->lifetime);
    atomic_store(added, 0);
    unlink(c->path);
    pid_t child = fork();
    if (child == 0) {
        record(c->model, c->path, added);
        _exit(0);
    }
    if (child < 0) exit(1);
    usleep(delay);
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) fail(c, "the writer", "could not write");
    int frames = atomic_load(added);
    if (access(c->path, F_OK) == 0) check_killed(c, frames);
    c->early += frames == 0;
    c->amid += frames > 0 && frames < FRAMES;
    c->late += frames == FRAMES;
    /* How fast it goes depends on what else runs here; most kills are to come before the end. */
    c->lifetime = (int64_t)((double)c->lifetime * (frames == FRAMES ? 0.9 : 1.04));
    c->cases++;
}

/* What can be read of a damaged file. */
static void check_damaged(checks *c, const char *what, size_t at) {
    thenar_error error = {0};
    thenar_recording *recording;
    char detail[160];
    snprintf(detail, sizeof detail, "%s at byte %zu", what, at);
    c->cases++;
    if (thenar_recording_open(c->path, &recording, &error) != THENAR_OK) {
        if (!error.text[0]) fail(c, detail, "an error without a message");
        return;
    }
    for (int frame = 0; frame < thenar_recording_frame_count(recording); frame++) {
        bool readable;
        if (frame >= FRAMES || !frame_is_exact(c, recording, frame, &readable))
            fail(c, detail, "a frame that is not exact");
    }
    thenar_recording_close(recording);
}

static void flip(checks *c, int file, const file_bytes *bytes, size_t at) {
    char wrong = (char)(bytes->data[at] ^ (1 << random_bits(&c->random) % 8));
    if (pwrite(file, &wrong, 1, (off_t)at) != 1) exit(1);
    check_damaged(c, "a flipped bit", at);
    if (pwrite(file, &bytes->data[at], 1, (off_t)at) != 1) exit(1);
}

static void cut(checks *c, const file_bytes *bytes, int file, size_t size) {
    if (size > bytes->size || ftruncate(file, (off_t)size) != 0) return;
    check_damaged(c, "cut", size);
    size_t rest = bytes->size - size;
    if (pwrite(file, bytes->data + size, rest, (off_t)size) != (ssize_t)rest) exit(1);
}

static void damage_all(checks *c, int64_t end) {
    file_bytes bytes;
    thenar_error error;
    if (file_read(c->reference_path, FILE_SIZE_LIMIT, &bytes, &error) != THENAR_OK) exit(1);
    int file = open(c->path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || pwrite(file, bytes.data, bytes.size, 0) != (ssize_t)bytes.size) exit(1);
    for (size_t i = 0; i < sizeof(recording_preamble); i++) flip(c, file, &bytes, i), cut(c, &bytes, file, i);
    recording_chunk chunk;
    int number = 0; /* of the chunk: some of each kind are done whatever the time */
    for (size_t at = sizeof(recording_preamble); at < bytes.size; at += sizeof chunk + chunk.stored_size, number++) {
        memcpy(&chunk, bytes.data + at, sizeof chunk);
        for (size_t i = 0; i < sizeof chunk && (number < 8 || clock_now() < end); i++) flip(c, file, &bytes, at + i);
        for (size_t i = at > 0 ? at - 1 : 0; i < at + 2; i++) cut(c, &bytes, file, i);
    }
    while (clock_now() < end) {
        flip(c, file, &bytes, random_bits(&c->random) % bytes.size);
        cut(c, &bytes, file, random_bits(&c->random) % bytes.size);
    }
    close(file);
    free(bytes.data);
}

int main(int argc, char **argv) {
    bool kills = argc == 6 && strcmp(argv[1], "kill") == 0;
    if (argc != 6 || (!kills && strcmp(argv[1], "damage") != 0)) {
        fprintf(stderr, "usage: %s kill|damage SECONDS SEED SCENE.yaml FILE\n", argv[0]);
        return 2;
    }
    thenar_error error;
    thenar_model *model;
    if (thenar_scene_load(argv[4], NULL, &model, NULL, &error) != THENAR_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    checks c = {.model = model, .path = argv[5], .seed = strtoull(argv[3], NULL, 10)};
    snprintf(c.reference_path, sizeof c.reference_path, "%s.reference", c.path);
    c.lifetime = clock_now();
    record(model, c.reference_path, NULL);
    c.lifetime = clock_now() - c.lifetime;
    if (thenar_recording_open(c.reference_path, &c.reference, &error) != THENAR_OK) return 1;
    int64_t end = clock_now() + (int64_t)(1e9 * strtod(argv[2], NULL));
    atomic_int *added =
        mmap(NULL, sizeof *added, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); /* with the child */
    if (added == MAP_FAILED) return 1;
    c.random.state = c.seed;
    if (!kills) damage_all(&c, end);
    for (; kills && clock_now() < end; c.seed++) {
        c.random.state = c.seed;
        kill_once(&c, added);
    }
    thenar_recording_close(c.reference);
    thenar_model_free(model);
    unlink(c.path);
    unlink(c.reference_path);
    if (kills)
        printf("%ld kills before the first frame, %ld between the first and the last, %ld behind the last\n", c.early,
               c.amid, c.late);
    printf("%ld\t%ld\n", c.cases, c.failures);
    return c.failures > 0;
}
