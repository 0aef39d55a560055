/*
 * labels.c - label and weight columns: one number per row, and none may be missing.
 *
 * A label may be a word; label_map then gives the number of each word. A column of numbers may have
 * a map too; a number is then looked up by its shortest text, so that a map means the same for a
 * CSV file, whose cells are texts, and for a Parquet file with types. Each label has a rule for the
 * numbers that its loss accepts (cr_features_label_rule). The numbers of a map are compared with it
 * before any data is read, the numbers of a column row by row.
 */
#include <math.h>
#include <stdio.h>

#include "base/shown.h"
#include "feat/clock.h"
#include "feat/feat_int.h"
#include "feat/number.h"

#define SHOWN 8 /* distinct texts in a message */

typedef struct cr_label_map {
    const cr_label_map_conf *conf;
    cr_vocab texts, numbers; /* entry of conf->map by the text of a cell, and by a number's text */
} label_map;

void cr_labels_make(cr_features *fs, const cr_data_conf *data, cr_arena *arena) {
    fs->label_rules = CR_NEW_N(arena, struct cr_label_rule, fs->n_labels + 1);
    const label_map **maps = CR_NEW_N(arena, const label_map *, fs->n_labels + 1);
    for (int i = 0; i < fs->n_labels; i++) {
        const cr_label_map_conf *c = cr_data_label_map(data, fs->labels[i]);
        if (!c) continue;
        label_map *m = CR_NEW(arena, label_map);
        m->conf = c;
        cr_vocab_init(&m->texts, arena, (size_t)c->map.n + 1);
        cr_vocab_init(&m->numbers, arena, (size_t)c->map.n + 1);
        m->texts.unknown = m->numbers.unknown = -1;
        for (int64_t k = 0; k < c->map.n; k++) {
            const char *key = c->map.v[k].key;
            char text[32];
            double x;
            cr_vocab_put(&m->texts, key, strlen(key), k);
            if (cr_num_f64(key, strlen(key), &x))
                cr_vocab_put(&m->numbers, text, cr_number_text(text, x), k);
        }
        maps[i] = m;
    }
    fs->label_maps = maps;
}

/* ---- rules ---- */

void cr_features_label_rule(cr_features *fs, int label, int64_t K, const char *who) {
    struct cr_label_rule *r = &fs->label_rules[label];
    if (K == 0 || (r->K > 1 && (K == 1 || r->K <= K))) return;
    *r = (struct cr_label_rule){K, who};
}

static bool keeps_rule(const struct cr_label_rule *rule, float y) {
    float max = rule->K == 1 ? 1 : (float)(rule->K - 1);
    if (rule->K == 0 || y == 0 || y == 1) return true;
    return y >= 0 && y <= max && (rule->K == 1 || y == floorf(y));
}

static const char *rule_text(char out[160], const struct cr_label_rule *rule) {
    if (rule->K == 2)
        snprintf(out, 160, "%.100s takes the labels 0 and 1", rule->who);
    else
        snprintf(out, 160, "%.100s takes %s from 0 to %.0f", rule->who,
                 rule->K == 1 ? "labels" : "whole numbers",
                 rule->K == 1 ? 1.0 : (double)(rule->K - 1));
    return out;
}

void cr_features_check_labels(const cr_features *fs, cr_diag *diag) {
    char text[32], rule[160];
    for (int i = 0; i < fs->n_labels; i++) {
        const label_map *m = fs->label_maps[i];
        for (int64_t k = 0; m && k < m->conf->map.n; k++) {
            const cr_conf_map_entry *e = &m->conf->map.v[k];
            if (keeps_rule(&fs->label_rules[i], (float)e->f)) continue;
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, e->at,
                        "label_map makes '%s' of label '%s' %s; %s", e->key, fs->labels[i],
                        cr_show_f64(text, e->f), rule_text(rule, &fs->label_rules[i]));
        }
    }
}

static void check_rule(const cr_chunk *chunk, const cr_features *fs, int i, const float *y,
                       const uint8_t *state, cr_bad *bad) {
    const struct cr_label_rule *rule = &fs->label_rules[i];
    for (int64_t r = 0; r < chunk->n_rows; r++) {
        if (keeps_rule(rule, y[r]) || state[r] != CR_ROW_OK || !isfinite(y[r])) continue;
        char text[32], why[160];
        text[cr_fmt_f32(text, y[r])] = 0;
        cr_bad_add(bad, r, cr_line_of(chunk, r), "column '%s', value '%s': %s", fs->labels[i], text,
                   rule_text(why, rule));
    }
}

/* ---- words ---- */

/* Returns the text of row r of a column without lists; NULL: the cell is null or empty. */
static const char *cell(const cr_column *col, int64_t r, char room[32], size_t *n) {
    const char *p = room;
    *n = 0;
    if (col->valid && !col->valid[r]) return NULL;
    switch (col->type) {
    case CR_COL_STR: p = cr_text_at(col, r, n); break;
    case CR_COL_I32: *n = cr_fmt_i64(room, col->v.i32[r]); break;
    case CR_COL_I64: *n = cr_fmt_i64(room, col->v.i64[r]); break;
    case CR_COL_F32: *n = cr_number_text(room, (double)col->v.f32[r]); break;
    case CR_COL_F64: *n = cr_number_text(room, col->v.f64[r]); break;
    }
    return *n ? p : NULL;
}

/* Finds the number of a cell; m NULL: the cell is the text of a number. */
static bool number_of(const label_map *m, const cr_column *col, const char *p, size_t n,
                      double *x) {
    if (!m) return p && cr_num_f64(p, n, x);
    int64_t k =
        cr_vocab_get(col->type == CR_COL_STR ? &m->texts : &m->numbers, p ? p : "", n, NULL);
    if (k < 0 && n == 0) k = cr_vocab_get(&m->texts, "", 0, NULL);
    if (k >= 0) *x = m->conf->map.v[k].f;
    return k >= 0;
}

/* Lists the distinct cells of a block that have no number; these are the lines that label_map
 * lacks. */
static const char *without_number(const label_map *m, const cr_column *col, const cr_chunk *chunk,
                                  cr_arena *arena) {
    char room[32], show[41]; /* show holds the beginning of a long text */
    size_t n, at[SHOWN], len[SHOWN];
    cr_buf list, seen;
    int n_seen = 0;
    cr_buf_init(&list);
    cr_buf_init(&seen);
    for (int64_t r = 0; r < chunk->n_rows; r++) {
        const char *p = cell(col, r, room, &n);
        double x;
        if (!p || number_of(m, col, p, n, &x)) continue;
        bool known = false;
        for (int i = 0; i < n_seen && !known; i++)
            known = len[i] == n && memcmp(seen.data + at[i], p, n) == 0;
        if (known) continue;
        if (n_seen == SHOWN || list.n > 80) {
            cr_buf_str(&list, ", ...");
            break;
        }
        at[n_seen] = seen.n;
        len[n_seen++] = n;
        cr_buf_add(&seen, p, n);
        cr_shown_into(show, sizeof(show), p, n);
        cr_buf_printf(&list, "%s'%s'", list.n ? ", " : "", show);
    }
    const char *text = cr_arena_strndup(arena, list.data, list.n);
    cr_buf_clear(&list);
    cr_buf_clear(&seen);
    return text;
}

/* Reads a label whose cells are texts, or that has a map. */
static void words(const cr_features *fs, int i, const cr_chunk *chunk, float *y, uint8_t *state,
                  cr_arena *arena, cr_bad *bad) {
    const cr_column *col = &chunk->cols[fs->label_col[i]];
    const label_map *m = fs->label_maps[i];
    const char *name = fs->labels[i], *lacks = NULL;
    char room[32], show[80];
    for (int64_t r = 0; r < chunk->n_rows; r++) {
        double x = 0;
        size_t n;
        const char *p = cell(col, r, room, &n);
        bool is = number_of(m, col, p, n, &x);
        int64_t line = cr_line_of(chunk, r);
        y[r] = (float)x;
        state[r] = is ? CR_ROW_OK : CR_ROW_BAD;
        if (is && isfinite(y[r])) continue;
        if (is) {
            cr_bad_add(bad, r, line, "column '%s', value '%s': too large for float32", name,
                       cr_show(show, p, n));
            continue;
        }
        if (!p) {
            cr_bad_add(bad, r, line, "column '%s' is empty; %s", name,
                       m ? "label_map has no number for \"\"" : "a label must be a number");
            continue;
        }
        double odd;
        if (!m && cr_parse_f64(p, n, &odd)) {
            cr_bad_add(bad, r, line, "column '%s', value '%s': not a finite number", name,
                       cr_show(show, p, n));
            continue;
        }
        if (!lacks) lacks = without_number(m, col, chunk, arena);
        bool blank = n > 0 && (p[0] == ' ' || p[n - 1] == ' ');
        cr_bad_add(bad, r, line, "column '%s', value '%s': %s %s%s", name, cr_show(show, p, n),
                   m ? "not in label_map, which lacks"
                     : "not a number; give texts numbers with data_config.label_map, seen here:",
                   lacks,
                   blank ? "; the blank is part of the value, unless data_config.delimiter has one "
                           "too (\", \")"
                         : "");
    }
}

/* ---- numbers ---- */

static cr_code numbers(const cr_chunk *chunk, int col, const char *name, const char *what,
                       double *x, uint8_t *state, float *out, cr_arena *arena, cr_bad *bad,
                       cr_err *err) {
    char text[32];
    cr_feature_counts none = {0};
    const char *place = cr_arena_printf(arena, "column '%s'", name);
    CR_TRY(cr_numbers_read(&chunk->cols[col], chunk, place, 1, "\x1d", 1, x, state, arena, bad,
                           &none, err));
    for (int64_t r = 0; r < chunk->n_rows; r++) {
        out[r] = (float)x[r];
        if (state[r] == CR_ROW_MISSING)
            cr_bad_add(bad, r, cr_line_of(chunk, r), "column '%s' is empty; a %s must be a number",
                       name, what);
        else if (state[r] == CR_ROW_OK && !isfinite(out[r]))
            cr_bad_add(bad, r, cr_line_of(chunk, r),
                       "column '%s', value '%s': too large for float32", name,
                       cr_show_f64(text, x[r]));
    }
    return CR_OK;
}

/* Makes days of the times of a clock. */
static void days(const cr_features *fs, const cr_chunk *chunk, const char *name, const double *x,
                 const uint8_t *state, float *out, cr_bad *bad) {
    char text[32];
    for (int64_t r = 0; r < chunk->n_rows; r++) {
        double day = cr_clock_day(fs->clock_unit, x[r]);
        out[r] = isnan(day) ? 0 : (float)day;
        if (isnan(day) && state[r] == CR_ROW_OK)
            cr_bad_add(bad, r, cr_line_of(chunk, r),
                       "column '%s', value '%s': not a time; see data_config.clock_unit", name,
                       cr_show_f64(text, x[r]));
    }
}

cr_code cr_labels_encode(const cr_features *fs, const cr_chunk *chunk, void *scratch,
                         cr_chunk_rows *to, cr_bad *bad, cr_err *err) {
    cr_batch *out = &to->rows;
    cr_arena *a = &to->arena;
    double *x = scratch;
    uint8_t *state = (uint8_t *)(x + chunk->n_rows);
    size_t size = sizeof(float) * (size_t)(chunk->n_rows + 1);
    const float **labels = CR_NEW_N(a, const float *, fs->n_labels + 1),
                **weights = CR_NEW_N(a, const float *, fs->n_weights + 1);
    for (int i = 0; i < fs->n_labels; i++) {
        const cr_column *col = &chunk->cols[fs->label_col[i]];
        float *y = cr_arena_alloc(a, size);
        if (col->depth == 0 && !col->keys && (fs->label_maps[i] || col->type == CR_COL_STR))
            words(fs, i, chunk, y, state, a, bad);
        else
            CR_TRY(
                numbers(chunk, fs->label_col[i], fs->labels[i], "label", x, state, y, a, bad, err));
        check_rule(chunk, fs, i, y, state, bad);
        labels[i] = y;
    }
    for (int i = 0; i < fs->n_weights; i++) {
        float *w = cr_arena_alloc(a, size);
        bool clock = i == cr_features_clock(fs);
        CR_TRY(numbers(chunk, fs->weight_col[i], fs->weights[i], clock ? "time" : "sample weight",
                       x, state, w, a, bad, err));
        if (clock) days(fs, chunk, fs->weights[i], x, state, w, bad);
        weights[i] = w;
    }
    out->n_labels = fs->n_labels;
    out->labels = (const float *const *)labels;
    out->n_weights = fs->n_weights;
    out->weights = (const float *const *)weights;
    return CR_OK;
}
