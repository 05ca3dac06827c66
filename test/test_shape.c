#include "test.h"

#include "geometry/distance.h"
#include "geometry/meshing.h"
#include "mesh/mesh.h"
#include "random.h"
#include "test_bunny.h"

static const double pi = 3.14159265358979323846;

static vec3 random_point(random_source *source, box within) {
    return (vec3){random_uniform(source, within.low.x, within.high.x),
                  random_uniform(source, within.low.y, within.high.y),
                  random_uniform(source, within.low.z, within.high.z)};
}

static thenar_tet_mesh beam(thenar_lattice kind) {
    thenar_tet_mesh mesh;
    thenar_error error;
    assert_ok(thenar_tet_mesh_box((double[]){0, 0, 0}, (double[]){1, 0.2, 0.2}, (int[]){10, 2, 2}, kind, &mesh, &error),
              error);
    return mesh;
}

static void a_beam_of_ten_by_two_by_two_cubes_has_200_tets_on_99_nodes(void **state) {
    (void)state;
    thenar_tet_mesh mesh = beam(THENAR_LATTICE_CUBE);
    assert_int_equal(mesh.tet_count, 200);
    assert_int_equal(mesh.node_count, 99);
    assert_near(mass_of_tets(&mesh, NULL, 1).mass, 0.04, 1e-15);
    thenar_tet_figures figures;
    thenar_error error;
    assert_ok(thenar_tet_mesh_quality(&mesh, &figures, &error), error);
    assert_int_equal(figures.inverted + figures.flat, 0);
    assert_int_equal(figures.parts, 1);
    thenar_tet_mesh_free(&mesh);
    mesh = beam(THENAR_LATTICE_KUHN);
    assert_int_equal(mesh.tet_count, 240);
    for (int t = 0; t < mesh.tet_count; t++) {
        vec3 corner[4];
        tet_mesh_corners(&mesh, t, corner);
        assert_near(tet_volume(corner), 0.04 / 240, 1e-16);
    }
    thenar_tet_mesh_free(&mesh);
}

static void the_boundary_of_a_box_is_closed_and_faces_outward(void **state) {
    (void)state;
    for (int kind = THENAR_LATTICE_CUBE; kind <= THENAR_LATTICE_KUHN; kind++) {
        thenar_tet_mesh mesh = beam((thenar_lattice)kind);
        thenar_surface surface;
        thenar_embedding embedding;
        thenar_error error;
        assert_ok(thenar_tet_mesh_surface(&mesh, &surface, &embedding, &error), error);
        assert_ok(thenar_surface_check(&surface, &error), error);
        assert_near(mass_of_surface(&surface, 1).mass, 0.04, 1e-15);
        /* Two triangles a square; all nodes but the nine in the middle line. */
        assert_int_equal(surface.triangle_count, 2 * (2 * 4 + 4 * 20));
        assert_int_equal(surface.vertex_count, 99 - 9);
        for (int v = 0; v < surface.vertex_count; v++) {
            vec3 sum = {0, 0, 0};
            for (int i = 0; i < 4; i++)
                sum = vec3_mul_add(sum, tet_mesh_node(&mesh, mesh.tets[4 * embedding.tet[v] + i]),
                                   embedding.weights[4 * v + i]);
            assert_near(vec3_distance(sum, surface_vertex(&surface, v)), 0, 0);
        }
        thenar_surface_free(&surface);
        thenar_embedding_free(&embedding);
        thenar_tet_mesh_free(&mesh);
    }
}

static void check_volume(thenar_surface surface, double volume, double share_missing) {
    thenar_error error;
    assert_ok(thenar_surface_check(&surface, &error), error);
    double got = mass_of_surface(&surface, 1).mass;
    assert_true(got <= volume * (1 + 1e-12));
    assert_near(got, volume, volume * share_missing);
    thenar_surface_free(&surface);
}

static void round_surfaces_are_closed_and_fill_up_to_their_volume_as_they_get_finer(void **state) {
    (void)state;
    thenar_error error;
    for (int resolution = 1; resolution <= 16; resolution *= 2) {
        /* A chord misses an arc of angle t by a share of about t^2 / 6 of the area; t = (pi / 2) /
         * resolution. */
        double missing = fmin(2.0 / (resolution * resolution), 1);
        thenar_surface surface;
        assert_ok(thenar_surface_sphere(0.5, resolution, &surface, &error), error);
        assert_int_equal(surface.vertex_count, 10 * resolution * resolution + 2);
        check_volume(surface, 4 * pi / 3 * 0.125, missing);
        assert_ok(thenar_surface_capsule(0.2, 0.7, resolution, &surface, &error), error);
        check_volume(surface, pi * 0.04 * 0.7 + 4 * pi / 3 * 0.008, missing);
        assert_ok(thenar_surface_cylinder(0.2, 0.7, resolution, &surface, &error), error);
        check_volume(surface, pi * 0.04 * 0.7, missing);
        assert_ok(thenar_surface_torus(0.5, 0.1, resolution, &surface, &error), error);
        check_volume(surface, 2 * pi * pi * 0.5 * 0.01, missing);
        assert_ok(thenar_surface_box((double[]){1, 2, 3}, resolution, &surface, &error), error);
        check_volume(surface, 6, 1e-14);
    }
}

static void invalid_sizes_are_refused(void **state) {
    (void)state;
    thenar_surface surface;
    thenar_tet_mesh mesh;
    thenar_error error;
    assert_int_equal(thenar_surface_sphere(-1, 3, &surface, &error), THENAR_ERROR_INPUT);
    assert_int_equal(thenar_surface_sphere(NAN, 3, &surface, &error), THENAR_ERROR_INPUT);
    assert_int_equal(thenar_surface_capsule(1, 1, 0, &surface, &error), THENAR_ERROR_INPUT);
    assert_int_equal(thenar_surface_torus(1, 1.5, 3, &surface, &error), THENAR_ERROR_INPUT);
    assert_int_equal(thenar_surface_box((double[]){1, 1, INFINITY}, 1, &surface, &error), THENAR_ERROR_INPUT);
    assert_int_equal(thenar_surface_box((double[]){1, 1, 1}, 201, &surface, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "resolution is 201; expected 1..200"));
    assert_int_equal(thenar_tet_mesh_box((double[]){0, 0, 0}, (double[]){1, 1, 1}, (int[]){1, 1, 1}, (thenar_lattice)99,
                                         &mesh, &error),
                     THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "a lattice of kind 99"));
    int huge[3] = {2000000000, 2000000000, 2000000000};
    assert_int_equal(
        thenar_tet_mesh_box((double[]){0, 0, 0}, (double[]){1, 1, 1}, huge, THENAR_LATTICE_CUBE, &mesh, &error),
        THENAR_ERROR_INPUT);
    assert_int_equal(thenar_tet_mesh_box((double[]){0, 0, 0}, (double[]){1, -1, 1}, (int[]){1, 1, 1},
                                         THENAR_LATTICE_CUBE, &mesh, &error),
                     THENAR_ERROR_INPUT);
}

/* Three tets on one face, and a tet without a volume. */
static void invalid_tets_are_refused_with_a_reason(void **state) {
    (void)state;
    double places[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 2, 0, 0, -1};
    int tets[] = {0, 1, 2, 3, 0, 1, 2, 4, 0, 2, 1, 5}, flat[] = {0, 3, 4, 5};
    thenar_tet_mesh fan = {.node_count = 6, .positions = places, .tet_count = 3, .tets = tets};
    thenar_tet_mesh thin = {.node_count = 6, .positions = places, .tet_count = 1, .tets = flat};
    thenar_surface surface, point = {.vertex_count = 1, .positions = places};
    thenar_embedding embedding;
    thenar_error error;
    int outside;
    assert_int_equal(thenar_tet_mesh_surface(&fan, &surface, &embedding, &error), THENAR_ERROR_INPUT);
    assert_non_null(
        strstr(error.text, "the face with nodes 0, 1 and 2 belongs to tets 0, 1 and 2; expected at most two"));
    assert_null(surface.positions);
    assert_int_equal(thenar_embedding_create(&thin, &point, &embedding, &outside, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "no tet with a volume"));
    assert_null(embedding.tet);
}

static void the_error_says_where_a_surface_is_open(void **state) {
    (void)state;
    thenar_surface surface;
    thenar_error error;
    assert_ok(thenar_surface_box((double[]){1, 1, 1}, 1, &surface, &error), error);
    int *last = surface.triangles + 3 * (surface.triangle_count - 1);
    int a = last[0], b = last[1];
    surface.triangle_count--;
    assert_int_equal(thenar_surface_check(&surface, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "belongs to 1 triangle;"));
    surface.triangle_count++;
    last[0] = b, last[1] = a;
    assert_int_equal(thenar_surface_check(&surface, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "disagree on which side is outside"));
    for (int t = 0; t < surface.triangle_count - 1; t++) {
        int *corner = surface.triangles + 3 * t, kept = corner[0];
        corner[0] = corner[1], corner[1] = kept;
    }
    assert_int_equal(thenar_surface_check(&surface, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "encloses a volume of -1"));
    last[2] = 99;
    assert_int_equal(thenar_surface_check(&surface, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "index 99"));
    last[2] = 0;
    surface.positions[4] = NAN;
    assert_int_equal(thenar_surface_check(&surface, &error), THENAR_ERROR_INPUT);
    thenar_surface_free(&surface);
}

/* Every triangle with three vertices of its own, as an STL file has them. */
static thenar_surface torn_apart(const thenar_surface *surface) {
    thenar_surface torn;
    thenar_error error;
    assert_ok(surface_create(3 * surface->triangle_count, surface->triangle_count, &torn, &error), error);
    for (int i = 0; i < 3 * surface->triangle_count; i++) {
        torn.triangles[i] = i;
        vec3_store(torn.positions + 3 * i, surface_vertex(surface, surface->triangles[i]));
    }
    return torn;
}

static void vertices_at_the_same_place_count_as_one(void **state) {
    (void)state;
    thenar_surface surface;
    thenar_error error;
    assert_ok(thenar_surface_torus(0.5, 0.2, 4, &surface, &error), error);
    thenar_surface torn = torn_apart(&surface);
    assert_ok(thenar_surface_check(&torn, &error), error);
    surface_distance whole, welded;
    assert_ok(surface_distance_create(&surface, &whole, &error), error);
    assert_ok(surface_distance_create(&torn, &welded, &error), error);
    random_source source = {7};
    for (int i = 0; i < 1000; i++) {
        vec3 p = random_point(&source, box_grow(whole.bounds, 0.1));
        closest_point a = surface_distance_query(&whole, p), b = surface_distance_query(&welded, p);
        assert_near(b.distance, a.distance, 1e-15);
    }
    surface_distance_free(&whole);
    surface_distance_free(&welded);
    thenar_surface_free(&surface);
    thenar_surface_free(&torn);
}

static void check_inertia(mass_properties got, double xx, double yy, double zz, double tolerance) {
    double expected[9] = {xx, 0, 0, 0, yy, 0, 0, 0, zz};
    for (int i = 0; i < 9; i++) assert_near(got.inertia.m[i], expected[i], tolerance);
}

static void a_box_has_the_mass_properties_of_the_textbook_wherever_it_is(void **state) {
    (void)state;
    double low[3] = {100, -50, 20}, high[3] = {100.3, -49.8, 20.5};
    thenar_tet_mesh mesh;
    thenar_surface surface;
    thenar_error error;
    assert_ok(thenar_tet_mesh_box(low, high, (int[]){3, 2, 4}, THENAR_LATTICE_CUBE, &mesh, &error), error);
    assert_ok(thenar_tet_mesh_surface(&mesh, &surface, NULL, &error), error);
    mass_properties both[2] = {mass_of_tets(&mesh, NULL, 1100), mass_of_surface(&surface, 1100)};
    double m = 1100 * 0.3 * 0.2 * 0.5;
    for (int i = 0; i < 2; i++) {
        /* Coordinates near 100 carry rounding of 1e-14, over sizes of 0.2: ten digits and more remain. */
        assert_near(both[i].mass, m, 1e-11 * m);
        assert_near(vec3_distance(both[i].centre, vec3_make(100.15, -49.9, 20.25)), 0, 1e-12);
        check_inertia(both[i], m / 12 * (0.04 + 0.25), m / 12 * (0.09 + 0.25), m / 12 * (0.09 + 0.04), 1e-11 * m);
    }
    thenar_surface_free(&surface);
    thenar_tet_mesh_free(&mesh);
}

static void a_fine_sphere_has_two_fifths_m_r_squared(void **state) {
    (void)state;
    thenar_surface surface;
    thenar_error error;
    assert_ok(thenar_surface_sphere(0.1, 60, &surface, &error), error);
    mass_properties got = mass_of_surface(&surface, 1000);
    double inertia = 0.4 * got.mass * 0.01;
    /* Edges of 0.018 radians: the sphere's share that is missing is about 1e-4. */
    assert_near(got.mass, 1000 * 4 * pi / 3 * 1e-3, 4e-4 * got.mass);
    assert_near(vec3_length(got.centre), 0, 1e-14);
    check_inertia(got, inertia, inertia, inertia, 4e-4 * inertia);
    thenar_surface_free(&surface);
}

static void a_right_angled_tet_has_the_integrals_done_by_hand(void **state) {
    (void)state;
    double positions[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    int tets[4] = {0, 1, 2, 3};
    thenar_tet_mesh mesh = {4, 1, positions, tets, NULL};
    mass_properties got = mass_of_tets(&mesh, NULL, 6);
    /* With V = 1/6: int x = 1/24, int x^2 = 1/60, int xy = 1/120; about the centre (1/4, 1/4, 1/4). */
    double square = 6 * (1.0 / 60 - 1.0 / 96), product = 6 * (1.0 / 120 - 1.0 / 96);
    assert_near(got.mass, 1, 1e-15);
    assert_near(got.centre.x, 0.25, 1e-15);
    for (int i = 0; i < 9; i++) assert_near(got.inertia.m[i], i % 4 == 0 ? 2 * square : -product, 1e-15);
}

static void a_regular_tet_has_quality_one_and_its_well_known_angle(void **state) {
    (void)state;
    vec3 corner[4] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
    if (tet_volume(corner) < 0) {
        vec3 kept = corner[2];
        corner[2] = corner[3];
        corner[3] = kept;
    }
    double angle[6];
    tet_dihedral_angles(corner, angle);
    for (int e = 0; e < 6; e++) assert_near(angle[e], acos(1.0 / 3), 1e-14);
    assert_near(tet_radius_ratio(corner), 1, 1e-14);
    vec3 kept = corner[2];
    corner[2] = corner[3];
    corner[3] = kept;
    assert_near(tet_radius_ratio(corner), -1, 1e-14);
}

static void quality_finds_flat_and_inverted_tets_and_the_worst(void **state) {
    (void)state;
    double positions[15] = {0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 1, 1, 1, 0};
    int tets[12] = {0, 1, 2, 3, 0, 2, 1, 3, 0, 1, 2, 4};
    thenar_tet_mesh mesh = {5, 2, positions, tets, NULL};
    thenar_tet_figures figures;
    thenar_error error;
    assert_ok(thenar_tet_mesh_quality(&mesh, &figures, &error), error);
    assert_int_equal(figures.inverted, 1);
    assert_int_equal(figures.flat, 0);
    assert_int_equal(figures.worst, 1);
    assert_near(figures.edge_min, 1, 1e-15);
    assert_near(figures.edge_max, 5, 1e-15);
    assert_near(figures.edge_ratio_max, 5, 1e-15);
    assert_near(figures.dihedral_max, 90, 1e-12);
    mesh.tets = tets + 8;
    mesh.tet_count = 1;
    assert_ok(thenar_tet_mesh_quality(&mesh, &figures, &error), error);
    assert_int_equal(figures.flat, 1);
    assert_near(figures.radius_ratio_min, 0, 0);
}

static void surface_figures_of_a_box_are_those_of_the_box(void **state) {
    (void)state;
    thenar_surface surface;
    thenar_surface_figures figures;
    thenar_error error;
    assert_ok(thenar_surface_box((double[]){1, 2, 3}, 1, &surface, &error), error);
    assert_ok(thenar_surface_quality(&surface, &figures, &error), error);
    assert_true(figures.closed);
    assert_near(figures.area, 22, 1e-13);
    assert_near(figures.volume, 6, 1e-13);
    assert_near(figures.edge_min, 1, 1e-15);
    assert_near(figures.edge_max, sqrt(13), 1e-14);
    assert_near(figures.angle_min, atan(1.0 / 3) * 180 / pi, 1e-12);
    double *area = malloc((size_t)surface.vertex_count * sizeof *area), sum = 0;
    surface_vertex_areas(&surface, area);
    for (int v = 0; v < surface.vertex_count; v++) sum += area[v];
    assert_near(sum, 22, 1e-13);
    free(area);
    surface.triangle_count--;
    assert_ok(thenar_surface_quality(&surface, &figures, &error), error);
    assert_false(figures.closed);
    thenar_surface_free(&surface);
}

static void the_normals_of_a_sphere_point_away_from_its_middle(void **state) {
    (void)state;
    thenar_surface surface;
    thenar_error error;
    assert_ok(thenar_surface_sphere(1, 8, &surface, &error), error);
    vec3 *normal = malloc((size_t)surface.vertex_count * sizeof *normal);
    surface_vertex_normals(&surface, normal);
    /* Triangles of 8 degrees around a vertex are not quite even: a hundredth of a radian is left. */
    for (int v = 0; v < surface.vertex_count; v++)
        assert_near(vec3_distance(normal[v], surface_vertex(&surface, v)), 0, 0.01);
    free(normal);
    thenar_surface_free(&surface);
}

/* Distance to a triangle another way than the library's: in the plane if the foot lies inside, else to the
 * sides. */
static double plain_triangle_distance(const vec3 c[3], vec3 p) {
    vec3 n = vec3_unit(vec3_cross(vec3_sub(c[1], c[0]), vec3_sub(c[2], c[0])));
    bool inside = true;
    double best = INFINITY;
    for (int k = 0; k < 3; k++) {
        vec3 a = c[k], side = vec3_sub(c[(k + 1) % 3], a), to = vec3_sub(p, a);
        if (vec3_dot(vec3_cross(side, to), n) < 0) inside = false;
        double s = fmin(fmax(vec3_dot(to, side) / vec3_dot(side, side), 0), 1);
        best = fmin(best, vec3_distance(p, vec3_mul_add(a, side, s)));
    }
    return inside ? fabs(vec3_dot(vec3_sub(p, c[0]), n)) : best;
}

/* The solid angle under which a triangle is seen [van Oosterom and Strackee 1983]; over a closed surface
 * these add up to 4 pi inside and 0 outside. */
static double solid_angle(const vec3 c[3], vec3 p) {
    vec3 a = vec3_sub(c[0], p), b = vec3_sub(c[1], p), d = vec3_sub(c[2], p);
    double la = vec3_length(a), lb = vec3_length(b), ld = vec3_length(d);
    return 2 * atan2(vec3_dot(a, vec3_cross(b, d)),
                     la * lb * ld + vec3_dot(a, b) * ld + vec3_dot(b, d) * la + vec3_dot(d, a) * lb);
}

static void check_against_brute_force(const thenar_surface *surface, int count) {
    surface_distance solid;
    thenar_error error;
    assert_ok(surface_distance_create(surface, &solid, &error), error);
    random_source source = {42};
    double size = vec3_distance(solid.bounds.low, solid.bounds.high);
    int inside_count = 0;
    for (int i = 0; i < count; i++) {
        vec3 p = random_point(&source, box_grow(solid.bounds, 0.1 * size));
        /* Half of the points close to vertices, where the sign is hard. */
        if (i % 2) {
            vec3 near = surface_vertex(surface, i % surface->vertex_count);
            p = vec3_mul_add(near, vec3_sub(p, near), 0.01);
        }
        double distance = INFINITY, angle = 0;
        for (int t = 0; t < surface->triangle_count; t++) {
            vec3 corner[3];
            surface_corners(surface, t, corner);
            distance = fmin(distance, plain_triangle_distance(corner, p));
            angle += solid_angle(corner, p);
        }
        bool inside = angle > 2 * pi;
        inside_count += inside;
        closest_point got = surface_distance_query(&solid, p);
        assert_near(got.distance, inside ? -distance : distance, 1e-13 * size);
        assert_near(vec3_distance(p, got.point), distance, 1e-13 * size);
        assert_near(vec3_distance(vec3_mul_add(p, got.normal, -got.distance), got.point), 0, 1e-13 * size);
        vec3 corner[3], sum = {0, 0, 0};
        surface_corners(surface, got.triangle, corner);
        for (int k = 0; k < 3; k++) sum = vec3_mul_add(sum, corner[k], got.weights[k]);
        assert_near(vec3_distance(sum, got.point), 0, 1e-13 * size);
    }
    assert_in_range(inside_count, count / 10, count * 9 / 10);
    surface_distance_free(&solid);
}

static void distances_to_the_bunny_and_their_signs_agree_with_brute_force(void **state) {
    (void)state;
    thenar_surface surface = bunny_load();
    check_against_brute_force(&surface, 10000);
    thenar_surface_free(&surface);
}

static void distances_to_a_torus_and_their_signs_agree_with_brute_force(void **state) {
    (void)state;
    thenar_surface surface;
    thenar_error error;
    assert_ok(thenar_surface_torus(0.5, 0.2, 4, &surface, &error), error);
    check_against_brute_force(&surface, 10000);
    thenar_surface_free(&surface);
}

static void a_query_with_a_limit_finds_the_same_or_nothing(void **state) {
    (void)state;
    thenar_surface surface;
    surface_distance solid;
    thenar_error error;
    assert_ok(thenar_surface_torus(0.5, 0.2, 4, &surface, &error), error);
    assert_ok(surface_distance_create(&surface, &solid, &error), error);
    random_source source = {13};
    int found = 0;
    for (int i = 0; i < 1000; i++) {
        vec3 p = random_point(&source, solid.bounds);
        closest_point full = surface_distance_query(&solid, p), near;
        bool is_near = surface_distance_within(&solid, p, 0.05, &near);
        assert_int_equal(is_near, fabs(full.distance) < 0.05);
        if (is_near) assert_near(near.distance, full.distance, 0);
        found += is_near;
    }
    assert_in_range(found, 100, 900);
    surface_distance_free(&solid);
    thenar_surface_free(&surface);
}

static void check_distance_field(const signed_distance *solid, box within) {
    random_source source = {3};
    for (int i = 0; i < 2000; i++) {
        vec3 p = random_point(&source, within), normal, again;
        double distance = signed_distance_at(solid, p, &normal);
        assert_near(vec3_length(normal), 1, 1e-14);
        vec3 closest = vec3_mul_add(p, normal, -distance);
        assert_near(signed_distance_at(solid, closest, &again), 0, 1e-14);
        /* Along the normal, the distance grows as one walks. */
        assert_near(signed_distance_at(solid, vec3_mul_add(p, normal, 1e-3), NULL), distance + 1e-3, 1e-14);
    }
}

static void primitive_distances_lead_to_the_surface_and_grow_along_the_normal(void **state) {
    (void)state;
    box within = {{-1, -1, -1}, {1, 1, 1}};
    sphere_shape sphere = {{0.1, 0.2, 0.3}, 0.5};
    capsule_shape capsule = {{-0.3, 0, 0.1}, {0.4, 0.2, 0}, 0.25};
    box_shape sharp = {{0, 0.1, 0}, {0.3, 0.4, 0.5}, 0}, rounded = {{0, 0.1, 0}, {0.3, 0.4, 0.5}, 0.1};
    plane_shape plane = {vec3_unit(vec3_make(1, 2, 3)), 0.2};
    signed_distance solids[5] = {signed_distance_of_sphere(&sphere), signed_distance_of_capsule(&capsule),
                                 signed_distance_of_box(&sharp), signed_distance_of_box(&rounded),
                                 signed_distance_of_plane(&plane)};
    for (int i = 0; i < 5; i++) check_distance_field(&solids[i], within);
    assert_near(box_distance(&sharp, vec3_make(0.3 + 0.3, 0.1 + 0.4 + 0.4, 0), NULL), 0.5, 1e-15);
    assert_near(box_distance(&sharp, vec3_make(0.25, 0.1, 0), NULL), -0.05, 1e-15);
    /* In the very middle there is no direction, but there is a distance and some unit normal. */
    vec3 normal;
    assert_near(sphere_distance(&sphere, sphere.centre, &normal), -0.5, 0);
    assert_near(vec3_length(normal), 1, 1e-15);
    assert_near(capsule_distance(&capsule, capsule.a, &normal), -0.25, 0);
    assert_near(vec3_length(normal), 1, 1e-15);
}

static void a_linear_function_is_negative_in_the_share_that_random_points_find(void **state) {
    (void)state;
    random_source source = {11};
    for (int trial = 0; trial < 200; trial++) {
        double value[4];
        for (int i = 0; i < 4; i++) value[i] = random_uniform(&source, -1, 1);
        int below = 0, samples = 10000;
        for (int s = 0; s < samples; s++) {
            /* Uniform in a simplex: gaps of sorted uniform numbers, or as here, normalized exponentials. */
            double w[4], sum = 0, at = 0;
            for (int i = 0; i < 4; i++) sum += w[i] = -log(1 - random_uniform(&source, 0, 1));
            for (int i = 0; i < 4; i++) at += w[i] / sum * value[i];
            below += at < 0;
        }
        /* 0.02 is four standard deviations of the random count. */
        assert_near(fill_of_linear(value), (double)below / samples, 0.02);
    }
    assert_near(fill_of_linear((double[]){-1, -1, 1, 1}), 0.5, 1e-15);
    assert_near(fill_of_linear((double[]){-1, 1, 1, 1}), 0.125, 1e-15);
    assert_near(fill_of_linear((double[]){0, 0, 0, 0}), 0, 0);
}

static void the_fill_of_a_box_mesh_adds_up_to_the_sphere_inside(void **state) {
    (void)state;
    thenar_tet_mesh mesh;
    thenar_error error;
    assert_ok(thenar_tet_mesh_box((double[]){-1, -1, -1}, (double[]){1, 1, 1}, (int[]){5, 5, 5}, THENAR_LATTICE_CUBE,
                                  &mesh, &error),
              error);
    sphere_shape sphere = {{0.05, 0, 0.02}, 0.8};
    signed_distance solid = signed_distance_of_sphere(&sphere);
    double *fill = malloc((size_t)mesh.tet_count * sizeof *fill);
    fill_of_mesh(&solid, &mesh, fill);
    mass_properties got = mass_of_tets(&mesh, fill, 1);
    /* Linear pieces of a tenth of the radius under a curved surface: a few thousandths. */
    assert_near(got.mass, 4 * pi / 3 * 0.512, 0.01 * got.mass);
    assert_near(vec3_distance(got.centre, sphere.centre), 0, 0.005);
    for (int t = 0; t < mesh.tet_count; t++) assert_true(fill[t] >= 0 && fill[t] <= 1);
    free(fill);
    thenar_tet_mesh_free(&mesh);
}

static void points_outside_a_mesh_are_embedded_with_negative_weights(void **state) {
    (void)state;
    thenar_tet_mesh mesh = beam(THENAR_LATTICE_KUHN);
    double positions[9] = {0.5, 0.1, 0.1, 5, 0.1, 0.1, 0.3, 0.2, -0.01};
    thenar_surface points = {3, 0, positions, NULL};
    thenar_embedding embedding;
    thenar_error error;
    int outside;
    assert_ok(thenar_embedding_create(&mesh, &points, &embedding, &outside, &error), error);
    assert_int_equal(outside, 2);
    for (int v = 0; v < 3; v++) {
        vec3 sum = {0, 0, 0};
        for (int i = 0; i < 4; i++)
            sum = vec3_mul_add(sum, tet_mesh_node(&mesh, mesh.tets[4 * embedding.tet[v] + i]),
                               embedding.weights[4 * v + i]);
        assert_near(vec3_distance(sum, vec3_load(positions + 3 * v)), 0, 1e-12);
    }
    thenar_embedding_free(&embedding);
    thenar_tet_mesh_free(&mesh);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_beam_of_ten_by_two_by_two_cubes_has_200_tets_on_99_nodes),
    cmocka_unit_test(the_boundary_of_a_box_is_closed_and_faces_outward),
    cmocka_unit_test(round_surfaces_are_closed_and_fill_up_to_their_volume_as_they_get_finer),
    cmocka_unit_test(invalid_sizes_are_refused),
    cmocka_unit_test(invalid_tets_are_refused_with_a_reason),
    cmocka_unit_test(the_error_says_where_a_surface_is_open),
    cmocka_unit_test(vertices_at_the_same_place_count_as_one),
    cmocka_unit_test(a_box_has_the_mass_properties_of_the_textbook_wherever_it_is),
    cmocka_unit_test(a_fine_sphere_has_two_fifths_m_r_squared),
    cmocka_unit_test(a_right_angled_tet_has_the_integrals_done_by_hand),
    cmocka_unit_test(a_regular_tet_has_quality_one_and_its_well_known_angle),
    cmocka_unit_test(quality_finds_flat_and_inverted_tets_and_the_worst),
    cmocka_unit_test(surface_figures_of_a_box_are_those_of_the_box),
    cmocka_unit_test(the_normals_of_a_sphere_point_away_from_its_middle),
    cmocka_unit_test(distances_to_the_bunny_and_their_signs_agree_with_brute_force),
    cmocka_unit_test(distances_to_a_torus_and_their_signs_agree_with_brute_force),
    cmocka_unit_test(a_query_with_a_limit_finds_the_same_or_nothing),
    cmocka_unit_test(primitive_distances_lead_to_the_surface_and_grow_along_the_normal),
    cmocka_unit_test(a_linear_function_is_negative_in_the_share_that_random_points_find),
    cmocka_unit_test(the_fill_of_a_box_mesh_adds_up_to_the_sphere_inside),
    cmocka_unit_test(points_outside_a_mesh_are_embedded_with_negative_weights),
};

TEST_MAIN(tests)
