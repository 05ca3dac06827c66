/* A finger pressed flat against a plane: total normal force against total contact area, with and without strain limits
 * (perez2013, section 5.2 and Fig. 7). The paper has curves but no numbers: with limits "the expected fast increase of
 * the contact force once a certain contact area is reached", and steps in the curve that come from the nodes of the
 * skin.
 *
 * The finger of the scenes (E 2 MPa, limits 0.9 and 1.1, its bone held by springs) moves down in small increments,
 * each until nothing moves. A second run with a finer mesh shows the influence of the mesh. */
#include "bench/bench.h"

#include "core/memory.h"
#include "hand/shape.h"
#include "mesh/mesh.h"

#include "thenar/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TILT 0.03 /* rad, tip down, so that the underside is level */
#define TRAVEL 0.006
#define STOPS 24
#define STIFFNESS 2e5 /* N/m, sum of all springs */
#define DAMPING 200   /* N s/m */
#define AT_REST 1e-4  /* m/s: if no node is faster, none moves by more than 1 um per step */
#define PATIENCE 300  /* maximum number of steps of 10 ms per increment */
#define TURNS_UP 2    /* ratio to the force of the linear finger at the same area */

typedef struct stop {
    double force, area, min; /* N, m^2, smallest stretch */
    int contacts, active, inverted, steps, unconverged;
} stop;

typedef struct press {
    thenar_model *model;
    thenar_sim *sim;
    double *stretches; /* 3 per tet */
} press;

static thenar_status make_finger(int tets, thenar_tet_mesh *mesh, thenar_error *error) {
    finger_options options = finger_options_default();
    options.target_tets = tets;
    thenar_status status = finger_mesh(&options, mesh, error);
    quat turn = quat_from_rotation_vector(vec3_make(-TILT, 0, 0));
    double low = INFINITY;
    for (int n = 0; n < mesh->node_count; n++) {
        vec3 p = quat_rotate(turn, tet_mesh_node(mesh, n));
        low = fmin(low, p.y);
        vec3_store(mesh->positions + 3 * (size_t)n, p);
    }
    for (int n = 0; n < mesh->node_count; n++) mesh->positions[3 * (size_t)n + 1] -= low;
    return status;
}

static thenar_status add_bodies(thenar_build *build, const thenar_tet_mesh *mesh, bool limited, thenar_error *error) {
    thenar_support bone = {
        .region = {.kind = THENAR_REGION_TAG, .tag = FINGER_BONE}, .stiffness = STIFFNESS, .damping = DAMPING};
    thenar_soft_def finger = thenar_soft_def_default();
    finger.name = "finger";
    finger.mesh = mesh;
    finger.material.young = 2e6;
    finger.material.stretch_min = limited ? 0.9 : 0;
    finger.material.stretch_max = limited ? 1.1 : 0;
    finger.supports = &bone;
    finger.support_count = 1;
    finger.friction = 0.6;
    thenar_rigid_def plane = thenar_rigid_def_default();
    plane.name = "plane";
    plane.motion = THENAR_MOTION_STATIC;
    plane.shape = (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}};
    plane.friction = 0.6;
    thenar_status status = thenar_build_add_soft(build, &finger, error);
    return status == THENAR_OK ? thenar_build_add_rigid(build, &plane, error) : status;
}

static thenar_status press_create(press *p, const thenar_tet_mesh *mesh, bool limited, thenar_error *error) {
    *p = (press){0};
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_status status = build ? add_bodies(build, mesh, limited, error) : error_memory(error, "a finger");
    if (status == THENAR_OK) status = thenar_build_compile(build, &p->model, error);
    thenar_build_free(build);
    if (status == THENAR_OK) status = thenar_sim_create(p->model, NULL, &p->sim, error);
    p->stretches = MEMORY_ARRAY(double, 3 * (size_t)mesh->tet_count);
    return status == THENAR_OK && !p->stretches ? error_memory(error, "stretches") : status;
}

static void press_free(press *p) {
    thenar_sim_free(p->sim);
    thenar_model_free(p->model);
    free(p->stretches);
}

static double fastest(const press *p) {
    const double *v = thenar_sim_velocities(p->sim, 0);
    double max = 0;
    for (int i = 0; i < thenar_model_mesh(p->model, 0)->node_count; i++)
        max = fmax(max, vec3_length(vec3_load(v + 3 * (size_t)i)));
    return max;
}

static thenar_status press_to(press *p, double travel, stop *out, thenar_error *error) {
    const double pose[7] = {0, -travel, 0, 0, 0, 0, 1};
    *out = (stop){.min = INFINITY};
    thenar_sim_drive_support(p->sim, 0, 0, pose);
    /* It starts at rest and needs a step or two to begin to move. */
    for (bool moves = true; moves && out->steps < PATIENCE; moves = out->steps < 3 || fastest(p) > AT_REST) {
        if (thenar_sim_step(p->sim) != THENAR_OK)
            return error_set(error, THENAR_ERROR_NUMERIC, "the simulation of the finger failed");
        out->unconverged += thenar_sim_stats(p->sim)->unconverged;
        out->steps++;
    }
    for (int i = 0; i < thenar_sim_contact_pair_count(p->sim); i++) {
        const thenar_contact_pair *pair = &thenar_sim_contact_pairs(p->sim)[i];
        out->force += pair->normal_force;
        out->area += pair->area;
        out->contacts += pair->touching;
    }
    thenar_sim_stretches(p->sim, 0, p->stretches);
    for (int t = 0; t < thenar_model_mesh(p->model, 0)->tet_count; t++) {
        out->min = fmin(out->min, p->stretches[3 * t + 2]);
        out->inverted += p->stretches[3 * t + 2] < 0;
    }
    out->active = thenar_sim_stats(p->sim)->active_constraints;
    return THENAR_OK;
}

static thenar_status press_all(const thenar_tet_mesh *mesh, bool limited, stop stops[STOPS], thenar_error *error) {
    press p;
    thenar_status status = press_create(&p, mesh, limited, error);
    for (int i = 0; i < STOPS && status == THENAR_OK; i++)
        status = press_to(&p, TRAVEL * (i + 1) / STOPS, &stops[i], error);
    press_free(&p);
    return status;
}

/* The force at which a curve first reaches an area; NAN if it does not, or starts above it. */
static double force_at(const stop stops[STOPS], double area) {
    for (int i = 1; i < STOPS; i++)
        if (stops[i - 1].area < area && stops[i].area >= area) {
            double share = (area - stops[i - 1].area) / (stops[i].area - stops[i - 1].area);
            return stops[i - 1].force + share * (stops[i].force - stops[i - 1].force);
        }
    return NAN;
}

static void add_rows(table *results, int tets, bool limited, const stop stops[STOPS], const stop linear[STOPS]) {
    bool turned = false;
    for (int i = 0; i < STOPS; i++) {
        const stop *s = &stops[i];
        double over = limited ? s->force / force_at(linear, s->area) : NAN;
        table_add_row(results);
        table_text(results, "finger", "%s, %d tets", limited ? "limited" : "linear", tets);
        table_number(results, "travel_mm", 1e3 * TRAVEL * (i + 1) / STOPS);
        table_number(results, "area_mm2", 1e6 * s->area);
        table_number(results, "force_n", s->force);
        table_number(results, "over_linear", over);
        table_number(results, "contacts", s->contacts);
        table_number(results, "compression", 100 * (1 - s->min));
        table_number(results, "active", s->active);
        table_number(results, "inverted", s->inverted);
        table_number(results, "steps", s->steps);
        table_number(results, "unconverged", s->unconverged);
        if (turned || !(over > TURNS_UP)) continue;
        turned = true;
        table_text(results, "paper", "turns up: \"fast increase\" (Fig. 7)");
    }
}

static thenar_status run_finger(int tets, table *results, thenar_error *error) {
    thenar_tet_mesh mesh;
    stop linear[STOPS], limited[STOPS];
    thenar_status status = make_finger(tets, &mesh, error);
    if (status == THENAR_OK) status = press_all(&mesh, false, linear, error);
    if (status == THENAR_OK) status = press_all(&mesh, true, limited, error);
    if (status == THENAR_OK) {
        add_rows(results, mesh.tet_count, true, limited, linear);
        add_rows(results, mesh.tet_count, false, linear, linear);
    }
    thenar_tet_mesh_free(&mesh);
    return status;
}

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    (void)request;
    table_add_column(results, "finger", "finger", 0);
    table_add_column(results, "travel_mm", "travel mm", 2);
    table_add_column(results, "area_mm2", "area mm2", 1);
    table_add_column(results, "force_n", "force N", 2);
    table_add_column(results, "over_linear", "over linear", 2);
    table_add_column(results, "contacts", "contacts", 0);
    table_add_column(results, "compression", "largest compression %", 1);
    table_add_column(results, "active", "active limits", 0);
    table_add_column(results, "inverted", "inverted tets", 0);
    table_add_column(results, "steps", "steps", 0);
    table_add_column(results, "unconverged", "unconverged", 0);
    table_add_column(results, "paper", "perez2013", 0);
    static const int tets[] = {347, 1200};
    thenar_status status = THENAR_OK;
    for (int i = 0; i < 2 && status == THENAR_OK; i++) status = run_finger(tets[i], results, error);
    return status;
}

static const plot_def plot = {.title = "Normal force against contact area, a finger pressed flat (perez2013 Fig. 7)",
                              .x = "area_mm2",
                              .y = "force_n",
                              .lines = "finger"};

const bench_entry bench_force_area = {
    .name = "force-area",
    .summary = "normal force against contact area of a pressed finger, with and without limits",
    .run = run,
    .plot = &plot};
