/*
 * restore.c - puts a checkpoint's tensors into a model.
 *
 * All names and shapes are compared before the first value moves, so a mismatch never leaves a
 * model half restored. For each tensor of the model the source is found, by its name, by an older
 * name or by a line of the parameter map; optimizer state follows its parameter. Then a rule is
 * chosen: read all of it, read the rows that fit, or read nothing. A mistake in the map is reported
 * at the map's line.
 */
#include "ckpt/save_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"

#define PIECE CKPT_PIECE
#define TOLD  3        /* parameters that do not fit and get a line each; more are only counted */
#define STATE "state." /* state.<parameter>.<name> */

void cr_shape_text(char *out, size_t size, int n_dims, const int64_t *shape) {
    size_t at = (size_t)snprintf(out, size, "(");
    for (int i = 0; i < n_dims && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, i ? ", %lld" : "%lld", (long long)shape[i]);
    if (at < size) snprintf(out + at, size - at, ")");
}

typedef enum how { KEEP, WHOLE, FIRST_ROWS, LAST_ROWS, REPEAT_ROWS } how;
typedef struct plan {
    const cr_ckpt_info *from;
    how how;
} plan;

typedef struct warning {
    struct warning *next;
    const char *text;
} warning;

typedef struct matcher {
    const cr_ckpt *c;
    const cr_ckpt_tensor *v;
    int n;
    const cr_ckpt_load_opts *o;
    cr_diag *diag;
    cr_arena arena;
    cr_map map;   /* name in the model -> index into o->map */
    cr_map model; /* name -> index into v */
    plan *plans;
    bool *used; /* tensors of the checkpoint that are used, by their number */
    cr_ckpt_loaded done;
    int lost_state; /* optimizer tensors that the checkpoint lacks */
    const char *first_lost;
    int bad_state; /* optimizer tensors that do not fit; reported in one line, see match */
    const char *first_bad;
    int misfits;                       /* parameters that do not fit */
    warning *warnings, **last_warning; /* written only if there is no error */
    size_t errors_before;
} matcher;

/* ---- names ---- */

static const char *nth_model(const void *ctx, size_t i) {
    const matcher *m = ctx;
    return (int)i < m->n ? m->v[i].name : NULL;
}

static const char *nth_ckpt(const void *ctx, size_t i) {
    const cr_ckpt *c = ctx;
    return (int)i < cr_ckpt_count(c) ? cr_ckpt_at(c, (int)i)->name : NULL;
}

/* Returns the likely meaning of a wrong name: a typo, or the end of a long name. */
static const char *likely(const char *word, const char *(*next)(const void *, size_t),
                          const void *ctx) {
    const char *near = cr_nearest(word, next, ctx), *name;
    size_t n = strlen(word);
    for (size_t i = 0; !near && (name = next(ctx, i)); i++) {
        size_t k = strlen(name);
        if (k > n && (name[k - n - 1] == '.' && strcmp(name + k - n, word) == 0)) near = name;
    }
    return near;
}

static cr_loc map_line(const matcher *m, int64_t i) {
    return (cr_loc){m->o->map_path ? m->o->map_path : "parameter map", m->o->map[i].line, 0};
}

static void check_map(matcher *m) {
    for (int i = 0; i < m->o->n_map; i++) {
        const cr_ckpt_rename *r = &m->o->map[i];
        cr_loc at = map_line(m, i);
        const char *near;
        int64_t twin = cr_map_get(&m->map, r->model, strlen(r->model), -1);
        if (twin >= 0) {
            cr_diag_add(m->diag, CR_SEV_ERROR, CR_ECONF, at,
                        "parameter '%s' has a line already, line %d; keep one of them", r->model,
                        m->o->map[twin].line);
            continue;
        }
        cr_map_put(&m->map, r->model, strlen(r->model), i);
        if (cr_map_get(&m->model, r->model, strlen(r->model), -1) < 0) {
            if (m->o->dry && strncmp(r->model, STATE, strlen(STATE)) == 0) continue;
            near = likely(r->model, nth_model, m);
            cr_diag_add(m->diag, CR_SEV_ERROR, CR_ECONF, at,
                        "the model has no parameter '%s'%s%s%s", r->model,
                        near ? "; did you mean '"
                             : "; see `crank params` of one of its "
                               "checkpoints",
                        near ? near : "", near ? "'?" : "");
        }
        if (strcmp(r->ckpt, "-") == 0 || cr_ckpt_find(m->c, r->ckpt)) continue;
        near = likely(r->ckpt, nth_ckpt, m->c);
        cr_diag_add(m->diag, CR_SEV_ERROR, CR_ECONF, at, "%s has no tensor '%s'%s%s%s",
                    cr_ckpt_path(m->c), r->ckpt,
                    near ? "; did you mean '" : "; `crank params` lists what it has",
                    near ? near : "", near ? "'?" : "");
    }
}

/* Returns the name under which t is looked for; *line: index into the map, -1: its own name or an
 * older one. */
static const char *source_name(matcher *m, const cr_ckpt_tensor *t, int64_t *line) {
    *line = cr_map_get(&m->map, t->name, strlen(t->name), -1);
    if (*line >= 0) return m->o->map[*line].ckpt;
    const char *dot = strrchr(t->name, '.'), *param = t->name + strlen(STATE), *from;
    if (!t->optimizer || !dot || dot <= param || strncmp(t->name, STATE, strlen(STATE)) != 0)
        return cr_ckpt_name_in(m->c, t->name, &m->arena);
    /* the state follows its parameter */
    param = cr_arena_strndup(&m->arena, param, (size_t)(dot - param));
    int64_t i = cr_map_get(&m->map, param, strlen(param), -1);
    from = i >= 0 ? m->o->map[i].ckpt : cr_ckpt_name_in(m->c, param, &m->arena);
    if (strcmp(from, "-") == 0 || from == param) return from == param ? t->name : from;
    return cr_arena_printf(&m->arena, STATE "%s%s", from, dot);
}

/* ---- shapes ---- */

static bool same_shape(const cr_ckpt_tensor *t, const cr_ckpt_info *e, int from) {
    if (t->n_dims != e->n_dims) return false;
    for (int d = from; d < t->n_dims; d++)
        if (t->shape[d] != e->shape[d]) return false;
    return true;
}

/* Chooses the rule for a tensor with another number of rows, and its words in messages. */
static how resized(const cr_ckpt_tensor *t, const cr_ckpt_info *e, const char **what) {
    int64_t rows = t->shape[0], old = e->shape[0];
    switch (t->resize) {
    case CR_RESIZE_FIRST:
        *what = rows > old ? "its rows are taken, the new ones begin from the seed"
                           : "the first rows are taken, the others are lost";
        return FIRST_ROWS;
    case CR_RESIZE_LAST:
        *what = rows > old ? "its rows are taken, the new ones are free"
                           : "it has fewer rows now, so the table begins anew";
        return rows > old ? LAST_ROWS : KEEP;
    case CR_RESIZE_FIT: return WHOLE;
    case CR_RESIZE_HASH:
        if (old > 0 && rows > old && rows % old == 0) {
            *what = "row r takes row r mod the old number, where the hash led before";
            return REPEAT_ROWS;
        }
        *what = "the hash leads to other rows now, so the table begins anew; grow it to a multiple "
                "to keep it";
        return KEEP;
    default: *what = "its rows mean something else now, so the table begins anew"; return KEEP;
    }
}

#define warn_later(m, ...)                                                                         \
    do {                                                                                           \
        warning *w_ = CR_NEW(&(m)->arena, warning);                                                \
        w_->text = cr_arena_printf(&(m)->arena, __VA_ARGS__);                                      \
        *(m)->last_warning = w_;                                                                   \
        (m)->last_warning = &w_->next;                                                             \
    } while (0)

/* Reports a parameter of the model or the checkpoint that does not fit. With another model that
 * would be all of them. */
#define misfit(m, ...)                                                                             \
    do {                                                                                           \
        if ((m)->misfits++ < TOLD)                                                                 \
            cr_diag_add((m)->diag, CR_SEV_ERROR, CR_ERUN, cr_ckpt_at_path(cr_ckpt_path((m)->c)),   \
                        __VA_ARGS__);                                                              \
    } while (0)

/* Notes state that does not fit. Mostly another optimizer is the cause, which concerns every
 * parameter. */
#define bad_state(m, ...)                                                                          \
    do {                                                                                           \
        if ((m)->bad_state++ == 0) (m)->first_bad = cr_arena_printf(&(m)->arena, __VA_ARGS__);     \
    } while (0)

static void wrong_shape(matcher *m, const cr_ckpt_tensor *t, const cr_ckpt_info *e, int64_t line) {
    char have[128], want[128];
    cr_shape_text(have, sizeof have, e->n_dims, e->shape);
    cr_shape_text(want, sizeof want, t->n_dims, t->shape);
    if (line >= 0)
        cr_diag_add(
            m->diag, CR_SEV_ERROR, CR_ECONF, map_line(m, line),
            "'%s' is %s in the model, '%s' is %s in %s; map it to one of its shape, or to -",
            t->name, want, e->name, have, cr_ckpt_path(m->c));
    else if (t->optimizer)
        bad_state(m, "tensor '%s' is %s in the checkpoint, %s in the model", e->name, have, want);
    else
        misfit(m, "tensor '%s' is %s in the checkpoint, %s in the model; %s", e->name, have, want,
               m->o->allow_missing ? "a line '<name> -' in fine_tune_ckpt_param_map leaves it out"
                                   : "was the config changed?");
}

static void match_one(matcher *m, int i) {
    const cr_ckpt_tensor *t = &m->v[i];
    int64_t line;
    if (t->optimizer && m->o->skip_optimizer) return;
    const char *name = source_name(m, t, &line);
    const cr_ckpt_info *e = strcmp(name, "-") == 0 ? NULL : cr_ckpt_find(m->c, name);
    if (!e) {
        if (t->may_lack && m->o->allow_missing) return;
        if (!t->optimizer) m->done.kept++;
        /* the user wants it so, or check_map reported it */
        if (strcmp(name, "-") == 0 || line >= 0) return;
        if (!m->o->allow_missing && t->optimizer)
            bad_state(m, "no tensor '%s' in the checkpoint", name);
        else if (!m->o->allow_missing)
            misfit(m, "no tensor '%s' in the checkpoint; it belongs to another model", name);
        else if (!t->optimizer && !m->o->dry)
            warn_later(m, "Skip restore state [%s]: not in the checkpoint", t->name);
        else if (t->optimizer && m->lost_state++ == 0)
            m->first_lost = t->name;
        return;
    }
    m->used[cr_ckpt_number(m->c, name)] = true;
    plan *p = &m->plans[i];
    *p = (plan){e, WHOLE};
    if (t->spare_rows > 0 && same_shape(t, e, 1) && e->shape[0] == t->shape[0] - t->spare_rows) {
        p->how = FIRST_ROWS;
    } else if (!same_shape(t, e, 0)) {
        bool may = m->o->allow_resize ? t->resize != CR_RESIZE_NO : t->resize == CR_RESIZE_FIT;
        if (!may || t->n_dims == 0 || !same_shape(t, e, 1)) {
            wrong_shape(m, t, e, line);
            return;
        }
        const char *what;
        p->how = resized(t, e, &what);
        if (!t->optimizer && t->resize != CR_RESIZE_FIT) {
            char have[128], want[128];
            cr_shape_text(have, sizeof have, e->n_dims, e->shape);
            cr_shape_text(want, sizeof want, t->n_dims, t->shape);
            if (!m->o->dry)
                warn_later(m, "table '%s' is %s in the checkpoint, %s in the model: %s", t->name,
                           have, want, what);
            m->done.resized++;
        }
    }
    if (t->optimizer)
        m->done.state += p->how != KEEP;
    else if (p->how != KEEP)
        m->done.weights++;
    else
        m->done.kept++;
}

static void match(matcher *m) {
    cr_loc at = cr_ckpt_at_path(cr_ckpt_path(m->c));
    int n = cr_ckpt_count(m->c), state = 0;
    for (int i = 0; i < m->n; i++)
        cr_map_put(&m->model, m->v[i].name, strlen(m->v[i].name), i);
    check_map(m);
    for (int i = 0; i < m->n; i++)
        match_one(m, i);
    for (int i = 0; i < n; i++) {
        const cr_ckpt_info *e = cr_ckpt_at(m->c, i);
        state += e->optimizer;
        if (m->used[i] || m->o->allow_extra || (e->optimizer && m->o->skip_optimizer)) continue;
        if (e->optimizer) {
            bad_state(m, "tensor '%s' of the checkpoint is not in the model", e->name);
            continue;
        }
        misfit(m, "tensor '%s' of the checkpoint is not in the model; was the config changed?",
               e->name);
    }
    if (m->misfits > TOLD)
        cr_diag_add(m->diag, CR_SEV_ERROR, CR_ERUN, at,
                    "%d more parameter%s not fit; is it the checkpoint of another model?",
                    m->misfits - TOLD, m->misfits == TOLD + 1 ? " does" : "s do");
    /* where a parameter is wrong, its state is wrong too; that was reported */
    if (m->bad_state > 0 && m->diag->n_errors == m->errors_before)
        cr_diag_add(
            m->diag, CR_SEV_ERROR, CR_ERUN, at,
            "the optimizer's state does not fit the config: %s%s; take the settings it was "
            "trained with (optimizers, ema, gradient_accumulation_steps), or begin with new "
            "state by --ignore_restore_optimizer",
            m->first_bad, m->bad_state > 1 ? ", and others" : "");
    /* "-" on every line is what the user wants; finding nothing by name is a mistake */
    if (m->o->allow_missing && m->done.weights == 0 && m->done.kept > 0 && m->done.resized == 0 &&
        m->o->n_map == 0)
        cr_diag_add(m->diag, CR_SEV_ERROR, CR_ERUN, at,
                    "no parameter of the model is in the checkpoint (it has '%s', the model '%s'); "
                    "give a fine_tune_ckpt_param_map",
                    n > 0 ? cr_ckpt_at(m->c, 0)->name : "", m->v[0].name);
    if (m->lost_state > 0 && !m->o->dry) {
        if (state == 0)
            warn_later(m, "%s has no optimizer state; it begins anew", cr_ckpt_path(m->c));
        else
            warn_later(m,
                       "Skip restore state [%s]%s: not in the checkpoint; optimizer state that is "
                       "missing begins anew",
                       m->first_lost, m->lost_state > 1 ? " and others" : "");
    }
    for (const warning *w = m->warnings; w && m->diag->n_errors == m->errors_before; w = w->next)
        CR_WARN("%s", w->text);
}

/* ---- values ---- */

/* A tensor that is put into the model's tensor t, with what is needed for it. */
typedef struct source {
    const cr_ckpt *c;
    const cr_ckpt_info *e;
    float *tmp;
    bool finite; /* a value that is not finite is an error */
} source;

static cr_code check_finite(const source *s, int64_t width, int64_t first, int64_t n, cr_err *err) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(s->tmp[i]))
            return cr_fail_at(err, CR_EDATA, cr_ckpt_at_path(cr_ckpt_path(s->c)),
                              "tensor '%s', row %lld: a value is not finite; correct the file",
                              s->e->name, (long long)((first + i) / width));
    return CR_OK;
}

/* Puts elements [first - base, end - base) of the source into elements [first, end) of t, if t has
 * them here: they lie in one of its parts. What lies between the columns of a part is read too. */
static cr_code put_range(const source *s, const cr_ckpt_tensor *t, int64_t first, int64_t end,
                         int64_t base, cr_err *err) {
    int64_t width = t->n_dims > 1 ? t->shape[1] : 1;
    for (; first < end; first += PIECE) {
        int64_t n = end - first < PIECE ? end - first : PIECE, at, m;
        int of;
        CR_TRY(cr_ckpt_read(s->c, s->e->name, first - base, n, s->tmp, err));
        if (s->finite) CR_TRY(check_finite(s, width, first - base, n, err));
        ckpt_walk w = {t, first, first + n, -1, 0, 0};
        while (cr_ckpt_run(&w, &at, &m, &of))
            t->put(t->ctx, at, m, s->tmp + (at - first));
    }
    return CR_OK;
}

/* Puts the first `block` elements of the source into t as often as they fit into its elements [at,
 * total); of a tensor with parts, into those of holder self. */
static cr_code put_elems(const source *s, const cr_ckpt_tensor *t, int64_t block, int64_t at,
                         int64_t total, int self, cr_err *err) {
    for (int64_t base = at; base < total && block > 0; base += block) {
        if (t->n_parts == 0) CR_TRY(put_range(s, t, base, base + block, base, err));
        for (int p = 0; p < t->n_parts; p++) {
            const cr_ckpt_part *part = &t->parts[p];
            if (part->holder != self || part->row >= part->end) continue;
            int64_t first = part->row * t->part_width + part->col;
            int64_t end = (part->end - 1) * t->part_width + part->col_end;
            cr_ckpt_tensor one = *t; /* only this part of it */
            one.parts = part;
            one.n_parts = 1;
            if (first < base) first = base;
            if (end > base + block) end = base + block;
            CR_TRY(put_range(s, &one, first, end, base, err));
        }
    }
    return CR_OK;
}

/* Puts all n whole numbers of the source into t. */
static cr_code put_whole(const source *s, const cr_ckpt_tensor *t, int64_t n, cr_err *err) {
    int64_t *some = (int64_t *)(void *)s->tmp;
    for (int64_t i = 0, m; i < n; i += m) {
        m = n - i < PIECE / 2 ? n - i : PIECE / 2;
        CR_TRY(cr_ckpt_read_whole(s->c, s->e->name, i, m, some, err));
        t->put_whole(t->ctx, i, m, some);
    }
    return CR_OK;
}

static cr_code put_tensor(const cr_ckpt *c, const plan *p, const cr_ckpt_tensor *t, int self,
                          float *tmp, cr_err *err) {
    const cr_ckpt_info *e = p->from;
    if (!e || p->how == KEEP || t->in_place) return CR_OK;
    source s = {c, e, tmp, false};
    if (t->fit) CR_TRY(t->fit(t->ctx, e->shape[0], err));
    if (t->put_whole) return put_whole(&s, t, e->n_elems, err);
    int64_t width = 1;
    for (int d = 1; d < t->n_dims; d++)
        width *= t->shape[d];
    int64_t rows = t->n_dims > 0 && t->shape[0] < e->shape[0] ? t->shape[0] : e->shape[0];
    int64_t all = t->n_dims > 0 ? t->shape[0] * width : 1;
    switch (p->how) {
    case FIRST_ROWS: return put_elems(&s, t, rows * width, 0, rows * width, self, err);
    case LAST_ROWS: return put_elems(&s, t, e->n_elems, all - e->n_elems, all, self, err);
    case REPEAT_ROWS: return put_elems(&s, t, e->n_elems, 0, all, self, err);
    default: return put_elems(&s, t, e->n_elems, 0, e->n_elems, self, err);
    }
}

cr_code cr_ckpt_load(const cr_ckpt *c, const cr_ckpt_tensor *v, int n,
                     const cr_ckpt_load_opts *opts, cr_diag *diag) {
    static const cr_ckpt_load_opts strict;
    matcher m = {.c = c, .v = v, .n = n, .o = opts ? opts : &strict, .diag = diag};
    cr_arena_init(&m.arena, 0);
    cr_map_init(&m.map);
    cr_map_init(&m.model);
    m.plans = CR_NEW_N(&m.arena, plan, n + 1);
    m.used = CR_NEW_N(&m.arena, bool, cr_ckpt_count(c) + 1);
    m.errors_before = diag->n_errors;
    m.last_warning = &m.warnings;
    match(&m);
    cr_err err;
    cr_code code = CR_OK;
    bool go_on = diag->n_errors == m.errors_before && !m.o->dry;
    if (go_on) cr_ckpt_tell_old(c);
    if (go_on && !m.o->no_verify) code = cr_ckpt_verify(c, m.o->pool, &err);
    if (go_on && code == CR_OK) {
        float *tmp = cr_alloc(sizeof(float) * PIECE, "piece of a tensor");
        for (int i = 0; i < n && code == CR_OK; i++)
            code = put_tensor(c, &m.plans[i], &v[i], m.o->self, tmp, &err);
        cr_free(tmp);
    }
    if (code != CR_OK) cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at, "%s", err.msg);
    if (m.o->done) *m.o->done = m.done;
    cr_map_clear(&m.map);
    cr_map_clear(&m.model);
    cr_arena_clear(&m.arena);
    return cr_diag_code(diag);
}

cr_code cr_ckpt_load_one(const cr_ckpt *c, const char *name, const cr_ckpt_tensor *t, int self,
                         bool dry, cr_err *err) {
    cr_loc at = cr_ckpt_at_path(cr_ckpt_path(c));
    const cr_ckpt_info *e = NULL;
    if (name)
        e = cr_ckpt_find(c, name);
    else if (cr_ckpt_count(c) == 1)
        e = cr_ckpt_at(c, 0);
    if (!e && name) {
        const char *near = likely(name, nth_ckpt, c);
        return cr_fail_at(err, CR_ECONF, at, "there is no tensor '%s'%s%s%s", name,
                          near ? "; did you mean '" : "; `crank params` lists what the file has",
                          near ? near : "", near ? "'?" : "");
    }
    if (!e)
        return cr_fail_at(err, CR_ECONF, at,
                          "the file holds %d tensors; name one with pretrained_tensor",
                          cr_ckpt_count(c));
    if (!same_shape(t, e, 0)) {
        char have[128], want[128];
        cr_shape_text(have, sizeof have, e->n_dims, e->shape);
        cr_shape_text(want, sizeof want, t->n_dims, t->shape);
        return cr_fail_at(err, CR_ECONF, at,
                          "tensor '%s' is %s, table %s is %s; the shapes must be equal", e->name,
                          have, t->name, want);
    }
    if (dry) return CR_OK;
    CR_TRY(cr_ckpt_verify(c, NULL, err));
    float *tmp = cr_alloc(sizeof(float) * PIECE, "piece of a tensor");
    cr_code code = put_elems(&(source){c, e, tmp, true}, t, e->n_elems, 0, e->n_elems, self, err);
    cr_free(tmp);
    return code;
}
