/* Tactile rendering: the time of an update per finger, the quality of its optimum compared with a search over a grid
 * of the workspace, and the error of the rendered surface where the touched surface is known to be a plane.
 *
 * The paper (perez2016, section IV) needs just over 1 ms per finger. Times are medians over the updates with something
 * near a pad. The angle is that between the commanded plane and the plane of the body, the displacement their distance
 * along the axis of the pad; both are the maxima over all steps in which at least three points of the pad touch:
 * "still" while nothing moves, else "moving". "excess" is by how much the cost of the optimum exceeds the minimum on a
 * grid of 201^3 poses at some times; below 0: the grid has no better pose. The last row has a device on every finger
 * of two hands. */
#include "bench/bench.h"

#include "app/command.h"
#include "core/threads.h"
#include "core/memory.h"
#include "core/vec3.h"
#include "tactile/tactile.h"

#include "thenar/thenar.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 200
#define MOMENTS 2 /* per scene: times at which the grid is searched */
#define DEGREE (3.14159265358979323846 / 180)
#define STILL 1e-4 /* m/s and rad/s */

/* A face of a rigid body in its own frame; face i belongs to device i. */
typedef struct face {
    const char *body;
    double point[3], normal[3];
} face;

typedef struct bench_case {
    const char *scene;
    face faces[3]; /* body NULL: unknown */
    double moments[MOMENTS];
    bool everywhere; /* a device on every finger */
} bench_case;

#define PLATE                                                                                                          \
    {                                                                                                                  \
        "plate", {0, 0.005, 0}, {                                                                                      \
            0, 1, 0                                                                                                    \
        }                                                                                                              \
    }
#define LEFT                                                                                                           \
    {                                                                                                                  \
        "block", {-0.025, 0, 0}, {                                                                                     \
            -1, 0, 0                                                                                                   \
        }                                                                                                              \
    }
#define RIGHT                                                                                                          \
    {                                                                                                                  \
        "block", {0.025, 0, 0}, {                                                                                      \
            1, 0, 0                                                                                                    \
        }                                                                                                              \
    }
static const bench_case cases[] = {{"tactile-flat", {PLATE}, {0.5, 1.2}, false},
                                   {"tactile-tilt", {PLATE}, {1.0, 4.3}, false},
                                   {"tactile-edge", {{0}}, {1, 1.8}, false},
                                   {"tactile-sphere", {{0}}, {0.5, 2.2}, false},
                                   {"grip-strong", {LEFT, RIGHT, RIGHT}, {1.3, 3}, false},
                                   {"three-finger-turn", {LEFT, RIGHT, RIGHT}, {3.2, 5}, false},
                                   {"two-hands", {{0}}, {-1, -1}, true}};

typedef struct figures {
    ARRAY(double) us; /* per device */
    double angle[2], displacement[2], excess, iterations;
    long touched;
} figures;

static double share(figures *f, double percent) {
    return bench_quantile(f->us.data, (int)f->us.count, percent / 100);
}

static double search_grid(const match_problem *problem) {
    double min = INFINITY;
    for (int i = 0; i <= CELLS; i++)
        for (int j = 0; j <= CELLS; j++)
            for (int k = 0; k <= CELLS; k++) {
                const int at[3] = {i, j, k};
                double q[3];
                for (int c = 0; c < 3; c++)
                    q[c] = problem->low[c] + (problem->high[c] - problem->low[c]) * at[c] / CELLS;
                min = fmin(min, match_cost(problem, q));
            }
    return min;
}

/* Compares a command with the face of a body. */
static void compare_face(const thenar_sim *sim, const thenar_tactile *tactile, int device, const face *f,
                         figures *out) {
    const thenar_tactile_pad *pad = thenar_tactile_pad_of(tactile, thenar_tactile_device_pad(tactile, device));
    if (!f->body || pad->contact_count < 3) return;
    int body = thenar_model_find_body(thenar_sim_model(sim), f->body);
    double at[7], twist[6];
    thenar_sim_pose(sim, body, at);
    thenar_sim_twist(sim, body, twist);
    bool moves = vec3_length(vec3_load(twist)) > STILL || vec3_length(vec3_load(twist + 3)) > STILL;
    quat turn = pose_quaternion(at);
    quat back = quat_conjugate(pose_quaternion(pad->pose));
    vec3 n = quat_rotate(back, quat_rotate(turn, vec3_load(f->normal)));
    vec3 place = vec3_add(vec3_load(at), quat_rotate(turn, vec3_load(f->point)));
    vec3 p = quat_rotate(back, vec3_sub(place, vec3_load(pad->pose)));
    const double *pose = thenar_tactile_command_of(tactile, device)->platform;
    double command[3];
    match_normal(pose, command);
    double sine = vec3_length(vec3_cross(n, vec3_load(command)));
    out->angle[moves] = fmax(out->angle[moves], asin(fmin(1, sine)));
    out->displacement[moves] = fmax(out->displacement[moves], fabs(pose[2] - vec3_dot(n, p) / n.z));
}

static thenar_status step_case(const bench_case *c, thenar_sim *sim, thenar_tactile *tactile, double time, figures *out,
                               thenar_error *error) {
    int devices = thenar_tactile_device_count(tactile);
    out->excess = -INFINITY;
    while (thenar_sim_time(sim) < time - 1e-9) {
        thenar_sim_step(sim);
        int64_t start = clock_now();
        thenar_tactile_update(tactile, sim);
        double us = 1e-3 * (double)(clock_now() - start);
        int near = 0;
        for (int d = 0; d < devices; d++) {
            const thenar_tactile_command *command = thenar_tactile_command_of(tactile, d);
            near += command->iterations > 0 || command->touching;
            out->iterations += command->touching ? command->iterations : 0;
            out->touched += command->touching;
            compare_face(sim, tactile, d, &c->faces[c->everywhere ? 0 : d], out);
        }
        if ((near > 0 || c->everywhere) && !ARRAY_PUSH(&out->us, us / devices)) return error_memory(error, "times");
        for (int m = 0; m < MOMENTS; m++) {
            match_problem problem;
            if (fabs(thenar_sim_time(sim) - c->moments[m]) > 0.5 * thenar_sim_dt(sim)) continue;
            if (!tactile_problem(tactile, tactile->devices, tactile->devices->before, &problem)) continue;
            double found = thenar_tactile_command_of(tactile, 0)->cost, min = search_grid(&problem);
            out->excess = fmax(out->excess, found / min - 1);
        }
    }
    return THENAR_OK;
}

/* The devices of the scene, or one on every finger of every hand. */
static thenar_status wear(const bench_case *c, const thenar_model *model, thenar_tactile **out, thenar_error *error) {
    thenar_tactile_options options = thenar_tactile_options_default();
    thenar_wearable_def cable = thenar_wearable_def_default(THENAR_WEARABLE_CABLE);
    if (!c->everywhere) return thenar_tactile_create(model, NULL, out, error);
    int count = THENAR_FINGER_COUNT * thenar_model_hand_count(model);
    thenar_tactile_def *devices = MEMORY_ARRAY(thenar_tactile_def, count);
    char(*names)[32] = memory_array((size_t)count, sizeof *names);
    thenar_status status = devices && names ? THENAR_OK : error_memory(error, "devices");
    for (int i = 0; i < count && status == THENAR_OK; i++) {
        snprintf(names[i], sizeof *names, "%d", i);
        devices[i] = (thenar_tactile_def){.size = sizeof(thenar_tactile_def),
                                          .name = names[i],
                                          .hand = thenar_model_hand_name(model, i / THENAR_FINGER_COUNT),
                                          .finger = (thenar_finger)(i % THENAR_FINGER_COUNT),
                                          .device = &cable};
    }
    options.devices = devices;
    options.device_count = count;
    if (status == THENAR_OK) status = thenar_tactile_create(model, &options, out, error);
    free(devices);
    free(names);
    return status;
}

static void add_row(const bench_case *c, const thenar_tactile *tactile, figures *f, table *results) {
    table_add_row(results);
    table_text(results, "scene", "%s", c->scene);
    table_number(results, "devices", thenar_tactile_device_count(tactile));
    table_number(results, "finger_us", share(f, 50));
    table_number(results, "finger_us_p99", share(f, 99));
    table_number(results, "all_us", share(f, 50) * thenar_tactile_device_count(tactile));
    if (f->touched > 0) table_number(results, "iterations", f->iterations / (double)f->touched);
    if (isfinite(f->excess)) table_number(results, "excess", 100 * f->excess);
    if (!c->faces[0].body) return;
    table_number(results, "still_deg", f->angle[0] / DEGREE);
    table_number(results, "still_mm", f->displacement[0] * 1e3);
    table_number(results, "moving_deg", f->angle[1] / DEGREE);
    table_number(results, "moving_mm", f->displacement[1] * 1e3);
}

static thenar_status run_case(const bench_case *c, table *results, thenar_error *error) {
    char path[SCENE_PATH_SIZE];
    thenar_model *model = NULL;
    thenar_sim *sim = NULL;
    thenar_tactile *tactile = NULL;
    thenar_scene_info info;
    figures f = {0};
    thenar_status status = scene_find(c->scene, path, error);
    if (status == THENAR_OK) status = thenar_scene_load(path, NULL, &model, &info, error);
    if (status == THENAR_OK) status = thenar_sim_create(model, NULL, &sim, error);
    if (status == THENAR_OK) status = wear(c, model, &tactile, error);
    if (status == THENAR_OK) status = step_case(c, sim, tactile, info.time, &f, error);
    if (status == THENAR_OK) add_row(c, tactile, &f, results);
    free(f.us.data);
    thenar_tactile_free(tactile);
    thenar_sim_free(sim);
    thenar_model_free(model);
    return status;
}

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    (void)request;
    table_add_column(results, "scene", "scene", 0);
    table_add_column(results, "devices", "devices", 0);
    table_add_column(results, "finger_us", "us per finger", 2);
    table_add_column(results, "finger_us_p99", "p99", 2);
    table_add_column(results, "all_us", "us total", 1);
    table_add_column(results, "iterations", "iterations", 2);
    table_add_column(results, "excess", "excess %", 4);
    table_add_column(results, "still_deg", "still deg", 3);
    table_add_column(results, "still_mm", "mm", 4);
    table_add_column(results, "moving_deg", "moving deg", 3);
    table_add_column(results, "moving_mm", "mm", 4);
    thenar_status status = THENAR_OK;
    for (size_t i = 0; i < sizeof cases / sizeof *cases && status == THENAR_OK; i++)
        status = run_case(&cases[i], results, error);
    return status;
}

const bench_entry bench_tactile = {
    .name = "tactile",
    .summary = "tactile devices: time per finger, optimum against a grid search, error of the rendered surface",
    .run = run};
