#include "shape/mesh.h"

#include <stdlib.h>

void thenar_tet_mesh_free(thenar_tet_mesh *mesh) {
    free(mesh->positions);
    free(mesh->tets);
    free(mesh->tags);
    *mesh = (thenar_tet_mesh){0};
}

void thenar_surface_free(thenar_surface *surface) {
    free(surface->positions);
    free(surface->triangles);
    *surface = (thenar_surface){0};
}

void thenar_embedding_free(thenar_embedding *embedding) {
    free(embedding->tet);
    free(embedding->weights);
    *embedding = (thenar_embedding){0};
}
