/* Gmsh .msh, formats 2.2 and 4.1, text and binary (Gmsh reference manual, "MSH file format").
 *
 * A file is a sequence of sections, $Name ... $EndName. $Nodes and $Elements define the mesh; $PhysicalNames (always
 * text) the names of regions. In 4.1, $Entities assigns physical groups to volumes; in 2.2, each element has
 * its own. Other sections are skipped. If an element of 4.1 is in several groups, the first counts. */
#include "io/mesh_reader.h"

#include "core/hash.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum element_kind { ELEMENT_OTHER, ELEMENT_POINT_OR_LINE, ELEMENT_POLYGON, ELEMENT_TET } element_kind;

typedef struct element_type {
    const char *name;
    int node_count;
    element_kind kind;
} element_type;

#define MAX_NODES 4 /* of the types that are read */

static const element_type element_types[] = {
    [1] = {"line", 2, ELEMENT_POINT_OR_LINE},
    [2] = {"triangle", 3, ELEMENT_POLYGON},
    [3] = {"quad", 4, ELEMENT_POLYGON},
    [4] = {"tet", 4, ELEMENT_TET},
    [5] = {"hexahedron", 8, ELEMENT_OTHER},
    [6] = {"prism", 6, ELEMENT_OTHER},
    [7] = {"pyramid", 5, ELEMENT_OTHER},
    [8] = {"second-order line (line3)", 3, ELEMENT_OTHER},
    [9] = {"second-order triangle (triangle6)", 6, ELEMENT_OTHER},
    [10] = {"second-order quad (quad9)", 9, ELEMENT_OTHER},
    [11] = {"second-order tet (tet10)", 10, ELEMENT_OTHER},
    [12] = {"second-order hexahedron (hexahedron27)", 27, ELEMENT_OTHER},
    [13] = {"second-order prism (prism18)", 18, ELEMENT_OTHER},
    [14] = {"second-order pyramid (pyramid14)", 14, ELEMENT_OTHER},
    [15] = {"point", 1, ELEMENT_POINT_OR_LINE},
    [16] = {"second-order quad (quad8)", 8, ELEMENT_OTHER},
    [17] = {"second-order hexahedron (hexahedron20)", 20, ELEMENT_OTHER},
    [18] = {"second-order prism (prism15)", 15, ELEMENT_OTHER},
    [19] = {"second-order pyramid (pyramid13)", 13, ELEMENT_OTHER},
    [21] = {"third-order triangle (triangle10)", 10, ELEMENT_OTHER},
    [26] = {"third-order line (line4)", 4, ELEMENT_OTHER},
    [29] = {"third-order tet (tet20)", 20, ELEMENT_OTHER},
    [30] = {"fourth-order tet (tet35)", 35, ELEMENT_OTHER},
    [31] = {"fifth-order tet (tet56)", 56, ELEMENT_OTHER},
};
#define ELEMENT_TYPE_COUNT ((long)(sizeof element_types / sizeof element_types[0]))

typedef struct tag_list {
    ARRAY(int) tags; /* in the order of the file */
    key_table table; /* tag to index */
} tag_list;

typedef struct gmsh {
    scanner *s;
    mesh_builder *builder;
    bool version_4, binary;
    bool has_nodes, has_elements;
    tag_list nodes, volumes;
    ARRAY(int) volume_groups; /* the first physical group of each volume, 0 for none */
} gmsh;

static bool read_int(gmsh *g, long low, long high, long *value, const char *what) {
    return scanner_integer(g->s, SCANNER_INT32, low, high, value, what);
}

/* A size_t of 4.1. Counts and tags above INT_MAX are refused: no file within the size limit needs them. */
static bool read_size(gmsh *g, long low, long *value, const char *what) {
    return scanner_integer(g->s, SCANNER_UINT64, low, INT_MAX, value, what);
}

static bool skip_numbers(gmsh *g, scanner_type type, long count, const char *what) {
    double ignored;
    if (!scanner_need(g->s, (size_t)count, scanner_min_bytes(g->s, type), what)) return false;
    for (long i = 0; i < count; i++)
        if (!scanner_number(g->s, type, &ignored, what)) return false;
    return true;
}

static bool read_format(gmsh *g) {
    scanner *s = g->s;
    double version;
    long file_type, data_size;
    if (!scanner_number(s, SCANNER_FLOAT64, &version, "the format version")) return false;
    g->version_4 = version == 4.1;
    if (!g->version_4 && !(version >= 2 && version < 3))
        return scanner_fail(s, "is in format version %s; expected 2.2 or 4.1 (gmsh -format msh41)", s->word);
    if (!scanner_integer(s, SCANNER_INT32, 0, 1, &file_type, "the file type (0 text, 1 binary)") ||
        !scanner_integer(s, SCANNER_INT32, 8, 8, &data_size, "the data size") || !scanner_end_line(s))
        return false;
    g->binary = file_type == 1;
    if (!g->binary) return true;
    long one;
    s->binary = true;
    bool read = scanner_integer(s, SCANNER_INT32, INT_MIN, INT_MAX, &one, "the byte order mark");
    s->binary = false;
    if (read && one != 1 && one != 1 << 24)
        return scanner_fail(s, "found %ld as the byte order mark; expected 1 in either byte order", one);
    s->big_endian = one == 1 << 24;
    return read;
}

/* A name in quotes, which may contain blanks. */
static bool read_name(scanner *s, char *name, size_t size) {
    if (scanner_at_line_end(s) || *s->at != '"') return scanner_fail(s, "no name here; expected a name in quotes");
    const char *start = s->at + 1;
    const char *stop = start;
    while (stop < s->end && *stop != '"' && *stop != '\n') stop++;
    if (*stop != '"') return scanner_fail(s, "the name does not end on its line; expected a closing quote");
    size_t length = (size_t)(stop - start);
    if (length >= size) return scanner_fail(s, "the name has %zu bytes; expected less than %zu", length, size);
    memcpy(name, start, length);
    name[length] = 0;
    s->at = stop + 1;
    return true;
}

static bool read_physical_names(gmsh *g) {
    long count, dimension, tag;
    if (!read_int(g, 0, INT_MAX, &count, "the number of physical names")) return false;
    if (!scanner_need(g->s, (size_t)count, 7, "physical names")) return false;
    for (long i = 0; i < count; i++) {
        char name[256];
        if (!read_int(g, 0, 3, &dimension, "a dimension") || !read_int(g, INT_MIN, INT_MAX, &tag, "a physical tag") ||
            !read_name(g->s, name, sizeof name))
            return false;
        if (dimension == 3 && !mesh_builder_add_region(g->builder, g->s, (int)tag, name)) return false;
    }
    return true;
}

/* what: "node" or "volume", for messages. */
static bool add_tag(gmsh *g, tag_list *list, int tag, const char *what) {
    if (!ARRAY_PUSH(&list->tags, tag)) return scanner_no_memory(g->s);
    long first = key_table_put(&list->table, list->tags.data, list->tags.count - 1);
    if (first == KEY_TABLE_NO_MEMORY) return scanner_no_memory(g->s);
    return first == (long)list->tags.count - 1 ||
           scanner_fail(g->s, "%s %d appears twice; expected different tags", what, tag);
}

static bool add_volume(gmsh *g, int tag, int group) {
    if (!ARRAY_PUSH(&g->volume_groups, group)) return scanner_no_memory(g->s);
    return add_tag(g, &g->volumes, tag, "volume");
}

static bool read_entity(gmsh *g, int dimension) {
    long tag, group_count, group, first_group = 0, bounding_count;
    if (!read_int(g, INT_MIN, INT_MAX, &tag, "an entity tag") ||
        !skip_numbers(g, SCANNER_FLOAT64, dimension == 0 ? 3 : 6, "a bounding box") ||
        !read_size(g, 0, &group_count, "the number of physical groups") ||
        !scanner_need(g->s, (size_t)group_count, scanner_min_bytes(g->s, SCANNER_INT32), "physical groups"))
        return false;
    for (long i = 0; i < group_count; i++) {
        if (!read_int(g, INT_MIN, INT_MAX, &group, "a physical group")) return false;
        if (i == 0) first_group = group;
    }
    if (dimension == 3 && !add_volume(g, (int)tag, (int)first_group)) return false;
    if (dimension == 0) return true;
    return read_size(g, 0, &bounding_count, "the number of bounding entities") &&
           skip_numbers(g, SCANNER_INT32, bounding_count, "bounding entities");
}

static bool read_entities(gmsh *g) {
    long counts[4];
    for (int i = 0; i < 4; i++)
        if (!read_size(g, 0, &counts[i], "a number of entities")) return false;
    for (int dimension = 0; dimension < 4; dimension++)
        for (long i = 0; i < counts[dimension]; i++)
            if (!read_entity(g, dimension)) return false;
    return true;
}

static bool read_nodes_2(gmsh *g) {
    scanner *s = g->s;
    long count, tag;
    double position[3];
    if (!read_int(g, 0, INT_MAX, &count, "the number of nodes") || !scanner_end_line(s)) return false;
    s->binary = g->binary;
    if (!scanner_need(s, (size_t)count, s->binary ? 28 : 8, "nodes")) return false;
    for (long i = 0; i < count; i++)
        if (!read_int(g, 1, INT_MAX, &tag, "a node tag") || !add_tag(g, &g->nodes, (int)tag, "node") ||
            !scanner_position(s, SCANNER_FLOAT64, position) ||
            !mesh_builder_add_node(g->builder, s, position, (int)tag))
            return false;
    return true;
}

static bool read_node_block(gmsh *g) {
    scanner *s = g->s;
    long dimension, entity, parametric, count, tag;
    double position[3];
    if (!read_int(g, 0, 3, &dimension, "a dimension") || !read_int(g, INT_MIN, INT_MAX, &entity, "an entity tag") ||
        !read_int(g, 0, 1, &parametric, "0 or 1 for parametric") || !read_size(g, 0, &count, "the number of nodes"))
        return false;
    size_t parameters = parametric ? (size_t)dimension : 0;
    if (!scanner_need(s, (size_t)count, s->binary ? 32 + 8 * parameters : 8 + 2 * parameters, "nodes")) return false;
    size_t first = g->nodes.tags.count;
    for (long i = 0; i < count; i++)
        if (!read_size(g, 1, &tag, "a node tag") || !add_tag(g, &g->nodes, (int)tag, "node")) return false;
    for (size_t i = 0; i < (size_t)count; i++)
        if (!scanner_position(s, SCANNER_FLOAT64, position) ||
            !mesh_builder_add_node(g->builder, s, position, g->nodes.tags.data[first + i]) ||
            !skip_numbers(g, SCANNER_FLOAT64, (long)parameters, "a parameter"))
            return false;
    return true;
}

/* The first line of $Nodes and of $Elements in 4.1: blocks, total, smallest and largest tag. */
static bool read_counts_4(gmsh *g, long *blocks, long *total) {
    long smallest, largest;
    return read_size(g, 0, blocks, "the number of blocks") && read_size(g, 0, total, "the total number") &&
           read_size(g, 0, &smallest, "the smallest tag") && read_size(g, 0, &largest, "the largest tag");
}

static bool read_nodes_4(gmsh *g) {
    long blocks, total;
    g->s->binary = g->binary;
    if (!read_counts_4(g, &blocks, &total)) return false;
    if (!scanner_need(g->s, (size_t)total, g->binary ? 32 : 8, "nodes")) return false;
    for (long i = 0; i < blocks; i++)
        if (!read_node_block(g)) return false;
    return (size_t)total == g->nodes.tags.count ||
           scanner_fail(g->s, "$Nodes has %zu nodes; expected %ld by its first line", g->nodes.tags.count, total);
}

/* Tags are usually consecutive; then the index follows from the first tag, without a table lookup. */
static long find_node(const gmsh *g, long tag) {
    if (g->nodes.tags.count == 0) return KEY_TABLE_NONE;
    long guess = tag - g->nodes.tags.data[0];
    if (guess >= 0 && guess < (long)g->nodes.tags.count && g->nodes.tags.data[guess] == tag) return guess;
    int key = (int)tag;
    return key_table_find(&g->nodes.table, g->nodes.tags.data, &key);
}

/* Reads the nodes of an element, the last items of its line, and adds the element to the builder. */
static bool read_element(gmsh *g, const element_type *type, scanner_type integer, mesh_place place, int group) {
    int nodes[MAX_NODES];
    for (int i = 0; i < type->node_count; i++) {
        long tag;
        if (!scanner_integer(g->s, integer, 1, INT_MAX, &tag, "a node tag")) return false;
        long node = find_node(g, tag);
        if (node < 0)
            return scanner_fail(g->s, "element %d has node %ld, which is out of range; expected a node of $Nodes",
                                place.number, tag);
        nodes[i] = (int)node;
    }
    switch (type->kind) {
    case ELEMENT_TET:
        return mesh_builder_add_tet(g->builder, g->s, nodes, group, place);
    case ELEMENT_POLYGON:
        return mesh_builder_add_polygon(g->builder, g->s, nodes, (size_t)type->node_count, place);
    default:
        mesh_builder_mark_used(g->builder, nodes, (size_t)type->node_count);
        return true;
    }
}

static bool read_type(gmsh *g, const element_type **type) {
    long number;
    if (!read_int(g, 1, INT_MAX, &number, "an element type")) return false;
    *type = &element_types[number < ELEMENT_TYPE_COUNT ? number : 0];
    if ((*type)->kind != ELEMENT_OTHER) return true;
    const char *name = (*type)->name ? (*type)->name : "higher-order or special element";
    return scanner_fail(g->s, "has a %s (Gmsh type %ld); expected linear tets, triangles, quads, lines or points", name,
                        number);
}

/* The tags of an element in 2.2, the first of which is its physical group. */
static bool read_tags_2(gmsh *g, long tag_count, int *group) {
    *group = 0;
    for (long i = 0; i < tag_count; i++) {
        long tag;
        if (!read_int(g, INT_MIN, INT_MAX, &tag, "a tag")) return false;
        if (i == 0) *group = (int)tag;
    }
    return true;
}

static bool read_element_2_text(gmsh *g) {
    const element_type *type;
    long number, tag_count;
    int group;
    if (!read_int(g, 1, INT_MAX, &number, "an element tag")) return false;
    mesh_place place = {.number = (int)number, .line = scanner_line(g->s)};
    return read_type(g, &type) && read_int(g, 0, INT_MAX, &tag_count, "the number of tags") &&
           read_tags_2(g, tag_count, &group) && read_element(g, type, SCANNER_INT32, place, group) &&
           scanner_end_line(g->s);
}

/* A block of binary elements of one type. left: number of elements that the section has yet to contain. */
static bool read_block_2_binary(gmsh *g, long *left) {
    const element_type *type;
    long count, tag_count, number;
    int group;
    if (!read_type(g, &type) || !read_int(g, 1, *left, &count, "the number of elements in a block") ||
        !read_int(g, 0, 1000, &tag_count, "the number of tags"))
        return false;
    if (!scanner_need(g->s, (size_t)count, 4 * (1 + (size_t)tag_count + (size_t)type->node_count), "elements"))
        return false;
    for (long i = 0; i < count; i++) {
        if (!read_int(g, 1, INT_MAX, &number, "an element tag") || !read_tags_2(g, tag_count, &group)) return false;
        if (!read_element(g, type, SCANNER_INT32, (mesh_place){.number = (int)number}, group)) return false;
    }
    *left -= count;
    return true;
}

static bool read_elements_2(gmsh *g) {
    long count;
    if (!read_int(g, 0, INT_MAX, &count, "the number of elements") || !scanner_end_line(g->s)) return false;
    g->s->binary = g->binary;
    if (!scanner_need(g->s, (size_t)count, 8, "elements")) return false;
    while (g->binary && count > 0)
        if (!read_block_2_binary(g, &count)) return false;
    for (; count > 0; count--)
        if (!read_element_2_text(g)) return false;
    return true;
}

static int group_of(const gmsh *g, long dimension, long entity) {
    int key = (int)entity;
    long volume = dimension == 3 ? key_table_find(&g->volumes.table, g->volumes.tags.data, &key) : KEY_TABLE_NONE;
    return volume < 0 ? 0 : g->volume_groups.data[volume];
}

static bool read_block_4(gmsh *g, long *left) {
    const element_type *type;
    long dimension, entity, count, number;
    if (!read_int(g, 0, 3, &dimension, "a dimension") || !read_int(g, INT_MIN, INT_MAX, &entity, "an entity tag") ||
        !read_type(g, &type) || !read_size(g, 0, &count, "the number of elements"))
        return false;
    if (count > *left) return scanner_fail(g->s, "found %ld elements in a block; expected at most %ld", count, *left);
    size_t values = 1 + (size_t)type->node_count;
    if (!scanner_need(g->s, (size_t)count, values * scanner_min_bytes(g->s, SCANNER_UINT64), "elements")) return false;
    int group = group_of(g, dimension, entity);
    for (long i = 0; i < count; i++) {
        if (!read_size(g, 1, &number, "an element tag")) return false;
        mesh_place place = {.number = (int)number, .line = scanner_line(g->s)};
        if (!read_element(g, type, SCANNER_UINT64, place, group) || (!g->binary && !scanner_end_line(g->s)))
            return false;
    }
    *left -= count;
    return true;
}

static bool read_elements_4(gmsh *g) {
    long blocks, left;
    g->s->binary = g->binary;
    if (!read_counts_4(g, &blocks, &left)) return false;
    for (long i = 0; i < blocks; i++)
        if (!read_block_4(g, &left)) return false;
    return left == 0 || scanner_fail(g->s, "$Elements has %ld elements fewer than its first line says", left);
}

static bool read_nodes(gmsh *g) {
    if (g->has_nodes) return scanner_fail(g->s, "a second $Nodes; expected one");
    g->has_nodes = true;
    return g->version_4 ? read_nodes_4(g) : read_nodes_2(g);
}

static bool read_elements(gmsh *g) {
    if (g->has_elements) return scanner_fail(g->s, "a second $Elements; expected one");
    if (!g->has_nodes) return scanner_fail(g->s, "$Elements before $Nodes; expected $Nodes first");
    g->has_elements = true;
    return g->version_4 ? read_elements_4(g) : read_elements_2(g);
}

static bool skip_section(gmsh *g, const char *end) {
    return scanner_skip_past(g->s, end) || scanner_fail(g->s, "the section does not end; expected %s", end);
}

static bool read_section(gmsh *g) {
    scanner *s = g->s;
    if (!scanner_word(s, "a section")) return false;
    if (s->word[0] != '$' || strlen(s->word) < 2 || strncmp(s->word, "$End", 4) == 0)
        return scanner_fail(s, "found \"%s\"; expected a section such as $Nodes", s->word);
    char end[SCANNER_WORD_MAX + 8];
    snprintf(end, sizeof end, "$End%s", s->word + 1);
    if (strcmp(s->word, "$PartitionedEntities") == 0)
        return scanner_fail(s, "is a partitioned mesh; expected one without partitions");
    bool (*read)(gmsh *) = strcmp(s->word, "$MeshFormat") == 0      ? read_format
                           : strcmp(s->word, "$PhysicalNames") == 0 ? read_physical_names
                           : strcmp(s->word, "$Nodes") == 0         ? read_nodes
                           : strcmp(s->word, "$Elements") == 0      ? read_elements
                           : strcmp(s->word, "$Entities") == 0      ? read_entities
                                                                    : NULL;
    if (!read) return skip_section(g, end);
    if (!scanner_end_line(s)) return false;
    s->binary = g->binary && read == read_entities;
    bool done = read(g);
    s->binary = false;
    return done && scanner_expect(s, end);
}

bool mesh_read_gmsh(scanner *s, mesh_builder *builder) {
    gmsh g = {.s = s, .builder = builder};
    g.nodes.table.key_size = g.volumes.table.key_size = sizeof(int);
    bool done = true;
    while (done && !scanner_at_end(s)) done = read_section(&g);
    if (done && !g.has_nodes) done = scanner_fail(s, "the file ends without $Nodes; expected $Nodes and $Elements");
    if (done && !g.has_elements) done = scanner_fail(s, "the file ends without $Elements; expected it after $Nodes");
    free(g.nodes.tags.data);
    free(g.nodes.table.slots);
    free(g.volumes.tags.data);
    free(g.volume_groups.data);
    free(g.volumes.table.slots);
    return done;
}
