/* How bad numbers are put in: into each number of a struct or an array in turn; what came of it is counted. The list of
 * the numbers of structs is in fields.c. */
#ifndef TEST_NUMBERS_ATTACK_H
#define TEST_NUMBERS_ATTACK_H

#include "thenar/thenar.h"

#include <stdbool.h>
#include <stddef.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { BAD_COUNT = 10 };
extern const double bad_numbers[BAD_COUNT];

/* A number, or an array of them, of a struct that goes in. */
typedef struct field {
    const char *type, *name;
    size_t offset;
    int count;
} field;

/* Those of a struct stand together. */
extern const field fields[];
extern const int field_count;

extern long tried, refused, broken; /* of all rows */
extern int sparse; /* of the numbers that attack_array and attack_struct have, every so many are tried */

/* With NUMBERS_ALL in the environment: also what takes long. */
bool all_are_tried(void);

/* What complaints are about from now on: WHAT[index] = bad. */
void name_attack(const char *what, int index, double bad);
void count_attempt(bool was_refused);
/* Told, and counted: one run shows all that is wrong. */
void complain(const char *what);

/* Tries a world, or whatever has the numbers in it. Refused: not THENAR_OK, and error has the reason. */
typedef thenar_status (*attempt)(thenar_error *error);

/* Each number in turn is each bad number; `use` knows where they are. */
void attack_array(const char *what, double *values, int count, attempt use);
void attack_struct(const char *type, void *base, attempt use);

#endif
