#include "test.h"

#include "bench/hand_like.h"
#include "core/memory.h"
#include "geometry/meshing.h"
#include "mesh/mesh.h"
#include "random.h"
#include "test_bunny.h"

static bool tet_has(const thenar_tet_mesh *mesh, int tet, int node) {
    const int *n = tet_mesh_tet(mesh, tet);
    return n[0] == node || n[1] == node || n[2] == node || n[3] == node;
}

static int shared(const thenar_tet_mesh *mesh, int a, int b) {
    int count = 0;
    for (int i = 0; i < 4; i++) count += tet_has(mesh, a, tet_mesh_tet(mesh, b)[i]);
    return count;
}

/* Are these tets one piece when stepping only through faces between them? By spreading over all pairs. */
static bool joined_by_faces(const thenar_tet_mesh *mesh, const int *tets, int count) {
    bool reached[64] = {true};
    assert_true(count <= 64);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < count; i++)
            for (int j = 0; j < count; j++)
                if (reached[i] && !reached[j] && shared(mesh, tets[i], tets[j]) == 3) more = reached[j] = true;
    }
    for (int i = 0; i < count; i++)
        if (!reached[i]) return false;
    return true;
}

/* Around every node and every edge the tets are joined face to face. */
static void assert_valid(const thenar_tet_mesh *mesh) {
    ARRAY(int) *around = calloc((size_t)mesh->node_count, sizeof *around);
    for (int t = 0; t < mesh->tet_count; t++)
        for (int i = 0; i < 4; i++) assert_true(ARRAY_PUSH(&around[mesh->tets[4 * t + i]], t));
    for (int n = 0; n < mesh->node_count; n++) {
        int *star = around[n].data, count = (int)around[n].count;
        assert_true(joined_by_faces(mesh, star, count));
        for (int k = 0; k < 4 * count; k++) {
            int other = tet_mesh_tet(mesh, star[k / 4])[k % 4], ring[64], ring_count = 0;
            if (other <= n) continue;
            for (int i = 0; i < count; i++)
                if (tet_has(mesh, star[i], other)) ring[ring_count++] = star[i];
            assert_true(joined_by_faces(mesh, ring, ring_count));
        }
    }
    for (int n = 0; n < mesh->node_count; n++) free(around[n].data);
    free(around);
}

/* The boundary is closed and each of its vertices has one fan of triangles; the volume inside is that of the
 * tets. */
static void assert_boundary_is_manifold(const thenar_tet_mesh *mesh) {
    boundary b;
    thenar_error error;
    assert_ok(boundary_create(mesh, &b, &error), error);
    assert_ok(surface_check_closed(&b.surface, &error), error);
    double volume = mass_of_tets(mesh, NULL, 1).mass;
    assert_near(mass_of_surface(&b.surface, 1).mass, volume, 1e-12 * volume);
    int *neighbour, *size = calloc((size_t)b.surface.vertex_count, sizeof *size);
    bool *walked = calloc((size_t)b.surface.vertex_count, sizeof *walked);
    assert_ok(surface_neighbours(&b.surface, &neighbour, &error), error);
    for (int i = 0; i < 3 * b.surface.triangle_count; i++) size[b.surface.triangles[i]]++;
    for (int i = 0; i < 3 * b.surface.triangle_count; i++) {
        int vertex = b.surface.triangles[i], t = i / 3, steps = 0;
        if (walked[vertex]) continue;
        walked[vertex] = true;
        do {
            int corner = 0;
            while (b.surface.triangles[3 * t + corner] != vertex) corner++;
            t = neighbour[3 * t + corner];
            steps++;
        } while (t != i / 3);
        assert_int_equal(steps, size[vertex]);
    }
    free(neighbour);
    free(size);
    free(walked);
    boundary_free(&b);
}

static void assert_embedded(const thenar_tet_mesh *mesh, const thenar_surface *surface,
                            const thenar_embedding *embedding) {
    assert_int_equal(embedding->vertex_count, surface->vertex_count);
    for (int v = 0; v < surface->vertex_count; v++) {
        vec3 sum = {0, 0, 0};
        for (int i = 0; i < 4; i++) {
            double weight = embedding->weights[4 * v + i];
            assert_true(weight >= -1e-12);
            sum = vec3_mul_add(sum, tet_mesh_node(mesh, tet_mesh_tet(mesh, embedding->tet[v])[i]), weight);
        }
        assert_near(vec3_distance(sum, surface_vertex(surface, v)), 0, 1e-12);
    }
}

static void mesh_surface(const thenar_surface *surface, const thenar_mesh_options *options, thenar_tet_mesh *mesh,
                         thenar_embedding *embedding) {
    thenar_error error;
    assert_ok(thenar_tet_mesh_from_surface(surface, options, mesh, embedding, &error), error);
    assert_embedded(mesh, surface, embedding);
    assert_valid(mesh);
    assert_boundary_is_manifold(mesh);
}

static void the_bunny_is_covered_by_5812_tets_within_three_percent(void **state) {
    (void)state;
    thenar_surface bunny = bunny_load();
    for (int kind = THENAR_LATTICE_BCC; kind <= THENAR_LATTICE_KUHN; kind++)
        for (int fit = 0; fit < 2; fit++) {
            thenar_mesh_options options = thenar_mesh_options_default();
            options.lattice = (thenar_lattice)kind;
            options.target_tets = 5812;
            options.fit = fit;
            thenar_tet_mesh mesh;
            thenar_embedding embedding;
            thenar_tet_figures figures;
            thenar_error error;
            mesh_surface(&bunny, &options, &mesh, &embedding);
            assert_ok(thenar_tet_mesh_quality(&mesh, &figures, &error), error);
            assert_near(figures.tets, 5812, 0.03 * 5812);
            assert_int_equal(figures.parts, 1);
            assert_int_equal(figures.inverted + figures.flat, 0);
            if (fit) assert_true(figures.radius_ratio_min >= options.fit_quality);
            if (!fit && kind == THENAR_LATTICE_BCC) {
                assert_near(figures.dihedral_min, 60, 1e-9);
                assert_near(figures.dihedral_max, 90, 1e-9);
            }
            double volume = mass_of_surface(&bunny, 1).mass;
            assert_true(figures.volume > volume);
            /* Fitted, what sticks out is less than half of what it was: 10 % instead of 40 %. */
            if (fit) assert_true(figures.volume < 1.15 * volume);
            thenar_tet_mesh_free(&mesh);
            thenar_embedding_free(&embedding);
        }
    thenar_surface_free(&bunny);
}

static void an_embedded_surface_follows_an_affine_map_exactly(void **state) {
    (void)state;
    thenar_surface bunny = bunny_load();
    thenar_tet_mesh mesh;
    thenar_embedding embedding;
    mesh_surface(&bunny, NULL, &mesh, &embedding);
    mat3 map = {{1.1, 0.2, -0.3, 0.1, 0.9, 0.4, -0.2, 0.3, 1.2}};
    vec3 shift = {0.5, -0.2, 0.1};
    for (int n = 0; n < mesh.node_count; n++)
        vec3_store(mesh.positions + 3 * n, vec3_add(mat3_mul_vec(map, tet_mesh_node(&mesh, n)), shift));
    for (int v = 0; v < bunny.vertex_count; v++)
        vec3_store(bunny.positions + 3 * v, vec3_add(mat3_mul_vec(map, surface_vertex(&bunny, v)), shift));
    assert_embedded(&mesh, &bunny, &embedding);
    thenar_tet_mesh_free(&mesh);
    thenar_embedding_free(&embedding);
    thenar_surface_free(&bunny);
}

static void the_filled_tets_of_the_bunny_have_its_mass_properties(void **state) {
    (void)state;
    thenar_surface bunny = bunny_load();
    thenar_mesh_options options = thenar_mesh_options_default();
    options.target_tets = 3000;
    thenar_tet_mesh mesh;
    thenar_embedding embedding;
    thenar_error error;
    mesh_surface(&bunny, &options, &mesh, &embedding);
    double *fill = malloc((size_t)mesh.tet_count * sizeof *fill);
    assert_ok(thenar_tet_mesh_fill(&mesh, &bunny, fill, &error), error);
    mass_properties got = mass_of_tets(&mesh, fill, 1000), expected = mass_of_surface(&bunny, 1000);
    /* Samples a quarter of a cell apart: half a percent of the mass, 1 mm of 250, 3 % of the inertia (the
     * fill of a tet is spread over all of it). */
    assert_near(got.mass, expected.mass, 0.005 * expected.mass);
    assert_near(vec3_distance(got.centre, expected.centre), 0, 0.001);
    for (int i = 0; i < 9; i += 4) assert_near(got.inertia.m[i], expected.inertia.m[i], 0.03 * expected.inertia.m[i]);
    free(fill);
    thenar_tet_mesh_free(&mesh);
    thenar_embedding_free(&embedding);
    thenar_surface_free(&bunny);
}

static void a_box_on_the_planes_of_the_lattice_gains_no_layer(void **state) {
    (void)state;
    thenar_surface surface;
    thenar_error error;
    assert_ok(thenar_surface_box((double[]){0.4, 0.3, 0.1}, 3, &surface, &error), error);
    for (int kind = THENAR_LATTICE_CUBE; kind <= THENAR_LATTICE_KUHN; kind++) {
        thenar_mesh_options options = thenar_mesh_options_default();
        options.lattice = (thenar_lattice)kind;
        options.cell_size = 0.1;
        thenar_tet_mesh mesh;
        thenar_embedding embedding;
        mesh_surface(&surface, &options, &mesh, &embedding);
        assert_int_equal(mesh.tet_count, 12 * (kind == THENAR_LATTICE_CUBE ? 5 : 6));
        assert_near(mass_of_tets(&mesh, NULL, 1).mass, 0.012, 1e-14);
        thenar_tet_mesh_free(&mesh);
        thenar_embedding_free(&embedding);
    }
    thenar_surface_free(&surface);
}

static void parts_much_thinner_than_a_cell_are_not_lost(void **state) {
    (void)state;
    double sizes[3][3] = {{0.5, 0.3, 0.001}, {0.5, 0.001, 0.002}, {0.001, 0.001, 0.001}};
    for (int i = 0; i < 3; i++) {
        thenar_surface surface;
        thenar_error error;
        assert_ok(thenar_surface_box(sizes[i], 1, &surface, &error), error);
        /* Turned, so that it lies across the lattice. */
        quat turn = quat_from_rotation_vector(vec3_make(0.4, 0.7, -0.3));
        for (int v = 0; v < surface.vertex_count; v++)
            vec3_store(surface.positions + 3 * v, quat_rotate(turn, surface_vertex(&surface, v)));
        for (int kind = THENAR_LATTICE_BCC; kind <= THENAR_LATTICE_KUHN; kind++) {
            thenar_mesh_options options = thenar_mesh_options_default();
            options.lattice = (thenar_lattice)kind;
            options.cell_size = 0.05;
            thenar_tet_mesh mesh;
            thenar_embedding embedding;
            thenar_tet_figures figures;
            mesh_surface(&surface, &options, &mesh, &embedding);
            assert_ok(thenar_tet_mesh_quality(&mesh, &figures, &error), error);
            assert_int_equal(figures.parts, 1);
            /* Not only the corners but all of it is inside: points spread over the body. */
            random_source source = {(uint64_t)i};
            double points[3 * 200];
            thenar_surface cloud = {200, 0, points, NULL};
            for (int k = 0; k < 200; k++) {
                vec3 p = {random_uniform(&source, -0.5, 0.5) * sizes[i][0],
                          random_uniform(&source, -0.5, 0.5) * sizes[i][1],
                          random_uniform(&source, -0.5, 0.5) * sizes[i][2]};
                vec3_store(points + 3 * k, quat_rotate(turn, p));
            }
            int outside;
            thenar_embedding_free(&embedding);
            assert_ok(thenar_embedding_create(&mesh, &cloud, &embedding, &outside, &error), error);
            assert_int_equal(outside, 0);
            thenar_tet_mesh_free(&mesh);
            thenar_embedding_free(&embedding);
        }
        thenar_surface_free(&surface);
    }
}

typedef struct cluster {
    int count;
    capsule_shape part[12];
} cluster;

static double cluster_distance(const void *context, vec3 point, vec3 *normal) {
    const cluster *c = context;
    double nearest = INFINITY;
    for (int i = 0; i < c->count; i++) {
        vec3 direction;
        double distance = capsule_distance(&c->part[i], point, &direction);
        if (distance >= nearest) continue;
        nearest = distance;
        if (normal) *normal = direction;
    }
    return nearest;
}

static cluster random_cluster(random_source *source, double radius) {
    cluster c = {.count = 12};
    vec3 last = {0, 0, 0};
    for (int i = 0; i < c.count; i++) {
        vec3 next = {random_uniform(source, -1, 1), random_uniform(source, -1, 1), random_uniform(source, -1, 1)};
        c.part[i] = (capsule_shape){last, next, radius};
        last = next;
    }
    return c;
}

static void tangled_bodies_give_valid_meshes_of_one_part(void **state) {
    (void)state;
    random_source source = {5};
    for (int trial = 0; trial < 12; trial++) {
        cluster c = random_cluster(&source, trial % 2 ? 0.02 : 0.1);
        lattice_solid solid = {.distance = {cluster_distance, NULL, &c, {{-1.1, -1.1, -1.1}, {1.1, 1.1, 1.1}}}};
        thenar_mesh_options options = thenar_mesh_options_default();
        options.lattice = (thenar_lattice)(trial % 3);
        options.cell_size = 0.15;
        options.fit = trial % 4 > 1;
        thenar_tet_mesh mesh;
        thenar_tet_figures figures;
        thenar_error error;
        assert_ok(lattice_mesh(&solid, &options, &mesh, &error), error);
        assert_valid(&mesh);
        assert_boundary_is_manifold(&mesh);
        assert_ok(thenar_tet_mesh_quality(&mesh, &figures, &error), error);
        assert_int_equal(figures.parts, 1);
        assert_int_equal(figures.inverted + figures.flat, 0);
        thenar_tet_mesh_free(&mesh);
    }
}

static void mending_joins_parts_that_share_only_a_node_or_an_edge(void **state) {
    (void)state;
    for (int kind = THENAR_LATTICE_BCC; kind <= THENAR_LATTICE_KUHN; kind++) {
        grid g = {.kind = (thenar_lattice)kind, .cells = {6, 6, 6}, .cell = {1, 1, 1}};
        random_source source = {(uint64_t)kind};
        for (int trial = 0; trial < 40; trial++) {
            unsigned char *keep = calloc((size_t)grid_tet_count(&g), 1);
            for (int t = 0; t < grid_tet_count(&g); t++) {
                vec3 corner[4];
                int n[4];
                if (!grid_tet(&g, t, n)) continue;
                grid_tet_corners(&g, t, corner);
                bool inner = true;
                for (int i = 0; i < 4; i++)
                    inner &= fabs(corner[i].x - 3) <= 1 && fabs(corner[i].y - 3) <= 1 && fabs(corner[i].z - 3) <= 1;
                keep[t] = inner && random_uniform(&source, 0, 1) < 0.05 + 0.02 * trial;
            }
            int before = 0, after = 0;
            for (int t = 0; t < grid_tet_count(&g); t++) before += keep[t];
            thenar_error error;
            assert_ok(lattice_mend(&g, keep, &error), error);
            for (int t = 0; t < grid_tet_count(&g); t++) after += keep[t];
            assert_true(after >= before);
            thenar_tet_mesh mesh;
            assert_ok(grid_mesh(&g, keep, &mesh, &error), error);
            assert_valid(&mesh);
            if (after > 0) assert_boundary_is_manifold(&mesh);
            thenar_tet_mesh_free(&mesh);
            free(keep);
        }
    }
}

static void separate_parts_stay_separate_and_covered(void **state) {
    (void)state;
    thenar_surface one, two;
    thenar_error error;
    assert_ok(thenar_surface_sphere(0.1, 3, &one, &error), error);
    assert_ok(surface_create(2 * one.vertex_count, 2 * one.triangle_count, &two, &error), error);
    for (int v = 0; v < two.vertex_count; v++) {
        vec3 p = surface_vertex(&one, v % one.vertex_count);
        vec3_store(two.positions + 3 * v,
                   v < one.vertex_count ? p : vec3_add(vec3_scale(p, 0.3), vec3_make(0.5, 0, 0)));
    }
    for (int i = 0; i < 3 * two.triangle_count; i++)
        two.triangles[i] =
            one.triangles[i % (3 * one.triangle_count)] + (i < 3 * one.triangle_count ? 0 : one.vertex_count);
    thenar_mesh_options options = thenar_mesh_options_default();
    options.cell_size = 0.03;
    thenar_tet_mesh mesh;
    thenar_embedding embedding;
    thenar_tet_figures figures;
    mesh_surface(&two, &options, &mesh, &embedding);
    assert_ok(thenar_tet_mesh_quality(&mesh, &figures, &error), error);
    assert_int_equal(figures.parts, 2);
    thenar_tet_mesh_free(&mesh);
    thenar_embedding_free(&embedding);
    thenar_surface_free(&one);
    thenar_surface_free(&two);
}

static void crumbs_of_a_distance_field_are_dropped(void **state) {
    (void)state;
    cluster c = {.count = 2};
    c.part[0] = (capsule_shape){{0, 0, 0}, {0.5, 0, 0}, 0.2};
    c.part[1] = (capsule_shape){{0, 0.9, 0}, {0, 0.9, 0}, 0.02};
    lattice_solid solid = {.distance = {cluster_distance, NULL, &c, {{-0.2, -0.2, -0.2}, {0.7, 1, 0.2}}}};
    thenar_mesh_options options = thenar_mesh_options_default();
    options.cell_size = 0.08;
    thenar_tet_mesh mesh;
    thenar_error error;
    assert_ok(lattice_mesh(&solid, &options, &mesh, &error), error);
    for (int n = 0; n < mesh.node_count; n++) assert_true(mesh.positions[3 * n + 1] < 0.5);
    thenar_tet_mesh_free(&mesh);
}

static void a_surface_with_seams_is_meshed_and_all_its_vertices_embedded(void **state) {
    (void)state;
    thenar_surface ball, torn;
    thenar_error error;
    assert_ok(thenar_surface_sphere(0.1, 4, &ball, &error), error);
    assert_ok(surface_create(3 * ball.triangle_count, ball.triangle_count, &torn, &error), error);
    for (int i = 0; i < 3 * ball.triangle_count; i++) {
        torn.triangles[i] = i;
        vec3_store(torn.positions + 3 * i, surface_vertex(&ball, ball.triangles[i]));
    }
    thenar_mesh_options options = thenar_mesh_options_default();
    options.target_tets = 1000;
    options.fit = true;
    thenar_tet_mesh mesh;
    thenar_embedding embedding;
    mesh_surface(&torn, &options, &mesh, &embedding);
    thenar_tet_mesh_free(&mesh);
    thenar_embedding_free(&embedding);
    thenar_surface_free(&ball);
    thenar_surface_free(&torn);
}

static void a_vertex_that_no_triangle_uses_grows_no_tet(void **state) {
    (void)state;
    thenar_surface ball, more;
    thenar_error error;
    assert_ok(thenar_surface_sphere(0.1, 4, &ball, &error), error);
    assert_ok(surface_create(ball.vertex_count + 1, ball.triangle_count, &more, &error), error);
    memcpy(more.positions, ball.positions, 3 * (size_t)ball.vertex_count * sizeof(double));
    memcpy(more.triangles, ball.triangles, 3 * (size_t)ball.triangle_count * sizeof(int));
    vec3_store(more.positions + 3 * ball.vertex_count, vec3_make(0.095, 0.095, 0.095));
    thenar_mesh_options options = thenar_mesh_options_default();
    options.cell_size = 0.02;
    thenar_tet_mesh plain, same;
    thenar_embedding embedding;
    assert_ok(thenar_tet_mesh_from_surface(&ball, &options, &plain, NULL, &error), error);
    assert_ok(thenar_tet_mesh_from_surface(&more, &options, &same, &embedding, &error), error);
    assert_int_equal(plain.tet_count, same.tet_count);
    assert_in_range(embedding.tet[ball.vertex_count], 0, same.tet_count - 1);
    thenar_tet_mesh_free(&plain);
    thenar_tet_mesh_free(&same);
    thenar_embedding_free(&embedding);
    thenar_surface_free(&ball);
    thenar_surface_free(&more);
}

static void the_number_of_tets_comes_close_to_the_target_for_many_shapes(void **state) {
    (void)state;
    thenar_error error;
    for (int shape = 0; shape < 4; shape++) {
        thenar_surface surface;
        thenar_status status = shape == 0   ? thenar_surface_sphere(0.04, 6, &surface, &error)
                               : shape == 1 ? thenar_surface_box((double[]){0.3, 0.1, 0.05}, 2, &surface, &error)
                               : shape == 2 ? thenar_surface_torus(0.3, 0.08, 5, &surface, &error)
                                            : thenar_surface_cylinder(0.02, 0.2, 5, &surface, &error);
        assert_ok(status, error);
        for (int target = 500; target <= 8000; target *= 2)
            for (int kind = THENAR_LATTICE_BCC; kind <= THENAR_LATTICE_CUBE; kind++) {
                thenar_mesh_options options = thenar_mesh_options_default();
                options.lattice = (thenar_lattice)kind;
                options.target_tets = target;
                thenar_tet_mesh mesh;
                assert_ok(thenar_tet_mesh_from_surface(&surface, &options, &mesh, NULL, &error), error);
                /* Symmetric bodies gain tets by whole layers: coarse ones come less close. */
                assert_near(mesh.tet_count, target, (target < 2000 ? 0.1 : 0.03) * target);
                thenar_tet_mesh_free(&mesh);
            }
        thenar_surface_free(&surface);
    }
}

static void the_same_input_gives_the_same_mesh(void **state) {
    (void)state;
    thenar_surface bunny = bunny_load();
    thenar_mesh_options options = thenar_mesh_options_default();
    options.target_tets = 1500;
    options.fit = true;
    thenar_tet_mesh first, second;
    thenar_error error;
    assert_ok(thenar_tet_mesh_from_surface(&bunny, &options, &first, NULL, &error), error);
    assert_ok(thenar_tet_mesh_from_surface(&bunny, &options, &second, NULL, &error), error);
    assert_int_equal(first.node_count, second.node_count);
    assert_int_equal(first.tet_count, second.tet_count);
    assert_memory_equal(first.positions, second.positions, 3 * (size_t)first.node_count * sizeof(double));
    assert_memory_equal(first.tets, second.tets, 4 * (size_t)first.tet_count * sizeof(int));
    thenar_tet_mesh_free(&first);
    thenar_tet_mesh_free(&second);
    thenar_surface_free(&bunny);
}

static void bad_options_and_surfaces_are_refused_with_a_reason(void **state) {
    (void)state;
    thenar_surface ball;
    thenar_tet_mesh mesh;
    thenar_embedding embedding;
    thenar_error error;
    assert_ok(thenar_surface_sphere(0.1, 3, &ball, &error), error);
    struct {
        double cell_size;
        int target, lattice;
        double quality;
        const char *message;
    } bad[] = {{NAN, 5000, 0, 0.3, "cell_size"},    {-1, 5000, 0, 0.3, "cell_size"}, {1e-9, 5000, 0, 0.3, "too small"},
               {1e-300, 5000, 0, 0.3, "too small"}, {0, 0, 0, 0.3, "target_tets"},   {0, 5000, 7, 0.3, "lattice is 7"},
               {0, 5000, 0, NAN, "fit_quality"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        thenar_mesh_options options = {.size = sizeof options,
                                       .lattice = (thenar_lattice)bad[i].lattice,
                                       .cell_size = bad[i].cell_size,
                                       .target_tets = bad[i].target,
                                       .fit = true,
                                       .fit_quality = bad[i].quality};
        assert_int_equal(thenar_tet_mesh_from_surface(&ball, &options, &mesh, &embedding, &error), THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, bad[i].message));
        assert_null(mesh.tets);
    }
    ball.triangle_count--;
    assert_int_equal(thenar_tet_mesh_from_surface(&ball, NULL, &mesh, &embedding, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "belongs to 1 triangle"));
    ball.triangle_count = 0;
    assert_int_equal(thenar_tet_mesh_from_surface(&ball, NULL, &mesh, &embedding, &error), THENAR_ERROR_INPUT);
    thenar_surface_free(&ball);
}

/* The separate pieces that are left when all tets within a radius are taken away. */
static int parts_beyond(const thenar_tet_mesh *mesh, vec3 middle, double radius) {
    thenar_tet_mesh rest = *mesh;
    thenar_error error;
    rest.tets = malloc(4 * (size_t)mesh->tet_count * sizeof *rest.tets);
    rest.tet_count = 0;
    for (int t = 0; t < mesh->tet_count; t++) {
        vec3 corner[4];
        tet_mesh_corners(mesh, t, corner);
        vec3 sum = vec3_add(vec3_add(corner[0], corner[1]), vec3_add(corner[2], corner[3]));
        if (vec3_distance(vec3_scale(sum, 0.25), middle) <= radius) continue;
        memcpy(rest.tets + 4 * rest.tet_count++, tet_mesh_tet(mesh, t), 4 * sizeof(int));
    }
    int *part, count;
    assert_ok(tet_mesh_parts(&rest, &part, &count, &error), error);
    free(part);
    free(rest.tets);
    return count;
}

/* 588 tets on 256 nodes were measured before; this body is about as large, and its four fingers are apart. */
static void a_hand_like_body_has_branches_and_about_600_tets(void **state) {
    (void)state;
    thenar_tet_mesh mesh;
    thenar_tet_figures figures;
    thenar_error error;
    assert_ok(shape_hand_like(600, &mesh, &error), error);
    assert_valid(&mesh);
    assert_boundary_is_manifold(&mesh);
    assert_ok(thenar_tet_mesh_quality(&mesh, &figures, &error), error);
    assert_near(figures.tets, 600, 18);
    assert_near(figures.nodes, 256, 26);
    assert_int_equal(figures.parts, 1);
    double low = INFINITY, high = -INFINITY;
    for (int n = 0; n < mesh.node_count; n++) {
        low = fmin(low, mesh.positions[3 * n + 1]);
        high = fmax(high, mesh.positions[3 * n + 1]);
    }
    assert_near(high - low, 0.19, 0.02);
    assert_int_equal(parts_beyond(&mesh, vec3_make(0, 0.03, 0), 0.08), 4);
    thenar_tet_mesh_free(&mesh);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_bunny_is_covered_by_5812_tets_within_three_percent),
    cmocka_unit_test(an_embedded_surface_follows_an_affine_map_exactly),
    cmocka_unit_test(the_filled_tets_of_the_bunny_have_its_mass_properties),
    cmocka_unit_test(a_box_on_the_planes_of_the_lattice_gains_no_layer),
    cmocka_unit_test(parts_much_thinner_than_a_cell_are_not_lost),
    cmocka_unit_test(tangled_bodies_give_valid_meshes_of_one_part),
    cmocka_unit_test(mending_joins_parts_that_share_only_a_node_or_an_edge),
    cmocka_unit_test(separate_parts_stay_separate_and_covered),
    cmocka_unit_test(crumbs_of_a_distance_field_are_dropped),
    cmocka_unit_test(a_surface_with_seams_is_meshed_and_all_its_vertices_embedded),
    cmocka_unit_test(a_vertex_that_no_triangle_uses_grows_no_tet),
    cmocka_unit_test(the_number_of_tets_comes_close_to_the_target_for_many_shapes),
    cmocka_unit_test(the_same_input_gives_the_same_mesh),
    cmocka_unit_test(bad_options_and_surfaces_are_refused_with_a_reason),
    cmocka_unit_test(a_hand_like_body_has_branches_and_about_600_tets),
};

TEST_MAIN(tests)
