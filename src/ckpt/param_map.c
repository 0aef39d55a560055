/*
 * param_map.c - the file of fine_tune_ckpt_param_map: one pair per line, "name in the model" and
 * "name in the checkpoint", separated by blanks. Empty lines and lines that begin with # are fine;
 * "-" in the second place leaves a parameter as it is. cr_ckpt_load checks whether the names exist,
 * since it knows both sides; it reports a mistake with its line.
 */
#include "ckpt/ckpt.h"

#include <string.h>

#include "base/file.h"

cr_code cr_ckpt_param_map(cr_arena *a, const char *path, cr_ckpt_rename **map, int *n,
                          cr_err *err) {
    static const char blank[] = " \t\r";
    cr_buf text;
    cr_buf_init(&text);
    cr_code code = cr_file_read(path, (size_t)64 << 20, &text, err);
    int lines = 1, line = 0;
    for (size_t i = 0; code == CR_OK && i < text.n; i++)
        lines += text.data[i] == '\n';
    *map = CR_NEW_N(a, cr_ckpt_rename, lines);
    *n = 0;
    char *copy = code == CR_OK ? cr_arena_strndup(a, text.data ? text.data : "", text.n) : NULL;
    while (code == CR_OK && copy) {
        char *s = strsep(&copy, "\n"), *word[3] = {0};
        int k = 0;
        line++;
        for (char *w = strtok_r(s, blank, &s); w && k < 3; w = strtok_r(NULL, blank, &s))
            word[k++] = w;
        if (k > 0 && word[0][0] == '#') continue;
        if (k == 2)
            (*map)[(*n)++] = (cr_ckpt_rename){word[0], word[1], line};
        else if (k != 0)
            code = cr_fail_at(err, CR_ECONF, ((cr_loc){path, line, 0}),
                              "%s; write 'name_in_model name_in_checkpoint'",
                              k == 1 ? "one name only" : "more than two names");
    }
    cr_buf_clear(&text);
    return code;
}
