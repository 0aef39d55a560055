/*
 * lines.c - reads a text file whole and gives its lines to a function. The files of PaddleRec's
 * samples may end their lines with \r\n and with blanks, which belong to no value.
 */
#include "tool/lines.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"

cr_code cr_each_line(const char *path, cr_line_fn each, void *ctx, cr_err *err) {
    cr_buf text;
    cr_buf_init(&text);
    cr_code code = cr_file_read(path, 0, &text, err);
    const char *p = text.data, *end = p + text.n;
    for (int line = 1; code == CR_OK && p < end; line++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        if (!nl) nl = end;
        const char *last = nl;
        while (last > p && (last[-1] == '\r' || last[-1] == ' '))
            last--;
        if (last > p) code = each(ctx, p, (size_t)(last - p), (cr_loc){path, line, 0}, err);
        p = nl + 1;
    }
    cr_buf_clear(&text);
    return code;
}
