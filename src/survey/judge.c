/*
 * judge.c - what a column holds: dates, lists, numbers or words; its quantiles and top values.
 *
 * Counts are those of all rows (tally.c); what needs the values themselves looks at the sampled
 * rows. A column is one of numbers when at least 99 of 100 values are numbers; the others are told.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "feat/hash.h"
#include "survey/survey_int.h"

#define PART_ROWS 50 /* least rows of a part of the numbers, of those that are sampled */

const double cr_survey_quantiles[CR_SURVEY_QUANTILES] = {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};

const char *cr_survey_kind_name(cr_survey_kind k) {
    static const char *const names[] = {"empty", "constant", "int",  "real",
                                        "word",  "date",     "list", "other"};
    return names[k];
}

const char *cr_survey_col_name(const cr_survey_col *c) {
    return *c->name ? c->name : "(no name)";
}

bool cr_survey_counts_rows(const cr_survey_col *c) {
    return c->kind == CR_SURVEY_INT && c->values > 100 && c->values == c->rows && !c->not_numbers &&
           (c->min == 0 || c->min == 1) && c->max - c->min + 1 == (double)c->values &&
           c->distinct > 0.9 * (double)c->values; /* which may be an estimate */
}

/* ---- numbers ---- */

/* The number with the fewest digits in (a, b]. */
static double round_between(double a, double b) {
    for (int p = (int)floor(log10(fmax(fabs(a), fabs(b)))) + 1; p > -300; p--) {
        double step = pow(10, p < 0 ? -p : p);
        double c = p < 0 ? floor(b * step) / step : floor(b / step) * step;
        if (c > a && c <= b) return c;
        double half = p < 0 ? floor(b * step * 2) / (step * 2) : floor(b / step * 2) * step / 2;
        if (half > a && half <= b) return half;
    }
    return b;
}

/* Cuts ordered numbers into about `parts` even ones. A number that fills a part by itself gets one
 * of its own; the others share what is left. */
static void find_cuts(cr_survey_col *c, const double *v, int64_t n, int parts, cr_arena *a) {
    int64_t heavy = 0, in_heavy = 0, target = n / parts > 0 ? n / parts : 1, run;
    for (int64_t i = 0; i < n; i += run) {
        for (run = 1; i + run < n && v[i + run] == v[i];)
            run++;
        if (run >= target) {
            heavy++;
            in_heavy += run;
        }
    }
    int64_t left = parts - heavy > 1 ? parts - heavy : 1, share = (n - in_heavy) / left + 1;
    c->cuts = CR_NEW_N(a, double, 2 * parts + 2);
    int64_t filled = 0;
    bool alone = false; /* the part that is open holds one heavy number */
    for (int64_t i = 0; i < n; i += run) {
        for (run = 1; i + run < n && v[i + run] == v[i];)
            run++;
        bool own = run >= target;
        bool cut = i > 0 && (alone || (own && filled > 0) || filled + run / 2 >= share);
        if (cut && c->n_cuts < 2 * parts) {
            c->cuts[c->n_cuts++] = round_between(v[i - 1], v[i]);
            filled = 0;
        }
        filled += run;
        alone = own;
    }
}

static void judge_numbers(cr_survey_col *c, const tally *t, const sample *rows, int k, int parts,
                          bool list, cr_arena *a) {
    int64_t n;
    const double *v = cr_sv_sampled_numbers(rows, k, &n);
    double count = (double)t->numbers;
    c->min = t->min;
    c->max = t->max;
    c->mean = cr_exact_value(&t->sum) / count;
    double var = cr_exact_value(&t->squares) / count - c->mean * c->mean;
    c->sd = sqrt(var > 0 ? var : 0);
    for (int i = 0; i < CR_SURVEY_QUANTILES; i++)
        c->q[i] = n > 0 ? v[(int64_t)(cr_survey_quantiles[i] * (double)(n - 1) + 0.5)] : NAN;
    if (parts > n / PART_ROWS) parts = n / PART_ROWS > 2 ? (int)(n / PART_ROWS) : 2;
    if (n > 1 && !list) find_cuts(c, v, n, parts, a);
}

/* ---- dates ---- */

static bool digits(const char *p, int n) {
    for (int i = 0; i < n; i++)
        if (!isdigit((unsigned char)p[i])) return false;
    return true;
}

static int two(const char *p) {
    return 10 * (p[0] - '0') + p[1] - '0';
}

static bool is_day(const char *year, const char *month, const char *day) {
    int y = 100 * two(year) + two(year + 2), m = two(month), d = two(day);
    return y >= 1900 && y <= 2100 && m >= 1 && m <= 12 && d >= 1 && d <= 31;
}

/* Names the form of a date; NULL: it is none. */
static const char *date_form(const char *s) {
    size_t n = strlen(s);
    if (n == 8 && digits(s, 8)) return is_day(s, s + 4, s + 6) ? "yyyymmdd" : NULL;
    if (n < 10 || !digits(s, 4) || !digits(s + 5, 2) || !digits(s + 8, 2)) return NULL;
    if (s[4] != s[7] || !strchr("-/.", s[4]) || !is_day(s, s + 5, s + 8)) return NULL;
    if (n == 10) return s[4] == '-' ? "yyyy-mm-dd" : s[4] == '/' ? "yyyy/mm/dd" : "yyyy.mm.dd";
    if (n < 16 || !strchr(" T", s[10]) || !digits(s + 11, 2) || s[13] != ':' || !digits(s + 14, 2))
        return NULL;
    return s[4] == '/' ? "yyyy/mm/dd hh:mm" : "yyyy-mm-dd hh:mm";
}

static bool says_time(const char *name) {
    static const char *const words[] = {"time", "date", "day", "_ts", "_dt", NULL};
    for (const char *const *w = words; *w; w++)
        if (strcasestr(name, *w)) return true;
    return strcasecmp(name, "ts") == 0 || strcasecmp(name, "dt") == 0 ||
           strcasecmp(name, "ds") == 0;
}

/* Numbers that are points in time. */
static const char *number_form(const cr_survey_col *c, const tally *t) {
    if (t->whole != t->numbers) return NULL;
    /* many numbers of this size are hardly anything else */
    if (t->many && t->min >= 9e8 && t->max <= 2.2e9) return "unix seconds";
    if (!says_time(c->name)) return NULL;
    if (t->min >= 5e8 && t->max <= 4e9) return "unix seconds";
    if (t->min >= 5e11 && t->max <= 4e12) return "unix milliseconds";
    if (t->min < 19000101 || t->max > 21001231) return NULL;
    double a = fmod(t->min, 100), b = fmod(t->max, 100);
    return a >= 1 && a <= 31 && b >= 1 && b <= 31 ? "yyyymmdd" : NULL;
}

static bool judge_date(cr_survey_col *c, const tally *t, const sample *rows, int k) {
    const char *found = NULL;
    int64_t seen = 0;
    if (t->numbers > 0 && (c->format = number_form(c, t))) return true;
    if (t->numbers == t->values && !says_time(c->name)) return false;
    for (int64_t r = 0; r < rows->n; r++) {
        const cell *x = &rows->cells[k][r];
        if (!x->text) continue;
        const char *f = date_form(x->text);
        if (!f || (found && f != found)) return false;
        found = f;
        seen++;
    }
    c->format = found;
    return seen > 0;
}

/* ---- lists in text ---- */

/* Characters that stand between members of lists, the likeliest first. */
static const char likely[] = "\x1d|;,^#";
enum { SEPARATORS = sizeof likely - 1 };

/* Counts the cells, and those that have each separator. Most columns have none, so they are looked
 * for all at once before anything is split. */
static int64_t count_separators(const sample *rows, int k, int64_t with[SEPARATORS]) {
    uint8_t bit[256] = {0};
    int64_t cells = 0;
    memset(with, 0, SEPARATORS * sizeof *with);
    for (int s = 0; s < SEPARATORS; s++)
        bit[(uint8_t)likely[s]] = (uint8_t)(1U << s);
    for (int64_t r = 0; r < rows->n; r++) {
        const char *p = rows->cells[k][r].text;
        unsigned found = 0;
        if (!p) continue;
        cells++;
        for (; *p; p++)
            found |= bit[(uint8_t)*p];
        for (int s = 0; found && s < SEPARATORS; s++)
            with[s] += found >> s & 1;
    }
    return cells;
}

typedef struct split {
    int64_t tokens, longest;
    cr_kmv hashes;
    int64_t numbers;
} split;

static void split_cells(split *x, const sample *rows, int k, char sep, cr_arena *a) {
    cr_kmv_init(&x->hashes, HASHES, a);
    for (int64_t r = 0; r < rows->n; r++) {
        const char *p = rows->cells[k][r].text;
        if (!p) continue;
        int64_t tokens = 0;
        for (const char *end; p; p = end ? end + 1 : NULL, tokens++) {
            double number;
            end = strchr(p, sep);
            size_t n = end ? (size_t)(end - p) : strlen(p);
            cr_kmv_add(&x->hashes, cr_hash_murmur(p, n));
            x->numbers += cr_parse_f64(p, n, &number);
        }
        x->tokens += tokens;
        x->longest = tokens > x->longest ? tokens : x->longest;
    }
}

/* Members of lists come again and again; words of names and sentences hardly do. */
static bool judge_list(cr_survey_col *c, const sample *rows, int k) {
    int64_t with[SEPARATORS], cells = count_separators(rows, k, with);
    cr_arena a;
    cr_arena_init(&a, 0);
    for (int s = 0; s < SEPARATORS && !c->separator; s++) {
        split x = {0};
        bool exact;
        if (cells == 0 || 5 * with[s] < cells) continue;
        split_cells(&x, rows, k, likely[s], &a);
        double tokens = cr_kmv_count(&x.hashes, &exact);
        if (2 * tokens > (double)x.tokens) continue;
        if (c->exact && c->distinct <= tokens) continue; /* the whole texts are fewer */
        c->separator = likely[s];
        c->distinct = tokens;
        c->exact = false;
        c->mean_length = (double)x.tokens / (double)cells;
        c->max_length = (double)x.longest;
        c->numbers = x.numbers == x.tokens;
    }
    cr_arena_clear(&a);
    return c->separator != 0;
}

/* ---- top values ---- */

static int by_count(const known *x, const known *y) {
    if (x->n != y->n) return x->n < y->n ? 1 : -1;
    if (!x->text || !y->text) return x->number < y->number ? -1 : x->number > y->number;
    return strcmp(x->text, y->text);
}

static void judge_top(cr_survey_col *c, const tally *t, const sample *rows, int k, cr_arena *a) {
    const known *v = t->known, *first[CR_SURVEY_TOP];
    known *made = NULL;
    int64_t n = 0, all = t->values, many = t->n_known;
    if (t->many) v = made = cr_sv_sampled_values(rows, k, NULL, &many, &all);
    if (!t->many) made = cr_alloc(sizeof(known) * (size_t)(many + 1), "values");
    /* a value that came once is no top value */
    for (int64_t i = 0; i < many; i++) {
        if (v[i].n <= 1) continue;
        if (!t->many && v[i].text && (v[i].len == 0 || cr_sv_is_mark(v[i].text, v[i].len)))
            continue;
        made[n++] = v[i];
    }
    int64_t top = cr_sv_first_values(first, CR_SURVEY_TOP, made, n, by_count);
    for (int64_t i = 0; i < top; i++)
        c->top[c->n_top++] =
            (cr_survey_value){.text = first[i]->text ? cr_arena_strdup(a, first[i]->text)
                                                     : cr_sv_cell_text(a, first[i]->number),
                              .share = (double)first[i]->n / (double)all,
                              .n = t->many ? -1 : first[i]->n};
    cr_free(made);
}

/* ---- the column ---- */

void cr_sv_judge_column(cr_survey *s, int k, const tally *t, const sample *rows,
                        const cr_survey_opts *o) {
    cr_survey_col *c = &s->cols[k];
    c->rows = t->rows;
    c->missing = t->missing;
    c->marked = t->marked;
    c->values = t->values;
    c->distinct = cr_sv_tally_distinct(t, &c->exact);
    if (c->distinct > (double)t->values) c->distinct = (double)t->values; /* an estimate can be */
    c->min = c->max = c->mean = c->sd = c->bits = c->share = c->value_bits = NAN;
    for (int i = 0; i < CR_SURVEY_QUANTILES; i++)
        c->q[i] = NAN;
    bool list = t->listed > 0 || c->kind == CR_SURVEY_LIST;
    c->numbers = t->numbers > 0 && 100 * (t->values - t->numbers) <= t->values;
    c->not_numbers = c->numbers ? t->values - t->numbers : 0;
    c->not_number = c->not_numbers && t->other ? cr_arena_strdup(&s->arena, t->other) : NULL;
    if (c->kind == CR_SURVEY_OTHER) return;
    if (c->numbers) judge_numbers(c, t, rows, k, o->cuts, list, &s->arena);
    if (list) {
        c->kind = CR_SURVEY_LIST;
        c->mean_length = t->listed ? (double)t->values / (double)t->listed : 0;
        c->max_length = (double)t->longest;
    } else if (t->values == 0) {
        c->kind = CR_SURVEY_EMPTY;
    } else if (c->exact && c->distinct == 1 && t->missing == 0) {
        c->kind = CR_SURVEY_CONSTANT;
    } else if (judge_date(c, t, rows, k)) {
        c->kind = CR_SURVEY_DATE;
    } else if (c->numbers) {
        c->kind = t->whole == t->numbers ? CR_SURVEY_INT : CR_SURVEY_REAL;
    } else {
        c->kind = judge_list(c, rows, k) ? CR_SURVEY_LIST : CR_SURVEY_WORD;
    }
    if (c->kind != CR_SURVEY_LIST) judge_top(c, t, rows, k, &s->arena);
}
