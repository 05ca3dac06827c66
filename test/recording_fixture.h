/* A small run to record: a soft block with an embedded surface, a soft sheet seen by its own nodes, a rigid
 * tetrahedron that turns, and a skeleton without a surface. Every number of every frame is a function of
 * where it stands, so that a reader's results have something independent to be compared with. */
#ifndef RECORDING_FIXTURE_H
#define RECORDING_FIXTURE_H

#include "test.h"

#include "io/recording.h"

#include <sys/stat.h>

enum { FIXTURE_FRAMES = 5, FIXTURE_CHANNELS = 8, FIXTURE_LARGEST = 64, FIXTURE_CONTACTS = 3 };
enum { PAD, SHEET, BLOCK, BONES, FIXTURE_BODIES };
enum { PAD_POSITION, PAD_VELOCITY, PAD_S, SHEET_POSITION, BLOCK_POSE, BONES_POSE, RESIDUAL, STAGE_US };

static double pad_nodes[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
static int pad_tets[] = {0, 1, 2, 3, 1, 4, 2, 3};
static double pad_vertices[] = {0.25, 0.25, 0.25, 0.5, 0.5, 0, 0, 0.5, 0.5, 0.625, 0.625, 0.5};
static int pad_triangles[] = {0, 1, 2, 1, 3, 2, 0, 2, 3};
static int pad_embedding_tets[] = {0, 0, 0, 1};
static double pad_weights[] = {0.25, 0.25, 0.25, 0.25, 0, 0.5, 0.5, 0, 0, 0, 0.5, 0.5, 0.5, 0.25, 0.125, 0.125};
static double sheet_nodes[] = {0, 0, 0, 0.1, 0, 0, 0, 0, 0.1, 0.1, 0, 0.1, 0.05, -0.1, 0.05};
static int sheet_tets[] = {0, 1, 2, 4, 1, 3, 2, 4};
static int sheet_triangles[] = {0, 2, 1, 1, 2, 3};
static double block_vertices[] = {-0.1, 0, 0, 0.1, 0, 0, 0, 0.2, 0, 0, 0, 0.3};
static int block_triangles[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};

static const thenar_tet_mesh pad_mesh = {.node_count = 5, .tet_count = 2, .positions = pad_nodes, .tets = pad_tets};
static const thenar_surface pad_surface = {
    .vertex_count = 4, .triangle_count = 3, .positions = pad_vertices, .triangles = pad_triangles};
static const thenar_embedding pad_embedding = {.vertex_count = 4, .tet = pad_embedding_tets, .weights = pad_weights};
static const thenar_tet_mesh sheet_mesh = {
    .node_count = 5, .tet_count = 2, .positions = sheet_nodes, .tets = sheet_tets};
static const thenar_surface sheet_surface = {
    .vertex_count = 5, .triangle_count = 2, .positions = sheet_nodes, .triangles = sheet_triangles};
static const thenar_surface block_surface = {
    .vertex_count = 4, .triangle_count = 4, .positions = block_vertices, .triangles = block_triangles};

static const recording_body fixture_bodies[FIXTURE_BODIES] = {
    {.name = "pad",
     .kind = "soft",
     .surface_kind = THENAR_RECORDING_SURFACE_EMBEDDED,
     .mesh = &pad_mesh,
     .surface = &pad_surface,
     .embedding = &pad_embedding},
    {.name = "sheet, \"thin\"",
     .kind = "soft",
     .surface_kind = THENAR_RECORDING_SURFACE_NODES,
     .mesh = &sheet_mesh,
     .surface = &sheet_surface},
    {.name = "block", .kind = "rigid", .surface_kind = THENAR_RECORDING_SURFACE_RIGID, .surface = &block_surface},
    {.name = "bones", .kind = "skeleton"},
};

/* With the element counts that a reader must report. */
static inline void fixture_channels(thenar_recording_type type, thenar_recording_channel *channels) {
    thenar_recording_channel all[FIXTURE_CHANNELS] = {
        [PAD_POSITION] = {"position", "m", PAD, THENAR_RECORDING_NODES, 5, 3, type},
        [PAD_VELOCITY] = {"velocity", "m/s", PAD, THENAR_RECORDING_NODES, 5, 3, type},
        [PAD_S] = {"s", "", PAD, THENAR_RECORDING_TETS, 2, 3, type},
        [SHEET_POSITION] = {"position", "m", SHEET, THENAR_RECORDING_NODES, 5, 3, type},
        [BLOCK_POSE] = {"pose", "", BLOCK, THENAR_RECORDING_BODY, 1, 7, type},
        [BONES_POSE] = {"pose", "", BONES, THENAR_RECORDING_BODY, 3, 7, type},
        [RESIDUAL] = {"residual", "", -1, THENAR_RECORDING_RUN, 1, 1, THENAR_RECORDING_FLOAT64},
        [STAGE_US] = {"stage_us", "us", -1, THENAR_RECORDING_RUN, 4, 1, type},
    };
    memcpy(channels, all, sizeof all);
}

/* Number i of a channel at a frame. The block turns about y by 0.3 a frame; its quaternion at frame 3 has the
 * other sign, which is the same turn. */
static inline double fixture_value(int channel, int frame, int i) {
    if (channel == BLOCK_POSE) {
        double half = 0.15 * frame, sign = frame == 3 ? -1 : 1;
        double pose[] = {0.1 * frame, 1, 0, 0, sign * sin(half), 0, sign * cos(half)};
        return pose[i];
    }
    const double *rest = channel == PAD_POSITION ? pad_nodes : channel == SHEET_POSITION ? sheet_nodes : NULL;
    return (rest ? rest[i] : 0) + 0.01 * sin(0.7 * frame + 1.3 * i + channel);
}

static inline double fixture_time(int frame) {
    return 0.001 * (3 * frame + 1);
}

/* A different number of contacts each frame, none in the first. */
static inline int fixture_contact_count(int frame) {
    return frame % (FIXTURE_CONTACTS + 1);
}

static inline thenar_contact fixture_contact(int frame, int i) {
    double x = sin(0.7 * frame + 1.3 * i);
    return (thenar_contact){.body = {PAD, BLOCK},
                            .vertex = i,
                            .face = {i % 3, i == 1 ? -1 : 3},
                            .sticks = i % 2,
                            .position = {x, 2 * x, -x},
                            .normal = {0, cos(x), sin(x)},
                            .gap = 1e-3 * x,
                            .force = 3 + x,
                            .friction = {0.1 * x, 0.2, -0.3 * x},
                            .area = 1e-4 * (i + 1)};
}

static inline void fixture_frame(int frame, double storage[FIXTURE_CHANNELS][FIXTURE_LARGEST],
                                 const double *pointers[FIXTURE_CHANNELS]) {
    thenar_recording_channel channels[FIXTURE_CHANNELS];
    fixture_channels(THENAR_RECORDING_FLOAT32, channels);
    for (int c = 0; c < FIXTURE_CHANNELS; c++) {
        int count = channels[c].element_count * channels[c].components;
        for (int i = 0; i < count; i++) storage[c][i] = fixture_value(c, frame, i);
        pointers[c] = storage[c];
    }
}

static inline thenar_status fixture_write_frame(recording_writer *writer, int frame, thenar_error *error) {
    double storage[FIXTURE_CHANNELS][FIXTURE_LARGEST];
    const double *pointers[FIXTURE_CHANNELS];
    fixture_frame(frame, storage, pointers);
    thenar_contact contacts[FIXTURE_CONTACTS];
    for (int i = 0; i < fixture_contact_count(frame); i++) contacts[i] = fixture_contact(frame, i);
    recording_frame written = {.step = (uint64_t)frame * 3 + 1,
                               .time = fixture_time(frame),
                               .values = pointers,
                               .contacts = contacts,
                               .contact_count = fixture_contact_count(frame)};
    return recording_write_frame(writer, &written, error);
}

static inline thenar_status fixture_create(const char *path, thenar_recording_type type, recording_writer **writer,
                                           thenar_error *error) {
    thenar_recording_channel channels[FIXTURE_CHANNELS];
    fixture_channels(type, channels);
    channels[RESIDUAL].element_count = 0;
    recording_description description = {.scene = "fixture",
                                         .solver = "none",
                                         .dt = 1e-3,
                                         .metadata = "{\"seed\":7}",
                                         .bodies = fixture_bodies,
                                         .body_count = FIXTURE_BODIES,
                                         .channels = channels,
                                         .channel_count = FIXTURE_CHANNELS,
                                         .max_contacts = FIXTURE_CONTACTS};
    return recording_create(path, &description, writer, error);
}

static inline uint64_t fixture_file_size(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return (uint64_t)info.st_size;
}

/* Writes FIXTURE_FRAMES frames; ends[k] is the size of the file with k whole frames. */
static inline void fixture_record(const char *path, thenar_recording_type type, uint64_t ends[FIXTURE_FRAMES + 1]) {
    thenar_error error;
    recording_writer *writer;
    assert_ok(fixture_create(path, type, &writer, &error), error);
    for (int frame = 0; frame < FIXTURE_FRAMES; frame++) {
        if (ends) ends[frame] = fixture_file_size(path);
        assert_ok(fixture_write_frame(writer, frame, &error), error);
    }
    if (ends) ends[FIXTURE_FRAMES] = fixture_file_size(path);
    assert_ok(recording_close(writer, &error), error);
}

#endif
