/* Every operation that allocates, with each of its allocations failing in turn, those of METIS, AMD, libyaml, jansson and
 * zstd too: it returns an error or succeeds, leaks nothing and leaves nothing half-built. */
#include "failing_memory.h"
#include "thenar/scene.h"

#if FAILING_MEMORY

#include "contact/find.h"
#include "io/file.h"
#include "device/device.h"
#include "hand/hand.h"
#include "hand/retarget.h"
#include "scene/config.h"
#include "scene/scene.h"
#include "world/model.h"

#include "hand_world.h"
#include "mesh_samples.h"
#include "plain_hand.h"
#include "recording_fixture.h"
#include "soft_tools.h"

#include <fcntl.h>
#include <unistd.h>

/* ---- files ---- */

static char directory[] = "/tmp/test_memory_XXXXXX";
enum { BASE, CONFIG, SCENE, USER, RECORDED, RECORDING, DAMAGED, WRITTEN_RECORDING, WRITTEN_VTK, FILES };
static char path[FILES][64];

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static file_bytes read_all(const char *name) {
    file_bytes bytes;
    thenar_error error;
    assert_ok(file_read(name, FILE_SIZE_LIMIT, &bytes, &error), error);
    return bytes;
}

/* ---- operations: what is done while allocations fail, and what it is done with ---- */

/* Enough text for several blocks of the pool, and a mapping large enough to be indexed. */
static void write_config(void) {
    char text[16384] = "anchored: &a {x: [1, 2], y: text}\nalias: *a\nlarge:\n";
    for (int i = 0; i < 200; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "  key%d: 'some quoted text %d'\n", i, i);
    }
    write_text(path[BASE], text);
    write_text(path[CONFIG], "include: base.yaml\nlarge: {key7: ~, other: 5}\nmesh: a.msh\n");
}

/* out: opened beforehand, as stdio allocates a buffer of its own. */
static thenar_status use_config(void *out, thenar_error *error) {
    config tree;
    thenar_status status = config_load(&tree, path[CONFIG], error);
    if (status != THENAR_OK) return status;
    status = config_set(&tree, "large.key9={a: [1, 2, 3]}", error);
    if (status == THENAR_OK) status = config_set(&tree, "large.new=5", error);
    if (status == THENAR_OK) status = config_print(tree.root, out, error);
    config_reader reader = {.error = error, .status = status};
    config_map map;
    config_open(&reader, tree.root, "scene", &map);
    char *mesh = NULL;
    config_file(&map, "mesh", CONFIG_REQUIRED, &mesh);
    free(mesh);
    config_free(&tree);
    return reader.status;
}

static thenar_status make_skin(void *context, thenar_error *error) {
    contact_skin skin;
    thenar_status status = contact_skin_create(context, &skin, error);
    if (status == THENAR_OK) contact_skin_free(&skin);
    return status;
}

/* For a body that touches itself. */
static thenar_status make_faces(void *context, thenar_error *error) {
    contact_faces faces;
    thenar_status status = contact_faces_create(context, 0.2, &faces, error);
    if (status == THENAR_OK) contact_faces_free(&faces);
    return status;
}

/* A soft body, a coarser one, a ball and a mesh. */
static thenar_model *touching_bodies(void) {
    thenar_error error;
    thenar_surface mesh;
    const double size[3] = {0.2, 0.2, 0.2};
    assert_ok(thenar_surface_box(size, 2, &mesh, &error), error);
    thenar_tet_mesh tets = tools_box(0.5, 0.5, 0.5, 3, 3, 3);
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_soft_def soft = thenar_soft_def_default();
    thenar_rigid_def ball = thenar_rigid_def_default(), shell = ball;
    soft.name = "soft", ball.name = "ball", shell.name = "shell";
    soft.mesh = &tets;
    ball.shape = (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.1};
    shell.shape = (thenar_shape){.kind = THENAR_SHAPE_MESH, .surface = &mesh};
    assert_ok(thenar_build_add_soft(build, &soft, &error), error);
    soft.name = "coarser";
    soft.contact_spacing = 0.4;
    assert_ok(thenar_build_add_soft(build, &soft, &error), error);
    assert_ok(thenar_build_add_rigid(build, &ball, &error), error);
    assert_ok(thenar_build_add_rigid(build, &shell, &error), error);
    thenar_model *model;
    assert_ok(thenar_build_compile(build, &model, &error), error);
    thenar_build_free(build);
    thenar_tet_mesh_free(&tets);
    thenar_surface_free(&mesh);
    return model;
}

static thenar_status make_skeleton(void *context, thenar_error *error) {
    const hand_springs springs = hand_springs_default();
    const thenar_hand_key poses[] = {{.time = 0, .pose = THENAR_HAND_POSE_OPEN},
                                     {.time = 1, .pose = THENAR_HAND_POSE_FIST}};
    const thenar_key keys[] = {{.time = 0}, {.time = 1, .move = {0.1, 0, 0}}};
    const hand_script_def def = {.poses = poses, .pose_count = 2, .keys = keys, .key_count = 2};
    hand_skeleton hand;
    hand_script script;
    thenar_status status = hand_skeleton_create(context, &springs, &hand, error);
    if (status != THENAR_OK) return status;
    status = hand_script_create(&def, &hand, &script, error);
    if (status == THENAR_OK) hand_script_free(&script);
    hand_skeleton_free(&hand);
    return status;
}

static thenar_status read_track(void *context, thenar_error *error) {
    track frames;
    thenar_status status = track_parse(context, strlen(context), "wave.jsonl", &frames, error);
    if (status == THENAR_OK) track_free(&frames);
    return status;
}

static void print_track(char text[2000]) {
    text[0] = 0;
    for (int frame = 0; frame < 2; frame++) {
        size_t length = strlen(text);
        snprintf(text + length, 2000 - length, "{\"t\": %d, \"hand\": \"left\", \"joints\": [", frame);
        for (int j = 0; j < HAND_JOINTS; j++) strcat(text, j ? ", [1, 2, 3]" : "null");
        strcat(text, "]}\n");
    }
}

typedef struct sample_input {
    const char *name;
    file_bytes bytes;
} sample_input;

static thenar_status parse_mesh(void *context, thenar_error *error) {
    const sample_input *input = context;
    mesh_file file;
    thenar_status status = mesh_file_parse(input->name, input->bytes, &file, error);
    if (status == THENAR_OK) mesh_file_free(&file);
    return status;
}

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

static thenar_region box_region(double low, double high) {
    return (thenar_region){.kind = THENAR_REGION_BOX, .box_min = {low, -1, -1}, .box_max = {high, 1, 1}};
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

static thenar_status compile_model(void *cells, thenar_error *error) {
    thenar_model *model;
    thenar_status status = build_model(cells, &model, error);
    thenar_model_free(model);
    return status;
}

/* METIS reports every failure on stderr. */
static thenar_status compile_quietly(void *cells, thenar_error *error) {
    int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    thenar_status status = compile_model(cells, error);
    dup2(kept, STDERR_FILENO);
    close(nowhere);
    close(kept);
    return status;
}

static thenar_status record(const thenar_sim *sim, thenar_error *error) {
    thenar_recorder *recorder;
    thenar_status status = thenar_recorder_create(path[WRITTEN_RECORDING], sim, NULL, &recorder, error);
    assert_true((status == THENAR_OK) == (recorder != NULL));
    if (status != THENAR_OK) return status;
    status = thenar_recorder_add(recorder, error);
    thenar_status closed = thenar_recorder_close(recorder, status == THENAR_OK ? error : NULL);
    return status == THENAR_OK ? closed : status;
}

static thenar_status simulate(void *model, thenar_error *error) {
    thenar_sim *sim;
    thenar_sim_options options = {.size = sizeof(thenar_sim_options), .threads = 2, .contact = THENAR_CONTACT_OF_MODEL};
    thenar_status status = thenar_sim_create(model, &options, &sim, error);
    assert_true((status == THENAR_OK) == (sim != NULL));
    if (status == THENAR_OK) assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    if (status == THENAR_OK) status = record(sim, error);
    if (status == THENAR_OK) status = thenar_sim_write_vtk(sim, path[WRITTEN_VTK], error);
    thenar_sim_free(sim);
    return status;
}

static thenar_status load_scene(void *file, thenar_error *error) {
    thenar_model *model;
    thenar_scene_info info;
    thenar_status status = thenar_scene_load(file, NULL, &model, &info, error);
    assert_true((status == THENAR_OK) == (model != NULL));
    if (status == THENAR_OK) assert_int_equal(thenar_model_body_count(model), 2);
    thenar_model_free(model);
    return status;
}

static thenar_status parse_json(void *context, thenar_error *error) {
    json_t *root;
    thenar_status status = json_text_parse(context, strlen(context), "text", &root, error);
    assert_true((status == THENAR_OK) == (root != NULL));
    json_decref(root);
    return status;
}

/* Texts and numbers that outgrow jansson's buffers, in which its own reader reads on or aborts; a table that grows. */
static void print_json(char text[8192]) {
    strcpy(text, "{\"a text that is much longer than a first buffer would be, with \\u00e9\\n in it\": "
                 "0.12345678901234567890123456789012345678901234567890, \"list\": [");
    for (int i = 0; i < 40; i++) sprintf(text + strlen(text), "-%d.5e-3, ", i);
    strcat(text, "[true, null]], \"object\": {");
    for (int i = 0; i < 40; i++) sprintf(text + strlen(text), "%s\"key %d\": \"%d\"", i ? ", " : "", i, i);
    strcat(text, "}}");
}

static thenar_status read_user(void *context, thenar_error *error) {
    user_model model;
    thenar_status status = user_model_read(context, &model, error);
    assert_true(status == THENAR_OK || !model.keys);
    user_model_free(&model);
    return status;
}

static thenar_status open_recorded(void *context, thenar_error *error) {
    char message[256];
    void *device = device_recorded_table.open(context, message, sizeof message);
    if (!device)
        return error_set(error, strstr(message, "out of memory") ? THENAR_ERROR_MEMORY : THENAR_ERROR_FILE, "%s",
                         message);
    device_recorded_table.close(device);
    return THENAR_OK;
}

static thenar_status read_message(void *context, thenar_error *error) {
    thenar_device_sample sample;
    char id[INVERSE_ID], text[512];
    if (!inverse_read(context, strlen(context), &sample, id)) return error_memory(error, "a message");
    const double force[3] = {0.1, 0.2, 0.3};
    return inverse_write(id, force, text, sizeof text) > 0 ? THENAR_OK : error_memory(error, "an order");
}

static thenar_status read_recording(void *file, thenar_error *error) {
    thenar_recording *recording;
    thenar_status status = thenar_recording_open(file, &recording, error);
    if (status != THENAR_OK) {
        assert_null(recording);
        return status;
    }
    double places[3 * FIXTURE_LARGEST];
    const thenar_recording_mesh *mesh;
    const thenar_contact *contacts;
    int count;
    assert_true((thenar_recording_damage(recording) != NULL) == (file == (void *)path[DAMAGED]));
    assert_int_equal(thenar_recording_frame_count(recording), FIXTURE_FRAMES);
    for (int b = 0; b < FIXTURE_BODIES && status == THENAR_OK; b++) {
        status = thenar_recording_read_mesh(recording, b, &mesh, error);
        if (status == THENAR_OK) status = thenar_recording_read_surface(recording, b, 2, places, error);
    }
    if (status == THENAR_OK) status = thenar_recording_read_contacts(recording, 3, &contacts, &count, error);
    thenar_recording_close(recording);
    return status;
}

static thenar_status read_hand(void *context, thenar_error *error) {
    const file_bytes *all = context;
    hand_shape hand;
    double *weight;
    /* The bytes are used up. */
    file_bytes bytes = {.data = malloc(all->size + 1), .size = all->size};
    if (!bytes.data) return error_memory(error, "bytes");
    memcpy(bytes.data, all->data, all->size + 1);
    thenar_status status = hand_gltf_parse("hand.glb", bytes, &hand, &weight, error);
    assert_true((status == THENAR_OK) == (weight != NULL && hand.skin.positions != NULL));
    free(weight);
    hand_shape_free(&hand);
    return status;
}

static thenar_status parse_scene(void *context, thenar_error *error) {
    const file_bytes *text = context;
    thenar_model *model;
    thenar_status status =
        thenar_scene_parse(text->data, text->size, SOURCE_DIR "/scenes/scene.yaml", NULL, &model, NULL, error);
    assert_true((status == THENAR_OK) == (model != NULL));
    thenar_model_free(model);
    return status;
}

static thenar_status create_tactile(void *model, thenar_error *error) {
    thenar_wearable_def rrs = thenar_wearable_def_default(THENAR_WEARABLE_RRS);
    thenar_tactile_def worn[2] = {
        {.size = sizeof *worn, .name = "one", .finger = THENAR_FINGER_INDEX, .device = &rrs},
        {.size = sizeof *worn, .name = "two", .finger = THENAR_FINGER_LITTLE, .device = &rrs}};
    thenar_tactile_options options = thenar_tactile_options_default();
    options.devices = worn;
    options.device_count = 2;
    thenar_tactile *tactile;
    thenar_status status = thenar_tactile_create(model, &options, &tactile, error);
    assert_true((status == THENAR_OK) == (tactile != NULL));
    thenar_tactile_free(tactile);
    return status;
}

static thenar_status load_wearable(void *file, thenar_error *error) {
    thenar_wearable_def def;
    return thenar_wearable_load(file, &def, sizeof def, error);
}

/* ---- the table ---- */

/* Contexts of operations: made once, by set_up(). */
static void *null_file, *bodies[4], *skin, *rest, *track_text, *samples[MESH_SAMPLE_COUNT], *beam, *json, *gltf[2],
    *scene, *worn_hand;
static int few_cells[3] = {4, 1, 1};
static int many_cells[3] = {5, 3,
                            2}; /* an island of 96 free nodes: METIS dissects from 40 on, in thousands of allocations */
static char built_in[] = "", wearable[] = SOURCE_DIR "/scenes/devices/cable.yaml";
static char message[] =
    "{\"inverse3\": [{\"device_id\": \"049D\", \"state\": {\"cursor_position\": {\"x\": 0.10000000000000001, "
    "\"y\": 0, \"z\": 0.1}, \"cursor_velocity\": {\"x\": 0, \"y\": 0, \"z\": 0}}}]}";
static void *few = few_cells, *many = many_cells, *user = built_in, *cable = wearable, *inverse = message,
            *paths[FILES];

typedef struct operation {
    const char *name;
    failing_memory_use use;
    void **contexts;
    int context_count;
    int min_failed;   /* there are at least as many allocations */
    int min_refused;  /* percent of failing allocations that must be an error: the others can be done without */
    int stride;       /* every so many allocations; 0: each */
    bool tries_again; /* after one failure it succeeds now and then */
} operation;

static operation operations[] = {
    /* Not needed: an index that makes finding faster, the absolute name of a file. */
    {"a config is loaded, changed, printed and read", use_config, &null_file, 1, 50, 90, 0, false},
    /* Even a ball needs an order and a place for its one point. */
    {"the skin of a body is made", make_skin, bodies, 4, 3, 100, 0, false},
    {"the faces of a body that touches itself are made", make_faces, &skin, 1, 20, 100, 0, false},
    {"a skeleton and its script are made", make_skeleton, &rest, 1, 5, 100, 0, false},
    {"a track is read", read_track, &track_text, 1, 50, 100, 0, false},
    {"meshes are read", parse_mesh, samples, MESH_SAMPLE_COUNT, 6, 100, 0, false},
    {"a model is built", compile_model, &few, 1, 100, 50, 0, true},
    /* With another elimination order the same model would give other bits. */
    {"a model keeps its elimination order", compile_quietly, &many, 1, 100, 90, 13, false},
    /* Not needed: a mesh that cannot be compressed is stored as it is, a file without a buffer is slow. */
    {"a simulation steps and is written", simulate, &beam, 1, 100, 90, 0, false},
    {"a scene is loaded", load_scene, &paths[SCENE], 1, 300, 90, 0, false},
    {"a scene with contacts is parsed", parse_scene, &scene, 1, 300, 90, 0, false},
    {"JSON is parsed", parse_json, &json, 1, 4, 90, 0, false},
    {"a simulated user is read", read_user, &paths[USER], 1, 4, 90, 0, false},
    {"the built-in user is made", read_user, &user, 1, 1, 100, 0, false},
    {"recorded device samples are read", open_recorded, &paths[RECORDED], 1, 4, 90, 0, false},
    {"a message of an Inverse3 is read and answered", read_message, &inverse, 1, 4, 90, 0, false},
    {"a recording is read", read_recording, &paths[RECORDING], 1, 4, 90, 0, false},
    /* Without its last byte there is no index: frames are found from the front. */
    {"a damaged recording is read", read_recording, &paths[DAMAGED], 1, 4, 90, 0, false},
    {"a hand from glTF is read", read_hand, gltf, 2, 4, 90, 0, false},
    {"tactile devices are made", create_tactile, &worn_hand, 1, 30, 100, 0, false},
    {"a wearable device is read", load_wearable, &cable, 1, 5, 90, 0, false},
};
#define OPERATIONS (sizeof operations / sizeof *operations)

static void check_operation(void **state) {
    const operation *o = *state;
    for (int i = 0; i < 2 * o->context_count; i++) {
        bool once = i % 2;
        failing_memory_count count = failing_memory_sample(o->use, o->contexts[i / 2], once, o->stride ? o->stride : 1);
        if (count.failed < o->min_failed || 100 * count.refused < o->min_refused * count.failed)
            fail_msg("of %ld failing allocations %ld were errors", count.failed, count.refused);
        if (o->tries_again) assert_true(once ? count.refused < count.failed : count.refused == count.failed);
    }
}

/* The first allocation of a device is its own. What a library does on its first allocation is not tried: liblo and
 * libwebsockets do not survive it. */
static void a_device_that_gets_no_memory_says_so(void **state) {
    (void)state;
    static const thenar_device_table *const tables[] = {
#ifdef THENAR_OSC
        &device_osc_table,
#endif
#ifdef THENAR_WEBSOCKET
        &device_ws_table,
#endif
        NULL};
    for (int i = 0; tables[i]; i++) {
        char text[256] = "";
        memory_fails_once = true;
        memory_until_failure = 0;
        assert_null(tables[i]->open("47100", text, sizeof text));
        memory_until_failure = -1;
        assert_string_equal(text, "out of memory");
    }
}

static void write_files(void) {
    static const char *const names[FILES] = {"base.yaml",      "config.yaml",    "scene.yaml",
                                             "user.json",      "recorded.jsonl", "recording.thenar",
                                             "damaged.thenar", "written.thenar", "written.vtk"};
    for (int i = 0; i < FILES; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", directory, names[i]);
        paths[i] = path[i];
    }
    write_config();
    write_text(path[SCENE], scene_text);
    write_text(path[USER], "{\"mass\": 0.30000000000000004, \"repeat\": true, \"keys\": [{\"t\": 0, \"position\": [0, "
                           "0.0200000000000001, 0]}, {\"t\": 0.5, \"turn\": [0, 1, 0]}]}");
    write_text(path[RECORDED], "{\"t\": 0, \"position\": [0, 0.0200000000000001, 0]}\n"
                               "{\"t\": 1, \"position\": [0, 0, 0], \"orientation\": [0, 0, 0, 1]}\n");
    fixture_record(path[RECORDING], THENAR_RECORDING_FLOAT64, NULL);
    fixture_record(path[DAMAGED], THENAR_RECORDING_FLOAT64, NULL);
    file_bytes whole = read_all(path[DAMAGED]);
    assert_int_equal(truncate(path[DAMAGED], (off_t)whole.size - 1), 0);
    free(whole.data);
}

static int set_up(void **state) {
    (void)state;
    static char a_track[2000], some_json[8192];
    static contact_skin a_skin;
    static hand_skeleton_rest a_rest;
    static sample_input inputs[MESH_SAMPLE_COUNT];
    static file_bytes files[3];
    thenar_error error;
    if (!mkdtemp(directory)) return -1;
    write_files();
    null_file = fopen("/dev/null", "w");
    thenar_model *model = touching_bodies();
    for (int i = 0; i < 4; i++) bodies[i] = model->bodies[i];
    assert_ok(contact_skin_create(model->bodies[0], &a_skin, &error), error);
    a_rest = plain_hand_right(1);
    print_track(a_track);
    print_json(some_json);
    skin = &a_skin, rest = &a_rest, track_text = a_track, json = some_json;
    for (size_t i = 0; i < MESH_SAMPLE_COUNT; i++) {
        sample_bytes bytes = sample_of(&mesh_samples[i]);
        inputs[i] = (sample_input){mesh_samples[i].file, {.data = bytes.data, .size = bytes.count}};
        samples[i] = &inputs[i];
    }
    assert_ok(build_model(few_cells, &model, &error), error);
    beam = model;
    files[0] = read_all(SOURCE_DIR "/test/fuzz/corpus/gltf/binary");
    files[1] = read_all(SOURCE_DIR "/test/fuzz/corpus/gltf/text");
    files[2] = read_all(SOURCE_DIR "/test/fuzz/scene.yaml");
    gltf[0] = &files[0], gltf[1] = &files[1], scene = &files[2];
    thenar_hand_def def = hand_world_def();
    worn_hand = hand_world_model(&def);
    return 0;
}

/* What set_up() allocated ends with the program. */
static int remove_files(void **state) {
    (void)state;
    for (int i = 0; i < FILES; i++) remove(path[i]);
    return rmdir(directory);
}

int main(int argc, char **argv) {
    struct CMUnitTest tests[OPERATIONS + 1] = {
        [OPERATIONS] = cmocka_unit_test(a_device_that_gets_no_memory_says_so),
    };
    for (size_t i = 0; i < OPERATIONS; i++)
        tests[i] = (struct CMUnitTest){.name = operations[i].name, check_operation, .initial_state = &operations[i]};
    char filter[256] = "*";
    if (argc > 1) snprintf(filter, sizeof filter, "*%s*", argv[1]);
    cmocka_set_test_filter(filter);
    return cmocka_run_group_tests(tests, set_up, remove_files);
}

#else

int main(void) {
    return 0;
}

#endif
