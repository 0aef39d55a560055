/*
 * text.c - two operators for custom_feature: how many words a text has, and how its words end.
 *
 *   cc -shared -fPIC -I ../../include text.c -o text.so
 */
#include <crank/feature.h>

#include <stdlib.h>
#include <string.h>

typedef struct words {
    const crank_host *host;
    size_t last; /* bytes of an ending */
} words;

/* The next word of a text, from *at on; 0: there is none. */
static size_t next_word(const crank_text *t, size_t *at) {
    size_t from = *at, n = 0;
    while (from < t->size && t->data[from] == ' ')
        from++;
    while (from + n < t->size && t->data[from + n] != ' ')
        n++;
    *at = from;
    return n;
}

static void *words_open(const crank_host *host, const crank_params *params, char *why,
                        size_t size) {
    words *w = calloc(1, sizeof(*w));
    const char *last = host->param(params, "last", 0);
    if (!w) return NULL;
    w->host = host;
    w->last = last ? (size_t)strtoul(last, NULL, 10) : 2;
    if (w->last >= 1 && w->last <= 16) return w;
    strncpy(why, "last must lie between 1 and 16", size - 1);
    free(w);
    return NULL;
}

static void words_close(void *self) {
    free(self);
}

/* WordCount: one integer per row; a row without a text has no value and takes default_value */
static int count_run(void *self, const crank_batch *in, crank_output *out, char *why, size_t size) {
    const words *w = self;
    const crank_input *text = &in->inputs[0];
    (void)why;
    (void)size;
    for (int64_t r = 0; r < in->n_rows; r++) {
        int64_t n = 0;
        for (int64_t k = text->offsets[r]; k < text->offsets[r + 1]; k++)
            for (size_t at = 0, len; (len = next_word(&text->texts[k], &at)) > 0; at += len)
                n++;
        if (text->offsets[r] < text->offsets[r + 1]) w->host->put_int(out, n);
        w->host->end_row(out);
    }
    return 0;
}

/* WordEnd: the last bytes of every word, as tokens */
static int end_run(void *self, const crank_batch *in, crank_output *out, char *why, size_t size) {
    const words *w = self;
    const crank_input *text = &in->inputs[0];
    (void)why;
    (void)size;
    for (int64_t r = 0; r < in->n_rows; r++) {
        for (int64_t k = text->offsets[r]; k < text->offsets[r + 1]; k++) {
            const crank_text *t = &text->texts[k];
            for (size_t at = 0, len; (len = next_word(t, &at)) > 0; at += len) {
                size_t n = len < w->last ? len : w->last;
                w->host->put_text(out, t->data + at + len - n, n);
            }
        }
        w->host->end_row(out);
    }
    return 0;
}

static const crank_type takes_text[] = {CRANK_TEXT, 0};
static const crank_operator word_count = {
    .name = "WordCount",
    .min_inputs = 1,
    .max_inputs = 1,
    .inputs = takes_text,
    .output = CRANK_INT,
    .flags = CRANK_THREAD_SAFE,
    .open = words_open,
    .run = count_run,
    .close = words_close,
};
static const crank_operator word_end = {
    .name = "WordEnd",
    .min_inputs = 1,
    .max_inputs = 1,
    .inputs = takes_text,
    .output = CRANK_TEXT,
    .flags = CRANK_THREAD_SAFE,
    .open = words_open,
    .run = end_run,
    .close = words_close,
};
static const crank_operator *const operators[] = {&word_count, &word_end, NULL};
const crank_feature_library crank_features = {CRANK_FEATURE_ABI, operators};
