#include "device/user.h"

#include <stdlib.h>

#define LONGEST_PIECE 2e-4 /* s: 1/50 of a radian for 2000 N/m on 0.2 kg */

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

/* From key to key as 3 s^2 - 2 s^3: at rest at each. */
void user_wanted(const user_model *model, double time, vec3 *position, quat *orientation, vec3 *velocity, vec3 *spin) {
    const user_key *keys = model->keys;
    *velocity = *spin = (vec3){0, 0, 0};
    *position = (vec3){0, 0, 0};
    *orientation = quat_identity();
    if (model->key_count == 0) return;
    double last = keys[model->key_count - 1].time;
    if (model->repeat && last > 0) time = fmod(time, last);
    int next = 0; /* the first key that is later; by halves, since a script may have any number of them */
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
    vec3 way = vec3_sub(b->position, a->position), turn = vec3_sub(b->turn, a->turn);
    *position = vec3_mul_add(a->position, way, share);
    *orientation = quat_from_rotation_vector(vec3_mul_add(a->turn, turn, share));
    *velocity = vec3_scale(way, speed);
    *spin = vec3_scale(turn, speed); /* exact about one axis, which is what scripts do */
}

user_state user_begin(const user_model *model) {
    user_state state = {0};
    user_wanted(model, 0, &state.position, &state.orientation, &state.velocity, &state.spin);
    state.velocity = state.spin = (vec3){0, 0, 0};
    return state;
}

static void advance_piece(const user_model *m, user_state *s, const double wrench[6], double h) {
    vec3 place, speed, spin;
    quat orientation;
    user_wanted(m, s->time, &place, &orientation, &speed, &spin);
    vec3 pull = vec3_scale(vec3_sub(place, s->position), m->stiffness);
    pull = vec3_mul_add(pull, vec3_sub(speed, s->velocity), m->damping);
    pull = vec3_add(vec3_mul_add(pull, s->velocity, -m->friction), vec3_load(wrench));
    vec3 turn = quat_to_rotation_vector(quat_mul(orientation, quat_conjugate(s->orientation)));
    vec3 twist = vec3_scale(turn, m->turn_stiffness);
    twist = vec3_mul_add(twist, vec3_sub(spin, s->spin), m->turn_damping);
    twist = vec3_add(vec3_mul_add(twist, s->spin, -m->turn_friction), vec3_load(wrench + 3));
    /* Symplectic Euler: keeps the energy of an undamped hand bounded. */
    s->velocity = vec3_mul_add(s->velocity, pull, h / m->mass);
    s->spin = vec3_mul_add(s->spin, twist, h / m->inertia);
    s->position = vec3_mul_add(s->position, s->velocity, h);
    s->orientation = quat_unit(quat_mul(quat_from_rotation_vector(vec3_scale(s->spin, h)), s->orientation));
    s->time += h;
}

void user_advance(const user_model *model, user_state *state, const double wrench[6], double dt) {
    int pieces = (int)ceil(dt / LONGEST_PIECE - 1e-6);
    for (int i = 0; i < pieces; i++) advance_piece(model, state, wrench, dt / pieces);
}

void user_sample(const user_state *state, uint64_t sequence, thenar_device_sample *out) {
    *out = (thenar_device_sample){.has = THENAR_DEVICE_POSITION | THENAR_DEVICE_ORIENTATION | THENAR_DEVICE_VELOCITY |
                                         THENAR_DEVICE_SPIN,
                                  .sequence = sequence};
    vec3_store(out->position, state->position);
    vec3_store(out->velocity, state->velocity);
    vec3_store(out->spin, state->spin);
    out->orientation[0] = state->orientation.x, out->orientation[1] = state->orientation.y;
    out->orientation[2] = state->orientation.z, out->orientation[3] = state->orientation.w;
}
