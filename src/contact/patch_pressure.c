/* The paper's pressure goes by how deep points are inside after the free motion (talvas2015, Eqs. 7 and 11 to 13, divided by
 * their sum),
 *
 *   share_i = S_i depth_i / sum_k S_k depth_k,   uniform: share_i = S_i / sum_k S_k
 *
 * with S_i a third of the triangles around the vertex. All flesh that the force has pressed in comes back in a free motion, so
 * the longer the step, the more depths and shares are alike, and what they leave as gaps nobody closes.
 *
 * Adapted, the free motion is that with the forces p_i of the last step. The gaps g_i at its end are what these forces leave
 * to be done. With c_i about the compliance of the flesh at the point, points of one group wish for the change
 *
 *   e_i = max(0, p_i + (b - g_i) / c_i) - p_i,   sum_i e_i = 0
 *
 * which sets b, what they all move together: that is left to the rows of their patch. With W_ik the way of i under a unit of
 * force on k, they take the share of it that serves best,
 *
 *   p_i <- p_i + t e_i,   g_i <- g_i + t sum_k W_ik e_k,   t = -sum_i g_i e_i / sum_ik e_i W_ik e_k, at most 1
 *
 * which is a step of projected gradients for the least of p W p / 2 + g p, what point contacts solve, so no e makes it worse,
 * however wrong the c_i are. Where a patch rests and all gaps are 0 nothing changes: the forces are those of points, not only
 * nearly. Where it rolls, points that come get their force as they come: shares that lag behind push from behind, and a ball
 * would roll faster and faster. Points that did not push yet have p_i = -g_i / c_i, the paper's but for the compliance in the
 * place of the area. */
#include "contact/patch_pressure.h"

#include <math.h>

#define SMALLEST_AREA 1e-12       /* m^2, of a point: those of rigid skins have none */
#define SMALLEST_COMPLIANCE 1e-12 /* m/N, of flesh that is held and does not give way at all */

/* c_i: as if nodes beyond those of the contacts were held, and with a unit of force on every contact that is in a group, so
 * that many points on few nodes do not wish for too much. */
static void find_compliance(patch_set *set, const contact *contacts, int count, const block_pattern *pattern,
                            const double *blocks, double h) {
    for (int i = 0; i < count; i++)
        for (int k = 0; k < contacts[i].leg_count; k++) set->load[contacts[i].legs[k].node] = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < contacts[i].leg_count && set->group[i] >= 0; k++)
            set->load[contacts[i].legs[k].node] += fabs(contacts[i].legs[k].weight);
    for (int i = 0; i < count; i++) {
        const contact *c = &contacts[i];
        double sum = 0;
        for (int k = 0; k < c->leg_count; k++) {
            const contact_leg *leg = &c->legs[k];
            if (leg->other && !c->crosses) continue; /* a rigid body moves as a whole: by the patch's rows */
            const double *block = blocks + 9 * (size_t)pattern->column_start[leg->node];
            sum += 3 * fabs(leg->weight) * set->load[leg->node] / (block[0] + block[4] + block[8]);
        }
        set->compliance[i] = fmax(SMALLEST_COMPLIANCE, h * h * sum);
    }
}

void patch_pressure_open(patch_set *set, const contact *contacts, int count, const block_pattern *pattern,
                         const double *blocks, double h) {
    find_compliance(set, contacts, count, pattern, blocks, h);
    for (int i = 0; i < count; i++) {
        set->force[i] = set->group[i] >= 0 ? fmax(0, contacts[i].lambda.x) : 0;
        set->change[i] = set->motion[i] = 0;
    }
}

/* Of the members of a group: the forces after the change. How many of them push falls from turn to turn. */
static void wish(patch_set *set, const int *list, int count) {
    double force = 0, *next = set->change;
    for (int k = 0; k < count; k++) force += set->force[list[k]];
    for (int k = 0; k < count; k++) next[list[k]] = force;
    for (int left = count, before = count + 1; force > 0 && left < before;) {
        double sum = 0, stiffness = 0;
        for (int k = 0; k < count; k++) {
            int i = list[k];
            if (!(next[i] > 0)) continue;
            sum += set->force[i] - set->gap[i] / set->compliance[i];
            stiffness += 1 / set->compliance[i];
        }
        double b = (force - sum) / stiffness;
        before = left, left = 0;
        for (int k = 0; k < count; k++) {
            int i = list[k];
            if (!(next[i] > 0)) continue;
            next[i] = set->force[i] + (b - set->gap[i]) / set->compliance[i];
            left += next[i] > 0;
        }
    }
    for (int k = 0; k < count; k++) next[list[k]] = fmax(0, next[list[k]]) - set->force[list[k]];
}

bool patch_pressure_wish(patch_set *set, int count, int groups) {
    bool any = false;
    for (int g = 0, first = 0; g < groups; first = set->ends[g++]) wish(set, set->order + first, set->ends[g] - first);
    for (int i = 0; i < count; i++) any |= set->change[i] != 0;
    return any;
}

void patch_pressure_change(patch_set *set, int groups) {
    for (int g = 0, first = 0; g < groups; first = set->ends[g++]) {
        double gain = 0, cost = 0;
        for (int k = first; k < set->ends[g]; k++) {
            int i = set->order[k];
            gain -= set->gap[i] * set->change[i];
            cost += set->motion[i] * set->change[i];
        }
        double t = gain > 0 && cost > 0 ? fmin(1, gain / cost) : 0;
        for (int k = first; k < set->ends[g]; k++) {
            int i = set->order[k];
            set->force[i] = fmax(0, set->force[i] + t * set->change[i]);
            set->gap[i] += t * set->motion[i];
        }
    }
}

void patch_find_shares(const patch_set *set, thenar_contact_pressure pressure, const contact *contacts,
                       const contact_point *points, const int *list, int count, double *share) {
    bool adapts = pressure == THENAR_PRESSURE_ADAPTIVE;
    double force = 0, sum = 0;
    for (int k = 0; k < count && adapts; k++) force += set->force[list[k]];
    for (int k = 0; k < count; k++) {
        int i = list[k];
        double area = fmax(SMALLEST_AREA, points[contacts[i].point].area);
        if (adapts)
            share[k] = force > 0 ? set->force[i] : set->depth[i] / set->compliance[i];
        else
            share[k] = pressure == THENAR_PRESSURE_UNIFORM ? area : area * set->depth[i];
        sum += share[k];
    }
    for (int k = 0; k < count; k++) share[k] /= sum;
}
