/* Retargeting: synthetic joints of known angles, with other bone lengths, noise, gaps and jumps. */
#include "plain_hand.h"
#include "allocations.h"

#include "random.h"
#include "hand/hand.h"
#include "hand/retarget.h"

#include <string.h>
#include <time.h>

/* The joints of a hand at a base pose and angles, as a tracker sees them: positions only. */
static tracked_hand joints_of(const hand_skeleton *hand, skeleton_pose base, const double *q, skeleton_pose *joints) {
    skeleton_pose bones[HAND_BONES], own[HAND_JOINTS];
    bones[0] = base;
    skeleton_place(hand->model, q, bones);
    if (!joints) joints = own;
    hand_skeleton_joints(hand, bones, joints);
    tracked_hand seen = tracked_hand_unseen();
    for (int j = 0; j < HAND_JOINTS; j++) seen.position[j] = joints[j].position;
    return seen;
}

/* Without the filter: what the fit itself does. */
static retarget_options unfiltered(void) {
    retarget_options options = retarget_options_default();
    options.cutoff = 0;
    return options;
}

static skeleton_pose random_base(random_source *r) {
    double v[6]; /* one after the other: the order in a list of arguments is the compiler's choice */
    for (int i = 0; i < 6; i++) v[i] = random_uniform(r, -3, 3);
    return (skeleton_pose){vec3_scale(vec3_load(v), 1. / 3), quat_from_rotation_vector(vec3_load(v + 3))};
}

static void random_angles(random_source *r, const hand_skeleton *hand, double *q) {
    for (int i = 0; i < HAND_ANGLES; i++) q[i] = random_uniform(r, hand->lower[i], hand->upper[i]);
}

static double turn_between(quat a, quat b) {
    return vec3_length(quat_to_rotation_vector(quat_mul(a, quat_conjugate(b))));
}

/* The largest angle between directions of bones of fingers, rad. */
static double worst_direction(const tracked_hand *a, const tracked_hand *b) {
    double worst = 0;
    for (int bone = 1; bone < HAND_BONES; bone++) {
        int joint = (int)hand_bone_joint(bone);
        vec3 u = vec3_sub(a->position[joint + 1], a->position[joint]);
        vec3 v = vec3_sub(b->position[joint + 1], b->position[joint]);
        worst = fmax(worst, atan2(vec3_length(vec3_cross(u, v)), vec3_dot(u, v)));
    }
    return worst;
}

/* A hand of other proportions: every finger, every bone and the palm's two directions by their own factor. */
static hand_skeleton other_hand(random_source *r, bool left) {
    hand_skeleton_rest rest = plain_hand_right(1);
    double wide = random_uniform(r, 0.85, 1.15), size = random_uniform(r, 0.8, 1.15);
    vec3 move[HAND_JOINTS];
    for (int j = 0; j < HAND_JOINTS; j++) {
        vec3 p = rest.joints[j].position;
        move[j] = vec3_make(p.x * wide * size, p.y * size, p.z * size);
    }
    for (int finger = 0; finger < HAND_FINGERS; finger++) {
        int joint = (int)hand_bone_joint(1 + 3 * finger);
        if (finger > 0) rest.joints[joint - 1].position = move[joint - 1];
        vec3 at = move[joint], before = rest.joints[joint].position;
        rest.joints[joint].position = at;
        for (int k = 1; k < 4; k++) {
            vec3 way = vec3_sub(rest.joints[joint + k].position, before);
            before = rest.joints[joint + k].position;
            at = vec3_mul_add(at, way, size * random_uniform(r, 0.8, 1.2));
            rest.joints[joint + k].position = at;
        }
    }
    if (left) rest = plain_hand_mirrored(rest);
    return plain_hand_skeleton(&rest);
}

static void angles_of_the_same_hand_come_back(void **unused) {
    (void)unused;
    for (int left = 0; left < 2; left++) {
        hand_skeleton_rest rest = plain_hand_right(1);
        if (left) rest = plain_hand_mirrored(rest);
        hand_skeleton hand = plain_hand_skeleton(&rest);
        retarget_options options = unfiltered();
        random_source r = {1};
        double worst = 0, worst_turn = 0, worst_place = 0;
        int max = 0;
        for (int n = 0; n < 300; n++) {
            double q[HAND_ANGLES];
            skeleton_pose base = random_base(&r);
            random_angles(&r, &hand, q);
            tracked_hand seen = joints_of(&hand, base, q, NULL);
            retarget state;
            retarget_result result;
            /* Each from nothing. */
            retarget_start(&state, &hand, &options);
            retarget_frame(&state, &seen, 0.01, &result);
            assert_false(result.held);
            for (int i = 0; i < HAND_ANGLES; i++) worst = fmax(worst, fabs(result.q[i] - q[i]));
            worst_turn = fmax(worst_turn, turn_between(result.base.orientation, base.orientation));
            worst_place = fmax(worst_place, vec3_distance(result.base.position, base.position));
            max = result.iterations > max ? result.iterations : max;
        }
        print_message("cold, %s hand: angles %.1e rad, turn %.1e rad, place %.1e m off; at most %d iterations\n",
                      left ? "left" : "right", worst, worst_turn, worst_place, max);
        assert_near(worst, 0, 1e-4);
        assert_near(worst_turn, 0, 1e-4);
        assert_near(worst_place, 0, 1e-5);
        hand_skeleton_free(&hand);
    }
}

static void directions_of_other_hands_are_kept(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    retarget_options options = unfiltered();
    random_source r = {2};
    double worst = 0, mean = 0, worst_wrist = 0;
    for (int n = 0; n < 100; n++) {
        hand_skeleton other = other_hand(&r, false);
        double q[HAND_ANGLES];
        skeleton_pose base = random_base(&r);
        random_angles(&r, &other, q);
        tracked_hand seen = joints_of(&other, base, q, NULL);
        retarget state;
        retarget_result result;
        retarget_start(&state, &hand, &options);
        retarget_frame(&state, &seen, 0.01, &result);
        tracked_hand got = joints_of(&hand, result.base, result.q, NULL);
        double off = worst_direction(&seen, &got);
        worst = fmax(worst, off), mean += off / 100;
        worst_wrist = fmax(worst_wrist, vec3_distance(result.base.position, base.position));
        hand_skeleton_free(&other);
    }
    print_message(
        "other lengths: directions off by at most %.2f degrees (mean of the worst ones %.2f); wrist %.1f mm\n",
        worst / PLAIN_DEGREE, mean / PLAIN_DEGREE, 1e3 * worst_wrist);
    assert_true(worst < 2 * PLAIN_DEGREE);
    /* The palms' middles meet; wrists are apart by what half the palm's length differs. */
    assert_true(worst_wrist < 0.25 * 0.085);
    hand_skeleton_free(&hand);
}

/* A smooth motion through the named poses while the hand moves and turns. */
static void motion_at(const hand_skeleton *hand, double t, skeleton_pose *base, double *q) {
    static const thenar_hand_pose names[] = {THENAR_HAND_POSE_OPEN,   THENAR_HAND_POSE_FIST,  THENAR_HAND_POSE_RELAXED,
                                             THENAR_HAND_POSE_SPREAD, THENAR_HAND_POSE_PINCH, THENAR_HAND_POSE_POINT};
    double from[HAND_ANGLES], to[HAND_ANGLES], s = t - floor(t);
    hand_pose_angles(hand, names[(int)t % 6], from);
    hand_pose_angles(hand, names[((int)t + 1) % 6], to);
    s = s * s * (3 - 2 * s);
    for (int i = 0; i < HAND_ANGLES; i++) q[i] = (1 - s) * from[i] + s * to[i];
    base->position = vec3_make(0.2 * sin(t), 1 + 0.1 * sin(2 * t), -0.3);
    base->orientation = quat_from_rotation_vector(vec3_make(sin(t), 0.5 * t, 0.5 * sin(3 * t)));
}

static double gauss(random_source *r) {
    double u = random_uniform(r, 1e-12, 1), v = random_uniform(r, 0, 1);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

typedef struct outcome {
    double angle, direction, worst;                /* root mean square over frames and angles; worst angle, rad */
    double place, jitter;                          /* m; rad: change from frame to frame beyond that of the truth */
    double median_us, late_us, max_us, iterations; /* median, 99th percentile, most */
} outcome;

/* Of this thread alone: what others do with the machine does not count. */
static double thread_microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Follows the motion for 6 s at 100 Hz. noise: m; missing: share of joints that are not seen in a frame. */
static outcome follow(const hand_skeleton *hand, const hand_skeleton *tracked, retarget_options options, double noise,
                      double missing) {
    enum { FRAMES = 600 };
    static double times[FRAMES];
    outcome o = {0};
    random_source r = {5};
    retarget state;
    retarget_start(&state, hand, &options);
    double before[HAND_ANGLES] = {0}, true_before[HAND_ANGLES] = {0};
    long allocated = allocation_count;
    for (int n = 0; n < FRAMES; n++) {
        double q[HAND_ANGLES];
        skeleton_pose base;
        motion_at(tracked, n * 0.01, &base, q);
        tracked_hand seen = joints_of(tracked, base, q, NULL);
        for (int j = 0; j < HAND_JOINTS; j++) {
            double shake[3];
            for (int k = 0; k < 3; k++) shake[k] = gauss(&r);
            seen.position[j] = vec3_mul_add(seen.position[j], vec3_load(shake), noise);
            if (n > 0 && random_uniform(&r, 0, 1) < missing) seen.position[j].y = NAN;
        }
        retarget_result result;
        double start = thread_microseconds();
        retarget_frame(&state, &seen, 0.01, &result);
        times[n] = thread_microseconds() - start;
        o.iterations += (double)result.iterations / FRAMES;
        for (int i = 0; i < HAND_ANGLES; i++) {
            double off = fabs(result.q[i] - q[i]);
            assert_true(isfinite(off));
            assert_true(result.q[i] >= hand->lower[i] - 1e-12 && result.q[i] <= hand->upper[i] + 1e-12);
            o.angle += off * off / (FRAMES * HAND_ANGLES);
            o.worst = fmax(o.worst, off);
            if (n > 0) o.jitter += pow(result.q[i] - before[i] - (q[i] - true_before[i]), 2) / (FRAMES * HAND_ANGLES);
            before[i] = result.q[i], true_before[i] = q[i];
        }
        o.place = fmax(o.place, vec3_distance(result.base.position, base.position));
    }
    assert_int_equal(allocation_count, allocated);
    qsort(times, FRAMES, sizeof *times, compare);
    o.angle = sqrt(o.angle), o.jitter = sqrt(o.jitter);
    o.median_us = times[FRAMES / 2], o.late_us = times[FRAMES * 99 / 100], o.max_us = times[FRAMES - 1];
    return o;
}

static void print_outcome(const char *what, outcome o) {
    print_message(
        "%s: angles %.2f degrees rms, %.1f at most; place %.1f mm at most; jitter %.2f degrees; %.1f us median, "
        "%.1f us p99, %.1f us at most, %.1f iterations\n",
        what, o.angle / PLAIN_DEGREE, o.worst / PLAIN_DEGREE, 1e3 * o.place, o.jitter / PLAIN_DEGREE, o.median_us,
        o.late_us, o.max_us, o.iterations);
}

static void a_motion_is_followed_through_noise_and_gaps(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    retarget_options plain = unfiltered(), smooth = retarget_options_default();
    outcome clean = follow(&hand, &hand, plain, 0, 0);
    print_outcome("clean", clean);
    assert_true(clean.worst < 1e-4 && clean.place < 1e-5);

    outcome gaps = follow(&hand, &hand, plain, 0, 0.25);
    print_outcome("a quarter missing", gaps);
    assert_true(gaps.angle < 3 * PLAIN_DEGREE && gaps.place < 2e-3);

    /* 2 mm at both ends of a bone of 20 mm are 8 degrees; the end bones' angles add up two of those. */
    outcome noisy = follow(&hand, &hand, plain, 2e-3, 0);
    print_outcome("2 mm of noise", noisy);
    assert_true(noisy.angle < 9 * PLAIN_DEGREE && noisy.place < 8e-3);

    outcome smoothed = follow(&hand, &hand, smooth, 2e-3, 0);
    print_outcome("2 mm of noise, smoothed", smoothed);
    /* The whole motion is fast, so the filter is open. */
    assert_true(smoothed.jitter < 0.7 * noisy.jitter && smoothed.angle < noisy.angle);

    outcome both = follow(&hand, &hand, smooth, 2e-3, 0.25);
    print_outcome("2 mm of noise, a quarter missing, smoothed", both);
    assert_true(both.angle < 9 * PLAIN_DEGREE && both.place < 15e-3);
    hand_skeleton_free(&hand);
}

static void a_joint_that_jumps_is_not_followed(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    retarget_options options = unfiltered();
    retarget state;
    retarget_result result;
    retarget_start(&state, &hand, &options);
    double q[HAND_ANGLES], worst = 0;
    skeleton_pose base;
    for (int n = 0; n < 100; n++) {
        motion_at(&hand, n * 0.01, &base, q);
        tracked_hand seen = joints_of(&hand, base, q, NULL);
        if (n % 10 == 5) {
            int joint = (n * 7) % HAND_JOINTS;
            seen.position[joint] = vec3_add(seen.position[joint], vec3_make(0.1, -0.08, 0.05));
        }
        retarget_frame(&state, &seen, 0.01, &result);
        assert_false(result.jumped);
        for (int i = 0; i < HAND_ANGLES; i++) worst = fmax(worst, fabs(result.q[i] - q[i]));
    }
    print_message("one joint 14 cm astray: angles off by at most %.1f degrees\n", worst / PLAIN_DEGREE);
    assert_true(worst < 20 * PLAIN_DEGREE);
    hand_skeleton_free(&hand);
}

static void a_hand_that_jumps_is_followed_and_reported(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    retarget_options options = unfiltered();
    retarget state;
    retarget_result result;
    retarget_start(&state, &hand, &options);
    double q[HAND_ANGLES];
    random_source r = {9};
    skeleton_pose base = random_base(&r);
    for (int n = 0; n < 40; n++) {
        skeleton_pose before = base;
        base = random_base(&r);
        random_angles(&r, &hand, q);
        tracked_hand seen = joints_of(&hand, base, q, NULL);
        retarget_frame(&state, &seen, 0.01, &result);
        if (n > 0)
            assert_int_equal(result.jumped, vec3_distance(base.position, before.position) > 0.2 ||
                                                turn_between(base.orientation, before.orientation) > acos(0));
        for (int i = 0; i < HAND_ANGLES; i++) assert_near(result.q[i], q[i], 1e-4);
    }
    hand_skeleton_free(&hand);
}

static void joints_that_are_not_seen_stay(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    retarget_options options = unfiltered();
    retarget state;
    retarget_result result, first;
    retarget_start(&state, &hand, &options);
    double q[HAND_ANGLES];
    skeleton_pose base;
    /* Nothing seen at all, from the start on: the rest pose. */
    tracked_hand nothing = tracked_hand_unseen();
    retarget_frame(&state, &nothing, 0.01, &result);
    assert_true(result.held && result.seen == 0);
    for (int i = 0; i < HAND_ANGLES; i++) assert_near(result.q[i], hand.rest[i], 0);
    assert_near(turn_between(result.base.orientation, rest.joints[0].orientation), 0, 1e-12);

    motion_at(&hand, 1.3, &base, q);
    tracked_hand seen = joints_of(&hand, base, q, NULL);
    retarget_frame(&state, &seen, 0.01, &first);
    retarget_frame(&state, &nothing, 0.01, &result);
    assert_true(result.held);
    assert_memory_equal(result.q, first.q, sizeof first.q);
    assert_memory_equal(&result.base, &first.base, sizeof first.base);

    /* A finger that is gone stays as it was while the others move on. */
    motion_at(&hand, 1.6, &base, q);
    seen = joints_of(&hand, base, q, NULL);
    for (int j = HAND_RING_INTERMEDIATE; j <= HAND_RING_TIP; j++) seen.position[j].x = NAN;
    retarget_frame(&state, &seen, 0.01, &result);
    for (int i = 0; i < HAND_ANGLES; i++) assert_near(result.q[i], i / 4 == 3 ? first.q[i] : q[i], 1e-4);

    /* Only wrist, knuckles and tips: the fingers bend as far as the tips' places ask, each joint as it likes. */
    motion_at(&hand, 1.8, &base, q);
    seen = joints_of(&hand, base, q, NULL);
    tracked_hand full = seen;
    for (int f = 1; f < HAND_FINGERS; f++)
        for (int k = 1; k < 3; k++) seen.position[(int)hand_bone_joint(1 + 3 * f) + k].z = NAN;
    retarget_frame(&state, &seen, 0.01, &result);
    tracked_hand got = joints_of(&hand, result.base, result.q, NULL);
    for (int f = 1; f < HAND_FINGERS; f++) {
        int tip = (int)hand_bone_joint(1 + 3 * f) + 3;
        assert_near(vec3_distance(got.position[tip], full.position[tip]), 0, 1e-3);
    }
    /* Coordinates that are no place are not seen. */
    seen.position[HAND_WRIST].x = 1e300, seen.position[HAND_THUMB_TIP].y = INFINITY;
    retarget_frame(&state, &seen, 0.01, &result);
    for (int i = 0; i < HAND_ANGLES; i++) assert_true(isfinite(result.q[i]));
    assert_true(vec3_distance(result.base.position, base.position) < 0.01);
    hand_skeleton_free(&hand);
}

static void orientations_help_where_positions_are_missing(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    retarget_options options = unfiltered();
    random_source r = {4};
    for (int n = 0; n < 50; n++) {
        double q[HAND_ANGLES];
        skeleton_pose base = random_base(&r), joints[HAND_JOINTS];
        random_angles(&r, &hand, q);
        tracked_hand seen = joints_of(&hand, base, q, joints);
        for (int j = 0; j < HAND_JOINTS; j++) seen.orientation[j] = joints[j].orientation;
        /* No tips: the end bones have no direction. */
        for (int f = 0; f < HAND_FINGERS; f++) seen.position[(int)hand_bone_joint(1 + 3 * f) + 3].x = NAN;
        retarget state;
        retarget_result result;
        retarget_start(&state, &hand, &options);
        retarget_frame(&state, &seen, 0.01, &result);
        for (int i = 0; i < HAND_ANGLES; i++) assert_near(result.q[i], q[i], 1e-4);
    }
    hand_skeleton_free(&hand);
}

static void the_other_hand_is_recognized(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1), mirrored = plain_hand_mirrored(rest);
    hand_skeleton right = plain_hand_skeleton(&rest), left = plain_hand_skeleton(&mirrored);
    random_source r = {12};
    int recognized = 0;
    for (int n = 0; n < 100; n++) {
        double q[HAND_ANGLES];
        skeleton_pose base = random_base(&r);
        hand_skeleton tracked = other_hand(&r, false);
        for (int i = 0; i < HAND_ANGLES; i++) q[i] = random_uniform(&r, 0.2, 0.8) * tracked.upper[i];
        tracked_hand seen = joints_of(&tracked, base, q, NULL);
        assert_false(retarget_is_other_hand(&right, &seen));
        recognized += retarget_is_other_hand(&left, &seen);
        hand_skeleton_free(&tracked);
    }
    print_message("a right hand distinguished from a left one: %d of 100, no false alarm\n", recognized);
    assert_true(recognized >= 90);
    hand_skeleton_free(&right);
    hand_skeleton_free(&left);
}

static void poses_are_within_limits_and_look_as_they_are_called(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    double q[HAND_ANGLES];
    assert_int_equal(thenar_hand_pose_find("wave"), -1);
    for (int p = 0; p < thenar_hand_pose_count(); p++) {
        hand_pose_angles(&hand, (thenar_hand_pose)p, q);
        for (int i = 0; i < HAND_ANGLES; i++) assert_true(q[i] >= hand.lower[i] && q[i] <= hand.upper[i]);
    }
    skeleton_pose base = {{0, 0, 0}, quat_identity()};
    hand_pose_angles(&hand, THENAR_HAND_POSE_OPEN, q);
    tracked_hand open = joints_of(&hand, base, q, NULL);
    hand_pose_angles(&hand, THENAR_HAND_POSE_FIST, q);
    tracked_hand fist = joints_of(&hand, base, q, NULL);
    hand_pose_angles(&hand, THENAR_HAND_POSE_SPREAD, q);
    tracked_hand spread = joints_of(&hand, base, q, NULL);
    for (int f = 1; f < HAND_FINGERS; f++) {
        int knuckle = (int)hand_bone_joint(1 + 3 * f), tip = knuckle + 3;
        assert_true(vec3_distance(open.position[tip], open.position[knuckle]) > 0.07);
        assert_true(vec3_distance(fist.position[tip], fist.position[knuckle]) < 0.05);
        assert_true(fist.position[tip].y < -0.015); /* on the palm's side */
        if (f == 1) continue;
        double apart = vec3_distance(spread.position[tip], spread.position[tip - 5]);
        assert_true(apart > 1.3 * vec3_distance(open.position[tip], open.position[tip - 5]) || f == 2);
    }
    hand_skeleton_free(&hand);
}

/* A skeleton of the built-in hand of some size, with masses that do not matter. */
static hand_skeleton sized_hand(hand_size size, bool left) {
    hand_frame joint[HAND_JOINTS];
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_rest(size, joint);
    rest.left = left;
    for (int j = 0; j < HAND_JOINTS; j++) {
        hand_frame frame = left ? hand_frame_mirrored(joint[j]) : joint[j];
        rest.joints[j] = (skeleton_pose){frame.position, frame.rotation};
    }
    return plain_hand_skeleton(&rest);
}

/* Every bone by its own factor. Roots only slightly: a tracked palm shows the axes of its wrist only as far as it has the
 * shape of the table's, and a wrist that is rotated has other angles at the first joints. */
static hand_size random_size(random_source *r) {
    double length = random_uniform(r, 0.15, 0.21), slender = random_uniform(r, 0.41, 0.5);
    hand_size size = {.length = length, .breadth = length * slender};
    hand_frame joint[HAND_JOINTS];
    hand_rest(size, joint);
    for (int b = 1; b < HAND_BONES; b++)
        size.bone[b - 1] = hand_bone_length(size, hand_bone_joint(b)) *
                           ((b - 1) / 3 == 2 ? 1 : random_uniform(r, 0.85, 1.2)); /* the middle finger is the length */
    for (int f = 0; f < HAND_FINGERS; f++) {
        size.root[f] = joint[hand_bone_joint(1 + 3 * f)].position;
        size.root[f].z += random_uniform(r, -0.5e-3, 0.5e-3);
    }
    return size;
}

enum { SEEN_FRAMES = 240 };

/* noise: m per coordinate; missing, astray: shares of the joints that are not seen and that are 5 cm off. */
static void see_motion(const hand_skeleton *hand, double noise, double missing, double astray, tracked_hand *frames) {
    random_source r = {21};
    for (int n = 0; n < SEEN_FRAMES; n++) {
        double q[HAND_ANGLES];
        skeleton_pose base;
        motion_at(hand, n * 0.02, &base, q);
        frames[n] = joints_of(hand, base, q, NULL);
        for (int j = 0; j < HAND_JOINTS; j++) {
            double shake[3];
            for (int k = 0; k < 3; k++) shake[k] = gauss(&r);
            frames[n].position[j] = vec3_mul_add(frames[n].position[j], vec3_load(shake), noise);
            if (random_uniform(&r, 0, 1) < missing) frames[n].position[j].y = NAN;
            if (random_uniform(&r, 0, 1) < astray) frames[n].position[j].x += 0.05;
        }
    }
}

/* The largest relative error of a bone's length. */
static double worst_length(const hand_size *a, const hand_size *b) {
    double worst = 0;
    for (int i = 0; i < HAND_BONES - 1; i++) worst = fmax(worst, fabs(a->bone[i] / b->bone[i] - 1));
    return worst;
}

static void a_tracked_hand_is_measured(void **unused) {
    (void)unused;
    static tracked_hand frames[SEEN_FRAMES];
    random_source r = {20};
    thenar_error error;
    double clean = 0, noisy = 0, angle = 0, tip = 0;
    for (int n = 0; n < 6; n++) {
        bool left = n % 2;
        hand_size truth = random_size(&r), size;
        hand_skeleton tracked = sized_hand(truth, left);
        see_motion(&tracked, 1e-3 / sqrt(3), 0.02, 0.02, frames);
        assert_ok(hand_measure(frames, sizeof *frames, SEEN_FRAMES, left, &size, &error), error);
        noisy = fmax(noisy, worst_length(&size, &truth));
        see_motion(&tracked, 0, 0, 0, frames);
        assert_ok(hand_measure(frames, sizeof *frames, SEEN_FRAMES, left, &size, &error), error);
        clean = fmax(clean, worst_length(&size, &truth));
        /* A hand of this size follows the track with the same angles. */
        hand_skeleton own = sized_hand(size, left);
        retarget_options options = unfiltered();
        retarget state;
        retarget_start(&state, &own, &options);
        for (int k = 0; k < SEEN_FRAMES; k++) {
            double q[HAND_ANGLES];
            skeleton_pose base;
            retarget_result result;
            motion_at(&tracked, k * 0.02, &base, q);
            retarget_frame(&state, &frames[k], 0.02, &result);
            tracked_hand got = joints_of(&own, result.base, result.q, NULL);
            for (int i = 0; i < HAND_ANGLES; i++) angle = fmax(angle, fabs(result.q[i] - q[i]));
            for (int f = 0; f < HAND_FINGERS; f++) {
                int joint = (int)hand_bone_joint(1 + 3 * f) + 3;
                tip = fmax(tip, vec3_distance(got.position[joint], frames[k].position[joint]));
            }
        }
        hand_skeleton_free(&own);
        hand_skeleton_free(&tracked);
    }
    print_message("lengths off by %.1e, with noise, gaps and outliers by %.2f %%; angles %.2f degrees, tips %.2f mm\n",
                  clean, 100 * noisy, angle / PLAIN_DEGREE, 1e3 * tip);
    assert_true(clean < 1e-6);
    assert_true(noisy < 0.01);
    assert_true(angle < 0.5 * PLAIN_DEGREE);
    assert_true(tip < 1e-3);
}

static void what_is_no_hand_is_not_measured(void **unused) {
    (void)unused;
    static tracked_hand frames[SEEN_FRAMES];
    thenar_error error;
    hand_size size;
    hand_skeleton hand = sized_hand((hand_size){.length = 0.18, .breadth = 0.08}, false);
    see_motion(&hand, 0, 0, 0, frames);
    assert_int_equal(hand_measure(frames, sizeof *frames, 4, false, &size, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "4 frames"));
    assert_int_equal(hand_measure(NULL, sizeof *frames, 0, false, &size, &error), THENAR_ERROR_INPUT);
    /* Millimetres. */
    for (int n = 0; n < SEEN_FRAMES; n++)
        for (int j = 0; j < HAND_JOINTS; j++) frames[n].position[j] = vec3_scale(frames[n].position[j], 1e3);
    assert_int_equal(hand_measure(frames, sizeof *frames, SEEN_FRAMES, false, &size, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "m long; expected 0.08 to 0.3 m"));
    /* All joints at one place, and numbers that are no places. */
    const double bad[] = {0, 1e300, INFINITY, NAN, 9e5};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (int n = 0; n < SEEN_FRAMES; n++)
            for (int j = 0; j < HAND_JOINTS; j++) frames[n].position[j] = vec3_make(bad[i], bad[i], bad[i]);
        assert_int_equal(hand_measure(frames, sizeof *frames, SEEN_FRAMES, false, &size, &error), THENAR_ERROR_INPUT);
    }
    hand_skeleton_free(&hand);
}

/* A hand whose wrist moves along x without turning; returns the filtered position. */
static double filtered(retarget *state, const hand_skeleton *hand, double x, double dt) {
    skeleton_pose base = {{x, 0, 0}, quat_identity()};
    tracked_hand seen = joints_of(hand, base, hand->rest, NULL);
    retarget_result result;
    retarget_frame(state, &seen, dt, &result);
    return result.base.position.x;
}

static void the_filter_is_a_low_pass_that_opens_with_speed(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    retarget_options options = retarget_options_default();
    const double pi = 3.14159265358979323846, dt = 0.01;
    retarget state;
    options.cutoff = 2, options.opening = 0;
    retarget_start(&state, &hand, &options);
    /* The step response is 1 - exp(-2 pi f t), exactly, for every time step. */
    filtered(&state, &hand, 0, dt);
    for (int n = 1; n <= 50; n++)
        assert_near(filtered(&state, &hand, 0.1, dt), 0.1 * (1 - exp(-2 * pi * 2 * n * dt)), 1e-9);
    /* The amplitude at a frequency w is that of H = g / (1 - (1 - g) exp(-i w dt)). */
    retarget_start(&state, &hand, &options);
    double w = 2 * pi * 3, g = retarget_gain(2, dt), max = 0;
    for (int n = 0; n < 400; n++) {
        double x = filtered(&state, &hand, 0.01 * sin(w * n * dt), dt);
        if (n >= 200) max = fmax(max, fabs(x));
    }
    double real = 1 - (1 - g) * cos(w * dt), imaginary = (1 - g) * sin(w * dt);
    assert_near(max, 0.01 * g / sqrt(real * real + imaginary * imaginary), 1e-4);
    /* By default a hand at 0.5 m/s lags by less than 1 / (2 pi opening) and a tenth more. */
    options = retarget_options_default();
    retarget_start(&state, &hand, &options);
    double lag = 0;
    for (int n = 0; n < 200; n++) lag = 0.5 * n * dt - filtered(&state, &hand, 0.5 * n * dt, dt);
    print_message("a hand at 0.5 m/s lags by %.2f mm\n", 1e3 * lag);
    assert_true(lag > 0 && lag < 1.1 / (2 * pi * options.opening));
    hand_skeleton_free(&hand);
}

/* 1 mm root mean square of every joint's displacement: end bones of a hand at rest pitch by less than half a degree. */
static void noise_of_a_hand_at_rest_is_filtered(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    retarget_options options = retarget_options_default();
    retarget state;
    retarget_start(&state, &hand, &options);
    random_source r = {31};
    double q[HAND_ANGLES], sum[HAND_FINGERS] = {0}, squares[HAND_FINGERS] = {0}, worst = 0;
    skeleton_pose base = {{0, 0, 0}, quat_identity()}, bones[HAND_BONES], still[HAND_BONES] = {base};
    const int frames = 1500, settled = 300;
    hand_pose_angles(&hand, THENAR_HAND_POSE_PINCH, q);
    skeleton_place(hand.model, q, still);
    for (int n = 0; n < frames; n++) {
        tracked_hand seen = joints_of(&hand, base, q, NULL);
        for (int j = 0; j < HAND_JOINTS; j++) {
            double shake[3];
            for (int k = 0; k < 3; k++) shake[k] = gauss(&r);
            seen.position[j] = vec3_mul_add(seen.position[j], vec3_load(shake), 1e-3 / sqrt(3));
        }
        retarget_result result;
        retarget_frame(&state, &seen, 0.01, &result);
        bones[0] = result.base;
        skeleton_place(hand.model, result.q, bones);
        for (int f = 0; f < HAND_FINGERS && n >= settled; f++) {
            quat off = quat_mul(quat_conjugate(still[3 * f + 3].orientation), bones[3 * f + 3].orientation);
            double pitch = quat_to_rotation_vector(off).x;
            sum[f] += pitch / (frames - settled), squares[f] += pitch * pitch / (frames - settled);
        }
    }
    for (int f = 0; f < HAND_FINGERS; f++) worst = fmax(worst, sqrt(squares[f] - sum[f] * sum[f]));
    print_message("1 mm of noise: the end bones pitch by at most %.2f degrees\n", worst / PLAIN_DEGREE);
    assert_true(worst < 0.5 * PLAIN_DEGREE);
    hand_skeleton_free(&hand);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(angles_of_the_same_hand_come_back),
    cmocka_unit_test(directions_of_other_hands_are_kept),
    cmocka_unit_test(a_motion_is_followed_through_noise_and_gaps),
    cmocka_unit_test(a_joint_that_jumps_is_not_followed),
    cmocka_unit_test(a_hand_that_jumps_is_followed_and_reported),
    cmocka_unit_test(joints_that_are_not_seen_stay),
    cmocka_unit_test(orientations_help_where_positions_are_missing),
    cmocka_unit_test(the_other_hand_is_recognized),
    cmocka_unit_test(a_tracked_hand_is_measured),
    cmocka_unit_test(what_is_no_hand_is_not_measured),
    cmocka_unit_test(the_filter_is_a_low_pass_that_opens_with_speed),
    cmocka_unit_test(noise_of_a_hand_at_rest_is_filtered),
    cmocka_unit_test(poses_are_within_limits_and_look_as_they_are_called),
};

TEST_MAIN(tests)
