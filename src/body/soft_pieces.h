/* How the work on a soft body is cut into pieces for threads. */
#ifndef BODY_SOFT_PIECES_H
#define BODY_SOFT_PIECES_H

/* Pieces of parallel work are of 15 to 30 us on one core, so that handing them out (some us) pays: a hand of 600 tets
 * is two pieces, a bunny of 5,800 about twenty. With one thread it makes no difference; with two and a free core
 * each, a hand is formulated in 32 us instead of 50. */
#define SOFT_BATCHES_PER_PIECE 40
#define SOFT_BLOCKS_PER_PIECE 768

static inline int soft_piece_count(int items, int per_piece) {
    return (items + per_piece - 1) / per_piece;
}

/* The first of `items` that belongs to a piece, when they are shared out evenly. */
static inline int soft_share(int items, int piece, int pieces) {
    return (int)((long long)items * piece / pieces);
}

#endif
