/* Attacks on what is set between steps. */
#include "test.h"

#include "core/hash.h"
#include "finite.h"
#include "numbers/areas.h"
#include "numbers/attack.h"
#include "numbers/parts.h"

void attack_call(thenar_sim *sim, const char *what, double *values, int count, sim_call call) {
    for (int k = 0; k < count; k++)
        for (int i = 0; i < BAD_COUNT; i++) {
            uint64_t hash = thenar_sim_hash(sim);
            double good = values[k];
            name_attack(what, k, bad_numbers[i]);
            values[k] = bad_numbers[i];
            thenar_status status = call(sim, values);
            count_attempt(status != THENAR_OK);
            if (status != THENAR_OK && thenar_sim_hash(sim) != hash) complain("refused, but something has changed");
            if (!isfinite(bad_numbers[i]) && status == THENAR_OK) complain("not refused");
            step_contained(sim, 2);
            values[k] = good;
            assert_int_equal(call(sim, values), THENAR_OK);
            if (thenar_sim_step(sim) != THENAR_OK) complain("the step after it fails too");
            if (find_nonsense(sim)) complain("not a number in the step after it");
            thenar_sim_reset(sim);
        }
}

static void attack_small_sim(const char *what, double *values, int count, sim_call call) {
    thenar_sim *sim = make_small_sim();
    attack_call(sim, what, values, count, call);
    thenar_sim_free(sim);
}

static thenar_status call_apply_force(thenar_sim *sim, const double *v) {
    return thenar_sim_apply_force(sim, 0, 5, v);
}

void attack_apply_force(void) {
    attack_small_sim("force", (double[3]){0}, 3, call_apply_force);
}

static thenar_status call_set_state(thenar_sim *sim, const double *v) {
    return thenar_sim_set_state(sim, 0, v, v + 3 * mesh.node_count);
}

void attack_set_state(void) {
    double state[256] = {0};
    int count = 3 * mesh.node_count;
    assert_true(2 * count <= COUNT(state));
    memcpy(state, mesh.positions, (size_t)count * sizeof(double));
    attack_small_sim("state", state, 2 * count, call_set_state);
}

static thenar_status call_drive(thenar_sim *sim, const double *v) {
    return thenar_sim_drive_support(sim, 0, 0, v);
}

void attack_drive(void) {
    attack_small_sim("support", (double[7]){0, 0, 0, 0, 0, 0, 1}, 7, call_drive);
}

static thenar_status call_apply_wrench(thenar_sim *sim, const double *v) {
    return thenar_sim_apply_wrench(sim, 2, v, v + 3);
}

void attack_apply_wrench(void) {
    attack_small_sim("wrench", (double[6]){0}, 6, call_apply_wrench);
}

static thenar_status call_drive_pose(thenar_sim *sim, const double *v) {
    return thenar_sim_drive_body(sim, 3, v);
}

void attack_drive_pose(void) {
    attack_small_sim("pose", (double[7]){0.1, 0, 0, 0, 0, 0, 1}, 7, call_drive_pose);
}

static thenar_status call_drive_handle(thenar_sim *sim, const double *v) {
    return thenar_sim_drive_handle(sim, 0, v, v + 7);
}

void attack_drive_handle(void) {
    thenar_sim *sim = make_small_sim();
    thenar_handle_state state;
    thenar_sim_handle(sim, 0, &state);
    double pose_and_velocity[13] = {0};
    memcpy(pose_and_velocity, state.pose, sizeof state.pose);
    attack_call(sim, "handle", pose_and_velocity, 13, call_drive_handle);
    thenar_sim_free(sim);
}

/* A snapshot whose checksum fits what somebody has put into it. */
void attack_restore(void) {
    thenar_sim *sim = make_small_sim();
    size_t size = thenar_sim_snapshot_size(sim), head = 5 * sizeof(uint64_t);
    char *bytes = malloc(size), *good = malloc(size);
    thenar_sim_step(sim);
    thenar_sim_snapshot(sim, good);
    for (size_t at = head; at + sizeof(double) <= size; at += sizeof(double) * 7)
        for (int i = 0; i < 5; i++) {
            thenar_error error = {0};
            name_attack("byte of a snapshot", (int)at, bad_numbers[i]);
            memcpy(bytes, good, size);
            memcpy(bytes + at, &bad_numbers[i], sizeof(double));
            uint64_t checksum = hash_bytes(0, bytes + head, size - head);
            memcpy(bytes + head - sizeof checksum, &checksum, sizeof checksum);
            thenar_status status = thenar_sim_restore(sim, bytes, size, &error);
            count_attempt(status != THENAR_OK);
            if (status != THENAR_OK) assert_true(error.text[0] && status == THENAR_ERROR_INPUT);
            if (find_nonsense(sim)) complain("not a number");
            thenar_sim_step(sim);
            if (find_nonsense(sim)) complain("not a number a step later");
            assert_ok(thenar_sim_restore(sim, good, size, &error), error);
            if (thenar_sim_step(sim) != THENAR_OK) complain("no step after it");
        }
    free(bytes);
    free(good);
    thenar_sim_free(sim);
}
