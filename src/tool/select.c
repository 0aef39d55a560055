/*
 * select.c - `crank feature_selection`: makes a config with the features that matter, from the drop
 * probabilities that variational dropout learned.
 *
 * The features of each group are ordered by their probability, and the first topk stay. A feature
 * stays in feature_configs when the new model_config still names it (in groups without dropout,
 * sequences, grouping keys ...) or another feature reads it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "conf/conf.h"
#include "feat/feat.h"
#include "job/job.h"
#include "tool/tool.h"

typedef struct ranked {
    const char *name;
    float p;
    int place; /* its place in the group */
} ranked;

typedef struct chosen {
    const cr_group_conf *group;
    int64_t number; /* number of the group in the config */
    ranked *v;      /* the smallest probability first */
    int64_t n;
} chosen;

typedef struct selection {
    const cr_select_opts *o;
    cr_job j;
    cr_arena *arena;  /* the arena of the job */
    const char *path; /* path of the new config */
    chosen *groups;
    int n_groups;
    cr_diag *diag;
} selection;

static int by_p(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->p != y->p ? (x->p < y->p ? -1 : 1) : x->place - y->place;
}

/* ---- what was learned ---- */

static cr_code read_group(selection *s, const cr_ckpt *c, const cr_group_conf *gc, int64_t number,
                          cr_err *err) {
    const char *name =
        cr_arena_printf(s->arena, "model.group_variational_dropouts.%s.feature_p", gc->group_name);
    const cr_ckpt_info *info = cr_ckpt_find(c, name);
    int64_t n = gc->feature_names.n + gc->sequence_encoders.n;
    /* the group has one feature, is of type SEQUENCE, or is not read by the model */
    if (!info) return CR_OK;
    if (info->n_elems != n)
        return cr_fail_at(err, CR_ECONF, cr_conf_at(gc, "feature_names"),
                          "group '%s' has %lld features, the checkpoint %lld drop probabilities; "
                          "give the config the model was trained with",
                          gc->group_name, (long long)n, (long long)info->n_elems);
    float *theta = CR_NEW_N(s->arena, float, n);
    CR_TRY(cr_ckpt_read(c, name, 0, n, theta, err));
    chosen *g = &s->groups[s->n_groups++];
    *g = (chosen){gc, number, CR_NEW_N(s->arena, ranked, n), n};
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i - gc->feature_names.n;
        g->v[i] = (ranked){k < 0 ? gc->feature_names.v[i]
                                 : cr_arena_printf(s->arena, "%s_seq_encoder_%lld", gc->group_name,
                                                   (long long)k),
                           (float)(1 / (1 + exp(-(double)theta[i]))), (int)i};
    }
    qsort(g->v, (size_t)n, sizeof(*g->v), by_p);
    return CR_OK;
}

static cr_code read_groups(selection *s, char checkpoint[1088], cr_err *err) {
    const cr_model_conf *m = s->j.root->model_config;
    char *path;
    int64_t step;
    cr_ckpt *c;
    if (!m->variational_dropout)
        return cr_fail_at(err, CR_ECONF, m->base.at,
                          "model_config has no variational_dropout, so nothing says which features "
                          "matter; add %s and train first",
                          CR_SAY(m, "variational_dropout", "{}"));
    const char *dir = s->j.root->model_dir;
    if (!*dir)
        return cr_fail(err, CR_ECONF,
                       "model_dir is not set; give it in the config or with --model_dir");
    CR_TRY(cr_ckpt_latest(s->arena, dir, CR_NEED_WEIGHTS, s->j.pool, &path, &step, err));
    if (!path)
        return cr_fail(err, CR_EIO,
                       "there is no checkpoint (model.ckpt-N) in %s; train first, or name another "
                       "--model_dir",
                       dir);
    CR_TRY(cr_ckpt_open_weights(&c, path, err));
    snprintf(checkpoint, 1088, "%s", path);
    cr_code code = CR_OK;
    s->groups = CR_NEW_N(s->arena, chosen, m->feature_groups.n + 1);
    for (int64_t i = 0; code == CR_OK && i < m->feature_groups.n; i++)
        code = read_group(s, c, m->feature_groups.v[i], i, err);
    cr_ckpt_close(c);
    if (code == CR_OK && s->n_groups == 0)
        code = cr_fail_at(err, CR_ERUN, ((cr_loc){path, 0, 0}),
                          "holds no drop probabilities; it was trained without "
                          "variational_dropout, or no group has several features");
    return code;
}

/* ---- the new config ---- */

static bool names(const cr_conf_node *n, const char *word) {
    if (n->kind == CR_NODE_SCALAR) return strcmp(n->text, word) == 0;
    for (size_t i = 0; i < n->n; i++)
        if (names(n->v[i].val, word)) return true;
    return false;
}

/* Sets the feature_names of the groups to the first topk, in the order of the config. */
static cr_code cut_groups(selection *s) {
    for (int i = 0; i < s->n_groups; i++) {
        const chosen *g = &s->groups[i];
        cr_buf b;
        cr_buf_init(&b);
        cr_buf_printf(&b, "model_config.feature_groups[%lld].feature_names=[",
                      (long long)g->number);
        int kept = 0;
        for (int64_t k = 0; k < g->group->feature_names.n; k++) {
            const char *name = g->group->feature_names.v[k];
            int64_t at = 0;
            while (at < g->n && g->v[at].place != k)
                at++;
            if (at >= s->o->topk) continue;
            if (kept++) cr_buf_str(&b, ", ");
            cr_json_escape(&b, name, strlen(name));
        }
        cr_buf_char(&b, ']');
        cr_code code = cr_conf_set(&s->j.cfg.doc, &cr_root_msg, b.data, true, s->diag);
        cr_buf_clear(&b);
        CR_TRY(code);
    }
    return CR_OK;
}

static const cr_conf_node *model_node(const selection *s) {
    return cr_conf_find(s->j.cfg.doc.root, "model_config");
}

/* Marks the features that the model needs, and those that a needed feature reads. */
static void mark_needed(const selection *s, bool *needed) {
    const cr_features *fs = s->j.features;
    const cr_conf_node *model = model_node(s);
    for (int i = 0; i < fs->n; i++)
        needed[i] = !model || names(model, fs->v[i]->name);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < fs->n; i++)
            for (int k = 0; needed[i] && k < fs->v[i]->n_columns; k++) {
                const char *col = fs->v[i]->columns[k];
                if (strncmp(col, "feature:", 8) != 0) continue;
                for (int f = 0; f < fs->n; f++)
                    if (!needed[f] && strcmp(fs->v[f]->name, col + 8) == 0) more = needed[f] = true;
            }
    }
}

static int64_t drop_features(selection *s) {
    const cr_features *fs = s->j.features;
    bool *needed = CR_NEW_N(s->arena, bool, fs->n + 1);
    int64_t left = 0;
    mark_needed(s, needed);
    for (int64_t i = 0; i < s->j.root->feature_configs.n; i++) {
        const cr_feature_conf *c = s->j.root->feature_configs.v[i];
        bool keep = true; /* blocks of sequences stay */
        for (int f = 0; f < fs->n; f++)
            if (fs->v[f]->conf == c->feature.conf) keep = needed[f];
        if (!keep) keep = cr_tree_remove(s->j.cfg.doc.root, c->base.node) == 0;
        left += keep;
    }
    return left;
}

/* Keeps a name like "deepfm.config"; JSON becomes YAML, which is the format that is printed. */
static const char *config_name(selection *s) {
    const char *name = cr_path_base(s->o->config.path);
    size_t n = strlen(name);
    if (s->j.cfg.doc.syntax != CR_SYNTAX_JSON) return name;
    if (n > 5 && strcmp(name + n - 5, ".json") == 0) n -= 5;
    return cr_arena_printf(s->arena, "%.*s.yaml", (int)n, name);
}

/* Neither the given config nor that of the checkpoints may be overwritten. */
static cr_code choose_path(selection *s, cr_err *err) {
    const char *of_run = cr_path_join(s->arena, s->j.root->model_dir, "pipeline.config");
    s->path = cr_path_join(s->arena, s->o->output_dir, config_name(s));
    if (!cr_same_file(s->path, s->o->config.path) && !cr_same_file(s->path, of_run)) return CR_OK;
    return cr_fail(err, CR_EUSAGE,
                   "the new config would replace %s; give another folder to --output_dir", s->path);
}

static cr_code write_config(selection *s, cr_select_result *res) {
    cr_err err;
    CR_TRY(cut_groups(s));
    res->n_features = drop_features(s);
    res->n_before = s->j.root->feature_configs.n;
    if (s->o->clear_variational_dropout)
        cr_tree_remove(s->j.cfg.doc.root, s->j.root->model_config->variational_dropout->base.node);
    cr_buf b;
    cr_buf_init(&b);
    cr_conf_print(&b, &cr_root_msg, s->j.cfg.doc.root,
                  s->j.cfg.doc.syntax == CR_SYNTAX_PBTXT ? CR_SYNTAX_PBTXT : CR_SYNTAX_YAML);
    cr_code code = cr_file_write(s->path, b.data, b.n, &err);
    cr_buf_clear(&b);
    if (code != CR_OK) return cr_diag_err(s->diag, &err);
    snprintf(res->config, sizeof(res->config), "%s", s->path);
    return CR_OK;
}

/* ---- the table and the picture of a group ---- */

static void csv_text(cr_buf *b, const char *s) {
    bool quote = strpbrk(s, ",\"\r\n") != NULL;
    if (quote) cr_buf_char(b, '"');
    for (; *s; s++) {
        if (*s == '"') cr_buf_char(b, '"');
        cr_buf_char(b, *s);
    }
    if (quote) cr_buf_char(b, '"');
}

static void xml_text(cr_buf *b, const char *s) {
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '&' || c == '<' || c == '>')
            cr_buf_printf(b, "&#%d;", c);
        else
            cr_buf_char(b, c < 32 ? ' ' : *s);
    }
}

static void csv_of(cr_buf *b, const chosen *g) {
    char p[32];
    cr_buf_str(b, "feature_name,mean_drop_p\n");
    for (int64_t i = 0; i < g->n; i++) {
        csv_text(b, g->v[i].name);
        p[cr_fmt_f32(p, g->v[i].p)] = 0;
        cr_buf_printf(b, ",%s\n", p);
    }
}

/* Draws a bar per feature; those that stay come first and are darker. */
static void svg_of(cr_buf *b, const chosen *g, int64_t topk) {
    enum { LINE = 22, TOP = 56, WIDTH = 400 };
    size_t longest = 8;
    for (int64_t i = 0; i < g->n; i++)
        if (strlen(g->v[i].name) > longest) longest = strlen(g->v[i].name);
    int left = (int)(longest < 60 ? longest : 60) * 8 + 16, w = left + WIDTH + 72;
    cr_buf_printf(b,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%lld\" "
                  "font-family=\"sans-serif\" font-size=\"13\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"22\" "
                  "font-size=\"16\">Drop probability, group ",
                  w, (long long)(TOP + LINE * g->n + 12), 12);
    xml_text(b, g->group->group_name);
    cr_buf_str(b, "</text>\n");
    for (int k = 0; k <= 4; k++) {
        int x = left + k * WIDTH / 4;
        cr_buf_printf(b,
                      "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%lld\" stroke=\"#ddd\"/>"
                      "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#666\">%.2f</text>\n",
                      x, x, TOP - 4, (long long)(TOP + LINE * g->n), x, TOP - 10, k / 4.0);
    }
    for (int64_t i = 0; i < g->n; i++) {
        long long y = TOP + LINE * i;
        double len = (double)g->v[i].p * WIDTH;
        cr_buf_printf(b, "<text x=\"%d\" y=\"%lld\" text-anchor=\"end\">", left - 8, y + 14);
        xml_text(b, g->v[i].name);
        cr_buf_printf(b,
                      "</text><rect x=\"%d\" y=\"%lld\" width=\"%.1f\" height=\"%d\" "
                      "fill=\"%s\"/><text x=\"%.1f\" y=\"%lld\" fill=\"#333\">%.2f</text>\n",
                      left, y + 3, len, LINE - 7, i < topk ? "#2b6cb0" : "#b0bec5", left + len + 6,
                      y + 14, (double)g->v[i].p);
    }
    cr_buf_str(b, "</svg>\n");
}

/* Group names may hold characters that a file name may not. */
static const char *file_of(selection *s, const char *kind, const chosen *g, const char *ext) {
    char *name = cr_arena_printf(s->arena, "%s_%s.%s", kind, g->group->group_name, ext);
    for (char *p = name; *p; p++)
        if (*p == '/') *p = '_';
    return cr_path_join(s->arena, s->o->output_dir, name);
}

static cr_code write_groups(selection *s, cr_err *err) {
    cr_code code = CR_OK;
    cr_buf b;
    cr_buf_init(&b);
    for (int i = 0; code == CR_OK && i < s->n_groups; i++) {
        const chosen *g = &s->groups[i];
        cr_buf_reset(&b);
        csv_of(&b, g);
        code = cr_file_write(file_of(s, "feature_dropout_ratio", g, "csv"), b.data, b.n, err);
        if (code != CR_OK || !s->o->visualize) continue;
        cr_buf_reset(&b);
        svg_of(&b, g, s->o->topk);
        code = cr_file_write(file_of(s, "feature_dropout_pic", g, "svg"), b.data, b.n, err);
    }
    cr_buf_clear(&b);
    return code;
}

static void tell(const selection *s, cr_buf *out) {
    for (int i = 0; i < s->n_groups; i++) {
        const chosen *g = &s->groups[i];
        cr_buf_printf(out, "group '%s'\n", g->group->group_name);
        for (int64_t k = 0; k < g->n; k++)
            cr_buf_printf(out, "  %-7.4f %s%s\n", (double)g->v[k].p, g->v[k].name,
                          g->v[k].place >= g->group->feature_names.n ? "  (stays)"
                          : k >= s->o->topk                          ? "  (out)"
                                                                     : "");
    }
}

cr_code cr_feature_selection(const cr_select_opts *o, cr_select_result *res, cr_diag *diag) {
    selection s = {.o = o, .diag = diag};
    cr_err err;
    memset(res, 0, sizeof(*res));
    cr_buf_init(&res->text);
    cr_job_opts jo = {.config = &o->config, .threads = 1, .with_labels = true};
    cr_code code = cr_job_open(&s.j, &jo, diag);
    s.arena = &s.j.cfg.arena;
    if (code == CR_OK &&
        (choose_path(&s, &err) != CR_OK || read_groups(&s, res->checkpoint, &err) != CR_OK ||
         cr_mkdirs(o->output_dir, &err) != CR_OK || write_groups(&s, &err) != CR_OK))
        code = cr_diag_err(diag, &err);
    if (code == CR_OK) code = write_config(&s, res);
    if (code == CR_OK) tell(&s, &res->text);
    cr_job_close(&s.j);
    return code;
}
