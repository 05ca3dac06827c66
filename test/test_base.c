#include "test.h"

#include "no_threads.h"

#include "core/memory.h"
#include "io/file.h"
#include "core/hash.h"
#include "random.h"
#include "core/text.h"
#include "core/threads.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

static void an_arena_carves_what_it_measured(void **state) {
    (void)state;
    arena measure = {0};
    assert_null(arena_take(&measure, 3, 8));
    assert_null(arena_take(&measure, 100, 4));
    char *block = memory_aligned(measure.used);
    arena carve = arena_on(block, measure.used);
    double *first = arena_take(&carve, 3, 8);
    int *second = arena_take(&carve, 100, 4);
    assert_ptr_equal(first, block);
    assert_int_equal((uintptr_t)second % ARENA_ALIGNMENT, 0);
    assert_int_equal(carve.used, measure.used);
    free(block);
}

static void a_growing_array_keeps_its_elements(void **state) {
    (void)state;
    ARRAY(int) list = {0};
    for (int i = 0; i < 1000; i++) assert_true(ARRAY_PUSH(&list, i));
    for (int i = 0; i < 1000; i++) assert_int_equal(list.data[i], i);
    free(list.data);
}

static void the_closest_word_is_suggested_and_nonsense_is_not(void **state) {
    (void)state;
    const char *words[] = {"young", "poisson", "density"};
    assert_string_equal(text_closest("yuong", words, 3), "young");
    assert_string_equal(text_closest("desnity", words, 3), "density");
    assert_null(text_closest("frobnicate", words, 3));
    char long_word[200] = {0};
    memset(long_word, 'x', sizeof long_word - 1);
    assert_null(text_closest(long_word, words, 3));
}

static void numbers_are_read_whole_or_not_at_all(void **state) {
    (void)state;
    double value;
    assert_true(text_to_double("2e6", &value));
    assert_near(value, 2e6, 0);
    assert_false(text_to_double("2e6x", &value));
    assert_false(text_to_double("", &value));
    assert_false(text_to_double(" 1", &value));
    assert_false(text_to_double("0x10", &value));
    long integer;
    assert_true(text_to_long("-3", -5, 5, &integer));
    assert_false(text_to_long("6", -5, 5, &integer));
    assert_false(text_to_long("99999999999999999999", -5, 5, &integer));
}

static void a_hash_sees_every_byte_and_the_length(void **state) {
    (void)state;
    char bytes[37] = {0};
    uint64_t zero = hash_bytes(0, bytes, sizeof bytes);
    assert_true(zero != hash_bytes(0, bytes, sizeof bytes - 1));
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] ^= 1;
        assert_true(hash_bytes(0, bytes, sizeof bytes) != zero);
        bytes[i] ^= 1;
    }
}

static void a_directory_without_a_name_is_refused(void **state) {
    (void)state;
    thenar_error error;
    assert_int_equal(file_make_directory("", &error), THENAR_ERROR_FILE);
    assert_non_null(strstr(error.text, "empty"));
    assert_ok(file_make_directory("/", &error), error);
}

/* A file of which the system says that it is longer than it is: those of sysfs. */
static void a_file_that_ends_too_soon_is_an_error(void **state) {
    (void)state;
    static const char path[] = "/sys/kernel/mm/transparent_hugepage/enabled";
    file_bytes bytes;
    thenar_error error;
    if (access(path, R_OK) != 0) skip();
    assert_int_equal(file_read(path, FILE_SIZE_LIMIT, &bytes, &error), THENAR_ERROR_FILE);
    assert_non_null(strstr(error.text, "it became shorter while it was read"));
    assert_null(bytes.data);
}

/* A disk: how many writes fail, and whether closing does. */
typedef struct bad_disk {
    int failing_writes;
    bool failing_close;
} bad_disk;

static ssize_t disk_write(void *cookie, const char *data, size_t size) {
    bad_disk *disk = cookie;
    (void)data;
    errno = ENOSPC;
    return disk->failing_writes-- > 0 ? 0 : (ssize_t)size;
}

static int disk_close(void *cookie) {
    errno = EIO;
    return ((bad_disk *)cookie)->failing_close ? -1 : 0;
}

static void a_disk_that_fails_at_any_moment_is_an_error(void **state) {
    (void)state;
    static const struct {
        bad_disk disk;
        bool early; /* the failing write is not the last one */
        const char *words;
    } cases[] = {{{0, false}, false, NULL},
                 {{1, false}, false, "out: cannot write: No space left on device"},
                 {{1, false}, true, "out: cannot write: a write failed (disk full?)"},
                 {{0, true}, false, "out: cannot write: Input/output error"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bad_disk disk = cases[i].disk;
        thenar_error error = {0};
        FILE *file = fopencookie(&disk, "wb", (cookie_io_functions_t){.write = disk_write, .close = disk_close});
        assert_non_null(file);
        fputs("a", file);
        if (cases[i].early) {
            fflush(file);
            fputs("b", file);
        }
        thenar_status status = file_close(file, "out", &error);
        assert_int_equal(status, cases[i].words ? THENAR_ERROR_FILE : THENAR_OK);
        if (cases[i].words) assert_string_equal(error.text, cases[i].words);
    }
}

typedef struct counting {
    atomic_int calls[1000];
} counting;

static void count_piece(void *context, int piece) {
    atomic_fetch_add(&((counting *)context)->calls[piece], 1);
}

static void every_piece_runs_exactly_once_with_any_number_of_threads(void **state) {
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        workers *pool;
        thenar_error error;
        assert_ok(workers_create(threads, &pool, &error), error);
        for (int round = 0; round < 2000; round++) {
            counting counts = {0};
            int pieces = 1 + round % 50;
            workers_run(pool, pieces, count_piece, &counts);
            for (int i = 0; i < 1000; i++) assert_int_equal(counts.calls[i], i < pieces ? 1 : 0);
        }
        workers_free(pool);
    }
}

static void threads_that_cannot_be_started_are_an_error(void **state) {
    (void)state;
    workers *pool;
    thenar_error error;
    assert_int_equal(workers_create(0, &pool, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "0 threads; expected 1.."));
    no_threads_begin();
    thenar_status status = workers_create(4, &pool, &error);
    no_threads_end();
    assert_int_equal(status, THENAR_ERROR_MEMORY);
    assert_null(pool);
    assert_non_null(strstr(error.text, "the system refused thread 2 of 4"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_arena_carves_what_it_measured),
    cmocka_unit_test(a_growing_array_keeps_its_elements),
    cmocka_unit_test(the_closest_word_is_suggested_and_nonsense_is_not),
    cmocka_unit_test(numbers_are_read_whole_or_not_at_all),
    cmocka_unit_test(a_hash_sees_every_byte_and_the_length),
    cmocka_unit_test(a_directory_without_a_name_is_refused),
    cmocka_unit_test(a_file_that_ends_too_soon_is_an_error),
    cmocka_unit_test(a_disk_that_fails_at_any_moment_is_an_error),
    cmocka_unit_test(every_piece_runs_exactly_once_with_any_number_of_threads),
    cmocka_unit_test(threads_that_cannot_be_started_are_an_error),
};

TEST_MAIN(tests)
