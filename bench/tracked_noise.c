#include "bench/tracked_noise.h"

#include "core/error.h"
#include "core/memory.h"
#include "hand/hand.h"
#include "hand/retarget.h"
#include "world/model.h"

#include <math.h>
#include <stdlib.h>

#define RATE 60            /* Hz, of the tracker; a faster one has less noise below the cutoff */
#define SECONDS 10.0       /* in which touches are counted */
#define SETTLING 2.0       /* s before that: the plate arrives */
#define AWAY 0.03          /* m: of the plate before */
#define TILT 0.349         /* rad: 20 degrees between plate and end bone */
#define PLATE 0.02         /* m: its breadth */
#define FINGER_HALF 0.009  /* m: skin farther from the axis of the finger belongs to another one */
#define MOVING 0.005       /* m/s: slower motion says nothing of the lag */
#define RELEASED_SPEED 0.3 /* m/s, of the plate on its way to the finger */

/* A tracked person: a woman's hand, with a longer thumb than the model's proportions have. */
static thenar_status make_person(hand_skeleton *hand, thenar_error *error) {
    hand_size size = {.length = 0.1811, .breadth = 0.0782};
    for (int b = 0; b < 3; b++) size.bone[b] = 1.05 * hand_bone_length(size, hand_bone_joint(b + 1));
    hand_frame joint[HAND_JOINTS];
    hand_rest(size, joint);
    hand_skeleton_rest rest = {0};
    for (int j = 0; j < HAND_JOINTS; j++) rest.joints[j] = (skeleton_pose){joint[j].position, joint[j].rotation};
    for (int b = 0; b < HAND_BONES; b++)
        rest.bones[b] = (hand_bone_mass){0.01, {0, 0, 0}, mat3_diagonal(1e-6, 1e-6, 1e-6)};
    hand_springs springs = hand_springs_default();
    return hand_skeleton_create(&rest, &springs, hand, error);
}

/* The joints of the person, `share` of the way from an open hand to a pinch. Returns the distance of the two tips. */
static double joints_at(const hand_skeleton *hand, double share, skeleton_pose joints[HAND_JOINTS]) {
    double open[HAND_ANGLES], q[HAND_ANGLES];
    skeleton_pose bones[HAND_BONES];
    hand_pose_angles(hand, THENAR_HAND_POSE_RELAXED, open);
    hand_pose_angles(hand, THENAR_HAND_POSE_PINCH, q);
    for (int i = 0; i < HAND_ANGLES; i++) q[i] = open[i] + share * (q[i] - open[i]);
    bones[0] = (skeleton_pose){{0, 0.2, 0}, {0, 0, 0, 1}};
    skeleton_place(hand->model, q, bones);
    hand_skeleton_joints(hand, bones, joints);
    return vec3_distance(joints[HAND_THUMB_TIP].position, joints[HAND_INDEX_TIP].position);
}

/* The share at which the tips are this far apart. */
static double share_for(const hand_skeleton *hand, double apart) {
    double low = 0, high = 1;
    skeleton_pose joints[HAND_JOINTS];
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        if (joints_at(hand, middle, joints) > apart)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static double uniform(unsigned long long *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)((*state >> 33) + 1) / 2147483649.;
}

static double gauss(unsigned long long *state) {
    double u = uniform(state), v = uniform(state);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* How far the pinch is closed, 0 to 1: open for 1 s, closing for 2 s, and so on. */
static double closed_at(double time) {
    double share = fmax(0, fmin(1, fmin(time - 1, 9 - time) / 2));
    return share * share * (3 - 2 * share);
}

/* apart: the smallest distance of the tips, m; 0: the hand does not move. */
static thenar_status make_track(double apart, double rms, unsigned seed, thenar_track **out, thenar_error *error) {
    hand_skeleton person;
    thenar_status status = make_person(&person, error);
    if (status != THENAR_OK) return status;
    track *t = *out = MEMORY_ARRAY(track, 1);
    if (!t) status = error_memory(error, "the track");
    if (t) atomic_init(&t->owners, 1);
    unsigned long long state = 1000ull * seed + 1;
    double share = apart > 0 ? share_for(&person, apart) : 0;
    for (int k = 0; k <= (int)((SETTLING + SECONDS) * RATE) && status == THENAR_OK; k++) {
        skeleton_pose joints[HAND_JOINTS];
        double time = (double)k / RATE;
        track_frame frame = {.time = time, .joints = tracked_hand_unseen()};
        joints_at(&person, share * closed_at(time), joints);
        for (int j = 0; j < HAND_JOINTS; j++) {
            double by[3];
            for (int i = 0; i < 3; i++) by[i] = rms / sqrt(3) * gauss(&state);
            frame.joints.position[j] = vec3_add(joints[j].position, vec3_load(by));
        }
        if (!ARRAY_PUSH(&t->hands[0], frame)) status = error_memory(error, "the track");
    }
    hand_skeleton_free(&person);
    return status;
}

thenar_status tracked_noise_model(thenar_hand_detail detail, double rms, thenar_model **model, thenar_error *error) {
    thenar_track *seen = NULL;
    thenar_status status = make_track(0, rms, 0, &seen, error);
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    if (status == THENAR_OK && !build) status = error_memory(error, "the hand");
    thenar_hand_def def = thenar_hand_def_default();
    thenar_hand_def_set_detail(&def, detail);
    def.track = seen;
    thenar_rigid_def plate = thenar_rigid_def_default();
    plate.name = "plate";
    plate.motion = THENAR_MOTION_DRIVEN;
    plate.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {PLATE, PLATE / 2, 2 * PLATE}};
    plate.pose[1] = -1;
    if (status == THENAR_OK) status = thenar_build_add_hand(build, &def, error);
    if (status == THENAR_OK) status = thenar_build_add_rigid(build, &plate, error);
    if (status == THENAR_OK) status = thenar_build_compile(build, model, error);
    thenar_build_free(build);
    thenar_track_free(seen);
    return status;
}

/* The pose in which the plate just touches the index finger, and its normal. */
static thenar_status touching_pose(const thenar_sim *sim, double pose[7], vec3 *normal, thenar_error *error) {
    double joints[7 * HAND_JOINTS];
    thenar_sim_hand_joints(sim, 0, joints);
    const double *distal = joints + 7 * HAND_INDEX_DISTAL;
    quat turn = {distal[3], distal[4], distal[5], distal[6]};
    vec3 at = vec3_load(distal), side = quat_rotate(turn, vec3_make(1, 0, 0));
    vec3 along = quat_rotate(turn, vec3_make(0, 0, -1)), touch = at;
    turn = quat_mul(turn, quat_from_rotation_vector(vec3_make(TILT, 0, 0)));
    *normal = quat_rotate(turn, vec3_make(0, 1, 0));
    int count = thenar_model_surface(thenar_sim_model(sim), 0)->vertex_count;
    double *skin = MEMORY_ARRAY(double, 3 * (size_t)count), low = INFINITY;
    if (!skin) return error_memory(error, "the skin");
    thenar_sim_surface(sim, 0, skin);
    for (int v = 0; v < count; v++) {
        vec3 from = vec3_sub(vec3_load(skin + 3 * (size_t)v), at);
        if (vec3_dot(from, along) < 0 || fabs(vec3_dot(from, side)) > FINGER_HALF) continue;
        if (vec3_dot(from, *normal) >= low) continue;
        low = vec3_dot(from, *normal);
        touch = vec3_add(at, from);
    }
    free(skin);
    vec3_store(pose, vec3_mul_add(touch, *normal, -PLATE / 4));
    pose[3] = turn.x, pose[4] = turn.y, pose[5] = turn.z, pose[6] = turn.w;
    return THENAR_OK;
}

/* Sums over the steps of a run. */
typedef struct sums {
    /* At rest, of both devices: [0] in contact, [1] always. */
    double pitch[2][2], squares[2][2];
    int count[2][2], toggles[2];
    bool before[2];
    double along, speeds; /* v . (tracked - simulated), v . v */
} sums;

static void add_lag(const thenar_sim *sim, const thenar_track *clean, double time, double dt, sums *s) {
    static const hand_joint tip[] = {HAND_THUMB_TIP, HAND_INDEX_TIP};
    tracked_hand now, last;
    double joints[7 * HAND_JOINTS];
    track_sample(clean, false, time, &now);
    track_sample(clean, false, time - dt, &last);
    thenar_sim_hand_joints(sim, 0, joints);
    for (int i = 0; i < 2; i++) {
        vec3 v = vec3_scale(vec3_sub(now.position[tip[i]], last.position[tip[i]]), 1 / dt);
        if (vec3_length(v) < MOVING) continue;
        s->along += vec3_dot(v, vec3_sub(now.position[tip[i]], vec3_load(joints + 7 * tip[i])));
        s->speeds += vec3_dot(v, v);
    }
}

static void add_commands(const thenar_tactile *tactile, bool rest, bool counts, sums *s) {
    for (int i = 0; i < 2; i++) {
        const thenar_tactile_command *command = thenar_tactile_command_of(tactile, i);
        s->toggles[i] += counts && command->touching != s->before[i];
        s->before[i] = command->touching;
        for (int k = command->touching ? 0 : 1; k < 2 && rest; k++) {
            s->count[i][k]++;
            s->pitch[i][k] += command->platform[0];
            s->squares[i][k] += command->platform[0] * command->platform[0];
        }
    }
}

static double deviation(const sums *s, int device, int which) {
    int count = s->count[device][which];
    double mean = count > 0 ? s->pitch[device][which] / count : 0;
    return count > 0 ? sqrt(fmax(0, s->squares[device][which] / count - mean * mean)) : 0;
}

static void summarize(const tracked_noise_case *c, const sums *s, tracked_noise_result *out) {
    *out = (tracked_noise_result){.touched = 1, .lag = s->speeds > 0 ? s->along / s->speeds : 0};
    for (int i = c->kind == TRACKED_NOISE_PLATE; i < 2; i++) {
        out->pitch = fmax(out->pitch, deviation(s, i, 0));
        out->pitch_all = fmax(out->pitch_all, deviation(s, i, 1));
        if (s->toggles[i] > out->toggles) out->toggles = s->toggles[i];
        out->touched = fmin(out->touched, (double)s->count[i][0] / s->count[i][1]);
    }
}

/* Where the plate is at a time: away, on its way within 0.1 s, there. */
static void drive_plate(thenar_sim *sim, const double pose[7], vec3 normal, double depth, double time) {
    double now[7], away = fmin(AWAY, fmax(0, AWAY - RELEASED_SPEED * (time - 0.5 * SETTLING)));
    for (int i = 0; i < 7; i++) now[i] = pose[i];
    vec3_store(now, vec3_mul_add(vec3_load(pose), normal, depth - away));
    thenar_sim_drive_body(sim, 1, now);
}

static thenar_status follow(const tracked_noise_case *c, thenar_sim *sim, thenar_tactile *tactile,
                            const thenar_track *clean, const double pose[7], vec3 normal, sums *s) {
    bool plate = c->kind == TRACKED_NOISE_PLATE;
    double dt = thenar_sim_dt(sim), begin = plate ? SETTLING : 0;
    thenar_status status = THENAR_OK;
    for (int k = 1; k * dt <= begin + SECONDS && status == THENAR_OK; k++) {
        double time = k * dt;
        if (plate) drive_plate(sim, pose, normal, c->at, time);
        status = thenar_sim_step(sim);
        if (status == THENAR_OK) status = thenar_tactile_update(tactile, sim);
        if (!plate) add_lag(sim, clean, time, dt, s);
        add_commands(tactile, plate ? time > SETTLING : time > 3.5 && time < 7, time > begin, s);
    }
    return status;
}

static thenar_status wear(const thenar_model *model, thenar_tactile **out, thenar_error *error) {
    static const char *const names[] = {"thumb", "index"};
    thenar_wearable_def cable = thenar_wearable_def_default(THENAR_WEARABLE_CABLE);
    thenar_tactile_def devices[2];
    for (int i = 0; i < 2; i++) {
        devices[i] = thenar_tactile_def_default();
        devices[i].name = names[i];
        devices[i].finger = (thenar_finger)i;
        devices[i].device = &cable;
    }
    thenar_tactile_options options = thenar_tactile_options_default();
    options.devices = devices;
    options.device_count = 2;
    return thenar_tactile_create(model, &options, out, error);
}

/* Where the plate touches the finger of a hand that follows the clean track. */
static thenar_status place_plate(const thenar_model *model, const thenar_sim_options *options, double pose[7],
                                 vec3 *normal, thenar_error *error) {
    thenar_sim *sim;
    thenar_status status = thenar_sim_create(model, options, &sim, error);
    if (status != THENAR_OK) return status;
    while (status == THENAR_OK && thenar_sim_time(sim) < 1) status = thenar_sim_step(sim);
    if (status == THENAR_OK) status = touching_pose(sim, pose, normal, error);
    thenar_sim_free(sim);
    return status;
}

thenar_status tracked_noise_run(thenar_model *model, const tracked_noise_case *c, double dt, tracked_noise_result *out,
                                thenar_error *error) {
    hand_model *hand = model->hands[0];
    const hand_skeleton *skeleton = &hand->skeleton;
    double radii = skeleton->finger_radius[0] + skeleton->finger_radius[1], pose[7] = {0};
    double apart = c->kind == TRACKED_NOISE_PINCH ? c->at * radii : 0;
    double cutoff = hand->retarget.cutoff;
    vec3 normal = {0, 1, 0};
    sums s = {0};
    thenar_track *clean = NULL, *noisy = NULL;
    thenar_sim *sim = NULL;
    thenar_tactile *tactile = NULL;
    thenar_sim_options options = thenar_sim_options_default();
    options.dt = dt;
    thenar_status status = make_track(apart, 0, 0, &clean, error);
    if (status == THENAR_OK) status = make_track(apart, c->rms, c->seed, &noisy, error);
    if (status == THENAR_OK) {
        hand_model_set_track(hand, clean);
        status = c->kind == TRACKED_NOISE_PLATE ? place_plate(model, &options, pose, &normal, error) : THENAR_OK;
        hand_model_set_track(hand, noisy);
    }
    if (!c->filter) hand->retarget.cutoff = 0;
    if (status == THENAR_OK) status = thenar_sim_create(model, &options, &sim, error);
    if (status == THENAR_OK) status = wear(model, &tactile, error);
    if (status == THENAR_OK) status = follow(c, sim, tactile, clean, pose, normal, &s);
    if (status == THENAR_OK) summarize(c, &s, out);
    hand->retarget.cutoff = cutoff;
    thenar_tactile_free(tactile);
    thenar_sim_free(sim);
    thenar_track_free(clean);
    thenar_track_free(noisy);
    return status;
}
