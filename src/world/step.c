/* One step of the world. This file is the table of contents of the program: advance() below calls the stages in
 * order, each stage is one function here, and each has a timer in thenar_stats.
 *
 *   drive              supports move to their targets                            body/support.c, body/rigid_step.c
 *   skeletons          bones get their targets; split ones move and pull flesh   hand/step.c, hand/bones.c
 *   formulate          every body writes its part of A v = b                     body/soft_step.c, body/rigid_step.c
 *   find_contacts      points close to other bodies                              contact/find.c
 *   build_constraints  a constraint, or spring, for each of them                 contact/step.c, contact/penalty.c
 *   factor             A = L L^T                                                 sparse/cholesky_factorize.c
 *   free_motion        A v* = b                                                  solver/system.c
 *   solve_constraints  the velocity that satisfies limits and contacts           solver/newton.c
 *   integrate          x = x0 + h v                                              body/
 *   publish            forces on supports, the report of contacts, energies      contact/report.c, world/ledger.c
 *   linearize          the response of handles, for the haptic loop              world/linearize.c */
#include "world/sim.h"

#include "core/error.h"
#include "core/threads.h"

#include <string.h>

/* A failing step is retried in up to this many substeps. */
#define MAX_PIECES 16
/* A step that gains energy is repeated in up to this many. The most that helped a stiff hand; more would cost too much. */
#define MAX_ENERGY_PIECES 4
/* Maximum number of linearizations of spring contacts in a step; usually one is enough. */
#define MAX_PASSES 40

/* Supports move to where their scripts or drivers want them at the end of the step. */
static bool drive(thenar_sim *sim, const body_step *step) {
    ledger_before(sim);
    for (int i = 0; i < model_mover_count(sim->model); i++) sim->model->bodies[i]->kind->drive(sim->bodies[i], step);
    return true;
}

/* Bones of hands get their targets. Coupled ones are then unknowns like flesh; split ones move now and pull the flesh. */
static bool skeletons(thenar_sim *sim, const body_step *step) {
    for (int i = 0; i < sim->model->hand_count; i++)
        if (!hand_advance(&sim->hands[i], sim->bodies, step)) return false;
    return true;
}

/* Every body writes its blocks of A and its part of b. */
static bool formulate(thenar_sim *sim, const body_step *step) {
    for (int s = 0; s < sim->model->system_count; s++) {
        const system_model *system = &sim->model->systems[s];
        /* Blocks between two bodies belong to no body: they are 0 until spring contacts write to them. */
        if (sim->contact == CONTACT_PENALTY)
            memset(sim->systems[s].blocks, 0, 9 * (size_t)system->pattern.block_count * sizeof *sim->systems[s].blocks);
        for (int k = 0; k < system->body_count; k++) {
            int body = system->bodies[k];
            sim->model->bodies[body]->kind->formulate(sim->bodies[body], step, sim->systems[s].blocks,
                                                      sim->systems[s].b + 3 * system->first_node[k]);
        }
    }
    return true;
}

/* Points of bodies that are close to other bodies at the start of the step, and their memory of the last step. */
static bool find_contacts(thenar_sim *sim, const body_step *step) {
    if (sim->contact != CONTACT_NONE) contact_find(&sim->contacts, &sim->model->contacts, sim->bodies, step);
    return true;
}

/* Contact constraints or, with the penalty method, terms of A and b. */
static bool build_constraints(thenar_sim *sim, const body_step *step) {
    const thenar_model *model = sim->model;
    for (int s = 0; s < model->system_count; s++) {
        system_state *system = &sim->systems[s];
        contact_equations equations = system_equations(system, &model->systems[s], step);
        system->contact_count =
            contact_build(&sim->contacts, &model->contacts, sim->bodies, s, &equations, &system->contacts);
        if (sim->contact == CONTACT_PENALTY) {
            system->link_count = contact_penalize(&sim->contacts, &model->contacts, s, &equations);
            system->contact_count = 0;
        }
        system->is_due = true;
        system->continues = false;
        system->patch_count = 0; /* patches do not start from the last step */
    }
    return true;
}

/* Whether the system needs a solver. */
static bool is_constrained(const thenar_sim *sim, int s) {
    const system_model *system = &sim->model->systems[s];
    return sim->contact == CONTACT_PENALTY ? system->limited : system_is_constrained(system);
}

/* A constrained system that starts from the multipliers of the last step does not need its free motion. */
static bool moves_freely_first(thenar_sim *sim, int s, const body_step *step) {
    if (!sim->systems[s].is_due) return false;
    if (!is_constrained(sim, s)) return true;
    if (sim->contact == CONTACT_AGGREGATE && sim->systems[s].contact_count > 0) return true; /* see contact/patch.c */
    solver_problem problem = system_problem(&sim->systems[s], &sim->model->systems[s], step);
    return !sim->solver->needs_free_motion || sim->solver->needs_free_motion(&problem);
}

/* A = L L^T */
static bool factor(thenar_sim *sim, const body_step *step) {
    for (int s = 0; s < sim->model->system_count; s++)
        if (moves_freely_first(sim, s, step) && !system_factor(&sim->systems[s], &sim->model->systems[s], step->pool))
            return false;
    return true;
}

/* A v* = b: the motion without limits and contacts. */
static bool free_motion(thenar_sim *sim, const body_step *step) {
    for (int s = 0; s < sim->model->system_count; s++)
        if (moves_freely_first(sim, s, step)) system_solve(&sim->systems[s], &sim->model->systems[s], step);
    return true;
}

/* Aggregates the contact points that the free motion brings into another body to patches. */
static bool aggregate(thenar_sim *sim, const body_step *step) {
    for (int s = 0; s < sim->model->system_count; s++) {
        system_state *system = &sim->systems[s];
        contact_equations equations = system_equations(system, &sim->model->systems[s], step);
        system->patch_count = contact_aggregate(&sim->contacts, &sim->model->contacts, s, &equations, &system->patches);
        system->contact_count = 0;
        system->is_displaced = false;
    }
    return true;
}

/* Displaces patches that are still inside another body. */
static bool displace(thenar_sim *sim, const body_step *step) {
    for (int s = 0; s < sim->model->system_count; s++)
        system_displace_patches(&sim->systems[s], &sim->model->systems[s], step);
    return true;
}

/* The velocity closest to the free motion that satisfies limits and contacts. */
static bool solve_constraints(thenar_sim *sim, const body_step *step) {
    for (int s = 0; s < sim->model->system_count; s++) {
        const system_model *system = &sim->model->systems[s];
        if (!system->plan || !sim->systems[s].is_due) continue;
        solver_report report = {.iterations = 1, .converged = true};
        if (is_constrained(sim, s)) {
            solver_problem problem = system_problem(&sim->systems[s], system, step);
            if (!sim->solver->solve(sim->systems[s].solver, &problem, &report)) return false;
            report.converged = report.converged && (problem.link_count == 0 || sim->solver->takes_links);
        } else {
            report.residual = system_residual(&sim->systems[s], system, step);
        }
        sim->stats.iterations += report.iterations;
        sim->systems[s].report = report;
    }
    return true;
}

/* Spring contacts: systems whose linearized forces differ from the contact law are linearized again, and solved in
 * another pass. */
static bool renew_contacts(thenar_sim *sim, const body_step *step) {
    const system_model *systems = sim->model->systems;
    for (int s = 0; s < sim->model->system_count; s++) {
        system_state *system = &sim->systems[s];
        if (!system->is_due) continue;
        system->continues = true;
        contact_equations equations = system_equations(system, &systems[s], step);
        system->is_due =
            systems[s].plan && !contact_penalty_fits(&sim->contacts, s, &equations, system->tolerance.force, sim->pass);
        if (system->is_due && sim->pass < MAX_PASSES)
            system->link_count = contact_penalty_renew(&sim->contacts, s, &equations);
    }
    return true;
}

static bool any_due(const thenar_sim *sim) {
    bool any = false;
    for (int s = 0; s < sim->model->system_count; s++) any |= sim->systems[s].is_due;
    return any;
}

/* Collects the statistics of the solves; for a step in several substeps, those of the last one, except for sums. */
static void collect_statistics(thenar_sim *sim) {
    sim->stats.active_constraints = 0;
    for (int s = 0; s < sim->model->system_count; s++) {
        if (!sim->model->systems[s].plan) continue;
        const solver_report *report = &sim->systems[s].report;
        sim->stats.active_constraints += report->active;
        sim->stats.rows += report->rows;
        sim->stats.residual = fmax(sim->stats.residual, report->residual);
        bool fits = sim->contact != CONTACT_PENALTY || !sim->systems[s].is_due;
        sim->stats.unconverged += !report->converged || !fits;
    }
}

/* x = x0 + h v; false if a result is not finite. */
static bool integrate(thenar_sim *sim, const body_step *step) {
    for (int s = 0; s < sim->model->system_count; s++) {
        const system_model *system = &sim->model->systems[s];
        for (int k = 0; k < system->body_count; k++) {
            int body = system->bodies[k];
            if (!sim->model->bodies[body]->kind->integrate(sim->bodies[body], step,
                                                           sim->systems[s].v + 3 * system->first_node[k]))
                return false;
            if (sim->systems[s].is_displaced &&
                !sim->model->bodies[body]->kind->displace(sim->bodies[body],
                                                          sim->systems[s].displacement + 3 * system->first_node[k]))
                return false;
        }
    }
    return true;
}

/* Reactions of the supports, and the report of contacts; false if a number is not finite. */
static bool publish(thenar_sim *sim, const body_step *step) {
    for (int i = 0; i < model_mover_count(sim->model); i++) sim->model->bodies[i]->kind->publish(sim->bodies[i], step);
    for (int s = 0; s < sim->model->system_count && sim->contact == CONTACT_AGGREGATE; s++) {
        system_state *system = &sim->systems[s];
        contact_equations equations = system_equations(system, &sim->model->systems[s], step);
        contact_spread(&sim->contacts, s, &equations, system->patches, system->patch_count,
                       system->is_displaced ? system->displacement : NULL);
    }
    contact_keep_memory(&sim->contacts, &sim->model->contacts, sim->bodies);
    contact_report(&sim->contacts, &sim->model->contacts, sim->bodies);
    sim->stats.contacts = 0;
    for (int i = 0; i < sim->contacts.pair_report_count; i++)
        sim->stats.contacts += sim->contacts.pair_reports[i].touching;
    if (!sim_is_finite(sim) || !contact_report_is_finite(&sim->contacts)) return false;
    ledger_after(sim, step);
    return true;
}

/* The derivative of the force on each handle; for a step in several substeps, of the last one. */
static bool linearize(thenar_sim *sim, const body_step *step) {
    if (sim->model->handle_count > 0) linearize_handles(&sim->linearization, sim->model, sim, step);
    return true;
}

static bool timed(thenar_sim *sim, thenar_stage stage, bool (*run)(thenar_sim *, const body_step *),
                  const body_step *step) {
    int64_t start = clock_now();
    bool done = run(sim, step);
    sim->stats.stage_ns[stage] += clock_now() - start;
    return done;
}

/* Factor, free motion and constraints; in several passes if spring contacts change their state. */
static bool find_motion(thenar_sim *sim, const body_step *step) {
    bool again = true;
    for (sim->pass = 1; again; sim->pass++) {
        bool done =
            timed(sim, THENAR_STAGE_FACTOR, factor, step) && timed(sim, THENAR_STAGE_FREE_MOTION, free_motion, step);
        if (done && sim->contact == CONTACT_AGGREGATE) timed(sim, THENAR_STAGE_BUILD_CONSTRAINTS, aggregate, step);
        done = done && timed(sim, THENAR_STAGE_SOLVE_CONSTRAINTS, solve_constraints, step);
        if (!done) return false;
        if (sim->contact == CONTACT_PENALTY) timed(sim, THENAR_STAGE_BUILD_CONSTRAINTS, renew_contacts, step);
        again = sim->contact == CONTACT_PENALTY && any_due(sim) && sim->pass < MAX_PASSES;
    }
    if (sim->contact == CONTACT_AGGREGATE) timed(sim, THENAR_STAGE_SOLVE_CONSTRAINTS, displace, step);
    if (sim->contact == CONTACT_PENALTY) contact_penalty_settle(&sim->contacts);
    collect_statistics(sim);
    return true;
}

static bool advance(thenar_sim *sim, const body_step *step) {
    return timed(sim, THENAR_STAGE_DRIVE, drive, step) && timed(sim, THENAR_STAGE_SKELETONS, skeletons, step) &&
           timed(sim, THENAR_STAGE_FORMULATE, formulate, step) &&
           timed(sim, THENAR_STAGE_FIND_CONTACTS, find_contacts, step) &&
           timed(sim, THENAR_STAGE_BUILD_CONSTRAINTS, build_constraints, step) && find_motion(sim, step) &&
           timed(sim, THENAR_STAGE_INTEGRATE, integrate, step) && timed(sim, THENAR_STAGE_PUBLISH, publish, step) &&
           timed(sim, THENAR_STAGE_LINEARIZE, linearize, step);
}

/* Counts the tets that formulate found inverted. */
static void count_inverted(thenar_sim *sim) {
    sim->stats.inverted_tets = 0;
    for (int i = 0; i < sim->model->body_count; i++)
        sim->stats.inverted_tets += sim->model->bodies[i]->kind->inverted(sim->bodies[i]);
}

/* Advances by one step in `pieces` equal substeps, from the state in the backup. */
static bool advance_in_pieces(thenar_sim *sim, int pieces) {
    ledger_start(sim);
    double start = sim->clock->time, h = sim->dt / pieces;
    for (int k = 1; k <= pieces; k++) {
        double left = (pieces - k + 1) * h;
        body_step step = {.time = start + k * h,
                          .h = h,
                          .left = left,
                          .last = pieces == MAX_PIECES,
                          .max_iterations = (int)sim->clock->max_iterations,
                          .gravity = sim->model->gravity,
                          .pool = sim->pool};
        bool done = advance(sim, &step);
        if (k == 1) count_inverted(sim);
        if (!done) return false;
    }
    return true;
}

/* From the start of the step again; done: the attempt before it succeeded, and does not count. */
static bool repeat_in_pieces(thenar_sim *sim, int pieces, bool done) {
    memcpy(sim->kept, sim->backup, sim->kept_size);
    if (done) sim->stats.rows = sim->stats.unconverged = 0, sim->stats.residual = 0;
    return advance_in_pieces(sim, pieces);
}

/* Whether a step gained energy that smaller substeps may avoid. Baseline solvers gain it where they do not converge, in
 * steps of any length. */
static bool gains_avoidably(const thenar_sim *sim) {
    return sim->solver == solver_table[THENAR_SOLVER_NEWTON] && ledger_gains(sim);
}

/* A failed step, or one that gains energy without a source (ledger.c), is repeated with smaller substeps. If it still
 * gains energy, it is accepted, as a whole if it gained less so; if it still fails, the world stays in its last good state, at
 * rest. */
static bool advance_or_hold(thenar_sim *sim) {
    memcpy(sim->backup, sim->kept, sim->kept_size);
    for (int i = 0; i < model_mover_count(sim->model); i++) sim->bodies[i]->slowed = false;
    bool done = advance_in_pieces(sim, 1), whole = done, split = false;
    double gain = sim->ledger.gain;
    sim->ledger.warnings += done && ledger_gains(sim);
    for (int pieces = 2; pieces <= (done ? MAX_ENERGY_PIECES : MAX_PIECES) && (!done || gains_avoidably(sim));
         pieces *= 2) {
        done = repeat_in_pieces(sim, pieces, done);
        split = true;
    }
    /* Smaller substeps made it worse. */
    if (whole && split && (!done || sim->ledger.gain > gain)) done = repeat_in_pieces(sim, 1, done);
    if (done) ledger_take(sim);
    if (!done) {
        memcpy(sim->kept, sim->backup, sim->kept_size);
        sim->ledger.is_current = false;
        contact_report_clear(&sim->contacts);
        sim->stats.contacts = 0;
        for (int i = 0; i < model_mover_count(sim->model); i++) sim->model->bodies[i]->kind->rest(sim->bodies[i]);
        for (int i = 0; i < sim->model->hand_count; i++) hand_rest_bones(&sim->hands[i]);
        contact_state_reset(&sim->contacts, &sim->model->contacts);
        ledger_start(sim);
        sim->stats.energy = sim->ledger.step;
    }
    sim->clock->warnings[THENAR_WARNING_STEP_SPLIT] += split;
    sim->clock->warnings[THENAR_WARNING_STEP_FAILED] += !done;
    return done;
}

static bool any_slowed(const thenar_sim *sim) {
    bool any = false;
    for (int i = 0; i < model_mover_count(sim->model); i++) any |= sim->bodies[i]->slowed;
    return any;
}

thenar_status thenar_sim_step(thenar_sim *sim) {
    USAGE_POINTER(sim, THENAR_ERROR_USAGE);
    int64_t start = clock_now();
    sim->stats = (thenar_stats){0};
    bool done = advance_or_hold(sim);
    sim->clock->step_count++;
    sim->clock->time = sim->clock->first_time + (double)(sim->clock->step_count - sim->clock->first_step) * sim->dt;
    sim->clock->warnings[THENAR_WARNING_INVERTED] += sim->stats.inverted_tets > 0;
    sim->clock->warnings[THENAR_WARNING_CONTACTS_LOST] += sim->contacts.lost > 0;
    sim->clock->warnings[THENAR_WARNING_NOT_CONVERGED] += sim->stats.unconverged > 0;
    sim->clock->warnings[THENAR_WARNING_SPIN_LIMITED] += any_slowed(sim);
    sim->stats.step_ns = clock_now() - start;
    if (done) return THENAR_OK;
    return error_set(NULL, THENAR_ERROR_NUMERIC, "step %llu failed, in smaller substeps too; the bodies were stopped",
                     (unsigned long long)sim->clock->step_count);
}
