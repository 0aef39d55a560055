/*
 * doctor.c - finds what is wrong with data by looking at a sample of it: one table of checks.
 *
 * A check has a name, a subject (each feature, each label ...) and a test, which writes the cause
 * and the cure when it finds something. For each subject only the first check that finds something
 * is reported, in the first data set that shows it; the checks are ordered by how much they
 * explain. A new check is one function and one row.
 */
#include "tool/doctor_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "conf/conf.h"
#include "feat/hash.h"
#include "layer/loss.h"

/* Below this number a sample may be constant by chance. */
#define MANY_ROWS 100
/* Numbers that are larger than this on the whole make the first steps useless. */
#define LARGE_SCALE 100
/* A class with fewer rows says little about a model. */
#define FEW_ROWS 100
/* Files are compared by this many bytes at their beginning and end. */
#define LOOK 65536

/* What a test looks at, and its result. */
typedef struct exam {
    const report *r;
    const sample *s;
    int k; /* number of the feature, label or weight */
    cr_loc at;
    cr_buf cause, cure;
} exam;

#define CAUSE(e, ...) cr_buf_printf(&(e)->cause, __VA_ARGS__)
#define CURE(e, ...)  cr_buf_printf(&(e)->cure, __VA_ARGS__)

static const cr_feature *feature_of(const exam *e) {
    return e->r->j.features->v[e->k];
}

/* ---- features ---- */

static bool label_as_feature(exam *e) {
    const cr_features *fs = e->r->j.features;
    const cr_feature *f = feature_of(e);
    for (int c = 0; c < f->n_columns; c++)
        for (int i = 0; i < fs->n_labels; i++) {
            if (strcmp(f->columns[c], fs->labels[i]) != 0) continue;
            CAUSE(e, "feature '%s' reads the label's own column '%s', which no new row has",
                  f->name, fs->labels[i]);
            CURE(e, "remove the feature, or name another column");
            return true;
        }
    return false;
}

static bool all_missing(exam *e) {
    const cr_feature *f = feature_of(e);
    const cr_feature_counts *c = &e->s->counts[e->k];
    if (!cr_counts_absent(f, c)) return false;
    CAUSE(e, "feature '%s' is missing in all %lld sampled rows of %s data", f->name,
          (long long)c->rows, e->s->name);
    CURE(e, "check the name and the content of its column");
    return true;
}

static bool all_unknown(exam *e) {
    const cr_feature_counts *c = &e->s->counts[e->k];
    if (c->unknown == 0 || c->unknown != c->ids) return false;
    CAUSE(e, "feature '%s': none of the %lld sampled values of %s data is in its vocabulary",
          feature_of(e)->name, (long long)c->unknown, e->s->name);
    CURE(e, "compare it with what the column holds (a bool is 0 or 1, a date a number)");
    return true;
}

static bool out_of_range(exam *e) {
    const cr_feature *f = feature_of(e);
    const cr_feature_counts *c = &e->s->counts[e->k];
    if (c->out_of_range == 0) return false;
    CAUSE(e, "feature '%s': %lld of %lld sampled ids of %s data ", f->name,
          (long long)c->out_of_range, (long long)c->ids, e->s->name);
    if (c->ids != c->rows) /* otherwise the number of ids would not match that of rows */
        CAUSE(e, "(from %lld rows; a row can have several ids, or none) ", (long long)c->rows);
    CAUSE(e, "lie outside 0 .. %lld (e.g. %lld) and are taken as 0",
          (long long)f->num_embeddings - 1, (long long)c->first_bad);
    if (f->raw_cure)
        CURE(e, "raise the number of its table's rows or fix the data; or, %s", f->raw_cure);
    else
        CURE(e, "raise num_buckets or fix the data");
    return true;
}

static bool constant(exam *e) {
    const cr_feature_counts *c = &e->s->counts[e->k];
    if (!cr_counts_constant(c) || e->s->rows < MANY_ROWS || feature_of(e)->n_columns == 0)
        return false;
    CAUSE(e,
          "feature '%s' is the same in all %lld sampled rows of %s data, so the model learns "
          "nothing from it",
          feature_of(e)->name, (long long)c->rows, e->s->name);
    CURE(e, "check its column, or remove the feature");
    return true;
}

/* Does every value of the feature always come with the same label, or do its numbers lie on a line
 * with the label? That happens by chance only with few rows or many values. */
static bool tells_label(exam *e) {
    const sample *s = e->s;
    for (int i = 0; i < s->n_labels; i++) {
        const col_joint *j = &s->joint[e->k * s->n_labels + i];
        double rare = fmin((double)s->positives[i], (double)(s->rows - s->positives[i]));
        bool exact;
        bool two = cr_stats_distinct(&s->labels[i], &exact) >= 2;
        bool pure = !j->mixed && j->n_pairs >= 2 && j->n == s->rows && rare >= 10 &&
                    j->n >= 20 * (int64_t)j->n_pairs;
        bool line = !feature_of(e)->sparse && fabs(cr_joint_correlation(j)) > 1 - 1e-9;
        if (!two || j->n < MANY_ROWS || (!pure && !line)) continue;
        CAUSE(e, "feature '%s' gives away the label '%s' in all %lld sampled rows of %s data",
              feature_of(e)->name, e->r->j.features->labels[i], (long long)j->n, s->name);
        CURE(e, "it looks like a copy of the label; remove it, unless its value is known before "
                "the label");
        return true;
    }
    return false;
}

static const char *text_field(const void *conf, const char *name) {
    const cr_field *row = cr_msg_field(((const cr_conf_base *)conf)->msg, name);
    const char *text = NULL;
    if (row && row->offset != CR_NO_STORE)
        memcpy(&text, (const char *)conf + row->offset, sizeof(text));
    return text;
}

/* Suggests a normalizer for these numbers: a logarithm if most are far below the largest ones. */
static void say_normalizer(exam *e, const col_stats *c) {
    double half, at = 0.5;
    cr_stats_quantiles(c, &at, 1, &half);
    if (c->min >= 0 && (half < c->mean / 2 || cr_stats_sd(c) > 2 * c->mean))
        CURE(e, "%s", CR_SAY(e->r->j.root, "normalizer", "\"method=expression,expr=log10(1+x)\""));
    else
        CURE(e, "%s",
             CR_SAY(e->r->j.root, "normalizer",
                    "\"method=zscore,mean=%.6g,standard_deviation=%.6g\"", c->mean,
                    fmax(cr_stats_sd(c), 1e-6 * fabs(c->mean))));
}

static void say_boundaries(exam *e, const col_stats *c) {
    double cuts[9];
    int n = cr_stats_cuts(c, 10, cuts);
    char list[CR_CONF_SAY] = "[";
    for (int i = 0; i < n; i++) {
        size_t k = strlen(list);
        snprintf(list + k, sizeof(list) - k, "%s%.6g", i ? ", " : "", cuts[i]);
    }
    CURE(e, "%s and %s", CR_SAY(e->r->j.root, "boundaries", "%s]", list),
         CR_SAY(e->r->j.root, "embedding_dim", "8"));
}

static bool large_scale(exam *e) {
    const cr_feature *f = feature_of(e);
    const col_stats *c = &e->s->stats[e->k];
    if (f->sparse || cr_stats_scale(c) <= LARGE_SCALE) return false;
    CAUSE(e,
          "feature '%s': its numbers in %s data lie between %.6g and %.6g (root of their mean "
          "square %.4g), but the first layer expects about -1 .. 1, and other features hardly "
          "count beside them",
          f->name, e->s->name, c->min, c->max, cr_stats_scale(c));
    int mode = e->r->j.root->data_config->fg_mode;
    const char *normalizer = text_field(f->conf, "normalizer");
    bool makes = mode == CR_FG_NORMAL || mode == CR_FG_DAG;
    if (!normalizer) {
        CURE(e, "bring them to about -1 .. 1");
    } else if (*normalizer) {
        CURE(e, "change its normalizer, or write ");
        say_boundaries(e, c);
    } else if (makes) {
        CURE(e, "write ");
        say_normalizer(e, c);
        CURE(e, ", or ");
        say_boundaries(e, c);
    } else {
        CURE(e, "write them smaller, or let crank do it with %s and ",
             CR_SAY(e->r->j.root, "data_config.fg_mode", "FG_NORMAL"));
        say_normalizer(e, c);
    }
    return true;
}

/* ---- labels and weights ---- */

static const char *label_of(const exam *e) {
    return e->r->j.features->labels[e->k];
}

static bool one_class(exam *e) {
    const col_stats *c = &e->s->labels[e->k];
    if (c->n < 2 || c->min < c->max) return false;
    CAUSE(e, "label '%s' is %.6g in all %lld sampled rows of %s data, so %s", label_of(e), c->min,
          (long long)c->n, e->s->name,
          strcmp(e->s->name, "train") == 0
              ? "there is nothing to learn"
              : "no metric there can tell a good model from a bad one");
    CURE(e, "check label_fields; if the rows are sorted by the label, shuffle the files or look at "
            "more rows with --sample_rows");
    return true;
}

/* l2_loss starts at 0 (or label_mean) and moves in small steps; labels far from there take long. */
static bool far_labels(exam *e) {
    const cr_model_conf *m = e->r->j.root->model_config;
    const col_stats *c = &e->s->labels[e->k];
    if (c->n < MANY_ROWS || strcmp(e->s->name, "train") != 0) return false;
    const cr_task_conf *t = cr_model_tower(m, 0);
    for (int64_t i = 0; i == 0 || t; t = cr_model_tower(m, ++i)) {
        if (t ? strcmp(t->label_name, label_of(e)) != 0 : e->k > 0) continue;
        const cr_msgs *losses = t ? &t->losses : &m->losses;
        for (int64_t k = 0; k < losses->n; k++) {
            const cr_loss_conf *l = losses->v[k];
            const cr_loss_type *type = l->loss.m->type;
            if (!type->offset || fabs(c->mean - type->offset(l->loss.conf)) <= 2 * cr_stats_sd(c))
                continue;
            e->at = ((const cr_conf_base *)l->loss.conf)->at;
            CAUSE(e,
                  "the labels lie around %.4g, but %s begins at %.4g, so the first steps only "
                  "learn that number",
                  c->mean, type->name, type->offset(l->loss.conf));
            CURE(e, "write %s", CR_SAY(l, type->name, "{label_mean: %.4g}", c->mean));
            return true;
        }
    }
    return false;
}

/* Estimates how many rows of the rarer class the whole data set has. If the length of the data set
 * is not known, the rows of the sample count, and the real number is at least that. */
static bool few_positives(exam *e) {
    const sample *s = e->s;
    const col_stats *c = &s->labels[e->k];
    int64_t pos = s->positives[e->k], neg = s->rows - pos;
    int64_t seen = s->rows + s->bad_rows, all = s->complete ? seen : s->all_rows;
    bool exact, ended = all > 0;
    if (c->min != 0 || c->max != 1 || cr_stats_distinct(c, &exact) != 2) return false;
    double scale = ended ? (double)all / (double)seen : 1;
    double rare = fmin((double)pos, (double)neg) * scale;
    if (rare >= (ended ? FEW_ROWS : 10)) return false;
    int64_t p = (int64_t)((double)pos * scale + 0.5), n = (int64_t)((double)neg * scale + 0.5);
    double error = 1.96 * cr_auc_error(0.8, p > 0 ? p : 1, n > 0 ? n : 1);
    CAUSE(e,
          "label '%s' is %d in only %s%.0f of %.0f rows of %s data, so an AUC of 0.8 there means "
          "%.2f to %.2f (95%%)",
          label_of(e), pos <= neg, ended && scale > 1.0001 ? "about " : "", rare,
          (double)s->rows * scale, s->name, 0.8 - error, fmin(0.8 + error, 1));
    CURE(e, "use more rows, or do not choose between models by small differences");
    return true;
}

static bool negative_weights(exam *e) {
    const col_stats *c = &e->s->weights[e->k];
    if (c->n == 0 || c->min >= 0) return false;
    CAUSE(e,
          "sample weight '%s' is negative in %s data (down to %.6g): the model learns the opposite "
          "of such a row",
          e->r->j.features->weights[e->k], e->s->name, c->min);
    CURE(e, "make weights 0 or more");
    return true;
}

static bool zero_weights(exam *e) {
    const col_stats *c = &e->s->weights[e->k];
    if (c->n == 0 || c->min != 0 || c->max != 0) return false;
    CAUSE(e, "sample weight '%s' is 0 in all %lld sampled rows of %s data, so no row counts",
          e->r->j.features->weights[e->k], (long long)c->n, e->s->name);
    CURE(e, "check the column, or remove it from sample_weight_fields");
    return true;
}

/* ---- files ---- */

/* Returns a hash of the file's beginning and end, computed at the first call; 0: the file cannot be
 * read. */
static uint64_t print_of(data_file *f) {
    if (f->looked) return f->print;
    f->looked = true;
    char *text = cr_alloc(2 * LOOK, "the beginning and end of a file");
    cr_fs *in;
    size_t a, z;
    if (cr_fs_open(&in, f->path, NULL) == CR_OK) {
        int64_t tail = f->size > LOOK ? f->size - LOOK : 0;
        if (cr_fs_pread(in, 0, text, LOOK, &a, NULL) == CR_OK &&
            cr_fs_pread(in, tail, text + a, LOOK, &z, NULL) == CR_OK)
            f->print = cr_hash_farm(text, a + z);
        cr_fs_close(in);
    }
    cr_free(text);
    return f->print;
}

/* Are they one file under two names, or two files of one length with the same beginning and end? */
static bool same_file(data_file *a, data_file *b, const char **how) {
    *how = "is";
    if (a->ino && a->dev == b->dev && a->ino == b->ino) return true;
    *how = "holds the same as";
    return a->size == b->size && a->size > 0 && print_of(a) && print_of(a) == print_of(b);
}

static bool file_twice(exam *e) {
    const sample *s = e->s;
    const char *how;
    for (int64_t i = 0; i < s->n_files; i++)
        for (int64_t k = i + 1; k < s->n_files; k++) {
            if (!same_file(&s->files[i], &s->files[k], &how)) continue;
            CAUSE(e, "%s: file %lld of %lld, %s, %s file %lld, %s, so its rows come twice", s->key,
                  (long long)k + 1, (long long)s->n_files, s->files[k].path, how, (long long)i + 1,
                  s->files[i].path);
            CURE(e, "name each file once");
            return true;
        }
    return false;
}

static bool eval_is_train(exam *e) {
    const sample *train = &e->r->samples[0], *eval = &e->r->samples[1];
    const char *how;
    if (e->r->n_samples < 2 || e->s != eval || strcmp(train->key, eval->key) == 0) return false;
    for (int64_t i = 0; i < eval->n_files; i++)
        for (int64_t k = 0; k < train->n_files; k++) {
            if (!same_file(&eval->files[i], &train->files[k], &how)) continue;
            CAUSE(e,
                  "eval_input_path: %s %s the training file %s, so metrics only show what the "
                  "model has memorised",
                  eval->files[i].path, how, train->files[k].path);
            CURE(e, "evaluate on rows that training does not see");
            return true;
        }
    return false;
}

/* ---- the table ---- */

typedef enum subject { OF_FEATURE, OF_LABEL, OF_WEIGHT, OF_DATA, N_SUBJECTS } subject;
static const struct check {
    const char *name;
    subject of;
    bool (*test)(exam *e);
} checks[] = {
    {"label_as_feature", OF_FEATURE, label_as_feature},
    {"all_missing", OF_FEATURE, all_missing},
    {"all_unknown", OF_FEATURE, all_unknown},
    {"out_of_range", OF_FEATURE, out_of_range},
    {"constant", OF_FEATURE, constant},
    {"tells_label", OF_FEATURE, tells_label},
    {"large_scale", OF_FEATURE, large_scale},
    {"one_class", OF_LABEL, one_class},
    {"far_labels", OF_LABEL, far_labels},
    {"few_positives", OF_LABEL, few_positives},
    {"negative_weights", OF_WEIGHT, negative_weights},
    {"zero_weights", OF_WEIGHT, zero_weights},
    {"file_twice", OF_DATA, file_twice},
    {"eval_is_train", OF_DATA, eval_is_train},
};

static int n_of(const report *r, subject of) {
    const cr_features *fs = r->j.features;
    return of == OF_FEATURE  ? fs->n
           : of == OF_LABEL  ? fs->n_labels
           : of == OF_WEIGHT ? cr_features_row_weights(fs)
                             : r->n_samples;
}

static const char *name_of(const report *r, subject of, int k) {
    const cr_features *fs = r->j.features;
    return of == OF_FEATURE  ? fs->v[k]->name
           : of == OF_LABEL  ? fs->labels[k]
           : of == OF_WEIGHT ? fs->weights[k]
                             : NULL;
}

static cr_loc place_of(const report *r, const sample *s, subject of, int k) {
    const cr_data_conf *d = r->j.root->data_config;
    return of == OF_FEATURE  ? r->j.features->v[k]->at
           : of == OF_LABEL  ? cr_conf_at_item(d, "label_fields", k)
           : of == OF_WEIGHT ? cr_conf_at_item(d, "sample_weight_fields", k)
                             : cr_conf_at(r->j.root, s->key);
}

static void tell(report *r, const struct check *c, const exam *e) {
    cr_diag_add(r->diag, CR_SEV_WARN, CR_EDATA, e->at, "%s; %s", e->cause.data, e->cure.data);
    if (r->n_findings == r->cap_findings) {
        int cap = r->cap_findings ? 2 * r->cap_findings : 16;
        finding *v = CR_NEW_N(&r->j.cfg.arena, finding, cap);
        if (r->n_findings) memcpy(v, r->findings, sizeof(*v) * (size_t)r->n_findings);
        r->findings = v;
        r->cap_findings = cap;
    }
    r->findings[r->n_findings++] =
        (finding){c->name, e->s->name, name_of(r, c->of, e->k),
                  cr_arena_printf(&r->j.cfg.arena, "%s; %s", e->cause.data, e->cure.data)};
}

/* Reports the first check that finds something, in the first data set that shows it. */
static void examine(report *r, subject of, int k) {
    exam e = {.r = r, .k = k};
    cr_buf_init(&e.cause);
    cr_buf_init(&e.cure);
    bool found = false;
    for (int d = 0; d < r->n_samples && !found; d++) {
        e.s = &r->samples[d];
        if (of == OF_DATA && d != k) continue;
        if (!e.s->counts || (of != OF_DATA && e.s->rows == 0)) continue;
        for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && !found; i++) {
            if (checks[i].of != of) continue;
            e.at = place_of(r, e.s, of, k);
            found = checks[i].test(&e);
            if (found) tell(r, &checks[i], &e);
        }
    }
    cr_buf_clear(&e.cause);
    cr_buf_clear(&e.cure);
}

void cr_doctor(report *r) {
    for (subject of = 0; of < N_SUBJECTS; of++)
        for (int k = 0; k < n_of(r, of); k++)
            if (of != OF_FEATURE || !r->j.features->v[k]->stub) examine(r, of, k);
}
