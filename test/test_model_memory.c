/* What building a model, running it and writing it do when memory runs out: an error or a success, nothing leaked,
 * nothing half-built. The allocations of METIS, AMD, libyaml, jansson and zstd fail in their turn too. */
#include "failing_memory.h"

#if FAILING_MEMORY

#include "thenar/thenar.h"

#include <fcntl.h>
#include <unistd.h>

static char directory[] = "/tmp/test_model_memory_XXXXXX";
static char recording_path[64], vtk_path[64], scene_path[64];

/* An embedded body with fill, and a box with everything that a body can be given. */
static const char scene_text[] =
    "thenar: 1\n"
    "title: two bodies\n"
    "bodies:\n"
    "  block:\n"
    "    shape: {embed: {box: [0.1, 0.1, 0.1], cell: 0.1}}\n"
    "    material: {young: 1.0e+5}\n"
    "  beam:\n"
    "    shape: {box: {size: [0.4, 0.1, 0.1], cells: [4, 1, 1]}}\n"
    "    material: {young: 1.0e+5, damping: {stiffness: 0.01}}\n"
    "    regions: [{where: {sphere: {centre: [0, 0, 0], radius: 0.2}}, "
    "material: {young: 2.0e+5}}]\n"
    "    supports:\n"
    "      clamp:\n"
    "        where: {box: [[0, 0, 0], [0, 0.1, 0.1]]}\n"
    "        keys: [{time: 0}, {time: 1, move: [0, 0.1, 0]}]\n"
    "    loads: [{where: {half: {point: [0.3, 0, 0], normal: [-1, 0, 0]}}, "
    "force: [0, -1, 0]}]\n"
    "handles: {end: {tool: beam, seed: [0.4, 0.05, 0.05], radius: 0.09, linearize: true, "
    "keys: [{time: 0}, {time: 1, move: [0, 0.1, 0]}]}}\n"
    "haptic: {rate: 500, handles: {end: {device: \"user:person.json\", fade_time: 0.1}}}\n";

static int make_files(void **state) {
    (void)state;
    if (!mkdtemp(directory)) return -1;
    snprintf(recording_path, sizeof recording_path, "%s/recording.thenar", directory);
    snprintf(vtk_path, sizeof vtk_path, "%s/final.vtk", directory);
    snprintf(scene_path, sizeof scene_path, "%s/scene.yaml", directory);
    FILE *file = fopen(scene_path, "wb");
    return !file || fputs(scene_text, file) < 0 || fclose(file) != 0;
}

static int remove_files(void **state) {
    (void)state;
    remove(recording_path);
    remove(vtk_path);
    remove(scene_path);
    return rmdir(directory);
}

static thenar_region box_region(double low, double high) {
    return (thenar_region){.kind = THENAR_REGION_BOX, .a = {low, -1, -1}, .b = {high, 1, 1}};
}

/* Adds a body with regions, supports with and without keys and name, and a load. A failed try leaves the build as it
 * was: after one that fails for want of memory, the same body can be added. */
static thenar_status add_body(thenar_build *build, const thenar_tet_mesh *mesh, const char *name, thenar_error *error) {
    const thenar_key keys[] = {{.time = 0}, {.time = 1, .move = {0, 0.1, 0}, .turn = {0.2, 0, 0}}};
    const thenar_soft_region region = {.region = box_region(0, 0.2), .material = thenar_material_default()};
    const thenar_support supports[] = {{.name = "left", .region = box_region(0, 0), .keys = keys, .key_count = 2},
                                       {.region = box_region(0.4, 0.4)}};
    const thenar_load load = {.region = box_region(0.1, 0.3), .force = {0, -1, 0}};
    thenar_soft_def def = thenar_soft_def_default();
    def.name = name;
    def.mesh = mesh;
    def.regions = &region;
    def.region_count = 1;
    def.supports = supports;
    def.support_count = 2;
    def.loads = &load;
    def.load_count = 1;
    thenar_status status = thenar_build_add_soft(build, &def, error);
    if (status == THENAR_ERROR_MEMORY) status = thenar_build_add_soft(build, &def, error);
    return status;
}

static thenar_status build_model(const int cells[3], thenar_model **model, thenar_error *error) {
    const double low[3] = {0, 0, 0}, high[3] = {0.4, 0.1, 0.1};
    thenar_tet_mesh mesh;
    *model = NULL;
    thenar_status status = thenar_tet_mesh_box(low, high, cells, THENAR_LATTICE_CUBE, &mesh, error);
    if (status != THENAR_OK) {
        assert_null(mesh.positions);
        assert_int_equal(mesh.node_count, 0);
        return status;
    }
    thenar_world_def world = thenar_world_def_default();
    world.name = "world";
    thenar_build *build = thenar_build_create(&world);
    if (build) {
        status = add_body(build, &mesh, "first", error);
        if (status == THENAR_OK) status = add_body(build, &mesh, "second", error);
        if (status == THENAR_OK) {
            status = thenar_build_compile(build, model, error);
            assert_true((status == THENAR_OK) == (*model != NULL));
        }
    } else {
        error->status = status = THENAR_ERROR_MEMORY;
    }
    thenar_build_free(build);
    thenar_tet_mesh_free(&mesh);
    if (status == THENAR_OK) assert_int_equal(thenar_model_body_count(*model), 2);
    return status;
}

static thenar_status compile(void *cells, thenar_error *error) {
    thenar_model *model;
    thenar_status status = build_model(cells, &model, error);
    thenar_model_free(model);
    return status;
}

static thenar_status record(const thenar_sim *sim, thenar_error *error) {
    thenar_recorder *recorder;
    thenar_status status = thenar_recorder_create(recording_path, sim, &recorder, error);
    assert_true((status == THENAR_OK) == (recorder != NULL));
    if (status != THENAR_OK) return status;
    status = thenar_recorder_add(recorder, error);
    thenar_status closed = thenar_recorder_close(recorder, status == THENAR_OK ? error : NULL);
    return status == THENAR_OK ? closed : status;
}

static thenar_status simulate(void *model, thenar_error *error) {
    thenar_sim *sim;
    thenar_sim_options options = {.threads = 2};
    thenar_status status = thenar_sim_create(model, &options, &sim, error);
    assert_true((status == THENAR_OK) == (sim != NULL));
    if (status == THENAR_OK) assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    if (status == THENAR_OK) status = record(sim, error);
    if (status == THENAR_OK) status = thenar_sim_write_vtk(sim, vtk_path, error);
    thenar_sim_free(sim);
    return status;
}

static thenar_status load_scene(void *unused, thenar_error *error) {
    (void)unused;
    thenar_model *model;
    thenar_scene_info info;
    thenar_status status = thenar_scene_load(scene_path, NULL, &model, &info, error);
    assert_true((status == THENAR_OK) == (model != NULL));
    if (status == THENAR_OK) assert_int_equal(thenar_model_body_count(model), 2);
    thenar_model_free(model);
    return status;
}

static void a_model_is_built_whole_or_not_at_all(void **state) {
    (void)state;
    int cells[3] = {4, 1, 1};
    failing_memory_count all = failing_memory_each(compile, cells, false);
    assert_true(all.failed > 100);
    assert_int_equal(all.refused, all.failed);
    /* A body that could not be added is added again: not every single failure ends in an error. */
    failing_memory_count once = failing_memory_each(compile, cells, true);
    assert_true(once.refused > 50 && once.refused < once.failed);
}

/* METIS tells of every failure on stderr. */
static int hide_stderr(void) {
    int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    assert_true(kept >= 0 && nowhere >= 0);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
    return kept;
}

/* With another order the same model would give other bits. */
static void a_model_has_the_same_elimination_order_or_is_refused(void **state) {
    (void)state;
    int cells[3] = {5, 3, 2}; /* an island of 96 free nodes: METIS dissects from 40 on, in thousands of allocations */
    for (int once = 0; once < 2; once++) {
        int kept = hide_stderr();
        failing_memory_count count = failing_memory_sample(compile, cells, once, 13);
        dup2(kept, STDERR_FILENO);
        close(kept);
        assert_true(count.failed > 100);
        assert_true(count.refused > count.failed * 9 / 10);
    }
}

static void a_simulation_is_made_and_written_or_says_why_not(void **state) {
    (void)state;
    thenar_error error;
    thenar_model *model;
    assert_ok(build_model((int[]){4, 1, 1}, &model, &error), error);
    for (int once = 0; once < 2; once++) {
        failing_memory_count count = failing_memory_each(simulate, model, once);
        assert_true(count.failed > 100);
        /* Some are not needed: a mesh that cannot be compressed is stored as it is, a file without a buffer is slow. */
        assert_true(count.refused > count.failed * 9 / 10);
    }
    thenar_model_free(model);
}

static void a_scene_is_loaded_whole_or_not_at_all(void **state) {
    (void)state;
    for (int once = 0; once < 2; once++) {
        failing_memory_count count = failing_memory_each(load_scene, NULL, once);
        assert_true(count.failed > 300);
        assert_true(count.refused > count.failed * 9 / 10);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_model_is_built_whole_or_not_at_all),
    cmocka_unit_test(a_model_has_the_same_elimination_order_or_is_refused),
    cmocka_unit_test(a_simulation_is_made_and_written_or_says_why_not),
    cmocka_unit_test(a_scene_is_loaded_whole_or_not_at_all),
};

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
#else
int main(void) {
    return 0;
}
#endif
