#include "solver/solver.h"

#include "solver/baseline/baseline.h"
#include "solver/newton.h"

#include <string.h>

const solver_class *const solver_table[] = {&newton_solver, &pgs_solver,        &sqp_pgs_solver,  &sqp_pjls_solver,
                                            &njls_solver,   &njls_reach_solver, &njls_plus_solver};
const int solver_count = (int)(sizeof solver_table / sizeof *solver_table);

const solver_class *solver_find(const char *name) {
    for (int i = 0; i < solver_count; i++)
        if (strcmp(solver_table[i]->name, name) == 0) return solver_table[i];
    return NULL;
}
