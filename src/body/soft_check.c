#include "body/soft_check.h"

#include "base/text.h"
#include "body/body.h"
#include "body/region.h"
#include "body/soft_element.h"
#include "body/support.h"
#include "shape/mesh_check.h"

static thenar_status check_number(const char *what, double value, bool good, const char *expected,
                                  thenar_error *error) {
    if (good && isfinite(value)) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "%s is %g; expected %s", what, value, expected);
}

static thenar_status check_fibre(const thenar_fibre *fibre, thenar_error *error) {
    if (!vec3_is_finite(vec3_load(fibre->direction)))
        return error_set(error, THENAR_ERROR_INPUT, "the direction of a fibre is not finite");
    thenar_status status = check_number("a fibre's min", fibre->min, fibre->min >= 0 && fibre->min < 1,
                                        "from 0 (no limit) to below 1", error);
    if (status != THENAR_OK) return status;
    return check_number("a fibre's max", fibre->max, fibre->max == 0 || fibre->max > 1, "above 1, or 0 for no limit",
                        error);
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
    if (mesh->tet_count < 0 || mesh->tet_count > SOFT_TETS_MOST)
        return error_set(error, THENAR_ERROR_INPUT, "a soft body has %d tets; expected at most %d", mesh->tet_count,
                         SOFT_TETS_MOST);
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

thenar_status soft_check(const thenar_soft_def *def, thenar_error *error) {
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
