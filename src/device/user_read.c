/* The reader of scripts of simulated persons: one JSON object. */
#include "device/user.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define SCRIPT_BYTES ((size_t)1 << 22)
#define LONGEST 1e6   /* s */
#define SHORTEST 1e-6 /* s between keys: what is divided by it stays a number */
#define FURTHEST 10.0 /* m, rad */
#define STIFFEST 1e5  /* of any figure of the hand */

/* The figures of a hand by name; all but friction are more than zero. */
typedef struct figure {
    const char *name;
    size_t offset;
    double least;
} figure;

static const figure figures[] = {
    {"mass", offsetof(user_model, mass), 1e-3},
    {"stiffness", offsetof(user_model, stiffness), 0},
    {"damping", offsetof(user_model, damping), 0},
    {"friction", offsetof(user_model, friction), 0},
    {"inertia", offsetof(user_model, inertia), 1e-6},
    {"turn_stiffness", offsetof(user_model, turn_stiffness), 0},
    {"turn_damping", offsetof(user_model, turn_damping), 0},
    {"turn_friction", offsetof(user_model, turn_friction), 0},
};
#define FIGURES (sizeof figures / sizeof figures[0])

static thenar_status read_vector(const json_t *value, const char *what, int key, const char *path, vec3 *out,
                                 thenar_error *error) {
    double v[3] = {0};
    if (!value) {
        *out = (vec3){0, 0, 0};
        return THENAR_OK;
    }
    for (size_t i = 0; i < 3; i++) {
        const json_t *number = json_array_get(value, i);
        v[i] = json_number_value(number);
        if (json_array_size(value) != 3 || !json_is_number(number) || !(fabs(v[i]) <= FURTHEST))
            return error_at(error, path, 0, 0, "key %d: %s is not three numbers up to %g", key, what, FURTHEST);
    }
    *out = vec3_load(v);
    return THENAR_OK;
}

/* A name that is not known is mistyped, and its vector would be zero. */
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
        if (!json_is_number(time) || !(key->time >= 0 && key->time <= LONGEST) ||
            (i > 0 && !(key->time >= model->keys[i - 1].time + SHORTEST)))
            return error_at(error, path, 0, 0,
                            "key %zu: t is not a time in seconds, up to %g and %g later than the one before", i,
                            LONGEST, SHORTEST);
        status = read_vector(json_object_get(item, "position"), "position", (int)i, path, &key->position, error);
        if (status == THENAR_OK)
            status = read_vector(json_object_get(item, "turn"), "turn", (int)i, path, &key->turn, error);
        if (status != THENAR_OK) return status;
        model->key_count = (int)i + 1;
    }
    return THENAR_OK;
}

static thenar_status read_figure(const char *name, const json_t *value, const char *path, user_model *model,
                                 thenar_error *error) {
    const char *names[FIGURES + 3] = {"keys", "repeat", "turns"};
    for (size_t i = 0; i < FIGURES; i++) {
        names[i + 3] = figures[i].name;
        if (strcmp(name, figures[i].name) != 0) continue;
        double number = json_number_value(value);
        if (!json_is_number(value) || !(number >= figures[i].least && number <= STIFFEST))
            return error_at(error, path, 0, 0, "%s is not a number from %g to %g", name, figures[i].least, STIFFEST);
        memcpy((char *)model + figures[i].offset, &number, sizeof number);
        return THENAR_OK;
    }
    const char *closest = text_closest(name, names, FIGURES + 3);
    return error_at(error, path, 0, 0, "unknown key %s%s%s", name, closest ? "; did you mean " : "",
                    closest ? closest : "");
}

static thenar_status read_script(json_t *root, const char *path, user_model *model, thenar_error *error) {
    const char *name;
    json_t *value;
    thenar_status status = THENAR_OK;
    if (!json_is_object(root)) return error_at(error, path, 0, 0, "is not an object; expected {\"keys\": [...]}");
    json_object_foreach(root, name, value) {
        if (strcmp(name, "keys") == 0) continue;
        bool is_repeat = strcmp(name, "repeat") == 0;
        if ((is_repeat || strcmp(name, "turns") == 0) && json_is_boolean(value))
            *(is_repeat ? &model->repeat : &model->turns) = json_is_true(value);
        else if (is_repeat || strcmp(name, "turns") == 0)
            status = error_at(error, path, 0, 0, "%s is neither true nor false", name);
        else
            status = read_figure(name, value, path, model, error);
        if (status != THENAR_OK) return status;
    }
    return read_keys(json_object_get(root, "keys"), path, model, error);
}

/* From 2 cm above the ground to 1 cm below, stays for a second, and up again. */
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
