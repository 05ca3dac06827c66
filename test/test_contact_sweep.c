/* Sort and sweep, against looking at every pair. */
#include "contact_tools.h"

#include "core/threads.h"
#include "random.h"
#include "contact/find.h"
#include "world/sim.h"

#define MAX 300

/* How often each pair was reported. */
static unsigned char reported[MAX][MAX];
static int report_count;

static void tell(void *context, int one, int other) {
    (void)context;
    reported[one][other]++;
    report_count++;
}

static void make(broad_phase *state, int count) {
    arena measure = {0};
    broad_phase_layout(state, count, &measure);
    arena carve = arena_on(memory_aligned(measure.used), measure.used);
    broad_phase_layout(state, count, &carve);
    broad_phase_open(state);
}

/* order[0] is the first of what the arena was carved of. */
static void drop(broad_phase *state) {
    free(state->order[0]);
}

static vec3 random_vector(random_source *random, double size) {
    return vec3_make(random_uniform(random, -size, size), random_uniform(random, -size, size),
                     random_uniform(random, -size, size));
}

/* Some on a grid, so that ends are equal; some without end on one side, or on all of them; some are points. */
static box random_box(random_source *random, int kind) {
    vec3 at = random_vector(random, 1), half = vec3_scale(vec3_add(random_vector(random, 1), vec3_make(1, 1, 1)), 0.1);
    if (kind % 5 == 1) at = vec3_make(round(4 * at.x) / 4, round(4 * at.y) / 4, round(4 * at.z) / 4);
    if (kind % 5 == 1) half = vec3_make(0.125, 0.125, 0.125);
    if (kind % 5 == 2) half = vec3_make(0, 0, 0);
    box b = {vec3_sub(at, half), vec3_add(at, half)};
    if (kind % 23 == 7) b.low.x = -INFINITY;
    if (kind % 23 == 8) b.high.y = INFINITY;
    if (kind % 23 == 9) b = (box){{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    return b;
}

static void compare(broad_phase *state, const box *boxes, int count, int split, int *overlaps) {
    memset(reported, 0, sizeof reported);
    report_count = 0;
    broad_phase_find(state, boxes, split, tell, NULL);
    int expected = 0;
    for (int i = 0; i < split; i++)
        for (int k = split; k < count; k++) {
            bool overlap = box_overlaps(&boxes[i], &boxes[k]);
            assert_int_equal(reported[i][k], overlap);
            expected += overlap;
        }
    assert_int_equal(report_count, expected);
    *overlaps += expected;
}

static void the_pairs_are_those_of_looking_at_every_pair(void **unused) {
    (void)unused;
    random_source random = {21};
    box boxes[MAX];
    int overlaps = 0;
    for (int trial = 0; trial < (SANITIZED ? 50 : 200); trial++) {
        int count = trial < 4 ? trial : 1 + (int)random_uniform(&random, 0, MAX - 1), split = count / (1 + trial % 4);
        vec3 stretch = {trial % 3 == 0 ? 20 : 1, trial % 3 == 1 ? 20 : 1, trial % 3 == 2 ? 20 : 1};
        broad_phase state;
        make(&state, count);
        for (int i = 0; i < count; i++) {
            boxes[i] = random_box(&random, (int)random_uniform(&random, 0, 1000));
            boxes[i].low.x *= stretch.x, boxes[i].low.y *= stretch.y, boxes[i].low.z *= stretch.z;
            boxes[i].high.x *= stretch.x, boxes[i].high.y *= stretch.y, boxes[i].high.z *= stretch.z;
        }
        compare(&state, boxes, count, split, &overlaps);
        drop(&state);
    }
    assert_true(overlaps > 5000);
}

/* One that has seen other boxes before tells the same in the same order as one that has not. */
typedef struct report_list {
    int pair[MAX * MAX][2];
    int count;
} report_list;

static void write_down(void *context, int one, int other) {
    report_list *list = context;
    list->pair[list->count][0] = one;
    list->pair[list->count++][1] = other;
}

static void what_was_before_makes_no_difference(void **unused) {
    (void)unused;
    random_source random = {22};
    box boxes[MAX];
    static report_list old_list, new_list;
    broad_phase old;
    make(&old, MAX);
    for (int i = 0; i < MAX; i++) boxes[i] = random_box(&random, i);
    for (int step = 0; step < 60; step++) {
        for (int i = 0; i < MAX; i++) {
            vec3 move = random_vector(&random, step % 20 == 0 ? 2 : 0.02);
            if (i % 5 == 1) move = vec3_make(0.25 * round(move.x), 0.25 * round(move.y), 0);
            if (step % 20 == 10) move.z += 30 * move.z; /* another axis */
            boxes[i] = (box){vec3_add(boxes[i].low, move), vec3_add(boxes[i].high, move)};
        }
        broad_phase fresh;
        make(&fresh, MAX);
        old_list.count = new_list.count = 0;
        broad_phase_find(&old, boxes, MAX / 3, write_down, &old_list);
        broad_phase_find(&fresh, boxes, MAX / 3, write_down, &new_list);
        assert_int_equal(old_list.count, new_list.count);
        assert_memory_equal(old_list.pair, new_list.pair, (size_t)old_list.count * sizeof *old_list.pair);
        drop(&fresh);
    }
    drop(&old);
}

/* ---- in a world: many spheres over a plane ---- */

static thenar_sim *many_spheres(int count) {
    random_source random = {23};
    scene s = scene_begin_on_earth();
    scene_add_ground(&s, 0.5);
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        thenar_rigid_def ball = thenar_rigid_def_default();
        ball.name = name;
        ball.shape = (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.01};
        vec3 at = {0.021 * (i % 15), random_uniform(&random, 0.01, 0.012), 0.021 * (i / 15)};
        vec3_store(ball.pose, vec3_mul_add(at, random_vector(&random, 1), 0.0005));
        vec3_store(ball.velocity, random_vector(&random, 0.1));
        scene_add_rigid(&s, &ball);
    }
    return scene_sim(&s, 0.005, 1);
}

/* The same points, bit for bit, as of all pairs. */
static void a_step_finds_what_looking_at_every_pair_finds(void **unused) {
    (void)unused;
    const int counts[] = {50, 100, 200};
    for (int n = 0; n < (SANITIZED ? 1 : 3); n++) {
        thenar_sim *sim = many_spheres(counts[n]);
        const contact_model *contacts = &sim->model->contacts;
        contact_state *state = &sim->contacts;
        int *all = calloc((size_t)contacts->pair_count, sizeof *all), found = 0, spheres = 0;
        for (int k = 0; k < contacts->pair_count; k++) all[k] = k;
        contact_point *points = calloc((size_t)contacts->capacity, sizeof *points);
        int steps = counts[n] > 100 ? 4 : 12;
        for (int step = 0; step < steps; step++) {
            tools_run(sim, 1);
            double margin = contacts->margin, h = 0.005;
            for (int i = 0; i < contacts->skin_count; i++)
                contact_skin_update(&state->skins[i], sim->bodies[contacts->skin_body[i]], h);
            contact_find_pairs(state, contacts, margin, h);
            found = contact_find_points(state->skin_pointers, state->rigids, NULL, contacts->pairs, state->near_pairs,
                                        state->near_count, margin, h, NULL, state->points, contacts->capacity);
            int expected = contact_find_points(state->skin_pointers, state->rigids, NULL, contacts->pairs, all,
                                               contacts->pair_count, margin, h, NULL, points, contacts->capacity);
            assert_int_equal(found, expected);
            assert_memory_equal(points, state->points, (size_t)found * sizeof *points);
            for (int i = 0; i < found; i++) spheres += points[i].other != 0;
            for (int i = 1; i < state->near_count; i++) assert_true(state->near_pairs[i - 1] < state->near_pairs[i]);
        }
        assert_true(found > counts[n] / 2 && spheres > 0);
        free(all);
        free(points);
        thenar_sim_free(sim);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_pairs_are_those_of_looking_at_every_pair),
    cmocka_unit_test(what_was_before_makes_no_difference),
    cmocka_unit_test(a_step_finds_what_looking_at_every_pair_finds),
};

TEST_MAIN(tests)
