/* Contact forces on soft skin: a rubber block is dropped on a table, and every point where it touches tells the force
 * there. At rest they add up to the block's weight.
 *
 *     cc contact.c -o contact $(pkg-config --cflags --libs thenar)
 *     ./contact
 */
#include <stdio.h>
#include <stdlib.h>
#include <thenar/thenar.h>

static void stop_on_error(thenar_status status, const thenar_error *error) {
    if (status == THENAR_OK) return;
    fprintf(stderr, "contact: %s\n", error->text);
    exit(1);
}

/* A block of 4 x 4 x 4 cm, 1 cm above a table. */
static thenar_model *make_world(void) {
    thenar_error error;
    const double low[3] = {-0.02, 0.01, -0.02}, high[3] = {0.02, 0.05, 0.02};
    const int cells[3] = {3, 3, 3};
    thenar_tet_mesh mesh;
    stop_on_error(thenar_tet_mesh_box(low, high, cells, THENAR_LATTICE_CUBE, &mesh, &error), &error);
    thenar_soft_def block = thenar_soft_def_default();
    block.name = "block";
    block.mesh = &mesh;
    block.material.young = 50e3;
    block.friction = 0.6;

    thenar_rigid_def table = thenar_rigid_def_default();
    table.name = "table";
    table.motion = THENAR_MOTION_STATIC;
    table.shape.kind = THENAR_SHAPE_PLANE;
    table.shape.normal[1] = 1;
    table.friction = 0.6;

    thenar_world_def world = thenar_world_def_default();
    world.name = "a block on a table";
    thenar_build *build = thenar_build_create(&world);
    if (!build) exit(1);
    thenar_model *model;
    stop_on_error(thenar_build_add_soft(build, &block, &error), &error);
    stop_on_error(thenar_build_add_rigid(build, &table, &error), &error);
    stop_on_error(thenar_build_compile(build, &model, &error), &error);
    thenar_build_free(build);
    thenar_tet_mesh_free(&mesh);
    return model;
}

int main(void) {
    thenar_error error;
    thenar_model *model = make_world();
    thenar_sim *sim;
    stop_on_error(thenar_sim_create(model, NULL, &sim, &error), &error);
    double largest = 0, force[3];
    int block = thenar_model_find_body(model, "block");
    while (thenar_sim_time(sim) < 3) {
        thenar_sim_step(sim);
        thenar_sim_contact_wrench(sim, block, force, NULL, NULL);
        if (force[1] > largest) largest = force[1];
    }
    printf("largest force while it landed: %.2f N\n", largest);

    /* The arrays are the simulation's own: nothing is copied. */
    const thenar_contact *contacts = thenar_sim_contacts(sim);
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
        const thenar_contact *c = &contacts[i];
        printf("at (%7.4f, %7.4f) m: normal %.4f N, friction (%7.4f, %7.4f) N, %s\n", c->position[0], c->position[2],
               c->force, c->friction[0], c->friction[2], c->sticks ? "sticks" : "slips");
    }
    const thenar_contact_pair *pairs = thenar_sim_contact_pairs(sim);
    for (int i = 0; i < thenar_sim_contact_pair_count(sim); i++)
        printf("%s on %s: %.4f N normal, mean pressure %.0f Pa\n", thenar_model_body_name(model, pairs[i].body[0]),
               thenar_model_body_name(model, pairs[i].body[1]), pairs[i].normal_force, pairs[i].pressure);

    thenar_sim_contact_wrench(sim, block, force, NULL, NULL);
    printf("sum %.6f N, weight %.6f N\n", force[1], thenar_model_mass(model, block) * 9.81);
    thenar_sim_free(sim);
    thenar_model_free(model);
}
