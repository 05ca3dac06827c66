/* Mesh files; one program a format (FUZZ_EXTENSION). */
#include "fuzz.h"

#include "io/file.h"

static void check_indices(const int *indices, int count, int limit) {
    for (int i = 0; i < count; i++) fuzz_check(indices[i] >= 0 && indices[i] < limit);
}

static void check_finite(const double *numbers, int count) {
    for (int i = 0; i < count; i++) fuzz_check(isfinite(numbers[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    file_bytes bytes = fuzz_bytes(data, size);
    thenar_error error = {0};
    mesh_file file;
    thenar_status status = mesh_file_parse("fuzz." FUZZ_EXTENSION, bytes, &file, &error);
    fuzz_status(status, &error);
    if (status == THENAR_OK) {
        fuzz_check(file.tets.tet_count > 0 || file.surface.triangle_count > 0);
        check_indices(file.tets.tets, 4 * file.tets.tet_count, file.tets.node_count);
        check_finite(file.tets.positions, 3 * file.tets.node_count);
        check_indices(file.surface.triangles, 3 * file.surface.triangle_count, file.surface.vertex_count);
        check_finite(file.surface.positions, 3 * file.surface.vertex_count);
    } else {
        fuzz_check(!file.tets.tets && !file.surface.triangles && !file.regions);
    }
    mesh_file_free(&file);
    free(bytes.data);
    return 0;
}
