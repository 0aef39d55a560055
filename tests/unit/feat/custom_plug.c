/* A library of operators for custom.c: values of every kind, and operators that break the rules. */
#include <crank/feature.h>

#include <stdlib.h>
#include <string.h>

static const crank_host *the_host;
static int n_open;

static void *plain_open(const crank_host *host, const crank_params *p, char *why, size_t size) {
    const char *say = host->param(p, "refuse", 0);
    the_host = host;
    if (say) {
        strncpy(why, say, size - 1);
        return NULL;
    }
    n_open++;
    return &n_open;
}
static void plain_close(void *self) {
    (void)self;
    n_open--;
}

/* all values of all inputs, doubled: text twice, numbers times 2 */
static int twice_run(void *self, const crank_batch *in, crank_output *out, char *why, size_t size) {
    (void)self;
    (void)why;
    (void)size;
    for (int64_t r = 0; r < in->n_rows; r++) {
        for (int i = 0; i < in->n_inputs; i++) {
            const crank_input *x = &in->inputs[i];
            for (int64_t k = x->offsets[r]; k < x->offsets[r + 1]; k++) {
                if (x->type == CRANK_INT) {
                    the_host->put_int(out, 2 * x->ints[k]);
                } else if (x->type == CRANK_FLOAT) {
                    the_host->put_float(out, 2 * x->floats[k]);
                } else {
                    char text[64];
                    size_t n = x->texts[k].size < 32 ? x->texts[k].size : 32;
                    memcpy(text, x->texts[k].data, n);
                    memcpy(text + n, x->texts[k].data, n);
                    the_host->put_text(out, text, 2 * n);
                }
            }
        }
        the_host->end_row(out);
    }
    return 0;
}

static int fails_run(void *self, const crank_batch *in, crank_output *out, char *why, size_t size) {
    (void)self;
    (void)in;
    (void)out;
    strncpy(why, "the moon is full", size - 1);
    return 1;
}
static int short_run(void *self, const crank_batch *in, crank_output *out, char *why, size_t size) {
    (void)self;
    (void)in;
    (void)why;
    (void)size;
    the_host->end_row(out);
    return 0;
}
static int long_run(void *self, const crank_batch *in, crank_output *out, char *why, size_t size) {
    (void)self;
    (void)why;
    (void)size;
    for (int64_t r = 0; r < in->n_rows + 3; r++) {
        the_host->put_int(out, r);
        the_host->end_row(out);
    }
    return 0;
}
static int mixed_run(void *self, const crank_batch *in, crank_output *out, char *why, size_t size) {
    (void)self;
    (void)why;
    (void)size;
    for (int64_t r = 0; r < in->n_rows; r++) {
        the_host->put_text(out, "x", 1);
        the_host->end_row(out);
    }
    return 0;
}
static int bad_run(void *self, const crank_batch *in, crank_output *out, char *why, size_t size) {
    (void)self;
    (void)why;
    (void)size;
    for (int64_t r = 0; r < in->n_rows; r++) {
        the_host->put_int(out, r);
        if (r == 1)
            the_host->bad_row(out, "the second row is never good");
        else
            the_host->end_row(out);
    }
    return 0;
}

/* puts without an end; what it puts is nothing that is kept */
static int flood_run(void *self, const crank_batch *in, crank_output *out, char *why, size_t size) {
    (void)self;
    (void)why;
    (void)size;
    for (int64_t r = 0; r < in->n_rows; r++) {
        for (int i = 0; i < 3000000; i++)
            the_host->put_int(out, i);
        the_host->end_row(out);
    }
    return 0;
}
static int huge_run(void *self, const crank_batch *in, crank_output *out, char *why, size_t size) {
    (void)self;
    (void)why;
    (void)size;
    for (int64_t r = 0; r < in->n_rows; r++) {
        the_host->put_text(out, "x", (size_t)-1);
        the_host->end_row(out);
    }
    return 0;
}
static int mute_run(void *self, const crank_batch *in, crank_output *out, char *why, size_t size) {
    (void)self;
    (void)why;
    (void)size;
    for (int64_t r = 0; r < in->n_rows; r++)
        the_host->bad_row(out, NULL);
    return 0;
}

static const crank_type text[] = {CRANK_TEXT, 0}, tokens[] = {CRANK_TOKENS, 0},
                        ints[] = {CRANK_INT, 0}, floats[] = {CRANK_FLOAT, 0}, broken[] = {99, 0};
#define OP(var, n, in, o, f, r)                                                                    \
    static const crank_operator var = {.name = n,                                                  \
                                       .min_inputs = 1,                                            \
                                       .max_inputs = 2,                                            \
                                       .inputs = in,                                               \
                                       .output = o,                                                \
                                       .flags = f,                                                 \
                                       .open = plain_open,                                         \
                                       .run = r,                                                   \
                                       .close = plain_close}
OP(op_text, "TwiceText", text, CRANK_TEXT, 0, twice_run);
OP(op_tokens, "TwiceTokens", tokens, CRANK_TEXT, CRANK_THREAD_SAFE, twice_run);
OP(op_int, "TwiceInt", ints, CRANK_INT, 0, twice_run);
OP(op_float, "TwiceFloat", floats, CRANK_FLOAT, 0, twice_run);
OP(op_fails, "Fails", text, CRANK_INT, 0, fails_run);
OP(op_short, "Short", text, CRANK_INT, 0, short_run);
OP(op_long, "Long", text, CRANK_INT, 0, long_run);
OP(op_mixed, "Mixed", text, CRANK_INT, 0, mixed_run);
OP(op_bad, "Bad", text, CRANK_INT, 0, bad_run);
OP(op_flood, "Flood", text, CRANK_INT, 0, flood_run);
OP(op_huge, "Huge", text, CRANK_TEXT, 0, huge_run);
OP(op_mute, "Mute", text, CRANK_INT, 0, mute_run);
OP(op_broken, "Broken", broken, CRANK_INT, 0, bad_run);
static const crank_operator *const operators[] = {&op_text,   &op_tokens, &op_int,  &op_float,
                                                  &op_fails,  &op_short,  &op_long, &op_mixed,
                                                  &op_bad,    &op_flood,  &op_huge, &op_mute,
                                                  &op_broken, NULL};
const crank_feature_library crank_features = {CRANK_FEATURE_ABI, operators};
/* for the test: instances that were not closed */
int crank_test_open(void);
int crank_test_open(void) {
    return n_open;
}
