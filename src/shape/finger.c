/* Tets around a finger, in layers along its axis.
 *
 * A section has rings 1 to J of 4 j nodes about the axis, the innermost a square; 4 J^2 - 2 triangles. The n sections
 * after the first make n layers of prisms, three tets each, cut by the order of the columns: the diagonal of a prism's
 * side starts at the column that comes first, at the section nearer to the tip in even layers and at the other one in
 * odd ones. The order is the same for mirrored columns, and so the mesh is its own mirror image.
 *
 * Tried instead: the lattice mesher with 347 tets. Its cells of 11 mm stick out in bumps, and none of its nodes make a
 * bone. */
#include "shape/finger.h"

#include "base/memory.h"
#include "shape/mesh.h"

#include <stdlib.h>

#define BONE_SIZE 0.45  /* of the bone over that of the finger */
#define BONE_RAISE 0.12 /* of the bone towards the nail, over half the breadth */
/* Chosen for the least radius ratio, 0.38 with the default sizes (0.02 to 0.05 with sections that lie on the round tip
 * like domes). */
#define TIP_SIZE 0.6    /* of the section that closes the tip over that at the end of the bone, at least */
#define TIP_LAYERS 0.25 /* share of the layers that have no bone */
#define TIP_POWER 1.25  /* how fast layers grow there */
#define SECTION_LIMIT 1000
#define COVER_STEP 1.01 /* the outermost ring grows by this until it covers the skin */
#define COVER_TRIES 60

static const double pi = 3.14159265358979323846;

typedef struct column {
    int ring, place; /* place 0 to 4 ring - 1, at the angle 2 pi place / (4 ring) */
} column;

typedef struct finger {
    double length;
    int rings, bone_rings, layers;
    int tip_layers;                 /* without bone */
    double s[SECTION_LIMIT + 1];    /* distance of each section from the tip */
    double grow[SECTION_LIMIT + 1]; /* of the outermost ring over the skin */
} finger;

finger_options finger_options_default(void) {
    return (finger_options){.length = 0.07, .pulp = 0.006, .target_tets = 347};
}

static int columns_up_to(int ring) {
    return 2 * ring * (ring + 1);
}

static int column_number(int ring, int place) {
    return columns_up_to(ring - 1) + place % (4 * ring);
}

static column column_of(int number) {
    column c = {1, number};
    for (; c.place >= 4 * c.ring; c.ring++) c.place -= 4 * c.ring;
    return c;
}

static int triangles_of(int rings) {
    return 4 * rings * rings - 2;
}

/* Rings and layers: those of the target that keep about four layers a ring. */
static void choose_counts(const finger_options *options, finger *f) {
    double best = INFINITY;
    for (int rings = 2; rings <= 64; rings++) {
        int layers = (int)fmax(round(options->target_tets / (3.0 * triangles_of(rings))), 1);
        double miss = fabs(log(layers / (4.0 * rings)));
        if (miss >= best || layers > SECTION_LIMIT) continue;
        best = miss;
        f->rings = rings;
        f->layers = layers;
    }
    f->bone_rings = f->rings / 2;
    f->tip_layers = (int)fmax(round(TIP_LAYERS * f->layers), 1);
}

/* Layers grow from the tip to the cut end; one border is where the bone ends. */
static void choose_sections(const finger_options *options, finger *f) {
    int behind = f->layers - f->tip_layers;
    for (int i = 0; i <= f->layers; i++) {
        double tip = (double)i / f->tip_layers, u = (double)(i - f->tip_layers) / behind;
        f->s[i] = i <= f->tip_layers ? options->pulp * pow(tip, TIP_POWER)
                                     : options->pulp + (options->length - options->pulp) * u * (0.7 + 0.3 * u);
    }
}

static double breadth_at(double s) {
    return finger_skin_point(s, pi / 2).x;
}

/* Lets straight lines from section to section cover the round outline. */
static void cover_outline(finger *f) {
    double size[SECTION_LIMIT + 1];
    double bone_end = f->s[f->tip_layers];
    for (int i = 0; i <= f->layers; i++) size[i] = fmax(breadth_at(f->s[i]), TIP_SIZE * breadth_at(bone_end));
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < f->layers; i++)
            for (int k = 1; k < 32; k++) {
                double t = k / 32.0, s = f->s[i] + t * (f->s[i + 1] - f->s[i]);
                double ratio = breadth_at(s) / (size[i] + t * (size[i + 1] - size[i]));
                if (ratio <= 1 + 1e-6) continue;
                size[i] *= ratio;
                size[i + 1] *= ratio;
                more = true;
            }
    }
    for (int i = 0; i <= f->layers; i++) f->grow[i] = size[i] / breadth_at(i == 0 ? bone_end : f->s[i]);
}

/* Where a node is: the ring's share of the way from the axis, raised towards the nail the more the nearer the axis. The
 * section that closes the tip has the form of the one at the end of the bone. */
static vec3 node_at(const finger *f, int section, column c, double cover) {
    double share = c.ring <= f->bone_rings
                       ? BONE_SIZE * c.ring / f->bone_rings
                       : BONE_SIZE + (1 - BONE_SIZE) * (c.ring - f->bone_rings) / (f->rings - f->bone_rings);
    double s = f->s[section], form = section == 0 ? f->s[f->tip_layers] : s, grow = f->grow[section] * cover;
    vec3 skin = finger_skin_point(form, 2 * pi * c.place / (4 * c.ring));
    double raise = BONE_RAISE * breadth_at(form) * (1 - share) * grow;
    double lead = section == 0 ? (cover - 1) * f->s[1] : 0;
    return vec3_make(share * grow * skin.x, share * grow * skin.y + raise, s - lead - f->length);
}

/* Columns in the order by which prisms are cut; never equal for two that share an edge. */
static int rank(column c) {
    int mirrored = 4 * c.ring - c.place;
    return 1000 * c.ring + (c.place < mirrored ? c.place : mirrored);
}

static void add_tet(thenar_tet_mesh *mesh, int a, int b, int c, int d, int tag) {
    int *tet = mesh->tets + 4 * (size_t)mesh->tet_count;
    tet[0] = a, tet[1] = b, tet[2] = c, tet[3] = d;
    vec3 corner[4];
    tet_mesh_corners(mesh, mesh->tet_count, corner);
    if (tet_volume(corner) < 0) tet[2] = d, tet[3] = c;
    mesh->tags[mesh->tet_count++] = tag;
}

/* The prism over a triangle of columns. */
static void add_prism(const finger *f, int layer, int a, int b, int c, thenar_tet_mesh *mesh) {
    int order[3] = {a, b, c}, outermost = 0;
    for (int i = 0; i < 3; i++) {
        outermost = (int)fmax(outermost, column_of(order[i]).ring);
        for (int k = i; k > 0 && rank(column_of(order[k])) < rank(column_of(order[k - 1])); k--) {
            int swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
    }
    int columns = columns_up_to(f->rings);
    int near = (layer + layer % 2) * columns, far = (layer + 1 - layer % 2) * columns;
    int tag = layer >= f->tip_layers && outermost <= f->bone_rings ? FINGER_BONE : 0;
    add_tet(mesh, near + order[0], near + order[1], near + order[2], far + order[2], tag);
    add_tet(mesh, near + order[0], near + order[1], far + order[1], far + order[2], tag);
    add_tet(mesh, near + order[0], far + order[0], far + order[1], far + order[2], tag);
}

static void add_layer(const finger *f, int layer, thenar_tet_mesh *mesh) {
    add_prism(f, layer, 0, 1, 2, mesh);
    add_prism(f, layer, 0, 2, 3, mesh);
    for (int ring = 2; ring <= f->rings; ring++)
        for (int quarter = 0; quarter < 4; quarter++)
            for (int i = 0; i < ring; i++) {
                int outer = quarter * ring + i, inner = quarter * (ring - 1) + i;
                add_prism(f, layer, column_number(ring, outer), column_number(ring, outer + 1),
                          column_number(ring - 1, inner), mesh);
                if (i + 1 < ring)
                    add_prism(f, layer, column_number(ring - 1, inner), column_number(ring, outer + 1),
                              column_number(ring - 1, inner + 1), mesh);
            }
}

static thenar_status make_tets(const finger *f, double cover, thenar_tet_mesh *mesh, thenar_error *error) {
    int columns = columns_up_to(f->rings), tets = 3 * triangles_of(f->rings) * f->layers;
    thenar_status status = tet_mesh_create(columns * (f->layers + 1), tets, true, mesh, error);
    if (status != THENAR_OK) return status;
    for (int i = 0; i <= f->layers; i++)
        for (int c = 0; c < columns; c++)
            vec3_store(mesh->positions + 3 * (i * columns + c), node_at(f, i, column_of(c), cover));
    mesh->tet_count = 0;
    for (int layer = 0; layer < f->layers; layer++) add_layer(f, layer, mesh);
    return THENAR_OK;
}

/* The smallest cover that leaves no vertex of the skin outside: a ring's straight sides cut into the round outline. */
static thenar_status cover_skin(const finger *f, thenar_tet_mesh *mesh, const thenar_surface *skin,
                                thenar_embedding *embedding, thenar_error *error) {
    double cover = 1;
    for (int tries = 0, outside = 1; tries < COVER_TRIES; tries++, cover *= COVER_STEP) {
        thenar_status status = make_tets(f, cover, mesh, error);
        if (status == THENAR_OK) status = thenar_embedding_create(mesh, skin, embedding, &outside, error);
        if (status != THENAR_OK || outside == 0) return status;
        thenar_tet_mesh_free(mesh);
        thenar_embedding_free(embedding);
    }
    return error_set(error, THENAR_ERROR_INPUT, "no tets cover a finger of these sizes; expected more tets");
}

static thenar_status check_options(const finger_options *options, thenar_error *error) {
    if (!(options->length >= FINGER_LENGTH_MIN && options->length <= FINGER_LENGTH_MAX))
        return error_set(error, THENAR_ERROR_INPUT, "the finger's length is %g m; expected %g to %g", options->length,
                         FINGER_LENGTH_MIN, FINGER_LENGTH_MAX);
    if (!(options->pulp >= FINGER_PULP_MIN && options->pulp <= options->length / 2))
        return error_set(error, THENAR_ERROR_INPUT, "the finger's pulp is %g m long; expected %g to half the length",
                         options->pulp, FINGER_PULP_MIN);
    if (options->target_tets < FINGER_TETS_MIN || options->target_tets > FINGER_TETS_MAX)
        return error_set(error, THENAR_ERROR_INPUT, "a finger of %d tets; expected %d to %d", options->target_tets,
                         FINGER_TETS_MIN, FINGER_TETS_MAX);
    return THENAR_OK;
}

thenar_status finger_mesh(const finger_options *options, thenar_tet_mesh *mesh, thenar_surface *surface,
                          thenar_embedding *embedding, thenar_error *error) {
    *mesh = (thenar_tet_mesh){0};
    *surface = (thenar_surface){0};
    *embedding = (thenar_embedding){0};
    thenar_status status = check_options(options, error);
    if (status != THENAR_OK) return status;
    finger f = {.length = options->length};
    choose_counts(options, &f);
    choose_sections(options, &f);
    cover_outline(&f);
    status = finger_skin(options->length, 12 * f.rings, surface, error);
    if (status == THENAR_OK) status = cover_skin(&f, mesh, surface, embedding, error);
    if (status == THENAR_OK) return status;
    thenar_tet_mesh_free(mesh);
    thenar_surface_free(surface);
    thenar_embedding_free(embedding);
    return status;
}
