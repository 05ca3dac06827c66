#include "solver/pinned.h"

#include "math/simd.h"

#include <math.h>
#include <string.h>

static int size_of(const solver_problem *problem) {
    return 3 * problem->pattern->node_count;
}

void pinned_layout(pinned *state, size_t components, int contacts, arena *work) {
    int most = contacts < PINNED_ROWS / 3 ? (3 * contacts + 7) / 8 * 8 : PINNED_ROWS;
    size_t rows = (size_t)most, own = most > 0 ? components : 0;
    *state = (pinned){.most = most,
                      .rows = ARENA_ARRAY(work, pinned_row, rows),
                      .half = ARENA_ARRAY(work, double, rows *own),
                      .eight = ARENA_ARRAY(work, double, 8 * own),
                      .C = ARENA_ARRAY(work, double, rows *rows),
                      .multiple = ARENA_ARRAY(work, double, rows),
                      .column = ARENA_ARRAY(work, double, own)};
}

void pinned_begin(pinned *state) {
    state->count = 0;
}

bool pinned_add(pinned *state, const solver_problem *problem, int index, vec3 direction, double weight) {
    double h = problem->step->h;
    if (state->count == state->most) return false;
    state->rows[state->count++] = (pinned_row){index, direction, 1 / (h * h * weight)};
    return true;
}

/* Adds J_i^T times a number to `sum`. */
static void add_row(const pinned_row *row, const solver_problem *problem, double scale, double *sum) {
    const contact *c = &problem->contacts[row->contact];
    contact_add_force(c, vec3_scale(mat3_mul_vec_transposed(c->frame, row->direction), scale), sum);
}

/* Eight rows of L^-1 P J^T; those beyond the last are zero. */
static void solve_half(pinned *state, const solver_problem *problem, int first) {
    int n = size_of(problem);
    memset(state->eight, 0, 8 * (size_t)n * sizeof *state->eight);
    for (int s = 0; s < 8 && first + s < state->count; s++) {
        memset(state->column, 0, (size_t)n * sizeof *state->column);
        add_row(&state->rows[first + s], problem, 1, state->column);
        for (int i = 0; i < n; i++) state->eight[8 * i + s] = state->column[i];
    }
    cholesky_forward_eight(problem->factor, state->eight, state->half + (size_t)first * (size_t)n);
}

/* The 8x8 block of C at rows a and b. */
static void multiply_halves(pinned *state, int n, int a, int b) {
    const double *x = state->half + (size_t)a * (size_t)n, *y = state->half + (size_t)b * (size_t)n;
    f64x8 sum[8];
    for (int s = 0; s < 8; s++) sum[s] = f64x8_set(0);
    for (int i = 0; i < n; i++) {
        f64x8 row = f64x8_load(y + 8 * i);
        for (int s = 0; s < 8; s++) sum[s] = f64x8_fma(f64x8_set(x[8 * i + s]), row, sum[s]);
    }
    for (int s = 0; s < 8; s++) f64x8_store(state->C + (size_t)(a + s) * (size_t)state->most + (size_t)b, sum[s]);
}

bool pinned_factor(pinned *state, const solver_problem *problem) {
    int n = size_of(problem), most = state->most;
    for (int a = 0; a < state->count; a += 8) {
        solve_half(state, problem, a);
        for (int b = 0; b <= a; b += 8) multiply_halves(state, n, a, b);
    }
    for (int i = 0; i < state->count; i++) {
        double *row = state->C + (size_t)i * (size_t)most;
        row[i] += state->rows[i].give;
        for (int j = 0; j <= i; j++) {
            const double *other = state->C + (size_t)j * (size_t)most;
            double sum = row[j];
            for (int k = 0; k < j; k++) sum -= row[k] * other[k];
            if (i == j && !(sum > 0)) return false;
            row[j] = i == j ? sqrt(sum) : sum / other[j];
        }
    }
    return true;
}

void pinned_react(pinned *state, const solver_problem *problem, const double *x, double *out) {
    int count = state->count, most = state->most;
    double *m = state->multiple;
    for (int i = 0; i < count; i++) {
        const pinned_row *row = &state->rows[i];
        m[i] = vec3_dot(row->direction, contact_motion(&problem->contacts[row->contact], x));
    }
    for (int i = 0; i < count; i++) {
        const double *row = state->C + (size_t)i * (size_t)most;
        for (int k = 0; k < i; k++) m[i] -= row[k] * m[k];
        m[i] /= row[i];
    }
    for (int i = count - 1; i >= 0; i--) {
        for (int k = i + 1; k < count; k++) m[i] -= state->C[(size_t)k * (size_t)most + (size_t)i] * m[k];
        m[i] /= state->C[(size_t)i * (size_t)most + (size_t)i];
    }
    memset(out, 0, (size_t)size_of(problem) * sizeof *out);
    for (int i = 0; i < count; i++) add_row(&state->rows[i], problem, m[i], out);
}
