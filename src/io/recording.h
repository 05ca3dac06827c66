/* The bytes of a recording, as docs/recording-format.md lays them down: what the writer and the reader share.
 */
#ifndef IO_RECORDING_H
#define IO_RECORDING_H

#include "core/error.h"

#include "thenar/recording.h"
#include "thenar/sim.h"
#include "thenar/tactile.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

/* Headers and arrays go to the file as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "recordings are little-endian; this machine is not");
_Static_assert(sizeof(float) == 4 && sizeof(double) == 8 && sizeof(int) == 4, "recordings hold IEEE numbers");

#define RECORDING_VERSION 2u        /* that is written */
#define RECORDING_VERSION_OLDEST 1u /* that is read: without contacts */
#define RECORDING_FLAG_ZSTD 1u      /* the payload (of a frame: all behind step and time) is one zstd frame */
#define RECORDING_FLAG_PLANES 2u    /* the arrays in it are split into byte planes */

enum {
    RECORDING_PIECE = 1 << 16,       /* bytes hashed at once: a checksum needs a buffer of this size only */
    RECORDING_EXPANSION_MAX = 1024,  /* raw size over stored size, at most: a small file cannot ask for much memory */
    RECORDING_COMPONENTS_MAX = 4096, /* with the two below: no size computed from a header overflows 64 bits */
    RECORDING_CHANNELS_MAX = 16384,
    RECORDING_BODIES_MAX = 16384,
};

/* First in the file. */
typedef struct recording_preamble {
    char magic[8];
    uint32_t version;
    uint32_t reserved; /* 0 */
} recording_preamble;
_Static_assert(sizeof(recording_preamble) == 16, "the file holds it as it is");

/* First in each chunk; the payload of stored_size bytes follows. */
typedef struct recording_chunk {
    char type[4];
    uint32_t flags;
    uint64_t stored_size; /* bytes of the payload in the file */
    uint64_t raw_size;    /* bytes of the payload when decompressed */
    uint64_t checksum;    /* of the 24 bytes above and the payload */
} recording_chunk;
_Static_assert(sizeof(recording_chunk) == 32, "the file holds it as it is");

/* First in the payload of a frame, never compressed. */
typedef struct recording_moment {
    uint64_t step;
    double time;
} recording_moment;
_Static_assert(sizeof(recording_moment) == 16, "the file holds it as it is");

/* A frame in the index. */
typedef struct recording_key {
    uint64_t offset; /* of the frame's chunk header in the file */
    recording_moment moment;
} recording_key;
_Static_assert(sizeof(recording_key) == 24, "the file holds it as it is");

/* Last in the payload of the index, and so last in the file: the way to the index from the end. */
typedef struct recording_tail {
    uint64_t frame_count;
    uint64_t index_offset; /* of the index's chunk header */
    char magic[8];
} recording_tail;
_Static_assert(sizeof(recording_tail) == 24, "the file holds it as it is");

extern const char recording_magic[8];
extern const char recording_tail_magic[8];

bool recording_is_type(const recording_chunk *chunk, const char *type);

/* The checksum in two parts: the header's fields, then the payload in pieces of RECORDING_PIECE bytes (the
 * last one shorter), each continuing the hash. */
uint64_t recording_checksum_header(const recording_chunk *chunk);
uint64_t recording_checksum_payload(uint64_t hash, const void *payload, size_t size);

/* Byte planes: first byte 0 of every number, then byte 1 of every number, ... Neighbours in space have equal
 * sign, exponent and leading bits; side by side they compress (docs/recording-format.md has the figures). */
void recording_planes_split(unsigned char *planes, const unsigned char *numbers, size_t count, size_t width);
void recording_planes_join(unsigned char *numbers, const unsigned char *planes, size_t count, size_t width);

/* Bytes of one number, of a channel in a frame, and of all channels in a frame. */
size_t recording_type_width(thenar_recording_type type);
size_t recording_channel_numbers(const thenar_recording_channel *channel);
size_t recording_channel_size(const thenar_recording_channel *channel);
size_t recording_values_size(const thenar_recording_channel *channels, int count);

/* The arrays in the payload of a mesh, in their order: doubles first, so that all are aligned. Counts of
 * numbers. */
typedef struct recording_mesh_layout {
    size_t rest, surface, weights;          /* double */
    size_t tets, triangles, embedding_tets; /* int */
} recording_mesh_layout;
recording_mesh_layout recording_mesh_layout_of(const thenar_recording_body *body);
size_t recording_mesh_doubles(const recording_mesh_layout *layout);
size_t recording_mesh_ints(const recording_mesh_layout *layout);
size_t recording_mesh_size(const recording_mesh_layout *layout);

/* Writing a recording: describe the run, write frames, close.
 *
 * Each frame is one write to the kernel, so that a writer that is killed loses at most the frame it was
 * writing. A write that fails (disk full) is reported at its frame; the file is cut back to the last whole
 * frame. Nothing is allocated between recording_create and recording_close. */

/* A body: what is NULL it does not have. EMBEDDED needs all three, NODES mesh and surface (whose own
 * positions are not used), RIGID the surface. */
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
    /* element_count counts for RUN and BODY (0 means 1); for nodes, tets and vertices it comes from the body.
     */
    const thenar_recording_channel *channels;
    int channel_count;
    int max_contacts; /* in a frame */
    size_t max_extra; /* bytes of the largest chunk of recording_write_extra; 0: there are none */
    int level;        /* of zstd; 0: the default, 1 */
    bool sync_frames; /* wait for the disk after each frame: survives a power cut too, at the price of the
                         rate */
} recording_description;

typedef struct recording_writer recording_writer;

/* Writes the header and the meshes. The description is copied; it may go. *out is NULL on failure. */
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

/* After a failure every later call fails alike. */
thenar_status recording_write_frame(recording_writer *writer, const recording_frame *frame, thenar_error *error);

/* A chunk of another type (four letters), which readers of frames pass over; it belongs to the next frame.
 * compress: where that makes it smaller. Failures are as above. */
thenar_status recording_write_extra(recording_writer *writer, const char *type, const void *bytes, size_t size,
                                    bool compress, thenar_error *error);

/* Bytes in the file so far. */
uint64_t recording_size(const recording_writer *writer);

/* Writes the index (unless an earlier write failed: then that error is returned again) and frees the writer.
 * NULL is fine. */
thenar_status recording_close(recording_writer *writer, thenar_error *error);

/* Contacts as a frame of a recording holds them: ten arrays of 4-byte numbers, one behind the other, each with as many
 * elements as there are contacts. docs/recording-format.md has the list. */

enum {
    RECORDING_CONTACT_SIZE = 72,      /* bytes of all arrays a contact */
    RECORDING_CONTACTS_MAX = 1 << 24, /* a frame, at most */
};

/* Back again; false if one names a body or a triangle that is not there. */
bool recording_contacts_get(const unsigned char *numbers, const thenar_recording_body *bodies, int body_count,
                            thenar_contact *contacts, int count);

/* Byte planes, each array with its own. */
void recording_contacts_join(unsigned char *numbers, const unsigned char *planes, int count);

/* The HEAD chunk of a recording: its JSON text, from and to structs. */

/* Strings belong to `root`, or to the caller where root is NULL. */
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

/* Reads untrusted text; all counts and enums are checked, names are unique. */
thenar_status recording_head_parse(const char *text, size_t size, const char *path, recording_head *out,
                                   thenar_error *error);

/* Elements that a channel has by its place; for the run or a body as a whole what element_count says. */
int recording_channel_elements(const thenar_recording_channel *channel, const thenar_recording_body *bodies);

void recording_head_free(recording_head *head);

/* What a recording holds to be replayed bit for bit: the state that it begins with, and what was set from outside
 * before each step.
 *
 * All that can be set between two steps (forces, drivers, poses) becomes part of the simulation's kept state, so an
 * input is a difference: between what a step left and what the next one began with. Nothing that sets anything has to
 * say so. docs/recording-format.md has the bytes. */

#define INPUTS_NAME 16

/* First in a STAT chunk: how the simulation was made; a snapshot follows. */
typedef struct inputs_start {
    char solver[INPUTS_NAME], contact[INPUTS_NAME], friction[INPUTS_NAME], coupling[INPUTS_NAME];
} inputs_start;

/* First in an INPT chunk; ranges of changed bytes follow, each an inputs_range and its bytes. */
typedef struct inputs_step {
    uint64_t step; /* number of the step that it is for */
    uint64_t hash; /* of the state behind that step */
} inputs_step;

typedef struct inputs_range {
    uint64_t offset, size; /* in the kept state, bytes, multiples of 8 */
} inputs_range;

typedef struct recorded_inputs {
    bool started;
    uint64_t step;      /* that `after` is behind */
    uint64_t hash;      /* of it */
    char *after;        /* the kept state there */
    unsigned char *out; /* the payload of a chunk */
} recorded_inputs;

/* How large a payload can be. */
size_t recorded_inputs_max(const thenar_sim *sim);

/* How a simulation was made, for comparison. */
inputs_start inputs_start_of(const thenar_sim *sim);

/* What a recording has of finger pads and tactile devices: where pads are, in its metadata, for whoever works commands
 * out of it later; and what the devices of a run did, in channels (thenar_recorder_create_tactile). */

typedef struct recorded_pads {
    int channel_count;
    double **values; /* of each channel */
    char (*names)[256];
} recorded_pads;

/* {"hands": [...], "tactile": {...}} as docs/recording-format.md has it, or "" without hands. free() it; NULL when memory
 * runs out. tactile may be NULL. */
char *describe_pads(const thenar_model *model, const thenar_tactile *tactile);

/* {"devices": [...], "pads": [...]}: what they are, and which points of which skin. A new reference. */
json_t *describe_tactile(const thenar_tactile *tactile);

/* False: out of memory. */
bool recorded_pads_create(const thenar_tactile *tactile, recorded_pads *out);
/* The names of the channels are in `pads`. */
void recorded_pads_update(const thenar_tactile *tactile, recorded_pads *pads);
void recorded_pads_free(recorded_pads *pads);

/* Inside the reader: opening and indexing (recording_open.c) and reading frames and meshes
 * (recording_read.c). */

struct thenar_recording {
    int file;                    /* -1: in memory */
    const unsigned char *memory; /* then: the caller's bytes */
    char *path;
    uint64_t size; /* of the file, bytes */
    recording_head head;
    char *damage;
    uint64_t first_chunk;          /* behind the meshes: where the frames begin */
    uint64_t *mesh_offsets;        /* of each body's MESH chunk */
    thenar_recording_mesh *meshes; /* those read so far; mesh_blocks[i] holds the arrays of meshes[i] */
    void **mesh_blocks;
    recording_key *keys;
    int frame_count;
    size_t values_size; /* of a frame's channels, raw */
    ZSTD_DCtx *decompressor;
    unsigned char *stored, *planes, *values; /* buffers of a frame; they grow with the contacts */
    size_t stored_capacity, planes_capacity, values_capacity;
    int frame_in_values;      /* -1: none */
    int contact_count;        /* of that frame */
    thenar_contact *contacts; /* what was handed out last */
    size_t contacts_capacity;
    double *nodes; /* scratch: the positions that an embedded surface is worked out from */
    size_t nodes_capacity;
};

/* Exactly size bytes at offset. */
thenar_status recording_read_bytes(const thenar_recording *recording, uint64_t offset, void *bytes, size_t size,
                                   thenar_error *error);

/* The chunk header at offset, checked against the file's size and the limits of the format. */
thenar_status recording_read_chunk(const thenar_recording *recording, uint64_t offset, recording_chunk *chunk,
                                   thenar_error *error);

/* Compares the checksum of a chunk with its header and payload. piece: RECORDING_PIECE bytes to work in. */
thenar_status recording_verify_chunk(const thenar_recording *recording, uint64_t offset, const recording_chunk *chunk,
                                     unsigned char *piece, thenar_error *error);

/* How many contacts a frame of that raw size has behind its channels; -1: HEAD does not allow that size. */
int recording_count_contacts(const thenar_recording *recording, uint64_t raw_size);

/* The channel of that name if it is of the body as a whole and has so many numbers, else -1: names mean nothing, and a
 * file may have any number of numbers under them. */
int recording_find_numbers(const thenar_recording *recording, int body, const char *name, int numbers);

/* "FILE: at byte N: TEXT" */
thenar_status recording_complain(const thenar_recording *recording, uint64_t offset, thenar_error *error,
                                 const char *text);

#endif
