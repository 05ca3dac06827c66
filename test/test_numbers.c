/* Bad numbers into every input of the API: each is refused with a reason, or contained: whatever can be read afterwards
 * is a number, and a step that failed is counted and left the state as it was.
 *
 * Here is a row for every public function that takes numbers; the attacks are in numbers/, by what they attack, and
 * numbers/fields.c lists every number of the structs that go in. numbers/headers.c compares both with the headers, so
 * that a new function or field without a row fails.
 *
 * In the environment, NUMBERS_ALL=1 tries also what is left out to save time, and NUMBERS_ONLY=drive only the functions
 * whose names have that in them. */
#include "test.h"

#include "numbers/areas.h"
#include "numbers/attack.h"
#include "numbers/parts.h"

#include <time.h>

static const function_row functions[] = {
    /* What worlds are made of: numbers/world.c, hand.c, tactile.c. */
    {"thenar_build_create", attack_world},
    {"thenar_build_add_soft", attack_soft},
    {"thenar_build_add_rigid", attack_rigid},
    {"thenar_build_add_hand", attack_hand},
    {"thenar_build_add_handle", attack_handle},
    {"thenar_build_add_tactile", attack_add_tactile},
    {"thenar_sim_create", attack_sim_create},
    /* What is set between steps: numbers/between.c, hand.c. */
    {"thenar_sim_apply_force", attack_apply_force},
    {"thenar_sim_set_state", attack_set_state},
    {"thenar_sim_drive_support", attack_drive},
    {"thenar_sim_apply_wrench", attack_apply_wrench},
    {"thenar_sim_drive_body", attack_drive_pose},
    {"thenar_sim_drive_handle", attack_drive_handle},
    {"thenar_sim_drive_hand", attack_drive_hand},
    {"thenar_sim_drive_hand_angles", attack_drive_hand_angles},
    {"thenar_sim_drive_hand_flexion", attack_drive_hand_flexion},
    {"thenar_sim_restore", attack_restore},
    /* Tactile devices: numbers/tactile.c. */
    {"thenar_tactile_create", attack_tactile},
    {"thenar_wearable_check", attack_wearable},
    {"thenar_wearable_inverse", attack_kinematics},
    {"thenar_wearable_forward", attack_kinematics},
    {"thenar_output_open", attack_output},
    /* The haptic loop: numbers/haptic.c. */
    {"thenar_haptic_create", attack_haptic_create},
    {"thenar_haptic_publish", attack_publish},
    {"thenar_haptic_pose", attack_haptic_pose},
    {"thenar_haptic_advance", attack_advance},
    /* Meshes: numbers/mesh.c. */
    {"thenar_tet_mesh_box", attack_box},
    {"thenar_tet_mesh_from_surface", attack_from_surface},
    {"thenar_tet_mesh_fill", attack_fill},
    {"thenar_embedding_create", attack_embedding},
    {"thenar_tet_mesh_surface", attack_tet_surface},
    {"thenar_surface_sphere", attack_sphere},
    {"thenar_surface_capsule", attack_capsule},
    {"thenar_surface_cylinder", attack_cylinder},
    {"thenar_surface_box", attack_surface_box},
    {"thenar_surface_torus", attack_torus},
    {"thenar_surface_check", attack_check},
    {"thenar_tet_mesh_quality", attack_quality},
    {"thenar_surface_quality", attack_surface_quality},
};

static void every_public_function_has_a_row(void **unused) {
    (void)unused;
    compare_functions(functions, COUNT(functions));
}

static void every_number_of_a_struct_has_a_row(void **unused) {
    (void)unused;
    compare_fields();
}

static void bad_numbers_are_refused_or_contained(void **unused) {
    (void)unused;
    const char *only = getenv("NUMBERS_ONLY");
    for (int i = 0; i < COUNT(functions); i++) {
        long before = tried;
        if (only && !strstr(functions[i].name, only)) continue;
        functions[i].attack();
        assert_true(tried > before);
    }
    /* test/robust/numbers.sh reads this line. */
    print_message("together %ld tried, %ld refused, with %d functions\n", tried, refused, COUNT(functions));
    assert_int_equal(broken, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_public_function_has_a_row),
    cmocka_unit_test(every_number_of_a_struct_has_a_row),
    cmocka_unit_test(bad_numbers_are_refused_or_contained),
};

static int set_up(void **unused) {
    (void)unused;
    make_parts();
    return read_headers();
}

static int clean_up(void **unused) {
    (void)unused;
    forget_headers();
    free_parts();
    return 0;
}

int main(int argc, char **argv) {
    char filter[256] = "*";
    if (argc > 1) snprintf(filter, sizeof filter, "*%s*", argv[1]);
    cmocka_set_test_filter(filter);
    return cmocka_run_group_tests(tests, set_up, clean_up);
}
