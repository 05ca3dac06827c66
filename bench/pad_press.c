#include "bench/pad_press.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/vec3.h"
#include "hand/shape.h"

#include <math.h>
#include <stdlib.h>

#define FINGER 1                  /* the index finger */
#define BONE (3 * FINGER + 3)     /* its distal bone */
#define TILT 0.349                /* rad, 20 degrees, tip down */
#define PLATE_BREADTH 0.02        /* m: the neighbouring finger does not touch it */
#define PLATE_LENGTH 0.04         /* m */
#define PLATE_THICKNESS 0.01      /* m */
#define FINGER_HALF_BREADTH 0.009 /* m: skin farther from the axis belongs to another finger */
#define HELD_STIFFNESS 1e6        /* N/m: 5 N move the base by 5 um */
#define HELD_TURN_STIFFNESS 1e4   /* N m/rad */
#define HELD_JOINT_STIFFNESS 1e4  /* N m/rad */
#define START_DISTANCE 0.03       /* m, of the plate from the distal joint */
#define APPROACH_STEPS 20         /* from there to the skin */
#define SERVO_LENGTH 0.15e-3      /* m: travel for a force that is wrong by a factor e */
#define SERVO_TIME 0.01           /* s */
#define APPROACH 0.005            /* m/s, before the first force */
#define FORCE_TOLERANCE 0.005     /* share */
#define STILL 0.1e-3              /* m/s, of the plate */
#define STILL_TIME 0.04           /* s for which it is at rest at the load */
#define PATIENCE 1.0              /* s per load */
#define SENSOR_RADIUS 2e-3        /* m */
#define POINTS_MAX 1024

/* Below the pad at rest; pad_press_create moves it to the skin. */
static vec3 start_of(const thenar_hand_def *hand) {
    hand_frame joint[HAND_JOINTS];
    hand_options usual = hand_options_default();
    double breadth = hand->breadth > 0 ? hand->breadth : usual.breadth / usual.length * hand->length;
    hand_rest((hand_size){.length = hand->length, .breadth = breadth}, joint);
    const hand_frame *distal = &joint[HAND_INDEX_DISTAL];
    return vec3_mul_add(distal->position, hand_frame_up(distal), -START_DISTANCE);
}

thenar_status pad_press_model(const thenar_hand_def *hand, thenar_model **model, thenar_error *error) {
    thenar_world_def world = thenar_world_def_default();
    thenar_hand_def held = *hand;
    held.name = "hand";
    held.base_stiffness = HELD_STIFFNESS;
    held.base_turn_stiffness = HELD_TURN_STIFFNESS;
    held.joint_stiffness = HELD_JOINT_STIFFNESS;
    held.max_force = held.max_torque = 0;
    thenar_rigid_def plate = thenar_rigid_def_default();
    plate.name = "plate";
    plate.motion = THENAR_MOTION_DRIVEN;
    plate.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {PLATE_BREADTH, PLATE_THICKNESS, PLATE_LENGTH}};
    vec3_store(plate.pose, start_of(hand));
    thenar_build *build = thenar_build_create(&world);
    thenar_status status = build ? thenar_build_add_hand(build, &held, error) : error_memory(error, "pad press");
    if (status == THENAR_OK) status = thenar_build_add_rigid(build, &plate, error);
    if (status == THENAR_OK) status = thenar_build_compile(build, model, error);
    thenar_build_free(build);
    return status;
}

static vec3 joint_place(const thenar_sim *sim, int joint, quat *rotation) {
    double joints[7 * THENAR_HAND_JOINTS];
    thenar_sim_hand_joints(sim, 0, joints);
    const double *pose = joints + 7 * joint;
    if (rotation) *rotation = (quat){pose[3], pose[4], pose[5], pose[6]};
    return vec3_load(pose);
}

/* The plate touches the lowest vertex of the pad. */
static thenar_status place_plate(pad_press *p, thenar_error *error) {
    quat rotation;
    vec3 joint = joint_place(p->sim, THENAR_JOINT_INDEX_DISTAL, &rotation);
    vec3 side = quat_rotate(rotation, vec3_make(1, 0, 0)), along = quat_rotate(rotation, vec3_make(0, 0, -1));
    quat turned = quat_mul(rotation, quat_from_rotation_vector(vec3_make(TILT, 0, 0)));
    vec3 normal = quat_rotate(turned, vec3_make(0, 1, 0));
    int count = thenar_model_surface(p->model, 0)->vertex_count;
    double *skin = MEMORY_ARRAY(double, 3 * (size_t)count), low = INFINITY;
    if (!skin) return error_memory(error, "pad press");
    thenar_sim_surface(p->sim, 0, skin);
    vec3 touch = joint;
    for (int v = 0; v < count; v++) {
        vec3 from = vec3_sub(vec3_load(skin + 3 * (size_t)v), joint);
        if (vec3_dot(from, along) < 0 || fabs(vec3_dot(from, side)) > FINGER_HALF_BREADTH) continue;
        if (vec3_dot(from, normal) >= low) continue;
        low = vec3_dot(from, normal);
        touch = vec3_add(joint, from);
    }
    free(skin);
    vec3_store(p->start, vec3_mul_add(touch, normal, -PLATE_THICKNESS / 2));
    p->start[3] = turned.x, p->start[4] = turned.y, p->start[5] = turned.z, p->start[6] = turned.w;
    vec3_store(p->normal, normal);
    vec3_store(p->along, quat_rotate(turned, vec3_make(0, 0, -1)));
    p->bone = vec3_dot(joint, normal);
    return THENAR_OK;
}

static void find_volumes(const thenar_tet_mesh *mesh, double *volume) {
    for (int t = 0; t < mesh->tet_count; t++) {
        vec3 x[4];
        for (int i = 0; i < 4; i++)
            x[i] = vec3_load(mesh->positions + 3 * (size_t)mesh->tets[4 * (size_t)t + (size_t)i]);
        volume[t] = fabs(vec3_dot(vec3_sub(x[1], x[0]), vec3_cross(vec3_sub(x[2], x[0]), vec3_sub(x[3], x[0])))) / 6;
    }
}

static thenar_status step_to(pad_press *p, const double pose[7], thenar_error *error) {
    thenar_sim_drive_body(p->sim, p->plate, pose);
    if (thenar_sim_step(p->sim) == THENAR_OK) return THENAR_OK;
    return error_set(error, THENAR_ERROR_NUMERIC, "the simulation of the pad failed");
}

static void pose_at(const pad_press *p, double travel, double pose[7]) {
    for (int i = 0; i < 7; i++) pose[i] = p->start[i];
    vec3_store(pose, vec3_mul_add(vec3_load(p->start), vec3_load(p->normal), travel));
}

static thenar_status approach(pad_press *p, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int i = 1; i <= APPROACH_STEPS && status == THENAR_OK; i++) {
        double pose[7];
        pose_at(p, p->travel - START_DISTANCE * (APPROACH_STEPS - i) / APPROACH_STEPS, pose);
        status = step_to(p, pose, error);
    }
    return status;
}

thenar_status pad_press_create(thenar_model *model, double dt, pad_press *press, thenar_error *error) {
    *press = (pad_press){.model = model, .plate = thenar_model_find_body(model, "plate")};
    thenar_sim_options options = thenar_sim_options_default();
    options.dt = dt;
    const thenar_tet_mesh *mesh = thenar_model_mesh(model, 0);
    thenar_status status = thenar_sim_create(model, &options, &press->sim, error);
    if (status != THENAR_OK) return status;
    press->stretches = MEMORY_ARRAY(double, 3 * (size_t)mesh->tet_count);
    press->volumes = MEMORY_ARRAY(double, mesh->tet_count);
    status = press->stretches && press->volumes ? place_plate(press, error) : error_memory(error, "pad press");
    if (status == THENAR_OK) {
        find_volumes(mesh, press->volumes);
        press->travel = -1e-4;
        status = approach(press, error);
    }
    if (status != THENAR_OK) pad_press_free(press);
    return status;
}

void pad_press_free(pad_press *press) {
    thenar_sim_free(press->sim);
    free(press->stretches);
    free(press->volumes);
    *press = (pad_press){0};
}

/* A point that pushes, in the plane of the plate. */
typedef struct pad_point {
    double x, y; /* across and along the finger, m */
    double force, area;
} pad_point;

static int list_points(const pad_press *p, pad_point out[POINTS_MAX]) {
    int count = 0;
    vec3 along = vec3_load(p->along), across = vec3_cross(along, vec3_load(p->normal)), start = vec3_load(p->start);
    for (int i = 0; i < thenar_sim_contact_count(p->sim) && count < POINTS_MAX; i++) {
        const thenar_contact *c = &thenar_sim_contacts(p->sim)[i];
        if (c->body[0] != 0 || c->body[1] != p->plate || !(c->force > 0)) continue;
        vec3 from = vec3_sub(vec3_load(c->position), start);
        out[count++] = (pad_point){vec3_dot(from, across), vec3_dot(from, along), c->force, c->area};
    }
    return count;
}

static double turn_of(pad_point a, pad_point b, pad_point c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

static int by_place(const void *left, const void *right) {
    const pad_point *a = left, *b = right;
    if (a->x != b->x) return a->x < b->x ? -1 : 1;
    return a->y < b->y ? -1 : a->y > b->y;
}

/* Monotone chain: the points are sorted. */
static double hull_area(const pad_point *point, int count) {
    if (count < 3) return 0;
    pad_point chain[2 * POINTS_MAX];
    int n = 0;
    for (int pass = 0; pass < 2; pass++) {
        int first = n;
        for (int k = 0; k < count; k++) {
            pad_point p = point[pass == 0 ? k : count - 1 - k];
            while (n >= first + 2 && turn_of(chain[n - 2], chain[n - 1], p) <= 0) n--;
            chain[n++] = p;
        }
        n--; /* it begins the other chain */
    }
    double twice = 0;
    for (int i = 0; i < n; i++) twice += chain[i].x * chain[(i + 1) % n].y - chain[(i + 1) % n].x * chain[i].y;
    return 0.5 * twice;
}

#define TERMS 5

/* Weighted least squares: the share of the variance that c0 + c1 x + c2 y + c3 x^2 + c4 y^2 explains. */
static double paraboloid_fit(const pad_point *point, const double *pressure, int count) {
    if (count <= TERMS) return NAN;
    double a[TERMS][TERMS + 1] = {{0}}, sum = 0, mean = 0, residual = 0, variance = 0;
    for (int i = 0; i < count; i++) {
        double x = 1e3 * point[i].x, y = 1e3 * point[i].y, w = point[i].area;
        double term[TERMS] = {1, x, y, x * x, y * y};
        sum += w;
        mean += w * pressure[i];
        for (int r = 0; r < TERMS; r++) {
            for (int c = 0; c < TERMS; c++) a[r][c] += w * term[r] * term[c];
            a[r][TERMS] += w * term[r] * pressure[i];
        }
    }
    mean /= sum;
    for (int k = 0; k < TERMS; k++) {
        int pivot = k;
        for (int r = k + 1; r < TERMS; r++)
            if (fabs(a[r][k]) > fabs(a[pivot][k])) pivot = r;
        for (int c = 0; c <= TERMS; c++) {
            double swap = a[k][c];
            a[k][c] = a[pivot][c];
            a[pivot][c] = swap;
        }
        if (!(fabs(a[k][k]) > 0)) return NAN;
        for (int r = 0; r < TERMS; r++) {
            double factor = r == k ? 0 : a[r][k] / a[k][k];
            for (int c = k; c <= TERMS; c++) a[r][c] -= factor * a[k][c];
        }
    }
    for (int i = 0; i < count; i++) {
        double x = 1e3 * point[i].x, y = 1e3 * point[i].y, term[TERMS] = {1, x, y, x * x, y * y}, fit = 0;
        for (int k = 0; k < TERMS; k++) fit += a[k][TERMS] / a[k][k] * term[k];
        residual += point[i].area * (pressure[i] - fit) * (pressure[i] - fit);
        variance += point[i].area * (pressure[i] - mean) * (pressure[i] - mean);
    }
    return 1 - residual / variance;
}

static void measure_points(const pad_press *p, pad_figures *out) {
    pad_point point[POINTS_MAX];
    double pressure[POINTS_MAX], smooth[POINTS_MAX];
    int count = out->points = list_points(p, point);
    double min[2] = {INFINITY, INFINITY}, max[2] = {-INFINITY, -INFINITY}, largest = 0;
    qsort(point, (size_t)count, sizeof *point, by_place);
    for (int i = 0; i < count; i++) {
        double force = 0, area = 0;
        for (int k = 0; k < count; k++) {
            if (hypot(point[k].x - point[i].x, point[k].y - point[i].y) > SENSOR_RADIUS) continue;
            force += point[k].force;
            area += point[k].area;
        }
        smooth[i] = force / area;
        pressure[i] = point[i].force / point[i].area;
        out->force += point[i].force;
        out->area += point[i].area;
        out->max_pressure = fmax(out->max_pressure, pressure[i]);
        largest = fmax(largest, point[i].force);
        min[0] = fmin(min[0], point[i].x), max[0] = fmax(max[0], point[i].x);
        min[1] = fmin(min[1], point[i].y), max[1] = fmax(max[1], point[i].y);
    }
    if (count == 0) return;
    out->max_share = largest / out->force;
    out->breadth = max[0] - min[0];
    out->length = max[1] - min[1];
    out->hull = hull_area(point, count);
    out->fit = paraboloid_fit(point, pressure, count);
    out->smooth_fit = paraboloid_fit(point, smooth, count);
}

static void measure_flesh(pad_press *p, pad_figures *out) {
    const thenar_tet_mesh *mesh = thenar_model_mesh(p->model, 0);
    double before = 0, after = 0;
    out->min_stretch = INFINITY;
    thenar_sim_stretches(p->sim, 0, p->stretches);
    for (int t = 0; t < mesh->tet_count; t++) {
        const double *s = p->stretches + 3 * (size_t)t;
        if (mesh->tags[t] != BONE) continue;
        before += p->volumes[t];
        after += p->volumes[t] * s[0] * s[1] * s[2];
        out->min_stretch = fmin(out->min_stretch, s[2]);
        out->inverted += s[2] <= 0;
    }
    out->volume_change = after / before - 1;
}

static void measure(pad_press *p, pad_figures *out) {
    vec3 normal = vec3_load(p->normal);
    double force[3], torque[3];
    measure_points(p, out);
    measure_flesh(p, out);
    thenar_sim_contact_wrench(p->sim, p->plate, force, NULL, NULL);
    out->plate_force = -vec3_dot(vec3_load(force), normal);
    thenar_sim_hand_coupling(p->sim, 0, 0, force, torque);
    out->base_force = -vec3_dot(vec3_load(force), normal);
    double lifted = vec3_dot(joint_place(p->sim, THENAR_JOINT_INDEX_DISTAL, NULL), normal) - p->bone;
    out->indentation = p->travel - lifted;
}

static double force_now(const pad_press *p) {
    double sum = 0;
    for (int i = 0; i < thenar_sim_contact_count(p->sim); i++) {
        const thenar_contact *c = &thenar_sim_contacts(p->sim)[i];
        if (c->body[0] == 0 && c->body[1] == p->plate) sum += c->force;
    }
    return sum;
}

thenar_status pad_press_to(pad_press *p, double load, pad_figures *out, thenar_error *error) {
    double dt = thenar_sim_dt(p->sim), still = 0, gain = SERVO_LENGTH * (1 - exp(-dt / SERVO_TIME));
    *out = (pad_figures){.load = load};
    while (still < STILL_TIME && out->steps * dt < PATIENCE) {
        double force = force_now(p);
        double move = force > 0 ? gain * fmin(fmax(log(load / force), -2), 2) : APPROACH * dt;
        double pose[7];
        p->travel += move;
        pose_at(p, p->travel, pose);
        thenar_status status = step_to(p, pose, error);
        if (status != THENAR_OK) return status;
        const thenar_stats *stats = thenar_sim_stats(p->sim);
        out->steps++;
        out->unconverged += stats->unconverged;
        if (stats->iterations > out->iterations) out->iterations = stats->iterations;
        bool settled = fabs(force_now(p) / load - 1) < FORCE_TOLERANCE && fabs(move) < STILL * dt;
        still = settled ? still + dt : 0;
    }
    out->contacts_lost = (int)thenar_sim_warning_count(p->sim, THENAR_WARNING_CONTACTS_LOST);
    measure(p, out);
    return THENAR_OK;
}
