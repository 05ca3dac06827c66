#include "app/server.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* The assembler includes the files as they are; cmake/viewer.cmake defines their paths. */
#define INCLUDE_FILE(name, path)                                                                                       \
    __asm__(".pushsection .rodata\n"                                                                                   \
            ".global " name "\n.global " name "_end\n.balign 16\n" name ":\n.incbin \"" path "\"\n" name               \
            "_end:\n.byte 0\n.popsection\n")

INCLUDE_FILE("page_html", PAGE_FILE);
INCLUDE_FILE("page_policy", POLICY_FILE);

static const char *place_of(const char *marker) {
    return memmem(page_html, (size_t)(page_html_end - page_html), marker, strlen(marker));
}

thenar_status report_begin(report *page, const char *path, thenar_error *error) {
    page->path = path;
    page->file = create_file(path, error);
    if (!page->file) return THENAR_ERROR_FILE;
    const char *head = place_of(PAGE_HEAD_PLACE), *data = place_of(PAGE_DATA_PLACE);
    fwrite(page_html, 1, (size_t)(head - page_html), page->file);
    /* Only the page's own script runs, and nothing is loaded from elsewhere. */
    fprintf(page->file, "<meta http-equiv=\"Content-Security-Policy\" content=\"%.*s'none'\">",
            (int)(page_policy_end - page_policy), page_policy);
    head += strlen(PAGE_HEAD_PLACE);
    fwrite(head, 1, (size_t)(data - head), page->file);
    return THENAR_OK;
}

static void write_base64(FILE *file, const unsigned char *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        unsigned word = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                        (left > 2 ? (unsigned)bytes[i + 2] : 0);
        char out[4] = {digits[word >> 18], digits[word >> 12 & 63], left > 1 ? digits[word >> 6 & 63] : '=',
                       left > 2 ? digits[word & 63] : '='};
        fwrite(out, 1, 4, file);
    }
}

thenar_status report_add(report *page, const view_message *message, thenar_error *error) {
    uLongf size = compressBound((uLong)message->bytes.count);
    unsigned char *packed = NEW_ARRAY(unsigned char, size);
    if (message->failed || !packed ||
        compress2(packed, &size, message->bytes.data, (uLong)message->bytes.count, 9) != Z_OK) {
        free(packed);
        return fail_memory(error, page->path);
    }
    fputs("<script type=\"application/x-thenar\">", page->file);
    write_base64(page->file, packed, size);
    fputs("</script>\n", page->file);
    free(packed);
    return THENAR_OK;
}

thenar_status report_end(report *page, thenar_error *error) {
    if (!page->file) return THENAR_OK;
    const char *rest = place_of(PAGE_DATA_PLACE) + strlen(PAGE_DATA_PLACE);
    fwrite(rest, 1, (size_t)(page_html_end - rest), page->file);
    return close_file(page->file, page->path, error);
}
