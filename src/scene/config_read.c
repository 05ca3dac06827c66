/* Typed reads with checks. Each finds its node (find_field, item_field) and passes it to the function of its type. */
#include "scene/config.h"

#include "core/error.h"
#include "core/text.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* A value to be read: of a key in a map, or an item of a list. */
typedef struct field {
    config_reader *reader;
    const config_node *node; /* NULL: there is none, and reading it does nothing */
    const char *key;         /* for messages, or NULL */
    const char *path;        /* without a key: item `index` of the list with this path */
    size_t index;
} field;

typedef struct label {
    char text[CONFIG_PATH_SIZE];
} label;

static label field_label(const field *f) {
    label made;
    if (f->key)
        snprintf(made.text, sizeof made.text, "%s", config_quote(f->key).text);
    else
        snprintf(made.text, sizeof made.text, "%.220s[%zu]", f->path, f->index);
    return made;
}

/* The functions that report an error return false, the result of the read that failed. */
static bool fail_at(config_reader *reader, const config_node *node, const char *format, va_list arguments) {
    if (reader->status != THENAR_OK) return false;
    char text[sizeof reader->error->text];
    vsnprintf(text, sizeof text, format, arguments);
    reader->status = error_at(reader->error, node->file, node->line, node->column, "%s", text);
    return false;
}

static bool fail(config_reader *reader, const config_node *node, const char *format, ...) THENAR_PRINTF(3, 4);
static bool fail(config_reader *reader, const config_node *node, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail_at(reader, node, format, arguments);
    va_end(arguments);
    return false;
}

static bool fail_kind(const field *f, const char *expected) {
    const config_node *node = f->node;
    label name = field_label(f);
    config_node unquoted = *node;
    unquoted.plain = true;
    double number;
    if (node->kind != CONFIG_SCALAR || config_is_null(node))
        return fail(f->reader, node, "%s: expected %s, found %s", name.text, expected, config_kind_name(node));
    return fail(f->reader, node, "%s: expected %s, found %s '%s'%s", name.text, expected, config_kind_name(node),
                config_quote(node->text).text,
                !node->plain && config_to_number(&unquoted, &number) ? " in quotes" : "");
}

/* "young is -1; expected a number > 0 (Pa)" */
static bool fail_range(const field *f, const char *noun, config_range range) {
    text_locale saved = text_locale_begin();
    char low[48] = "", high[48] = "";
    bool both = isfinite(range.low) && isfinite(range.high);
    bool between = both && !range.above_low && !range.below_high;
    if (isfinite(range.low))
        snprintf(low, sizeof low, " %s %.10g", between ? "between" : range.above_low ? ">" : ">=", range.low);
    if (isfinite(range.high))
        snprintf(high, sizeof high, "%s %s%.10g", both ? " and" : "",
                 between            ? ""
                 : range.below_high ? "< "
                                    : "<= ",
                 range.high);
    text_locale_end(saved);
    bool unit = range.unit && *range.unit;
    return fail(f->reader, f->node, "%s is %s; expected %s%s%s%s%s%s", field_label(f).text,
                config_quote(f->node->text).text, noun, low, high, unit ? " (" : "", unit ? range.unit : "",
                unit ? ")" : "");
}

static bool read_number(const field *f, config_range range, double *value) {
    double number;
    if (!f->node) return false;
    if (!config_to_number(f->node, &number)) return fail_kind(f, "a number");
    if (isinf(number) && !range.infinite) return fail_range(f, "a finite number", range);
    bool low = range.above_low ? number > range.low : number >= range.low;
    bool high = range.below_high ? number < range.high : number <= range.high;
    if (!low || !high) return fail_range(f, "a number", range); /* a NaN too */
    *value = number;
    return true;
}

static bool read_text(const field *f, const char **value) {
    if (!f->node) return false;
    if (f->node->kind != CONFIG_SCALAR || config_is_null(f->node)) return fail_kind(f, "text");
    *value = f->node->text;
    return true;
}

static bool read_numbers(const field *f, config_range range, size_t count, double *values) {
    if (!f->node) return false;
    char expected[48];
    snprintf(expected, sizeof expected, "a sequence of %zu numbers", count);
    if (f->node->kind != CONFIG_SEQUENCE) return fail_kind(f, expected);
    label name = field_label(f);
    if (f->node->count != count)
        return fail(f->reader, f->node, "%s has %zu items; expected %s", name.text, f->node->count, expected);
    double number;
    field item = {.reader = f->reader, .path = name.text, .node = f->node->first};
    /* Check all before the first is stored. */
    for (; item.node; item.node = item.node->next, item.index++)
        if (!read_number(&item, range, &number)) return false;
    size_t stored = 0;
    for (const config_node *node = f->node->first; node; node = node->next) config_to_number(node, &values[stored++]);
    return true;
}

/* The value of a key, which becomes one of the known keys. */
static field find_field(config_map *map, const char *key, config_need need) {
    field f = {.reader = map->reader, .key = key};
    if (!map->node || map->reader->status != THENAR_OK) return f;
    bool known = false;
    for (size_t i = 0; i < map->known_count && !known; i++) known = strcmp(map->known[i], key) == 0;
    if (!known) {
        assert(map->known_count < CONFIG_KNOWN_LIMIT);
        map->known[map->known_count++] = key;
    }
    f.node = config_find(map->node, key);
    if (f.node && config_is_null(f.node)) f.node = NULL;
    if (!f.node && need == CONFIG_REQUIRED && !map->missing) map->missing = key;
    return f;
}

static field item_field(const config_list *list) {
    field f = {.reader = list->reader, .key = list->key, .path = list->path, .index = list->index};
    f.node = list->reader->status == THENAR_OK ? list->item : NULL;
    return f;
}

static bool open_map(const field *f, const char *path, bool is_root, config_map *map) {
    *map = (config_map){.reader = f->reader, .is_root = is_root};
    snprintf(map->path, sizeof map->path, "%s", path);
    if (!f->node || f->reader->status != THENAR_OK) return false;
    if (f->node->kind != CONFIG_MAPPING) return fail_kind(f, "a mapping");
    map->node = f->node;
    return true;
}

void config_open(config_reader *reader, const config_node *node, const char *name, config_map *map) {
    field f = {.reader = reader, .node = node, .key = name};
    open_map(&f, name, true, map);
}

/* "bodies.beam.material" from "bodies.beam" and "material". */
static label child_path(const config_map *map, const char *key) {
    label path;
    if (map->is_root)
        snprintf(path.text, sizeof path.text, "%s", key);
    else
        snprintf(path.text, sizeof path.text, "%.190s.%s", map->path, config_quote(key).text);
    return path;
}

bool config_child(config_map *map, const char *key, config_need need, config_map *child) {
    field f = find_field(map, key, need);
    return open_map(&f, child_path(map, key).text, false, child);
}

static bool open_list(const field *f, const char *path, config_kind kind, config_list *list) {
    *list = (config_list){.reader = f->reader};
    snprintf(list->path, sizeof list->path, "%s", path);
    if (!f->node) return false;
    if (f->node->kind != kind) return fail_kind(f, kind == CONFIG_MAPPING ? "a mapping" : "a sequence");
    list->node = f->node;
    for (const config_node *item = f->node->first; item; item = item->next)
        list->count += kind == CONFIG_SEQUENCE || !config_is_null(item);
    return true;
}

bool config_sequence(config_map *map, const char *key, config_need need, config_list *list) {
    field f = find_field(map, key, need);
    return open_list(&f, child_path(map, key).text, CONFIG_SEQUENCE, list);
}

bool config_entries(config_map *map, const char *key, config_need need, config_list *list) {
    field f = find_field(map, key, need);
    return open_list(&f, child_path(map, key).text, CONFIG_MAPPING, list);
}

static void report_unknown(config_map *map, const config_node *child) {
    config_node key = *child;
    key.line = child->key_line;
    key.column = child->key_column;
    fail(map->reader, &key, "unknown key '%s' in %s;%s", config_quote(child->key).text, map->path,
         config_suggest(child->key, "a known key", map->known, map->known_count).text);
}

void config_close(config_map *map) {
    if (!map->node || map->reader->status != THENAR_OK) return;
    for (const config_node *child = map->node->first; child; child = child->next) {
        bool known = false;
        for (size_t i = 0; i < map->known_count && !known; i++) known = strcmp(map->known[i], child->key) == 0;
        if (!known) {
            report_unknown(map, child);
            return;
        }
    }
    if (map->missing) fail(map->reader, map->node, "%s has no key '%s'; it is required", map->path, map->missing);
}

bool config_number(config_map *map, const char *key, config_need need, config_range range, double *value) {
    field f = find_field(map, key, need);
    return read_number(&f, range, value);
}

bool config_integer(config_map *map, const char *key, config_need need, long low, long high, int *value) {
    assert(low >= INT_MIN && high <= INT_MAX);
    long integer;
    double number;
    field f = find_field(map, key, need);
    if (!f.node) return false;
    config_range range = {.low = low > INT_MIN ? (double)low : -INFINITY,
                          .high = high < INT_MAX ? (double)high : INFINITY};
    if (!config_to_integer(f.node, &integer)) {
        if (config_to_number(f.node, &number)) return fail_range(&f, "an integer", range);
        return fail_kind(&f, "an integer");
    }
    if (integer < low || integer > high) return fail_range(&f, "an integer", range);
    *value = (int)integer;
    return true;
}

bool config_bool(config_map *map, const char *key, config_need need, bool *value) {
    field f = find_field(map, key, need);
    if (!f.node) return false;
    return config_to_bool(f.node, value) || fail_kind(&f, "true or false");
}

bool config_text(config_map *map, const char *key, config_need need, const char **value) {
    field f = find_field(map, key, need);
    return read_text(&f, value);
}

static bool read_choice(const field *f, const char *name, const char *const *names, size_t count, int *value) {
    const char *text = NULL;
    if (!read_text(f, &text)) return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], text) != 0) continue;
        *value = (int)i;
        return true;
    }
    return fail(f->reader, f->node, "%s is '%s';%s", name, config_quote(text).text,
                config_suggest(text, "a known name", names, count).text);
}

bool config_choice(config_map *map, const char *key, config_need need, const char *const *names, size_t count,
                   int *value) {
    field f = find_field(map, key, need);
    return read_choice(&f, key, names, count, value);
}

bool config_file(config_map *map, const char *key, config_need need, char **value) {
    field f = find_field(map, key, need);
    const char *text = NULL;
    if (!read_text(&f, &text)) return false;
    if (*text == 0) return fail(f.reader, f.node, "%s is empty; expected a file name", key);
    char *path = config_resolve(f.node->line > 0 ? f.node->file : NULL, text);
    if (path)
        *value = path;
    else
        f.reader->status = error_memory(f.reader->error, key);
    return path != NULL;
}

bool config_numbers(config_map *map, const char *key, config_need need, config_range range, size_t count,
                    double *values) {
    field f = find_field(map, key, need);
    return read_numbers(&f, range, count, values);
}

bool config_vec3(config_map *map, const char *key, config_need need, config_range range, double value[3]) {
    return config_numbers(map, key, need, range, 3, value);
}

const config_node *config_peek(config_map *map, const char *key) {
    return find_field(map, key, CONFIG_OPTIONAL).node;
}

bool config_has(config_map *map, const char *key) {
    return config_peek(map, key) != NULL;
}

bool config_next(config_list *list) {
    if (!list->node || list->reader->status != THENAR_OK) return false;
    if (list->item) list->index++;
    list->item = list->item ? list->item->next : list->node->first;
    while (list->item && list->node->kind == CONFIG_MAPPING && config_is_null(list->item))
        list->item = list->item->next;
    if (!list->item) {
        list->node = NULL;
        return false;
    }
    list->key = list->item->key;
    return true;
}

bool config_item_map(config_list *list, config_map *map) {
    field f = item_field(list);
    label path;
    if (list->key)
        snprintf(path.text, sizeof path.text, "%.190s.%s", list->path, config_quote(list->key).text);
    else
        path = field_label(&f);
    return open_map(&f, path.text, false, map);
}

bool config_item_choice(config_list *list, const char *const *names, size_t count, int *value) {
    field f = item_field(list);
    return read_choice(&f, field_label(&f).text, names, count, value);
}

bool config_item_vec3(config_list *list, config_range range, double value[3]) {
    field f = item_field(list);
    return read_numbers(&f, range, 3, value);
}

int config_one_of(config_map *map, const char *what, const char *const *keys, int count) {
    int given = 0, which = -1;
    for (int i = 0; i < count; i++) {
        if (!config_has(map, keys[i])) continue;
        given++;
        which = i;
    }
    if (given == 1) return which;
    char known[256];
    config_join(keys, (size_t)count - 1, known, sizeof known);
    config_fail(map, NULL, "%s %s%s; expected %s or %s", given ? "several" : "no", what, given ? "s in one" : "", known,
                keys[count - 1]);
    return -1;
}

void config_fail(config_map *map, const char *key, const char *format, ...) {
    const config_node nowhere = {.file = map->path};
    const config_node *node = key && map->node ? config_find(map->node, key) : map->node;
    if (!node) node = map->node ? map->node : &nowhere;
    va_list arguments;
    va_start(arguments, format);
    fail_at(map->reader, node, format, arguments);
    va_end(arguments);
}

void config_adopt(config_map *map, const char *key, thenar_status status, const char *message) {
    if (status == THENAR_OK || map->reader->status != THENAR_OK) return;
    config_fail(map, key, "%s", message);
    map->reader->status = status;
    if (map->reader->error) map->reader->error->status = status;
}

void config_out_of_memory(config_map *map) {
    config_adopt(map, NULL, THENAR_ERROR_MEMORY, "out of memory");
}

void config_item_fail(config_list *list, const char *format, ...) {
    const config_node nowhere = {.file = list->path};
    const config_node *node = list->item ? list->item : &nowhere;
    va_list arguments;
    va_start(arguments, format);
    fail_at(list->reader, node, format, arguments);
    va_end(arguments);
}
