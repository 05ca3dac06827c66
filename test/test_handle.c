/* Handles: a rigid piece in a soft tool, solved with it, and how the force on it changes with its motion. */
#include "contact_tools.h"

#include "allocations.h"
#include "hand_world.h"

#include "core/spatial.h"
#include "world/sim.h"

#include <unistd.h>

/* ---- a bar of flesh that is held by a handle at one end ---- */

typedef struct bar_def {
    double young, limit; /* Pa; least and largest stretch are 1 -+ limit, 0: none */
    double gravity;
    double floor, friction; /* height of a floor below the bar, m; < 0: none */
    bool cushion;           /* the floor is a soft one, 2 cm thick */
    bool coupled;           /* by the virtual coupling */
    const char *coupling;
    int handles;
} bar_def;

#define BAR_STEP 0.01
#define DEVICE_STEP 2e-7 /* m, by which the device is moved to and fro, and 100 times as much as radians */

static thenar_handle_def end_handle(const char *name, double x) {
    thenar_handle_def def = thenar_handle_def_default();
    def.name = name;
    def.tool = "bar";
    def.seed[0] = x, def.seed[1] = 0.01, def.seed[2] = 0.01;
    def.radius = 0.0183;
    def.linearize = true;
    return def;
}

/* 8 x 2 x 2 cm, from the origin along x; the floor is below y = 0. */
static thenar_sim *bar_sim(const bar_def *bar) {
    thenar_error error;
    scene s = scene_begin(vec3_make(0, bar->gravity, 0), 0);
    thenar_tet_mesh mesh = scene_box(vec3_make(0, 0, 0), vec3_make(0.08, 0.02, 0.02), 8, 2, 2);
    thenar_soft_def soft = scene_soft("bar", &mesh, bar->young, bar->friction);
    if (bar->limit > 0) soft.material.stretch_min = 1 - bar->limit, soft.material.stretch_max = 1 + bar->limit;
    scene_add_soft(&s, &soft);
    thenar_tet_mesh block =
        scene_box(vec3_make(-0.005, -0.02 - bar->floor, -0.005), vec3_make(0.085, -bar->floor, 0.025), 6, 2, 2);
    thenar_support ground = {.region = tools_box_region(vec3_make(-1, -1, -1), vec3_make(1, -0.019 - bar->floor, 1))};
    if (bar->cushion) {
        thenar_soft_def soft_floor = scene_soft("cushion", &block, bar->young, bar->friction);
        soft_floor.supports = &ground, soft_floor.support_count = 1;
        scene_add_soft(&s, &soft_floor);
    } else if (bar->floor >= 0) {
        thenar_rigid_def floor = thenar_rigid_def_default();
        floor.name = "floor";
        floor.motion = THENAR_MOTION_STATIC;
        floor.shape = (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}};
        floor.pose[1] = -bar->floor;
        floor.friction = bar->friction;
        scene_add_rigid(&s, &floor);
    }
    for (int i = 0; i < bar->handles; i++) {
        thenar_handle_def handle = end_handle(i == 0 ? "near" : "far", i == 0 ? 0 : 0.08);
        if (!bar->coupled) handle.stiffness = handle.damping = handle.turn_stiffness = handle.turn_damping = 0;
        assert_ok(thenar_build_add_handle(s.build, &handle, &error), error);
    }
    thenar_model *model;
    assert_ok(thenar_build_compile(s.build, &model, &error), error);
    thenar_build_free(s.build);
    thenar_tet_mesh_free(&mesh);
    thenar_tet_mesh_free(&block);
    thenar_sim *sim;
    thenar_sim_options options = {.size = sizeof(thenar_sim_options),
                                  .dt = BAR_STEP,
                                  .coupling = bar->coupling ? (thenar_coupling)thenar_coupling_find(bar->coupling)
                                                            : THENAR_COUPLING_MONOLITHIC,
                                  .contact = THENAR_CONTACT_OF_MODEL};
    assert_ok(thenar_sim_create(model, &options, &sim, &error), error);
    thenar_model_free(model);
    return sim;
}

/* The handle is wanted away from where it was made. */
static void want(thenar_sim *sim, int handle, vec3 move, vec3 turn) {
    const rigid_model *rigid = &model_handle(thenar_sim_model(sim), handle)->rigid;
    quat q = quat_from_rotation_vector(turn);
    const double pose[7] = {
        rigid->position.x + move.x, rigid->position.y + move.y, rigid->position.z + move.z, q.x, q.y, q.z, q.w};
    assert_int_equal(thenar_sim_drive_handle(sim, handle, pose, NULL), THENAR_OK);
}

static void mass_and_inertia_are_those_of_the_nodes_in_the_sphere(void **unused) {
    (void)unused;
    const bar_def bar = {.young = 1e5, .floor = -1, .coupled = true, .handles = 1};
    thenar_sim *sim = bar_sim(&bar);
    const thenar_model *model = thenar_sim_model(sim);
    const thenar_tet_mesh *mesh = thenar_model_mesh(model, 0);
    const double *mass = thenar_model_masses(model, 0);
    double total = 0, own, inertia[9], moment = 0;
    vec3 centre = {0};
    int count = 0;
    for (int i = 0; i < mesh->node_count; i++) {
        vec3 x = vec3_load(mesh->positions + 3 * i);
        if (vec3_distance(x, vec3_make(0, 0.01, 0.01)) > 0.0183) continue;
        count++, total += mass[i], centre = vec3_mul_add(centre, x, mass[i]);
    }
    centre = vec3_scale(centre, 1 / total);
    for (int i = 0; i < mesh->node_count; i++) {
        vec3 x = vec3_load(mesh->positions + 3 * i), r = vec3_sub(x, centre);
        if (vec3_distance(x, vec3_make(0, 0.01, 0.01)) > 0.0183) continue;
        moment += mass[i] * (r.x * r.x + r.z * r.z); /* about y */
    }
    thenar_model_handle_mass(model, 0, &own, inertia);
    assert_int_equal(thenar_model_handle_node_count(model, 0), count);
    assert_true(count > 9 && count < mesh->node_count / 2);
    assert_near(own, total, 1e-15);
    assert_near(inertia[4], moment, 1e-12 * moment);
    thenar_handle_state state;
    thenar_sim_handle(sim, 0, &state);
    assert_true(vec3_distance(vec3_load(state.pose), centre) < 1e-15);
    assert_string_equal(thenar_model_handle_name(model, 0), "near");
    assert_int_equal(thenar_model_find_handle(model, "near"), 0);
    assert_int_equal(thenar_model_find_handle(model, "bar"), -1);
    assert_int_equal(thenar_model_handle_body(model, 0), 0);
    thenar_sim_free(sim);
}

static vec3 momentum(const thenar_sim *sim, vec3 *about_origin) {
    const thenar_model *model = thenar_sim_model(sim);
    const double *x = thenar_sim_positions(sim, 0), *v = thenar_sim_velocities(sim, 0),
                 *mass = thenar_model_masses(model, 0);
    const rigid_kept *handle = sim_handle(sim, 0)->rigid.kept;
    const rigid_model *rigid = &model_handle(model, 0)->rigid;
    vec3 velocity = vec3_load(handle->velocity), sum = vec3_scale(velocity, rigid->base.mass);
    quat q = rigid_orientation(handle->orientation);
    vec3 spin = quat_rotate(quat_conjugate(q), vec3_load(handle->spin));
    *about_origin =
        vec3_add(vec3_cross(vec3_load(handle->position), sum), quat_rotate(q, mat3_mul_vec(rigid->inertia, spin)));
    for (int i = 0; i < thenar_model_mesh(model, 0)->node_count; i++) {
        vec3 own = vec3_scale(vec3_load(v + 3 * i), mass[i]);
        sum = vec3_add(sum, own);
        *about_origin = vec3_add(*about_origin, vec3_cross(vec3_load(x + 3 * i), own));
    }
    return sum;
}

/* A handle that nobody holds is dragged along by its tool. */
static void without_outer_forces_handle_and_tool_keep_their_momentum(void **unused) {
    (void)unused;
    const bar_def bar = {.young = 1e5, .floor = -1, .coupled = false, .handles = 1};
    thenar_sim *sim = bar_sim(&bar);
    int nodes = thenar_model_mesh(thenar_sim_model(sim), 0)->node_count;
    double *v = MEMORY_ARRAY(double, 3 * (size_t)nodes);
    const double *x = thenar_sim_positions(sim, 0);
    for (int i = 0; i < nodes; i++) {
        vec3 r = vec3_sub(vec3_load(x + 3 * i), vec3_make(0.04, 0.01, 0.01));
        vec3_store(v + 3 * i, vec3_add(vec3_make(0.3, -0.1, 0.2), vec3_cross(vec3_make(0, 0.5, 1), r)));
    }
    assert_int_equal(thenar_sim_set_state(sim, 0, NULL, v), THENAR_OK);
    vec3 turning, turning_after, before = momentum(sim, &turning);
    tools_run(sim, 200);
    vec3 after = momentum(sim, &turning_after);
    /* Rounding of 200 solves with springs a thousand times as firm as what a node's mass resists: 3e-14 each. */
    assert_true(vec3_distance(after, before) < 1e-10 * vec3_length(before));
    /* Implicit Euler keeps angular momentum up to the square of the step; springs here stretch by some 10 um. */
    assert_true(vec3_distance(turning_after, turning) < 1e-4 * vec3_length(turning));
    /* And they have come to go together. */
    const handle_model *handle = model_handle(thenar_sim_model(sim), 0);
    thenar_handle_state state;
    thenar_sim_handle(sim, 0, &state);
    for (int k = 0; k < handle->link_count; k++) {
        vec3 arm = quat_rotate(rigid_orientation(state.pose + 3), handle->links[k].local);
        vec3 point = vec3_add(vec3_load(state.velocity), vec3_cross(vec3_load(state.velocity + 3), arm));
        assert_true(vec3_distance(point, vec3_load(thenar_sim_velocities(sim, 0) + 3 * handle->links[k].node)) < 1e-3);
    }
    free(v);
    thenar_sim_free(sim);
}

static void at_rest_the_handle_bears_the_load(void **unused) {
    (void)unused;
    const bar_def bar = {.young = 3e5, .gravity = -9.81, .floor = -1, .coupled = true, .handles = 1};
    thenar_sim *sim = bar_sim(&bar);
    const thenar_model *model = thenar_sim_model(sim);
    const thenar_tet_mesh *mesh = thenar_model_mesh(model, 0);
    int end = -1;
    for (int i = 0; i < mesh->node_count; i++)
        if (vec3_distance(vec3_load(mesh->positions + 3 * i), vec3_make(0.08, 0.01, 0.01)) < 1e-9) end = i;
    assert_true(end >= 0);
    const double pull[3] = {0.02, -0.03, 0.05};
    assert_int_equal(thenar_sim_apply_force(sim, 0, end, pull), THENAR_OK);
    tools_run(sim, 3000);
    thenar_handle_state state;
    thenar_sim_handle(sim, 0, &state);
    const double *x = thenar_sim_positions(sim, 0), *mass = thenar_model_masses(model, 0);
    vec3 load = vec3_load(pull), origin = vec3_load(state.pose);
    vec3 torque = vec3_cross(vec3_sub(vec3_load(x + 3 * end), origin), load);
    for (int i = 0; i < mesh->node_count; i++) {
        vec3 weight = vec3_make(0, -9.81 * mass[i], 0);
        load = vec3_add(load, weight);
        torque = vec3_add(torque, vec3_cross(vec3_sub(vec3_load(x + 3 * i), origin), weight));
    }
    assert_true(vec3_distance(vec3_load(state.force), load) < 1e-6 * vec3_length(load));
    assert_true(vec3_distance(vec3_load(state.coupling), vec3_scale(load, -1)) < 1e-6 * vec3_length(load));
    assert_true(vec3_distance(vec3_load(state.force + 3), torque) < 1e-6 * vec3_length(torque));
    assert_true(vec3_distance(vec3_load(state.coupling + 3), vec3_scale(torque, -1)) < 1e-6 * vec3_length(torque));
    thenar_sim_free(sim);
}

/* ---- the linearization against finite differences of whole steps ---- */

typedef struct moved {
    double handle[6], force[6];
    double *tool; /* velocities */
} moved;

static moved one_step(thenar_sim *sim, const void *snapshot, size_t size, vec3 move, vec3 turn) {
    thenar_error error;
    thenar_handle_state state;
    assert_ok(thenar_sim_restore(sim, snapshot, size, &error), error);
    want(sim, 0, move, turn);
    tools_run(sim, 1);
    thenar_sim_handle(sim, 0, &state);
    int nodes = thenar_model_mesh(thenar_sim_model(sim), 0)->node_count;
    moved out = {.tool = memory_copy(thenar_sim_velocities(sim, 0), 3 * (size_t)nodes * sizeof(double))};
    memcpy(out.handle, state.velocity, sizeof out.handle);
    memcpy(out.force, state.force, sizeof out.force);
    return out;
}

/* Largest errors of X and of h K + D, of their largest entries: six motions of the device, both ways. */
static void compare_differences(thenar_sim *sim, vec3 move, vec3 turn, double *of_motion, double *of_force) {
    enum { PUSHES = 6 };
    size_t size = thenar_sim_snapshot_size(sim);
    void *snapshot = malloc(size);
    for (int s = 0; s < thenar_sim_model(sim)->system_count; s++)
        sim->systems[s].tolerance = (solver_tolerances){1e-13, 1e-13, 1e-13, 1e-13, 1e-13};
    thenar_sim_snapshot(sim, snapshot);
    free(one_step(sim, snapshot, size, move, turn).tool);
    thenar_handle_state state;
    thenar_sim_handle(sim, 0, &state);
    assert_true(state.linearized);
    int n = 3 * thenar_model_mesh(thenar_sim_model(sim), 0)->node_count;
    double *X[6], error_motion = 0, size_motion = 0, error_force = 0, size_force = 0;
    for (int c = 0; c < 6; c++) X[c] = memory_copy(sim->linearization.column[c], (size_t)n * sizeof(double));
    for (int push = 0; push < PUSHES; push++) {
        vec3 axis = vec3_make(push % 3 == 0, push % 3 == 1, push % 3 == 2);
        vec3 linear = vec3_scale(axis, push < 3 ? DEVICE_STEP : 0),
             angular = vec3_scale(axis, push < 3 ? 0 : 100 * DEVICE_STEP);
        moved to = one_step(sim, snapshot, size, vec3_add(move, linear), vec3_add(turn, angular));
        moved fro = one_step(sim, snapshot, size, vec3_sub(move, linear), vec3_sub(turn, angular));
        double change[6];
        for (int i = 0; i < 6; i++) change[i] = to.handle[i] - fro.handle[i];
        for (int i = 0; i < n; i++) {
            double expected = 0;
            for (int c = 0; c < 6; c++) expected += X[c][i] * change[c];
            error_motion = fmax(error_motion, fabs(to.tool[i] - fro.tool[i] - expected));
            size_motion = fmax(size_motion, fabs(expected));
        }
        for (int i = 0; i < 6; i++) {
            double expected = 0, scale = i < 3 ? 1 : 50; /* 1/m: torques as forces at 2 cm */
            for (int c = 0; c < 6; c++)
                expected -= (BAR_STEP * state.stiffness[6 * i + c] + state.damping[6 * i + c]) * change[c];
            error_force = fmax(error_force, scale * fabs(to.force[i] - fro.force[i] - expected));
            size_force = fmax(size_force, scale * fabs(expected));
        }
        free(to.tool);
        free(fro.tool);
    }
    for (int c = 0; c < 6; c++) free(X[c]);
    free(snapshot);
    *of_motion = error_motion / size_motion;
    *of_force = error_force / size_force;
}

static void expect_semidefinite(const double *a) {
    double work[36], values[6], V[36];
    memcpy(work, a, sizeof work);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++) assert_true(a[6 * i + j] == a[6 * j + i]);
    sym6_eigen(work, values, V);
    double largest = 0;
    for (int i = 0; i < 6; i++) largest = fmax(largest, values[i]);
    for (int i = 0; i < 6; i++) assert_true(values[i] >= -1e-15 * largest);
    assert_true(largest > 0);
}

/* A matrix with known eigenvalues, two of them negative: those become zero, the axes and the others stay. */
static void a_matrix_is_brought_to_the_nearest_semidefinite_one(void **unused) {
    (void)unused;
    const double values[6] = {3, -0.5, 2, 1, -1e-3, 4};
    double axes[36] = {0}, a[36] = {0}, expected[36] = {0};
    for (int i = 0; i < 6; i++) axes[7 * i] = 1;
    for (int i = 0; i < 5; i++) /* turned in five planes, one after the other */
        for (int row = 0; row < 6; row++) {
            double x = axes[6 * row + i], y = axes[6 * row + i + 1], c = cos(0.3 + i), s = sin(0.3 + i);
            axes[6 * row + i] = c * x - s * y, axes[6 * row + i + 1] = s * x + c * y;
        }
    for (int i = 0; i < 36; i++)
        for (int k = 0; k < 6; k++) {
            double part = axes[6 * (i / 6) + k] * axes[6 * (i % 6) + k];
            a[i] += values[k] * part;
            expected[i] += fmax(0, values[k]) * part;
        }
    sym6_make_semidefinite(a);
    for (int i = 0; i < 36; i++) assert_near(a[i], expected[i], 1e-14);
    expect_semidefinite(a);
}

static int sticking(const thenar_sim *sim) {
    int count = 0;
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) count += thenar_sim_contacts(sim)[i].sticks;
    return count;
}

typedef struct difference_case {
    bar_def bar;
    vec3 move, turn;
    int steps;
    int limits, contacts, sticks; /* that push, at least */
    double tolerance;
} difference_case;

static void stiffness_and_damping_are_those_of_the_whole_constrained_step(void **unused) {
    (void)unused;
    const difference_case cases[] = {
        /* The differences are those of rounding; of the penalties; of a solver that stops after 60 iterations, each by
         * conjugate gradients where soft bodies touch; and, where it slips, of friction that grows with the pressure,
         * which is left out: the size of mu. */
        {{.young = 1e5, .floor = -1}, {0.001, 0.002, 0}, {0, 0.1, 0}, 5, 0, 0, 0, 1e-10},
        {{.young = 2e4, .limit = 0.05, .floor = -1}, {0.01, 0.02, 0}, {0, 0, 1}, 8, 10, 0, 0, 5e-5},
        {{.young = 1e5, .floor = 0.0005, .friction = 2}, {0, -0.0032, 0}, {0, 0, 0}, 40, 0, 10, 10, 1e-5},
        {{.young = 1e5, .floor = 0.0005, .friction = 0}, {0.001, -0.003, 0}, {0, 0, 0}, 20, 0, 8, 0, 1e-5},
        {{.young = 2e4, .limit = 0.05, .floor = 0.0005, .friction = 2}, {0, -0.006, 0}, {0, 0, 0.3}, 40, 8, 3, 3, 5e-4},
        {{.young = 1e5, .floor = 0.0005, .friction = 2, .cushion = true},
         {0, -0.003, 0},
         {0, 0, 0},
         40,
         0,
         10,
         10,
         0.05},
        {{.young = 1e5, .floor = 0.0005, .friction = 0.3}, {0.03, -0.003, 0}, {0, 0, 0}, 20, 0, 8, 0, 0.3},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bar_def bar = cases[k].bar;
        bar.coupled = true, bar.handles = 1;
        thenar_sim *sim = bar_sim(&bar);
        want(sim, 0, cases[k].move, cases[k].turn);
        tools_run(sim, cases[k].steps);
        double of_motion, of_force;
        compare_differences(sim, cases[k].move, cases[k].turn, &of_motion, &of_force);
        thenar_handle_state state;
        thenar_sim_handle(sim, 0, &state);
        assert_true(thenar_sim_stats(sim)->active_constraints >= cases[k].limits);
        assert_true(state.contacts >= cases[k].contacts && sticking(sim) >= cases[k].sticks);
        assert_near(of_motion, 0, cases[k].tolerance);
        assert_near(of_force, 0, cases[k].tolerance);
        expect_semidefinite(state.stiffness);
        expect_semidefinite(state.damping);
        expect_semidefinite(state.inertia);
        thenar_sim_free(sim);
    }
}

/* ---- solved apart ---- */

static void apart_and_together_give_the_same_motion(void **unused) {
    (void)unused;
    static const char *const names[] = {"monolithic", "schur", "cg"};
    for (int touching = 0; touching < 2; touching++) {
        thenar_sim *sims[3];
        for (int k = 0; k < 3; k++) {
            bar_def bar = {
                .young = 5e4, .floor = -1, .gravity = -9.81, .coupled = true, .coupling = names[k], .handles = 2};
            if (touching) bar.limit = 0.05, bar.floor = 0.0005, bar.friction = 0.6;
            sims[k] = bar_sim(&bar);
            assert_string_equal(thenar_coupling_name(thenar_sim_coupling(sims[k])), names[k]);
            /* Apart, contacts cannot be condensed; compared are two ways to the same equations. */
            for (int s = 0; s < sims[k]->model->system_count; s++) sims[k]->systems[s].uncondensed = true;
        }
        double largest = 0, max_active = 0, max_contacts = 0;
        for (int step = 0; step < (SANITIZED ? 10 : 30); step++) {
            for (int k = 0; k < 3; k++) {
                double t = step * BAR_STEP;
                want(sims[k], 0, vec3_make(0.1 * t, -0.02 * t, 0), vec3_make(0, t, 0));
                want(sims[k], 1, vec3_make(0.15 * t, -0.02 * t, 0.01 * t), vec3_make(t, 0, 0));
                tools_run(sims[k], 1);
                thenar_handle_state one, other;
                const double *x = thenar_sim_positions(sims[0], 0), *y = thenar_sim_positions(sims[k], 0);
                int n = 3 * thenar_model_mesh(thenar_sim_model(sims[k]), 0)->node_count;
                for (int i = 0; i < n; i++) largest = fmax(largest, fabs(x[i] - y[i]) / 0.08);
                for (int h = 0; h < 2; h++) {
                    thenar_sim_handle(sims[0], h, &one);
                    thenar_sim_handle(sims[k], h, &other);
                    for (int i = 0; i < 6; i++) largest = fmax(largest, fabs(one.velocity[i] - other.velocity[i]));
                }
            }
            max_active = fmax(max_active, thenar_sim_stats(sims[0])->active_constraints);
            max_contacts = fmax(max_contacts, thenar_sim_stats(sims[0])->contacts);
        }
        assert_true(largest < 1e-9);
        if (touching) assert_true(max_active > 20 && max_contacts > 5);
        for (int k = 0; k < 3; k++) thenar_sim_free(sims[k]);
    }
}

/* ---- state ---- */

static void a_handle_goes_where_its_keys_want_it(void **unused) {
    (void)unused;
    thenar_error error;
    scene s = scene_begin(vec3_make(0, 0, 0), 0);
    thenar_tet_mesh mesh = scene_box(vec3_make(0, 0, 0), vec3_make(0.08, 0.02, 0.02), 8, 2, 2);
    thenar_soft_def soft = scene_soft("bar", &mesh, 1e5, 0.5);
    scene_add_soft(&s, &soft);
    const thenar_key keys[] = {{.time = 0}, {.time = 0.5, .move = {0.02, 0, -0.05}, .turn = {0, 1, 0}}};
    thenar_handle_def def = end_handle("near", 0);
    def.keys = keys, def.key_count = 2;
    assert_ok(thenar_build_add_handle(s.build, &def, &error), error);
    thenar_sim *sim = scene_sim(&s, 0.01, 1);
    vec3 start = scene_place(sim, 0);
    tools_run(sim, 400);
    thenar_handle_state state;
    thenar_sim_handle(sim, 0, &state);
    for (int i = 0; i < 7; i++) assert_near(state.pose[i], state.target[i], 1e-6);
    vec3 origin = model_handle(thenar_sim_model(sim), 0)->rigid.position;
    assert_true(vec3_distance(vec3_load(state.pose), vec3_add(origin, vec3_make(0.02, 0, -0.05))) < 1e-6);
    assert_near(quat_to_rotation_vector(rigid_orientation(state.pose + 3)).y, 1, 1e-6);
    /* And takes the bar along as one piece. */
    vec3 arm = quat_rotate(quat_from_rotation_vector(vec3_make(0, 1, 0)), vec3_sub(start, origin));
    assert_true(vec3_distance(scene_place(sim, 0), vec3_add(vec3_load(state.pose), arm)) < 1e-5);
    thenar_tet_mesh_free(&mesh);
    thenar_sim_free(sim);
}

static void the_same_steps_give_the_same_bits_and_allocate_nothing(void **unused) {
    (void)unused;
    const bar_def bar = {
        .young = 5e4, .limit = 0.05, .floor = 0.0005, .friction = 0.6, .gravity = -9.81, .coupled = true, .handles = 2};
    thenar_sim *sim = bar_sim(&bar), *plain = bar_sim(&bar);
    thenar_error error;
    /* Looking at the slopes changes nothing. */
    for (int h = 0; h < 2; h++) thenar_sim_linearize_handle(plain, h, false);
    want(sim, 0, vec3_make(0.01, -0.004, 0), vec3_make(0, 0.3, 0));
    want(plain, 0, vec3_make(0.01, -0.004, 0), vec3_make(0, 0.3, 0));
    tools_run(sim, 5);
    tools_run(plain, 5);
    size_t size = thenar_sim_snapshot_size(sim);
    void *snapshot = malloc(size);
    thenar_sim_snapshot(sim, snapshot);
    long before = allocation_count;
    tools_run(sim, 10);
    assert_int_equal(allocation_count, before);
    tools_run(plain, 10);
    assert_true(thenar_sim_hash(sim) == thenar_sim_hash(plain));
    thenar_handle_state state;
    thenar_sim_handle(plain, 0, &state);
    assert_true(!state.linearized && state.stiffness[0] == 0);
    uint64_t hash = thenar_sim_hash(sim);
    assert_ok(thenar_sim_restore(sim, snapshot, size, &error), error);
    assert_true(thenar_sim_hash(sim) != hash);
    tools_run(sim, 10);
    assert_true(thenar_sim_hash(sim) == hash);
    struct haptic_linear reported;
    sim_handle_linear(sim, 0, &reported);
    thenar_sim_handle(sim, 0, &state);
    assert_true(state.linearized && reported.step == 15 && reported.contacts == state.contacts);
    assert_memory_equal(reported.stiffness, state.stiffness, sizeof reported.stiffness);
    assert_memory_equal(reported.force, state.force, sizeof reported.force);
    free(snapshot);
    thenar_sim_free(sim);
    thenar_sim_free(plain);
}

static void invalid_options_are_refused_with_a_reason(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_tet_mesh mesh = scene_box(vec3_make(0, 0, 0), vec3_make(0.08, 0.02, 0.02), 8, 2, 2);
    thenar_support wall = {.region = tools_box_region(vec3_make(0.07, -1, -1), vec3_make(1, 1, 1))};
    thenar_soft_def soft = scene_soft("bar", &mesh, 1e5, 0.5);
    soft.supports = &wall, soft.support_count = 1;
    assert_ok(thenar_build_add_soft(build, &soft, &error), error);
    thenar_handle_def def = end_handle("near", 0);
    assert_ok(thenar_build_add_handle(build, &def, &error), error);
    const struct {
        double x, radius, stiffness;
        const char *name, *tool, *bone, *said;
    } bad[] = {
        {0, 0.018, 1000, "near", "bar", NULL, "two handles named near"},
        {0, 0.018, 1000, "other", "bar", NULL, "held by a support, a bone or another handle"},
        {0.08, 0.018, 1000, "other", "bar", NULL, "held by a support"},
        {0.04, 0.001, 1000, "other", "bar", NULL, "expected at least 3"},
        {0.04, 0, 1000, "other", "bar", NULL, "radius"},
        {0.04, 0.0101, 0, "other", "bar", NULL, "spring_stiffness is 0"},
        {0.04, 0.0101, 1000, "", "bar", NULL, "without a name"},
        {0.04, 0.0101, 1000, "other", "rod", NULL, "a handle in rod"},
        {0.04, 0.0101, 1000, "other", "bar", "wrist", "expected a hand"},
    };
    /* Three nodes along an edge of a bar that has none within. */
    thenar_tet_mesh thin = scene_box(vec3_make(0, 0, 0), vec3_make(0.08, 0.02, 0.02), 8, 1, 1);
    soft = scene_soft("thin", &thin, 1e5, 0.5);
    assert_ok(thenar_build_add_soft(build, &soft, &error), error);
    thenar_handle_def edge = end_handle("edge", 0.04);
    edge.tool = "thin", edge.radius = 0.0101, edge.seed[1] = edge.seed[2] = 0;
    assert_int_equal(thenar_build_add_handle(build, &edge, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "handle edge: its 3 nodes are in line"));
    thenar_tet_mesh_free(&thin);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        thenar_handle_def other = end_handle(bad[k].name, bad[k].x);
        other.radius = bad[k].radius, other.spring_stiffness = bad[k].stiffness;
        other.tool = bad[k].tool;
        if (bad[k].bone) other.joint = (thenar_hand_joint)thenar_hand_joint_find(bad[k].bone);
        assert_int_equal(thenar_build_add_handle(build, &other, &error), THENAR_ERROR_INPUT);
        if (!strstr(error.text, bad[k].said)) fail_msg("'%s' does not say '%s'", error.text, bad[k].said);
    }
    thenar_model *model;
    assert_ok(thenar_build_compile(build, &model, &error), error);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    double pose[7] = {0, 0, 0, 0, 0, 0, 1}, spin[6] = {0};
    pose[0] = NAN;
    assert_int_equal(thenar_sim_drive_handle(sim, 0, pose, NULL), THENAR_ERROR_INPUT);
    pose[0] = 0, spin[4] = INFINITY;
    assert_int_equal(thenar_sim_drive_handle(sim, 0, pose, spin), THENAR_ERROR_INPUT);
    spin[4] = 0, pose[6] = 0;
    assert_int_equal(thenar_sim_drive_handle(sim, 0, pose, spin), THENAR_ERROR_INPUT);
    thenar_sim *none;
    assert_int_equal(thenar_sim_create(model,
                                       &(thenar_sim_options){.size = sizeof(thenar_sim_options),
                                                             .coupling = (thenar_coupling)thenar_coupling_find("glue"),
                                                             .contact = THENAR_CONTACT_OF_MODEL},
                                       &none, &error),
                     THENAR_ERROR_INPUT);
    assert_int_equal(thenar_sim_create(model,
                                       &(thenar_sim_options){.size = sizeof(thenar_sim_options),
                                                             .coupling = THENAR_COUPLING_SCHUR,
                                                             .solver = THENAR_SOLVER_PGS,
                                                             .contact = THENAR_CONTACT_OF_MODEL},
                                       &none, &error),
                     THENAR_ERROR_INPUT);
    thenar_sim_free(sim);
    thenar_model_free(model);
    thenar_build_free(build);
    thenar_tet_mesh_free(&mesh);
}

/* A device that jumps by a metre pulls no harder than it may, and nothing breaks. */
static void a_device_that_jumps_is_survived(void **unused) {
    (void)unused;
    const bar_def bar = {.young = 5e4, .limit = 0.1, .floor = 0.0005, .friction = 0.6, .coupled = true, .handles = 1};
    thenar_sim *sim = bar_sim(&bar);
    for (int step = 0; step < 60; step++) {
        want(sim, 0, vec3_make(0, step < 30 ? -1 : 0, step < 30 ? 0.2 : 0), vec3_make(0, 0, step < 30 ? 3 : 0));
        tools_run(sim, 1);
        thenar_handle_state state;
        thenar_sim_handle(sim, 0, &state);
        assert_true(vec3_length(vec3_load(state.coupling)) < 150 && vec3_length(vec3_load(state.coupling + 3)) < 10);
        assert_true(vec3_is_finite(vec3_load(state.force)) && vec3_is_finite(vec3_load(state.force + 3)));
    }
    thenar_sim_free(sim);
}

static void after_a_step_that_failed_nothing_is_felt(void **unused) {
    (void)unused;
    const bar_def bar = {.young = 5e4, .limit = 0.1, .floor = 0.0005, .friction = 0.6, .coupled = true, .handles = 1};
    thenar_sim *sim = bar_sim(&bar);
    thenar_handle_state state;
    for (int step = 0; step < 20; step++) {
        want(sim, 0, vec3_make(0, -0.002, 0), vec3_make(0, 0, 0));
        tools_run(sim, 1);
    }
    thenar_sim_handle(sim, 0, &state);
    assert_true(vec3_length(vec3_load(state.force)) > 0.01);
    const double huge[3] = {0, 1e300, 0}, none[3] = {0};
    assert_int_equal(thenar_sim_apply_force(sim, 0, 0, huge), THENAR_OK);
    assert_int_equal(thenar_sim_step(sim), THENAR_ERROR_NUMERIC);
    thenar_sim_handle(sim, 0, &state);
    for (int i = 0; i < 6; i++) assert_true(state.force[i] == 0 && state.coupling[i] == 0 && state.velocity[i] == 0);
    assert_false(state.linearized);
    for (int i = 0; i < 36; i++) assert_true(state.stiffness[i] == 0 && state.damping[i] == 0);
    assert_int_equal(thenar_sim_apply_force(sim, 0, 0, none), THENAR_OK);
    tools_run(sim, 20);
    thenar_sim_handle(sim, 0, &state);
    assert_true(vec3_length(vec3_load(state.force)) > 0.01);
    thenar_sim_free(sim);
}

static void a_finger_that_presses_feels_the_table_and_is_recorded(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_model *model;
    assert_ok(thenar_scene_load(SOURCE_DIR "/scenes/haptic-finger.yaml", NULL, &model, NULL, &error), error);
    thenar_sim *sim = tools_sim(model, 0, 1);
    tools_run(sim, 200); /* it presses, and everything is at rest */
    thenar_handle_state state;
    thenar_sim_handle(sim, 0, &state);
    double force[3], torque[3], area, weight = 9.81 * thenar_model_mass(model, 0);
    thenar_sim_contact_wrench(sim, 0, force, torque, &area);
    assert_true(state.force[1] > 15 && state.contacts > 3 && thenar_sim_stats(sim)->active_constraints > 0);
    /* To the tolerance to which the solver balances forces, far below what it may have. */
    assert_near(state.force[1], force[1] - weight, 1e-4 * force[1]);
    assert_near(state.force[2], force[2], 1e-4 * force[1]);
    assert_near(state.coupling[1], -state.force[1], 1e-6 * force[1]);
    /* Pressed against the table it resists more than its own weight would: the slope is that of the pad. */
    assert_true(state.stiffness[7] > 20 * 125);
    char path[] = "/tmp/test_handle_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    thenar_recorder *recorder;
    assert_ok(thenar_recorder_create(path, sim, NULL, &recorder, &error), error);
    assert_ok(thenar_recorder_add(recorder, &error), error);
    assert_ok(thenar_recorder_close(recorder, &error), error);
    thenar_recording *recording;
    assert_ok(thenar_recording_open(path, &recording, &error), error);
    int channel = thenar_recording_find_channel(recording, 0, "handles");
    assert_true(channel >= 0);
    assert_int_equal(thenar_recording_channel_at(recording, channel)->element_count, 1);
    assert_int_equal(thenar_recording_channel_at(recording, channel)->components, 26);
    double reported[26];
    assert_ok(thenar_recording_read_channel(recording, channel, 0, reported, &error), error);
    for (int i = 0; i < 7; i++) {
        assert_near(reported[i], state.pose[i], 1e-6);
        assert_near(reported[7 + i], state.target[i], 1e-6);
    }
    for (int i = 0; i < 6; i++) {
        assert_near(reported[14 + i], state.force[i], 1e-5);
        assert_near(reported[20 + i], state.coupling[i], 1e-5);
    }
    thenar_recording_close(recording);
    remove(path);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

/* ---- bones ---- */

static thenar_sim *hand_sim(bool phalanges, const char *const *bones, int count) {
    thenar_error error;
    thenar_hand_def def = hand_world_def();
    def.name = "hand";
    def.phalanges = phalanges;
    thenar_build *build = hand_world_build(&def);
    for (int i = 0; i < count; i++) {
        thenar_handle_def handle = thenar_handle_def_default();
        handle.name = bones[i];
        handle.joint = (thenar_hand_joint)thenar_hand_joint_find(bones[i]);
        handle.tool = "hand";
        handle.linearize = true;
        assert_ok(thenar_build_add_handle(build, &handle, &error), error);
    }
    thenar_model *model = hand_world_compile(build);
    thenar_sim *sim = hand_world_start(model, 0.01, 1);
    thenar_model_free(model);
    return sim;
}

/* The flesh of a separate phalanx is attached to its bone alone, so that only that bone's motion counts. */
static void a_bone_feels_its_flesh_as_the_slopes_say(void **unused) {
    (void)unused;
    static const char *const bones[] = {"index-finger-phalanx-distal"};
    thenar_sim *sim = hand_sim(true, bones, 1);
    tools_run(sim, 30);
    thenar_error error;
    thenar_handle_state state, to, fro;
    thenar_sim_handle(sim, 0, &state);
    int hand, bone;
    thenar_model_handle_bone(thenar_sim_model(sim), 0, &hand, &bone);
    assert_int_equal(hand, 0);
    assert_int_equal(bone, 6);
    size_t size = thenar_sim_snapshot_size(sim);
    void *snapshot = malloc(size);
    thenar_sim_snapshot(sim, snapshot);
    double worst = 0, largest = 0;
    for (int push = 0; push < 6; push++) {
        thenar_handle_state *end[2] = {&to, &fro};
        for (int side = 0; side < 2; side++) {
            double pose[7], sign = side ? -1 : 1;
            memcpy(pose, state.pose, sizeof pose);
            vec3 axis = vec3_make(push % 3 == 0, push % 3 == 1, push % 3 == 2);
            quat turn = quat_from_rotation_vector(vec3_scale(axis, push < 3 ? 0 : sign * 1e-4));
            turn = quat_mul(turn, rigid_orientation(pose + 3));
            if (push < 3) vec3_store(pose, vec3_mul_add(vec3_load(pose), axis, sign * 1e-5));
            pose[3] = turn.x, pose[4] = turn.y, pose[5] = turn.z, pose[6] = turn.w;
            assert_ok(thenar_sim_restore(sim, snapshot, size, &error), error);
            assert_int_equal(thenar_sim_drive_handle(sim, 0, pose, NULL), THENAR_OK);
            tools_run(sim, 1);
            thenar_sim_handle(sim, 0, end[side]);
        }
        double way[6];
        vec3_store(way, vec3_sub(vec3_load(to.pose), vec3_load(fro.pose)));
        vec3_store(way + 3, quat_to_rotation_vector(quat_mul(rigid_orientation(to.pose + 3),
                                                             quat_conjugate(rigid_orientation(fro.pose + 3)))));
        for (int i = 0; i < 6; i++) {
            double expected = 0, scale = i < 3 ? 1 : 50;
            for (int c = 0; c < 6; c++) expected -= (to.stiffness[6 * i + c] + to.damping[6 * i + c] / 0.01) * way[c];
            worst = fmax(worst, scale * fabs(to.force[i] - fro.force[i] - expected));
            largest = fmax(largest, scale * fabs(expected));
        }
    }
    assert_true(largest > 1e-4);
    assert_true(worst < 1e-3 * largest); /* arms turn with the bone */
    expect_semidefinite(to.stiffness);
    expect_semidefinite(to.damping);
    free(snapshot);
    thenar_sim_free(sim);
}

static void a_device_that_holds_the_palm_takes_the_hand_along(void **unused) {
    (void)unused;
    static const char *const bones[] = {"wrist", "middle-finger-phalanx-distal"};
    thenar_sim *sim = hand_sim(false, bones, 2);
    thenar_handle_state palm, tip, start;
    thenar_sim_handle(sim, 1, &start);
    thenar_sim_handle(sim, 0, &palm);
    double pose[7];
    memcpy(pose, palm.pose, sizeof pose);
    pose[1] += 0.05;
    assert_int_equal(thenar_sim_drive_handle(sim, 0, pose, NULL), THENAR_OK);
    tools_run(sim, SANITIZED ? 60 : 150);
    thenar_sim_handle(sim, 0, &palm);
    thenar_sim_handle(sim, 1, &tip);
    assert_true(vec3_distance(vec3_load(palm.pose), vec3_load(pose)) < 1e-3);
    assert_near(tip.pose[1], start.pose[1] + 0.05, 2e-3);
    /* Then it is free: nothing is felt, and what moves with it is the flesh of the whole hand and nothing else. */
    double flesh = thenar_model_mass(thenar_sim_model(sim), 0), bones_mass, tip_mass, step = 0.01;
    assert_true(vec3_length(vec3_load(palm.force)) < 0.01);
    assert_true(palm.linearized && tip.linearized);
    thenar_model_handle_mass(thenar_sim_model(sim), 0, &bones_mass, NULL);
    thenar_model_handle_mass(thenar_sim_model(sim), 1, &tip_mass, NULL);
    assert_near(bones_mass / flesh, 0.2 / 0.8, 0.01); /* the share of the bones is 0.2 */
    assert_true(tip_mass < 0.02 * bones_mass);
    for (int i = 0; i < 3; i++) {
        /* Soft skin and fingers lag behind a little within a step, which stores some of the energy. */
        double resists = step * (step * palm.stiffness[7 * i] + palm.damping[7 * i]);
        assert_true(palm.inertia[7 * i] < flesh && palm.inertia[7 * i] > 0.85 * flesh);
        assert_true(resists < flesh && resists > palm.inertia[7 * i]);
    }
    expect_semidefinite(palm.stiffness);
    expect_semidefinite(tip.stiffness);
    thenar_sim_free(sim);
}

/* A bar that is fixed at its far end and pulled so slowly that its mass does not matter: what resists the handle is then the
 * bar, E A / L at rest, and beta times that against speed, in a row with the springs by which it is held. */
static void elastic_and_viscous_resistance_are_separated(void **unused) {
    (void)unused;
    const double young = 1e5, beta = 0.3, slow = 1, length = 0.08, area = 4e-4;
    thenar_error error;
    scene s = scene_begin(vec3_make(0, 0, 0), 0);
    thenar_tet_mesh mesh = scene_box(vec3_make(0, 0, 0), vec3_make(length, 0.02, 0.02), 8, 2, 2);
    thenar_soft_def soft = scene_soft("bar", &mesh, young, 0);
    soft.material.poisson = 0; /* so that a bar between two ends is a spring and nothing else */
    soft.material.damping_stiffness = beta;
    thenar_support end = {.region = tools_box_region(vec3_make(length - 1e-6, -1, -1), vec3_make(1, 1, 1))};
    soft.supports = &end, soft.support_count = 1;
    scene_add_soft(&s, &soft);
    thenar_handle_def handle = end_handle("near", -1);
    handle.radius = 1.001; /* the end face */
    handle.spring_stiffness = 1e7, handle.spring_damping = 0;
    assert_ok(thenar_build_add_handle(s.build, &handle, &error), error);
    thenar_sim *sim = scene_sim(&s, slow, 1);
    thenar_tet_mesh_free(&mesh);
    assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    thenar_handle_state state;
    thenar_sim_handle(sim, 0, &state);
    assert_int_equal(thenar_model_handle_node_count(thenar_sim_model(sim), 0), 9);
    double sum = slow * (slow * state.stiffness[0] + state.damping[0]), bar = young * area / length;
    double elastic = (sum - state.inertia[0] - slow * state.viscosity[0]) / (slow * slow);
    print_message("%.3f N/m, expected %.3f; %.3f N s/m, expected %.3f\n", elastic, bar, state.viscosity[0], beta * bar);
    assert_near(elastic, bar, 1e-3 * bar); /* the springs are 2e5 times as stiff */
    assert_near(state.viscosity[0], beta * bar, 1e-3 * beta * bar);
    expect_semidefinite(state.viscosity);
    thenar_sim_free(sim);
    /* And the springs' own dampers, between a free bar and a handle that moves fast: mass is all that holds the bar. */
    const bar_def light = {.young = 1e5, .floor = -1, .coupled = true, .handles = 1};
    sim = bar_sim(&light);
    assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    thenar_sim_handle(sim, 0, &state);
    for (int i = 0; i < 6; i++) {
        double all = BAR_STEP * (BAR_STEP * state.stiffness[7 * i] + state.damping[7 * i]);
        double rest = all - state.inertia[7 * i] - BAR_STEP * state.viscosity[7 * i];
        assert_true(state.viscosity[7 * i] >= 0 && rest >= -1e-9 * all);
    }
    thenar_sim_free(sim);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(elastic_and_viscous_resistance_are_separated),
    cmocka_unit_test(mass_and_inertia_are_those_of_the_nodes_in_the_sphere),
    cmocka_unit_test(without_outer_forces_handle_and_tool_keep_their_momentum),
    cmocka_unit_test(at_rest_the_handle_bears_the_load),
    cmocka_unit_test(stiffness_and_damping_are_those_of_the_whole_constrained_step),
    cmocka_unit_test(apart_and_together_give_the_same_motion),
    cmocka_unit_test(a_handle_goes_where_its_keys_want_it),
    cmocka_unit_test(the_same_steps_give_the_same_bits_and_allocate_nothing),
    cmocka_unit_test(invalid_options_are_refused_with_a_reason),
    cmocka_unit_test(a_matrix_is_brought_to_the_nearest_semidefinite_one),
    cmocka_unit_test(a_device_that_jumps_is_survived),
    cmocka_unit_test(after_a_step_that_failed_nothing_is_felt),
    cmocka_unit_test(a_finger_that_presses_feels_the_table_and_is_recorded),
    cmocka_unit_test(a_bone_feels_its_flesh_as_the_slopes_say),
    cmocka_unit_test(a_device_that_holds_the_palm_takes_the_hand_along),
};
TEST_MAIN(tests)
