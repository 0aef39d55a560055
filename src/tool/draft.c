/*
 * draft.c - what becomes of each column of a survey, and how a model of them is trained.
 *
 * Every choice has a reason of a few words, which the config shows beside it, so that people can
 * see what was guessed and change it. The sizes are those that did best on rows that were kept for
 * evaluation (docs/design/survey.md).
 */
#include "tool/draft_int.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"

#define MOST_CLASSES 64
#define MANY_VALUES  1000 /* so many whole numbers may name things */
#define MOST_BUCKETS 10000000

/* ---- names ---- */

/* Is one of the words a part of the name, between letters of another kind? */
static bool has_word(const char *name, const char *const *words) {
    for (; *words; words++) {
        size_t n = strlen(*words);
        for (const char *p = name; (p = strcasestr(p, *words)); p++) {
            bool begins = p == name || !isalpha((unsigned char)p[-1]);
            bool ends = !isalpha((unsigned char)p[n]);
            if (begins && ends) return true;
        }
    }
    return false;
}

static bool names_thing(const char *name) {
    static const char *const words[] = {"id",       "ids",    "uid",    "user",    "item",
                                        "code",     "zip",    "sku",    "cat",     "cate",
                                        "category", "brand",  "device", "city",    "type",
                                        "shop",     "seller", "movie",  "product", "pid",
                                        "campaign", "ad",     "adid",   "site",    "page",
                                        "channel",  "hash",   NULL};
    return has_word(name, words);
}

static bool names_amount(const char *name) {
    static const char *const words[] = {"age",    "amount", "price", "count",  "cnt",    "num",
                                        "number", "rate",   "ratio", "score",  "time",   "duration",
                                        "length", "size",   "sum",   "avg",    "mean",   "total",
                                        "hours",  "gain",   "loss",  "weight", "income", "cost",
                                        "qty",    "int",    "days",  NULL};
    return has_word(name, words);
}

static bool names_weight(const char *name) {
    return strcasecmp(name, "weight") == 0 || strcasecmp(name, "sample_weight") == 0 ||
           strcasecmp(name, "row_weight") == 0;
}

/* ---- columns ---- */

/* Whole numbers of many values: do they name things, or are they amounts? The name of the column
 * says it, or what the values tell of the label: amounts tell more when neighbours are put
 * together, names when each stands by itself. */
static bool is_name(const cr_survey_col *c, double label_bits, const char **why) {
    if (c->kind != CR_SURVEY_INT || c->distinct < 20 || c->not_numbers) return false;
    if (names_thing(c->name)) {
        *why = "whole numbers that name things, by the column's name";
        return true;
    }
    if (names_amount(c->name) || c->distinct < MANY_VALUES) return false;
    if (c->bits > 1.5 * c->value_bits + 0.002 * label_bits) return false;
    *why = "whole numbers of many values that come again, as names do";
    return c->distinct < 0.5 * (double)c->values;
}

static int64_t nice(double x) {
    double step = pow(10, floor(log10(x)));
    double v = ceil(x / step * 2) / 2 * step; /* 1, 1.5, 2 ... 9.5 times a power of ten */
    return (int64_t)(v > MOST_BUCKETS ? MOST_BUCKETS : v);
}

/* Few names get room, so that hardly any two share a row; many share now and then. */
int64_t cr_draft_buckets(double distinct) {
    return nice(distinct < 1000     ? 10 * distinct + 50
                : distinct < 100000 ? 4 * distinct
                                    : 2 * distinct);
}

double cr_draft_dense_end(double distinct) {
    return fmin(1e7, 4 * distinct + 100);
}

static void choose_names(cr_draft_col *x) {
    const cr_survey_col *c = x->col;
    bool dense =
        c->kind == CR_SURVEY_INT && c->min >= 0 && c->max + 1 < cr_draft_dense_end(c->distinct);
    x->use = dense ? CR_DRAFT_ID : CR_DRAFT_HASH;
    x->buckets = dense ? (int64_t)c->max + 1 : cr_draft_buckets(c->distinct);
    if (!x->why) x->why = c->kind == CR_SURVEY_LIST ? "a list of names" : "names";
}

static void choose_column(cr_draft *c, int k, cr_arena *a) {
    const cr_survey *s = c->s;
    const cr_survey_col *v = &s->cols[k];
    cr_draft_col *x = &c->cols[k];
    double n = (double)v->values;
    x->col = v;
    x->use = CR_DRAFT_SKIP;
    x->target = -1;
    if (k == c->label) {
        x->use = CR_DRAFT_LABEL;
    } else if (cr_survey_counts_rows(v)) {
        x->why = "it counts the rows";
    } else if (!*v->name) {
        x->why = "it has no name";
    } else if (v->kind == CR_SURVEY_EMPTY) {
        x->why = "it has no values";
    } else if (v->kind == CR_SURVEY_CONSTANT) {
        x->why = "it is the same in all rows";
    } else if (v->gives_away) {
        x->why = "it gives away the label; add it only if it is known before the label";
    } else if (v->kind == CR_SURVEY_DATE) {
        x->why = cr_arena_printf(a, "a date (%s), which new rows will not have", v->format);
    } else if (v->kind == CR_SURVEY_OTHER) {
        x->why =
            "a map or a list of lists; see match_feature, lookup_feature and sequence features";
    } else if (names_weight(v->name) && v->numbers && v->min >= 0) {
        x->use = CR_DRAFT_WEIGHT;
    } else if (v->kind == CR_SURVEY_LIST) {
        choose_names(x);
    } else if (v->kind == CR_SURVEY_WORD) {
        if (n > 100 && v->distinct > 0.95 * n)
            x->why = "it is different in nearly every row";
        else
            choose_names(x);
    } else if (is_name(v, s->label_bits, &x->why)) {
        if (n > 100 && v->distinct > 0.95 * n)
            x->why = "it is different in nearly every row";
        else
            choose_names(x);
    } else {
        x->use = CR_DRAFT_NUMBER;
        x->why = "numbers";
        x->n_cuts = v->n_cuts;
        x->mean = v->mean;
        x->sd = v->sd > 0 ? v->sd : 1;
    }
    c->n_features += x->use >= CR_DRAFT_NUMBER;
}

/* ---- label ---- */

static bool choose_label(cr_draft *c, cr_diag *diag) {
    const cr_survey *s = c->s;
    if (s->label < 0) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_EUSAGE, CR_NOWHERE,
                    "no column looks like a label (two values, or a name such as label or click); "
                    "name it with --label");
        return false;
    }
    const cr_survey_col *l = &s->cols[s->label];
    c->label = s->label;
    if (l->kind == CR_SURVEY_CONSTANT || l->kind == CR_SURVEY_EMPTY || l->distinct < 2) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, CR_NOWHERE,
                    "the label '%s' has fewer than two values, so there is nothing to learn; name "
                    "another column with --label, or other files",
                    l->name);
        return false;
    }
    bool classes = l->exact && l->distinct <= MOST_CLASSES && l->n_top == (int)l->distinct;
    bool counted = l->kind == CR_SURVEY_INT && l->min == 0 && l->max == l->distinct - 1;
    if (l->exact && l->distinct == 2) {
        c->task = CR_DRAFT_BINARY;
        c->label_map = !counted;
    } else if (l->kind == CR_SURVEY_WORD ? classes : counted && l->distinct <= CR_SURVEY_TOP) {
        c->task = CR_DRAFT_CLASSES;
        c->label_map = !counted;
    } else if (l->numbers && l->kind != CR_SURVEY_LIST) {
        c->task = CR_DRAFT_REGRESSION;
    } else {
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, CR_NOWHERE,
                    "the label '%s' has %.0f different texts, and a label is a number or one of at "
                    "most %d texts; name another column with --label",
                    l->name, l->distinct, CR_SURVEY_TOP);
        return false;
    }
    c->n_class = (int64_t)l->distinct;
    return true;
}

/* ---- rows ---- */

/* The path without its file's name holds a date, or the file's name does. */
static bool has_date(const char *p) {
    int run = 0;
    for (; *p; p++) {
        run = isdigit((unsigned char)*p) ? run + 1 : *p == '-' && run >= 4 ? run : 0;
        if (run >= 6) return true;
    }
    return false;
}

/* Files of several days, in their order: the last tenth is for evaluation. */
static void choose_split(cr_draft *c, const char *eval_paths, cr_arena *a) {
    const cr_survey *s = c->s;
    c->train_paths = s->paths;
    c->eval_paths = eval_paths;
    c->eval_from = -1;
    if (eval_paths) return;
    bool days = s->n_files >= 5 && s->n_files <= 1000;
    for (int64_t i = 0; days && i < s->n_files; i++)
        days = has_date(s->files[i]) && !strchr(s->files[i], ',') &&
               (i == 0 || strcmp(s->files[i - 1], s->files[i]) < 0);
    if (!days) {
        c->eval_fraction = s->rows > 10000000 ? 0.01 : 0.1;
        return;
    }
    c->eval_from = s->n_files - (s->n_files + 9) / 10;
    cr_buf b[2];
    for (int k = 0; k < 2; k++)
        cr_buf_init(&b[k]);
    for (int64_t i = 0; i < s->n_files; i++) {
        cr_buf *to = &b[i >= c->eval_from];
        cr_buf_printf(to, "%s%s", to->n ? "," : "", s->files[i]);
    }
    c->train_paths = cr_arena_strdup(a, b[0].data);
    c->eval_paths = cr_arena_strdup(a, b[1].data);
    for (int k = 0; k < 2; k++)
        cr_buf_clear(&b[k]);
}

static void choose_sizes(cr_draft *c) {
    double rows = (double)c->s->rows;
    c->batch_size = 256;
    while (c->batch_size < 8192 && (double)c->batch_size * 256 < rows)
        c->batch_size *= 2;
    c->dim = rows < 300000 ? 8 : 16;
    c->units[0] = rows < 20000 ? 32 : rows < 300000 ? 64 : rows < 3000000 ? 128 : 256;
    c->units[1] = c->units[0] / 2;
    c->epochs = rows < 1000000 ? 30 : rows < 10000000 ? 3 : 1;
    c->save_steps = c->epochs > 1 ? 0 : (int64_t)(rows / (double)c->batch_size / 10) + 1;
    /* larger batches take fewer and longer steps */
    c->sparse_lr = 0.02 * sqrt((double)c->batch_size / 256);
    c->dense_lr = 0.001;
    c->window = 200000 / c->batch_size;
}

cr_code cr_draft_choose(cr_draft *c, const cr_survey *s, const char *eval_paths, cr_arena *a,
                        cr_diag *diag) {
    *c = (cr_draft){.s = s};
    c->cols = CR_NEW_N(a, cr_draft_col, s->n_cols + 1);
    if (!choose_label(c, diag)) return cr_diag_code(diag);
    for (int i = 0; i < s->n_cols; i++)
        choose_column(c, i, a);
    if (c->n_features == 0)
        return cr_diag_err(diag, &(cr_err){.code = CR_EDATA,
                                           .msg = "no column can be a feature: all are empty, "
                                                  "constant, dates, copies of the label, or "
                                                  "different in every row; "
                                                  "'crank profile' shows them"});
    cr_draft_histories(c, a);
    choose_split(c, eval_paths, a);
    choose_sizes(c);
    return CR_OK;
}
