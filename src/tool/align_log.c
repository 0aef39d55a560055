/*
 * align_log.c - see align.h. One scanner reads every log: it looks for names that are followed by a
 * number, as in `"train.loss": 0.51`, `loss=[0.51]`, `'loss': '0.51'`, `train.loss : 0.51` and
 * `loss 0.51`. So a format needs no reader of its own; only the ways to write a step do. Trap: a
 * name such as avg_batch_cost is no loss, although a loss may be called cost.
 */
#include "tool/align.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_NAME  200
#define MAX_PAIRS 256 /* values of one line */

typedef struct pair {
    const char *name;
    int n; /* bytes of the name */
    double value;
} pair;

/* ---- names ---- */

/* The names of a training loss, the usual ones first. */
static const char *const losses[] = {
    "train.loss", "QA.loss",  "train_loss", "train/loss", "total_loss", "loss",          "cost",
    "train.cost", "avg_loss", "avg_cost",   "mean_loss",  "loss/total", "training_loss",
};
#define N_LOSSES ((int)(sizeof losses / sizeof *losses))
static const char *const steps[] = {"step",     "global_step", "iteration",  "iter",       "batch",
                                    "batch_id", "batch_idx",   "train_step", "global_iter"};
/* What an evaluation line may say besides its metrics. */
static const char *const books[] = {
    "epoch",       "rank",      "local_rank", "ips",     "speed",   "time",        "elapsed",
    "rows",        "timestamp", "lr",         "seconds", "samples", "num_samples", "eta",
    "elapsedtime", "step_time", "total_num",  "pos_num", "size",    "total",       "seed",
};
static const char *const fronts[] = {"val.",  "val_",  "val/",       "valid.",      "valid_",
                                     "eval.", "eval_", "eval/",      "validation.", "validation_",
                                     "test.", "test_", "clsmetric.", "metric/"};

static bool equals(const char *s, int n, const char *word) {
    return (size_t)n == strlen(word) && strncasecmp(s, word, (size_t)n) == 0;
}
static bool one_of(const char *s, int n, const char *const *words, size_t n_words) {
    for (size_t i = 0; i < n_words; i++)
        if (equals(s, n, words[i])) return true;
    return false;
}
#define ONE_OF(s, n, words) one_of((s), (n), (words), sizeof(words) / sizeof *(words))

/* Returns the length of what stands in front of the name of a metric: 4 for val.auc. */
static int front_of(const char *s, int n) {
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++) {
        int k = (int)strlen(fronts[i]);
        if (n > k && strncasecmp(s, fronts[i], (size_t)k) == 0) return k;
    }
    return 0;
}

static bool same_metric(const char *a, const char *b) {
    int n = (int)strlen(a), m = (int)strlen(b), x = front_of(a, n), y = front_of(b, m);
    return equals(a + x, n - x, b + y);
}

const cr_align_curve *cr_align_metric(const cr_align_log *log, const char *name) {
    for (int i = 0; i < log->n_metrics; i++)
        if (same_metric(log->metrics[i].name, name)) return &log->metrics[i];
    return NULL;
}

/* ---- scanning a line ---- */

static bool in_name(char c) {
    return isalnum((unsigned char)c) || strchr("_./@-", c) != NULL;
}

/* Reads a number at s, also nan, inf, null and None; returns its length, 0: there is none. */
static int number_at(const char *s, const char *end, double *out) {
    int n = 0, sign = s < end && (*s == '-' || *s == '+');
    while (s + sign + n < end && isalpha((unsigned char)s[sign + n]))
        n++;
    if (n && sign + n < MAX_NAME) {
        bool none = equals(s, n, "null") || equals(s, n, "none");
        bool odd = equals(s + sign, n, "nan") || equals(s + sign, n, "inf") ||
                   equals(s + sign, n, "infinity");
        if (none) *out = NAN;
        if (odd && !cr_parse_f64(s, (size_t)(sign + n), out)) return 0;
        return none || odd ? sign + n : 0;
    }
    for (n = 0; s + n < end; n++) {
        bool power = n && (s[n] == '-' || s[n] == '+') && (s[n - 1] == 'e' || s[n - 1] == 'E');
        if (!isdigit((unsigned char)s[n]) && s[n] != '.' && !power && !(n == 0 && sign) &&
            !((s[n] == 'e' || s[n] == 'E') && n > sign))
            break;
    }
    while (n > 0 && (s[n - 1] == '.' || s[n - 1] == 'e' || s[n - 1] == 'E'))
        n--; /* the end of a sentence: "loss 0.5." */
    if (s + n + 1 < end && s[n] == ':' && isdigit((unsigned char)s[n + 1])) return 0; /* a time */
    return n > 0 && cr_parse_f64(s, (size_t)n, out) ? n : 0;
}

static const char *skip_blanks(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* Finds the values of a line. Words are only joined with a bare number (`loss 0.5`) when the word
 * is a loss or a step. */
static int scan(const char *s, const char *end, const char *key, pair *out) {
    int n = 0;
    for (const char *p = s; p < end && n < MAX_PAIRS;) {
        if (!isalpha((unsigned char)*p) && *p != '_') {
            /* the letters behind a digit belong to it: 300it */
            while (p < end && isdigit((unsigned char)*p)) {
                p++;
                while (p < end && in_name(*p))
                    p++;
            }
            if (p < end && !isalpha((unsigned char)*p) && *p != '_') p++;
            continue;
        }
        const char *name = p;
        while (p < end && in_name(*p))
            p++;
        int len = (int)(p - name);
        while (len > 1 && strchr(".-/", name[len - 1]))
            len--;
        const char *q = p;
        if (q < end && (*q == '"' || *q == '\'')) q++;
        q = skip_blanks(q, end);
        bool told = q < end && (*q == ':' || *q == '=');
        bool known = ONE_OF(name, len, losses) || ONE_OF(name, len, steps);
        if (!told && !known && !(key && equals(name, len, key))) continue;
        if (told) q++;
        q = skip_blanks(q, end);
        if (end - q > 7 && strncmp(q, "tensor(", 7) == 0) q += 7;
        while (q < end && (*q == '[' || *q == '(' || *q == '"' || *q == '\'' || *q == ' '))
            q++;
        double x;
        int used = number_at(q, end, &x);
        if (!used || len >= MAX_NAME) continue;
        out[n++] = (pair){name, len, x};
        p = q + used;
    }
    return n;
}

/* ---- steps ---- */

static bool starts(const char *s, const char *end, const char *what) {
    size_t n = strlen(what);
    return (size_t)(end - s) >= n && memcmp(s, what, n) == 0;
}

static const char *find(const char *s, const char *end, const char *what) {
    size_t n = strlen(what);
    for (; s + n <= end; s++)
        if (strncasecmp(s, what, n) == 0) return s;
    return NULL;
}

/* Reads whole numbers with commas between them up to `close`; returns how many there are, -1: it is
 * something else. */
static int numbers(const char *p, const char *end, char close, int64_t out[3]) {
    int n = 0;
    for (;;) {
        p = skip_blanks(p, end);
        if (p < end && *p == close) return n;
        const char *q = p;
        while (q < end && isdigit((unsigned char)*q))
            q++;
        if (n == 3 || q == p || !cr_parse_i64(p, (size_t)(q - p), &out[n])) return -1;
        n++;
        p = skip_blanks(q, end);
        if (p < end && *p == ',') p++;
    }
}

typedef struct where {
    int64_t epoch, step;
    bool eval, skip; /* skip: of another rank, or the parameters of the run */
} where;

static void take_tuple(where *w, const int64_t *v, int n) {
    if (n > 0) w->epoch = v[0];
    if (n > 1) w->step = v[1];
    w->eval |= n == 3 || n == 1 || n == 0; /* validation; the summary of an epoch or of the run */
}

/* Does the word stand alone in the line? */
static bool has_word(const char *s, const char *end, const char *word) {
    size_t n = strlen(word);
    for (const char *p = s; (p = find(p, end, word)) != NULL; p += n) {
        bool before = p > s && in_name(p[-1]), after = p + n < end && in_name(p[n]);
        if (!before && !after) return true;
    }
    return false;
}

/* Reads the step from the forms that are no `name: number`: "step": [0, 100] and (0, 100) of
 * DLLogger, 300it of tqdm and TorchEasyRec, [ 100/5005] of PyTorch's examples. */
static void odd_steps(const char *s, const char *end, where *w) {
    int64_t v[3];
    const char *p = find(s, end, "\"step\": [");
    if (p) take_tuple(w, v, numbers(p + 9, end, ']', v));
    if (find(s, end, "\"step\": \"PARAMETER\"")) w->skip = true;
    if (starts(s, end, "DLL") && (p = find(s, end, " - (")) != NULL)
        take_tuple(w, v, numbers(p + 4, end, ')', v));
    if (w->step >= 0) return;
    for (p = s; p < end; p++) {
        if (!isdigit((unsigned char)*p) || (p > s && in_name(p[-1]))) continue;
        const char *q = p;
        while (q < end && isdigit((unsigned char)*q))
            q++;
        bool it = end - q >= 2 && q[0] == 'i' && q[1] == 't' && (end - q == 2 || !in_name(q[2]));
        bool of = q < end && *q == '/' && q + 1 < end && isdigit((unsigned char)q[1]);
        const char *b = p;
        while (b > s && b[-1] == ' ')
            b--;
        of = of && b > s && b[-1] == '[';
        if ((it || of) && cr_parse_i64(p, (size_t)(q - p), &w->step)) return;
        p = q;
    }
}

static where locate(const char *s, const char *end, const pair *v, int n) {
    where w = {.epoch = -1, .step = -1};
    bool json = s < end && *s == '{', results = false;
    for (int i = 0; i < n; i++) {
        bool whole = v[i].value == floor(v[i].value) && fabs(v[i].value) < 9e15;
        int64_t x = whole ? (int64_t)v[i].value : -1;
        if (ONE_OF(v[i].name, v[i].n, steps) && whole && w.step < 0) w.step = x;
        if (equals(v[i].name, v[i].n, "epoch") && whole) w.epoch = x;
        if (equals(v[i].name, v[i].n, "rank") && whole && x != 0) w.skip = true;
        results |= json && equals(v[i].name, v[i].n, "global_step");
    }
    if (find(s, end, "\"step\": [")) w.step = -1; /* the epoch was taken for it */
    odd_steps(s, end, &w);
    if (w.epoch < 0) { /* Training Epoch 0: 300it */
        const char *p = find(s, end, "epoch ");
        int64_t x;
        const char *q = p ? p + 6 : NULL, *e = q;
        while (e && e < end && isdigit((unsigned char)*e))
            e++;
        if (q && e > q && cr_parse_i64(q, (size_t)(e - q), &x)) w.epoch = x;
    }
    static const char *const words[] = {"eval", "evaluation", "valid", "validation",
                                        "val",  "test",       "infer", "evaluate"};
    w.eval |= results || find(s, end, "\"event\": \"eval\"");
    for (size_t i = 0; !json && i < sizeof words / sizeof *words; i++)
        w.eval |= has_word(s, end, words[i]);
    return w;
}

/* ---- curves ---- */

static void add_point(cr_arena *a, cr_align_curve *c, const where *w, double value) {
    if (c->n == c->cap) {
        int cap = c->cap ? 2 * c->cap : 64;
        cr_align_point *v = CR_NEW_N(a, cr_align_point, cap);
        if (c->n) memcpy(v, c->v, sizeof *v * (size_t)c->n);
        c->v = v;
        c->cap = cap;
    }
    c->v[c->n++] = (cr_align_point){w->epoch, w->step, value};
}

static cr_align_curve *metric_of(cr_arena *a, cr_align_log *log, const char *name) {
    for (int i = 0; i < log->n_metrics; i++)
        if (same_metric(log->metrics[i].name, name)) return &log->metrics[i];
    if (log->n_metrics == log->cap) {
        int cap = log->cap ? 2 * log->cap : 8;
        cr_align_curve *v = CR_NEW_N(a, cr_align_curve, cap);
        if (log->n_metrics) memcpy(v, log->metrics, sizeof *v * (size_t)log->n_metrics);
        log->metrics = v;
        log->cap = cap;
    }
    log->metrics[log->n_metrics] = (cr_align_curve){.name = cr_arena_strdup(a, name)};
    return &log->metrics[log->n_metrics++];
}

/* Which loss of the table a name is; N_LOSSES: none. */
static int loss_rank(const char *name, int n) {
    int i = 0;
    while (i < N_LOSSES && !equals(name, n, losses[i]))
        i++;
    return i;
}

/* Takes the loss of a line. A better name than that of the values so far begins the curve anew. */
static void take_loss(cr_arena *a, cr_align_log *log, const where *w, const pair *v, int n,
                      const char *key) {
    const pair *best = NULL;
    for (int i = 0; i < n; i++) {
        if (key) {
            if (equals(v[i].name, v[i].n, key)) best = &v[i];
            continue;
        }
        int k = loss_rank(v[i].name, v[i].n);
        if (k < N_LOSSES && (!best || k < loss_rank(best->name, best->n))) best = &v[i];
    }
    if (!best) return;
    cr_align_curve *c = &log->loss;
    int now = key ? 0 : loss_rank(best->name, best->n);
    int old = !c->name ? N_LOSSES : key ? 0 : loss_rank(c->name, (int)strlen(c->name));
    if (now > old) return;
    if (now < old) {
        c->name = cr_arena_strndup(a, best->name, (size_t)best->n);
        c->n = 0;
    }
    add_point(a, c, w, best->value);
}

static void take_metrics(cr_arena *a, cr_align_log *log, const where *w, const pair *v, int n) {
    for (int i = 0; i < n; i++) {
        int front = front_of(v[i].name, v[i].n);
        const char *bare = v[i].name + front;
        int len = v[i].n - front;
        if ((!front && !w->eval) || ONE_OF(bare, len, books) || ONE_OF(bare, len, steps) ||
            (len > 5 && equals(bare + len - 5, 5, "_cost")) || find(bare, bare + len, "time"))
            continue;
        char name[MAX_NAME];
        memcpy(name, v[i].name, (size_t)v[i].n);
        name[v[i].n] = 0;
        add_point(a, metric_of(a, log, name), w, v[i].value);
    }
}

static void take_record(cr_arena *a, const char *s, const char *end, const char *key,
                        cr_align_log *log) {
    pair v[MAX_PAIRS];
    int n = scan(s, end, key, v);
    if (n == 0) return;
    where w = locate(s, end, v, n);
    if (w.skip) return;
    /* A value that the user names is taken from every line; a loss of an evaluation is a metric. */
    if (key || !w.eval) take_loss(a, log, &w, v, n, key);
    take_metrics(a, log, &w, v, n);
}

/* Returns where the next record on the line begins: ranks that share a pipe may join two lines. */
static const char *record_end(const char *s, const char *end) {
    static const char *const heads[] = {"TCAPPDLL ", "DLLL ", "DLL 2"};
    const char *first = end;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const char *p = s < end ? find(s + 1, first, heads[i]) : NULL;
        if (p) first = p;
    }
    return first;
}

void cr_align_read(cr_arena *a, const char *text, size_t n, const char *key, cr_align_log *out) {
    if (n && (isdigit((unsigned char)text[n - 1]) || strchr(".-+eE", text[n - 1]))) out->cut = true;
    for (const char *s = text, *end = text + n; s < end;) {
        const char *nl = memchr(s, '\n', (size_t)(end - s)), *line_end = nl ? nl : end;
        while (s < line_end) {
            const char *stop = record_end(s, line_end);
            if (starts(s, stop, "DLLL {")) s += 5;
            if (starts(s, stop, "TCAPPDLL {")) s += 9;
            take_record(a, s, stop, key, out);
            s = stop;
        }
        s = line_end + (nl != NULL);
    }
}

/* ---- order ---- */

typedef struct placed {
    cr_align_point p;
    int at;
} placed;

static int by_pair(const void *x, const void *y) {
    const placed *a = x, *b = y;
    if (a->p.epoch != b->p.epoch) return a->p.epoch < b->p.epoch ? -1 : 1;
    if (a->p.step != b->p.step) return a->p.step < b->p.step ? -1 : 1;
    return a->at - b->at;
}
static int by_step(const void *x, const void *y) {
    const placed *a = x, *b = y;
    if (a->p.step != b->p.step) return a->p.step < b->p.step ? -1 : 1;
    return a->at - b->at;
}

/* If some lines name a step, the others are summaries and do not count. Values of the same epoch
 * and step are one value, the last. If no step then occurs in two epochs, the log numbers its steps
 * through. */
static void order(cr_arena *a, cr_align_curve *c) {
    placed *s = CR_NEW_N(a, placed, c->n + 1);
    int n = 0;
    for (int i = 0; i < c->n; i++)
        if (c->v[i].step >= 0) s[n++] = (placed){c->v[i], i};
    c->by = CR_ALIGN_ORDER;
    if (n == 0) return;
    c->n = n;
    qsort(s, (size_t)c->n, sizeof *s, by_pair);
    int m = 0;
    for (int i = 0; i < c->n; i++) {
        bool again =
            i + 1 < c->n && s[i].p.epoch == s[i + 1].p.epoch && s[i].p.step == s[i + 1].p.step;
        if (!again) s[m++] = s[i];
    }
    c->by = CR_ALIGN_PAIRS;
    for (int i = 0; i < m; i++)
        c->v[i] = s[i].p;
    c->n = m;
    qsort(s, (size_t)m, sizeof *s, by_step);
    for (int i = 1; i < m; i++)
        if (s[i].p.step == s[i - 1].p.step) return;
    c->by = CR_ALIGN_STEPS;
    for (int i = 0; i < m; i++)
        c->v[i] = s[i].p;
}

void cr_align_read_end(cr_arena *a, cr_align_log *log) {
    order(a, &log->loss);
    for (int i = 0; i < log->n_metrics; i++)
        order(a, &log->metrics[i]);
}
