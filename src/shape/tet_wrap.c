#include "shape/tet_wrap.h"

#include "shape/lattice.h"
#include "shape/tet_cover.h"

#define FIT_QUALITY 0.3
#define IMPROVE_QUALITY 0.35
#define COVER_TURNS 30
#define COVER_ROUNDS 6
#define FREE_TURNS 3      /* in which improving may uncover the skin again */
#define WORST_COVERED 0.1 /* a radius ratio from which the last improvement goes on */

static thenar_status improve(const tet_wrap *wrap, bool keep_covered, thenar_tet_mesh *mesh, thenar_error *error) {
    if (!keep_covered) return lattice_improve(wrap->solid, NULL, NULL, IMPROVE_QUALITY, mesh, error);
    thenar_embedding hold;
    int outside;
    thenar_status status = tet_group_embedding(mesh, wrap->skin, wrap->group, &hold, &outside, error);
    if (status == THENAR_OK) status = lattice_improve(wrap->solid, wrap->skin, &hold, IMPROVE_QUALITY, mesh, error);
    thenar_embedding_free(&hold);
    return status;
}

/* Draws the boundary to the skin or, with `relax`, the inner nodes after it. */
static thenar_status fit(const tet_wrap *wrap, bool relax, thenar_tet_mesh *mesh, thenar_error *error) {
    thenar_embedding hold;
    int outside;
    thenar_status status = tet_group_embedding(mesh, wrap->skin, wrap->group, &hold, &outside, error);
    if (status == THENAR_OK)
        status = relax ? lattice_relax(wrap->skin, &hold, FIT_QUALITY, mesh, error)
                       : lattice_fit(wrap->solid, wrap->skin, &hold, FIT_QUALITY, mesh, error);
    thenar_embedding_free(&hold);
    return status;
}

/* In turns: what covers the skin makes tets worse, what makes them better uncovers some of it. */
thenar_status tet_wrap_cover(const tet_wrap *wrap, thenar_tet_mesh *mesh, thenar_error *error) {
    thenar_tet_figures figures = {0};
    int outside = 1;
    thenar_status status = improve(wrap, false, mesh, error);
    for (int turn = 0; turn < COVER_TURNS && status == THENAR_OK; turn++) {
        status = tet_cover(mesh, wrap->skin, wrap->group, COVER_ROUNDS, &outside, error);
        if (status == THENAR_OK) status = thenar_tet_mesh_quality(mesh, &figures, error);
        if (status != THENAR_OK || (outside == 0 && figures.radius_ratio_min > WORST_COVERED)) return status;
        status = improve(wrap, turn >= FREE_TURNS, mesh, error);
    }
    return status != THENAR_OK ? status
                               : error_set(error, THENAR_ERROR_INPUT,
                                           "no sound tets cover a hand of these sizes; expected the sizes of a hand");
}

thenar_status tet_wrap_fit(const tet_wrap *wrap, int turns, thenar_tet_mesh *mesh, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int turn = 0; turn < turns && status == THENAR_OK; turn++) {
        if (turn > 0) status = fit(wrap, true, mesh, error);
        if (status == THENAR_OK) status = fit(wrap, false, mesh, error);
    }
    return status == THENAR_OK ? improve(wrap, true, mesh, error) : status;
}
