/* YAML trees: parse, print, parse again, set a value. */
#include "fuzz.h"

#include "scene/config.h"

static bool same(const config_node *a, const config_node *b) {
    if (config_is_null(a) || config_is_null(b)) return config_is_null(a) && config_is_null(b);
    if (a->kind != b->kind || a->count != b->count) return false;
    /* Text that needs them is printed with quotes: what it is taken for must not change. */
    if (a->kind == CONFIG_SCALAR)
        return strcmp(config_kind_name(a), config_kind_name(b)) == 0 && strcmp(a->text, b->text) == 0;
    const config_node *other = b->first;
    for (const config_node *child = a->first; child; child = child->next, other = other->next)
        if ((child->key && strcmp(child->key, other->key) != 0) || !same(child, other)) return false;
    return true;
}

/* What is printed is read as the same tree. */
static void print_and_read(const config *tree) {
    char *text = NULL;
    size_t size = 0;
    thenar_error error = {0};
    FILE *out = open_memstream(&text, &size);
    fuzz_check(out && config_print(tree->root, out, &error) == THENAR_OK);
    fclose(out);
    config again = {0};
    fuzz_check(config_parse(&again, text, size, "printed", &error) == THENAR_OK);
    fuzz_check(same(tree->root, again.root));
    config_free(&again);
    free(text);
}

/* The first line, if it begins with a #, is a --set. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    file_bytes bytes = fuzz_bytes(data, size);
    thenar_error error = {0};
    config tree = {0};
    thenar_status status = config_parse(&tree, bytes.data, size, "fuzz", &error);
    fuzz_status(status, &error);
    if (status == THENAR_OK) {
        print_and_read(&tree);
        char *end = strchr(bytes.data, '\n');
        if (bytes.data[0] == '#' && end) {
            *end = 0;
            fuzz_status(config_set(&tree, bytes.data + 1, &error), &error);
            print_and_read(&tree);
        }
    } else {
        fuzz_check(!tree.root);
    }
    config_free(&tree);
    free(bytes.data);
    return 0;
}
