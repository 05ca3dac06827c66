/* Recordings: the bytes of the format (docs/recording-format.md), the writer, and what reader and replay share. */
#ifndef IO_RECORDING_H
#define IO_RECORDING_H

#include "core/error.h"
#include "core/vec3.h"

#include "thenar/recording.h"
#include "thenar/sim.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

/* Headers and arrays are written to the file as they are in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "recordings are little-endian; this machine is not");
_Static_assert(sizeof(float) == 4 && sizeof(double) == 8 && sizeof(int) == 4, "recordings hold IEEE numbers");

#define RECORDING_VERSION 2u        /* of files that are written */
#define RECORDING_VERSION_OLDEST 1u /* that can be read: it has no contacts */
#define RECORDING_FLAG_ZSTD 1u      /* the payload (of a frame: all after step and time) is one zstd frame */
#define RECORDING_FLAG_PLANES 2u    /* the arrays in it are split into byte planes */

enum {
    RECORDING_PIECE = 1 << 16,       /* bytes hashed at once: a checksum needs a buffer of this size only */
    RECORDING_EXPANSION_MAX = 1024,  /* of raw size over stored size: a small file cannot ask for much memory */
    RECORDING_COMPONENTS_MAX = 4096, /* with the two below: no size computed from a header overflows 64 bits */
    RECORDING_CHANNELS_MAX = 16384,
    RECORDING_BODIES_MAX = 16384,
    RECORDING_CONTACTS_MAX = 1 << 24, /* in a frame */
    RECORDING_CONTACT_SIZE = 72,      /* bytes of a contact, over all arrays */
};

/* At the start of the file. */
typedef struct recording_preamble {
    char magic[8];
    uint32_t version;
    uint32_t reserved; /* 0 */
} recording_preamble;
_Static_assert(sizeof(recording_preamble) == 16, "part of the file format");

/* At the start of each chunk, before the payload of stored_size bytes. */
typedef struct recording_chunk {
    char type[4];
    uint32_t flags;
    uint64_t stored_size; /* bytes of the payload in the file */
    uint64_t raw_size;    /* bytes of the payload when decompressed */
    uint64_t checksum;    /* of the 24 bytes above and the payload */
} recording_chunk;
_Static_assert(sizeof(recording_chunk) == 32, "part of the file format");

/* At the start of the payload of a frame, never compressed. */
typedef struct recording_timestamp {
    uint64_t step;
    double time;
} recording_timestamp;
_Static_assert(sizeof(recording_timestamp) == 16, "part of the file format");

/* A frame in the index. */
typedef struct recording_key {
    uint64_t offset; /* of the frame's chunk header in the file */
    recording_timestamp timestamp;
} recording_key;
_Static_assert(sizeof(recording_key) == 24, "part of the file format");

/* At the end of the index, which is the last chunk: readers find the index from the end of the file. */
typedef struct recording_tail {
    uint64_t frame_count;
    uint64_t index_offset; /* of the index's chunk header */
    char magic[8];
} recording_tail;
_Static_assert(sizeof(recording_tail) == 24, "part of the file format");

extern const char recording_magic[8];
extern const char recording_tail_magic[8];

bool recording_is_type(const recording_chunk *chunk, const char *type);

/* The checksum of a chunk: first of the fields of its header, then continued with its payload, which may come in several
 * calls if all but the last have a multiple of RECORDING_PIECE bytes. */
uint64_t recording_checksum_header(const recording_chunk *chunk);
uint64_t recording_checksum_payload(uint64_t hash, const void *payload, size_t size);

/* Byte planes: byte 0 of every number, then byte 1 of every number, ... Neighbours in space have equal signs, exponents
 * and leading bits, which compress well side by side (docs/recording-format.md has the figures). */
typedef void planes_conversion(unsigned char *to, const unsigned char *from, size_t count, size_t width);
planes_conversion recording_planes_split, recording_planes_join;

/* Bytes of one number, of a channel in a frame, and of all channels in a frame. */
size_t recording_type_width(thenar_recording_type type);
size_t recording_channel_numbers(const thenar_recording_channel *channel);
size_t recording_channel_size(const thenar_recording_channel *channel);
size_t recording_values_size(const thenar_recording_channel *channels, int count);

/* The arrays in the payload of a mesh, in their order: doubles first, so that all are aligned. */
typedef struct recording_mesh_layout {
    size_t rest, surface, weights;          /* numbers of doubles */
    size_t tets, triangles, embedding_tets; /* numbers of ints */
    size_t doubles, ints;                   /* sums of these */
    size_t size;                            /* bytes */
} recording_mesh_layout;
recording_mesh_layout recording_mesh_layout_of(const thenar_recording_body *body);

/* Contacts in a frame: ten arrays of 4-byte numbers, one after the other, each with one element per contact. `numbers`
 * has count * RECORDING_CONTACT_SIZE bytes. */
void recording_contacts_put(unsigned char *numbers, const thenar_contact *contacts, int count);

/* The reverse; false if a contact names a body or a triangle that does not exist. */
bool recording_contacts_get(const unsigned char *numbers, const thenar_recording_body *bodies, int body_count,
                            thenar_contact *contacts, int count);

/* Splits or joins the byte planes of all arrays; each has its own. */
void recording_contacts_convert(planes_conversion *convert, unsigned char *to, const unsigned char *from, int count);

/* What the HEAD chunk describes, as JSON. Strings belong to `root`, or to the caller if root is NULL. */
typedef struct recording_head {
    thenar_recording_info info;
    thenar_recording_body *bodies;
    int body_count;
    thenar_recording_channel *channels;
    int channel_count;
    json_t *root;
    char *metadata_text;
} recording_head;

/* The JSON text, to be released with free(). path is for messages. */
thenar_status recording_head_print(const recording_head *head, const char *path, char **out, thenar_error *error);

/* Reads untrusted text; all counts and enums are checked, and names are unique. */
thenar_status recording_head_parse(const char *text, size_t size, const char *path, recording_head *out,
                                   thenar_error *error);
void recording_head_free(recording_head *head);

/* Number of elements of a channel: of its place in the body; for the run or a body as a whole, its element_count. */
int recording_channel_elements(const thenar_recording_channel *channel, const thenar_recording_body *bodies);

/* Writing a recording: describe the run, write frames, close.
 *
 * Each frame is one write to the kernel, so a writer that is killed loses at most the frame that it was writing. A write
 * that fails (disk full) is reported at its frame, and the file is truncated to the last complete frame. Nothing is
 * allocated between recording_create and recording_close. */

/* A body; NULL: it has none. EMBEDDED needs all three, NODES mesh and surface (whose positions are not used), RIGID the
 * surface. */
typedef struct recording_body {
    const char *name, *kind;
    thenar_recording_surface surface_kind;
    const thenar_tet_mesh *mesh;
    const thenar_surface *surface;
    const thenar_embedding *embedding;
} recording_body;

typedef struct recording_description {
    const char *scene, *solver;
    double dt;            /* s */
    const char *metadata; /* a JSON object as text, or NULL; nothing that depends on the machine */
    const recording_body *bodies;
    int body_count;
    /* element_count is used for RUN and BODY (0 means 1); for nodes, tets and vertices it comes from the body. */
    const thenar_recording_channel *channels;
    int channel_count;
    int max_contacts; /* in a frame */
    size_t max_extra; /* bytes of the largest chunk of recording_write_extra; 0: there are none */
} recording_description;

typedef struct recording_writer recording_writer;

/* Writes the header and the meshes. The description is copied. *out is NULL on failure. */
thenar_status recording_create(const char *path, const recording_description *description, recording_writer **out,
                               thenar_error *error);

/* values[c] has element_count * components numbers of channel c. */
typedef struct recording_frame {
    uint64_t step;
    double time; /* s */
    const double *const *values;
    const thenar_contact *contacts;
    int contact_count; /* at most max_contacts */
} recording_frame;

/* After a failure every later call fails with the same error. */
thenar_status recording_write_frame(recording_writer *writer, const recording_frame *frame, thenar_error *error);

/* Writes a chunk of another type (four letters), which readers of frames skip; it belongs to the next frame. compress: if
 * that makes it smaller. Failures are as above. */
thenar_status recording_write_extra(recording_writer *writer, const char *type, const void *bytes, size_t size,
                                    bool compress, thenar_error *error);

/* Writes the index, unless an earlier write failed: then that error is returned again. Frees the writer; NULL is fine. */
thenar_status recording_close(recording_writer *writer, thenar_error *error);

/* Inputs, with which a recording is replayed bit for bit: the state at its start, and what was set from outside before
 * each step.
 *
 * All that can be set between two steps (forces, drivers, poses) becomes part of the simulation's kept state, so the
 * inputs are the difference between the state after a step and the state before the next one. Code that sets something
 * need not record it. docs/recording-format.md has the bytes. */

#define INPUTS_NAME 16

/* At the start of a STAT chunk: the options of the simulation. A snapshot follows. */
typedef struct inputs_start {
    char solver[INPUTS_NAME], contact[INPUTS_NAME], friction[INPUTS_NAME], coupling[INPUTS_NAME];
} inputs_start;

/* At the start of an INPT chunk. Ranges of changed bytes follow, each an inputs_range and its bytes. */
typedef struct inputs_step {
    uint64_t step; /* the step that the inputs are for */
    uint64_t hash; /* of the state after that step */
} inputs_step;

typedef struct inputs_range {
    uint64_t offset, size; /* in the kept state, bytes, multiples of 8 */
} inputs_range;

/* Size of the largest payload of a STAT or INPT chunk, bytes. */
size_t recording_inputs_max(const thenar_sim *sim);

inputs_start inputs_start_of(const thenar_sim *sim);

/* The reader (recording_read.c). */

struct thenar_recording {
    int file;                    /* -1: in memory */
    const unsigned char *memory; /* or NULL; owned by the caller */
    char *path;
    uint64_t size; /* of the file, bytes */
    recording_head head;
    char *damage;
    uint64_t first_chunk;          /* after the meshes: where the frames begin */
    uint64_t *mesh_offsets;        /* of each body's MESH chunk */
    thenar_recording_mesh *meshes; /* those read so far; mesh_blocks[i] holds the arrays of meshes[i] */
    void **mesh_blocks;
    recording_key *keys;
    int frame_count;
    size_t values_size; /* of a frame's channels, raw */
    ZSTD_DCtx *decompressor;
    unsigned char *stored, *planes, *values; /* buffers of a frame, which grow with its contacts */
    size_t stored_capacity, planes_capacity, values_capacity;
    int frame_in_values;      /* the frame that `values` holds; -1: none */
    int contact_count;        /* of that frame */
    thenar_contact *contacts; /* returned by the last thenar_recording_read_contacts */
    size_t contacts_capacity;
    double *nodes; /* scratch: the positions from which an embedded surface is computed */
    size_t nodes_capacity;
};

/* Reads exactly size bytes at offset. */
thenar_status recording_read_bytes(const thenar_recording *recording, uint64_t offset, void *bytes, size_t size,
                                   thenar_error *error);

/* Reads the chunk header at offset and checks it against the size of the file and the limits of the format. */
thenar_status recording_read_chunk(const thenar_recording *recording, uint64_t offset, recording_chunk *chunk,
                                   thenar_error *error);

/* Verifies the checksum of a chunk. piece: a buffer of RECORDING_PIECE bytes. */
thenar_status recording_verify_chunk(const thenar_recording *recording, uint64_t offset, const recording_chunk *chunk,
                                     unsigned char *piece, thenar_error *error);

/* The channel of that name if it belongs to the body as a whole and has that many numbers, else -1: a file may use any
 * name for any channel. */
int recording_find_numbers(const thenar_recording *recording, int body, const char *name, int numbers);

/* THENAR_ERROR_INPUT: "FILE: at byte N: TEXT". */
thenar_status recording_fail(const thenar_recording *recording, uint64_t offset, thenar_error *error, const char *text);

/* Exporting a recording to the formats of other programs. */

/* The exporters behind thenar_recording_export write the frames first, first + every, ..., count of them. */
typedef struct export_selection {
    int first, every, count;
} export_selection;

static inline int export_frame(export_selection selection, int i) {
    return selection.first + i * selection.every;
}

/* Reports progress to the caller; false: it wants to stop. */
bool export_report_progress(const thenar_export_options *options, int frames_done, int frame_count);

thenar_status export_vtk(thenar_recording *recording, const char *directory, export_selection selection,
                         const thenar_export_options *options, thenar_error *error);
thenar_status export_gltf(thenar_recording *recording, const char *path, export_selection selection,
                          const thenar_export_options *options, thenar_error *error);

/* The force of a contact on the first of its two bodies, normal force and friction, N; on the second it is the
 * opposite. */
vec3 export_contact_force(const thenar_contact *contact);

/* The pressure on the skin around a contact point, Pa; 0 for points of rigid bodies, which have no area. */
double export_contact_pressure(const thenar_contact *contact);

#endif
