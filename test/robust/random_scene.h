/* A random world from a seed: what it is made of, and how it is simulated. The same seed is the same world everywhere.
 *
 * Materials reach over four decades, time steps from 0.1 to 20 ms; tets may be slivers, bodies may be soft with strain
 * limits, rigid of any shape, hands, held by handles, and driven ones jump. How large a world is depends on how many
 * steps it takes, so that each takes a few seconds. */
#ifndef ROBUST_RANDOM_SCENE_H
#define ROBUST_RANDOM_SCENE_H

#include "random.h"
#include "core/vec3.h"
#include "solver/solver.h"
#include "thenar/thenar.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define SCENE_NAME 16
#define SCENE_SECONDS 2.0 /* simulated, for which its size is meant */

/* A world in the making. */
typedef struct random_scene {
    random_source random;
    thenar_world_def world;
    thenar_sim_options options;
    thenar_build *build;
    int room;      /* nodes that may still be added */
    double height; /* above which nothing is yet, m */
    int bodies;
    bool sheet;         /* a thin one, with thousands of points that may touch */
    bool jumps, forces; /* driven ones jump; forces are applied */
    char text[512];     /* what it is, in a line */
    thenar_error error;
} random_scene;

static inline double scene_between(random_scene *s, double low, double high) {
    return random_uniform(&s->random, low, high);
}

/* Each decade as likely as the next. */
static inline double scene_decades(random_scene *s, double low, double high) {
    return low * exp(scene_between(s, 0, log(high / low)));
}

static inline bool scene_chance(random_scene *s, double share) {
    return scene_between(s, 0, 1) < share;
}

static inline int scene_pick(random_scene *s, int count) {
    return (int)(random_bits(&s->random) % (uint64_t)count);
}

static inline vec3 scene_vector(random_scene *s, double max) {
    double x = scene_between(s, -max, max), y = scene_between(s, -max, max);
    return vec3_make(x, y, scene_between(s, -max, max));
}

/* One draw after the other: compilers differ in which operand of a product they take first. */
static inline double scene_friction(random_scene *s) {
    double mu = scene_between(s, 0, 2);
    return scene_chance(s, 0.9) ? mu : 0;
}

static inline thenar_material scene_material(random_scene *s) {
    thenar_material m = thenar_material_default();
    m.young = scene_decades(s, 1e3, 1e7);
    m.poisson = scene_chance(s, 0.1) ? 0.499 : scene_between(s, -0.2, 0.48);
    m.density = scene_decades(s, 10, 1e4);
    m.damping_mass = scene_chance(s, 0.3) ? scene_decades(s, 0.01, 100) : 0;
    m.damping_stiffness = scene_chance(s, 0.7) ? scene_decades(s, 1e-5, 0.1) : 0;
    if (scene_chance(s, 0.4)) m.stretch_min = scene_between(s, 0.5, 0.99);
    if (scene_chance(s, 0.4)) m.stretch_max = 1 + scene_decades(s, 0.01, 1);
    if (scene_chance(s, 0.1)) {
        vec3_store(m.fibres[0].direction, scene_vector(s, 1));
        m.fibres[0].stretch_max = 1 + scene_decades(s, 0.01, 0.5);
    }
    return m;
}

/* A body has been added. */
static inline void scene_note_body(random_scene *s) {
    s->bodies++;
}

static inline double scene_volume(const thenar_tet_mesh *mesh, int tet) {
    const int *n = mesh->tets + 4 * tet;
    vec3 a = vec3_load(mesh->positions + 3 * n[0]);
    vec3 b = vec3_sub(vec3_load(mesh->positions + 3 * n[1]), a), c = vec3_sub(vec3_load(mesh->positions + 3 * n[2]), a);
    return vec3_dot(vec3_cross(b, c), vec3_sub(vec3_load(mesh->positions + 3 * n[3]), a)) / 6;
}

/* Moves nodes until tets around them have a small share of their volume: slivers, needles, and what is between. None goes
 * below the lowest, where another body may be. */
static inline void scene_make_slivers(random_scene *s, thenar_tet_mesh *mesh, double cell, double lowest) {
    double min = scene_decades(s, 1e-4, 0.3) * cell * cell * cell / 6;
    for (int tries = 0; tries < mesh->node_count; tries++) {
        double *x = mesh->positions + 3 * (size_t)scene_pick(s, mesh->node_count);
        vec3 before = vec3_load(x);
        vec3_store(x, vec3_add(before, scene_vector(s, 0.8 * cell)));
        bool good = x[1] >= lowest;
        for (int t = 0; t < mesh->tet_count && good; t++) good = scene_volume(mesh, t) > min;
        if (!good) vec3_store(x, before);
    }
}

/* A box of about `nodes` nodes on top of what is there. */
static inline bool scene_mesh(random_scene *s, int nodes, thenar_tet_mesh *mesh) {
    double cell = scene_decades(s, 0.003, 0.03);
    int max = (int)cbrt(nodes) + 1;
    int cells[3] = {1 + scene_pick(s, max), 1 + scene_pick(s, max), 1 + scene_pick(s, max)};
    if (nodes > 1000) cells[0] = cells[2] = 30 + scene_pick(s, 15), cells[1] = 1;
    double low[3], high[3];
    s->height += s->world.margin + scene_between(s, 1e-4, 0.01);
    for (int i = 0; i < 3; i++) {
        low[i] = i == 1 ? s->height : scene_between(s, -0.6, -0.4) * cells[i] * cell;
        high[i] = low[i] + cells[i] * cell;
    }
    thenar_lattice lattice = scene_chance(s, 0.5) ? THENAR_LATTICE_CUBE : THENAR_LATTICE_KUHN;
    if (thenar_tet_mesh_box(low, high, cells, lattice, mesh, &s->error) != THENAR_OK) return false;
    if (mesh->node_count < 600 && scene_chance(s, 0.4)) scene_make_slivers(s, mesh, cell, low[1]);
    for (int i = 0; i < mesh->node_count; i++) s->height = fmax(s->height, mesh->positions[3 * i + 1]);
    return true;
}

static inline void scene_keys(random_scene *s, thenar_key keys[4]) {
    for (int i = 0; i < 4; i++) {
        keys[i] = (thenar_key){.time = i == 0 ? 0 : keys[i - 1].time + scene_decades(s, 1e-4, 0.5)};
        if (i > 0) vec3_store(keys[i].move, scene_vector(s, scene_decades(s, 1e-3, 0.1)));
        if (i > 0) vec3_store(keys[i].turn, scene_vector(s, scene_decades(s, 1e-2, 1)));
    }
}

static inline bool scene_add_soft(random_scene *s, int index) {
    char name[SCENE_NAME];
    thenar_tet_mesh mesh;
    int nodes = s->sheet && index == 0 ? s->room : 8 + scene_pick(s, s->room > 8 ? s->room : 8);
    if (!scene_mesh(s, nodes, &mesh)) return false;
    s->room -= mesh.node_count;
    snprintf(name, sizeof name, "soft%d", index);
    thenar_soft_def def = thenar_soft_def_default();
    thenar_key keys[4];
    thenar_support support = {.name = "held", .region = {.kind = THENAR_REGION_HALF, .normal = {0, 1, 0}}};
    thenar_load load = {.region = {.kind = THENAR_REGION_ALL}};
    def.name = name;
    def.mesh = &mesh;
    def.material = scene_material(s);
    def.friction = scene_friction(s);
    vec3_store(def.velocity, scene_vector(s, scene_decades(s, 0.01, 5)));
    if (scene_chance(s, 0.3)) vec3_store(def.spin, scene_vector(s, 10));
    if (scene_chance(s, 0.2)) def.self_distance = 0.03;
    if (scene_chance(s, 0.4)) {
        def.supports = &support;
        def.support_count = 1;
        support.region.point[1] = scene_chance(s, 0.5) ? mesh.positions[1] : s->height; /* a side, or all of it */
        if (scene_chance(s, 0.5)) support.region.normal[1] = -1;
        support.stiffness = scene_chance(s, 0.3) ? scene_decades(s, 1, 1e5) : 0;
        support.damping = support.stiffness > 0 && scene_chance(s, 0.5) ? scene_decades(s, 0.01, 100) : 0;
        support.linear = scene_chance(s, 0.5);
        if (scene_chance(s, 0.5)) {
            scene_keys(s, keys);
            support.keys = keys;
            support.key_count = 4;
        }
    }
    if (scene_chance(s, 0.2)) {
        vec3_store(load.force, scene_vector(s, scene_decades(s, 1e-3, 10)));
        def.loads = &load;
        def.load_count = 1;
    }
    thenar_status status = thenar_build_add_soft(s->build, &def, &s->error);
    scene_note_body(s);
    if (status == THENAR_OK && def.support_count == 0 && scene_chance(s, 0.15)) {
        thenar_handle_def handle = thenar_handle_def_default();
        handle.name = name;
        handle.tool = name;
        vec3_store(handle.seed, vec3_load(mesh.positions));
        handle.radius = 0.06;
        handle.linearize = true;
        handle.stiffness = scene_decades(s, 10, 1e5);
        thenar_status held = thenar_build_add_handle(s->build, &handle, NULL); /* too few nodes there: no handle */
        if (held == THENAR_OK && scene_chance(s, 0.4) && s->world.contact_method != THENAR_CONTACT_AGGREGATE &&
            s->options.solver == THENAR_SOLVER_NEWTON)
            s->options.coupling = scene_chance(s, 0.5) ? THENAR_COUPLING_SCHUR : THENAR_COUPLING_CG;
    }
    thenar_tet_mesh_free(&mesh);
    return status == THENAR_OK;
}

static inline bool scene_add_rigid(random_scene *s, int index, thenar_motion motion) {
    char name[SCENE_NAME];
    thenar_rigid_def def = thenar_rigid_def_default();
    thenar_surface surface = {0};
    thenar_key keys[4];
    double size = scene_decades(s, 0.004, 0.06);
    snprintf(name, sizeof name, "rigid%d", index);
    def.name = name;
    def.motion = motion;
    def.shape.kind = (thenar_shape_kind)scene_pick(s, 4);
    if (scene_chance(s, 0.15)) def.shape.kind = THENAR_SHAPE_MESH;
    def.shape.radius = size / 2;
    def.shape.length = size * scene_between(s, 0.2, 2);
    for (int i = 0; i < 3; i++) def.shape.size[i] = size * scene_decades(s, 0.2, 2);
    double min = fmin(fmin(def.shape.radius, def.shape.length),
                      fmin(fmin(def.shape.size[0], def.shape.size[1]), def.shape.size[2]));
    if (scene_chance(s, 0.3) && def.shape.kind != THENAR_SHAPE_MESH) def.shape.rounding = 0.2 * min;
    if (def.shape.kind == THENAR_SHAPE_MESH) {
        if (thenar_surface_torus(size, size / 3, 3, &surface, &s->error) != THENAR_OK) return false;
        def.shape.surface = &surface;
    }
    def.density = scene_decades(s, 10, 1e5);
    def.friction = scene_friction(s);
    s->height += 2 * size + s->world.margin;
    def.pose[1] = s->height;
    s->height += 2 * size;
    def.pose[0] = scene_between(s, -0.02, 0.02), def.pose[2] = scene_between(s, -0.02, 0.02);
    vec3 turn = scene_vector(s, 2);
    pose_store(def.pose, vec3_load(def.pose), quat_from_rotation_vector(turn));
    if (motion == THENAR_MOTION_DYNAMIC) {
        vec3_store(def.velocity, scene_vector(s, scene_decades(s, 0.01, 5)));
        if (scene_chance(s, 0.5)) vec3_store(def.spin, scene_vector(s, scene_decades(s, 0.1, 100)));
        if (scene_chance(s, 0.3)) def.damping_linear = def.damping_angular = scene_decades(s, 0.01, 100);
    } else if (scene_chance(s, 0.5)) {
        scene_keys(s, keys);
        def.keys = keys;
        def.key_count = 4;
        def.linear = scene_chance(s, 0.5);
    }
    thenar_status status = thenar_build_add_rigid(s->build, &def, &s->error);
    scene_note_body(s);
    thenar_surface_free(&surface);
    return status == THENAR_OK;
}

static inline bool scene_add_hand(random_scene *s, bool phalanges) {
    thenar_hand_def def = thenar_hand_def_default();
    def.phalanges = phalanges;
    s->height += 0.1;
    def.pose[1] = s->height;
    s->height += 0.1;
    def.material.young = scene_decades(s, 1e4, 1e6);
    if (scene_chance(s, 0.3)) def.material.stretch_min = def.material.stretch_max = 0;
    def.friction = scene_between(s, 0, 2);
    def.weight = scene_chance(s, 0.3);
    def.flesh_stiffness *= scene_decades(s, 0.01, 100);
    def.joint_stiffness *= scene_decades(s, 0.1, 10);
    def.base_stiffness *= scene_decades(s, 0.1, 10);
    if (scene_chance(s, 0.5)) def.max_force = def.max_torque = 0;
    if (scene_chance(s, 0.5)) def.self_distance = 0;
    thenar_hand_key keys[] = {{.time = 0, .pose = THENAR_HAND_POSE_OPEN},
                              {.time = 0.5, .pose = THENAR_HAND_POSE_FIST},
                              {.time = 0.51, .pose = THENAR_HAND_POSE_SPREAD}};
    def.keys = keys;
    def.key_count = 3;
    if (thenar_build_add_hand(s->build, &def, &s->error) != THENAR_OK) return false;
    for (int i = 0; i < (phalanges ? 15 : 1); i++) scene_note_body(s);
    thenar_wearable_def cable = thenar_wearable_def_default(THENAR_WEARABLE_CABLE);
    thenar_tactile_def worn = {.size = sizeof worn, .name = "index", .finger = THENAR_FINGER_INDEX, .device = &cable};
    return thenar_build_add_tactile(s->build, &worn, &s->error) == THENAR_OK;
}

static inline void scene_choose(random_scene *s) {
    static const thenar_contact_method methods[] = {THENAR_CONTACT_POINT,     THENAR_CONTACT_POINT,
                                                    THENAR_CONTACT_PENALTY,   THENAR_CONTACT_PENALTY,
                                                    THENAR_CONTACT_AGGREGATE, THENAR_CONTACT_NONE};
    static const thenar_friction frictions[] = {THENAR_FRICTION_PYRAMID, THENAR_FRICTION_PYRAMID, THENAR_FRICTION_CONE,
                                                THENAR_FRICTION_PRINTED};
    s->world = thenar_world_def_default();
    s->world.dt = scene_decades(s, 1e-4, 0.02);
    s->world.margin = scene_decades(s, 1e-4, 5e-3);
    s->world.contact_stiffness = scene_decades(s, 1e7, 1e11);
    s->world.contact_damping = scene_chance(s, 0.7) ? scene_decades(s, 1e3, 1e6) : 0;
    s->world.contact_method = methods[scene_pick(s, scene_chance(s, 0.1) ? 6 : 5)];
    s->world.contact_pressure = (thenar_contact_pressure)scene_pick(s, 3);
    if (scene_chance(s, 0.15)) s->world.gravity[1] = 0;
    if (scene_chance(s, 0.15)) vec3_store(s->world.gravity, scene_vector(s, 30));
    s->options = thenar_sim_options_default();
    s->options.solver = (thenar_solver)(scene_chance(s, 0.5) ? 0 : scene_pick(s, thenar_solver_count()));
    s->options.friction = frictions[scene_pick(s, 4)];
    s->options.threads = 1 + scene_chance(s, 0.2);
    s->sheet = scene_chance(s, 0.03);
    if (s->sheet) {
        s->world.dt = scene_between(s, 0.01, 0.02);
        s->options.solver = THENAR_SOLVER_NEWTON;
        s->world.gravity[1] = -9.81;
    }
    s->jumps = scene_chance(s, 0.6);
    s->forces = scene_chance(s, 0.3);
}

static inline bool scene_add_ground(random_scene *s) {
    thenar_rigid_def ground = thenar_rigid_def_default();
    ground.name = "ground";
    ground.motion = THENAR_MOTION_STATIC;
    ground.shape = (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}};
    ground.friction = scene_between(s, 0, 2);
    scene_note_body(s);
    return thenar_build_add_rigid(s->build, &ground, &s->error) == THENAR_OK;
}

static inline bool scene_add_bodies(random_scene *s) {
    double steps = SCENE_SECONDS / s->world.dt;
    bool newton = s->options.solver == THENAR_SOLVER_NEWTON; /* the others take far longer */
    s->room = (int)fmax(20, fmin(newton ? 1600 : 40, 5e4 / steps));
    if (s->sheet) s->room = 1600;
    bool good = !scene_chance(s, 0.85) || scene_add_ground(s),
         hand = newton && !s->sheet && steps < 500 && scene_chance(s, 0.15);
    if (hand && good) good = scene_add_hand(s, steps < 250 && scene_chance(s, 0.4));
    if (hand) s->room = 50;
    int soft = scene_pick(s, 4), rigid = scene_pick(s, 6), driven = scene_pick(s, 3);
    if (!hand && (s->sheet || soft + rigid == 0)) soft = soft > 1 ? soft : 1;
    int number = 0;
    for (int i = 0; i < soft && good && (i == 0 || s->room > 8); i++) good = scene_add_soft(s, i);
    for (int i = 0; i < rigid && good; i++) good = scene_add_rigid(s, number++, THENAR_MOTION_DYNAMIC);
    for (int i = 0; i < driven && good; i++) good = scene_add_rigid(s, number++, THENAR_MOTION_DRIVEN);
    snprintf(s->text, sizeof s->text, "dt %.3g ms, %s, %s, %s, margin %.2g mm, %d soft, %d rigid, %d driven%s%s%s%s%s",
             1e3 * s->world.dt, thenar_solver_name(s->options.solver),
             thenar_contact_method_name(s->world.contact_method), thenar_friction_name(s->options.friction),
             1e3 * s->world.margin, soft, rigid, driven, hand ? ", a hand" : "", s->jumps ? ", jumps" : "",
             s->forces ? ", forces" : "", s->options.coupling ? ", " : "",
             s->options.coupling ? thenar_coupling_name(s->options.coupling) : "");
    return good;
}

/* From a seed to a simulation at time 0. NULL: s->error says why, which is a failure. */
static inline thenar_sim *scene_make(random_scene *s, uint64_t seed) {
    *s = (random_scene){.random = {seed}};
    thenar_model *model = NULL;
    thenar_sim *sim = NULL;
    scene_choose(s);
    s->build = thenar_build_create(&s->world);
    if (s->build && scene_add_bodies(s) && thenar_build_compile(s->build, &model, &s->error) == THENAR_OK)
        thenar_sim_create(model, &s->options, &sim, &s->error);
    thenar_build_free(s->build);
    thenar_model_free(model);
    return sim;
}

#endif
