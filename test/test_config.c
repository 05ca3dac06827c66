#include "test.h"

#include "io/file.h"
#include "random.h"
#include "scene/config.h"

#include <sys/stat.h>

static const char beam_scene[] = "# A beam that hangs from one end.\n"
                                 "name: beam\n"
                                 "gravity: [0, -9.81, 0]\n"
                                 "bodies:\n"
                                 "  beam:\n"
                                 "    material:\n"
                                 "      young: 2e6\n"
                                 "      poisson: 0.45\n"
                                 "    fixed: [{box: [0, 1]}, 'all of it', \"\\u00e9t\\xE9\\n\"]\n"
                                 "  ball: &ball\n"
                                 "    radius: .5\n"
                                 "    soft: false\n"
                                 "  other: *ball\n"
                                 "notes: |\n"
                                 "  two\n"
                                 "  lines\n"
                                 "nothing: ~\n";

/* The message of an input error that parsing the text ends in, in a buffer that the next call overwrites. */
static const char *message_of_bytes(const char *text, size_t size) {
    static thenar_error error;
    config tree;
    error = (thenar_error){0};
    thenar_status status = config_parse(&tree, text, size, "scene.yaml", &error);
    if (status == THENAR_OK) {
        config_free(&tree);
        return "(no error)";
    }
    assert_null(tree.root);
    assert_null(tree.memory.blocks);
    assert_int_equal(status, THENAR_ERROR_INPUT);
    assert_int_equal(error.status, status);
    assert_null(strchr(error.text, '\n'));
    return error.text;
}

static const char *message_of(const char *text) {
    return message_of_bytes(text, strlen(text));
}

#define assert_contains(text, part)                                                                                    \
    do {                                                                                                               \
        const char *assert_text = (text);                                                                              \
        if (!strstr(assert_text, (part))) {                                                                            \
            print_error("\"%s\" does not contain \"%s\"\n", assert_text, (part));                                      \
            _fail(__FILE__, __LINE__);                                                                                 \
        }                                                                                                              \
    } while (0)

static config parse(const char *text) {
    config tree;
    thenar_error error;
    assert_ok(config_parse(&tree, text, strlen(text), "scene.yaml", &error), error);
    return tree;
}

/* Follows keys; fails the test if one is missing. */
static const config_node *at(const config_node *node, const char *path) {
    char copy[256];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *key = strtok(copy, "."); key; key = strtok(NULL, ".")) {
        node = config_find(node, key);
        if (!node) fail_msg("no key %s of %s", key, path);
    }
    return node;
}

static void assert_place(const config_node *node, const char *file, int line, int column) {
    assert_string_equal(node->file, file);
    assert_int_equal(node->line, line);
    assert_int_equal(node->column, column);
}

static bool same_tree(const config_node *a, const config_node *b) {
    if (a->kind != b->kind || a->count != b->count) return false;
    if ((a->key != NULL) != (b->key != NULL) || (a->key && strcmp(a->key, b->key) != 0)) return false;
    if (config_is_null(a) || config_is_null(b)) return config_is_null(a) && config_is_null(b);
    if (a->kind == CONFIG_SCALAR)
        return strcmp(a->text, b->text) == 0 && strcmp(config_kind_name(a), config_kind_name(b)) == 0;
    for (a = a->first, b = b->first; a; a = a->next, b = b->next)
        if (!same_tree(a, b)) return false;
    return true;
}

/* ---- parsing */

static void every_node_knows_its_place(void **state) {
    (void)state;
    config tree = parse(beam_scene);
    assert_place(tree.root, "scene.yaml", 2, 1);
    assert_place(at(tree.root, "gravity"), "scene.yaml", 3, 10);
    assert_place(at(tree.root, "gravity")->first->next, "scene.yaml", 3, 14);
    const config_node *young = at(tree.root, "bodies.beam.material.young");
    assert_place(young, "scene.yaml", 7, 14);
    assert_int_equal(young->key_line, 7);
    assert_int_equal(young->key_column, 7);
    assert_string_equal(young->text, "2e6");
    assert_true(young->plain);
    assert_false(at(tree.root, "bodies.beam.fixed")->first->next->plain);
    assert_string_equal(at(tree.root, "notes")->text, "two\nlines\n");
    assert_string_equal(at(tree.root, "bodies.beam.fixed")->last->text, "\u00e9t\u00e9\n");
    assert_true(config_is_null(at(tree.root, "nothing")));
    config_free(&tree);
}

static void an_alias_is_an_independent_copy_at_the_place_of_its_anchor(void **state) {
    (void)state;
    config tree = parse(beam_scene);
    thenar_error error;
    assert_place(at(tree.root, "bodies.other.radius"), "scene.yaml", 11, 13);
    assert_ok(config_set(&tree, "bodies.other.radius=7", &error), error);
    assert_string_equal(at(tree.root, "bodies.other.radius")->text, "7");
    assert_string_equal(at(tree.root, "bodies.ball.radius")->text, ".5");
    config_free(&tree);
    tree = parse("a: &x 1\nb: &x 2\nc: *x\nd: [*x]\n");
    assert_string_equal(at(tree.root, "c")->text, "2");
    assert_null(at(tree.root, "d")->first->key);
    config_free(&tree);
}

static void bad_yaml_is_refused_with_its_place_and_the_reason(void **state) {
    (void)state;
    assert_contains(message_of("a: 1\nb: [1, 2\nc: 3\n"), "scene.yaml:3:");
    assert_contains(message_of("a: 1\nb: [1, 2\nc: 3\n"), "did not find expected ',' or ']'");
    assert_contains(message_of("a: 1\n b: 2\n"), "scene.yaml:2:3: mapping values are not allowed");
    assert_contains(message_of("a:\n\tb: 1\n"), "scene.yaml:2:1: found character that cannot start any token: a tab");
    assert_contains(message_of("a: 'x\n"), "found unexpected end of stream while scanning a quoted scalar");
    assert_contains(message_of("a: 1\nb: \xff\n"), "scene.yaml:2:4: invalid leading UTF-8 octet");
    assert_contains(message_of("a: \u00e9\nb: \u00e9\xc3("), "scene.yaml:2:6: invalid trailing UTF-8 octet");
    assert_contains(message_of("a: \x01\n"), "scene.yaml:1:4: control characters are not allowed");
    assert_contains(message_of_bytes("\xff\xfe\x61\0:\0 \0\x31\0", 10), "scene.yaml:1:1: invalid leading UTF-8");
    assert_contains(message_of_bytes("a: b\0c", 6), "scene.yaml:1:5: control characters");
    assert_contains(message_of("a: \"b\\0c\"\n"), "scene.yaml:1:4: text contains a zero character");
    assert_contains(message_of("a: *b\n"), "scene.yaml:1:4: alias '*b' has no anchor '&b' before it");
    assert_contains(message_of("a: !!str 5\n"), "scene.yaml:1:4: tag 'tag:yaml.org,2002:str' is not supported");
    assert_contains(message_of("a: &x {b: 1}\nc:\n  <<: *x\n"), "scene.yaml:3:3: merge key '<<'");
    assert_contains(message_of("a: 1\n? \n: 2\n"), "scene.yaml:2:2: this key is empty");
    assert_contains(message_of("? [1, 2]\n: 3\n"), "scene.yaml:1:3: this key is not text");
}

static void a_byte_order_mark_is_passed_over(void **state) {
    (void)state;
    config tree = parse("\xef\xbb\xbf"
                        "a: 1\n");
    assert_string_equal(at(tree.root, "a")->text, "1");
    config_free(&tree);
}

static void a_document_is_neither_empty_nor_followed_by_another(void **state) {
    (void)state;
    assert_contains(message_of(""), "scene.yaml:1:1: nothing but blanks and comments");
    assert_contains(message_of("# only this\n"), "nothing but blanks and comments");
    assert_contains(message_of("---\n"), "an empty document");
    assert_contains(message_of("a: 1\n---\nb: 2\n"), "scene.yaml:2:1: a second document starts here");
}

static void a_key_given_twice_is_refused_with_both_lines(void **state) {
    (void)state;
    const char *message = message_of("a: 1\nb:\n  young: 1\n  poisson: 2\n  young: 3\n");
    assert_contains(message, "scene.yaml:5:3: key 'young' is already on line 3");
    assert_contains(message_of("a: {b: 1, 'b': 2}"), "scene.yaml:1:11: key 'b' is already on line 1");
}

static char *repeat(const char *piece, size_t times) {
    size_t length = strlen(piece);
    char *text = calloc(times * length + 1, 1);
    assert_non_null(text);
    for (size_t i = 0; i < times; i++) memcpy(text + i * length, piece, length);
    return text;
}

static void nesting_is_limited(void **state) {
    (void)state;
    char text[2 * CONFIG_DEPTH_LIMIT + 1] = {0};
    memset(text, '[', CONFIG_DEPTH_LIMIT);
    memset(text + CONFIG_DEPTH_LIMIT, ']', CONFIG_DEPTH_LIMIT);
    config tree = parse(text);
    config_free(&tree);
    const char *pieces[] = {"[", "{a: ", "- ", "? "};
    for (size_t i = 0; i < 4; i++) {
        char *deep = repeat(pieces[i], 200000);
        assert_contains(message_of(deep), i < 3 ? "nested too deeply; expected at most 64 levels" : "key");
        free(deep);
    }
    char nested[4096] = "a: &a [";
    for (int i = 0; i < 40; i++) strcat(nested, "[");
    for (int i = 0; i < 40; i++) strcat(nested, "]");
    strcat(nested, "]\nb: ");
    for (int i = 0; i < 30; i++) strcat(nested, "[");
    strcat(nested, "*a");
    for (int i = 0; i < 30; i++) strcat(nested, "]");
    assert_contains(message_of(nested), "scene.yaml:2:34: nested too deeply");
}

static void aliases_cannot_blow_a_small_file_up(void **state) {
    (void)state;
    char laughs[1024] = "a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]\n";
    for (int i = 1; i < 10; i++) {
        size_t used = strlen(laughs);
        snprintf(laughs + used, sizeof laughs - used, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i,
                 i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    }
    assert_contains(message_of(laughs), "scene.yaml:6:");
    assert_contains(message_of(laughs), "aliases add too many values; expected at most 100000");
    assert_contains(message_of("a: &a\n  b: [1, *a]\n"), "scene.yaml:2:10: alias '*a' is inside the value");
    char *anchors = repeat("- &a 1\n", CONFIG_ANCHOR_LIMIT + 1);
    assert_contains(message_of(anchors), "scene.yaml:1001:3: too many anchors; expected at most 1000");
    free(anchors);
}

static void the_number_of_values_and_bytes_is_limited(void **state) {
    (void)state;
    char *many = repeat("- 1\n", CONFIG_NODE_LIMIT);
    assert_contains(message_of(many), "scene.yaml:1000000:3: too many values; expected at most 1000000");
    free(many);
    char *large = repeat("#\n", CONFIG_BYTE_LIMIT / 2 + 1);
    assert_contains(message_of(large), "expected at most 16777216");
    free(large);
}

static void a_large_mapping_finds_every_key_and_every_double(void **state) {
    (void)state;
    enum { KEYS = 50000 };
    char *text = calloc(KEYS + 1, 16);
    size_t used = 0;
    for (int i = 0; i < KEYS; i++) used += (size_t)sprintf(text + used, "k%d: %d\n", i, i);
    config tree = parse(text);
    for (int i = 0; i < KEYS; i++) {
        char key[16], value[16];
        snprintf(key, sizeof key, "k%d", i);
        snprintf(value, sizeof value, "%d", i);
        assert_string_equal(at(tree.root, key)->text, value);
    }
    assert_null(config_find(tree.root, "k50000"));
    config_free(&tree);
    strcpy(text + used, "k77: x\n");
    assert_contains(message_of(text), "scene.yaml:50001:1: key 'k77' is already on line 78");
    free(text);
}

/* ---- including */

static char directory[256];

static const char *file_path(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void write_file(const char *name, const char *text) {
    FILE *file;
    thenar_error error;
    assert_ok(file_create(file_path(name), &file, &error), error);
    fputs(text, file);
    assert_ok(file_close(file, name, &error), error);
}

static int make_directory(void **state) {
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/test_config_XXXXXX");
    if (!mkdtemp(directory)) return -1;
    return mkdir(file_path("sub"), 0777);
}

static int remove_directory(void **state) {
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    return system(command);
}

static const char *load_message(const char *name, thenar_status expected) {
    static thenar_error error;
    config tree;
    error = (thenar_error){0};
    assert_int_equal(config_load(&tree, file_path(name), &error), expected);
    assert_null(tree.memory.blocks);
    return error.text;
}

static void an_including_file_lays_its_keys_over_the_included_ones(void **state) {
    (void)state;
    write_file("sub/materials.yaml",
               "material: {young: 1, poisson: 0.4}\nlist: [1, 2]\nsteps: 9\nsolver: {name: cg}\n");
    write_file("sub/base.yaml", "include: materials.yaml\nmaterial: {young: 2, density: 3}\nsteps: 5\n");
    write_file("scene.yaml",
               "material:\n  young: 7\nlist: [3]\ninclude: sub/base.yaml\nsteps: ~\nsolver: none\nnew: {a: ~}\n");
    config tree;
    thenar_error error;
    assert_ok(config_load(&tree, file_path("scene.yaml"), &error), error);
    assert_string_equal(at(tree.root, "material.young")->text, "7");
    assert_string_equal(at(tree.root, "material.density")->text, "3");
    assert_string_equal(at(tree.root, "material.poisson")->text, "0.4");
    assert_place(at(tree.root, "material.young"), file_path("scene.yaml"), 2, 10);
    assert_place(at(tree.root, "material.density"), file_path("sub/base.yaml"), 2, 31);
    assert_place(at(tree.root, "material.poisson"), file_path("sub/materials.yaml"), 1, 31);
    assert_int_equal(at(tree.root, "list")->count, 1);
    assert_null(config_find(tree.root, "steps"));
    assert_string_equal(at(tree.root, "solver")->text, "none");
    assert_null(config_find(tree.root, "include"));
    assert_int_equal(tree.root->count, 4);
    config_free(&tree);
}

/* From sixteen keys on they are found by an index, which is made while one is on its way out. */
static void a_key_is_taken_away_where_many_are_added(void **state) {
    (void)state;
    char base[256] = "away: 1\n", over[512] = "include: base.yaml\naway: ~\n";
    for (int i = 0; i < 24; i++) {
        char *text = i < 10 ? base : over;
        sprintf(text + strlen(text), "key%d: %d\n", i, i);
    }
    write_file("base.yaml", base);
    write_file("over.yaml", over);
    config tree;
    thenar_error error;
    assert_ok(config_load(&tree, file_path("over.yaml"), &error), error);
    assert_int_equal(tree.root->count, 24);
    assert_null(config_find(tree.root, "away"));
    assert_string_equal(config_find(tree.root, "key3")->text, "3");
    assert_string_equal(config_find(tree.root, "key23")->text, "23");
    config_free(&tree);
}

static void a_list_of_files_is_included_in_order(void **state) {
    (void)state;
    write_file("one.yaml", "a: 1\nb: 1\nc: 1\n");
    write_file("two.yaml", "b: 2\nc: 2\n");
    write_file("list.yaml", "include: [one.yaml, two.yaml]\nc: 3\n");
    config tree;
    thenar_error error;
    assert_ok(config_load(&tree, file_path("list.yaml"), &error), error);
    assert_string_equal(at(tree.root, "a")->text, "1");
    assert_string_equal(at(tree.root, "b")->text, "2");
    assert_string_equal(at(tree.root, "c")->text, "3");
    config_free(&tree);
}

static void a_file_that_includes_itself_is_refused_with_the_chain(void **state) {
    (void)state;
    write_file("self.yaml", "a: 1\ninclude: ./self.yaml\n");
    const char *message = load_message("self.yaml", THENAR_ERROR_INPUT);
    assert_contains(message, "self.yaml:2:10: a file includes itself: ");
    write_file("x.yaml", "include: sub/y.yaml\n");
    write_file("sub/y.yaml", "b: 1\ninclude: [z.yaml]\n");
    write_file("sub/z.yaml", "include: ../x.yaml\n");
    message = load_message("x.yaml", THENAR_ERROR_INPUT);
    assert_contains(message, "sub/z.yaml:1:10: a file includes itself: ");
    assert_contains(message, "x.yaml includes ");
    assert_contains(message, "sub/y.yaml includes ");
    assert_contains(message, "sub/z.yaml includes ");
    assert_contains(message, "sub/../x.yaml");
}

static void includes_are_limited_in_depth_and_number(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        char name[32], text[64];
        snprintf(name, sizeof name, "deep%d.yaml", i);
        snprintf(text, sizeof text, i < 19 ? "include: deep%d.yaml\n" : "a: %d\n", i + 1);
        write_file(name, text);
    }
    assert_contains(load_message("deep0.yaml", THENAR_ERROR_INPUT), "deep16.yaml:1:10: includes are nested too deeply");
    config tree;
    thenar_error error;
    assert_ok(config_load(&tree, file_path("deep3.yaml"), &error), error);
    config_free(&tree);
    for (int i = 0; i < 10; i++) {
        char name[32], text[128];
        snprintf(name, sizeof name, "wide%d.yaml", i);
        snprintf(text, sizeof text, i < 9 ? "include: [wide%d.yaml, wide%d.yaml]\n" : "a: %d%d\n", i + 1, i + 1);
        write_file(name, text);
    }
    assert_contains(load_message("wide0.yaml", THENAR_ERROR_INPUT), "too many included files; expected at most 256");
}

static void an_include_that_cannot_be_read_names_both_files(void **state) {
    (void)state;
    write_file("bad.yaml", "include: missing.yaml\n");
    const char *message = load_message("bad.yaml", THENAR_ERROR_FILE);
    assert_contains(message, "bad.yaml:1:10: include: ");
    assert_contains(message, "missing.yaml: cannot open: No such file");
    write_file("bad.yaml", "include: {a: 1}\n");
    assert_contains(load_message("bad.yaml", THENAR_ERROR_INPUT), "bad.yaml:1:10: include is a mapping");
    write_file("row.yaml", "[1, 2]\n");
    write_file("bad.yaml", "include: row.yaml\n");
    assert_contains(load_message("bad.yaml", THENAR_ERROR_INPUT), "row.yaml:1:1: an included file is a sequence");
    write_file("bad.yaml", "include: \"a\\nb\"\n");
    assert_contains(load_message("bad.yaml", THENAR_ERROR_INPUT), "bad.yaml:1:10: include has a control character");
    assert_int_equal(mkfifo(file_path("pipe"), 0600), 0);
    write_file("bad.yaml", "include: pipe\n");
    assert_contains(load_message("bad.yaml", THENAR_ERROR_INPUT), "pipe: is not a regular file");
    assert_contains(load_message("nowhere.yaml", THENAR_ERROR_FILE), "cannot open");
    assert_contains(load_message("sub", THENAR_ERROR_INPUT), "is a directory");
}

/* ---- setting */

static const char *set_message(config *tree, const char *assignment) {
    static thenar_error error;
    error = (thenar_error){0};
    thenar_status status = config_set(tree, assignment, &error);
    if (status == THENAR_OK) return "(no error)";
    assert_int_equal(status, THENAR_ERROR_INPUT);
    return error.text;
}

static void a_set_value_replaces_adds_or_takes_away(void **state) {
    (void)state;
    config tree = parse(beam_scene);
    thenar_error error;
    assert_ok(config_set(&tree, "bodies.beam.material.young=3e7", &error), error);
    const config_node *young = at(tree.root, "bodies.beam.material.young");
    assert_string_equal(young->text, "3e7");
    assert_place(young, "--set bodies.beam.material.young", 0, 0);
    assert_ok(config_set(&tree, "gravity[1]=-1.62", &error), error);
    assert_string_equal(at(tree.root, "gravity")->first->next->text, "-1.62");
    assert_ok(config_set(&tree, "gravity.2=5", &error), error);
    assert_string_equal(at(tree.root, "gravity")->last->text, "5");
    assert_ok(config_set(&tree, "bodies.beam.fixed[0].box[1]={a: [1, 'x']}", &error), error);
    assert_string_equal(at(at(tree.root, "bodies.beam.fixed")->first, "box")->last->first->last->text, "x");
    assert_ok(config_set(&tree, "bodies.beam.material.new=some text", &error), error);
    assert_string_equal(at(tree.root, "bodies.beam.material.new")->text, "some text");
    assert_ok(config_set(&tree, "bodies.ball=~", &error), error);
    assert_null(config_find(at(tree.root, "bodies"), "ball"));
    assert_int_equal(at(tree.root, "bodies")->count, 2);
    assert_ok(config_set(&tree, "name=a=b", &error), error);
    assert_string_equal(at(tree.root, "name")->text, "a=b");
    config_free(&tree);
}

static void a_set_path_that_leads_nowhere_is_refused_with_a_suggestion(void **state) {
    (void)state;
    config tree = parse(beam_scene);
    assert_contains(set_message(&tree, "bodies.baem.material.young=1"),
                    "--set bodies.baem.material.young: no key 'baem' in bodies; did you mean 'beam'?");
    assert_contains(
        set_message(&tree, "scenery.x=1"),
        "no key 'scenery' in the top level; expected a known key (known: name, gravity, bodies, notes, nothing)");
    assert_contains(set_message(&tree, "gravity[3]=1"), "no item '3' in gravity; expected 0 to 2");
    assert_contains(set_message(&tree, "gravity.x=1"), "no item 'x' in gravity; expected 0 to 2");
    assert_contains(set_message(&tree, "gravity[-1]=1"), "no item '-1' in gravity");
    assert_contains(set_message(&tree, "bodies.beam.fixed[0].bx.c=1"),
                    "no key 'bx' in bodies.beam.fixed[0]; did you mean 'box'");
    assert_contains(set_message(&tree, "name.x=1"),
                    "name is text; expected a mapping or a sequence that 'x' can be in");
    const char *unreadable[] = {"a..b=1",      ".a=1",          "a.=1",         "gravity[=1",
                                "gravity[]=1", "gravity[1]x=1", "gravity.[1]=1"};
    for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++)
        assert_contains(set_message(&tree, unreadable[i]), i == 0 ? "'a'" : "cannot read the path; expected keys");
    assert_contains(set_message(&tree, "<<=1"), "merge key '<<' is not supported");
    assert_contains(set_message(&tree, "bodies.<<=1"), "merge key '<<' is not supported");
    assert_contains(set_message(&tree, "name"), "--set name: expected PATH=VALUE");
    assert_contains(set_message(&tree, "=1"), "expected PATH=VALUE");
    assert_contains(set_message(&tree, "name="), "--set name: no value after '='");
    assert_contains(set_message(&tree, "name=[1, 2"), "--set name: did not find expected ',' or ']'");
    assert_contains(set_message(&tree, "name={a: 1, a: 2}"), "--set name: key 'a' is given twice");
    assert_contains(set_message(&tree, "name=# nothing"), "--set name: nothing but blanks and comments");
    assert_contains(set_message(&tree, "name=\xff"), "--set name: invalid leading UTF-8 octet");
    char deep[200] = "bodies.beam.x=";
    for (int i = 0; i < 62; i++) strcat(deep, "[");
    for (int i = 0; i < 62; i++) strcat(deep, "]");
    assert_contains(set_message(&tree, deep), "--set bodies.beam.x: nested too deeply");
    char *long_path = repeat("a.", 100);
    char assignment[300];
    snprintf(assignment, sizeof assignment, "%sa=1", long_path);
    assert_contains(set_message(&tree, assignment), "no key 'a'");
    free(long_path);
    config fresh = parse(beam_scene);
    assert_true(same_tree(tree.root, fresh.root));
    config_free(&fresh);
    config_free(&tree);
}

/* ---- reading */

typedef struct material {
    double young, poisson, density, damping;
} material;

static material read_material(config_reader *reader, const config_node *node) {
    material m = {.young = 1, .poisson = 0.3, .density = 1000, .damping = 0};
    config_map map;
    config_open(reader, node, "material", &map);
    config_number(&map, "young", CONFIG_REQUIRED, config_positive("Pa"), &m.young);
    config_number(&map, "poisson", CONFIG_OPTIONAL, (config_range){.low = -1, .high = 0.5, .below_high = true},
                  &m.poisson);
    config_number(&map, "density", CONFIG_OPTIONAL, config_between(0, 1e5, "kg/m^3"), &m.density);
    config_number(&map, "damping", CONFIG_OPTIONAL, config_not_negative("1/s"), &m.damping);
    config_close(&map);
    return m;
}

static const char *material_message(const char *text) {
    static thenar_error error;
    error = (thenar_error){0};
    config tree = parse(text);
    config_reader reader = {.error = &error};
    read_material(&reader, tree.root);
    assert_int_equal(reader.status, error.status);
    config_free(&tree);
    return error.text;
}

static void a_mistyped_key_is_refused_with_the_known_ones(void **state) {
    (void)state;
    assert_string_equal(
        material_message("\nyoung: 5\nyuong: 2\n"),
        "scene.yaml:3:1: unknown key 'yuong' in material; did you mean 'young'? (known: young, poisson, "
        "density, damping)");
    /* Mistyping a required key is a mistyped key, not a missing one. */
    assert_contains(material_message("yuong: 2\n"),
                    "scene.yaml:1:1: unknown key 'yuong' in material; did you mean 'young'?");
    assert_contains(material_message("young: 1\nyuong: ~\n"), "unknown key 'yuong'");
    assert_contains(material_message("young: 1\ncolour: red\n"),
                    "scene.yaml:2:1: unknown key 'colour' in material; expected a known key (known: young,");
    assert_contains(material_message("young: 1\n\"a\\nb\": red\n"), "unknown key 'a?b'");
    assert_string_equal(material_message("\n\n  poisson: 0.2\n"),
                        "scene.yaml:3:3: material has no key 'young'; it is required");
    assert_contains(material_message("young: ~\n"), "material has no key 'young'");
}

static void a_set_key_that_nobody_knows_is_refused_by_the_reader(void **state) {
    (void)state;
    config tree = parse(beam_scene);
    thenar_error error;
    assert_ok(config_set(&tree, "bodies.beam.material.yuong=1", &error), error);
    config_reader reader = {.error = &error};
    read_material(&reader, at(tree.root, "bodies.beam.material"));
    assert_int_equal(reader.status, THENAR_ERROR_INPUT);
    assert_contains(error.text,
                    "--set bodies.beam.material.yuong: unknown key 'yuong' in material; did you mean 'young'?");
    config_free(&tree);
}

static void numbers_are_decimal_plain_and_in_range(void **state) {
    (void)state;
    struct {
        const char *text;
        double value;
    } good[] = {{"2e6", 2e6}, {".5", .5}, {"1.", 1}, {"+1", 1}, {"1E-3", 1e-3}, {"007", 7}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[64];
        snprintf(text, sizeof text, "young: %s", good[i].text);
        config tree = parse(text);
        thenar_error error = {0};
        config_reader reader = {.error = &error};
        assert_near(read_material(&reader, tree.root).young, good[i].value, 0);
        assert_ok(reader.status, error);
        config_free(&tree);
    }
    assert_string_equal(material_message("young: -5"), "scene.yaml:1:8: young is -5; expected a number > 0 (Pa)");
    assert_contains(material_message("young: 0"), "young is 0; expected a number > 0 (Pa)");
    assert_contains(material_message("young: 1\npoisson: 0.5"), "poisson is 0.5; expected a number >= -1 and < 0.5");
    assert_contains(material_message("young: 1\ndensity: 2e5"), "expected a number between 0 and 100000 (kg/m^3)");
    assert_contains(material_message("young: 1\ndamping: -1e-9"), "damping is -1e-9; expected a number >= 0 (1/s)");
    assert_contains(material_message("young: .inf"), "young is .inf; expected a finite number > 0 (Pa)");
    assert_contains(material_message("young: .nan"), "young is .nan; expected a number > 0 (Pa)");
    assert_contains(material_message("young: [1]"), "scene.yaml:1:8: young: expected a number, found a sequence");
    assert_contains(material_message("young: {a: 1}"), "young: expected a number, found a mapping");
    assert_contains(material_message("young: '5'"), "young: expected a number, found text '5' in quotes");
    assert_contains(material_message("young: true"), "young: expected a number, found a truth value 'true'");
    const char *words[] = {"1_000", "0x10", "inf",  "nan",  "1e999",    "1 2",
                           "1e",    "--1",  "12Pa", "1:30", "infinity", "1.2.3"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[64], expected[64];
        snprintf(text, sizeof text, "young: %s", words[i]);
        snprintf(expected, sizeof expected, "young: expected a number, found text '%s'", words[i]);
        assert_contains(material_message(text), expected);
    }
    assert_string_equal(material_message("[1]"), "scene.yaml:1:1: material: expected a mapping, found a sequence");
}

static const char *const solvers[] = {"cg", "direct", "multigrid"};

typedef struct everything {
    int steps, solver;
    bool on;
    const char *name;
    double gravity[3], limit, pair[2];
} everything;

static everything read_everything(config_reader *reader, const config_node *node) {
    everything e = {
        .steps = 3, .solver = 1, .on = true, .name = "none", .gravity = {0, 0, -1}, .limit = 9, .pair = {1, 2}};
    config_map map;
    config_range limits = config_positive("m");
    limits.infinite = true;
    config_open(reader, node, "scene", &map);
    config_integer(&map, "steps", CONFIG_OPTIONAL, 1, 100, &e.steps);
    config_choice(&map, "solver", CONFIG_OPTIONAL, solvers, 3, &e.solver);
    config_bool(&map, "on", CONFIG_OPTIONAL, &e.on);
    config_text(&map, "name", CONFIG_OPTIONAL, &e.name);
    config_vec3(&map, "gravity", CONFIG_OPTIONAL, config_any("m/s^2"), e.gravity);
    config_number(&map, "limit", CONFIG_OPTIONAL, limits, &e.limit);
    config_numbers(&map, "pair", CONFIG_OPTIONAL, config_not_negative(""), 2, e.pair);
    config_close(&map);
    return e;
}

static const char *everything_message(const char *text, everything *out) {
    static thenar_error error;
    error = (thenar_error){0};
    config tree = parse(text);
    config_reader reader = {.error = &error};
    *out = read_everything(&reader, tree.root);
    assert_int_equal(reader.status, error.status);
    out->name = strcmp(out->name, "none") == 0 ? "none" : "read";
    config_free(&tree);
    return error.text;
}

static void each_type_reads_its_value_and_keeps_the_default_without_one(void **state) {
    (void)state;
    everything e;
    assert_string_equal(everything_message("{}", &e), "");
    assert_int_equal(e.steps, 3);
    assert_near(e.gravity[2], -1, 0);
    assert_string_equal(everything_message("steps: ~\non: null", &e), "");
    assert_int_equal(e.steps, 3);
    assert_string_equal(
        everything_message("steps: 100\nsolver: 'multigrid'\non: False\nname: 5\ngravity: [1, 2.5, -3]\n"
                           "limit: .inf\npair: [5, 0]\n",
                           &e),
        "");
    assert_int_equal(e.steps, 100);
    assert_int_equal(e.solver, 2);
    assert_false(e.on);
    assert_string_equal(e.name, "read");
    assert_near(e.gravity[1], 2.5, 0);
    assert_true(isinf(e.limit));
    assert_near(e.pair[0], 5, 0);
}

static void each_type_refuses_the_others_with_a_reason(void **state) {
    (void)state;
    struct {
        const char *text, *message;
    } cases[] = {
        {"steps: 2.5", "scene.yaml:1:8: steps is 2.5; expected an integer between 1 and 100"},
        {"steps: 0", "steps is 0; expected an integer between 1 and 100"},
        {"steps: 99999999999999999999", "steps is 99999999999999999999; expected an integer"},
        {"steps: '7'", "steps: expected an integer, found text '7' in quotes"},
        {"steps: many", "steps: expected an integer, found text 'many'"},
        {"solver: direkt", "scene.yaml:1:9: solver is 'direkt'; did you mean 'direct'? (known: cg, direct, multigrid)"},
        {"solver: xyzzy", "solver is 'xyzzy'; expected a known name (known: cg, direct, multigrid)"},
        {"solver: [cg]", "solver: expected text, found a sequence"},
        {"on: yes", "on: expected true or false, found text 'yes'"},
        {"on: 'true'", "on: expected true or false, found text 'true'"},
        {"on: 1", "on: expected true or false, found a number '1'"},
        {"name: {a: 1}", "name: expected text, found a mapping"},
        {"gravity: 5", "gravity: expected a sequence of 3 numbers, found a number '5'"},
        {"gravity: [1, 2]", "scene.yaml:1:10: gravity has 2 items; expected a sequence of 3 numbers"},
        {"gravity: [1, ~, 3]", "scene.yaml:1:14: gravity[1]: expected a number, found null"},
        {"gravity: [1, 2, .inf]", "gravity[2] is .inf; expected a finite number (m/s^2)"},
        {"limit: -.inf", "limit is -.inf; expected a number > 0 (m)"},
        {"limit: .nan", "limit is .nan; expected a number > 0 (m)"},
        {"pair: [3, -1]", "scene.yaml:1:11: pair[1] is -1; expected a number >= 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        everything e;
        assert_contains(everything_message(cases[i].text, &e), cases[i].message);
        assert_near(e.pair[0], 1, 0);
        assert_near(e.gravity[2], -1, 0);
    }
}

static void the_first_error_wins(void **state) {
    (void)state;
    everything e;
    assert_contains(everything_message("limit: -1\nsteps: 0\nunknown: 1\non: 5\nname: x\n", &e),
                    "scene.yaml:2:8: steps");
    assert_string_equal(e.name, "none");
    assert_near(e.limit, 9, 0);
    config tree = parse("steps: 0\n");
    config_reader reader = {0};
    read_everything(&reader, tree.root);
    assert_int_equal(reader.status, THENAR_ERROR_INPUT);
    config_free(&tree);
}

/* Reads "bodies" by name, each with "points" and an optional "inner" mapping; returns how many. */
static int read_bodies(config_reader *reader, const config_node *root, char *names, double *sum) {
    config_map scene;
    config_list bodies, points;
    int count = 0;
    config_open(reader, root, "scene", &scene);
    config_entries(&scene, "bodies", CONFIG_REQUIRED, &bodies);
    while (config_next(&bodies)) {
        config_map body, inner;
        config_item_map(&bodies, &body);
        strcat(strcat(names, bodies.key), " ");
        config_sequence(&body, "points", CONFIG_OPTIONAL, &points);
        while (config_next(&points)) {
            double point[3] = {0};
            config_item_vec3(&points, config_any("m"), point);
            *sum += point[0] + 10 * (double)points.index;
        }
        int level = 0;
        if (config_child(&body, "inner", CONFIG_OPTIONAL, &inner))
            config_integer(&inner, "level", CONFIG_REQUIRED, 0, 9, &level);
        config_close(&inner);
        if (level == 9) config_fail(&inner, "level", "level 9 is not for '%s'", bodies.key);
        config_close(&body);
        count++;
    }
    config_close(&scene);
    return count;
}

static const char *bodies_message(const char *text, int *count, char *names, double *sum) {
    static thenar_error error;
    error = (thenar_error){0};
    *names = 0;
    *sum = 0;
    config tree = parse(text);
    config_reader reader = {.error = &error};
    *count = read_bodies(&reader, tree.root, names, sum);
    config_free(&tree);
    return error.text;
}

static void lists_and_named_entries_are_read_one_by_one(void **state) {
    (void)state;
    int count;
    char names[64];
    double sum;
    assert_string_equal(bodies_message("bodies:\n  b: {points: [[1, 0, 0], [2, 0, 0]]}\n"
                                       "  gone: ~\n  a: {}\n",
                                       &count, names, &sum),
                        "");
    assert_int_equal(count, 2);
    assert_string_equal(names, "b a ");
    assert_near(sum, 1 + 12, 0);
    assert_contains(bodies_message("bodies: [1]\n", &count, names, &sum),
                    "scene.yaml:1:9: bodies: expected a mapping, found");
    assert_contains(bodies_message("{}\n", &count, names, &sum), "scene.yaml:1:1: scene has no key 'bodies'");
    assert_contains(bodies_message("bodies: {a: {points: [[0, 0, 0], [1]]}}", &count, names, &sum),
                    "bodies.a.points[1] has 1 items; expected a sequence of 3 numbers");
    assert_contains(bodies_message("bodies: {a: {points: [[0, 0, x]]}}", &count, names, &sum),
                    "scene.yaml:1:30: bodies.a.points[0][2]: expected a number, found text 'x'");
    assert_contains(bodies_message("bodies: {a: 5}", &count, names, &sum), "a: expected a mapping, found a number '5'");
    assert_contains(bodies_message("bodies: {a: {inner: {levl: 1}}}", &count, names, &sum),
                    "scene.yaml:1:22: unknown key 'levl' in bodies.a.inner; did you mean 'level'?");
    assert_contains(bodies_message("bodies: {a: {inner: {level: 9}}}", &count, names, &sum),
                    "scene.yaml:1:29: level 9 is not for 'a'");
    assert_contains(bodies_message("bodies: {}\nbody: 1", &count, names, &sum), "unknown key 'body' in scene; ");
}

static void a_file_name_is_seen_from_the_file_it_is_written_in(void **state) {
    (void)state;
    write_file("sub/mesh.yaml", "mesh: ball.msh\nhome: /a/b\n");
    write_file("main.yaml", "include: sub/mesh.yaml\nother: cube.msh\nempty: ''\n");
    config tree;
    thenar_error error = {0};
    assert_ok(config_load(&tree, file_path("main.yaml"), &error), error);
    assert_ok(config_set(&tree, "third=x/y.msh", &error), error);
    const char *keys[] = {"mesh", "home", "other", "third"};
    const char *expected[] = {"sub/ball.msh", NULL, "cube.msh", NULL};
    config_reader reader = {.error = &error};
    config_map map;
    config_open(&reader, tree.root, "scene", &map);
    for (int i = 0; i < 4; i++) {
        char *path = NULL;
        assert_true(config_file(&map, keys[i], CONFIG_REQUIRED, &path));
        assert_string_equal(path, expected[i] ? file_path(expected[i]) : i == 1 ? "/a/b" : "x/y.msh");
        free(path);
    }
    char *path = NULL;
    assert_false(config_file(&map, "empty", CONFIG_REQUIRED, &path));
    assert_contains(error.text, "empty is empty; expected a file name");
    config_free(&tree);
}

static void the_caller_can_fail_at_a_key_an_item_or_an_absent_map(void **state) {
    (void)state;
    config tree = parse("a: 1\nb: [1, 2]\n");
    thenar_error error = {0};
    config_map map, absent;
    config_list list;
    config_reader reader = {.error = &error};
    config_open(&reader, tree.root, "scene", &map);
    assert_true(config_has(&map, "a"));
    assert_false(config_has(&map, "c"));
    assert_int_equal(config_peek(&map, "b")->kind, CONFIG_SEQUENCE);
    config_sequence(&map, "b", CONFIG_OPTIONAL, &list);
    assert_int_equal(list.count, 2);
    config_next(&list);
    config_next(&list);
    config_item_fail(&list, "no %d please", 2);
    assert_string_equal(error.text, "scene.yaml:2:8: no 2 please");
    reader = (config_reader){.error = &error};
    config_fail(&map, "c", "needs c");
    assert_string_equal(error.text, "scene.yaml:1:1: needs c");
    reader = (config_reader){.error = &error};
    config_child(&map, "c", CONFIG_OPTIONAL, &absent);
    config_fail(&absent, NULL, "is needed");
    assert_string_equal(error.text, "c: is needed");
    config_free(&tree);
}

/* ---- printing */

static char *printed(const config_node *node) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    thenar_error error;
    assert_ok(config_print(node, out, &error), error);
    fclose(out);
    return text;
}

static void assert_prints_the_same(const char *source, size_t size) {
    config tree, again;
    thenar_error error;
    assert_ok(config_parse(&tree, source, size, "scene.yaml", &error), error);
    char *text = printed(tree.root);
    if (config_parse(&again, text, strlen(text), "printed.yaml", &error) != THENAR_OK)
        fail_msg("%s\n%s", error.text, text);
    if (!same_tree(tree.root, again.root)) fail_msg("printed as another tree:\n%s", text);
    free(text);
    config_free(&tree);
    config_free(&again);
}

static void a_printed_tree_loads_as_the_same_tree(void **state) {
    (void)state;
    const char *sources[] = {
        beam_scene,
        "5",
        "'5'",
        "[]",
        "{}",
        "a: []\nb: {}\nc: [[], {}, '', ~]\n",
        "a: ['~', 'null', 'true', '2e6', \"\", \" x \", \"\\t\", \"a\\nb\\n\\n\", \"\\u2028\\x85\\e\", \"# "
        "no\", \"- a\", \"a: b\"]",
        "'key: with, odd [things]': 1\n'- x': 3\n\"line\\nbreak\": 4\n'true': 5\n'12': 6\n",
        "a: a, b] c} d\nb: -x\nc: x#y\nd: 'x #y'\ne: :x\nf: '@x'\ng: a:b\n",
        "text: >\n  folded\n  text\n\n  more\n\n\nkeep: |+\n  a\n\n\nstrip: |-\n   b\n",
        "long: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]\nrows: [[1, 2], [3, 4], {a: "
        "[1, {b: 2}]}]\n",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        assert_prints_the_same(sources[i], strlen(sources[i]));
    char *key = repeat("key ", 100), text[1024];
    snprintf(text, sizeof text, "{'%s': {'%s': [1]}}", key, key);
    assert_prints_the_same(text, strlen(text));
    free(key);
}

static void a_printed_tree_shows_what_was_set(void **state) {
    (void)state;
    config tree = parse("b: [0, 1.50, x]\na: {c: '5'}\n");
    thenar_error error;
    assert_ok(config_set(&tree, "a.d=[{e: 1}]", &error), error);
    char *text = printed(tree.root);
    assert_string_equal(text, "b: [0, 1.50, x]\na:\n  c: '5'\n  d:\n  - e: 1\n");
    free(text);
    config_free(&tree);
}

/* ---- untrusted input */

static bool has_line_and_column(const char *text) {
    long line, column;
    return sscanf(text, "scene.yaml:%ld:%ld: ", &line, &column) == 2 && line > 0 && column > 0;
}

/* Everything that can be done with a file, on bytes that may be anything. */
static int survive(const char *bytes, size_t size) {
    config tree;
    thenar_error error = {0};
    /* A copy of exactly this size, so that the address sanitizer sees reads behind the end. */
    char *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    thenar_status status = config_parse(&tree, copy, size, "scene.yaml", &error);
    free(copy);
    if (status != THENAR_OK) {
        assert_int_equal(status, THENAR_ERROR_INPUT);
        if (!strstr(error.text, "include")) assert_true(has_line_and_column(error.text));
        return 0;
    }
    char *text = printed(tree.root);
    config again;
    if (config_parse(&again, text, strlen(text), "printed.yaml", &error) != THENAR_OK)
        fail_msg("%s\n%s", error.text, text);
    if (!same_tree(tree.root, again.root)) fail_msg("printed as another tree:\n%s", text);
    config_free(&again);
    free(text);
    config_reader reader = {.error = &error};
    read_everything(&reader, tree.root);
    char names[1 << 12] = "";
    double sum = 0;
    reader = (config_reader){.error = &error};
    read_bodies(&reader, tree.root, names, &sum);
    config_set(&tree, "bodies.beam.material.young=1", &error);
    config_set(&tree, "gravity[1]=~", &error);
    config_free(&tree);
    return 1;
}

static void a_scene_cut_anywhere_is_read_or_refused(void **state) {
    (void)state;
    int good = 0;
    for (size_t size = 0; size <= sizeof beam_scene - 1; size++) good += survive(beam_scene, size);
    assert_true(good > 20);
    assert_true(good < (int)sizeof beam_scene - 20);
}

static void a_scene_with_wrong_bytes_is_read_or_refused(void **state) {
    (void)state;
    int good = 0, count = 0;
    random_source random = {1};
    for (size_t position = 0; position < sizeof beam_scene - 1; position++)
        for (int bit = 0; bit < 8; bit++, count++) {
            char bytes[sizeof beam_scene];
            memcpy(bytes, beam_scene, sizeof bytes);
            bytes[position] = (char)(bytes[position] ^ (1 << bit));
            good += survive(bytes, sizeof bytes - 1);
        }
    static const char special[] = "[]{}:,-?&*!|>'\"%@`#\n\t \0~<0aé";
    for (int round = 0; round < 4000; round++, count++) {
        char bytes[sizeof beam_scene];
        memcpy(bytes, beam_scene, sizeof bytes);
        for (int change = 0; change < 1 + round % 4; change++) {
            size_t position = random_bits(&random) % (sizeof bytes - 1);
            bytes[position] = special[random_bits(&random) % (sizeof special - 1)];
        }
        good += survive(bytes, sizeof bytes - 1);
    }
    assert_true(good > count / 10);
    assert_true(good < count);
}

static void any_set_path_is_taken_or_refused(void **state) {
    (void)state;
    static const char characters[] = "ab.[]=01{}:,~'-";
    random_source random = {7};
    config tree = parse("a: {b: [0, 1, {a: b}]}\nb: 1\n");
    int good = 0;
    for (int round = 0; round < 20000; round++) {
        char assignment[16] = {0};
        for (int i = 0; i < 4 + round % 10; i++) {
            assignment[i] = characters[random_bits(&random) % (sizeof characters - 1)];
        }
        thenar_error error;
        good += config_set(&tree, assignment, &error) == THENAR_OK;
    }
    assert_true(good > 100);
    config_free(&tree);
}

#define in_directory(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_node_knows_its_place),
    cmocka_unit_test(an_alias_is_an_independent_copy_at_the_place_of_its_anchor),
    cmocka_unit_test(bad_yaml_is_refused_with_its_place_and_the_reason),
    cmocka_unit_test(a_byte_order_mark_is_passed_over),
    cmocka_unit_test(a_document_is_neither_empty_nor_followed_by_another),
    cmocka_unit_test(a_key_given_twice_is_refused_with_both_lines),
    cmocka_unit_test(nesting_is_limited),
    cmocka_unit_test(aliases_cannot_blow_a_small_file_up),
    cmocka_unit_test(the_number_of_values_and_bytes_is_limited),
    cmocka_unit_test(a_large_mapping_finds_every_key_and_every_double),
    in_directory(an_including_file_lays_its_keys_over_the_included_ones),
    in_directory(a_key_is_taken_away_where_many_are_added),
    in_directory(a_list_of_files_is_included_in_order),
    in_directory(a_file_that_includes_itself_is_refused_with_the_chain),
    in_directory(includes_are_limited_in_depth_and_number),
    in_directory(an_include_that_cannot_be_read_names_both_files),
    cmocka_unit_test(a_set_value_replaces_adds_or_takes_away),
    cmocka_unit_test(a_set_path_that_leads_nowhere_is_refused_with_a_suggestion),
    cmocka_unit_test(a_mistyped_key_is_refused_with_the_known_ones),
    cmocka_unit_test(a_set_key_that_nobody_knows_is_refused_by_the_reader),
    cmocka_unit_test(numbers_are_decimal_plain_and_in_range),
    cmocka_unit_test(each_type_reads_its_value_and_keeps_the_default_without_one),
    cmocka_unit_test(each_type_refuses_the_others_with_a_reason),
    cmocka_unit_test(the_first_error_wins),
    cmocka_unit_test(lists_and_named_entries_are_read_one_by_one),
    in_directory(a_file_name_is_seen_from_the_file_it_is_written_in),
    cmocka_unit_test(the_caller_can_fail_at_a_key_an_item_or_an_absent_map),
    cmocka_unit_test(a_printed_tree_loads_as_the_same_tree),
    cmocka_unit_test(a_printed_tree_shows_what_was_set),
    cmocka_unit_test(a_scene_cut_anywhere_is_read_or_refused),
    cmocka_unit_test(a_scene_with_wrong_bytes_is_read_or_refused),
    cmocka_unit_test(any_set_path_is_taken_or_refused),
};

TEST_MAIN(tests)
