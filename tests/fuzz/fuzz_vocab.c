/*
 * fuzz_vocab.c - any bytes as a vocabulary file, a formula, a normalizer, and data values: nothing
 * may crash, and what is accepted must be consistent.
 *
 * The first byte chooses. With libFuzzer: -fsanitize=fuzzer. Without (-DCR_FUZZ_MAIN): a plain
 * program that replays the files it is given, or built-in seeds with fixed mutations.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/shown.h"
#include "feat/hash.h"
#include "feat/normalize.h"
#include "feat/number.h"
#include "feat/vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool x, const char *what) {
    if (x) return;
    fprintf(stderr, "fuzz_vocab: %s\n", what);
    abort();
}

static void try_vocab(const char *s, size_t n) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_diag d;
    cr_diag_init(&d);
    cr_vocab v;
    cr_vocab_init(&v, &a, 0);
    v.unknown = -1;
    cr_vocab_read(&v, "fuzz", s, n, &d);
    must(v.size >= 0, "negative size");
    /* every line of the text has an id inside the table, or was reported */
    for (const char *p = s, *end = s + n; p < end;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((nl ? nl : end) - p);
        int64_t id = cr_vocab_get(&v, p, len, NULL);
        must(id >= -1 && id < v.size, "id outside the table");
        p = nl ? nl + 1 : end;
    }
    cr_diag_clear(&d);
    cr_arena_clear(&a);
}

static void try_expr(const char *s, size_t n) {
    static const char *const vars[] = {"x", "y"};
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_expr *e = NULL;
    size_t where = 0;
    cr_err err = {0};
    if (cr_expr_compile(&e, &a, s, n, vars, 2, &where, &err) == CR_OK) {
        double in[] = {1.5, -2}, r = cr_expr_eval(e, in), again = cr_expr_eval(e, in);
        must(r == again || (isnan(r) && isnan(again)), "a formula with two results");
    } else {
        must(where <= n && err.msg[0], "an error outside the text");
    }
    /* with variables of several values, and of none */
    if (cr_expr_compile_row(&e, &a, s, n, vars, 2, &where, &err) == CR_OK) {
        double many[] = {1, -2, 0.5};
        cr_expr_var in[] = {{many, 3}, {many, 1}}, none[] = {{many, 0}, {many, 0}};
        for (int64_t k = 0; k < 4; k++) {
            double r = cr_expr_eval_row(e, in, k, NAN), again = cr_expr_eval_row(e, in, k, NAN);
            must(r == again || (isnan(r) && isnan(again)), "a formula with two results");
            cr_expr_eval_row(e, none, k, 0);
        }
    } else {
        must(where <= n && err.msg[0], "an error outside the text");
    }
    cr_arena_clear(&a);
}

static void try_norm(const char *s, size_t n) {
    cr_arena a;
    cr_arena_init(&a, 0);
    char *text = cr_arena_strndup(&a, s, n);
    cr_norm m;
    size_t where = 0;
    cr_err err = {0};
    double x[] = {0, 1, -1, 1e30, 0.5};
    float y[5];
    if (cr_norm_parse(&m, &a, text, &where, &err) == CR_OK) {
        cr_norm_apply(&m, x, y, 5, false);
        cr_norm_apply(&m, x, y, 5, true);
    } else {
        must(where <= strlen(text) && err.msg[0], "an error outside the text");
    }
    cr_arena_clear(&a);
}

static void try_values(const char *s, size_t n) {
    int64_t i = 0;
    double f = 0;
    char text[24], show[80];
    if (cr_num_i64(s, n, &i) == CR_NUM_OK) {
        int64_t back = 0;
        must(cr_num_i64(text, cr_fmt_i64(text, i), &back) == CR_NUM_OK && back == i,
             "integer text");
        must(cr_num_f64(s, n, &f), "an integer is a number");
    }
    if (cr_num_f64(s, n, &f)) must(isfinite(f), "a number is finite");
    must(strlen(cr_show(show, s, n)) < sizeof(show), "too long to show");
    cr_mod mod = cr_mod_make(n + 1);
    must(cr_mod_of(mod, cr_hash_murmur(s, n)) == cr_hash_murmur(s, n) % (n + 1), "modulus");
    must(cr_mod_of(mod, cr_hash_farm(s, n)) == cr_hash_farm(s, n) % (n + 1), "modulus");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    /* a copy of exactly this size, so that the sanitizer sees a read past its end */
    size_t n = size - 1;
    char *s = malloc(n ? n : 1);
    if (!s) return 0;
    memcpy(s, data + 1, n);
    switch (data[0] & 3) {
    case 0: try_vocab(s, n); break;
    case 1: try_expr(s, n); break;
    case 2: try_norm(s, n); break;
    default: try_values(s, n); break;
    }
    free(s);
    return 0;
}

#ifdef CR_FUZZ_MAIN
static int replay(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    static uint8_t buf[1 << 20];
    size_t n = fread(buf, 1, sizeof(buf), f);
    fclose(f);
    LLVMFuzzerTestOneInput(buf, n);
    return 0;
}

int main(int argc, char **argv) {
    static const char *const seeds[] = {
        "0a\nb\nc d\n",
        "0a 1\nb 2\n\nc -3\nd",
        "0\xef\xbb\xbf x 9223372036854775807\r\n",
        "1x>0?log10(x):-1",
        "1max(x,1,y^2)*-(3.5e2)",
        "1(((((x)))))",
        "1roundp(x,2)&&1|2&3",
        "1dot(x,y)/l2_norm(x)+len(y)",
        "1corr(x,y)>0?reduce_max(x):pop_variance(y)",
        "2method=log10,threshold=1e-10,default=-10",
        "2method=expression,expr=sigmoid(x)",
        "2method=zscore,mean=1,standard_deviation=2",
        "3-9223372036854775808",
        "31.5e-7",
        "3 0012345678901234567 ",
    };
    int rc = 0;
    for (int i = 1; i < argc; i++)
        rc |= replay(argv[i]);
    if (argc > 1) return rc;
    uint64_t r = 88172645463325252u;
    long runs = 0;
    for (size_t k = 0; k < sizeof(seeds) / sizeof(seeds[0]); k++)
        for (int i = 0; i < 4000; i++) {
            uint8_t b[256];
            size_t n = strlen(seeds[k]);
            memcpy(b, seeds[k], n);
            for (int m = 0; m < i % 5; m++) {
                r ^= r << 13;
                r ^= r >> 7;
                r ^= r << 17;
                size_t at = 1 + (size_t)(r % n); /* 1..n */
                if (at == n) continue;
                if (r >> 60 < 4) {
                    memmove(b + at, b + at + 1, n - at - 1); /* drop a byte */
                    n--;
                } else if (r >> 60 < 8 && n < 128 && at < 64) {
                    memcpy(b + n, b + 1, at); /* repeat the beginning */
                    n += at;
                } else {
                    b[at] = (uint8_t)(r >> 32);
                }
            }
            LLVMFuzzerTestOneInput(b, n);
            runs++;
        }
    printf("fuzz_vocab: %ld inputs, no failure\n", runs);
    return 0;
}
#endif
