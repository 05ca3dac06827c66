/* JSON: our reader and jansson's take the same texts for the same values, but for what ours bounds. */
#include "fuzz.h"

#include "io/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* Without a zero behind: the reader is given a size. */
    char *text = calloc(size > 0 ? size : 1, 1);
    if (size > 0) memcpy(text, data, size);
    json_text_fault fault;
    json_t *ours = json_text_read(text, size, &fault);
    json_t *theirs = json_loadb(text, size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    /* jansson takes some zeros for the end of the text. */
    bool comparable = !memchr(text, 0, size);
    if (ours) {
        fuzz_check(theirs && json_equal(ours, theirs));
    } else {
        fuzz_check(fault.status == THENAR_ERROR_INPUT && fault.what && fault.offset <= size);
        fuzz_check(fault.line >= 1 && fault.column >= 1);
        fuzz_check(!theirs || !comparable || strstr(fault.what, "too deep") || strstr(fault.what, "too many values"));
    }
    json_decref(ours);
    json_decref(theirs);
    free(text);
    return 0;
}
