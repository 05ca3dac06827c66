/* How the work on a soft body is cut into pieces for threads. */
#ifndef BODY_SOFT_PIECES_H
#define BODY_SOFT_PIECES_H

/* Pieces of parallel work are of 50 to 100 us on one core, so that handing them out (some us) pays: a hand of 600 tets
 * is one piece, a bunny of 5,800 about six. */
#define SOFT_BATCHES_PER_PIECE 128
#define SOFT_BLOCKS_PER_PIECE 2048

static inline int soft_piece_count(int items, int per_piece) {
    return (items + per_piece - 1) / per_piece;
}

/* The first of `items` that belongs to a piece, when they are shared out evenly. */
static inline int soft_share(int items, int piece, int pieces) {
    return (int)((long long)items * piece / pieces);
}

#endif
