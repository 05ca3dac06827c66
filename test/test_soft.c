/* The soft body against references that share no code with it. */
#include "soft_tools.h"

#include "body/soft.h"
#include "sparse/cholesky.h"
#include "world/sim.h"
#include "poses.h"

#include <cholmod.h>

/* A unit-less test body: E 1e5, nu 0.3, no damping. */
static thenar_soft_def plain_def(const thenar_tet_mesh *mesh) {
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "body";
    def.mesh = mesh;
    def.material = (thenar_material){.young = 1e5, .poisson = 0.3, .density = 1000};
    return def;
}

/* Interior nodes are moved about, so that no symmetry of the lattice hides an error. */
static void perturb(thenar_tet_mesh *mesh, random_source *random, double size) {
    for (int i = 0; i < mesh->node_count; i++) {
        double *p = mesh->positions + 3 * i;
        bool interior =
            p[0] > 1e-9 && p[0] < 1 - 1e-9 && p[1] > 1e-9 && p[1] < 1 - 1e-9 && p[2] > 1e-9 && p[2] < 1 - 1e-9;
        if (interior) vec3_store(p, vec3_add(vec3_load(p), tools_random_vector(random, size)));
    }
}

/* Elastic forces at the current positions: the elements' parts of b without supports, over h. */
static void elastic_forces(thenar_sim *sim, double *force) {
    soft_state *state = sim_soft(sim, 0);
    const soft_model *body = soft_of(state);
    double h = 1e-3;
    memset(force, 0, 3 * (size_t)body->mesh.node_count * sizeof *force);
    memset(state->target_velocity, 0, 3 * (size_t)body->mesh.node_count * sizeof *force);
    for (int k = 0; k < body->batch_count; k++) {
        const soft_batch *batch = &body->batches[k];
        double records[SIMD_LANES * SOFT_RECORD];
        soft_element_formulate(batch, state->x, state->target_velocity, h, state->warm + 9 * k, state->rotation + 9 * k,
                               records);
        for (int l = 0; l < batch->tet_count; l++)
            for (int a = 0; a < 4; a++)
                for (int c = 0; c < 3; c++)
                    force[3 * batch->node[a][l] + c] += records[l * SOFT_RECORD + SOFT_RECORD_FORCE + 3 * a + c] / h;
    }
}

static double largest(const double *values, int count) {
    double max = 0;
    for (int i = 0; i < count; i++) max = fmax(max, fabs(values[i]));
    return max;
}

static void rigid_motion_causes_no_force(void **unused) {
    (void)unused;
    random_source random = {1};
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 3, 3, 3);
    perturb(&mesh, &random, 0.05);
    thenar_soft_def def = plain_def(&mesh);
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    double *x = malloc(3 * (size_t)mesh.node_count * sizeof *x),
           *force = malloc(3 * (size_t)mesh.node_count * sizeof *force);
    for (int trial = 0; trial < 20; trial++) {
        quat turn = quat_from_rotation_vector(tools_random_vector(&random, 3));
        vec3 move = tools_random_vector(&random, 1);
        for (int i = 0; i < mesh.node_count; i++)
            vec3_store(x + 3 * i, vec3_add(quat_rotate(turn, vec3_load(mesh.positions + 3 * i)), move));
        thenar_sim_set_state(sim, 0, x, NULL);
        elastic_forces(sim, force);
        /* E times the area of a cell is 1e4 N: rounding of positions of size 1 leaves 1e-16 of that, times 100. */
        assert_near(largest(force, 3 * mesh.node_count), 0, 1e-9);
    }
    free(x);
    free(force);
    tools_free(sim, model, &mesh);
}

static void forces_are_minus_the_gradient_of_the_energy(void **unused) {
    (void)unused;
    random_source random = {2};
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 2, 2, 2);
    thenar_soft_def def = plain_def(&mesh);
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    int count = 3 * mesh.node_count;
    double *x = malloc((size_t)count * sizeof *x), *force = malloc((size_t)count * sizeof *force);
    for (int i = 0; i < count; i++) x[i] = mesh.positions[i] + random_uniform(&random, -0.1, 0.1);
    thenar_sim_set_state(sim, 0, x, NULL);
    elastic_forces(sim, force);
    for (int i = 0; i < count; i += 7) {
        const double step = 1e-5;
        double up, down, kept = x[i];
        x[i] = kept + step;
        thenar_sim_set_state(sim, 0, x, NULL);
        thenar_sim_energy(sim, 0, NULL, &up, NULL);
        x[i] = kept - step;
        thenar_sim_set_state(sim, 0, x, NULL);
        thenar_sim_energy(sim, 0, NULL, &down, NULL);
        x[i] = kept;
        /* Central difference: error E step^2 = 1e-5 N, rounding 1e-16 of 1e3 J over 1e-5 m = 1e-8 N. */
        assert_near(force[i], -(up - down) / (2 * step), 1e-4);
    }
    free(x);
    free(force);
    tools_free(sim, model, &mesh);
}

/* Affine displacement of the whole boundary: the interior must follow it exactly, whatever the mesh inside. */
static void the_patch_test_holds_on_an_irregular_mesh(void **unused) {
    (void)unused;
    random_source random = {3};
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 4, 4, 4);
    perturb(&mesh, &random, 0.06);
    /* Six slabs hold the boundary; each is driven by the same affine map through set_state and no motion of its own. */
    thenar_support supports[6] = {0};
    for (int s = 0; s < 6; s++) {
        vec3 low = {0, 0, 0}, high = {1, 1, 1};
        double *l = &low.x, *h = &high.x;
        if (s % 2)
            l[s / 2] = 1;
        else
            h[s / 2] = 0;
        supports[s].region = tools_box_region(low, high);
    }
    thenar_soft_def def = plain_def(&mesh);
    def.material.damping_mass = 50;
    def.supports = supports;
    def.support_count = 6;
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.05, 1);
    soft_state *state = sim_soft(sim, 0);
    const soft_model *body = soft_of(state);
    mat3 map = {{1.05, 0.02, 0.01, -0.03, 0.97, 0.04, 0.02, -0.01, 1.02}};
    /* The held nodes' rest places are what their support moves: put the affine image there. */
    for (int i = 0; i < mesh.node_count; i++)
        if (body->system_node[i] < 0)
            vec3_store(body->mesh.positions + 3 * i, mat3_mul_vec(map, vec3_load(mesh.positions + 3 * i)));
    tools_run(sim, 400);
    int free_nodes = 0;
    for (int i = 0; i < mesh.node_count; i++) {
        vec3 expected = mat3_mul_vec(map, vec3_load(mesh.positions + 3 * i));
        /* Newton's iteration for a static state, one step a time step, has converged to rounding. */
        assert_near(vec3_distance(vec3_load(state->x + 3 * i), expected), 0, 1e-10);
        free_nodes += body->system_node[i] >= 0;
    }
    assert_int_equal(free_nodes, 27);
    tools_free(sim, model, &mesh);
}

static void momenta(const thenar_sim *sim, vec3 *linear, vec3 *angular) {
    const thenar_model *model = thenar_sim_model(sim);
    const double *x = thenar_sim_positions(sim, 0), *v = thenar_sim_velocities(sim, 0),
                 *m = thenar_model_masses(model, 0);
    *linear = *angular = vec3_make(0, 0, 0);
    for (int i = 0; i < thenar_model_mesh(model, 0)->node_count; i++) {
        vec3 p = vec3_scale(vec3_load(v + 3 * i), m[i]);
        *linear = vec3_add(*linear, p);
        *angular = vec3_add(*angular, vec3_cross(vec3_load(x + 3 * i), p));
    }
}

/* Implicit Euler with linearized forces keeps linear momentum exactly, angular momentum to first order in h. */
static void a_free_body_keeps_its_momentum(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(0.4, 0.2, 0.1, 4, 2, 1);
    thenar_soft_def def = plain_def(&mesh);
    def.material.young = 1e6;
    const double velocity[3] = {0.3, -0.2, 0.1}, spin[3] = {0.5, 2, -1};
    memcpy(def.velocity, velocity, sizeof velocity);
    memcpy(def.spin, spin, sizeof spin);
    thenar_model *model = tools_model(&def, 0);
    double drift[3];
    for (int k = 0; k < 3; k++) {
        double h = 2e-3 / (1 << k);
        thenar_sim *sim = tools_sim(model, h, 1);
        vec3 linear0, angular0, linear1, angular1;
        momenta(sim, &linear0, &angular0);
        tools_run(sim, (int)lround(0.2 / h));
        momenta(sim, &linear1, &angular1);
        assert_near(vec3_distance(linear0, linear1) / vec3_length(linear0), 0, 1e-12);
        drift[k] = vec3_distance(angular0, angular1) / vec3_length(angular0);
        print_message("h %g s: angular momentum drifts by %.2e in 0.2 s\n", h, drift[k]);
        thenar_sim_free(sim);
    }
    assert_true(drift[0] < 1e-6);
    /* Halving h at least halves the drift. */
    assert_true(drift[0] / drift[1] > 1.9 && drift[1] / drift[2] > 1.9);
    thenar_model_free(model);
    thenar_tet_mesh_free(&mesh);
}

static void a_falling_body_falls_as_implicit_euler_says(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(0.2, 0.2, 0.2, 2, 2, 2);
    thenar_soft_def def = plain_def(&mesh);
    def.material.damping_stiffness = 0.01;
    thenar_model *model = tools_model(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    tools_run(sim, 100);
    const double *x = thenar_sim_positions(sim, 0), *v = thenar_sim_velocities(sim, 0);
    for (int i = 0; i < mesh.node_count; i++) {
        assert_near(v[3 * i + 1], -9.81, 1e-11);
        /* sum_k k h g h = g h^2 n (n + 1) / 2 */
        assert_near(x[3 * i + 1] - mesh.positions[3 * i + 1], -9.81 * 1e-4 * 100 * 101 / 2, 1e-11);
    }
    tools_free(sim, model, &mesh);
}

/* K of linear elasticity by the textbook's B^T D B, 12x12 per tet, Voigt notation: nothing shared with the kernel. */
static void textbook_stiffness(const thenar_tet_mesh *mesh, int t, double young, double nu, double K[12][12]) {
    const int *node = mesh->tets + 4 * t;
    double M[4][4], inverse[4][8];
    for (int a = 0; a < 4; a++) {
        M[a][0] = 1;
        for (int c = 0; c < 3; c++) M[a][1 + c] = mesh->positions[3 * node[a] + c];
    }
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 8; c++) inverse[r][c] = c < 4 ? M[r][c] : r == c - 4;
    for (int p = 0; p < 4; p++) { /* Gauss-Jordan */
        int best = p;
        for (int r = p; r < 4; r++)
            if (fabs(inverse[r][p]) > fabs(inverse[best][p])) best = r;
        for (int c = 0; c < 8; c++) {
            double held = inverse[p][c];
            inverse[p][c] = inverse[best][c];
            inverse[best][c] = held;
        }
        for (int c = 7; c >= p; c--) inverse[p][c] /= inverse[p][p];
        for (int r = 0; r < 4; r++)
            for (int c = 7; r != p && c >= p; c--) inverse[r][c] -= inverse[r][p] * inverse[p][c];
    }
    double B[6][12] = {{0}}, D[6][6] = {{0}};
    for (int a = 0; a < 4; a++) {
        double x = inverse[1][4 + a], y = inverse[2][4 + a], z = inverse[3][4 + a];
        B[0][3 * a] = x, B[1][3 * a + 1] = y, B[2][3 * a + 2] = z;
        B[3][3 * a] = y, B[3][3 * a + 1] = x;
        B[4][3 * a + 1] = z, B[4][3 * a + 2] = y;
        B[5][3 * a] = z, B[5][3 * a + 2] = x;
    }
    double scale = young / ((1 + nu) * (1 - 2 * nu));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) D[i][j] = scale * (i == j ? 1 - nu : nu);
    for (int i = 3; i < 6; i++) D[i][i] = scale * (1 - 2 * nu) / 2;
    vec3 p0 = vec3_load(mesh->positions + 3 * node[0]);
    vec3 e[3];
    for (int k = 0; k < 3; k++) e[k] = vec3_sub(vec3_load(mesh->positions + 3 * node[k + 1]), p0);
    double volume = vec3_dot(e[0], vec3_cross(e[1], e[2])) / 6;
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 12; j++) {
            K[i][j] = 0;
            for (int p = 0; p < 6; p++)
                for (int q = 0; q < 6; q++) K[i][j] += volume * B[p][i] * D[p][q] * B[q][j];
        }
}

/* u = K^-1 f over the nodes with unknown[i] >= 0, by CHOLMOD. */
static void solve_by_cholmod(const thenar_tet_mesh *mesh, double young, double nu, const int *unknown, int count,
                             const double *force, double *u) {
    cholmod_common common;
    cholmod_start(&common);
    size_t size = 3 * (size_t)count;
    cholmod_triplet *triplet =
        cholmod_allocate_triplet(size, size, 144 * (size_t)mesh->tet_count, -1, CHOLMOD_REAL, &common);
    int *rows = triplet->i, *columns = triplet->j;
    double *values = triplet->x;
    for (int t = 0; t < mesh->tet_count; t++) {
        double K[12][12];
        textbook_stiffness(mesh, t, young, nu, K);
        for (int i = 0; i < 12; i++)
            for (int j = 0; j < 12; j++) {
                int a = unknown[mesh->tets[4 * t + i / 3]], b = unknown[mesh->tets[4 * t + j / 3]];
                if (a < 0 || b < 0 || 3 * a + i % 3 < 3 * b + j % 3) continue;
                rows[triplet->nnz] = 3 * a + i % 3;
                columns[triplet->nnz] = 3 * b + j % 3;
                values[triplet->nnz++] = K[i][j];
            }
    }
    cholmod_sparse *K = cholmod_triplet_to_sparse(triplet, 0, &common);
    cholmod_factor *L = cholmod_analyze(K, &common);
    cholmod_factorize(K, L, &common);
    cholmod_dense *f = cholmod_allocate_dense(size, 1, size, CHOLMOD_REAL, &common);
    memcpy(f->x, force, size * sizeof *force);
    cholmod_dense *solution = cholmod_solve(CHOLMOD_A, L, f, &common);
    memcpy(u, solution->x, size * sizeof *u);
    cholmod_free_dense(&solution, &common);
    cholmod_free_dense(&f, &common);
    cholmod_free_factor(&L, &common);
    cholmod_free_sparse(&K, &common);
    cholmod_free_triplet(&triplet, &common);
    cholmod_finish(&common);
}

/* One step of 1 s of a body with next to no mass is the static solution: u = (K + M / h^2)^-1 f, M / h^2 1e-17 of K. */
#define FEATHER_DENSITY 1e-9

static void a_static_load_gives_the_direct_solution_of_the_textbooks_stiffness(void **unused) {
    (void)unused;
    random_source random = {4};
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 5, 5, 5);
    perturb(&mesh, &random, 0.05);
    thenar_support support = {.region = tools_box_region(vec3_make(0, 0, 0), vec3_make(0, 1, 1))};
    thenar_load load = {.region = tools_box_region(vec3_make(1, 0, 0), vec3_make(1, 1, 1)), .force = {0.3, -1, 0.2}};
    thenar_soft_def def = plain_def(&mesh);
    def.material.density = FEATHER_DENSITY;
    def.supports = &support;
    def.support_count = 1;
    def.loads = &load;
    def.load_count = 1;
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 1, 1);
    tools_run(sim, 1);
    const soft_model *body = model_soft(model, 0);
    double *force = calloc(3 * (size_t)body->base.system_node_count, sizeof *force),
           *u = calloc(3 * (size_t)body->base.system_node_count, sizeof *u);
    for (int i = 0; i < mesh.node_count; i++)
        for (int c = 0; body->system_node[i] >= 0 && c < 3; c++)
            force[3 * body->system_node[i] + c] = body->load[3 * i + c];
    solve_by_cholmod(&mesh, 1e5, 0.3, body->system_node, body->base.system_node_count, force, u);
    double size = largest(u, 3 * body->base.system_node_count), worst = 0;
    for (int i = 0; i < mesh.node_count; i++)
        for (int c = 0; body->system_node[i] >= 0 && c < 3; c++) {
            double got = thenar_sim_velocities(sim, 0)[3 * i + c]; /* u = h v, h = 1 */
            worst = fmax(worst, fabs(got - u[3 * body->system_node[i] + c]));
        }
    print_message("static solution: largest difference %.2e of the largest displacement\n", worst / size);
    assert_near(worst / size, 0, 1e-9);
    free(force);
    free(u);
    tools_free(sim, model, &mesh);
}

/* Tip deflection of a cantilever of length 1 and height 0.1 under an end load, with n cells over its height. */
static double tip_deflection(int n, double load) {
    thenar_tet_mesh mesh = tools_box(1, 0.1, 0.1, 10 * n, n, n);
    thenar_support support = {.region = tools_box_region(vec3_make(0, 0, 0), vec3_make(0, 0.1, 0.1))};
    thenar_load end = {.region = tools_box_region(vec3_make(1, 0, 0), vec3_make(1, 0.1, 0.1)), .force = {0, -load, 0}};
    thenar_soft_def def = plain_def(&mesh);
    def.material = (thenar_material){.young = 1e6, .poisson = 0, .density = FEATHER_DENSITY};
    def.supports = &support;
    def.support_count = 1;
    def.loads = &end;
    def.load_count = 1;
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 1, 2);
    tools_run(sim, 1);
    double sum = 0;
    int count = 0;
    for (int i = 0; i < mesh.node_count; i++)
        if (mesh.positions[3 * i] > 1 - 1e-9) {
            sum += thenar_sim_velocities(sim, 0)[3 * i + 1];
            count++;
        }
    tools_free(sim, model, &mesh);
    return -sum / count;
}

static void a_beams_deflection_tends_to_timoshenkos_under_refinement(void **unused) {
    (void)unused;
    const double E = 1e6, L = 1, a = 0.1, F = 1e-3, nu = 0;
    double I = a * a * a * a / 12, G = E / (2 * (1 + nu)), shear_factor = 5.0 / 6;
    double bernoulli = F * L * L * L / (3 * E * I), timoshenko = bernoulli + F * L / (shear_factor * G * a * a);
    double deflection[3];
    for (int k = 0; k < 3; k++) {
        deflection[k] = tip_deflection(2 << k, F);
        print_message("%2d cells over the height: %.4f of Timoshenko's deflection\n", 2 << k,
                      deflection[k] / timoshenko);
    }
    /* Linear tets are too stiff, less so with every refinement; the error of their energy falls as the square of the
     * cell size, so extrapolating in it from the two finest removes the leading term. */
    assert_true(deflection[0] < deflection[1] && deflection[1] < deflection[2] && deflection[2] < timoshenko);
    double limit = deflection[2] + (deflection[2] - deflection[1]) / 3;
    print_message("extrapolated: %.4f of Timoshenko's, %.4f of Euler-Bernoulli's\n", limit / timoshenko,
                  limit / bernoulli);
    assert_near(limit / timoshenko, 1, 0.02);
}

static void two_materials_in_series_stretch_in_inverse_proportion_to_their_stiffness(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(2, 0.5, 0.5, 4, 1, 1);
    thenar_material stiff = {.young = 4e5, .poisson = 0, .density = FEATHER_DENSITY};
    thenar_soft_region region = {.region = tools_box_region(vec3_make(1, 0, 0), vec3_make(2, 0.5, 0.5)),
                                 .material = stiff};
    thenar_support support = {.region = tools_box_region(vec3_make(0, 0, 0), vec3_make(0, 0.5, 0.5))};
    thenar_load load = {.region = tools_box_region(vec3_make(2, 0, 0), vec3_make(2, 0.5, 0.5)), .force = {1, 0, 0}};
    thenar_soft_def def = plain_def(&mesh);
    def.material = (thenar_material){.young = 1e5, .poisson = 0, .density = FEATHER_DENSITY};
    def.regions = &region;
    def.region_count = 1;
    def.supports = &support;
    def.support_count = 1;
    def.loads = &load;
    def.load_count = 1;
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 1, 1);
    tools_run(sim, 1);
    double middle = 0, end = 0;
    int middles = 0, ends = 0;
    for (int i = 0; i < mesh.node_count; i++) {
        double x = mesh.positions[3 * i], u = thenar_sim_velocities(sim, 0)[3 * i];
        if (fabs(x - 1) < 1e-9) middle += u, middles++;
        if (fabs(x - 2) < 1e-9) end += u, ends++;
    }
    middle /= middles, end /= ends;
    /* F L / (E A). An even load on the corner nodes of five-tet cells is not quite even in stress: 5 %. */
    assert_near(middle, 1 * 1 / (1e5 * 0.25), 0.05 * middle);
    assert_near((end - middle) / middle, 0.25, 0.05 * 0.25);
    tools_free(sim, model, &mesh);
}

static void a_support_carries_the_weight_and_the_moment_of_a_beam_at_rest(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 0.2, 0.2, 10, 2, 2);
    thenar_support support = {.name = "clamp", .region = tools_box_region(vec3_make(0, 0, 0), vec3_make(0, 0.2, 0.2))};
    thenar_soft_def def = plain_def(&mesh);
    def.material =
        (thenar_material){.young = 2e6, .poisson = 0.3, .density = 1000, .damping_mass = 5, .damping_stiffness = 0.02};
    def.supports = &support;
    def.support_count = 1;
    thenar_model *model = tools_model(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.02, 1);
    tools_run(sim, 1500);
    double force[3], torque[3];
    thenar_sim_support_wrench(sim, 0, thenar_model_find_support(model, 0, "clamp"), force, torque);
    const double *x = thenar_sim_positions(sim, 0), *m = thenar_model_masses(model, 0);
    double moment = 0;
    for (int i = 0; i < mesh.node_count; i++) moment += m[i] * 9.81 * x[3 * i];
    /* Mass 40 kg; the rest is what still moves after 30 s. */
    assert_near(force[1], 40 * 9.81, 1e-6);
    assert_near(force[0], 0, 1e-6);
    /* The linearized forces balance at the positions that the step began with: at rest these are the same. */
    assert_near(torque[2], moment, 1e-4);
    tools_free(sim, model, &mesh);
}

/* What is applied to a held node does not move it: its support bears it. */
static void a_support_bears_what_is_applied_to_its_nodes(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 2, 2, 2);
    thenar_support all = {.region = {.kind = THENAR_REGION_ALL}};
    thenar_load load = {.region = {.kind = THENAR_REGION_ALL}, .force = {27, 0, 0}};
    thenar_soft_def def = plain_def(&mesh);
    def.supports = &all;
    def.support_count = 1;
    def.loads = &load;
    def.load_count = 1;
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    const double more[3] = {0, 0, 5};
    thenar_sim_apply_force(sim, 0, 3, more);
    tools_run(sim, 1);
    /* The wrench is that of the step: what is set after it counts from the next one on. */
    thenar_sim_apply_force(sim, 0, 4, more);
    double force[3], torque[3];
    thenar_sim_support_wrench(sim, 0, 0, force, torque);
    assert_near(force[0], -27, 1e-12);
    assert_near(force[1], 0, 1e-12);
    assert_near(force[2], -5, 1e-12);
    thenar_sim_free(sim);
    thenar_model_free(model);
    thenar_tet_mesh_free(&mesh);
}

/* Springs stretch by weight over stiffness; a support that goes on at constant speed leaves them no longer than
 * that. */
static void springs_of_a_support_stretch_in_proportion_to_what_they_carry(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(0.1, 0.1, 0.1, 2, 2, 2);
    const thenar_key keys[] = {{.time = 0}, {.time = 100, .move = {10, 0, 0}}};
    thenar_support support = {.region = {.kind = THENAR_REGION_ALL},
                              .keys = keys,
                              .key_count = 2,
                              .linear = true,
                              .stiffness = 2000,
                              .damping = 50};
    thenar_load load = {.region = {.kind = THENAR_REGION_ALL}, .force = {0, 0, 3}};
    thenar_soft_def def = plain_def(&mesh);
    def.supports = &support;
    def.support_count = 1;
    def.loads = &load;
    def.load_count = 1;
    thenar_model *model = tools_model(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    tools_run(sim, 500);
    double weight = 9.81 * thenar_model_mass(model, 0), force[3], torque[3];
    const double *x = thenar_sim_positions(sim, 0);
    vec3 moved = {0};
    for (int i = 0; i < mesh.node_count; i++)
        moved = vec3_add(moved, vec3_sub(vec3_load(x + 3 * i), vec3_load(mesh.positions + 3 * i)));
    moved = vec3_scale(moved, 1.0 / mesh.node_count);
    assert_near(moved.x, 0.5, 1e-9); /* 5 s at 0.1 m/s */
    assert_near(moved.y, -weight / 2000, 1e-9);
    assert_near(moved.z, 3.0 / 2000, 1e-9);
    thenar_sim_support_wrench(sim, 0, 0, force, torque);
    assert_near(force[1], weight, 1e-6);
    assert_near(force[2], -3, 1e-6);
    tools_free(sim, model, &mesh);
}

static void a_driven_support_takes_the_body_with_it(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 0.2, 0.2, 5, 1, 1);
    thenar_key keys[] = {{.time = 0}, {.time = 0.5, .move = {0.1, 0.2, -0.3}, .turn = {0, 0, 1.2}}};
    thenar_support support = {.name = "grip",
                              .region = tools_box_region(vec3_make(0, 0, 0), vec3_make(0, 0.2, 0.2)),
                              .keys = keys,
                              .key_count = 2,
                              .has_pivot = true};
    thenar_soft_def def = plain_def(&mesh);
    def.material.damping_stiffness = 0.05;
    def.material.damping_mass = 2;
    def.supports = &support;
    def.support_count = 1;
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    tools_run(sim, 4000);
    quat turn = quat_from_rotation_vector(vec3_make(0, 0, 1.2));
    for (int i = 0; i < mesh.node_count; i++) {
        vec3 expected = vec3_add(quat_rotate(turn, vec3_load(mesh.positions + 3 * i)), vec3_make(0.1, 0.2, -0.3));
        assert_near(vec3_distance(vec3_load(thenar_sim_positions(sim, 0) + 3 * i), expected), 0, 1e-8);
    }
    /* A driver takes over from the keys. */
    const double move[3] = {0, 0, 0}, none[3] = {0, 0, 0}, bad[3] = {0, NAN, 0};
    assert_int_equal(drive_support(sim, 0, 0, bad, none), THENAR_ERROR_INPUT);
    assert_int_equal(drive_support(sim, 0, 0, move, none), THENAR_OK);
    tools_run(sim, 4000);
    for (int i = 0; i < mesh.node_count; i++)
        assert_near(vec3_distance(vec3_load(thenar_sim_positions(sim, 0) + 3 * i), vec3_load(mesh.positions + 3 * i)),
                    0, 1e-8);
    tools_free(sim, model, &mesh);
}

/* Flat, a line, a point, inside out, and nodes thrown about at random. */
static void inverted_and_flat_bodies_come_right_side_out(void **unused) {
    (void)unused;
    random_source random = {5};
    thenar_tet_mesh mesh = tools_box(0.4, 0.2, 0.2, 4, 2, 2);
    thenar_soft_def def = plain_def(&mesh);
    def.material.damping_stiffness = 0.02;
    thenar_support support = {.region = tools_box_region(vec3_make(0, 0, 0), vec3_make(0, 0.2, 0.2))};
    def.supports = &support;
    def.support_count = 1;
    thenar_model *model = tools_model(&def, 0);
    double *x = malloc(3 * (size_t)mesh.node_count * sizeof *x);
    const double squash[][3] = {{1, 1, 0}, {1, 0, 0}, {0, 0, 0}, {1, -1, 1}, {-1, 1, 1}, {0.2, -0.5, 3}};
    for (int k = 0; k < 7; k++) {
        thenar_sim *sim = tools_sim(model, 0.01, 1);
        for (int i = 0; i < 3 * mesh.node_count; i++)
            x[i] = k < 6 ? mesh.positions[i] * squash[k][i % 3] : random_uniform(&random, -0.3, 0.3);
        thenar_sim_set_state(sim, 0, x, NULL);
        tools_run(sim, 1);
        bool inverted = thenar_sim_stats(sim)->inverted_tets > 0;
        assert_true(inverted || k < 3);
        tools_run(sim, 3000);
        double kinetic, elastic;
        thenar_sim_energy(sim, 0, &kinetic, &elastic, NULL);
        assert_int_equal(thenar_sim_stats(sim)->inverted_tets, 0);
        assert_near(kinetic, 0, 1e-12);
        /* A body that was mirrored as a whole comes right side out with half a turn in it, between the held end and
         * the free one, and stays so: a coarse mesh holds that twist. All others have their shape back. */
        if (k < 3 || k == 6) assert_near(elastic, 0, 1e-12);
        thenar_sim_free(sim);
    }
    free(x);
    thenar_model_free(model);
    thenar_tet_mesh_free(&mesh);
}

static void damping_only_takes_energy_away(void **unused) {
    (void)unused;
    random_source random = {6};
    thenar_tet_mesh mesh = tools_box(0.4, 0.2, 0.2, 4, 2, 2);
    thenar_soft_def def = plain_def(&mesh);
    def.material.damping_stiffness = 0.005;
    def.material.damping_mass = 1;
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 1e-3, 1);
    double *v = malloc(3 * (size_t)mesh.node_count * sizeof *v);
    for (int i = 0; i < 3 * mesh.node_count; i++) v[i] = random_uniform(&random, -0.2, 0.2);
    thenar_sim_set_state(sim, 0, NULL, v);
    double kinetic, elastic, before;
    thenar_sim_energy(sim, 0, &kinetic, &elastic, NULL);
    before = kinetic + elastic;
    for (int i = 0; i < 500; i++) {
        tools_run(sim, 1);
        thenar_sim_energy(sim, 0, &kinetic, &elastic, NULL);
        assert_true(kinetic + elastic <= before * (1 + 1e-12));
        before = kinetic + elastic;
    }
    free(v);
    tools_free(sim, model, &mesh);
}

static void invalid_definitions_are_refused_with_a_reason(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 1, 1, 1);
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    const struct {
        thenar_material material;
        const char *word;
    } bad[] = {
        {{.young = 0, .poisson = 0.3, .density = 1}, "young"},
        {{.young = -1, .poisson = 0.3, .density = 1}, "young"},
        {{.young = NAN, .poisson = 0.3, .density = 1}, "young"},
        {{.young = 1, .poisson = 0.5, .density = 1}, "poisson"},
        {{.young = 1, .poisson = -1, .density = 1}, "poisson"},
        {{.young = 1, .poisson = 0.3, .density = -1}, "density"},
        {{.young = 1, .poisson = 0.3, .density = INFINITY}, "density"},
        {{.young = 1, .poisson = 0.3, .density = 1, .damping_mass = -1}, "damping_mass"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        thenar_soft_def def = plain_def(&mesh);
        def.material = bad[i].material;
        assert_int_equal(thenar_build_add_soft(build, &def, &error), THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, bad[i].word));
        assert_non_null(strstr(error.text, "expected"));
    }
    thenar_soft_def def = plain_def(&mesh);
    thenar_support nowhere = {.name = "nowhere", .region = tools_box_region(vec3_make(5, 5, 5), vec3_make(6, 6, 6))};
    def.supports = &nowhere;
    def.support_count = 1;
    assert_int_equal(thenar_build_add_soft(build, &def, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "nowhere"));
    def = plain_def(&mesh);
    assert_ok(thenar_build_add_soft(build, &def, &error), error);
    assert_int_equal(thenar_build_add_soft(build, &def, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "two bodies"));
    thenar_build_free(build);
    world.dt = 0;
    build = thenar_build_create(&world);
    thenar_model *model;
    assert_int_equal(thenar_build_compile(build, &model, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "dt"));
    thenar_build_free(build);
    thenar_tet_mesh_free(&mesh);
}

/* Finite input whose products leave the range of numbers: no NaN gets into a state. */
static void numbers_out_of_range_are_refused(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 1, 1, 1);
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_key far = {.turn = {1e200, 0, 0}};
    thenar_support turned = {.region = {.kind = THENAR_REGION_ALL}, .keys = &far, .key_count = 1};
    thenar_support pivoted = {.region = {.kind = THENAR_REGION_ALL}, .has_pivot = true, .pivot = {1.7e308, 0, 0}};
    thenar_soft_def bad[6];
    for (int i = 0; i < 6; i++) bad[i] = plain_def(&mesh);
    bad[0].material.density = 1e-323;
    bad[1].material.young = 1.7e308;
    bad[1].material.poisson = 0.499;
    bad[2].velocity[0] = 1.7e308;
    bad[2].spin[1] = 1.7e308;
    bad[3].supports = &turned;
    bad[4].supports = &pivoted;
    bad[3].support_count = bad[4].support_count = 1;
    bad[5].material.damping_mass = 1e308;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(thenar_build_add_soft(build, &bad[i], &error), THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, "expected"));
    }
    thenar_build_free(build);
    thenar_tet_mesh_free(&mesh);
}

/* Names end up in CSV, JSON and on terminals. */
static void names_that_are_not_plain_text_are_refused(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 1, 1, 1);
    thenar_error error;
    thenar_model *model;
    const char *const bad[] = {"a\nb", "\x1b[2J", "\xff", "cut \xc3"};
    for (int i = 0; i < 4; i++) {
        thenar_world_def world = thenar_world_def_default();
        thenar_build *build = thenar_build_create(&world);
        thenar_soft_def def = plain_def(&mesh);
        def.name = bad[i];
        assert_int_equal(thenar_build_add_soft(build, &def, &error), THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, "UTF-8"));
        thenar_support support = {.name = bad[i]};
        def = plain_def(&mesh);
        def.supports = &support;
        def.support_count = 1;
        assert_int_equal(thenar_build_add_soft(build, &def, &error), THENAR_ERROR_INPUT);
        def.name = support.name = "H\xc3\xa4nde";
        assert_ok(thenar_build_add_soft(build, &def, &error), error);
        thenar_build_free(build);
        world.name = bad[i];
        build = thenar_build_create(&world);
        assert_int_equal(thenar_build_compile(build, &model, &error), THENAR_ERROR_INPUT);
        assert_null(model);
        thenar_build_free(build);
    }
    thenar_tet_mesh_free(&mesh);
}

/* A mesh whose tets are all inverted is turned: the surface that is embedded in it must follow. */
static void a_surface_is_embedded_in_a_turned_mesh_as_in_the_original(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 2, 2, 2);
    for (int t = 0; t < mesh.tet_count; t++) {
        int third = mesh.tets[4 * t + 2];
        mesh.tets[4 * t + 2] = mesh.tets[4 * t + 3];
        mesh.tets[4 * t + 3] = third;
    }
    thenar_surface surface = {.vertex_count = 1, .positions = (double[]){0.3, 0.2, 0.1}};
    thenar_embedding embedding = {.vertex_count = 1, .tet = (int[]){7}, .weights = (double[]){0.1, 0.2, 0.3, 0.4}};
    vec3 expected = {0};
    for (int k = 0; k < 4; k++)
        expected = vec3_mul_add(expected, vec3_load(mesh.positions + 3 * mesh.tets[4 * 7 + k]), embedding.weights[k]);
    vec3_store(surface.positions, expected);
    thenar_soft_def def = plain_def(&mesh);
    def.surface = &surface;
    def.embedding = &embedding;
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    double place[3];
    thenar_sim_surface(sim, 0, place);
    assert_near(vec3_distance(vec3_load(place), expected), 0, 1e-15);
    thenar_tet_figures figures;
    assert_ok(thenar_tet_mesh_quality(thenar_model_mesh(model, 0), &figures, &error), error);
    assert_int_equal(figures.inverted, 0);
    thenar_sim_free(sim);
    thenar_model_free(model);
    thenar_tet_mesh_free(&mesh);
}

/* The parts of a body are checked against each other. */
static void parts_that_do_not_fit_each_other_are_refused_with_a_reason(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 1, 1, 1), loose = mesh;
    thenar_surface surface = {.vertex_count = 1, .positions = (double[]){0.3, 0.2, 0.1}};
    thenar_embedding right = {.vertex_count = 1, .tet = (int[]){0}, .weights = (double[]){0.1, 0.2, 0.3, 0.4}};
    thenar_embedding two = right, elsewhere = right;
    two.vertex_count = 2;
    elsewhere.tet = (int[]){1000};
    loose.node_count = 4 * mesh.tet_count + 1;
    thenar_support unknown = {.region = {.kind = (thenar_region_kind)99}};
    const double spacing[] = {0.01};
    const int groups[] = {0};
    const struct {
        thenar_soft_def def;
        const char *words;
    } bad[] = {
        {{.mesh = &loose}, "expected every node in one of its"},
        {{.mesh = &mesh, .surface = &surface}, "surface and embedding come together"},
        {{.mesh = &mesh, .surface = &surface, .embedding = &two}, "has 2 vertices; expected the surface's 1"},
        {{.mesh = &mesh, .surface = &surface, .embedding = &elsewhere}, "embedding of vertex 0 names tet 1000"},
        {{.mesh = &mesh, .contact_spacing_at = spacing}, "contact_spacing_at without a surface"},
        {{.mesh = &mesh, .contact_groups = groups}, "contact_groups without a surface"},
        {{.mesh = &mesh, .supports = &unknown, .support_count = 1}, "unknown kind of region 99"},
    };
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        thenar_error error;
        thenar_soft_def def = plain_def(bad[i].def.mesh);
        def.surface = bad[i].def.surface;
        def.embedding = bad[i].def.embedding;
        def.contact_spacing_at = bad[i].def.contact_spacing_at;
        def.contact_groups = bad[i].def.contact_groups;
        def.supports = bad[i].def.supports;
        def.support_count = bad[i].def.support_count;
        assert_int_equal(thenar_build_add_soft(build, &def, &error), THENAR_ERROR_INPUT);
        if (!strstr(error.text, bad[i].words)) fail_msg("\"%s\" does not say \"%s\"", error.text, bad[i].words);
    }
    thenar_build_free(build);
    thenar_tet_mesh_free(&mesh);
}

static void a_body_too_large_to_index_and_one_without_tets_are_refused(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_tet_mesh mesh = {.node_count = 4, .tet_count = 21000000};
    thenar_soft_def def = plain_def(&mesh);
    assert_int_equal(thenar_build_add_soft(build, &def, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "tets; expected"));
    mesh = (thenar_tet_mesh){0};
    assert_int_equal(thenar_build_add_soft(build, &def, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "no tets"));
    thenar_build_free(build);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rigid_motion_causes_no_force),
    cmocka_unit_test(forces_are_minus_the_gradient_of_the_energy),
    cmocka_unit_test(the_patch_test_holds_on_an_irregular_mesh),
    cmocka_unit_test(a_free_body_keeps_its_momentum),
    cmocka_unit_test(a_falling_body_falls_as_implicit_euler_says),
    cmocka_unit_test(a_static_load_gives_the_direct_solution_of_the_textbooks_stiffness),
    cmocka_unit_test(a_beams_deflection_tends_to_timoshenkos_under_refinement),
    cmocka_unit_test(two_materials_in_series_stretch_in_inverse_proportion_to_their_stiffness),
    cmocka_unit_test(a_support_carries_the_weight_and_the_moment_of_a_beam_at_rest),
    cmocka_unit_test(a_support_bears_what_is_applied_to_its_nodes),
    cmocka_unit_test(springs_of_a_support_stretch_in_proportion_to_what_they_carry),
    cmocka_unit_test(a_driven_support_takes_the_body_with_it),
    cmocka_unit_test(inverted_and_flat_bodies_come_right_side_out),
    cmocka_unit_test(damping_only_takes_energy_away),
    cmocka_unit_test(invalid_definitions_are_refused_with_a_reason),
    cmocka_unit_test(numbers_out_of_range_are_refused),
    cmocka_unit_test(names_that_are_not_plain_text_are_refused),
    cmocka_unit_test(a_surface_is_embedded_in_a_turned_mesh_as_in_the_original),
    cmocka_unit_test(parts_that_do_not_fit_each_other_are_refused_with_a_reason),
    cmocka_unit_test(a_body_too_large_to_index_and_one_without_tets_are_refused),
};

TEST_MAIN(tests)
