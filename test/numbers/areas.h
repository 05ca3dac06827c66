/* The attacks, one for every public function that takes numbers, and the comparison of their table with the headers. */
#ifndef TEST_NUMBERS_AREAS_H
#define TEST_NUMBERS_AREAS_H

/* world.c */
void attack_world(void);
void attack_soft(void);
void attack_rigid(void);
void attack_handle(void);
void attack_sim_create(void);

/* between.c */
void attack_apply_force(void);
void attack_set_state(void);
void attack_drive(void);
void attack_apply_wrench(void);
void attack_drive_pose(void);
void attack_drive_handle(void);
void attack_restore(void);

/* hand.c */
void attack_hand(void);
void attack_drive_hand(void);
void attack_drive_hand_angles(void);
void attack_drive_hand_flexion(void);

/* tactile.c */
void attack_add_tactile(void);
void attack_tactile(void);
void attack_wearable(void);
void attack_kinematics(void);
void attack_output(void);

/* haptic.c */
void attack_haptic_create(void);
void attack_publish(void);
void attack_haptic_pose(void);
void attack_advance(void);

/* mesh.c */
void attack_box(void);
void attack_sphere(void);
void attack_capsule(void);
void attack_cylinder(void);
void attack_surface_box(void);
void attack_torus(void);
void attack_from_surface(void);
void attack_fill(void);
void attack_embedding(void);
void attack_tet_surface(void);
void attack_check(void);
void attack_quality(void);
void attack_surface_quality(void);

/* headers.c */
typedef struct function_row {
    const char *name;
    void (*attack)(void);
} function_row;

/* 0, or -1 if one cannot be read. */
int read_headers(void);
void forget_headers(void);
/* Every public function that takes numbers has a row, and headers.c knows the others. */
void compare_functions(const function_row *rows, int count);
/* fields.c has every number of its structs. */
void compare_fields(void);

#endif
