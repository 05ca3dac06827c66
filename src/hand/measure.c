/* Measures the hand of a tracked person over the first frames of a track: lengths of its bones and places of the roots
 * of its fingers in the palm.
 *
 * A length is the mean over all frames that lie within three standard deviations of the median, with the deviation
 * taken from the median of the deviations, so that outliers do not count. Noise of variance s^2 across a bone makes
 * the mean of its measured lengths longer by about s^2 / length; the spread of the lengths shows that variance, and it
 * is subtracted.
 *
 * The palm is the shape that fits the wrist and the four knuckles of all frames: each frame is rotated to the current
 * estimate (Horn 1987), which then becomes the mean of all frames, as above. At last it is rotated to the palm of the
 * table for a hand of this length and breadth, so that the wrist of the measured hand has the same axes. */
#include "hand/retarget.h"

#include <stdlib.h>
#include <string.h>

#define MEASURED_FRAMES 200 /* with a complete palm; two to three seconds */
#define MIN_FRAMES 5
#define PALM_ROUNDS 3
#define DEVIATIONS 3.0    /* standard deviations beyond which a value is an outlier */
#define MIN_RATIO 0.5     /* of a bone over that of the table, for a hand of the measured length */
#define MAX_RATIO 1.8     /* likewise */
#define ROOT_DISTANCE 0.2 /* farthest of a root from its place in the table, over hand length */
#define LARGEST 1e6       /* m: beyond, squares lose precision */

/* Wrist, knuckles of the index to the little finger, root of the thumb. */
enum { PALM_WRIST, PALM_INDEX, PALM_MIDDLE, PALM_RING, PALM_LITTLE, PALM_THUMB, PALM_POINTS };
static const hand_joint palm_joints[PALM_POINTS] = {HAND_WRIST,         HAND_INDEX_PROXIMAL,  HAND_MIDDLE_PROXIMAL,
                                                    HAND_RING_PROXIMAL, HAND_LITTLE_PROXIMAL, HAND_THUMB_METACARPAL};

typedef struct measuring {
    const tracked_hand *frames; /* the first of them */
    size_t stride;              /* bytes from one to the next */
    bool left;
    size_t count; /* frames that are looked at */
    size_t good;  /* those among them with a complete palm */
    double *values;
} measuring;

/* A joint as that of a right hand; x is NaN if it was not seen. */
static vec3 joint_at(const measuring *m, size_t frame, hand_joint joint) {
    vec3 p = ((const tracked_hand *)((const char *)m->frames + frame * m->stride))->position[joint];
    if (!(fabs(p.x) < LARGEST && fabs(p.y) < LARGEST && fabs(p.z) < LARGEST)) return vec3_make(NAN, NAN, NAN);
    if (m->left) p.x = -p.x;
    return p;
}

static bool palm_is_seen(const measuring *m, size_t frame) {
    for (int i = 0; i < PALM_THUMB; i++)
        if (isnan(joint_at(m, frame, palm_joints[i]).x)) return false;
    return true;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sorted_median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

/* The mean without outliers, and the variance. The values are sorted; `work` has room for as many. */
static double robust_mean(double *values, double *work, size_t count, double *variance) {
    double median = sorted_median(values, count), sum = 0, squares = 0;
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) work[i] = fabs(values[i] - median);
    double width = DEVIATIONS * 1.4826 * sorted_median(work, count);
    for (size_t i = 0; i < count; i++) {
        double off = values[i] - median;
        if (fabs(off) > width) continue;
        sum += off, squares += off * off, taken++;
    }
    if (taken == 0) return *variance = 0, median;
    double mean = sum / (double)taken;
    *variance = squares / (double)taken - mean * mean;
    return median + mean;
}

/* The length of the bone that begins at a joint; 0 if it was hardly seen. */
static double measure_bone(const measuring *m, hand_joint joint) {
    size_t count = 0;
    for (size_t k = 0; k < m->count; k++) {
        double length = vec3_distance(joint_at(m, k, joint), joint_at(m, k, (hand_joint)(joint + 1)));
        if (length > 0) m->values[count++] = length; /* false for NaN */
    }
    if (count < MIN_FRAMES) return 0;
    double variance, mean = robust_mean(m->values, m->values + m->count, count, &variance);
    return mean - variance / mean;
}

static vec3 palm_centre(const vec3 palm[PALM_POINTS]) {
    vec3 sum = {0};
    for (int i = 0; i < PALM_THUMB; i++) sum = vec3_add(sum, palm[i]);
    return vec3_scale(sum, 1. / PALM_THUMB);
}

/* Moves the points so that wrist and knuckles match `to` as well as a rigid motion allows. */
static void align_palm(const vec3 to[PALM_POINTS], vec3 palm[PALM_POINTS]) {
    static const double weight[PALM_THUMB] = {1, 1, 1, 1, 1};
    vec3 from_centre = palm_centre(palm), to_centre = palm_centre(to), a[PALM_THUMB], b[PALM_THUMB];
    for (int i = 0; i < PALM_THUMB; i++) a[i] = vec3_sub(palm[i], from_centre), b[i] = vec3_sub(to[i], to_centre);
    quat turn = fit_rotation(a, b, weight, PALM_THUMB);
    for (int i = 0; i < PALM_POINTS; i++)
        palm[i] = vec3_add(to_centre, quat_rotate(turn, vec3_sub(palm[i], from_centre)));
}

/* One coordinate of a point of the palm over all frames, each aligned to `palm`. */
static double palm_coordinate(const measuring *m, const vec3 *aligned, int point, int axis) {
    size_t count = 0;
    for (size_t k = 0; k < m->good; k++) {
        double p[3];
        vec3_store(p, aligned[PALM_POINTS * k + (size_t)point]);
        if (!isnan(p[axis])) m->values[count++] = p[axis];
    }
    double variance;
    return count < MIN_FRAMES ? NAN : robust_mean(m->values, m->values + m->count, count, &variance);
}

/* palm: starts as that of some hand. */
static void measure_palm(const measuring *m, vec3 *aligned, vec3 palm[PALM_POINTS]) {
    for (int round = 0; round < PALM_ROUNDS; round++) {
        size_t row = 0;
        for (size_t k = 0; k < m->count; k++) {
            if (!palm_is_seen(m, k)) continue;
            vec3 *points = aligned + PALM_POINTS * row++;
            for (int i = 0; i < PALM_POINTS; i++) points[i] = joint_at(m, k, palm_joints[i]);
            align_palm(palm, points);
        }
        for (int i = 0; i < PALM_POINTS; i++)
            palm[i] = vec3_make(palm_coordinate(m, aligned, i, 0), palm_coordinate(m, aligned, i, 1),
                                palm_coordinate(m, aligned, i, 2));
    }
}

static void table_palm(const hand_size *size, vec3 palm[PALM_POINTS], double bone[HAND_BONES - 1]) {
    hand_frame joint[HAND_JOINTS];
    hand_rest(*size, joint);
    for (int i = 0; i < PALM_POINTS; i++) palm[i] = joint[palm_joints[i]].position;
    for (int b = 1; b < HAND_BONES; b++) bone[b - 1] = hand_bone_length(*size, hand_bone_joint(b));
}

/* Turns lengths and a palm into the size of a hand, or fails with a reason. */
static thenar_status check_measured(vec3 palm[PALM_POINTS], hand_size *size, thenar_error *error) {
    const hand_size unit = {.length = 1, .breadth = 0.453};
    vec3 table[PALM_POINTS];
    double bone[HAND_BONES - 1];
    table_palm(&unit, table, bone);
    double span = vec3_distance(palm[PALM_MIDDLE], palm[PALM_WRIST]);
    double known = span, share = vec3_distance(table[PALM_MIDDLE], table[PALM_WRIST]);
    for (int k = 6; k < 9; k++)
        if (size->bone[k] > 0) known += size->bone[k], share += bone[k];
    size->length = known / share;
    if (!(size->length >= HAND_LENGTH_MIN && size->length <= HAND_LENGTH_MAX))
        return error_set(error, THENAR_ERROR_INPUT, "the tracked hand is %g m long; expected %g to %g m", size->length,
                         HAND_LENGTH_MIN, HAND_LENGTH_MAX);
    for (int b = 1; b < HAND_BONES; b++) {
        double ratio = size->bone[b - 1] / (bone[b - 1] * size->length);
        if (size->bone[b - 1] > 0 && !(ratio >= MIN_RATIO && ratio <= MAX_RATIO))
            return error_set(error, THENAR_ERROR_INPUT,
                             "the tracked bone at %s is %.1f mm long in a hand of %.0f mm; expected %.1f to %.1f mm",
                             hand_joint_name(hand_bone_joint(b)), 1e3 * size->bone[b - 1], 1e3 * size->length,
                             1e3 * MIN_RATIO * bone[b - 1] * size->length,
                             1e3 * MAX_RATIO * bone[b - 1] * size->length);
    }
    double wide = vec3_distance(palm[PALM_INDEX], palm[PALM_LITTLE]);
    double breadth = unit.breadth * wide / vec3_distance(table[PALM_INDEX], table[PALM_LITTLE]);
    /* The thickness of fingers and palm follows the breadth. Some trackers place the knuckles wider apart than any
     * hand is broad. */
    size->breadth = fmax(HAND_SLENDER * size->length, fmin(HAND_BROAD * size->length, breadth));
    const hand_size plain = {.length = size->length, .breadth = size->breadth};
    table_palm(&plain, table, bone);
    align_palm(table, palm);
    for (int f = 0; f < HAND_FINGERS; f++) {
        int point = f == 0 ? PALM_THUMB : PALM_INDEX + f - 1;
        size->root[f] = vec3_sub(palm[point], palm[PALM_WRIST]);
        if (isnan(size->root[f].x))
            size->root[f] = (vec3){0};
        else if (vec3_distance(size->root[f], table[point]) > ROOT_DISTANCE * size->length)
            return error_set(error, THENAR_ERROR_INPUT,
                             "the tracked %s is %.0f mm from its place in a hand of %.0f mm; expected at most %.0f mm",
                             hand_joint_name(palm_joints[point]), 1e3 * vec3_distance(size->root[f], table[point]),
                             1e3 * size->length, 1e3 * ROOT_DISTANCE * size->length);
    }
    return THENAR_OK;
}

thenar_status hand_measure(const tracked_hand *frames, size_t stride, size_t count, bool left, hand_size *out,
                           thenar_error *error) {
    measuring m = {.frames = frames, .stride = stride, .left = left};
    *out = (hand_size){0};
    while (m.count < count && m.good < MEASURED_FRAMES) m.good += palm_is_seen(&m, m.count++);
    if (m.good < MIN_FRAMES)
        return error_set(error, THENAR_ERROR_INPUT,
                         "%zu frames show the wrist and the four knuckles; expected %d to measure the hand", m.good,
                         MIN_FRAMES);
    m.values = MEMORY_ARRAY(double, 2 * m.count);
    vec3 *aligned = MEMORY_ARRAY(vec3, PALM_POINTS * m.good);
    thenar_status status = m.values && aligned ? THENAR_OK : error_memory(error, "the size of a hand");
    if (status == THENAR_OK) {
        const hand_size table = {.length = 0.19, .breadth = 0.086};
        vec3 palm[PALM_POINTS];
        double unused[HAND_BONES - 1];
        table_palm(&table, palm, unused);
        measure_palm(&m, aligned, palm);
        for (int b = 1; b < HAND_BONES; b++) out->bone[b - 1] = measure_bone(&m, hand_bone_joint(b));
        status = check_measured(palm, out, error);
    }
    free(m.values);
    free(aligned);
    return status;
}
