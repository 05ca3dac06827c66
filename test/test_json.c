/* The reader of JSON: what it takes, what it refuses and where, against jansson's own. */
#include "test.h"

#include "io/file.h"

static const char *const good[] = {
    "{}",
    "[]",
    " \t\r\n[ 1 , -2.5e3 , true , false , null , \"\" ] \n",
    "{\"a\": {\"b\": [[], {}, [[1]]]}, \"c\": \"d\"}",
    "0",
    "-0",
    "-0.0",
    "1e5",
    "1E+5",
    "0.1e-7",
    "9223372036854775807",
    "-9223372036854775808",
    "1.7976931348623157e308",
    "4.9e-324",
    "1e-400",
    "0.123456789012345678901234567890123456789",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\uFFFF\"",
    "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"",
    "{\"\": 1, \"\xc3\xa9\": 2, \"\\u00e8\": 3}",
};

static const char *const bad[] = {
    "",
    " ",
    "{",
    "[",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{a: 1}",
    "{1: 2}",
    "{\"a\" 1}",
    "{\"a\":1 \"b\":2}",
    "]",
    "}",
    "tru",
    "truE",
    "nul",
    "falze",
    "TRUE",
    "NaN",
    "Infinity",
    "-",
    "-a",
    "+1",
    ".5",
    "1.",
    "1.e5",
    "1e",
    "1e+",
    "01",
    "0x10",
    "1e400",
    "-1e400",
    "9223372036854775808",
    "-9223372036854775809",
    "\"",
    "\"a",
    "\"\n\"",
    "\"\t\"",
    "\"\x01\"",
    "\"\\",
    "\"\\a\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\ud800\\n\"",
    "\"\\ud800\\u0041\"",
    "\"\\udc00\"",
    "\"\x80\"",
    "\"\xc3\"",
    "\"\xc3(\"",
    "\"\xc0\x80\"",
    "\"\xe0\x80\x80\"",
    "\"\xed\xa0\x80\"",
    "\"\xf4\x90\x80\x80\"",
    "\"\xff\"",
    "[1] [2]",
    "[1]x",
    "{\"a\":1, \"a\":2}",
    "{\"a\":1, \"\\u0061\":2}",
    "'a'",
    "// a",
    "[1,\xef\xbb\xbf]",
    "\xef\xbb\xbf[]",
};

static void it_takes_and_refuses_what_jansson_does(void **state) {
    (void)state;
    json_text_fault fault;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        json_t *ours = json_text_read(good[i], strlen(good[i]), &fault);
        json_t *theirs = json_loads(good[i], JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
        if (!ours || !theirs || !json_equal(ours, theirs)) fail_msg("%s: %s", good[i], ours ? "differs" : fault.what);
        json_decref(ours);
        json_decref(theirs);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (json_text_read(bad[i], strlen(bad[i]), &fault)) fail_msg("%s: was taken", bad[i]);
        assert_null(json_loads(bad[i], JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL));
        assert_int_equal(fault.status, THENAR_ERROR_INPUT);
        assert_true(fault.offset <= strlen(bad[i]) && fault.line >= 1 && fault.column >= 1);
    }
    assert_null(json_text_read("[1]\0", 4, &fault));
    assert_null(json_text_read("[\0]", 3, &fault));
}

static void what_was_cut_off_fails_at_its_end(void **state) {
    (void)state;
    static const char text[] =
        "{\"a\": [1.5e-3, true, null, \"\\u00e9\\ud83d\\ude00 \xc3\xa9\xf0\x9f\x98\x80\", {}], \"b\": -12}";
    json_text_fault fault;
    for (size_t size = 0; size < sizeof text - 1; size++) {
        assert_null(json_text_read(text, size, &fault));
        if (fault.offset != size) fail_msg("cut at %zu: %s at %zu", size, fault.what, fault.offset);
    }
    json_t *whole = json_text_read(text, sizeof text - 1, &fault);
    assert_non_null(whole);
    json_decref(whole);
}

static void errors_say_where(void **state) {
    (void)state;
    json_t *root;
    thenar_error error;
    static const char text[] = "{\n  \"\xc3\xa9\": [1,\n  \"\xc3\xa9\xc3\xa9\" 2]}";
    assert_int_equal(json_text_parse(text, sizeof text - 1, "a.json", &root, &error), THENAR_ERROR_INPUT);
    assert_string_equal(error.text, "a.json:3:8: unterminated array; expected , or ]");
    assert_int_equal(json_text_parse("{\"a\": 1,\n \"a\": 2}", 17, "a.json", &root, &error), THENAR_ERROR_INPUT);
    assert_string_equal(error.text, "a.json:2:2: duplicate key");
    assert_int_equal(json_text_parse("[1e999]", 7, "a.json", &root, &error), THENAR_ERROR_INPUT);
    assert_string_equal(error.text, "a.json:1:2: number out of range");
}

/* `count` times the beginning, then the end as often. */
static char *repeated(const char *begin, const char *end, size_t count) {
    size_t front = strlen(begin), back = strlen(end);
    char *text = malloc(count * (front + back) + 1);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++) memcpy(text + i * front, begin, front);
    for (size_t i = 0; i < count; i++) memcpy(text + count * front + i * back, end, back);
    text[count * (front + back)] = 0;
    return text;
}

static void depth_and_number_of_values_are_bounded(void **state) {
    (void)state;
    static const struct {
        const char *begin, *end;
        size_t count;
        const char *what; /* NULL: it is taken */
    } cases[] = {{"[", "]", JSON_TEXT_DEPTH, NULL},         {"[", "]", JSON_TEXT_DEPTH + 1, "too deep"},
                 {"[", "", 10000000, "too deep"},           {"{\"a\":", "", 1000000, "too deep"},
                 {"[0,[", "]]", JSON_TEXT_DEPTH / 2, NULL}, {" ", "1", 1, NULL}};
    json_text_fault fault;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = repeated(cases[i].begin, cases[i].end, cases[i].count);
        json_t *root = json_text_read(text, strlen(text), &fault);
        assert_true((root == NULL) == (cases[i].what != NULL));
        if (!root) assert_non_null(strstr(fault.what, cases[i].what));
        json_decref(root);
        free(text);
    }
    char *many = repeated(" 0,", "", JSON_TEXT_VALUES - 2);
    many[0] = '[';
    assert_null(json_text_read(many, strlen(many), &fault));
    assert_non_null(strstr(fault.what, "unexpected end"));
    free(many);
    many = repeated(" 0,", "", JSON_TEXT_VALUES - 1);
    many[0] = '[';
    assert_null(json_text_read(many, strlen(many), &fault));
    assert_non_null(strstr(fault.what, "too many values"));
    free(many);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_takes_and_refuses_what_jansson_does),
    cmocka_unit_test(what_was_cut_off_fails_at_its_end),
    cmocka_unit_test(errors_say_where),
    cmocka_unit_test(depth_and_number_of_values_are_bounded),
};

TEST_MAIN(tests)
