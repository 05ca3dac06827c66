#include "test.h"

#include "numbers/attack.h"

const double bad_numbers[BAD_COUNT] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 1e300, -1e300, 5e-324, 1e-300, -0.0};

long tried, refused, broken;
int sparse = 1;
static int turn; /* of the numbers that are left out or not */
static char under_attack[160];

bool all_are_tried(void) {
    const char *all = getenv("NUMBERS_ALL");
    return all && all[0];
}

void name_attack(const char *what, int index, double bad) {
    snprintf(under_attack, sizeof under_attack, "%s[%d] = %g", what, index, bad);
}

void count_attempt(bool was_refused) {
    tried++;
    refused += was_refused;
}

void complain(const char *what) {
    print_error("%s: %s\n", under_attack, what);
    broken++;
}

static void try_once(attempt use) {
    thenar_error error = {0};
    thenar_status status = use(&error);
    count_attempt(status != THENAR_OK);
    if (status == THENAR_OK) return;
    if (status != THENAR_ERROR_INPUT) complain(error.text);
    if (!error.text[0]) complain("refused without a reason");
}

void attack_array(const char *what, double *values, int count, attempt use) {
    for (int k = 0; k < count; k++)
        for (int i = 0; i < BAD_COUNT; i++) {
            if (turn++ % sparse != 0) continue;
            double good = values[k];
            name_attack(what, k, bad_numbers[i]);
            values[k] = bad_numbers[i];
            try_once(use);
            values[k] = good;
        }
}

void attack_struct(const char *type, void *base, attempt use) {
    bool known = false;
    for (int i = 0; i < field_count; i++) {
        if (strcmp(fields[i].type, type) != 0) continue;
        char what[100];
        snprintf(what, sizeof what, "%s.%s", type, fields[i].name);
        attack_array(what, (double *)(void *)((char *)base + fields[i].offset), fields[i].count, use);
        known = true;
    }
    if (!known) fail_msg("%s has no numbers in numbers/fields.c", type);
}
