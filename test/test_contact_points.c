/* Promises of the candidate contact points: those that brute force finds, with normals that do not flicker. */
#include "soft_tools.h"

#include "contact/find.h"
#include "mesh/mesh.h"
#include "world/sim.h"
#include "poses.h"

#include <stdlib.h>

#define STEP 0.01 /* s */
#define MAX_BODIES 16
#define MAX_POINTS 20000

static contact_point points[MAX_POINTS];

/* A world, a skin for each body that has one, and all pairs of a skin and a rigid body. Skins and rigid bodies have the
 * numbers of their bodies. */
typedef struct fixture {
    thenar_model *model;
    thenar_sim *sim;
    contact_skin skin[MAX_BODIES];
    contact_skin_state state[MAX_BODIES];
    void *memory[MAX_BODIES];
    const contact_skin_state *skins[MAX_BODIES];
    const rigid_state *rigids[MAX_BODIES];
    contact_pair pairs[MAX_BODIES * MAX_BODIES];
    int body_count, pair_count;
} fixture;

static bool is_soft(const fixture *f, int body) {
    return f->model->bodies[body]->kind == &soft_class;
}

static void make_skin(fixture *f, int body) {
    thenar_error error;
    contact_skin_state *state = &f->state[body];
    assert_ok(contact_skin_create(f->model->bodies[body], &f->skin[body], &error), error);
    arena measure = {0};
    contact_skin_layout(state, &f->skin[body], &measure);
    f->memory[body] = memory_aligned(measure.used);
    arena carve = arena_on(f->memory[body], measure.used);
    contact_skin_layout(state, &f->skin[body], &carve);
    f->skins[body] = state;
}

/* What a step does before it looks for contacts. */
static void look(fixture *f) {
    body_step step = {.time = thenar_sim_time(f->sim) + STEP, .h = STEP, .left = STEP};
    for (int b = 0; b < f->body_count; b++) f->model->bodies[b]->kind->drive(f->sim->bodies[b], &step);
    for (int b = 0; b < f->body_count; b++)
        if (f->skins[b]) contact_skin_update(&f->state[b], f->sim->bodies[b], STEP);
}

/* soft may be NULL. */
static void fixture_start(fixture *f, const thenar_soft_def *soft, const thenar_rigid_def *defs, int count) {
    thenar_error error;
    *f = (fixture){0};
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    if (soft) assert_ok(thenar_build_add_soft(build, soft, &error), error);
    for (int i = 0; i < count; i++) assert_ok(thenar_build_add_rigid(build, &defs[i], &error), error);
    assert_ok(thenar_build_compile(build, &f->model, &error), error);
    thenar_build_free(build);
    f->sim = tools_sim(f->model, STEP, 1);
    f->body_count = f->model->body_count;
    for (int b = 0; b < f->body_count; b++) {
        if (!is_soft(f, b)) f->rigids[b] = sim_rigid(f->sim, b);
        if (is_soft(f, b) || thenar_model_motion(f->model, b) == THENAR_MOTION_DYNAMIC) make_skin(f, b);
    }
    for (int a = 0; a < f->body_count; a++)
        for (int b = 0; b < f->body_count; b++)
            if (a != b && f->skins[a] && f->rigids[b])
                f->pairs[f->pair_count++] = (contact_pair){.body = {a, b}, .skin = a, .faces = -1};
    look(f);
}

static void fixture_end(fixture *f) {
    for (int b = 0; b < f->body_count; b++) {
        contact_skin_free(&f->skin[b]);
        free(f->memory[b]);
    }
    thenar_sim_free(f->sim);
    thenar_model_free(f->model);
}

static int find(const fixture *f, double margin) {
    int all[MAX_BODIES * MAX_BODIES];
    for (int k = 0; k < f->pair_count; k++) all[k] = k;
    int count = contact_find_points(f->skins, f->rigids, NULL, f->pairs, all, f->pair_count, margin, STEP, NULL, points,
                                    MAX_POINTS);
    assert_true(count <= MAX_POINTS);
    return count;
}

static thenar_rigid_def rigid(const char *name, thenar_motion motion, thenar_shape shape) {
    thenar_rigid_def def = thenar_rigid_def_default();
    def.name = name;
    def.shape = shape;
    def.motion = motion;
    return def;
}

static thenar_soft_def soft_block(const thenar_tet_mesh *tets) {
    thenar_soft_def soft = thenar_soft_def_default();
    soft.name = "soft";
    soft.mesh = tets;
    return soft;
}

#define BOX_SIZE                                                                                                       \
    { 0.2, 0.3, 0.1 }

static const thenar_shape ball = {.kind = THENAR_SHAPE_SPHERE, .radius = 0.15};
static const thenar_shape brick = {.kind = THENAR_SHAPE_BOX, .size = BOX_SIZE};
static const thenar_shape capsule = {.kind = THENAR_SHAPE_CAPSULE, .radius = 0.1, .length = 0.3};
static const thenar_shape cylinder = {.kind = THENAR_SHAPE_CYLINDER, .radius = 0.1, .length = 0.3};
static const thenar_shape ground = {.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}};

static int all_shapes(const thenar_surface *mesh, thenar_rigid_def defs[MAX_BODIES]) {
    int count = 0;
    thenar_shape round_brick = brick, round_cylinder = cylinder;
    round_brick.rounding = round_cylinder.rounding = 0.02;
    thenar_shape plain = {.kind = THENAR_SHAPE_MESH, .surface = mesh}, grown = plain;
    grown.rounding = 0.03;
    defs[count++] = rigid("sphere", THENAR_MOTION_DYNAMIC, ball);
    defs[count++] = rigid("box", THENAR_MOTION_DYNAMIC, brick);
    defs[count++] = rigid("round box", THENAR_MOTION_DYNAMIC, round_brick);
    defs[count++] = rigid("capsule", THENAR_MOTION_DYNAMIC, capsule);
    defs[count++] = rigid("cylinder", THENAR_MOTION_DYNAMIC, cylinder);
    defs[count++] = rigid("round cylinder", THENAR_MOTION_DYNAMIC, round_cylinder);
    defs[count++] = rigid("mesh", THENAR_MOTION_DYNAMIC, plain);
    defs[count++] = rigid("grown", THENAR_MOTION_DYNAMIC, grown);
    defs[count++] = rigid("driven capsule", THENAR_MOTION_DRIVEN, capsule);
    defs[count++] = rigid("driven mesh", THENAR_MOTION_DRIVEN, plain);
    defs[count++] = rigid("plane", THENAR_MOTION_STATIC, ground);
    return count;
}

/* Distances by other formulas than the library's: by how far a point is from ranges of coordinates. The mesh is that of
 * the box. */
static double range_distance(const double *beyond, int count) {
    double out = 0, largest = -INFINITY;
    for (int i = 0; i < count; i++) {
        if (beyond[i] > 0) out += beyond[i] * beyond[i];
        largest = fmax(largest, beyond[i]);
    }
    return largest > 0 ? sqrt(out) : largest;
}

static double plain_distance(const char *shape, vec3 p) {
    const double size[3] = BOX_SIZE;
    double rounding = strncmp(shape, "round", 5) == 0 ? 0.02 : 0, grown = strcmp(shape, "grown") == 0 ? 0.03 : 0;
    if (strstr(shape, "sphere")) return vec3_length(p) - 0.15;
    if (strstr(shape, "capsule")) return hypot(hypot(p.x, p.z), fmax(fabs(p.y) - 0.15, 0)) - 0.1;
    if (strstr(shape, "cylinder")) {
        const double beyond[] = {hypot(p.x, p.z) - 0.1 + rounding, fabs(p.y) - 0.15 + rounding};
        return range_distance(beyond, 2) - rounding;
    }
    if (strstr(shape, "plane")) return p.y;
    const double beyond[] = {fabs(p.x) - size[0] / 2 + rounding, fabs(p.y) - size[1] / 2 + rounding,
                             fabs(p.z) - size[2] / 2 + rounding};
    return range_distance(beyond, 3) - rounding - grown;
}

/* How a rigid body moves, as the test set it up. */
typedef struct motion {
    vec3 position, velocity, spin;
    quat turn;
} motion;

static quat random_turn(random_source *random) {
    double q[4];
    for (int c = 0; c < 4; c++) q[c] = random_uniform(random, -1, 1);
    return quat_unit((quat){q[0], q[1], q[2], q[3]});
}

static void store_pose(double *pose, vec3 position, quat q) {
    vec3_store(pose, position);
    pose[3] = q.x, pose[4] = q.y, pose[5] = q.z, pose[6] = q.w;
}

/* New random poses and motions, and a soft body shaken out of shape. */
static void shake(fixture *f, random_source *random, double speed, motion *motions) {
    soft_state *soft = sim_soft(f->sim, 0);
    const thenar_tet_mesh *mesh = thenar_model_mesh(f->model, 0);
    for (int i = 0; i < 3 * mesh->node_count; i++) {
        soft->x[i] = mesh->positions[i] + random_uniform(random, -0.01, 0.01);
        soft->v[i] = random_uniform(random, -speed, speed);
    }
    for (int b = 1; b < f->body_count; b++) {
        motion *m = &motions[b];
        *m = (motion){.turn = quat_identity()};
        rigid_kept *kept = sim_rigid(f->sim, b)->kept;
        if (thenar_model_motion(f->model, b) == THENAR_MOTION_STATIC) continue;
        *m = (motion){tools_random_vector(random, 0.5), tools_random_vector(random, speed),
                      tools_random_vector(random, 10 * speed), random_turn(random)};
        store_pose(kept->pose, m->position, m->turn);
        if (thenar_model_motion(f->model, b) == THENAR_MOTION_DYNAMIC) {
            vec3_store(kept->velocity, m->velocity);
            vec3_store(kept->spin, m->spin);
        } else {
            double pose[7];
            quat turned = quat_mul(quat_from_rotation_vector(vec3_scale(m->spin, STEP)), m->turn);
            store_pose(pose, vec3_mul_add(m->position, m->velocity, STEP), turned);
            assert_int_equal(drive_body(f->sim, b, pose, pose + 3), THENAR_OK);
        }
    }
    look(f);
}

/* The centre of mass of each shape is at its origin, so that its own frame is the body's. */
static vec3 at_time(const motion *m, double time, vec3 local) {
    quat turned = quat_mul(quat_from_rotation_vector(vec3_scale(m->spin, time)), m->turn);
    return vec3_add(vec3_mul_add(m->position, m->velocity, time), quat_rotate(turned, local));
}

static double distance_at_time(const char *shape, const motion *m, double time, vec3 p) {
    quat turned = quat_mul(quat_from_rotation_vector(vec3_scale(m->spin, time)), m->turn);
    vec3 from = vec3_sub(p, vec3_mul_add(m->position, m->velocity, time));
    return plain_distance(shape, quat_rotate(quat_conjugate(turned), from));
}

/* The place of a skin's point a little before or after the beginning of the step. */
static vec3 point_at_time(const fixture *f, const motion *motions, int skin, int index, double time) {
    if (!is_soft(f, skin)) return at_time(&motions[skin], time, f->skin[skin].centres[index]);
    const soft_state *soft = sim_soft(f->sim, skin);
    const contact_hold *hold = &f->skin[skin].holds[index];
    vec3 sum = {0};
    for (int k = 0; k < 4; k++) {
        vec3 moved = vec3_mul_add(vec3_load(soft->x + 3 * hold->node[k]), vec3_load(soft->v + 3 * hold->node[k]), time);
        sum = vec3_mul_add(sum, moved, hold->weights[k]);
    }
    return sum;
}

/* The candidates stand in the order of pairs and points, so that one pass over both is enough: everything found is met.
 * The approach is a central difference of the distance; where that has a kink (inside, halfway between two faces),
 * either side may be right. Returns how many were found. */
static int compare_with_brute_force(const fixture *f, const motion *motions, double margin, int count, int *kinks) {
    const double e = 1e-8; /* s: curvature leaves 1e-5 of the speed, rounding 1e-8 m/s */
    int next = 0;
    for (int k = 0; k < f->pair_count; k++) {
        int a = f->pairs[k].skin, b = f->pairs[k].body[1];
        const char *shape = thenar_model_body_name(f->model, b);
        for (int i = 0; i < f->skin[a].point_count; i++) {
            double radius = f->skin[a].radius;
            double gap = distance_at_time(shape, &motions[b], 0, point_at_time(f, motions, a, i, 0)) - radius;
            double later = distance_at_time(shape, &motions[b], e, point_at_time(f, motions, a, i, e)) - radius;
            double before = distance_at_time(shape, &motions[b], -e, point_at_time(f, motions, a, i, -e)) - radius;
            double limit = margin + STEP * fmax(0, (before - later) / (2 * e));
            bool kink = fabs(later - 2 * gap + before) > 1e-3 * e, close = fabs(gap - limit) < 1e-8;
            int vertex = is_soft(f, a) ? f->skin[a].vertex[i] : i;
            bool found =
                next < count && points[next].skin == a && points[next].other == b && points[next].vertex == vertex;
            *kinks += kink || close;
            if (!kink && !close) assert_true(found == (gap < limit));
            if (!found) continue;
            assert_near(points[next].gap, gap, 1e-12);
            next++;
        }
    }
    assert_int_equal(next, count);
    return count;
}

/* No candidate is of a pair whose reaches do not overlap. Returns how many pairs these are. */
static int check_reaches(const fixture *f, double margin, int count) {
    int apart = 0;
    for (int k = 0, next = 0; k < f->pair_count; k++) {
        box skin = contact_skin_reach(f->skins[f->pairs[k].skin], margin, STEP);
        box rigid = contact_rigid_reach(f->rigids[f->pairs[k].body[1]], STEP);
        bool overlap = box_overlaps(&skin, &rigid);
        apart += !overlap;
        for (; next < count && points[next].pair == k; next++) assert_true(overlap);
    }
    return apart;
}

static void candidates_are_those_that_brute_force_finds(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_surface mesh;
    const double size[3] = BOX_SIZE;
    assert_ok(thenar_surface_box(size, 2, &mesh, &error), error);
    thenar_tet_mesh tets = tools_box(0.5, 0.5, 0.5, 6, 6, 6);
    for (int i = 0; i < 3 * tets.node_count; i++) tets.positions[i] -= 0.25;
    thenar_soft_def soft = soft_block(&tets);
    thenar_rigid_def defs[MAX_BODIES];
    static fixture f;
    fixture_start(&f, &soft, defs, all_shapes(&mesh, defs));
    random_source random = {11};
    const double margins[] = {0, 0.002, 0.05}, speeds[] = {0, 0.3, 6};
    motion motions[MAX_BODIES];
    int found = 0, kinks = 0, trials = 60, tried = 0, apart = 0;
    for (int trial = 0; trial < trials; trial++) {
        shake(&f, &random, speeds[trial / 3 % 3], motions);
        double margin = margins[trial % 3];
        int count = find(&f, margin);
        found += compare_with_brute_force(&f, motions, margin, count, &kinks);
        apart += check_reaches(&f, margin, count);
    }
    for (int k = 0; k < f.pair_count; k++) tried += trials * f.skin[f.pairs[k].skin].point_count;
    assert_true(found > 10000 && found < tried / 2);
    assert_true(kinks < tried / 1000);
    assert_true(apart > 100);
    fixture_end(&f);
    thenar_tet_mesh_free(&tets);
    thenar_surface_free(&mesh);
}

/* An embedded sphere, whose vertices are no nodes. */
static void embedded_sphere(thenar_surface *surface, thenar_tet_mesh *tets, thenar_embedding *embedding,
                            thenar_soft_def *def) {
    thenar_error error;
    thenar_mesh_options options = thenar_mesh_options_default();
    options.target_tets = 300;
    assert_ok(thenar_surface_sphere(0.1, 6, surface, &error), error);
    assert_ok(thenar_tet_mesh_from_surface(surface, &options, tets, embedding, &error), error);
    *def = thenar_soft_def_default();
    def->name = "soft";
    def->mesh = tets;
    def->surface = surface;
    def->embedding = embedding;
}

static void check_ends(const fixture *f, const contact_point *c) {
    double position[3], q[4];
    body_pose(f->sim, c->other, position, q);
    vec3 anchor = vec3_add(quat_rotate((quat){q[0], q[1], q[2], q[3]}, c->anchor), vec3_load(position));
    assert_near(vec3_distance(vec3_mul_add(anchor, c->normal, c->gap), c->position), 0, 1e-14);
    assert_near(vec3_length(c->normal), 1, 1e-14);
}

static void a_soft_point_has_its_nodes_and_weights_on_both_bodies(void **unused) {
    (void)unused;
    thenar_surface surface;
    thenar_tet_mesh tets;
    thenar_embedding embedding;
    thenar_soft_def soft;
    embedded_sphere(&surface, &tets, &embedding, &soft);
    thenar_rigid_def turned = rigid("box", THENAR_MOTION_DRIVEN, brick);
    vec3_store(turned.pose, vec3_make(0.15, 0.02, 0));
    pose_turn(turned.pose, 0.3, 0.2, 0.1);
    static fixture f;
    fixture_start(&f, &soft, &turned, 1);
    int count = find(&f, 0.01);
    assert_true(count > 10);
    const double *x = thenar_sim_positions(f.sim, 0);
    for (int i = 0; i < count; i++) {
        const contact_point *c = &points[i];
        vec3 sum = {0};
        for (int k = 0; k < 4; k++) sum = vec3_mul_add(sum, vec3_load(x + 3 * c->node[k]), c->weights[k]);
        assert_near(vec3_distance(sum, c->position), 0, 1e-15);
        assert_near(c->weights[0] + c->weights[1] + c->weights[2] + c->weights[3], 1, 1e-12);
        assert_near(vec3_length(c->arm), 0, 0);
        check_ends(&f, c);
    }
    fixture_end(&f);
    thenar_surface_free(&surface);
    thenar_tet_mesh_free(&tets);
    thenar_embedding_free(&embedding);
}

static void a_rigid_point_has_its_place_on_both_bodies(void **unused) {
    (void)unused;
    thenar_rigid_def defs[] = {rigid("capsule", THENAR_MOTION_DYNAMIC, capsule),
                               rigid("ball", THENAR_MOTION_DYNAMIC, ball)};
    pose_turn(defs[0].pose, 0.3, 0.2, 1.4);
    vec3_store(defs[1].pose, vec3_make(0.05, 0.22, 0.03));
    static fixture f;
    fixture_start(&f, NULL, defs, 2);
    int count = find(&f, 0.05), of[2] = {0};
    assert_true(count > 2);
    for (int i = 0; i < count; i++) {
        const contact_point *c = &points[i];
        double centre[3], q[4];
        body_pose(f.sim, c->skin, centre, q);
        assert_near(vec3_distance(vec3_add(vec3_load(centre), c->arm), c->position), 0, 1e-15);
        vec3 local = quat_rotate(quat_conjugate((quat){q[0], q[1], q[2], q[3]}), c->arm);
        /* A ball's point may lie inside a row of balls. */
        double depth = plain_distance(c->skin == 0 ? "capsule" : "sphere", local);
        assert_true(depth < 1e-15 && (c->skin == 0 || depth > -1e-15));
        for (int k = 0; k < 4; k++) assert_true(c->node[k] == -1 && c->weights[k] == 0);
        assert_true(c->area == 0 && c->face_a == -1 && c->face_b == -1);
        check_ends(&f, c);
        of[c->skin]++;
    }
    /* The ball is one point, and knows the capsule as the capsule's nearest ball at most. */
    assert_int_equal(of[1], 1);
    assert_true(of[0] > 1 && points[count - 1].skin == 1);
    for (int i = 0; i < of[0]; i++) assert_true(points[i].gap >= points[count - 1].gap - 1e-15);
    fixture_end(&f);
}

static void balls_of_a_solid_lie_in_it_and_reach_as_far(void **unused) {
    (void)unused;
    thenar_error error;
    const double roundings[] = {0, 0.004, 0.05};
    const thenar_shape shapes[] = {ball, brick, capsule, cylinder};
    const double scales[] = {0.2, 1};
    int max = 0;
    for (int i = 0; i < 4 * 3 * 2; i++) {
        thenar_shape def = shapes[i % 4];
        double scale = scales[i / 12], radius;
        def.radius *= scale, def.length *= scale;
        for (int k = 0; k < 3; k++) def.size[k] *= scale;
        def.rounding = roundings[i / 4 % 3] * scale;
        rigid_shape shape;
        assert_ok(rigid_shape_create(&def, vec3_make(0.01, 0.02, 0.03), &shape, &error), error);
        vec3 centre[CONTACT_BALLS_MAX];
        int count = contact_balls(&shape, centre, &radius);
        assert_true(count <= CONTACT_BALLS_MAX);
        max = count > max ? count : max;
        for (int k = 0; k < count; k++) {
            assert_near(rigid_shape_closest(&shape, centre[k]).distance, -radius, 1e-15);
            for (int j = 0; j < k; j++) assert_true(vec3_distance(centre[j], centre[k]) > 1e-3);
        }
        box reached = box_grow(box_of(centre, count), radius);
        assert_near(vec3_distance(reached.low, shape.solid.bounds.low), 0, 1e-15);
        assert_near(vec3_distance(reached.high, shape.solid.bounds.high), 0, 1e-15);
        rigid_shape_free(&shape);
    }
    assert_int_equal(max, 3 * CONTACT_RIM + 2); /* the long, wide cylinder */
}

/* A surface of which each triangle has its own vertices, and one vertex that none uses. */
static thenar_surface tear(const thenar_surface *whole) {
    thenar_error error;
    thenar_surface torn;
    assert_ok(surface_create(3 * whole->triangle_count + 1, whole->triangle_count, &torn, &error), error);
    for (int i = 0; i < 3 * whole->triangle_count; i++) {
        vec3_store(torn.positions + 3 * i, surface_vertex(whole, whole->triangles[i]));
        torn.triangles[i] = i;
    }
    return torn;
}

static void vertices_of_a_rigid_mesh_at_one_place_count_once(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_surface mesh;
    const double size[3] = BOX_SIZE;
    assert_ok(thenar_surface_box(size, 2, &mesh, &error), error);
    thenar_surface torn = tear(&mesh);
    thenar_rigid_def defs[] = {
        rigid("whole", THENAR_MOTION_DYNAMIC, (thenar_shape){.kind = THENAR_SHAPE_MESH, .surface = &mesh}),
        rigid("torn", THENAR_MOTION_DYNAMIC, (thenar_shape){.kind = THENAR_SHAPE_MESH, .surface = &torn}),
        rigid("ground", THENAR_MOTION_STATIC, ground)};
    for (int i = 0; i < 2; i++) vec3_store(defs[i].pose, vec3_make(2 * i, 0.15, 0));
    static fixture f;
    fixture_start(&f, NULL, defs, 3);
    assert_int_equal(f.skin[0].point_count, mesh.vertex_count);
    assert_int_equal(f.skin[1].point_count, mesh.vertex_count);
    int count = find(&f, 1e-3);
    assert_int_equal(count, 2 * 9); /* 3 x 3 vertices of each side that lies on the ground */
    for (int i = 0; i < count; i++) {
        /* A triangle at the bottom, that has the vertex for a corner. */
        const thenar_surface *surface = points[i].skin == 0 ? &mesh : &torn;
        vec3 corner[3], at = vec3_sub(points[i].position, vec3_make(2 * points[i].skin, 0.15, 0));
        surface_corners(surface, points[i].face_a, corner);
        bool has = false;
        for (int k = 0; k < 3; k++) {
            has |= vec3_distance(corner[k], at) < 1e-12;
            assert_near(corner[k].y, -0.15, 1e-15);
        }
        assert_true(has);
        assert_near(points[i].gap, 0, 1e-15);
        assert_int_equal(points[i].face_b, -1);
    }
    fixture_end(&f);
    thenar_surface_free(&mesh);
    thenar_surface_free(&torn);
}

static void vertices_that_no_triangle_uses_touch_nothing(void **unused) {
    (void)unused;
    thenar_surface surface;
    thenar_tet_mesh tets;
    thenar_embedding embedding;
    thenar_soft_def soft;
    embedded_sphere(&surface, &tets, &embedding, &soft);
    surface.triangle_count -= 30;
    bool *used = calloc((size_t)surface.vertex_count, sizeof *used);
    int expected = 0;
    for (int i = 0; i < 3 * surface.triangle_count; i++) used[surface.triangles[i]] = true;
    for (int i = 0; i < surface.vertex_count; i++) expected += used[i];
    assert_true(expected < surface.vertex_count);
    thenar_rigid_def all = rigid("all", THENAR_MOTION_DRIVEN, (thenar_shape){.radius = 1});
    static fixture f;
    fixture_start(&f, &soft, &all, 1);
    int count = find(&f, 0);
    assert_int_equal(count, expected);
    for (int i = 0; i < count; i++) assert_true(used[points[i].vertex]);
    fixture_end(&f);
    free(used);
    thenar_surface_free(&surface);
    thenar_tet_mesh_free(&tets);
    thenar_embedding_free(&embedding);
}

/* All of the block is inside a half space, which sees its underside. */
static void areas_add_up_to_what_the_other_body_sees_of_the_deformed_surface(void **unused) {
    (void)unused;
    thenar_tet_mesh tets = tools_box(0.5, 0.5, 0.5, 6, 6, 6);
    thenar_soft_def soft = soft_block(&tets);
    thenar_rigid_def all =
        rigid("all", THENAR_MOTION_STATIC, (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}});
    all.pose[1] = 5;
    static fixture f;
    fixture_start(&f, &soft, &all, 1);
    const double stretches[] = {1, 2, 0.3};
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < tets.node_count; i++) sim_soft(f.sim, 0)->x[3 * i] = stretches[s] * tets.positions[3 * i];
        look(&f);
        int count = find(&f, 0);
        assert_int_equal(count, 6 * 6 * 6 + 2);
        double sum = 0, side = 0.5, longer = stretches[s] * side;
        for (int i = 0; i < count; i++) sum += points[i].area;
        assert_near(sum, side * longer, 1e-13);
    }
    fixture_end(&f);
    thenar_tet_mesh_free(&tets);
}

static double area_of(vec3 a, vec3 b, vec3 c) {
    return vec3_length(vec3_cross(vec3_sub(b, a), vec3_sub(c, a))) / 2;
}

static void a_point_knows_the_triangles_that_face_each_other(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_surface mesh;
    assert_ok(thenar_surface_sphere(0.2, 5, &mesh, &error), error);
    thenar_tet_mesh tets = tools_box(0.5, 0.5, 0.5, 6, 6, 6);
    thenar_soft_def soft = soft_block(&tets);
    thenar_rigid_def round = rigid("round", THENAR_MOTION_DRIVEN,
                                   (thenar_shape){.kind = THENAR_SHAPE_MESH, .surface = &mesh, .rounding = 0.01});
    vec3_store(round.pose, vec3_make(0.5, 0.5, 0.45)); /* over a corner */
    static fixture f;
    fixture_start(&f, &soft, &round, 1);
    const thenar_surface *surface = thenar_model_surface(f.model, 0), *other = thenar_model_surface(f.model, 1);
    int count = find(&f, 0.02);
    assert_true(count > 20);
    for (int i = 0; i < count; i++) {
        const contact_point *c = &points[i];
        double best = INFINITY, chosen = INFINITY;
        for (int t = 0; t < surface->triangle_count; t++) {
            const int *corner = surface_triangle(surface, t);
            if (corner[0] != c->vertex && corner[1] != c->vertex && corner[2] != c->vertex) continue;
            double facing = vec3_dot(vec3_unit(surface_area_vector(surface, t)), c->normal);
            best = fmin(best, facing);
            if (t == c->face_a) chosen = facing;
        }
        assert_near(chosen, best, 1e-12);
        /* The point of the mesh under the anchor makes three triangles with the corners, as large as the whole. It
         * is not turned: its axes are the world's. */
        vec3 corner[3], on_mesh = vec3_mul_add(c->anchor, c->normal, -0.01);
        surface_corners(other, c->face_b, corner);
        double parts = area_of(on_mesh, corner[0], corner[1]) + area_of(on_mesh, corner[1], corner[2]) +
                       area_of(on_mesh, corner[2], corner[0]);
        assert_near(parts, area_of(corner[0], corner[1], corner[2]), 1e-12);
    }
    fixture_end(&f);
    thenar_tet_mesh_free(&tets);
    thenar_surface_free(&mesh);
}

/* A block over a table. 5 cm of air, and 6 m/s, which is 6 cm a step: its bottom is found, at 4.5 m/s it is not. What
 * goes the other way is not either. */
#define AIR 0.05

static void expect_bottom(fixture *f, double speed) {
    look(f);
    int count = find(f, 1e-3);
    assert_int_equal(count, speed >= 6 ? 16 : 0);
    for (int i = 0; i < count; i++) {
        assert_near(points[i].gap, AIR, 1e-12);
        assert_near(points[i].normal.y, 1, 1e-14);
    }
}

static const double fast[] = {0, 4.5, 6, -6};

static void a_fast_soft_body_is_seen_before_it_arrives(void **unused) {
    (void)unused;
    thenar_tet_mesh tets = tools_box(0.3, 0.3, 0.3, 3, 3, 3);
    thenar_soft_def soft = soft_block(&tets);
    thenar_rigid_def table =
        rigid("table", THENAR_MOTION_STATIC, (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {4, 0.2, 4}});
    table.pose[1] = -AIR - 0.1;
    static fixture f;
    fixture_start(&f, &soft, &table, 1);
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < tets.node_count; i++) {
            sim_soft(f.sim, 0)->v[3 * i] = 20; /* sliding does not matter */
            sim_soft(f.sim, 0)->v[3 * i + 1] = -fast[k];
        }
        expect_bottom(&f, fast[k]);
    }
    fixture_end(&f);
    thenar_tet_mesh_free(&tets);
}

/* One that is fast among those that rest, in clusters much smaller than the way it goes. */
static void a_single_fast_vertex_is_seen_before_it_arrives(void **unused) {
    (void)unused;
    thenar_tet_mesh tets = tools_box(0.05, 0.05, 0.05, 10, 10, 10);
    thenar_soft_def soft = soft_block(&tets);
    thenar_rigid_def table = rigid("table", THENAR_MOTION_STATIC, ground);
    table.pose[1] = -AIR;
    static fixture f;
    fixture_start(&f, &soft, &table, 1);
    double *v = sim_soft(f.sim, 0)->v;
    for (int i = 0; i < tets.node_count; i++) {
        if (tets.positions[3 * i + 1] != 0) continue;
        v[3 * i + 1] = -6;
        look(&f);
        assert_int_equal(find(&f, 1e-3), 1);
        assert_near(vec3_distance(points[0].position, tet_mesh_node(&tets, i)), 0, 1e-15);
        v[3 * i + 1] = 0;
    }
    fixture_end(&f);
    thenar_tet_mesh_free(&tets);
}

static void held_nodes_are_seen_to_come_as_they_are_driven(void **unused) {
    (void)unused;
    for (int k = 0; k < 4; k++) {
        thenar_tet_mesh tets = tools_box(0.3, 0.3, 0.3, 3, 3, 3);
        thenar_soft_def soft = soft_block(&tets);
        const thenar_key keys[] = {{.time = 0}, {.time = 1, .move = {0, -fast[k], 0}}};
        const thenar_support support = {.region = tools_box_region(vec3_make(-1, -1, -1), vec3_make(1, 0.01, 1)),
                                        .keys = keys,
                                        .key_count = 2,
                                        .linear = true};
        soft.supports = &support;
        soft.support_count = 1;
        thenar_rigid_def table = rigid("table", THENAR_MOTION_STATIC, ground);
        table.pose[1] = -AIR;
        static fixture f;
        fixture_start(&f, &soft, &table, 1);
        for (int i = 0; i < 3 * tets.node_count; i++) sim_soft(f.sim, 0)->v[i] = -3; /* of held nodes: of no meaning */
        expect_bottom(&f, fast[k]);
        fixture_end(&f);
        thenar_tet_mesh_free(&tets);
    }
}

static void a_driven_body_is_seen_to_come_as_it_is_driven(void **unused) {
    (void)unused;
    thenar_tet_mesh tets = tools_box(0.3, 0.3, 0.3, 3, 3, 3);
    thenar_soft_def soft = soft_block(&tets);
    thenar_rigid_def plate =
        rigid("plate", THENAR_MOTION_DRIVEN, (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {4, 0.2, 4}});
    plate.pose[1] = -AIR - 0.1;
    static fixture f;
    fixture_start(&f, &soft, &plate, 1);
    for (int k = 0; k < 4; k++) {
        const double position[3] = {0, plate.pose[1] + fast[k] * STEP, 0}, turn[4] = {0, 0, 0, 1};
        assert_int_equal(drive_body(f.sim, 1, position, turn), THENAR_OK);
        expect_bottom(&f, fast[k]);
    }
    /* Turned about an axis under the block, the plate comes up by the angle times the distance from the axis, which is
     * 0.15 and 0.25 m for the last two rows of vertices. */
    const double position[3] = {0.05, plate.pose[1], 0.15}, little[4] = {0, 0, sin(0.19 / 2), cos(0.19 / 2)},
                 more[4] = {0, 0, sin(0.3 / 2), cos(0.3 / 2)};
    vec3_store(sim_rigid(f.sim, 1)->kept->position, vec3_load(position));
    assert_int_equal(drive_body(f.sim, 1, position, little), THENAR_OK);
    look(&f);
    assert_int_equal(find(&f, 1e-3), 0);
    assert_int_equal(drive_body(f.sim, 1, position, more), THENAR_OK);
    look(&f);
    int count = find(&f, 1e-3);
    assert_int_equal(count, 4);
    for (int i = 0; i < count; i++) assert_near(points[i].position.x, 0.3, 1e-15);
    fixture_end(&f);
    thenar_tet_mesh_free(&tets);
}

static void a_fast_rigid_body_is_seen_before_it_arrives(void **unused) {
    (void)unused;
    thenar_rigid_def defs[] = {rigid("ball", THENAR_MOTION_DYNAMIC, ball),
                               rigid("ground", THENAR_MOTION_STATIC, ground)};
    defs[0].pose[1] = 0.15 + AIR;
    static fixture f;
    fixture_start(&f, NULL, defs, 2);
    for (int k = 0; k < 4; k++) {
        vec3_store(sim_rigid(f.sim, 0)->kept->velocity, vec3_make(20, -fast[k], 0));
        vec3_store(sim_rigid(f.sim, 0)->kept->spin, vec3_make(0, 0, 100)); /* turns its surface along the ground only */
        look(&f);
        int count = find(&f, 1e-3);
        assert_int_equal(count, fast[k] >= 6);
        if (count) assert_near(points[0].gap, AIR, 1e-15);
    }
    fixture_end(&f);
}

static void a_full_array_is_not_overrun_and_the_whole_number_is_returned(void **unused) {
    (void)unused;
    thenar_tet_mesh tets = tools_box(0.5, 0.5, 0.5, 6, 6, 6);
    thenar_soft_def soft = soft_block(&tets);
    thenar_rigid_def all = rigid("all", THENAR_MOTION_DRIVEN, (thenar_shape){.radius = 2});
    static fixture f;
    fixture_start(&f, &soft, &all, 1);
    const int only = 0;
    contact_point first[11];
    int count = find(&f, 0);
    assert_int_equal(count, f.skin[0].point_count);
    first[10].vertex = -77;
    assert_int_equal(contact_find_points(f.skins, f.rigids, NULL, f.pairs, &only, 1, 0, STEP, NULL, first, 10), count);
    assert_int_equal(first[10].vertex, -77);
    for (int i = 0; i < 10; i++) assert_true(first[i].vertex == points[i].vertex && first[i].gap == points[i].gap);
    assert_int_equal(contact_find_points(f.skins, f.rigids, NULL, f.pairs, &only, 1, 0, STEP, NULL, NULL, 0), count);
    fixture_end(&f);
    thenar_tet_mesh_free(&tets);
}

/* What a vertex sees that slides over the edge of a box along a path of constant gap, and a little inside. */
static void slide(const thenar_shape *def, double radius, double gap, double wobble) {
    thenar_error error;
    rigid_shape shape;
    assert_ok(rigid_shape_create(def, vec3_make(0, 0, 0), &shape, &error), error);
    random_source random = {1};
    double reach = radius + gap, step = 2e-6, angle = 0;
    vec3 last = {0, 1, 0};
    int turned = 0;
    /* Along the top, around the edge whose centre is (0.1 - radius, 0.1 - radius), down the side. */
    for (double s = 0; s < 0.02 + reach * 1.5707963; s += step) {
        double over = s - 0.01, t = fmin(fmax(over / reach, 0), 1.5707963);
        vec3 p = vec3_make(0.1 - radius + reach * sin(t) - fmax(-over, 0), 0.1 - radius + reach * cos(t), 0.02);
        if (over > reach * 1.5707963) p.y -= over - reach * 1.5707963;
        vec3 noisy = vec3_add(p, tools_random_vector(&random, wobble));
        rigid_closest c = rigid_shape_closest(&shape, noisy);
        assert_near(c.distance, gap, 2 * wobble + 1e-12);
        /* No faster than the point moves around the centre of the edge: no flicker. */
        double allowed = (step + 4 * wobble) / (reach - 2 * wobble);
        assert_true(vec3_distance(c.normal, last) <= allowed + 1e-9);
        double now = atan2(c.normal.x, c.normal.y);
        assert_true(now >= angle - allowed);
        angle = fmax(angle, now);
        turned += vec3_distance(c.normal, last) > 1e-9;
        last = c.normal;
    }
    assert_near(angle, 1.5707963, 1e-3);
    assert_true(turned > 100);
    rigid_shape_free(&shape);
}

static void normals_do_not_flicker_when_a_point_slides_over_an_edge(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_surface mesh;
    const double size[3] = {0.2, 0.2, 0.2}, inner[3] = {0.198, 0.198, 0.198};
    thenar_shape cube = {.kind = THENAR_SHAPE_BOX, .size = {0.2, 0.2, 0.2}}, round = cube;
    round.rounding = 1e-3;
    /* A sharp edge: outside only. */
    slide(&cube, 0, 1e-3, 0);
    slide(&cube, 0, 1e-3, 1e-7);
    /* A round edge: outside, in touch, and half a millimetre inside. */
    const double gaps[] = {1e-3, 0, -5e-4};
    for (int i = 0; i < 3; i++) slide(&round, 1e-3, gaps[i], 1e-7);
    assert_ok(thenar_surface_box(inner, 3, &mesh, &error), error);
    thenar_shape grown = {.kind = THENAR_SHAPE_MESH, .surface = &mesh, .rounding = 1e-3};
    for (int i = 0; i < 3; i++) slide(&grown, 1e-3, gaps[i], 1e-7);
    thenar_surface_free(&mesh);
    assert_ok(thenar_surface_box(size, 3, &mesh, &error), error);
    thenar_shape sharp = {.kind = THENAR_SHAPE_MESH, .surface = &mesh};
    slide(&sharp, 0, 1e-3, 1e-7);
    thenar_surface_free(&mesh);
}

/* The same through the search: a ball that rolls over the rounded edge of a box, half a millimetre inside. */
static void normals_do_not_flicker_when_a_ball_rolls_over_an_edge(void **unused) {
    (void)unused;
    thenar_rigid_def defs[] = {
        rigid("ball", THENAR_MOTION_DYNAMIC, (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.01}),
        rigid("cube", THENAR_MOTION_STATIC,
              (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {0.2, 0.2, 0.2}, .rounding = 1e-3})};
    static fixture f;
    fixture_start(&f, NULL, defs, 2);
    random_source random = {5};
    const double reach = 0.01 + 5e-4, wobble = 1e-7, step = 2e-3;
    vec3 last = {0, 1, 0};
    for (double angle = 0; angle <= 1.5707963; angle += step) {
        vec3 p = vec3_make(0.099 + reach * sin(angle), 0.099 + reach * cos(angle), 0.03);
        vec3_store(sim_rigid(f.sim, 0)->kept->position, vec3_add(p, tools_random_vector(&random, wobble)));
        look(&f);
        assert_int_equal(find(&f, 0), 1);
        assert_near(points[0].gap, -5e-4, 2 * wobble);
        assert_near(vec3_distance(points[0].normal, vec3_make(sin(angle), cos(angle), 0)), 0, 2 * wobble / reach);
        assert_true(vec3_distance(points[0].normal, last) <= step + 4 * wobble / reach);
        last = points[0].normal;
    }
    fixture_end(&f);
}

static void bodies_far_away_touch_nothing(void **unused) {
    (void)unused;
    thenar_tet_mesh tets = tools_box(0.5, 0.5, 0.5, 3, 3, 3);
    thenar_soft_def soft = soft_block(&tets);
    thenar_rigid_def far = rigid("far", THENAR_MOTION_DRIVEN, (thenar_shape){.radius = 1});
    vec3_store(far.pose, vec3_make(0, -3, 0));
    static fixture f;
    fixture_start(&f, &soft, &far, 1);
    assert_int_equal(find(&f, 0.1), 0);
    fixture_end(&f);
    thenar_tet_mesh_free(&tets);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(candidates_are_those_that_brute_force_finds),
    cmocka_unit_test(a_soft_point_has_its_nodes_and_weights_on_both_bodies),
    cmocka_unit_test(a_rigid_point_has_its_place_on_both_bodies),
    cmocka_unit_test(balls_of_a_solid_lie_in_it_and_reach_as_far),
    cmocka_unit_test(vertices_of_a_rigid_mesh_at_one_place_count_once),
    cmocka_unit_test(vertices_that_no_triangle_uses_touch_nothing),
    cmocka_unit_test(areas_add_up_to_what_the_other_body_sees_of_the_deformed_surface),
    cmocka_unit_test(a_point_knows_the_triangles_that_face_each_other),
    cmocka_unit_test(a_fast_soft_body_is_seen_before_it_arrives),
    cmocka_unit_test(a_single_fast_vertex_is_seen_before_it_arrives),
    cmocka_unit_test(held_nodes_are_seen_to_come_as_they_are_driven),
    cmocka_unit_test(a_driven_body_is_seen_to_come_as_it_is_driven),
    cmocka_unit_test(a_fast_rigid_body_is_seen_before_it_arrives),
    cmocka_unit_test(a_full_array_is_not_overrun_and_the_whole_number_is_returned),
    cmocka_unit_test(normals_do_not_flicker_when_a_point_slides_over_an_edge),
    cmocka_unit_test(normals_do_not_flicker_when_a_ball_rolls_over_an_edge),
    cmocka_unit_test(bodies_far_away_touch_nothing),
};

TEST_MAIN(tests)
