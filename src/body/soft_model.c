/* Builds a soft body from its definition: masses, batches of elements, held nodes, gathering lists. */
#include "body/soft.h"

#include "body/body.h"
#include "core/text.h"
#include "mesh/mesh.h"

#include "thenar/hand.h"

#include <stdlib.h>
#include <string.h>

static thenar_status check_number(const char *what, double value, bool good, const char *expected,
                                  thenar_error *error) {
    if (good && isfinite(value)) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "%s is %g; expected %s", what, value, expected);
}

static thenar_status check_fibre(const thenar_fibre *fibre, thenar_error *error) {
    if (!vec3_is_finite(vec3_load(fibre->direction)))
        return error_set(error, THENAR_ERROR_INPUT, "the direction of a fibre is not finite");
    thenar_status status =
        check_number("a fibre's min", fibre->stretch_min, fibre->stretch_min >= 0 && fibre->stretch_min < 1,
                     "from 0 (no limit) to below 1", error);
    if (status != THENAR_OK) return status;
    return check_number("a fibre's max", fibre->stretch_max, fibre->stretch_max == 0 || fibre->stretch_max > 1,
                        "above 1, or 0 for no limit", error);
}

static thenar_status check_material(const thenar_material *m, thenar_error *error) {
    const struct {
        const char *what;
        double value;
        bool good;
        const char *expected;
    } checks[] = {
        {"young", m->young, m->young > 0, "> 0 Pa"},
        {"poisson", m->poisson, m->poisson > -1 && m->poisson < 0.5, "between -1 and 0.5, both excluded"},
        {"density", m->density, m->density > 0, "> 0 kg/m^3"},
        {"damping_mass", m->damping_mass, m->damping_mass >= 0, ">= 0 1/s"},
        {"damping_stiffness", m->damping_stiffness, m->damping_stiffness >= 0, ">= 0 s"},
        {"stretch_min", m->stretch_min, m->stretch_min >= 0 && m->stretch_min < 1, "from 0 (no limit) to below 1"},
        {"stretch_max", m->stretch_max, m->stretch_max == 0 || m->stretch_max > 1, "above 1, or 0 for no limit"},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        thenar_status status = check_number(checks[i].what, checks[i].value, checks[i].good, checks[i].expected, error);
        if (status != THENAR_OK) return status;
    }
    thenar_status status = THENAR_OK;
    for (int i = 0; i < THENAR_FIBRES && status == THENAR_OK; i++) status = check_fibre(&m->fibres[i], error);
    return status;
}

/* Offsets into the records of the elements and into arrays of node vectors are ints. */
static thenar_status check_size(const thenar_tet_mesh *mesh, thenar_error *error) {
    if (mesh->tet_count < 0 || mesh->tet_count > SOFT_TETS_MAX)
        return error_set(error, THENAR_ERROR_INPUT, "a soft body has %d tets; expected at most %d", mesh->tet_count,
                         SOFT_TETS_MAX);
    if (mesh->node_count < 0 || mesh->node_count > 4 * mesh->tet_count)
        return error_set(error, THENAR_ERROR_INPUT,
                         "a soft body has %d nodes; expected every node in one of its %d tets", mesh->node_count,
                         mesh->tet_count);
    return THENAR_OK;
}

static thenar_status check_fill(const thenar_soft_def *def, thenar_error *error) {
    for (int t = 0; def->fill && t < def->mesh->tet_count; t++)
        if (!(def->fill[t] > 0 && def->fill[t] <= 1))
            return error_set(error, THENAR_ERROR_INPUT, "fill of tet %d is %g; expected above 0 and at most 1", t,
                             def->fill[t]);
    return THENAR_OK;
}

static thenar_status check_embedding(const thenar_soft_def *def, thenar_error *error) {
    if (!def->surface != !def->embedding)
        return error_set(error, THENAR_ERROR_INPUT, "surface and embedding come together; one of them is missing");
    if (!def->surface) return THENAR_OK;
    const thenar_embedding *embedding = def->embedding;
    if (embedding->vertex_count != def->surface->vertex_count)
        return error_set(error, THENAR_ERROR_INPUT, "the embedding has %d vertices; expected the surface's %d",
                         embedding->vertex_count, def->surface->vertex_count);
    thenar_status status = surface_validate(def->surface, error);
    if (status != THENAR_OK) return status;
    for (int i = 0; i < embedding->vertex_count; i++) {
        if (embedding->tet[i] < 0 || embedding->tet[i] >= def->mesh->tet_count)
            return error_set(error, THENAR_ERROR_INPUT, "embedding of vertex %d names tet %d; expected 0..%d", i,
                             embedding->tet[i], def->mesh->tet_count - 1);
        for (int k = 0; k < 4; k++)
            if (!isfinite(embedding->weights[4 * i + k]))
                return error_set(error, THENAR_ERROR_INPUT, "embedding of vertex %d has a weight that is not finite",
                                 i);
    }
    return THENAR_OK;
}

static thenar_status check_contact_spacing(const thenar_soft_def *def, thenar_error *error) {
    if (def->contact_spacing_at && !def->surface)
        return error_set(error, THENAR_ERROR_INPUT,
                         "contact_spacing_at without a surface; expected the surface whose vertices it is for");
    if (def->contact_groups && !def->surface)
        return error_set(error, THENAR_ERROR_INPUT,
                         "contact_groups without a surface; expected the surface whose vertices it is for");
    for (int v = 0; def->contact_spacing_at && v < def->surface->vertex_count; v++)
        if (!(def->contact_spacing_at[v] >= 0) || !isfinite(def->contact_spacing_at[v]))
            return error_set(error, THENAR_ERROR_INPUT, "the contact spacing at vertex %d is %g; expected >= 0 m", v,
                             def->contact_spacing_at[v]);
    return check_number("contact_spacing", def->contact_spacing, def->contact_spacing >= 0, ">= 0 m", error);
}

static thenar_status check_parts(const thenar_soft_def *def, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int i = 0; i < def->region_count && status == THENAR_OK; i++) {
        status = region_check(&def->regions[i].region, error);
        if (status == THENAR_OK) status = check_material(&def->regions[i].material, error);
    }
    for (int i = 0; i < def->support_count && status == THENAR_OK; i++) {
        status = region_check(&def->supports[i].region, error);
        if (status == THENAR_OK) status = support_check(&def->supports[i], error);
    }
    for (int i = 0; i < def->load_count && status == THENAR_OK; i++) {
        status = region_check(&def->loads[i].region, error);
        if (status == THENAR_OK && !vec3_is_finite(vec3_load(def->loads[i].force)))
            status = error_set(error, THENAR_ERROR_INPUT, "the force of load %d is not finite", i);
    }
    return status;
}

/* Checks everything but the tet mesh itself (mesh_check_tets does that). */
static thenar_status soft_check(const thenar_soft_def *def, thenar_error *error) {
    if (!def->name || !*def->name) return error_set(error, THENAR_ERROR_INPUT, "a soft body has no name");
    if (!text_is_printable(def->name))
        return error_set(error, THENAR_ERROR_INPUT,
                         "the name of a soft body is not plain text; expected printable UTF-8");
    if (!def->mesh) return error_set(error, THENAR_ERROR_INPUT, "a soft body has no mesh");
    thenar_status status = check_size(def->mesh, error);
    if (status == THENAR_OK) status = check_material(&def->material, error);
    if (status == THENAR_OK) status = check_fill(def, error);
    if (status == THENAR_OK) status = check_embedding(def, error);
    if (status == THENAR_OK) status = check_contact_spacing(def, error);
    if (status == THENAR_OK) status = check_parts(def, error);
    if (status == THENAR_OK &&
        (!body_within(def->velocity, 3, BODY_FASTEST) || !body_within(def->spin, 3, BODY_FASTEST)))
        status = error_set(error, THENAR_ERROR_INPUT, "the velocity or spin at time 0; expected numbers up to %g",
                           BODY_FASTEST);
    if (status == THENAR_OK && !(def->self_distance >= 0 && isfinite(def->self_distance)))
        status = error_set(error, THENAR_ERROR_INPUT, "self_distance is %g; expected 0 or more, m", def->self_distance);
    return status;
}

static_assert(SOFT_FIBRES == THENAR_FIBRES, "the kernel has room for every fibre of a material");

thenar_material thenar_material_default(void) {
    return (thenar_material){.young = 1e5, .poisson = 0.45, .density = 1000, .damping_stiffness = 0.01};
}

static const char *const presets[] = {"tissue", "flesh"};
NAMES(thenar_material_preset, presets)

thenar_material thenar_material_of(thenar_material_preset preset) {
    if (preset == THENAR_MATERIAL_FLESH) return thenar_hand_def_default().material;
    return thenar_material_default();
}

thenar_status thenar_soft_def_init(thenar_soft_def *def, size_t size) {
    const thenar_soft_def defaults = {.material = thenar_material_default(), .touches = true, .friction = 0.5};
    return sized_give(def, size, &defaults, sizeof defaults, "thenar_soft_def");
}

/* The material of each tet. A region without tets is an error, usually of the unit. The caller frees *out. */
static thenar_status assign_materials(const thenar_soft_def *def, const thenar_material ***out, thenar_error *error) {
    int tets = def->mesh->tet_count;
    const thenar_material **of_tet = *out = MEMORY_ARRAY(const thenar_material *, tets);
    bool *marked = MEMORY_ARRAY(bool, tets);
    thenar_status status = of_tet && marked ? THENAR_OK : error_memory(error, def->name);
    for (int t = 0; t < tets && status == THENAR_OK; t++) of_tet[t] = &def->material;
    for (int r = 0; r < def->region_count && status == THENAR_OK; r++) {
        region_mark_tets(&def->regions[r].region, def->mesh, marked);
        int count = 0;
        for (int t = 0; t < tets; t++) {
            if (marked[t]) of_tet[t] = &def->regions[r].material;
            count += marked[t];
        }
        if (count == 0)
            status = error_set(error, THENAR_ERROR_INPUT, "region %d holds no tet; expected a part of the body", r);
    }
    free(marked);
    return status;
}

static mat3 edge_matrix(const double *positions, const int node[4]) {
    vec3 base = vec3_load(positions + 3 * node[0]);
    return mat3_columns(vec3_sub(vec3_load(positions + 3 * node[1]), base),
                        vec3_sub(vec3_load(positions + 3 * node[2]), base),
                        vec3_sub(vec3_load(positions + 3 * node[3]), base));
}

static void sort_four(const int in[4], int out[4]) {
    memcpy(out, in, 4 * sizeof *out);
    for (int i = 1; i < 4; i++)
        for (int j = i; j > 0 && out[j - 1] > out[j]; j--) {
            int held = out[j];
            out[j] = out[j - 1];
            out[j - 1] = held;
        }
}

static double mean_edge(const double *positions, const int node[4]) {
    double sum = 0;
    for (int a = 1; a < 4; a++)
        for (int b = 0; b < a; b++)
            sum += vec3_distance(vec3_load(positions + 3 * node[a]), vec3_load(positions + 3 * node[b]));
    return sum / 6;
}

/* Pa: the penalty of strain limits is not softer than of flesh of this modulus. Limits bear the torques of joints and the
 * forces of contacts, which do not shrink with the modulus; in units of 10 kPa they were reached too slowly. */
#define LIMIT_YOUNG_MIN 3e4

static void fill_lane(soft_model *body, soft_batch *batch, int lane, int t, const thenar_material *material,
                      double volume) {
    int node[4];
    sort_four(body->mesh.tets + 4 * t, node);
    mat3 gradient = mat3_inverse(edge_matrix(body->mesh.positions, node));
    for (int i = 0; i < 9; i++) batch->gradient[i][lane] = gradient.m[i];
    double young = material->young, nu = material->poisson;
    batch->lambda[lane] = volume * young * nu / ((1 + nu) * (1 - 2 * nu));
    batch->mu[lane] = volume * young / (2 * (1 + nu));
    batch->beta[lane] = material->damping_stiffness;
    batch->stiffness[lane] = volume * fmax(young, LIMIT_YOUNG_MIN);
    batch->edge[lane] = mean_edge(body->mesh.positions, node);
    batch->s_min[lane] = material->stretch_min > 0 ? material->stretch_min : -SOFT_NO_LIMIT;
    batch->s_max[lane] = material->stretch_max > 0 ? material->stretch_max : SOFT_NO_LIMIT;
    if (material->stretch_min > 0 || material->stretch_max > 0) batch->limited = body->base.limited = true;
    for (int a = 0; a < 4; a++) batch->node[a][lane] = node[a];
}

static bool is_fibre(const thenar_fibre *fibre) {
    return vec3_length(vec3_load(fibre->direction)) > 0 && (fibre->stretch_min > 0 || fibre->stretch_max > 0);
}

static void fill_fibres(soft_fibres *fibres, int lane, const thenar_material *material) {
    for (int i = 0; i < SOFT_FIBRES; i++) {
        const thenar_fibre *fibre = &material->fibres[i];
        vec3 e = is_fibre(fibre) ? vec3_unit(vec3_load(fibre->direction)) : vec3_make(0, 0, 0);
        fibres->direction[i][0][lane] = e.x;
        fibres->direction[i][1][lane] = e.y;
        fibres->direction[i][2][lane] = e.z;
        fibres->min[i][lane] = is_fibre(fibre) && fibre->stretch_min > 0 ? fibre->stretch_min : -SOFT_NO_LIMIT;
        fibres->max[i][lane] = is_fibre(fibre) && fibre->stretch_max > 0 ? fibre->stretch_max : SOFT_NO_LIMIT;
    }
}

/* Limits along fibres, for the batches that have some. False: out of memory. */
static bool build_fibres(soft_model *body, const thenar_material *const *material) {
    bool any = false;
    int tets = body->mesh.tet_count;
    for (int t = 0; t < tets; t++)
        for (int i = 0; i < THENAR_FIBRES; i++) any = any || is_fibre(&material[t]->fibres[i]);
    if (!any) return true;
    body->fibres = memory_aligned((size_t)body->batch_count * sizeof *body->fibres);
    if (!body->fibres) return false;
    body->base.limited = true;
    for (int slot = 0; slot < body->batch_count * SIMD_LANES; slot++) {
        soft_batch *batch = &body->batches[slot / SIMD_LANES];
        batch->limited = true;
        batch->fibres = &body->fibres[slot / SIMD_LANES];
        fill_fibres(&body->fibres[slot / SIMD_LANES], slot % SIMD_LANES, material[slot < tets ? slot : tets - 1]);
    }
    return true;
}

/* Masses of the nodes and the constants of the elements. */
static bool build_elements(soft_model *body, const thenar_soft_def *def, const thenar_material *const *material) {
    int tets = body->mesh.tet_count;
    body->batch_count = (tets + SIMD_LANES - 1) / SIMD_LANES;
    body->batches = memory_aligned((size_t)body->batch_count * sizeof(soft_batch));
    body->mass = MEMORY_ARRAY(double, body->mesh.node_count);
    body->damped_mass = MEMORY_ARRAY(double, body->mesh.node_count);
    if (!body->batches || !body->mass || !body->damped_mass) return false;
    for (int slot = 0; slot < body->batch_count * SIMD_LANES; slot++) {
        soft_batch *batch = &body->batches[slot / SIMD_LANES];
        int t = slot < tets ? slot : tets - 1;
        vec3 corner[4];
        tet_mesh_corners(&body->mesh, t, corner);
        double volume = slot < tets ? tet_volume(corner) * (def->fill ? def->fill[t] : 1) : 0;
        fill_lane(body, batch, slot % SIMD_LANES, t, material[t], volume);
        if (slot >= tets) continue;
        batch->tet_count++;
        double quarter = volume * material[t]->density / 4;
        body->volume += volume;
        body->base.mass += 4 * quarter;
        for (int k = 0; k < 4; k++) {
            body->mass[body->mesh.tets[4 * t + k]] += quarter;
            body->damped_mass[body->mesh.tets[4 * t + k]] += quarter * material[t]->damping_mass;
        }
    }
    return build_fibres(body, material);
}

/* A node claimed by several supports belongs to the last: owner[i] is its support or -1. */
static int *assign_supports(const thenar_soft_def *def) {
    int nodes = def->mesh->node_count;
    int *owner = MEMORY_ARRAY(int, nodes);
    bool *marked = MEMORY_ARRAY(bool, nodes);
    if (!owner || !marked) {
        free(owner);
        free(marked);
        return NULL;
    }
    for (int i = 0; i < nodes; i++) owner[i] = -1;
    for (int s = 0; s < def->support_count; s++) {
        region_mark_nodes(&def->supports[s].region, def->mesh, marked);
        for (int i = 0; i < nodes; i++)
            if (marked[i]) owner[i] = s;
    }
    free(marked);
    return owner;
}

static thenar_status build_support(soft_model *body, const thenar_support *def, int index, const int *owner,
                                   thenar_error *error) {
    support_model *support = &body->supports[index];
    support->nodes = MEMORY_ARRAY(int, body->mesh.node_count);
    support->keys = memory_copy(def->keys, (size_t)def->key_count * sizeof *def->keys);
    support->name = memory_string(def->name);
    if (!support->nodes || !support->keys || (def->name && !support->name)) return error_memory(error, "support");
    support->key_count = def->key_count;
    support->linear = def->linear;
    vec3 sum = {0};
    for (int i = 0; i < body->mesh.node_count; i++) {
        if (owner[i] != index) continue;
        support->nodes[support->node_count++] = i;
        sum = vec3_add(sum, vec3_load(body->mesh.positions + 3 * i));
    }
    if (support->node_count == 0)
        return error_set(
            error, THENAR_ERROR_INPUT,
            "support %s holds no node; expected a region with nodes of the body that no later support claims",
            def->name ? def->name : "without a name");
    support->stiffness = def->stiffness / support->node_count;
    support->damping = def->damping / support->node_count;
    for (int k = 0; k < support->node_count; k++) {
        body->stiffness[support->nodes[k]] = support->stiffness;
        body->damping[support->nodes[k]] = support->damping;
    }
    support->pivot = def->has_pivot ? vec3_load(def->pivot) : vec3_scale(sum, 1.0 / support->node_count);
    return THENAR_OK;
}

/* A tet whose nodes are all held has no limit: no solver can change its strain. */
static void drop_held_limits(soft_model *body) {
    for (int slot = 0; slot < body->batch_count * SIMD_LANES; slot++) {
        soft_batch *batch = &body->batches[slot / SIMD_LANES];
        int lane = slot % SIMD_LANES, held = 0;
        for (int a = 0; a < 4; a++) held += body->system_node[batch->node[a][lane]] < 0;
        if (held < 4) continue;
        batch->s_min[lane] = -SOFT_NO_LIMIT;
        batch->s_max[lane] = SOFT_NO_LIMIT;
        for (int i = 0; body->fibres && i < SOFT_FIBRES; i++) {
            body->fibres[slot / SIMD_LANES].min[i][lane] = -SOFT_NO_LIMIT;
            body->fibres[slot / SIMD_LANES].max[i][lane] = SOFT_NO_LIMIT;
        }
    }
}

static thenar_status build_supports(soft_model *body, const thenar_soft_def *def, thenar_error *error) {
    int *owner = assign_supports(def);
    body->supports = MEMORY_ARRAY(support_model, def->support_count);
    body->system_node = MEMORY_ARRAY(int, body->mesh.node_count);
    body->stiffness = MEMORY_ARRAY(double, body->mesh.node_count);
    body->damping = MEMORY_ARRAY(double, body->mesh.node_count);
    bool enough = owner && body->supports && body->system_node && body->stiffness && body->damping;
    thenar_status status = enough ? THENAR_OK : error_memory(error, "supports");
    for (int s = 0; s < def->support_count && status == THENAR_OK; s++) {
        body->support_count = s + 1;
        status = build_support(body, &def->supports[s], s, owner, error);
    }
    for (int i = 0; i < body->mesh.node_count && status == THENAR_OK; i++)
        body->system_node[i] = owner[i] < 0 || body->stiffness[i] > 0 ? body->base.system_node_count++ : -1;
    free(owner);
    if (status == THENAR_OK) drop_held_limits(body);
    for (int k = 0; k < body->batch_count && status == THENAR_OK; k++)
        for (int l = 0; l < 4 * SIMD_LANES; l++)
            if (body->system_node[body->batches[k].node[l / SIMD_LANES][l % SIMD_LANES]] < 0)
                body->batches[k].has_held = true;
    return status;
}

static thenar_status build_loads(soft_model *body, const thenar_soft_def *def, thenar_error *error) {
    int nodes = body->mesh.node_count;
    body->load = MEMORY_ARRAY(double, 3 * (size_t)nodes);
    bool *marked = MEMORY_ARRAY(bool, nodes);
    thenar_status status = body->load && marked ? THENAR_OK : error_memory(error, "loads");
    for (int k = 0; k < def->load_count && status == THENAR_OK; k++) {
        region_mark_nodes(&def->loads[k].region, def->mesh, marked);
        int count = 0;
        for (int i = 0; i < nodes; i++) count += marked[i];
        if (count == 0)
            status = error_set(error, THENAR_ERROR_INPUT,
                               "load %d acts on no node; expected a region with nodes of the body in it", k);
        for (int i = 0; i < nodes; i++)
            for (int c = 0; marked[i] && c < 3; c++) body->load[3 * i + c] += def->loads[k].force[c] / count;
    }
    free(marked);
    return status;
}

static bool build_velocity(soft_model *body, const thenar_soft_def *def) {
    body->velocity = MEMORY_ARRAY(double, 3 * (size_t)body->mesh.node_count);
    if (!body->velocity) return false;
    vec3 centre = {0};
    for (int i = 0; i < body->mesh.node_count; i++)
        centre = vec3_mul_add(centre, vec3_load(body->mesh.positions + 3 * i), body->mass[i] / body->base.mass);
    for (int i = 0; i < body->mesh.node_count; i++) {
        if (body->system_node[i] < 0) continue;
        vec3 arm = vec3_sub(vec3_load(body->mesh.positions + 3 * i), centre);
        vec3_store(body->velocity + 3 * i, vec3_add(vec3_load(def->velocity), vec3_cross(vec3_load(def->spin), arm)));
    }
    return true;
}

static thenar_status build_surface(soft_model *body, const thenar_soft_def *def, thenar_error *error) {
    if (!def->surface) return thenar_tet_mesh_surface(&body->mesh, &body->surface, &body->embedding, error);
    thenar_status status = surface_copy(def->surface, &body->surface, error);
    if (status == THENAR_OK) status = embedding_copy(def->embedding, &body->embedding, error);
    /* If all tets were inverted, mesh_check_tets has reordered their corners; the embedding weights follow. */
    bool turned = body->mesh.tets[2] != def->mesh->tets[2];
    for (int i = 0; i < body->embedding.vertex_count && turned; i++) {
        double *weights = body->embedding.weights + 4 * (size_t)i, third = weights[2];
        weights[2] = weights[3];
        weights[3] = third;
    }
    return status;
}

static thenar_status build_contact_spacing(soft_model *body, const thenar_soft_def *def, thenar_error *error) {
    if (!def->contact_spacing_at && def->contact_spacing == 0) return THENAR_OK;
    int count = body->surface.vertex_count;
    body->contact_spacing = MEMORY_ARRAY(double, count);
    if (!body->contact_spacing) return error_memory(error, def->name);
    for (int v = 0; v < count; v++)
        body->contact_spacing[v] = def->contact_spacing_at ? def->contact_spacing_at[v] : def->contact_spacing;
    return THENAR_OK;
}

static thenar_status build_contact_groups(soft_model *body, const thenar_soft_def *def, thenar_error *error) {
    if (!def->contact_groups) return THENAR_OK;
    size_t count = (size_t)body->surface.vertex_count;
    body->contact_groups = MEMORY_ARRAY(int, count);
    if (!body->contact_groups) return error_memory(error, def->name);
    memcpy(body->contact_groups, def->contact_groups, count * sizeof *body->contact_groups);
    return THENAR_OK;
}

/* Finite input can have products that overflow or vanish and would put NaN into the state. */
static thenar_status check_range(const soft_model *body, thenar_error *error) {
    bool good = isfinite(body->base.mass);
    for (int i = 0; i < body->mesh.node_count && good; i++)
        good = body->mass[i] > 0 && isfinite(body->damped_mass[i]) &&
               vec3_is_finite(vec3_load(body->velocity + 3 * (size_t)i)) &&
               vec3_is_finite(vec3_load(body->load + 3 * (size_t)i));
    for (int t = 0; t < body->mesh.tet_count && good; t++) {
        const soft_batch *batch = &body->batches[t / SIMD_LANES];
        int lane = t % SIMD_LANES;
        good = isfinite(batch->lambda[lane]) && isfinite(batch->mu[lane]) && batch->mu[lane] > 0;
    }
    if (good) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT,
                     "%s: a mass, stiffness, load or velocity is out of the range of numbers; expected usual sizes",
                     body->base.name);
}

static thenar_status build(soft_model *body, const thenar_soft_def *def, thenar_error *error) {
    body->base.kind = &soft_class;
    body->base.name = memory_string(def->name);
    body->base.surface = &body->surface;
    body->self_distance = def->self_distance;
    if (!body->base.name) return error_memory(error, def->name);
    mesh_origin origin = {.name = def->name};
    mesh_note note;
    thenar_status status = tet_mesh_copy(def->mesh, &body->mesh, error);
    if (status == THENAR_OK) status = mesh_check_tets(&body->mesh, &origin, &note, error);
    if (status == THENAR_OK) status = build_surface(body, def, error);
    if (status == THENAR_OK) status = build_contact_spacing(body, def, error);
    if (status == THENAR_OK) status = build_contact_groups(body, def, error);
    const thenar_material **material = NULL;
    if (status == THENAR_OK) status = assign_materials(def, &material, error);
    if (status == THENAR_OK && !build_elements(body, def, material)) status = error_memory(error, def->name);
    free(material);
    if (status == THENAR_OK) status = build_supports(body, def, error);
    if (status == THENAR_OK) status = build_loads(body, def, error);
    if (status == THENAR_OK && !build_velocity(body, def)) status = error_memory(error, def->name);
    if (status == THENAR_OK) status = check_range(body, error);
    return status;
}

thenar_status soft_model_create(const thenar_soft_def *def, soft_model **out, thenar_error *error) {
    *out = NULL;
    thenar_status status = soft_check(def, error);
    if (status != THENAR_OK) return status;
    soft_model *body = MEMORY_ARRAY(soft_model, 1);
    if (!body) return error_memory(error, def->name);
    status = build(body, def, error);
    if (status == THENAR_OK)
        *out = body;
    else
        soft_class.free(&body->base);
    return status;
}

/* The unknown of local node a of a tet, or -1; tets are numbered as in the mesh. */
static int tet_unknown(const soft_model *body, int t, int a) {
    return body->system_node[body->batches[t / SIMD_LANES].node[a][t % SIMD_LANES]];
}

bool soft_couple(const body_model *base, int first_node, body_couplings *couplings) {
    const soft_model *body = (const soft_model *)base;
    for (int t = 0; t < body->mesh.tet_count; t++) {
        if (!ARRAY_PUSH(&couplings->start, (int)couplings->node.count)) return false;
        for (int a = 0; a < 4; a++) {
            int unknown = tet_unknown(body, t, a);
            if (unknown >= 0 && !ARRAY_PUSH(&couplings->node, first_node + unknown)) return false;
        }
    }
    return true;
}

/* Visits each element block between two unknowns: system block, tet, local nodes a >= b. */
typedef void (*block_visitor)(soft_model *body, int *slot_of_block, int block, int t, int a, int b);

static void visit_blocks(soft_model *body, const block_pattern *pattern, int first_node, int *slot_of_block,
                         block_visitor visit) {
    for (int t = 0; t < body->mesh.tet_count; t++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b <= a; b++) {
                int row = tet_unknown(body, t, a), column = tet_unknown(body, t, b);
                if (row < 0 || column < 0) continue;
                int block = block_pattern_find(pattern, first_node + row, first_node + column);
                visit(body, slot_of_block, block, t, a, b);
            }
}

static void count_block(soft_model *body, int *slot_of_block, int block, int t, int a, int b) {
    (void)body, (void)t, (void)a, (void)b;
    slot_of_block[block]++;
}

/* block_start[slot + 1] is the position of the next source of a slot; it ends up at the end of the slot. */
static void place_block(soft_model *body, int *slot_of_block, int block, int t, int a, int b) {
    int slot = slot_of_block[block];
    body->block_source[body->block_start[slot + 1]++] = t * SOFT_RECORD + 9 * (a * (a + 1) / 2 + b);
    body->tet_block[t][a * (a + 1) / 2 + b] = block;
    if (a == b) body->diagonal_node[slot] = body->batches[t / SIMD_LANES].node[a][t % SIMD_LANES];
}

static thenar_status bind_blocks(soft_model *body, const block_pattern *pattern, int first_node, thenar_error *error) {
    int *slot_of_block = MEMORY_ARRAY(int, pattern->block_count);
    if (!slot_of_block) return error_memory(error, body->base.name);
    visit_blocks(body, pattern, first_node, slot_of_block, count_block);
    int slots = 0, sources = 0;
    for (int k = 0; k < pattern->block_count; k++) slots += slot_of_block[k] > 0, sources += slot_of_block[k];
    body->block_count = slots;
    body->block_target = MEMORY_ARRAY(int, slots);
    body->diagonal_node = MEMORY_ARRAY(int, slots);
    body->block_start = MEMORY_ARRAY(int, slots + 2);
    body->block_source = MEMORY_ARRAY(int, sources);
    body->tet_block = (int(*)[10])MEMORY_ARRAY(int, 10 * (size_t)body->mesh.tet_count);
    if (!body->block_target || !body->diagonal_node || !body->block_start || !body->block_source || !body->tet_block) {
        free(slot_of_block);
        return error_memory(error, body->base.name);
    }
    for (int k = 0, slot = 0, start = 0; k < pattern->block_count; k++) {
        if (slot_of_block[k] == 0) continue;
        body->block_target[slot] = k;
        body->diagonal_node[slot] = -1;
        body->block_start[slot + 1] = start;
        start += slot_of_block[k];
        slot_of_block[k] = slot++;
    }
    for (int t = 0; t < body->mesh.tet_count; t++)
        for (int i = 0; i < 10; i++) body->tet_block[t][i] = -1;
    visit_blocks(body, pattern, first_node, slot_of_block, place_block);
    free(slot_of_block);
    return THENAR_OK;
}

static thenar_status bind_forces(soft_model *body, thenar_error *error) {
    int nodes = body->mesh.node_count, tets = body->mesh.tet_count;
    body->force_start = MEMORY_ARRAY(int, nodes + 2);
    body->force_source = MEMORY_ARRAY(int, 4 * (size_t)tets);
    if (!body->force_start || !body->force_source) return error_memory(error, body->base.name);
    for (int i = 0; i < 4 * tets; i++) body->force_start[body->mesh.tets[i] + 2]++;
    for (int i = 0; i < nodes; i++) body->force_start[i + 2] += body->force_start[i + 1];
    for (int t = 0; t < tets; t++)
        for (int a = 0; a < 4; a++) {
            int node = body->batches[t / SIMD_LANES].node[a][t % SIMD_LANES];
            body->force_source[body->force_start[node + 1]++] = t * SOFT_RECORD + SOFT_RECORD_FORCE + 3 * a;
        }
    return THENAR_OK;
}

thenar_status soft_bind(body_model *base, const block_pattern *pattern, int first_node, thenar_error *error) {
    soft_model *body = (soft_model *)base;
    thenar_status status = bind_blocks(body, pattern, first_node, error);
    return status == THENAR_OK ? bind_forces(body, error) : status;
}
