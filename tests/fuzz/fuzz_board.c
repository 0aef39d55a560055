/*
 * fuzz_board.c - any bytes as a line of a log, and as the log of a run about which a page asks.
 * Nothing may crash, and every answer is JSON.
 *
 * The input is the log, up to the first NUL byte if there is one; the bytes behind it are the body
 * of a request,
 * and the importance.json and slices.json of the run.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "board/board_int.h"
#include "mem_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *zero(void *ctx, const char *name) {
    (void)ctx;
    return strcmp(name, "since") == 0 ? NULL : "0";
}

static void ask(cr_board *b, const char *method, const char *path, const char *body, size_t n) {
    cr_board_res r = {0};
    cr_json *j = NULL;
    cr_board_req q = {.method = method, .path = path, .body = body, .n_body = n, .arg = zero};
    cr_buf_init(&r.body);
    cr_board_answer(b, &q, &r);
    if (cr_json_parse(&j, r.body.data, r.body.n, NULL) != CR_OK) abort();
    cr_json_free(j);
    cr_buf_clear(&r.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool begun;
    static const char dir[] = "mem://b/m";
    const char *dirs[] = {dir};
    const char *text = (const char *)data, *nul = size ? memchr(text, 0, size) : NULL;
    size_t n = nul ? (size_t)(nul - text) : size, rest = nul ? size - n - 1 : 0;
    cr_board *b = NULL;
    if (!begun) cr_store_add(&mem_store);
    begun = true;
    mem_count_anew();
    /* the bytes behind the log are those of the files that tell why, too */
    const char *other = nul ? nul + 1 : "";
    if (cr_file_write("mem://b/m/train_log.jsonl", text, n, NULL) != CR_OK ||
        cr_file_write("mem://b/m/importance.json", other, rest, NULL) != CR_OK ||
        cr_file_write("mem://b/m/slices.json", other, rest, NULL) != CR_OK ||
        cr_board_open(&b, dirs, 1, NULL) != CR_OK)
        return 0;
    while (cr_board_follow(b, 1))
        ;
    ask(b, "GET", "/api/runs", "", 0);
    ask(b, "GET", "/api/run", "", 0);
    ask(b, "POST", "/api/series", nul ? nul + 1 : "", rest);
    ask(b, "POST", "/api/series", "{\"runs\": [0], \"points\": 3, \"axis\": \"rows\"}", 43);
    ask(b, "POST", "/api/series", "{\"runs\": [0], \"points\": 0}", 26);
    cr_board_close(b);
    mem_clear();
    return 0;
}
