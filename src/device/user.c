/* The simulated person (device.h): its motion, the reader of its scripts, and the device. */
#include "device/device.h"

#include "io/file.h"
#include "core/memory.h"
#include "core/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUBSTEP_MAX 2e-4 /* s: 1/50 of a radian for 2000 N/m on 0.2 kg */

user_model user_model_default(void) {
    return (user_model){.mass = 0.2,
                        .stiffness = 500,
                        .damping = 10,
                        .friction = 0.1,
                        .inertia = 2e-4,
                        .turn_stiffness = 1,
                        .turn_damping = 0.02,
                        .turn_friction = 1e-4,
                        .turns = true};
}

void user_model_free(user_model *model) {
    free(model->keys);
    *model = (user_model){0};
}

/* Pose and velocity of the script at a time. Between two keys it moves as 3 s^2 - 2 s^3, at rest at each key. */
static void script_at(const user_model *model, double time, vec3 *position, quat *orientation, vec3 *velocity,
                      vec3 *spin) {
    const user_key *keys = model->keys;
    *position = *velocity = *spin = (vec3){0, 0, 0};
    *orientation = quat_identity();
    if (model->key_count == 0) return;
    double last = keys[model->key_count - 1].time;
    if (model->repeat && last > 0) time = fmod(time, last);
    int next = 0; /* the first later key, by bisection: a script may be long */
    for (int end = model->key_count; next < end;) {
        int middle = next + (end - next) / 2;
        if (keys[middle].time <= time)
            next = middle + 1;
        else
            end = middle;
    }
    if (next == 0 || next == model->key_count) {
        const user_key *key = &keys[next == 0 ? 0 : next - 1];
        *position = key->position;
        *orientation = quat_from_rotation_vector(key->turn);
        return;
    }
    const user_key *a = &keys[next - 1], *b = &keys[next];
    double span = b->time - a->time, s = (time - a->time) / span;
    double share = s * s * (3 - 2 * s), speed = 6 * s * (1 - s) / span;
    vec3 move = vec3_sub(b->position, a->position), turn = vec3_sub(b->turn, a->turn);
    *position = vec3_mul_add(a->position, move, share);
    *orientation = quat_from_rotation_vector(vec3_mul_add(a->turn, turn, share));
    *velocity = vec3_scale(move, speed);
    *spin = vec3_scale(turn, speed); /* exact for turns about one axis, as scripts have them */
}

user_state user_begin(const user_model *model) {
    user_state state = {0};
    script_at(model, 0, &state.position, &state.orientation, &state.velocity, &state.spin);
    state.velocity = state.spin = (vec3){0, 0, 0};
    return state;
}

static void substep(const user_model *m, user_state *s, const double wrench[6], double h) {
    vec3 position, velocity, spin;
    quat orientation;
    script_at(m, s->time, &position, &orientation, &velocity, &spin);
    vec3 force = vec3_scale(vec3_sub(position, s->position), m->stiffness);
    force = vec3_mul_add(force, vec3_sub(velocity, s->velocity), m->damping);
    force = vec3_add(vec3_mul_add(force, s->velocity, -m->friction), vec3_load(wrench));
    vec3 turn = quat_to_rotation_vector(quat_mul(orientation, quat_conjugate(s->orientation)));
    vec3 torque = vec3_scale(turn, m->turn_stiffness);
    torque = vec3_mul_add(torque, vec3_sub(spin, s->spin), m->turn_damping);
    torque = vec3_add(vec3_mul_add(torque, s->spin, -m->turn_friction), vec3_load(wrench + 3));
    /* Symplectic Euler keeps the energy of an undamped hand bounded. */
    s->velocity = vec3_mul_add(s->velocity, force, h / m->mass);
    s->spin = vec3_mul_add(s->spin, torque, h / m->inertia);
    s->position = vec3_mul_add(s->position, s->velocity, h);
    s->orientation = quat_unit(quat_mul(quat_from_rotation_vector(vec3_scale(s->spin, h)), s->orientation));
    s->time += h;
}

void user_advance(const user_model *model, user_state *state, const double wrench[6], double dt) {
    int count = (int)ceil(dt / SUBSTEP_MAX - 1e-6);
    for (int i = 0; i < count; i++) substep(model, state, wrench, dt / count);
}

void user_sample(const user_state *state, uint64_t sequence, thenar_device_sample *out) {
    *out = (thenar_device_sample){.has = THENAR_DEVICE_POSITION | THENAR_DEVICE_ORIENTATION | THENAR_DEVICE_VELOCITY |
                                         THENAR_DEVICE_SPIN,
                                  .sequence = sequence};
    pose_store(out->pose, state->position, state->orientation);
    vec3_store(out->velocity, state->velocity);
    vec3_store(out->spin, state->spin);
}

/* The reader of scripts: one JSON object. */

#define SCRIPT_BYTES ((size_t)1 << 22)
#define TIME_MAX 1e6       /* s */
#define INTERVAL_MIN 1e-6  /* s between keys, so that speeds stay finite */
#define COORDINATE_MAX 10. /* m, rad */
#define PARAMETER_MAX 1e5

/* The parameters of a hand by name. */
typedef struct parameter {
    const char *name;
    size_t offset;
    double min;
} parameter;

static const parameter parameters[] = {
    {"mass", offsetof(user_model, mass), 1e-3},
    {"stiffness", offsetof(user_model, stiffness), 0},
    {"damping", offsetof(user_model, damping), 0},
    {"friction", offsetof(user_model, friction), 0},
    {"inertia", offsetof(user_model, inertia), 1e-6},
    {"turn_stiffness", offsetof(user_model, turn_stiffness), 0},
    {"turn_damping", offsetof(user_model, turn_damping), 0},
    {"turn_friction", offsetof(user_model, turn_friction), 0},
};
#define PARAMETERS (sizeof parameters / sizeof *parameters)

static thenar_status read_vector(const json_t *value, const char *what, int key, const char *path, vec3 *out,
                                 thenar_error *error) {
    double v[3];
    if (!value) return THENAR_OK; /* it stays zero */
    for (size_t i = 0; i < 3; i++) {
        const json_t *number = json_array_get(value, i);
        v[i] = json_number_value(number);
        if (json_array_size(value) != 3 || !json_is_number(number) || !(fabs(v[i]) <= COORDINATE_MAX))
            return error_at(error, path, 0, 0, "key %d: %s is not three numbers up to %g", key, what, COORDINATE_MAX);
    }
    *out = vec3_load(v);
    return THENAR_OK;
}

/* An unknown name is a typing error, and the vector that it stands for would be zero. */
static thenar_status check_names(const json_t *key, int index, const char *path, thenar_error *error) {
    static const char *const names[] = {"t", "position", "turn"};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)key, name, value) {
        const char *closest = text_closest(name, names, 3);
        if (closest && strcmp(closest, name) == 0) continue;
        return error_at(error, path, 0, 0, "key %d: unknown %s; %s%s", index, name,
                        closest ? "did you mean " : "expected t, position or turn", closest ? closest : "");
    }
    return THENAR_OK;
}

static thenar_status read_keys(const json_t *list, const char *path, user_model *model, thenar_error *error) {
    size_t count = json_array_size(list);
    if (count == 0)
        return error_at(error, path, 0, 0,
                        "keys is missing or empty; expected [{\"t\": s, \"position\": [x, y, z]}, ...]");
    model->keys = MEMORY_ARRAY(user_key, count);
    if (!model->keys) return error_memory(error, path);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i), *time = json_object_get(item, "t");
        user_key *key = &model->keys[i];
        thenar_status status = check_names(item, (int)i, path, error);
        if (status != THENAR_OK) return status;
        key->time = json_number_value(time);
        if (!json_is_number(time) || !(key->time >= 0 && key->time <= TIME_MAX) ||
            (i > 0 && !(key->time >= model->keys[i - 1].time + INTERVAL_MIN)))
            return error_at(error, path, 0, 0,
                            "key %zu: t is not a time in seconds, up to %g and %g later than the one before", i,
                            TIME_MAX, INTERVAL_MIN);
        status = read_vector(json_object_get(item, "position"), "position", (int)i, path, &key->position, error);
        if (status == THENAR_OK)
            status = read_vector(json_object_get(item, "turn"), "turn", (int)i, path, &key->turn, error);
        if (status != THENAR_OK) return status;
        model->key_count = (int)i + 1;
    }
    return THENAR_OK;
}

static thenar_status read_parameter(const char *name, const json_t *value, const char *path, user_model *model,
                                    thenar_error *error) {
    const char *names[PARAMETERS + 3] = {"keys", "repeat", "turns"};
    for (size_t i = 0; i < PARAMETERS; i++) {
        names[i + 3] = parameters[i].name;
        if (strcmp(name, parameters[i].name) != 0) continue;
        double number = json_number_value(value);
        if (!json_is_number(value) || !(number >= parameters[i].min && number <= PARAMETER_MAX))
            return error_at(error, path, 0, 0, "%s is not a number from %g to %g", name, parameters[i].min,
                            PARAMETER_MAX);
        memcpy((char *)model + parameters[i].offset, &number, sizeof number);
        return THENAR_OK;
    }
    const char *closest = text_closest(name, names, PARAMETERS + 3);
    return error_at(error, path, 0, 0, "unknown key %s%s%s", name, closest ? "; did you mean " : "",
                    closest ? closest : "");
}

static thenar_status read_script(json_t *root, const char *path, user_model *model, thenar_error *error) {
    const char *name;
    json_t *value;
    thenar_status status = THENAR_OK;
    if (!json_is_object(root)) return error_at(error, path, 0, 0, "not an object; expected {\"keys\": [...]}");
    json_object_foreach(root, name, value) {
        if (strcmp(name, "keys") == 0) continue;
        bool *flag = strcmp(name, "repeat") == 0 ? &model->repeat : strcmp(name, "turns") == 0 ? &model->turns : NULL;
        if (!flag)
            status = read_parameter(name, value, path, model, error);
        else if (json_is_boolean(value))
            *flag = json_is_true(value);
        else
            status = error_at(error, path, 0, 0, "%s is neither true nor false", name);
        if (status != THENAR_OK) return status;
    }
    return read_keys(json_object_get(root, "keys"), path, model, error);
}

/* Moves from 2 cm above the ground to 1 cm below, stays for a second, and moves up again. */
static thenar_status built_in(user_model *out, thenar_error *error) {
    static const user_key keys[] = {{0, {0, 0.02, 0}, {0, 0, 0}},
                                    {0.5, {0, -0.01, 0}, {0, 0, 0}},
                                    {1.5, {0, -0.01, 0}, {0, 0, 0}},
                                    {2, {0, 0.02, 0}, {0, 0, 0}}};
    out->keys = memory_copy(keys, sizeof keys);
    if (!out->keys) return error_memory(error, "a script");
    out->key_count = (int)(sizeof keys / sizeof *keys);
    out->repeat = true;
    return THENAR_OK;
}

thenar_status user_model_parse(const char *text, size_t size, const char *name, user_model *out, thenar_error *error) {
    json_t *root;
    *out = user_model_default();
    thenar_status status = json_text_parse(text, size, name, &root, error);
    if (status != THENAR_OK) return status;
    status = read_script(root, name, out, error);
    json_decref(root);
    if (status != THENAR_OK) user_model_free(out);
    return status;
}

thenar_status user_model_read(const char *path, user_model *out, thenar_error *error) {
    file_bytes bytes;
    *out = user_model_default();
    if (path[0] == 0) return built_in(out, error);
    thenar_status status = file_read(path, SCRIPT_BYTES, &bytes, error);
    if (status != THENAR_OK) return status;
    status = user_model_parse(bytes.data, bytes.size, path, out, error);
    free(bytes.data);
    return status;
}

/* The simulated person as a device, on the clock of the loop. */

#define PAUSE_MAX 0.05 /* s: a longer time between two reads is a pause of the loop, and this much passes */

typedef struct user_device {
    user_model model;
    user_state state;
    double wrench[6];
    int64_t last_ns;
    uint64_t sequence;
} user_device;

static void *user_open(const char *argument, char *message, size_t size) {
    thenar_error error;
    user_device *user = MEMORY_ARRAY(user_device, 1);
    if (!user) return device_refuse(message, size, "out of memory");
    if (user_model_read(argument, &user->model, &error) != THENAR_OK) {
        free(user);
        return device_refuse(message, size, "%s", error.text);
    }
    user->state = user_begin(&user->model);
    return user;
}

static void user_describe(void *device, thenar_device_info *info) {
    const user_device *user = device;
    info->can = THENAR_DEVICE_POSITION | THENAR_DEVICE_VELOCITY | THENAR_DEVICE_FORCE;
    if (user->model.turns) info->can |= THENAR_DEVICE_ORIENTATION | THENAR_DEVICE_SPIN | THENAR_DEVICE_TORQUE;
}

int device_user_read_at(void *device, int64_t now_ns, thenar_device_sample *sample) {
    user_device *user = device;
    double elapsed = user->last_ns ? 1e-9 * (double)(now_ns - user->last_ns) : 0;
    user->last_ns = now_ns;
    user_advance(&user->model, &user->state, user->wrench, fmin(elapsed, PAUSE_MAX));
    user_sample(&user->state, ++user->sequence, sample);
    if (!user->model.turns) sample->has &= ~(unsigned)(THENAR_DEVICE_ORIENTATION | THENAR_DEVICE_SPIN);
    return 1;
}

static int user_write(void *device, const double *values, int count) {
    user_device *user = device;
    if (count != 6) return -1;
    memcpy(user->wrench, values, sizeof user->wrench);
    if (!user->model.turns) memset(user->wrench + 3, 0, 3 * sizeof *user->wrench);
    return 0;
}

static void user_close(void *device) {
    user_device *user = device;
    user_model_free(&user->model);
    free(user);
}

const thenar_device_table device_user_table = {.version = THENAR_DEVICE_VERSION,
                                               .size = sizeof(thenar_device_table),
                                               .kind = THENAR_DEVICE_HAPTIC,
                                               .name = "simulated person",
                                               .open = user_open,
                                               .describe = user_describe,
                                               .write = user_write,
                                               .close = user_close};
