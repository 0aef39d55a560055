/*
 * counts.c - reports what features met in the data of a pass: as warnings, as a table in the log,
 * as JSON.
 *
 * A warning is given once per run and feature, and says what to do. The table has the features with
 * something worth a look (at log level DEBUG all of them) and the columns that are not all zero; if
 * a pass is like the one before, it gets one line. The JSON has everything.
 */
#include "job/counts.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "ckpt/ckpt.h"

#define FEW 100 /* fewer rows say nothing about a whole data set */

enum { TOLD_ABSENT = 1, TOLD_CONSTANT = 2, TOLD_RANGE = 4, TOLD_UNKNOWN = 8 };

/* The columns of the table and the keys of the JSON. */
static const struct column {
    const char *key, *title;
    size_t offset;
    bool notable; /* any number above 0 is worth a line; for missing values, half of the rows */
} columns[] = {
#define COLUMN(k, title, notable)                                                                  \
    { #k, title, offsetof(cr_feature_counts, k), notable }
    COLUMN(missing, "missing", false),          COLUMN(masked, "masked", false),
    COLUMN(out_of_range, "out of range", true), COLUMN(unknown, "unknown", true),
    COLUMN(not_finite, "not finite", true),     COLUMN(unparsable, "unparsable", true),
    COLUMN(truncated, "truncated", true),       COLUMN(cut, "above value_dim", true),
#undef COLUMN
};
enum { N_COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static int64_t count_of(const cr_feature_counts *c, int column) {
    int64_t n;
    memcpy(&n, (const char *)c + columns[column].offset, sizeof(n));
    return n;
}

void cr_counter_init(cr_counter *c, const cr_features *fs, const char *data, cr_arena *a) {
    *c = (cr_counter){.fs = fs, .data = data, .epoch = -1, .step = -1};
    c->now = CR_NEW_N(a, cr_feature_counts, fs->n + 1);
    c->before = CR_NEW_N(a, cr_feature_counts, fs->n + 1);
    c->told = CR_NEW_N(a, uint8_t, fs->n + 1);
}

/* ---- warnings ---- */

static bool once(cr_counter *c, int i, int what) {
    bool is_new = !(c->told[i] & what);
    c->told[i] |= (uint8_t)what;
    return is_new;
}

/* Writes "column 'a'" or "columns 'a' …": where to look. */
static const char *inputs(const cr_feature *f, char out[160]) {
    snprintf(out, 160, "column%s '%.100s'%s", f->n_columns > 1 ? "s" : "", f->columns[0],
             f->n_columns > 1 ? " ..." : "");
    return out;
}

static void warn(cr_counter *c, int i) {
    const cr_feature *f = c->fs->v[i];
    const cr_feature_counts *n = &c->now[i];
    char where[160];
    long long rows = (long long)n->rows;
    if (f->stub || n->rows == 0) return;
    if (cr_counts_absent(f, n) && f->n_columns > 0) {
        if ((!c->made || n->rows >= FEW) && once(c, i, TOLD_ABSENT))
            CR_WARN("feature '%s' has no value in any of %lld rows of %s data, so it is its "
                    "default everywhere; check %s%s",
                    f->name, rows, c->data, inputs(f, where),
                    c->made ? "" : ", or remove the feature");
    } else if (n->unknown > 0 && n->unknown == n->ids) {
        if ((!c->made || n->rows >= FEW) && once(c, i, TOLD_UNKNOWN))
            CR_WARN("feature '%s': none of its %lld values in %s data is in its vocabulary; "
                    "compare the vocabulary with %s",
                    f->name, (long long)n->unknown, c->data, inputs(f, where));
    } else if (!c->made && cr_counts_constant(n) && f->n_columns > 0 && !cr_counts_outside(n)) {
        if (once(c, i, TOLD_CONSTANT))
            CR_WARN("feature '%s' is the same in all %lld rows of %s data, so the model learns "
                    "nothing from it; "
                    "check %s, or remove the feature",
                    f->name, rows, c->data, inputs(f, where));
    }
    if (n->out_of_range > 0 && once(c, i, TOLD_RANGE))
        CR_WARN("feature '%s': %lld ids outside its table of %" PRId64 " rows were taken as 0, "
                "e.g. %lld; raise its size or clean the data%s%s",
                f->name, (long long)n->out_of_range, f->num_embeddings, (long long)n->first_bad,
                f->raw_cure ? "; or, " : "", f->raw_cure ? f->raw_cure : "");
}

/* ---- the table ---- */

static bool is_notable(const cr_counter *c, const cr_feature *f, const cr_feature_counts *n) {
    for (int k = 0; k < N_COLUMNS; k++)
        if (columns[k].notable && count_of(n, k) > 0) return true;
    int64_t all = f->seq ? n->steps : n->rows;
    if (c->made && n->rows < FEW) return false;
    return (n->missing - n->masked) * 2 > all || cr_counts_absent(f, n) ||
           (!c->made && cr_counts_constant(n));
}

static void table(const cr_counter *c) {
    bool used[N_COLUMNS] = {false};
    int shown = 0, n = 0, width = 7;
    int64_t rows = 0;
    for (int i = 0; i < c->fs->n; i++) {
        const cr_feature *f = c->fs->v[i];
        if (f->stub) continue;
        n++;
        shown += is_notable(c, f, &c->now[i]);
        rows = c->now[i].rows;
        if ((int)strlen(f->name) > width) width = (int)strlen(f->name);
        for (int k = 0; k < N_COLUMNS; k++)
            used[k] |= count_of(&c->now[i], k) > 0;
    }
    if (width > 40) width = 40;
    char when[48] = "";
    if (c->epoch >= 0) snprintf(when, sizeof(when), ", epoch %lld", (long long)c->epoch);
    bool same = c->passes > 0 && memcmp(c->now, c->before, cr_features_counts_size(c->fs)) == 0;
    if (same || shown == 0) {
        cr_log(same && shown ? CR_LOG_INFO : CR_LOG_DEBUG, "Features of %s data%s: %lld rows, %s",
               c->data, when, (long long)rows,
               same ? "counts as in the epoch before" : "nothing to look at");
        return;
    }
    cr_buf b;
    cr_buf_init(&b);
    CR_INFO("Features of %s data%s: %lld rows, %d of %d features to look at", c->data, when,
            (long long)rows, shown, n);
    cr_buf_printf(&b, "  %-*s", width, "feature");
    for (int k = 0; k < N_COLUMNS; k++)
        if (used[k]) cr_buf_printf(&b, "  %15s", columns[k].title);
    CR_INFO("%s", b.data);
    for (int i = 0; i < c->fs->n; i++) {
        const cr_feature *f = c->fs->v[i];
        const cr_feature_counts *v = &c->now[i];
        if (f->stub) continue;
        cr_buf_reset(&b);
        cr_buf_printf(&b, "  %-*s", width, f->name);
        for (int k = 0; k < N_COLUMNS; k++)
            if (used[k]) cr_buf_printf(&b, "  %15lld", (long long)count_of(v, k));
        if (cr_counts_constant(v)) cr_buf_str(&b, "  constant");
        cr_log(is_notable(c, f, v) ? CR_LOG_INFO : CR_LOG_DEBUG, "%s", b.data);
    }
    cr_buf_clear(&b);
}

/* gather_counts (collective) puts the counts of all holders together. Holders either read their own
 * rows each, and then the counts are added in the order of holders; or a holder has read all rows,
 * and its counts are those of all. */
static void gather_counts(cr_counter *c, bool own_rows) {
    const cr_meet *m = c->meet;
    size_t size = cr_features_counts_size(c->fs), each = size + sizeof(int64_t);
    size_t *at = cr_alloc(((size_t)m->n + 1) * sizeof(*at), "counts of features");
    char *all = cr_alloc((size_t)m->n * each, "counts of features");
    int64_t divided = own_rows;
    for (int h = 0; h <= m->n; h++)
        at[h] = (size_t)h * each;
    memcpy(all + at[m->self], &divided, sizeof(divided));
    memcpy(all + at[m->self] + sizeof(divided), c->now, size);
    m->gather(m->ctx, all, at);
    memset(c->now, 0, size);
    for (int h = 0; h < m->n; h++) {
        memcpy(&divided, all + at[h], sizeof(divided));
        if (divided) {
            cr_features_counts_add(c->now, all + at[h] + sizeof(divided), size);
            continue;
        }
        memcpy(c->now, all + at[h] + sizeof(divided), size);
        break;
    }
    cr_free(all);
    cr_free(at);
}

bool cr_counter_take(cr_counter *c, cr_loader *l, int64_t epoch, int64_t step) {
    bool any = false;
    memcpy(c->before, c->now, cr_features_counts_size(c->fs));
    cr_loader_tally(l, c->now);
    if (c->meet) gather_counts(c, cr_loader_divides(l));
    for (int i = 0; i < c->fs->n; i++)
        any |= c->now[i].rows > 0;
    if (!any) return false;
    c->epoch = epoch;
    c->step = step;
    bool tells = !c->meet || c->meet->self == 0;
    for (int i = 0; tells && i < c->fs->n; i++)
        warn(c, i);
    if (tells) table(c);
    c->passes++;
    return true;
}

/* ---- JSON ---- */

void cr_counter_json(const cr_counter *c, cr_jw *w) {
    cr_jw_str(w, "data", c->data);
    if (c->epoch >= 0) cr_jw_i64(w, "epoch", c->epoch);
    if (c->step >= 0) cr_jw_i64(w, "step", c->step);
    cr_jw_arr(w, "features");
    for (int i = 0; i < c->fs->n; i++) {
        const cr_feature *f = c->fs->v[i];
        const cr_feature_counts *n = &c->now[i];
        if (f->stub) continue;
        cr_jw_obj(w, NULL);
        cr_jw_str(w, "name", f->name);
        cr_jw_i64(w, "rows", n->rows);
        if (f->seq) cr_jw_i64(w, "steps", n->steps);
        if (f->sparse) cr_jw_i64(w, "ids", n->ids);
        for (int k = 0; k < N_COLUMNS; k++)
            cr_jw_i64(w, columns[k].key, count_of(n, k));
        cr_jw_bool(w, "constant", cr_counts_constant(n));
        cr_jw_end(w);
    }
    cr_jw_end(w);
}

/* Removes what killed runs left of a file that is replaced whole (base/file.c). */
static void remove_leftovers(const char *path) {
    cr_arena a;
    cr_err err;
    cr_arena_init(&a, 0);
    const char *base = cr_path_base(path),
               *dir = base > path ? cr_arena_strndup(&a, path, (size_t)(base - path)) : ".";
    if (cr_ckpt_remove_leftovers(dir, cr_arena_printf(&a, "%s.tmp-", base), false, &err) != CR_OK) {
        char text[1024];
        cr_err_text(&err, text, sizeof(text));
        CR_WARN("%s", text);
    }
    cr_arena_clear(&a);
}

void cr_counter_write(const cr_counter *c, const char *path) {
    cr_buf b;
    cr_jw w;
    cr_err err;
    remove_leftovers(path);
    cr_buf_init(&b);
    cr_jw_init(&w, &b);
    cr_jw_obj(&w, NULL);
    cr_counter_json(c, &w);
    cr_jw_end(&w);
    cr_buf_char(&b, '\n');
    if (cr_file_write(path, b.data, b.n, &err) != CR_OK) {
        char text[1024];
        cr_err_text(&err, text, sizeof(text));
        CR_WARN("%s; the counts of features are not kept", text);
    }
    cr_buf_clear(&b);
}
