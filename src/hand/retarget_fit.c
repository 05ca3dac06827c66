#include "hand/retarget.h"

#include <string.h>

#define SMALLEST_STEP 1e-9 /* rad */
#define MIN_GAIN 1e-6      /* relative decrease of the cost below which only noise is left */
#define FIRST_DAMPING 1e-6
#define MAX_DAMPING 1e3

/* A finger in a given pose, in the frame of the base. */
typedef struct finger_frames {
    vec3 axis[HAND_FINGER_ANGLES];
    mat3 bone[3];
    vec3 vector[3]; /* from the start of each bone to its end */
} finger_frames;

/* The last angle that moves a bone; bone 0 has two. */
static int last_angle(int bone) {
    return bone + 1;
}

static mat3 turn_about(vec3 n, double angle) {
    double c = cos(angle), s = sin(angle), d = 1 - c;
    return (mat3){{c + d * n.x * n.x, d * n.x * n.y - s * n.z, d * n.x * n.z + s * n.y, d * n.x * n.y + s * n.z,
                   c + d * n.y * n.y, d * n.y * n.z - s * n.x, d * n.x * n.z - s * n.y, d * n.y * n.z + s * n.x,
                   c + d * n.z * n.z}};
}

static void place_finger(const hand_skeleton *hand, int finger, const double *q, finger_frames *out) {
    mat3 R = mat3_identity();
    for (int bone = 0, angle = 0; bone < 3; bone++) {
        int b = 1 + 3 * finger + bone;
        const skeleton_bone *model = &hand->model->bones[b];
        R = mat3_mul(R, quat_to_mat3(model->rotation));
        for (int k = 0; k < model->axis_count; k++, angle++) {
            out->axis[angle] = mat3_mul_vec(R, model->axes[k].axis);
            R = mat3_mul(R, turn_about(model->axes[k].axis, q[angle]));
        }
        vec3 reach = bone < 2 ? hand->model->bones[b + 1].offset : hand->joints[hand_bone_joint(b) + 1].position;
        out->bone[bone] = R;
        out->vector[bone] = mat3_mul_vec(R, reach);
    }
}

void fit_finger_vectors(const hand_skeleton *hand, int finger, const double q[HAND_FINGER_ANGLES], vec3 vectors[3]) {
    finger_frames frames;
    place_finger(hand, finger, q, &frames);
    memcpy(vectors, frames.vector, sizeof frames.vector);
}

void fit_finger_reach(const hand_skeleton *hand, int finger, const double q[HAND_FINGER_ANGLES], finger_reach *out) {
    finger_frames frames;
    place_finger(hand, finger, q, &frames);
    vec3 beyond = {0, 0, 0}; /* from the joint of an angle to the tip */
    for (int bone = 2, a = HAND_FINGER_ANGLES - 1; bone >= 0; bone--) {
        beyond = vec3_add(beyond, frames.vector[bone]);
        for (int k = hand->model->bones[1 + 3 * finger + bone].axis_count; k > 0; k--, a--)
            out->column[a] = vec3_cross(frames.axis[a], beyond);
    }
    out->tip = vec3_add(hand->model->bones[1 + 3 * finger].offset, beyond);
    out->end = frames.bone[2];
}

/* The normal equations: gradient and Gauss-Newton Hessian with respect to the rotation of the base (in its own frame)
 * and the angles. */
typedef struct normal {
    double base[3][3], base_gradient[3];
    double cross[HAND_FINGERS][HAND_FINGER_ANGLES][3];
    double finger[HAND_FINGERS][HAND_FINGER_ANGLES][HAND_FINGER_ANGLES];
    double gradient[HAND_ANGLES];
} normal;

static double part(vec3 v, int i) {
    return i == 0 ? v.x : i == 1 ? v.y : v.z;
}

/* Adds a residual r of weight w, with its columns for the rotation of the base and for `count` angles of a finger.
 * Fills the lower halves only; `mirror` completes them. */
static void add_residual(normal *n, double w, vec3 r, const vec3 base[3], int finger, const vec3 *column, int count) {
    for (int i = 0; i < 3; i++) {
        n->base_gradient[i] += w * vec3_dot(base[i], r);
        for (int j = 0; j <= i; j++) n->base[i][j] += w * vec3_dot(base[i], base[j]);
    }
    for (int a = 0; a < count; a++) {
        n->gradient[HAND_FINGER_ANGLES * finger + a] += w * vec3_dot(column[a], r);
        for (int j = 0; j < 3; j++) n->cross[finger][a][j] += w * vec3_dot(column[a], base[j]);
        for (int c = 0; c <= a; c++) n->finger[finger][a][c] += w * vec3_dot(column[a], column[c]);
    }
}

static void mirror(normal *n) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++) n->base[j][i] = n->base[i][j];
    for (int f = 0; f < HAND_FINGERS; f++)
        for (int a = 0; a < HAND_FINGER_ANGLES; a++)
            for (int c = 0; c < a; c++) n->finger[f][c][a] = n->finger[f][a][c];
}

static vec3 vector_residual(const fit_vector *v, const finger_frames *fingers, quat back, vec3 *turned) {
    vec3 r = v->fixed;
    if (v->finger >= 0)
        for (int k = v->first; k <= v->last; k++) r = vec3_mul_add(r, fingers[v->finger].vector[k], v->share[k]);
    *turned = quat_rotate(back, v->seen);
    return vec3_sub(r, *turned);
}

/* The cost at a point and, if `n` is given, its normal equations. */
static double evaluate(const fit_problem *problem, double width, const fit_point *point, normal *n) {
    finger_frames fingers[HAND_FINGERS];
    for (int f = 0; f < HAND_FINGERS; f++)
        place_finger(problem->hand, f, point->q + HAND_FINGER_ANGLES * f, &fingers[f]);
    if (n) *n = (normal){0};
    quat back = quat_conjugate(point->turn);
    double cost = 0, square = width * width;
    for (int i = 0; i < problem->vector_count; i++) {
        const fit_vector *v = &problem->vectors[i];
        if (v->tip && problem->without_tips) continue;
        vec3 seen, r = vector_residual(v, fingers, back, &seen);
        double size = vec3_dot(r, r) / square;
        cost += v->weight * square * log1p(size);
        if (!n) continue;
        /* A rotation d of the base maps R^T s to R^T s - d x R^T s. */
        const vec3 base[3] = {{0, -seen.z, seen.y}, {seen.z, 0, -seen.x}, {-seen.y, seen.x, 0}};
        vec3 column[HAND_FINGER_ANGLES];
        int count = v->finger < 0 ? 0 : last_angle(v->last) + 1;
        vec3 moved = {0, 0, 0};
        /* From the last bone: an angle moves its own bone and those beyond it. */
        for (int a = count - 1, bone = v->last; a >= 0; a--) {
            for (; bone >= v->first && a == last_angle(bone); bone--)
                moved = vec3_mul_add(moved, fingers[v->finger].vector[bone], v->share[bone]);
            column[a] = vec3_cross(fingers[v->finger].axis[a], moved);
        }
        add_residual(n, v->weight / (1 + size), r, base, v->finger, column, count);
    }
    for (int i = 0; i < problem->turn_count; i++) {
        const fit_turn *t = &problem->turns[i];
        mat3 R = quat_to_mat3(quat_mul(back, t->seen));
        if (t->finger >= 0) R = mat3_mul(R, mat3_transpose(fingers[t->finger].bone[t->bone]));
        /* The rotation vector. For large rotations a vector of about its length: only its direction matters there. */
        vec3 r = {0.5 * (R.m[7] - R.m[5]), 0.5 * (R.m[2] - R.m[6]), 0.5 * (R.m[3] - R.m[1])};
        double sine = vec3_length(r), angle = atan2(sine, 0.5 * (mat3_trace(R) - 1));
        if (sine > 1e-9) r = vec3_scale(r, -angle / sine);
        double size = vec3_dot(r, r) / square;
        cost += t->weight * square * log1p(size);
        if (!n) continue;
        const vec3 base[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        int count = t->finger < 0 ? 0 : last_angle(t->bone) + 1;
        add_residual(n, t->weight / (1 + size), r, base, t->finger, t->finger < 0 ? NULL : fingers[t->finger].axis,
                     count);
    }
    if (n) mirror(n);
    return cost;
}

/* A x = b for `columns` right-hand sides, A symmetric positive definite. */
static void solve4(double A[HAND_FINGER_ANGLES][HAND_FINGER_ANGLES], double b[HAND_FINGER_ANGLES][4]) {
    for (int k = 0; k < HAND_FINGER_ANGLES; k++)
        for (int i = k + 1; i < HAND_FINGER_ANGLES; i++) {
            double f = A[i][k] / A[k][k];
            for (int j = k; j < HAND_FINGER_ANGLES; j++) A[i][j] -= f * A[k][j];
            for (int j = 0; j < 4; j++) b[i][j] -= f * b[k][j];
        }
    for (int i = HAND_FINGER_ANGLES - 1; i >= 0; i--)
        for (int j = 0; j < 4; j++) {
            for (int k = i + 1; k < HAND_FINGER_ANGLES; k++) b[i][j] -= A[i][k] * b[k][j];
            b[i][j] /= A[i][i];
        }
}

/* The damped step (H + damping) step = -g: eliminates the fingers, solves for the rotation of the base, substitutes
 * back. Angles that are `fixed` keep their given step. */
static void find_step(const normal *n, double damping, const bool fixed[HAND_ANGLES], vec3 *turn,
                      double step[HAND_ANGLES]) {
    double solved[HAND_FINGERS][HAND_FINGER_ANGLES]
                 [4]; /* three columns for the rotation of the base, one for the gradient */
    mat3 S;
    double g[3] = {n->base_gradient[0], n->base_gradient[1], n->base_gradient[2]};
    for (int i = 0; i < 9; i++) S.m[i] = n->base[i / 3][i % 3] + (i % 4 == 0 ? damping : 0);
    for (int f = 0; f < HAND_FINGERS; f++) {
        const bool *fix = fixed + HAND_FINGER_ANGLES * f;
        const double *known = step + HAND_FINGER_ANGLES * f;
        double A[HAND_FINGER_ANGLES][HAND_FINGER_ANGLES], B[HAND_FINGER_ANGLES][3];
        for (int a = 0; a < HAND_FINGER_ANGLES; a++) {
            double right = fix[a] ? -known[a] : n->gradient[HAND_FINGER_ANGLES * f + a];
            for (int c = 0; c < HAND_FINGER_ANGLES; c++) {
                bool alone = fix[a] || fix[c];
                if (!fix[a] && fix[c]) right += n->finger[f][a][c] * known[c];
                A[a][c] = alone ? a == c : n->finger[f][a][c] + (a == c ? damping : 0);
            }
            for (int j = 0; j < 3; j++) {
                if (fix[a]) g[j] += n->cross[f][a][j] * known[a];
                solved[f][a][j] = B[a][j] = fix[a] ? 0 : n->cross[f][a][j];
            }
            solved[f][a][3] = right;
        }
        solve4(A, solved[f]);
        for (int a = 0; a < HAND_FINGER_ANGLES; a++)
            for (int i = 0; i < 3; i++) {
                for (int j = 0; j < 3; j++) S.m[3 * i + j] -= B[a][i] * solved[f][a][j];
                g[i] -= B[a][i] * solved[f][a][3];
            }
    }
    *turn = vec3_scale(mat3_mul_vec(mat3_inverse(S), vec3_load(g)), -1);
    for (int f = 0; f < HAND_FINGERS; f++)
        for (int a = 0; a < HAND_FINGER_ANGLES; a++) {
            double by_turn = 0;
            for (int j = 0; j < 3; j++) by_turn += solved[f][a][j] * part(*turn, j);
            step[HAND_FINGER_ANGLES * f + a] = -solved[f][a][3] - by_turn;
        }
}

/* The damped step within the limits: angles that would exceed their limit are fixed there and the rest is solved
 * again. Clipping alone leaves the others where they fit the unclipped angles: with 2 mm of noise, 14 iterations
 * instead of 6. */
static void find_bounded_step(const fit_problem *problem, const normal *n, const fit_point *point, double damping,
                              vec3 *turn, double step[HAND_ANGLES]) {
    const double *lower = problem->hand->lower, *upper = problem->hand->upper;
    bool fixed[HAND_ANGLES];
    for (int i = 0; i < HAND_ANGLES; i++) {
        double q = point->q[i], slope = n->gradient[i];
        fixed[i] = (q <= lower[i] && slope > 0) || (q >= upper[i] && slope < 0);
        step[i] = 0;
    }
    for (bool again = true; again;) {
        find_step(n, damping, fixed, turn, step);
        again = false;
        for (int i = 0; i < HAND_ANGLES; i++) {
            double end = point->q[i] + step[i], within = fmax(lower[i], fmin(upper[i], end));
            if (fixed[i] || fabs(end - within) < SMALLEST_STEP) continue;
            fixed[i] = again = true; /* at most once per angle */
            step[i] = within - point->q[i];
        }
    }
}

/* The point after a step, within the limits. Returns the largest change. */
static double advance(const fit_problem *problem, const fit_point *from, vec3 turn, const double *step, fit_point *to) {
    double change = vec3_length(turn);
    to->turn = quat_unit(quat_mul(from->turn, quat_from_rotation_vector(turn)));
    for (int i = 0; i < HAND_ANGLES; i++) {
        to->q[i] = fmax(problem->hand->lower[i], fmin(problem->hand->upper[i], from->q[i] + step[i]));
        change = fmax(change, fabs(to->q[i] - from->q[i]));
    }
    return change;
}

int fit_solve(const fit_problem *problem, double width, int max, fit_point *point) {
    normal n;
    double damping = FIRST_DAMPING, cost = evaluate(problem, width, point, &n);
    int iteration = 0;
    while (iteration < max && damping < MAX_DAMPING) {
        vec3 turn;
        double step[HAND_ANGLES];
        fit_point next;
        find_bounded_step(problem, &n, point, damping, &turn, step);
        double change = advance(problem, point, turn, step, &next);
        if (!(change > SMALLEST_STEP)) break;
        iteration++;
        normal next_normal;
        double next_cost = evaluate(problem, width, &next, &next_normal);
        if (!(next_cost < cost)) {
            damping = damping * 10 + 1e-4;
            continue;
        }
        bool enough = cost - next_cost < MIN_GAIN * cost;
        *point = next;
        n = next_normal;
        cost = next_cost;
        damping *= 0.1;
        if (enough) break;
    }
    return iteration;
}

double fit_residual(const fit_problem *problem, const fit_point *point) {
    finger_frames fingers[HAND_FINGERS];
    for (int f = 0; f < HAND_FINGERS; f++)
        place_finger(problem->hand, f, point->q + HAND_FINGER_ANGLES * f, &fingers[f]);
    double sum[2] = {0}, weight[2] = {0};
    for (int i = 0; i < problem->vector_count; i++) {
        const fit_vector *v = &problem->vectors[i];
        if (v->tip) continue;
        vec3 seen, r = vector_residual(v, fingers, quat_conjugate(point->turn), &seen);
        sum[v->finger >= 0] += v->weight * vec3_dot(r, r);
        weight[v->finger >= 0] += v->weight;
    }
    int kind = weight[1] > 0;
    return weight[kind] > 0 ? sqrt(sum[kind] / weight[kind]) : 0;
}

/* The eigenvector of the largest eigenvalue of a symmetric 4x4 matrix, by Jacobi rotations. */
static quat largest_eigenvector(double A[4][4]) {
    double V[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    for (int sweep = 0; sweep < 12; sweep++)
        for (int p = 0; p < 3; p++)
            for (int q = p + 1; q < 4; q++) {
                if (A[p][q] == 0) continue;
                double theta = 0.5 * atan2(2 * A[p][q], A[q][q] - A[p][p]), c = cos(theta), s = sin(theta);
                for (int k = 0; k < 4; k++) {
                    double a = A[k][p], b = A[k][q];
                    A[k][p] = c * a - s * b, A[k][q] = s * a + c * b;
                    a = V[k][p], b = V[k][q];
                    V[k][p] = c * a - s * b, V[k][q] = s * a + c * b;
                }
                for (int k = 0; k < 4; k++) {
                    double a = A[p][k], b = A[q][k];
                    A[p][k] = c * a - s * b, A[q][k] = s * a + c * b;
                }
            }
    int best = 0;
    for (int i = 1; i < 4; i++)
        if (A[i][i] > A[best][best]) best = i;
    return quat_unit((quat){V[1][best], V[2][best], V[3][best], V[0][best]});
}

quat fit_rotation(const vec3 *from, const vec3 *to, const double *weight, int count) {
    double s[3][3] = {{0}};
    for (int n = 0; n < count; n++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) s[i][j] += weight[n] * part(from[n], i) * part(to[n], j);
    double A[4][4] = {
        {s[0][0] + s[1][1] + s[2][2], s[1][2] - s[2][1], s[2][0] - s[0][2], s[0][1] - s[1][0]},
        {s[1][2] - s[2][1], s[0][0] - s[1][1] - s[2][2], s[0][1] + s[1][0], s[2][0] + s[0][2]},
        {s[2][0] - s[0][2], s[0][1] + s[1][0], s[1][1] - s[0][0] - s[2][2], s[1][2] + s[2][1]},
        {s[0][1] - s[1][0], s[2][0] + s[0][2], s[1][2] + s[2][1], s[2][2] - s[0][0] - s[1][1]},
    };
    return largest_eigenvector(A);
}
