/* T^T A T in three parts. Blocks between independent nodes are copied. A block between an independent node i and a
 * dependent node j stands for itself and its transpose: for a carrier l of j the product G = A_ij J_jl goes
 *   to (i, l) if i > l,  transposed to (l, i) if i < l,  and as G + G^T to (i, i).
 * Blocks between dependent nodes are summed over one node first, which takes a fifth of the products:
 *   sum_ij J_ik^T A_ij J_jl = sum_i J_ik^T (sum_j A_ij J_jl)   to (k, l), k >= l. */
#include "sparse/reduction.h"

#include <stdlib.h>
#include <string.h>

/* The nodes that node i stands for: itself, or its carriers. */
static int carriers_of(const reduction_model *model, int node, int out[REDUCTION_CARRIERS]) {
    int index = model->index[node], count = 0;
    if (index < 0) {
        out[0] = node;
        return 1;
    }
    while (count < REDUCTION_CARRIERS && model->nodes[index].carrier[count] >= 0) {
        out[count] = model->nodes[index].carrier[count];
        count++;
    }
    return count;
}

static thenar_status make_pattern(const block_pattern *pattern, reduction_model *model, thenar_error *error) {
    ARRAY(int) start = {0};
    ARRAY(int) node = {0};
    bool enough = true;
    for (int j = 0; j < pattern->node_count && enough; j++)
        for (int k = pattern->column_start[j]; k < pattern->column_start[j + 1] && enough; k++) {
            int rows[REDUCTION_CARRIERS], columns[REDUCTION_CARRIERS];
            int row_count = carriers_of(model, pattern->row[k], rows), column_count = carriers_of(model, j, columns);
            enough = ARRAY_PUSH(&start, (int)node.count);
            for (int a = 0; a < row_count && enough; a++) enough = ARRAY_PUSH(&node, rows[a]);
            for (int b = 0; b < column_count && enough; b++) {
                bool repeated = false;
                for (int a = 0; a < row_count; a++) repeated = repeated || rows[a] == columns[b];
                if (!repeated) enough = ARRAY_PUSH(&node, columns[b]);
            }
        }
    enough = enough && ARRAY_PUSH(&start, (int)node.count);
    thenar_status status = enough ? block_pattern_create(pattern->node_count, (int)start.count - 1, start.data,
                                                         node.data, &model->pattern, error)
                                  : error_memory(error, "dependent nodes");
    free(start.data);
    free(node.data);
    return status;
}

static int find_block(const block_pattern *pattern, int a, int b) {
    return a >= b ? block_pattern_find(pattern, a, b) : block_pattern_find(pattern, b, a);
}

/* The targets of the block (row, column) of A; one of them is independent. */
static void add_targets(reduction_model *model, int row, int column, int *count) {
    int rows[REDUCTION_CARRIERS], columns[REDUCTION_CARRIERS];
    int row_count = carriers_of(model, row, rows), column_count = carriers_of(model, column, columns);
    for (int a = 0; a < row_count; a++)
        for (int b = 0; b < column_count; b++) {
            int k = rows[a], l = columns[b];
            reduction_side side = k > l ? REDUCTION_PLAIN : k < l ? REDUCTION_TRANSPOSED : REDUCTION_BOTH;
            if (model->targets) model->targets[*count] = (reduction_target){find_block(&model->pattern, k, l), side};
            ++*count;
        }
}

/* The place of a carrier in a list, to which it is added if it is new. */
static int place_of(int carrier, int *list, int *count) {
    int place = 0;
    while (place < *count && list[place] != carrier) place++;
    if (place == *count) list[(*count)++] = carrier;
    return place;
}

/* Fills in the pairs of dependent node i that are counted in rows[i].pair_count. list: room for all nodes. */
static void place_pairs(reduction_model *model, int i, int *list) {
    reduction_row *row = &model->rows[i];
    for (int p = row->first_pair; p < row->first_pair + row->pair_count; p++) {
        const int *carrier = model->nodes[model->pairs[p].other].carrier;
        for (int c = 0; c < REDUCTION_CARRIERS && carrier[c] >= 0; c++)
            model->pairs[p].place[c] = place_of(carrier[c], list, &row->sum_count);
    }
    if (row->sum_count > model->max_sums) model->max_sums = row->sum_count;
}

/* The targets of dependent node i; counts them as long as there is no array. */
static void place_targets(reduction_model *model, int i, const int *list, int *count) {
    const reduction_row *row = &model->rows[i];
    const int *own = model->nodes[i].carrier;
    for (int k = 0; k < REDUCTION_CARRIERS && own[k] >= 0; k++)
        for (int l = 0; l < row->sum_count; l++, ++*count)
            if (model->row_targets)
                model->row_targets[*count] = own[k] >= list[l] ? find_block(&model->pattern, own[k], list[l]) : -1;
}

static void add_pair(reduction_model *model, int i, int j, int from, bool transposed) {
    reduction_row *row = &model->rows[i];
    if (model->pairs) model->pairs[row->first_pair + row->pair_count] = (reduction_pair){from, transposed, j, {0}};
    row->pair_count++;
}

/* Lists the pairs of dependent nodes; counts them as long as there is no array. */
static int list_pairs(const block_pattern *pattern, reduction_model *model) {
    int total = 0;
    for (int i = 0; i < model->count; i++) {
        model->rows[i].first_pair = total;
        total += model->rows[i].pair_count;
        model->rows[i].pair_count = 0;
    }
    for (int column = 0; column < pattern->node_count; column++)
        for (int k = pattern->column_start[column]; k < pattern->column_start[column + 1]; k++) {
            int i = model->index[pattern->row[k]], j = model->index[column];
            if (i < 0 || j < 0) continue;
            add_pair(model, i, j, k, false);
            if (i != j) add_pair(model, j, i, k, true);
        }
    total = 0;
    for (int i = 0; i < model->count; i++) total += model->rows[i].pair_count;
    return total;
}

static thenar_status list_rows(const block_pattern *pattern, reduction_model *model, thenar_error *error) {
    int *list = MEMORY_ARRAY(int, pattern->node_count);
    model->rows = MEMORY_ARRAY(reduction_row, model->count);
    bool ready = list && model->rows;
    if (ready) model->pairs = MEMORY_ARRAY(reduction_pair, list_pairs(pattern, model));
    ready = ready && model->pairs;
    if (ready) list_pairs(pattern, model);
    for (int pass = 0; pass < 2 && ready; pass++) {
        int targets = 0;
        for (int i = 0; i < model->count; i++) {
            model->rows[i].sum_count = 0;
            model->rows[i].first_target = targets;
            place_pairs(model, i, list);
            place_targets(model, i, list, &targets);
        }
        if (pass == 0) ready = (model->row_targets = MEMORY_ARRAY(int, targets)) != NULL;
    }
    free(list);
    return ready ? THENAR_OK : error_memory(error, "dependent nodes");
}

/* Adds a block to the last run if it continues that, else starts a new one; counts runs as long as there is no array. */
static void add_run(reduction_run *runs, int *count, reduction_run *last, int from, int to) {
    bool continues = *count > 0 && last->from + last->count == from && last->to + last->count == to;
    if (continues)
        last->count++;
    else
        *last = (reduction_run){from, to, 1}, ++*count;
    if (runs) runs[*count - 1] = *last;
}

/* The blocks of the reduced matrix that are not copied, as runs within it. */
static void list_cleared(const block_pattern *pattern, const int *source, reduction_model *model) {
    reduction_run last = {0};
    int count = 0;
    for (int k = 0; k < pattern->block_count; k++)
        if (source[k] < 0) add_run(model->cleared, &count, &last, k, k);
    model->cleared_count = count;
}

/* Lists the blocks; counts them as long as there are no arrays. source: per block of the reduced matrix, the block of A
 * that is copied to it, or -1. */
static int list_blocks(const block_pattern *pattern, reduction_model *model, int *source) {
    int copied = 0, terms = 0, targets = 0;
    reduction_run last = {0};
    for (int k = 0; k < model->pattern.block_count; k++) source[k] = -1;
    for (int j = 0; j < pattern->node_count; j++)
        for (int k = pattern->column_start[j]; k < pattern->column_start[j + 1]; k++) {
            int i = pattern->row[k];
            if (model->index[i] < 0 && model->index[j] < 0) {
                int to = find_block(&model->pattern, i, j);
                source[to] = k;
                add_run(model->copied, &copied, &last, k, to);
                continue;
            }
            if (model->index[i] >= 0 && model->index[j] >= 0) continue; /* list_rows */
            bool is_row = model->index[i] >= 0;
            if (model->terms)
                model->terms[terms] =
                    (reduction_term){k, model->index[is_row ? i : j], is_row ? j : i, is_row, targets};
            terms++;
            add_targets(model, i, j, &targets);
        }
    list_cleared(&model->pattern, source, model);
    model->copied_count = copied;
    model->term_count = terms;
    return targets;
}

static int compare_terms(const void *a, const void *b) {
    const reduction_term *left = a, *right = b;
    if (left->own != right->own) return left->own < right->own ? -1 : 1;
    return left->from < right->from ? -1 : 1;
}

/* Divides the terms among threads. A term writes to blocks of its independent node only. If no such node is a carrier,
 * terms of different nodes write to different blocks, and rows to others; each block is still summed in one order. */
static void divide_terms(reduction_model *model) {
    model->is_divided = true;
    for (int t = 0; t < model->term_count && model->is_divided; t++)
        for (int i = 0; i < model->count && model->is_divided; i++)
            for (int c = 0; c < model->carrier_count[i]; c++)
                if (model->nodes[i].carrier[c] == model->terms[t].own) model->is_divided = false;
    if (!model->is_divided || model->term_count == 0) return;
    qsort(model->terms, (size_t)model->term_count, sizeof *model->terms, compare_terms);
    for (int p = 1; p <= REDUCTION_PIECES; p++) {
        int end = (int)((long long)model->term_count * p / REDUCTION_PIECES);
        while (end < model->term_count && end > 0 && model->terms[end].own == model->terms[end - 1].own) end++;
        model->term_start[p] = end;
    }
}

thenar_status reduction_model_create(const block_pattern *pattern, reduction_node *nodes, int count,
                                     reduction_model *out, thenar_error *error) {
    *out = (reduction_model){0};
    if (count == 0) {
        free(nodes);
        return THENAR_OK;
    }
    reduction_model model = {.count = count, .nodes = nodes};
    model.index = MEMORY_ARRAY(int, pattern->node_count);
    thenar_status status = model.index ? THENAR_OK : error_memory(error, "dependent nodes");
    for (int i = 0; i < pattern->node_count && status == THENAR_OK; i++) model.index[i] = -1;
    for (int k = 0; k < count && status == THENAR_OK; k++) model.index[nodes[k].node] = k;
    if (status == THENAR_OK) status = make_pattern(pattern, &model, error);
    if (status == THENAR_OK) {
        int *source = MEMORY_ARRAY(int, model.pattern.block_count);
        int targets = source ? list_blocks(pattern, &model, source) : 0;
        model.copied = MEMORY_ARRAY(reduction_run, model.copied_count);
        model.cleared = MEMORY_ARRAY(reduction_run, model.cleared_count);
        model.terms = MEMORY_ARRAY(reduction_term, model.term_count);
        model.targets = MEMORY_ARRAY(reduction_target, targets);
        if (source && model.copied && model.cleared && model.terms && model.targets)
            list_blocks(pattern, &model, source);
        else
            status = error_memory(error, "dependent nodes");
        free(source);
    }
    if (status == THENAR_OK) status = list_rows(pattern, &model, error);
    if (status == THENAR_OK && !(model.carrier_count = MEMORY_ARRAY(int, count)))
        status = error_memory(error, "dependent nodes");
    if (status == THENAR_OK) {
        int carriers[REDUCTION_CARRIERS];
        for (int i = 0; i < count; i++) model.carrier_count[i] = carriers_of(&model, nodes[i].node, carriers);
        divide_terms(&model);
    }
    if (status == THENAR_OK)
        *out = model;
    else
        reduction_model_free(&model);
    return status;
}

void reduction_model_free(reduction_model *model) {
    free(model->nodes);
    free(model->index);
    block_pattern_free(&model->pattern);
    free(model->copied);
    free(model->cleared);
    free(model->terms);
    free(model->carrier_count);
    free(model->targets);
    free(model->rows);
    free(model->pairs);
    free(model->row_targets);
    *model = (reduction_model){0};
}

void reduction_layout(reduction *state, const reduction_model *model, arena *work) {
    *state = (reduction){.model = model};
    state->J = (mat3(*)[REDUCTION_CARRIERS])ARENA_ARRAY(work, mat3, REDUCTION_CARRIERS * (size_t)model->count);
    state->blocks = ARENA_ARRAY(work, double, 9 * (size_t)model->pattern.block_count);
    state->sums = ARENA_ARRAY(work, mat3, model->max_sums);
    state->is_whole = ARENA_ARRAY(work, bool, model->count);
}

static void add_block(double *block, mat3 G) {
    for (int e = 0; e < 9; e++) block[e] += G.m[e];
}

static void add_product(double *block, mat3 G, reduction_side side) {
    if (side != REDUCTION_TRANSPOSED) add_block(block, G);
    if (side != REDUCTION_PLAIN) add_block(block, mat3_transpose(G));
}

/* A node that moves with its first carrier as a whole: the palm of a hand. */
static bool is_identity(const mat3 *J) {
    const mat3 one = mat3_identity();
    return memcmp(J->m, one.m, sizeof one.m) == 0;
}

/* A J_c, or its product with the transpose of A. */
static mat3 times_carrier(const reduction *state, int node, int c, const double *block, bool transposed) {
    mat3 A;
    memcpy(A.m, block, sizeof A.m);
    if (transposed) A = mat3_transpose(A);
    const mat3 *J = &state->J[node][c];
    return c == 0 && state->is_whole[node] ? A : mat3_mul(A, *J);
}

static void add_term(reduction *state, const reduction_term *term, const double *block) {
    const reduction_model *model = state->model;
    const reduction_target *target = model->targets + term->first;
    int count = model->carrier_count[term->node];
    for (int c = 0; c < count; c++) {
        /* J^T A = (A^T J)^T */
        mat3 G = times_carrier(state, term->node, c, block, term->is_row);
        if (term->is_row) G = mat3_transpose(G);
        add_product(state->blocks + 9 * (size_t)target[c].to, G, target[c].side);
    }
}

/* The blocks between dependent node i and others. */
static void add_row(reduction *state, int i, const double *blocks) {
    const reduction_model *model = state->model;
    const reduction_row *row = &model->rows[i];
    memset(state->sums, 0, (size_t)row->sum_count * sizeof *state->sums);
    for (int p = row->first_pair; p < row->first_pair + row->pair_count; p++) {
        const reduction_pair *pair = &model->pairs[p];
        int count = model->carrier_count[pair->other];
        for (int c = 0; c < count; c++)
            add_block(state->sums[pair->place[c]].m,
                      times_carrier(state, pair->other, c, blocks + 9 * (size_t)pair->from, pair->transposed));
    }
    const int *to = model->row_targets + row->first_target;
    int count = model->carrier_count[i];
    for (int k = 0; k < count; k++, to += row->sum_count) {
        bool whole = k == 0 && state->is_whole[i];
        mat3 left = mat3_transpose(state->J[i][k]);
        for (int l = 0; l < row->sum_count; l++)
            if (to[l] >= 0)
                add_block(state->blocks + 9 * (size_t)to[l], whole ? state->sums[l] : mat3_mul(left, state->sums[l]));
    }
}

typedef struct reducing {
    reduction *state;
    const double *blocks;
} reducing;

/* Piece `piece` of `count` items. */
static int share(int count, int piece) {
    return (int)((long long)count * piece / REDUCTION_PIECES);
}

static void copy_piece(void *context, int piece) {
    const reducing *job = context;
    const reduction_model *model = job->state->model;
    double *to = job->state->blocks;
    for (int k = share(model->cleared_count, piece); k < share(model->cleared_count, piece + 1); k++)
        memset(to + 9 * (size_t)model->cleared[k].to, 0, 9 * (size_t)model->cleared[k].count * sizeof *to);
    for (int k = share(model->copied_count, piece); k < share(model->copied_count, piece + 1); k++)
        memcpy(to + 9 * (size_t)model->copied[k].to, job->blocks + 9 * (size_t)model->copied[k].from,
               9 * (size_t)model->copied[k].count * sizeof *to);
}

static void add_rows(reduction *state, const double *blocks) {
    for (int i = 0; i < state->model->count; i++) add_row(state, i, blocks);
}

static void add_terms(reduction *state, const double *blocks, int first, int end) {
    const reduction_term *terms = state->model->terms;
    for (int k = first; k < end; k++) add_term(state, &terms[k], blocks + 9 * (size_t)terms[k].from);
}

/* The rows are the first piece, since they take longest. */
static void sum_piece(void *context, int piece) {
    const reducing *job = context;
    const int *start = job->state->model->term_start;
    if (piece == 0)
        add_rows(job->state, job->blocks);
    else
        add_terms(job->state, job->blocks, start[piece - 1], start[piece]);
}

void reduction_matrix(reduction *state, const double *blocks, workers *pool) {
    const reduction_model *model = state->model;
    reducing job = {state, blocks};
    for (int i = 0; i < model->count; i++) state->is_whole[i] = is_identity(&state->J[i][0]);
    workers_run(pool, REDUCTION_PIECES, copy_piece, &job);
    if (model->is_divided) {
        workers_run(pool, 1 + REDUCTION_PIECES, sum_piece, &job);
    } else {
        add_terms(state, blocks, 0, model->term_count);
        add_rows(state, blocks);
    }
    for (int k = 0; k < model->count; k++) {
        double *own = state->blocks + 9 * (size_t)model->pattern.column_start[model->nodes[k].node];
        own[0] = own[4] = own[8] = 1;
    }
}

void reduction_fold(const reduction *state, double *x) {
    for (int i = 0; i < state->model->count; i++) {
        const reduction_node *dependent = &state->model->nodes[i];
        double *own = x + 3 * (size_t)dependent->node;
        vec3 force = vec3_load(own);
        for (int k = 0; k < REDUCTION_CARRIERS && dependent->carrier[k] >= 0; k++) {
            double *to = x + 3 * (size_t)dependent->carrier[k];
            vec3_store(to, vec3_add(vec3_load(to), mat3_mul_vec_transposed(state->J[i][k], force)));
        }
        vec3_store(own, (vec3){0});
    }
}

void reduction_expand(const reduction *state, double *x) {
    for (int i = 0; i < state->model->count; i++) {
        const reduction_node *dependent = &state->model->nodes[i];
        vec3 sum = {0};
        for (int k = 0; k < REDUCTION_CARRIERS && dependent->carrier[k] >= 0; k++)
            sum = vec3_add(sum, mat3_mul_vec(state->J[i][k], vec3_load(x + 3 * (size_t)dependent->carrier[k])));
        vec3_store(x + 3 * (size_t)dependent->node, sum);
    }
}
