#include "solver/solver.h"

#include "solver/baseline/baseline.h"
#include "solver/newton.h"

#include "thenar/sim.h"

#include <string.h>

const solver_class *const solver_table[] = {&newton_solver, &pgs_solver,        &sqp_pgs_solver,  &sqp_pjls_solver,
                                            &njls_solver,   &njls_reach_solver, &njls_plus_solver};
const int solver_count = (int)(sizeof solver_table / sizeof *solver_table);
_Static_assert(sizeof solver_table / sizeof *solver_table == THENAR_SOLVER_COUNT,
               "the table is in the order of the enumeration");

int thenar_solver_count(void) {
    return solver_count;
}

const char *thenar_solver_name(thenar_solver solver) {
    return (unsigned)solver < (unsigned)solver_count ? solver_table[solver]->name : "unknown";
}

int thenar_solver_find(const char *name) {
    for (int i = 0; name && i < solver_count; i++)
        if (strcmp(solver_table[i]->name, name) == 0) return i;
    return -1;
}

const char *thenar_solver_summary(thenar_solver solver) {
    return (unsigned)solver < (unsigned)solver_count ? solver_table[solver]->summary : "unknown";
}

int thenar_solver_short_iterations(thenar_solver solver) {
    return (unsigned)solver < (unsigned)solver_count ? solver_table[solver]->hurried : 0;
}
