/*
 * worth.c - which column is the label, and what the others tell of it.
 *
 * The mutual information of a column and the label is computed on the sampled rows. A column of
 * many values keeps its most frequent ones and numbers become 64 even parts; missing is a value of
 * its own. The plain estimate is too large by about (values - 1)(classes - 1) / 2n nats, which is
 * taken off (Miller and Madow), so a column of noise comes out near 0 however many values it has.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "survey/survey_int.h"

#define CODES      256 /* values of a column that are told apart */
#define CLASSES    64  /* of the label */
#define NUM_PARTS  64
#define LABEL_BINS 10
#define NEARLY_ALL 0.97

int cr_survey_find(const cr_survey *s, const char *name) {
    for (int i = 0; i < s->n_cols; i++)
        if (strcmp(s->cols[i].name, name) == 0) return i;
    return -1;
}

static const char *nth_name(const void *ctx, size_t i) {
    const cr_survey *s = ctx;
    return i < (size_t)s->n_cols ? s->cols[i].name : NULL;
}

static bool can_be_label(const cr_survey_col *c) {
    return c->exact && c->distinct >= 2 && c->distinct <= CLASSES &&
           (c->kind == CR_SURVEY_INT || c->kind == CR_SURVEY_REAL || c->kind == CR_SURVEY_WORD);
}

/* The label by its name, the first word of the list that a column has; or a last column of two
 * values. */
static int guess(const cr_survey *s) {
    static const char *const words[] = {"label",    "target",   "y",          "click",  "clk",
                                        "clicked",  "is_click", "ctr",        "class",  "outcome",
                                        "response", "buy",      "conversion", "income", "survived",
                                        "rating",   "is_buy",   "converted",  "cvr",    NULL};
    for (const char *const *w = words; *w; w++)
        for (int i = 0; i < s->n_cols; i++)
            if (strcasecmp(s->cols[i].name, *w) == 0 && can_be_label(&s->cols[i])) return i;
    for (int i = 0; i < s->n_cols; i++)
        if (strcasestr(s->cols[i].name, "label") && can_be_label(&s->cols[i])) return i;
    int last = s->n_cols - 1;
    if (last >= 0 && can_be_label(&s->cols[last]) && s->cols[last].distinct == 2) return last;
    if (s->n_cols > 1 && can_be_label(&s->cols[0]) && s->cols[0].distinct == 2) return 0;
    return -1;
}

/* Of a label of two values: rows with the larger one, as a number or by its bytes. */
static int64_t count_positives(const tally *t) {
    const known *v[2];
    int n = 0;
    for (int i = 0; i < t->n_known && !t->many; i++) {
        if (t->known[i].text &&
            (t->known[i].len == 0 || cr_sv_is_mark(t->known[i].text, t->known[i].len)))
            continue;
        if (n == 2) return -1;
        v[n++] = &t->known[i];
    }
    if (n < 2) return -1;
    bool second;
    double a, b;
    if (!v[0]->text || !v[1]->text)
        second = v[1]->number > v[0]->number;
    else if (cr_parse_f64(v[0]->text, v[0]->len, &a) && cr_parse_f64(v[1]->text, v[1]->len, &b))
        second = b > a;
    else
        second = strcmp(v[1]->text, v[0]->text) > 0;
    return v[second]->n;
}

bool cr_sv_worth_label(cr_survey *s, const tally *t, const cr_survey_opts *o, cr_diag *diag) {
    s->label = -1;
    s->positives = -1;
    if (o->label && *o->label) {
        int64_t number;
        s->label = cr_survey_find(s, o->label);
        if (s->label < 0 && cr_parse_i64(o->label, strlen(o->label), &number) && number >= 1 &&
            number <= s->n_cols)
            s->label = (int)number - 1;
        if (s->label < 0) {
            const char *near = cr_nearest(o->label, nth_name, s);
            if (near)
                cr_diag_add(diag, CR_SEV_ERROR, CR_EUSAGE, CR_NOWHERE,
                            "there is no column '%s' for --label; did you mean '%s'?", o->label,
                            near);
            else
                cr_diag_add(diag, CR_SEV_ERROR, CR_EUSAGE, CR_NOWHERE,
                            "there is no column '%s' for --label; name a column, or its number "
                            "from 1 to %d",
                            o->label, s->n_cols);
            return false;
        }
    } else if (!o->label) {
        s->label = guess(s);
        s->label_guessed = s->label >= 0;
    }
    if (s->label >= 0) s->positives = count_positives(&t[s->label]);
    return true;
}

/* ---- mutual information ---- */

static int by_n(const known *x, const known *y) {
    if (x->n != y->n) return x->n < y->n ? 1 : -1;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Gives each row a code: the most frequent values 1 ..., the others the last one; 0: missing.
 * Returns how many codes there are. */
static int code_words(const sample *rows, int k, int most, int *code) {
    int64_t n, all;
    known *v = cr_sv_sampled_values(rows, k, code, &n, &all);
    const known *first[CODES];
    int *code_of = cr_alloc(sizeof(*code_of) * (size_t)(n + 1), "codes");
    for (int64_t i = 0; i < n; i++)
        code_of[i] = most - 1;
    int64_t top = cr_sv_first_values(first, most - 2, v, n, by_n);
    for (int64_t i = 0; i < top; i++)
        code_of[first[i] - v] = (int)i + 1;
    for (int64_t r = 0; r < rows->n; r++)
        code[r] = code[r] < 0 ? 0 : code_of[code[r]];
    cr_free(code_of);
    cr_free(v);
    return most;
}

/* A number with `a` of all n numbers below it is in part a * parts / n. So part p begins above the
 * number in place ceil(p * n / parts) - 1, and a part is found among these few. */
static int code_numbers(const sample *rows, int k, int parts, int *code) {
    double above[NUM_PARTS];
    int64_t n;
    const double *v = cr_sv_sampled_numbers(rows, k, &n);
    for (int p = 1; p < parts; p++)
        above[p] = n > 0 ? v[(p * n + parts - 1) / parts - 1] : 0;
    for (int64_t r = 0; r < rows->n; r++) {
        double x = rows->cells[k][r].number;
        int a = 0, many = parts; /* the part is one of `many` from a on */
        while (many > 1) {       /* without a branch: it could not be predicted */
            int half = many / 2;
            a += above[a + half] < x ? half : 0;
            many -= half;
        }
        code[r] = isnan(x) ? 0 : 1 + a;
    }
    return parts + 1;
}

static double entropy(const int64_t *n, int codes, int64_t all) {
    double h = 0;
    for (int i = 0; i < codes; i++)
        if (n[i]) h -= (double)n[i] / (double)all * log2((double)n[i] / (double)all);
    return h;
}

static int used(const int64_t *n, int codes) {
    int u = 0;
    for (int i = 0; i < codes; i++)
        u += n[i] > 0;
    return u;
}

/* Rows without a label do not count. */
static void inform(cr_survey_col *c, const int *code, int codes, const int *cls, int classes,
                   int64_t rows, double label_bits) {
    int64_t *joint = cr_alloc(sizeof(int64_t) * (size_t)(codes * classes), "joint counts");
    int64_t *x = cr_alloc(sizeof(int64_t) * (size_t)codes, "counts"), y[CLASSES + 2] = {0}, all = 0;
    for (int64_t r = 0; r < rows; r++) {
        if (cls[r] == 0) continue;
        joint[code[r] * classes + cls[r]]++;
        x[code[r]]++;
        y[cls[r]]++;
        all++;
    }
    if (all > 0 && label_bits > 0) {
        double bits = entropy(x, codes, all) + entropy(y, classes, all) -
                      entropy(joint, codes * classes, all);
        double bias = (double)(used(x, codes) - 1) * (double)(used(y, classes) - 1) /
                      (2 * (double)all * log(2));
        c->gives_away = bits - bias >= NEARLY_ALL * label_bits && all >= 100;
        c->bits = fmax(0, bits - bias);
        c->share = fmin(1, c->bits / label_bits);
    }
    cr_free(joint);
    cr_free(x);
}

void cr_sv_worth_columns(cr_survey *s, const sample *rows) {
    if (s->label < 0 || rows->n == 0) return;
    const cr_survey_col *label = &s->cols[s->label];
    int *cls = cr_alloc(sizeof(int) * (size_t)rows->n, "classes"),
        *code = cr_alloc(sizeof(int) * (size_t)rows->n, "codes");
    bool few = label->exact && label->distinct <= CLASSES;
    int classes = few || !label->numbers ? code_words(rows, s->label, CLASSES + 2, cls)
                                         : code_numbers(rows, s->label, LABEL_BINS, cls);
    int64_t n[CLASSES + 2] = {0}, all = 0;
    for (int64_t r = 0; r < rows->n; r++)
        if (cls[r]) {
            n[cls[r]]++;
            all++;
        }
    s->label_bits = all ? entropy(n, classes, all) : 0;
    for (int i = 0; i < s->n_cols; i++) {
        cr_survey_col *c = &s->cols[i];
        if (i == s->label || c->kind == CR_SURVEY_EMPTY || c->kind == CR_SURVEY_OTHER ||
            (c->kind == CR_SURVEY_LIST && !c->separator))
            continue;
        bool numbers = c->numbers && !(c->exact && c->distinct < NUM_PARTS);
        int codes = code_words(rows, i, CODES, code);
        inform(c, code, codes, cls, classes, rows->n, s->label_bits);
        if (!numbers) continue;
        c->value_bits = c->bits;
        codes = code_numbers(rows, i, NUM_PARTS, code);
        inform(c, code, codes, cls, classes, rows->n, s->label_bits);
    }
    cr_free(cls);
    cr_free(code);
}
