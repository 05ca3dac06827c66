/* A recorded device: JSON lines {"t": s, "position": [x, y, z], "orientation": [x, y, z, w]}, played on the clock of the
 * loop and interpolated linearly. It ignores forces. After the last line it sends no more samples. */
#include "device/device.h"

#include "io/file.h"
#include "core/memory.h"
#include "core/vec3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 10000000u
#define POSITION_MAX 1000.0 /* m */

typedef struct recorded_frame {
    double time;
    vec3 position;
    quat orientation;
    bool has_orientation;
} recorded_frame;

typedef struct recorded_device {
    ARRAY(recorded_frame) frames;
    size_t at; /* index of the last frame before now */
    int64_t began_ns;
    uint64_t sequence;
} recorded_device;

static bool read_numbers(const json_t *list, size_t count, double max, double *out) {
    if (json_array_size(list) != count) return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(list, i);
        out[i] = json_number_value(number);
        if (!json_is_number(number) || !(fabs(out[i]) <= max)) return false;
    }
    return true;
}

/* Describes what is wrong with a line, or returns NULL. */
static const char *read_frame(const json_t *root, recorded_frame *frame) {
    const json_t *time = json_object_get(root, "t"), *turn = json_object_get(root, "orientation");
    double v[4];
    if (!json_is_number(time) || !isfinite(json_number_value(time))) return "t is not a time in seconds";
    frame->time = json_number_value(time);
    if (!read_numbers(json_object_get(root, "position"), 3, POSITION_MAX, v))
        return "position is not three numbers, metres";
    frame->position = vec3_load(v);
    frame->orientation = quat_identity();
    frame->has_orientation = turn != NULL;
    if (!turn) return NULL;
    if (!read_numbers(turn, 4, 2, v) || !(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3] > 0.25))
        return "orientation is not a unit quaternion x, y, z, w";
    frame->orientation = quat_unit((quat){v[0], v[1], v[2], v[3]});
    return NULL;
}

static const char *read_lines(recorded_device *device, char *text, long *line) {
    for (char *at = text; at && *at;) {
        char *end = strchr(at, '\n');
        if (end) *end = 0;
        ++*line;
        if (at[strspn(at, " \t\r")]) {
            json_text_fault syntax;
            json_t *root = json_text_read(at, strlen(at), &syntax);
            recorded_frame frame;
            const char *fault = root ? read_frame(root, &frame) : syntax.what;
            json_decref(root);
            size_t count = device->frames.count;
            if (!fault && count > 0 && !(frame.time > device->frames.data[count - 1].time))
                fault = "t is not later than in the line before";
            if (!fault && count >= FRAMES_MAX) fault = "too many lines";
            if (!fault && !ARRAY_PUSH(&device->frames, frame)) fault = "out of memory";
            if (fault) return fault;
        }
        at = end ? end + 1 : NULL;
    }
    return device->frames.count > 0 ? NULL : "no frames";
}

static void recorded_close(void *opened) {
    recorded_device *device = opened;
    free(device->frames.data);
    free(device);
}

static void *recorded_open(const char *path, char *message, size_t size) {
    thenar_error error;
    file_bytes bytes;
    recorded_device *device = MEMORY_ARRAY(recorded_device, 1);
    if (!device) return device_refuse(message, size, "out of memory");
    if (file_read(path, FILE_SIZE_LIMIT, &bytes, &error) != THENAR_OK) {
        free(device);
        return device_refuse(message, size, "%s", error.text);
    }
    long line = 0;
    const char *fault = read_lines(device, bytes.data, &line);
    free(bytes.data);
    if (!fault) return device;
    recorded_close(device);
    return device_refuse(message, size, "%s:%ld: %s", path, line, fault);
}

static void recorded_describe(void *opened, thenar_device_info *info) {
    const recorded_device *device = opened;
    info->can = THENAR_DEVICE_POSITION | THENAR_DEVICE_FORCE | THENAR_DEVICE_TORQUE;
    if (device->frames.data[0].has_orientation) info->can |= THENAR_DEVICE_ORIENTATION;
}

static void interpolate(const recorded_frame *a, const recorded_frame *b, double time, thenar_device_sample *out) {
    double span = b->time - a->time, s = (time - a->time) / span;
    vec3 move = vec3_sub(b->position, a->position);
    vec3 turn = quat_to_rotation_vector(quat_mul(b->orientation, quat_conjugate(a->orientation)));
    quat q = quat_unit(quat_mul(quat_from_rotation_vector(vec3_scale(turn, s)), a->orientation));
    out->has = THENAR_DEVICE_POSITION | THENAR_DEVICE_VELOCITY;
    pose_store(out->pose, vec3_mul_add(a->position, move, s), q);
    vec3_store(out->velocity, vec3_scale(move, 1 / span));
    if (!a->has_orientation || !b->has_orientation) return;
    out->has |= THENAR_DEVICE_ORIENTATION | THENAR_DEVICE_SPIN;
    vec3_store(out->spin, vec3_scale(turn, 1 / span));
}

int device_recorded_read_at(void *opened, int64_t now_ns, thenar_device_sample *sample) {
    recorded_device *device = opened;
    const recorded_frame *frames = device->frames.data;
    size_t count = device->frames.count;
    if (device->began_ns == 0) device->began_ns = now_ns;
    double time = frames[0].time + 1e-9 * (double)(now_ns - device->began_ns);
    while (device->at + 1 < count && frames[device->at + 1].time <= time) device->at++;
    if (device->at + 1 == count) return 0;
    interpolate(&frames[device->at], &frames[device->at + 1], time, sample);
    sample->sequence = ++device->sequence;
    return 1;
}

static int recorded_write(void *opened, const double *values, int count) {
    (void)opened, (void)values, (void)count;
    return 0;
}

const thenar_device_table device_recorded_table = {.version = THENAR_DEVICE_VERSION,
                                                   .size = sizeof(thenar_device_table),
                                                   .kind = THENAR_DEVICE_HAPTIC,
                                                   .name = "recording",
                                                   .open = recorded_open,
                                                   .describe = recorded_describe,
                                                   .write = recorded_write,
                                                   .close = recorded_close};
