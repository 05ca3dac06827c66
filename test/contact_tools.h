/* Small worlds of bodies that touch, built through the public API. */
#ifndef TEST_CONTACT_TOOLS_H
#define TEST_CONTACT_TOOLS_H

#include "soft_tools.h"
#include "poses.h"

/* A short step (0) and a long one (1) of those that users take, s. A sanitizer makes a step some ten times slower: there
 * the long one does for both. */
static inline double time_step(int k) {
    if (k > 0 || SANITIZED) return 0.01;
    return test_full() ? 0.001 : 0.002;
}

#define CONTACT_GRAVITY 9.81

/* A build that bodies are added to one by one; the first error stops the test. */
typedef struct scene {
    thenar_build *build;
    int count;
} scene;

static inline scene scene_begin(vec3 gravity, double margin) {
    thenar_world_def world = thenar_world_def_default();
    vec3_store(world.gravity, gravity);
    if (margin > 0) world.margin = margin;
    scene s = {.build = thenar_build_create(&world)};
    assert_non_null(s.build);
    return s;
}

static inline scene scene_begin_on_earth(void) {
    return scene_begin(vec3_make(0, -CONTACT_GRAVITY, 0), 0);
}

static inline int scene_add_rigid(scene *s, const thenar_rigid_def *def) {
    thenar_error error;
    assert_ok(thenar_build_add_rigid(s->build, def, &error), error);
    return s->count++;
}

static inline int scene_add_soft(scene *s, const thenar_soft_def *def) {
    thenar_error error;
    assert_ok(thenar_build_add_soft(s->build, def, &error), error);
    return s->count++;
}

/* The ground below y = 0. */
static inline int scene_add_ground(scene *s, double mu) {
    thenar_rigid_def def = thenar_rigid_def_default();
    def.name = "ground";
    def.motion = THENAR_MOTION_STATIC;
    def.shape = (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}};
    def.friction = mu;
    return scene_add_rigid(s, &def);
}

static inline thenar_rigid_def scene_cube(const char *name, double side, double mass, vec3 at, double mu) {
    thenar_rigid_def def = thenar_rigid_def_default();
    def.name = name;
    def.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {side, side, side}};
    def.mass = mass;
    def.friction = mu;
    vec3_store(def.pose, at);
    return def;
}

/* A simulation of what was added; the model lives as long as it does. */
static inline thenar_sim *scene_sim_with(scene *s, const thenar_sim_options *options) {
    thenar_error error;
    thenar_model *model;
    thenar_sim *sim;
    assert_ok(thenar_build_compile(s->build, &model, &error), error);
    thenar_build_free(s->build);
    assert_ok(thenar_sim_create(model, options, &sim, &error), error);
    thenar_model_free(model);
    return sim;
}

static inline thenar_sim *scene_sim(scene *s, double dt, int threads) {
    thenar_sim_options options = {.size = sizeof(thenar_sim_options), .dt = dt, .threads = threads, .contact = THENAR_CONTACT_OF_MODEL};
    return scene_sim_with(s, &options);
}

static inline int steps_in(double time, double h) {
    return (int)lround(time / h);
}

/* Steps so far that did not converge. */
static inline int unconverged(const thenar_sim *sim) {
    return (int)thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED);
}

/* A box mesh from low to high. */
static inline thenar_tet_mesh scene_box(vec3 low, vec3 high, int nx, int ny, int nz) {
    thenar_tet_mesh mesh;
    thenar_error error;
    const double a[3] = {low.x, low.y, low.z}, b[3] = {high.x, high.y, high.z};
    const int cells[3] = {nx, ny, nz};
    assert_ok(thenar_tet_mesh_box(a, b, cells, THENAR_LATTICE_CUBE, &mesh, &error), error);
    return mesh;
}

static inline thenar_soft_def scene_soft(const char *name, const thenar_tet_mesh *mesh, double young, double mu) {
    thenar_soft_def def = thenar_soft_def_default();
    def.name = name;
    def.mesh = mesh;
    def.material.young = young;
    def.friction = mu;
    return def;
}

static inline vec3 scene_place(const thenar_sim *sim, int body) {
    double position[3], turn[4];
    if (thenar_model_body_kind(thenar_sim_model(sim), body) == THENAR_BODY_RIGID) {
        body_pose(sim, body, position, turn);
        return vec3_load(position);
    }
    const double *x = thenar_sim_positions(sim, body), *mass = thenar_model_masses(thenar_sim_model(sim), body);
    vec3 sum = {0};
    int count = thenar_model_mesh(thenar_sim_model(sim), body)->node_count;
    for (int i = 0; i < count; i++) sum = vec3_mul_add(sum, vec3_load(x + 3 * i), mass[i]);
    return vec3_scale(sum, 1 / thenar_model_mass(thenar_sim_model(sim), body));
}

static inline vec3 scene_velocity(const thenar_sim *sim, int body) {
    double velocity[3], spin[3];
    if (thenar_model_body_kind(thenar_sim_model(sim), body) == THENAR_BODY_RIGID) {
        body_twist(sim, body, velocity, spin);
        return vec3_load(velocity);
    }
    const double *v = thenar_sim_velocities(sim, body), *mass = thenar_model_masses(thenar_sim_model(sim), body);
    vec3 sum = {0};
    int count = thenar_model_mesh(thenar_sim_model(sim), body)->node_count;
    for (int i = 0; i < count; i++) sum = vec3_mul_add(sum, vec3_load(v + 3 * i), mass[i]);
    return vec3_scale(sum, 1 / thenar_model_mass(thenar_sim_model(sim), body));
}

/* Kinetic, elastic and gravity's energy of all bodies that can move, J. */
static inline double scene_energy(const thenar_sim *sim) {
    double sum = 0;
    const thenar_model *model = thenar_sim_model(sim);
    for (int i = 0; i < thenar_model_body_count(model); i++) {
        double kinetic, elastic, gravity;
        if (thenar_model_body_kind(model, i) == THENAR_BODY_RIGID &&
            thenar_model_motion(model, i) != THENAR_MOTION_DYNAMIC)
            continue;
        thenar_sim_energy(sim, i, &kinetic, &elastic, &gravity);
        sum += kinetic + elastic + gravity;
    }
    return sum;
}

static inline double scene_kinetic(const thenar_sim *sim) {
    double sum = 0;
    const thenar_model *model = thenar_sim_model(sim);
    for (int i = 0; i < thenar_model_body_count(model); i++) {
        double kinetic;
        if (thenar_model_body_kind(model, i) == THENAR_BODY_RIGID &&
            thenar_model_motion(model, i) != THENAR_MOTION_DYNAMIC)
            continue;
        thenar_sim_energy(sim, i, &kinetic, NULL, NULL);
        sum += kinetic;
    }
    return sum;
}

/* Nothing that can be read is not a number. */
static inline bool scene_is_finite(const thenar_sim *sim) {
    const thenar_model *model = thenar_sim_model(sim);
    for (int i = 0; i < thenar_model_body_count(model); i++) {
        if (!vec3_is_finite(scene_place(sim, i)) || !vec3_is_finite(scene_velocity(sim, i))) return false;
        if (thenar_model_body_kind(model, i) != THENAR_BODY_SOFT) continue;
        const double *x = thenar_sim_positions(sim, i), *v = thenar_sim_velocities(sim, i);
        for (int k = 0; k < 3 * thenar_model_mesh(model, i)->node_count; k++)
            if (!isfinite(x[k]) || !isfinite(v[k])) return false;
    }
    const thenar_contact *contacts = thenar_sim_contacts(sim);
    for (int i = 0; i < thenar_sim_contact_count(sim); i++)
        if (!isfinite(contacts[i].gap) || !isfinite(contacts[i].force) ||
            !vec3_is_finite(vec3_load(contacts[i].friction)))
            return false;
    return isfinite(scene_energy(sim));
}

/* The least and the largest stretch of a soft body's tets. */
static inline void scene_stretches(const thenar_sim *sim, int body, double *min, double *max) {
    int count = thenar_model_mesh(thenar_sim_model(sim), body)->tet_count;
    double *values = calloc(3 * (size_t)count, sizeof *values);
    thenar_sim_stretches(sim, body, values);
    *min = INFINITY, *max = -INFINITY;
    for (int i = 0; i < 3 * count; i++) {
        *min = fmin(*min, values[i]);
        *max = fmax(*max, values[i]);
    }
    free(values);
}

/* Contacts of the last step: how deep, how far outside the cone, how far from complementary. */
typedef struct contact_figures {
    double depth;      /* m: the deepest */
    double open_force; /* m: the widest gap of one that pushes */
    double cone;       /* the largest |f_t| / (mu f_n) of one that pushes */
    double normal;     /* N: sum */
    int touching, sticking;
} contact_figures;

static inline contact_figures scene_contacts(const thenar_sim *sim, double mu) {
    contact_figures all = {0};
    const thenar_contact *contacts = thenar_sim_contacts(sim);
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
        const thenar_contact *c = &contacts[i];
        all.depth = fmax(all.depth, -c->gap);
        if (!(c->force > 0)) continue;
        all.touching++;
        all.sticking += c->sticks;
        all.normal += c->force;
        all.open_force = fmax(all.open_force, c->gap);
        if (mu > 0) all.cone = fmax(all.cone, vec3_length(vec3_load(c->friction)) / (mu * c->force));
    }
    return all;
}

/* Force of one body on another, over the pairs of both directions. */
static inline vec3 scene_force_between(const thenar_sim *sim, int on, int from) {
    vec3 sum = {0};
    for (int i = 0; i < thenar_sim_contact_pair_count(sim); i++) {
        const thenar_contact_pair *pair = &thenar_sim_contact_pairs(sim)[i];
        if (pair->body[0] == on && pair->body[1] == from) sum = vec3_add(sum, vec3_load(pair->force));
        if (pair->body[0] == from && pair->body[1] == on) sum = vec3_sub(sum, vec3_load(pair->force));
    }
    return sum;
}

/* Of soft bodies only. */
static inline void scene_momentum(const thenar_sim *sim, vec3 *linear, vec3 *angular) {
    const thenar_model *model = thenar_sim_model(sim);
    *linear = *angular = vec3_make(0, 0, 0);
    for (int i = 0; i < thenar_model_body_count(model); i++) {
        const double *x = thenar_sim_positions(sim, i), *v = thenar_sim_velocities(sim, i);
        const double *mass = thenar_model_masses(model, i);
        for (int k = 0; k < thenar_model_mesh(model, i)->node_count; k++) {
            vec3 p = vec3_scale(vec3_load(v + 3 * k), mass[k]);
            *linear = vec3_add(*linear, p);
            *angular = vec3_add(*angular, vec3_cross(vec3_load(x + 3 * k), p));
        }
    }
}

#endif
