/* How closely a hand follows a tracked one (--track FILE; without it a made-up motion of a hand of other proportions).
 *
 * "target": the pose after retargeting and filter, before any physics. "bones": the simulated ones. For every finger the
 * distance of its tip from the tracked tip at the same time, and for the fingers the distance between their tips and that
 * of the thumb: the smallest one, tracked, of the target and of the bones. "pitch": standard deviation of the pitch of
 * the end bone of the target due to noise of --noise mm (root mean square of the displacement of a joint; default 1): the
 * same track is followed with and without it. "meet": steps in which tracked tips are within the sum of the radii of thumb
 * and finger; "touch": in which simulated ones touch.
 *
 * A second table has what the same noise does to the commands of cable platforms on thumb and index finger
 * (tracked_noise.h), of a medium hand that follows a made-up track of 60 Hz, without and with filter: the standard deviation
 * of the pitch while the hand holds still and the pad touches, and always; how often `touching` changes in 10 s; the share
 * of the time at rest with touch; and the lag of the simulated tips behind the clean track. */
#include "bench/bench.h"
#include "bench/tracked_noise.h"

#include "core/memory.h"
#include "hand/hand.h"
#include "hand/retarget.h"
#include "world/model.h"

#include "thenar/file.h"
#include "thenar/thenar.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STEPS 2000
#define DEGREES (180 / 3.14159265358979323846)

/* Positions of the tips and rotations of the end bones in a step. */
typedef struct tips {
    vec3 position[HAND_FINGERS];
    quat turn[HAND_FINGERS];
} tips;

typedef struct run_result {
    int steps;
    tips *tracked, *target, *bones;
    /* Steps in which the tracked tips of thumb and finger are within the sum of the two fingers' radii, in which the
     * simulated ones touch, both, and the largest tracked distance with a touch, m. */
    int meet[HAND_FINGERS], touch[HAND_FINGERS], both[HAND_FINGERS];
    double touch_apart[HAND_FINGERS];
} run_result;

static int tip_joint(int finger) {
    return (int)hand_bone_joint(3 * finger + 3) + 1;
}

static tips tips_of(const hand_skeleton *hand, const double wrist[7], const double *q) {
    skeleton_pose bones[HAND_BONES], joints[HAND_JOINTS];
    tips out;
    bones[0] = (skeleton_pose){vec3_load(wrist), {wrist[3], wrist[4], wrist[5], wrist[6]}};
    skeleton_place(hand->model, q, bones);
    hand_skeleton_joints(hand, bones, joints);
    for (int f = 0; f < HAND_FINGERS; f++) {
        out.position[f] = joints[tip_joint(f)].position;
        out.turn[f] = bones[3 * f + 3].orientation;
    }
    return out;
}

#define AT_TIP 0.02 /* m: contacts closer than this to both tips are theirs */

/* Whether thumb and finger touch near their tips. */
static bool tips_touch(const thenar_sim *sim, const tips *bones, int finger) {
    const thenar_contact *touching = thenar_sim_contacts(sim);
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
        vec3 at = vec3_load(touching[i].position);
        if (touching[i].force > 0 && vec3_distance(at, bones->position[0]) < AT_TIP &&
            vec3_distance(at, bones->position[finger]) < AT_TIP)
            return true;
    }
    return false;
}

static void compare_touch(const thenar_sim *sim, const hand_skeleton *hand, run_result *out) {
    const tips *tracked = &out->tracked[out->steps], *bones = &out->bones[out->steps];
    for (int f = 1; f < HAND_FINGERS; f++) {
        double apart = vec3_distance(tracked->position[0], tracked->position[f]);
        bool meet = apart < hand->finger_radius[0] + hand->finger_radius[f], touch = tips_touch(sim, bones, f);
        out->meet[f] += meet;
        out->touch[f] += touch;
        out->both[f] += meet && touch;
        if (touch) out->touch_apart[f] = fmax(out->touch_apart[f], apart);
    }
}

static thenar_status follow(const thenar_track *frames, const thenar_model *model, run_result *out,
                            thenar_error *error) {
    const hand_model *hand = model->hands[0];
    bool left = hand->skeleton.left;
    thenar_sim *sim;
    thenar_sim_options options = thenar_sim_options_default();
    thenar_status status = thenar_sim_create(model, &options, &sim, error);
    if (status != THENAR_OK) return status;
    double dt = thenar_world_def_default().dt;
    int steps = (int)fmin(MAX_STEPS, floor(thenar_track_duration(frames) / dt));
    *out = (run_result){
        .tracked = MEMORY_ARRAY(tips, steps), .target = MEMORY_ARRAY(tips, steps), .bones = MEMORY_ARRAY(tips, steps)};
    if (!out->tracked || !out->target || !out->bones) status = fail_memory(error, "the track");
    for (int k = 0; k < steps && status == THENAR_OK; k++) {
        double wrist[7], q[HAND_ANGLES], joints[7 * HAND_JOINTS];
        status = thenar_sim_step(sim);
        if (status != THENAR_OK) break;
        tracked_hand seen;
        track_sample(frames, left, track_start(frames) + (k + 1) * dt, &seen);
        thenar_sim_hand_target(sim, 0, wrist, q);
        out->target[k] = tips_of(&hand->skeleton, wrist, q);
        thenar_sim_hand_joints(sim, 0, joints);
        for (int f = 0; f < HAND_FINGERS; f++) {
            out->tracked[k].position[f] = seen.position[tip_joint(f)];
            out->bones[k].position[f] = vec3_load(joints + 7 * tip_joint(f));
        }
        compare_touch(sim, &hand->skeleton, out);
        out->steps++;
    }
    thenar_sim_free(sim);
    return status;
}

static void free_result(run_result *r) {
    free(r->tracked);
    free(r->target);
    free(r->bones);
}

static thenar_status make_model(const thenar_track *frames, bool fit, thenar_hand_detail detail, thenar_model **model,
                                thenar_error *error) {
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    if (!build) return fail_memory(error, "the hand");
    thenar_hand_def def = thenar_hand_def_default();
    thenar_hand_def_set_detail(&def, detail);
    def.left = !thenar_track_has_hand(frames, false);
    def.track = frames;
    def.fit = fit;
    thenar_status status = thenar_build_add_hand(build, &def, error);
    if (status == THENAR_OK) status = thenar_build_compile(build, model, error);
    thenar_build_free(build);
    return status;
}

static double uniform(unsigned long long *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)((*state >> 33) + 1) / 2147483649.;
}

static double gauss(unsigned long long *state) {
    double u = uniform(state), v = uniform(state);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* A point with noise; `rms` of the displacement, m. */
static vec3 shaken(vec3 p, double rms, unsigned long long *state) {
    double by[3];
    for (int i = 0; i < 3; i++) by[i] = rms / sqrt(3) * gauss(state);
    return vec3_add(p, vec3_load(by));
}

static void shake(track *frames, bool left, double rms) {
    unsigned long long state = 1;
    for (size_t k = 0; k < frames->hands[left].count; k++) {
        vec3 *position = frames->hands[left].data[k].joints.position;
        for (int j = 0; j < HAND_JOINTS; j++) position[j] = shaken(position[j], rms, &state);
    }
}

/* Root mean square pitch between the two targets, degrees. */
static double pitch_between(const run_result *a, const run_result *b, int finger) {
    double sum = 0, squares = 0;
    int count = a->steps < b->steps ? a->steps : b->steps;
    for (int k = 0; k < count; k++) {
        quat between = quat_mul(quat_conjugate(a->target[k].turn[finger]), b->target[k].turn[finger]);
        double pitch = quat_to_rotation_vector(between).x * DEGREES;
        sum += pitch / count;
        squares += pitch * pitch / count;
    }
    return sqrt(fmax(0, squares - sum * sum));
}

/* The tracked joints where thumb and index finger are closest. */
static tracked_hand closest_frame(const track *frames, bool left) {
    const track_hand *hand = &frames->hands[left];
    size_t best = 0;
    double min = INFINITY;
    for (size_t k = 0; k < hand->count; k++) {
        const vec3 *p = hand->data[k].joints.position;
        double d = vec3_distance(p[tip_joint(0)], p[tip_joint(1)]);
        if (d < min) min = d, best = k; /* false for NaN */
    }
    return hand->data[best].joints;
}

/* Standard deviations of the pitch of the end bones of a hand that holds still, degrees. */
static void rest_pitch(const hand_model *hand, const tracked_hand *held, double rms, double out[HAND_FINGERS]) {
    const int frames = 1000, settled = 300;
    const double dt = 0.01;
    unsigned long long state = 7;
    double sum[HAND_FINGERS] = {0}, squares[HAND_FINGERS] = {0};
    quat first[HAND_FINGERS];
    retarget r;
    retarget_start(&r, &hand->skeleton, &hand->retarget);
    for (int k = 0; k < frames; k++) {
        tracked_hand seen = *held;
        retarget_result result;
        double wrist[7];
        for (int j = 0; j < HAND_JOINTS; j++) seen.position[j] = shaken(seen.position[j], rms, &state);
        retarget_frame(&r, &seen, dt, &result);
        pose_store(wrist, result.base.position, result.base.orientation);
        tips now = tips_of(&hand->skeleton, wrist, result.q);
        for (int f = 0; f < HAND_FINGERS && k >= settled; f++) {
            if (k == settled) first[f] = now.turn[f];
            double pitch = quat_to_rotation_vector(quat_mul(quat_conjugate(first[f]), now.turn[f])).x * DEGREES;
            sum[f] += pitch / (frames - settled);
            squares[f] += pitch * pitch / (frames - settled);
        }
    }
    for (int f = 0; f < HAND_FINGERS; f++) out[f] = sqrt(fmax(0, squares[f] - sum[f] * sum[f]));
}

/* Quantiles of the distances between the tips of a finger, mm. */
static void distances(const run_result *r, const tips *of, int finger, double *work, double out[3]) {
    int count = 0;
    for (int k = 0; k < r->steps; k++) {
        double d = 1e3 * vec3_distance(of[k].position[finger], r->tracked[k].position[finger]);
        if (!isnan(d)) work[count++] = d;
    }
    out[0] = bench_quantile(work, count, 0.5);
    out[1] = bench_quantile(work, count, 0.95);
    out[2] = bench_quantile(work, count, 1);
}

/* The smallest distance to the tip of the thumb, mm. */
static double smallest(const run_result *r, const tips *of, int finger) {
    double out = INFINITY;
    for (int k = 0; k < r->steps; k++) out = fmin(out, 1e3 * vec3_distance(of[k].position[0], of[k].position[finger]));
    return out;
}

/* Largest difference between the distances to the tip of the thumb, mm, while the tracked one is below 40 mm. */
static double worst_pinch(const run_result *r, const tips *of, int finger) {
    double out = 0;
    for (int k = 0; k < r->steps; k++) {
        double seen = vec3_distance(r->tracked[k].position[0], r->tracked[k].position[finger]);
        double own = vec3_distance(of[k].position[0], of[k].position[finger]);
        if (seen < 0.04) out = fmax(out, 1e3 * fabs(own - seen));
    }
    return out;
}

static void fill(table *results, const char *size, bool fit, const run_result *clean, const run_result *noisy,
                 const double rest[HAND_FINGERS], double *work) {
    double target[3], bones[3];
    for (int f = 0; f < HAND_FINGERS; f++) {
        distances(clean, clean->target, f, work, target);
        distances(clean, clean->bones, f, work, bones);
        table_add_row(results);
        table_text(results, "size", "%s", size);
        table_text(results, "finger", "%s", thenar_finger_name((thenar_finger)f));
        table_number(results, "target_median_mm", target[0]);
        table_number(results, "target_p95_mm", target[1]);
        table_number(results, "target_max_mm", target[2]);
        table_number(results, "bones_median_mm", bones[0]);
        table_number(results, "bones_p95_mm", bones[1]);
        table_number(results, "pitch_rest_deg", rest[f]);
        table_number(results, "pitch_motion_deg", pitch_between(clean, noisy, f));
        if (f == 0) continue;
        table_number(results, "pinch_tracked_mm", smallest(clean, clean->tracked, f));
        table_number(results, "pinch_target_mm", smallest(clean, clean->target, f));
        table_number(results, "pinch_bones_mm", smallest(clean, clean->bones, f));
        table_number(results, "pinch_off_mm", worst_pinch(clean, clean->target, f));
        if (!fit || clean->meet[f] + clean->touch[f] == 0) continue;
        table_number(results, "meet", clean->meet[f]);
        table_number(results, "touch", clean->touch[f]);
        table_number(results, "both", clean->both[f]);
        table_number(results, "touch_apart_mm", 1e3 * clean->touch_apart[f]);
    }
}

static void add_columns(table *results) {
    table_add_column(results, "size", "size of the hand", 0);
    table_add_column(results, "finger", "finger", 0);
    table_add_column(results, "target_median_mm", "target off, median mm", 2);
    table_add_column(results, "target_p95_mm", "p95", 2);
    table_add_column(results, "target_max_mm", "max", 2);
    table_add_column(results, "bones_median_mm", "bones off, median mm", 2);
    table_add_column(results, "bones_p95_mm", "p95", 2);
    table_add_column(results, "pitch_rest_deg", "pitch at rest, deg", 2);
    table_add_column(results, "pitch_motion_deg", "in motion", 2);
    table_add_column(results, "pinch_tracked_mm", "closest to the thumb: tracked", 1);
    table_add_column(results, "pinch_target_mm", "target", 1);
    table_add_column(results, "pinch_bones_mm", "bones", 1);
    table_add_column(results, "pinch_off_mm", "target - tracked, max", 1);
    table_add_column(results, "meet", "steps: tracked tips meet", 0);
    table_add_column(results, "touch", "simulated touch", 0);
    table_add_column(results, "both", "both", 0);
    table_add_column(results, "touch_apart_mm", "touch at most at, mm", 1);
}

/* Follows a track with and without noise. */
static thenar_status measure(const thenar_track *clean, const thenar_track *noisy, bool fit, thenar_hand_detail detail,
                             double rms, double *work, table *results, thenar_error *error) {
    run_result a = {0}, b = {0};
    thenar_model *model;
    thenar_status status = make_model(clean, fit, detail, &model, error);
    if (status != THENAR_OK) return status;
    for (int i = 0; i < thenar_model_warning_count(model); i++) printf("warning: %s\n", thenar_model_warning(model, i));
    status = follow(clean, model, &a, error);
    if (status == THENAR_OK) {
        hand_model_set_track(model->hands[0], noisy); /* the same hand */
        status = follow(noisy, model, &b, error);
    }
    double rest[HAND_FINGERS];
    tracked_hand held = closest_frame(clean, model->hands[0]->skeleton.left);
    rest_pitch(model->hands[0], &held, rms, rest);
    const char *size = !fit ? "model's own" : detail == THENAR_HAND_MEDIUM ? "tracked, medium" : "tracked hand's";
    if (status == THENAR_OK) fill(results, size, fit, &a, &b, rest, work);
    free_result(&a);
    free_result(&b);
    thenar_model_free(model);
    return status;
}

/* What noise does to the commands of devices. */
static thenar_status print_commands(double rms, thenar_error *error) {
    static const tracked_noise_case cases[] = {{TRACKED_NOISE_PLATE, 0, false, 0, 3},
                                               {TRACKED_NOISE_PLATE, 0.5e-3, false, 0, 3},
                                               {TRACKED_NOISE_PLATE, 2e-3, false, 0, 3},
                                               {TRACKED_NOISE_PINCH, 0.8, false, 0, 3},
                                               {TRACKED_NOISE_PINCH, 1, false, 0, 3}};
    thenar_model *model;
    table t = {0};
    thenar_status status = tracked_noise_model(THENAR_HAND_MEDIUM, rms, &model, error);
    if (status != THENAR_OK) return status;
    table_add_column(&t, "case", "index finger", 0);
    table_add_column(&t, "filter", "filter", 0);
    table_add_column(&t, "pitch", "pitch in contact, deg", 2);
    table_add_column(&t, "pitch_all", "always", 2);
    table_add_column(&t, "toggles", "touch changes in 10 s", 0);
    table_add_column(&t, "touched", "touches, share", 2);
    table_add_column(&t, "lag", "lag, ms", 1);
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases && status == THENAR_OK; i++) {
        tracked_noise_case c = cases[i / 2];
        tracked_noise_result result = {0};
        c.rms = rms;
        c.filter = i % 2 == 1;
        status = tracked_noise_run(model, &c, thenar_world_def_default().dt, &result, error);
        if (status != THENAR_OK) break;
        table_add_row(&t);
        if (c.kind == TRACKED_NOISE_PLATE)
            table_text(&t, "case", "on a plate, %g mm deep", 1e3 * c.at);
        else
            table_text(&t, "case", "pinch, tracked tips %g radii apart", c.at);
        table_text(&t, "filter", "%s", c.filter ? "on" : "off");
        table_number(&t, "pitch", DEGREES * result.pitch);
        table_number(&t, "pitch_all", DEGREES * result.pitch_all);
        table_number(&t, "toggles", result.toggles);
        table_number(&t, "touched", result.touched);
        if (c.kind == TRACKED_NOISE_PINCH) table_number(&t, "lag", 1e3 * result.lag);
    }
    printf("commands of devices with noise of %g mm\n", 1e3 * rms);
    if (status == THENAR_OK) table_print(&t, stdout);
    table_free(&t);
    thenar_model_free(model);
    return status;
}

/* Seconds of a made-up motion, and its rate. */
#define MADE_UP 6.0
#define MADE_UP_RATE 100

static thenar_status make_up(thenar_track **out, thenar_error *error);

static thenar_status open_track(const char *path, thenar_track **out, thenar_error *error) {
    return path ? thenar_track_load(path, out, error) : make_up(out, error);
}

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    thenar_track *clean = NULL, *noisy = NULL;
    double *work = NEW_ARRAY(double, MAX_STEPS);
    thenar_status status = work ? open_track(request->track, &clean, error) : fail_memory(error, "the track");
    if (status == THENAR_OK) status = open_track(request->track, &noisy, error);
    if (status == THENAR_OK) {
        bool left = !thenar_track_has_hand(clean, false);
        if (clean->hands[left].count == 0) {
            status = error_set(error, THENAR_ERROR_INPUT, "the track is that of a glove; expected joints");
        } else {
            double rms = 1e-3 * (request->noise > 0 ? request->noise : 1);
            shake(noisy, left, rms);
            add_columns(results);
            status = measure(clean, noisy, true, THENAR_HAND_COARSE, rms, work, results, error);
            if (status == THENAR_OK)
                status = measure(clean, noisy, true, THENAR_HAND_MEDIUM, rms, work, results, error);
            if (status == THENAR_OK)
                status = measure(clean, noisy, false, THENAR_HAND_COARSE, rms, work, results, error);
            if (status == THENAR_OK) status = print_commands(rms, error);
        }
    }
    thenar_track_free(clean);
    thenar_track_free(noisy);
    free(work);
    return status;
}

/* A hand that is 10 % smaller and has a longer thumb moves through the named poses, seen at 100 Hz. */
static thenar_status make_up(thenar_track **out, thenar_error *error) {
    static const thenar_hand_pose names[] = {THENAR_HAND_POSE_OPEN, THENAR_HAND_POSE_PINCH, THENAR_HAND_POSE_RELAXED,
                                             THENAR_HAND_POSE_PINCH};
    hand_size size = {.length = 0.171, .breadth = 0.082};
    for (int b = 0; b < 3; b++) size.bone[b] = 1.1 * hand_bone_length(size, hand_bone_joint(b + 1));
    hand_frame joint[HAND_JOINTS];
    hand_rest(size, joint);
    hand_skeleton_rest rest = {0};
    for (int j = 0; j < HAND_JOINTS; j++) rest.joints[j] = (skeleton_pose){joint[j].position, joint[j].rotation};
    for (int b = 0; b < HAND_BONES; b++)
        rest.bones[b] = (hand_bone_mass){0.01, {0, 0, 0}, mat3_diagonal(1e-6, 1e-6, 1e-6)};
    hand_springs springs = hand_springs_default();
    hand_skeleton hand;
    thenar_status status = hand_skeleton_create(&rest, &springs, &hand, error);
    if (status != THENAR_OK) return status;
    track *t = *out = MEMORY_ARRAY(track, 1);
    if (!t) status = fail_memory(error, "the track");
    if (t) atomic_init(&t->owners, 1);
    for (int k = 0; k < (int)(MADE_UP * MADE_UP_RATE) && status == THENAR_OK; k++) {
        double s = (double)k / MADE_UP_RATE, share = s - floor(s), from[HAND_ANGLES], q[HAND_ANGLES];
        hand_pose_angles(&hand, names[(int)s % 4], from);
        hand_pose_angles(&hand, names[((int)s + 1) % 4], q);
        share = share * share * (3 - 2 * share);
        for (int i = 0; i < HAND_ANGLES; i++) q[i] = (1 - share) * from[i] + share * q[i];
        skeleton_pose bones[HAND_BONES], joints[HAND_JOINTS];
        bones[0].position = vec3_make(0.1 * sin(s), 0.2 + 0.05 * sin(2 * s), 0);
        bones[0].orientation = quat_from_rotation_vector(vec3_make(0.5 * sin(s), 0.3 * s, 0));
        skeleton_place(hand.model, q, bones);
        hand_skeleton_joints(&hand, bones, joints);
        track_frame frame = {.time = s, .joints = tracked_hand_unseen()};
        for (int j = 0; j < HAND_JOINTS; j++) frame.joints.position[j] = joints[j].position;
        if (!ARRAY_PUSH(&t->hands[0], frame)) status = fail_memory(error, "the track");
    }
    hand_skeleton_free(&hand);
    return status;
}

const bench_entry bench_track = {
    .name = "track", .summary = "distance of a hand's fingertips from those of a tracked one", .run = run};
