/* Where the energy of a world comes from, step by step, and whether it has more than that: a bound that holds for every
 * world, with the figures of the library (world/ledger.c).
 *
 * Kinetic and elastic energy, with that of springs, may never exceed LEDGER_FACTOR times what was supplied, plus a floor:
 * that at time 0, and in every step what is positive of the work of supports, driven bodies, targets, applied forces,
 * gravity and contacts, and of what tets gain by turning within a step. A soft body that spins freely swells by that, the
 * more the stiffer it is damped; one of 12 mg that a load of 0.2 N turned over an edge by 300 rad within a step (seed 375)
 * was 300 times as large at its end, and had 17 kJ. Implicit integration, contact and friction take energy away, so that a
 * world has mostly much less. The factor covers what the bones of hands and the tolerances of solvers add. In a step that
 * was split because a solver diverged, forces mean little, and count as often as there may be substeps. */
#ifndef ROBUST_RANDOM_LEDGER_H
#define ROBUST_RANDOM_LEDGER_H

#include "thenar/thenar.h"

#include <math.h>

#define LEDGER_FACTOR 2.0
#define LEDGER_FLOOR 1e-6 /* J */
#define LEDGER_PIECES 16

typedef struct ledger {
    const thenar_sim *sim;
    bool is_open;    /* after the first step */
    double gravity;  /* J */
    double supplied; /* J */
    double has;      /* J, kinetic, elastic, springs */
    double worst;    /* has / supplied, its maximum */
    double worst_time;
    uint64_t split; /* steps in substeps so far */
} ledger;

static inline double ledger_stored(const thenar_energy *e) {
    return e->kinetic + e->elastic + e->springs;
}

static inline ledger ledger_open(const thenar_sim *sim) {
    return (ledger){.sim = sim};
}

/* After a step. Returns whether the bound holds. */
static inline bool ledger_step(ledger *l) {
    const thenar_energy *e = &thenar_sim_stats(l->sim)->energy;
    const double work[] = {e->supports,
                           e->driven,
                           e->targets,
                           e->applied,
                           e->contacts,
                           e->turning,
                           l->is_open ? l->gravity - e->gravity : 0};
    l->has = ledger_stored(e);
    /* The first step shows what there was at time 0. */
    if (!l->is_open) l->supplied = fmax(0, l->has + e->dissipated - e->excess);
    uint64_t split = thenar_sim_warning_count(l->sim, THENAR_WARNING_STEP_SPLIT);
    double factor = split > l->split ? LEDGER_PIECES : 1;
    l->split = split;
    for (size_t i = 0; i < sizeof work / sizeof *work; i++) l->supplied += factor * fmax(0, work[i]);
    l->gravity = e->gravity;
    l->is_open = true;
    double share = l->has / (l->supplied + LEDGER_FLOOR);
    if (!(share <= l->worst)) {
        l->worst = share;
        l->worst_time = thenar_sim_time(l->sim);
    }
    return l->has <= LEDGER_FACTOR * l->supplied + LEDGER_FLOOR;
}

#endif
