/* What every test file includes: cmocka, a comparison of doubles with a stated tolerance, and a main that takes a
 * name filter. */
#ifndef TEST_H
#define TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A sanitizer makes a step some ten times slower: long tests do less there. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* Tests run the cases that their promises need, in a few seconds each. With THENAR_TEST_FULL in the environment, as
 * `make test-all` has it, they also run longer, with finer steps and with more cases. */
static inline bool test_full(void) {
    return !SANITIZED && getenv("THENAR_TEST_FULL");
}

/* |got - expected| <= tolerance; a NaN on either side fails. */
#define assert_near(got, expected, tolerance) test_near((got), (expected), (tolerance), #got, __FILE__, __LINE__)

static inline void test_near(double got, double expected, double tolerance, const char *what, const char *file,
                             int line) {
    if (fabs(got - expected) <= tolerance) return;
    print_error("%s = %.17g, expected %.17g within %.3g\n", what, got, expected, tolerance);
    _fail(file, line);
}

/* The call came to THENAR_OK; if not, its message is shown. */
#define assert_ok(call, error)                                                                                         \
    do {                                                                                                               \
        if ((call) != THENAR_OK) {                                                                                     \
            print_error("%s\n", (error).text);                                                                         \
            _fail(__FILE__, __LINE__);                                                                                 \
        }                                                                                                              \
    } while (0)

/* int main: runs the tests of an array of CMUnitTest, or those whose names match argv[1]. */
#define TEST_MAIN(tests)                                                                                               \
    int main(int argc, char **argv) {                                                                                  \
        char filter[256] = "*";                                                                                        \
        if (argc > 1) snprintf(filter, sizeof filter, "*%s*", argv[1]);                                                \
        cmocka_set_test_filter(filter);                                                                                \
        return cmocka_run_group_tests(tests, NULL, NULL);                                                              \
    }

#endif
