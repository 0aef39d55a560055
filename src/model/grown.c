/*
 * grown.c - tables that grow (dynamicemb, growing): what their configs mean as rules of emb/grow.h,
 * and their part in a training. In evaluation and prediction such a table is like one with zch: the
 * rows that a file has, and a map that is only read (maps.c).
 */
#include <math.h>
#include <string.h>

#include "feat/config.h"
#include "model/group_int.h"

#define DEMB_BUCKET                                                                                \
    128 /* rows of a bucket where the config does not say: dynamicemb's own number */
#define FIRST_RANGE 0.01 /* first values where the config does not say */

/* ---- rules ---- */

/* The order of times is that of steps, so TIMESTAMP is STEP. */
static cr_grow_rules demb_rules(const cr_demb_conf *c) {
    const cr_demb_admit_conf *a = c->admission_strategy.conf;
    cr_grow_rules r = {.most = (int64_t)c->max_capacity,
                       .bucket = DEMB_BUCKET,
                       .evict = CR_EVICT_LRU,
                       .exponent = 1,
                       .decay = 1,
                       .counts = true};
    if (c->bucket_capacity > 0 && c->bucket_capacity < c->max_capacity)
        r.bucket = (int64_t)c->bucket_capacity;
    if (strcmp(c->score_strategy, "LFU") == 0) r.evict = CR_EVICT_LFU;
    if (strcmp(c->score_strategy, "NO_EVICTION") == 0) r.evict = CR_EVICT_NONE;
    if (c->eval_initializer_args) r.absent[0] = (float)c->eval_initializer_args->value;
    if (!a) return r;
    r.admit = (int64_t)a->threshold;
    r.waiting = (int64_t)(a->counter_capacity ? a->counter_capacity : c->max_capacity);
    if (a->initializer_args) r.absent[1] = (float)a->initializer_args->value;
    return r;
}

static cr_evict evict_of(const cr_choice *c) {
    if (!c->m) return CR_EVICT_NONE;
    return strcmp(c->m->key, "lfu") == 0   ? CR_EVICT_LFU
           : strcmp(c->m->key, "lru") == 0 ? CR_EVICT_LRU
                                           : CR_EVICT_DISTANCE_LFU;
}

static cr_grow_rules grow_rules(const cr_grow_conf *c) {
    const cr_zch_policy_conf *policy = c->eviction_policy.conf;
    const cr_grow_admit_conf *a = c->admission.conf;
    float absent = (float)c->absent_value;
    cr_grow_rules r = {.most = (int64_t)c->max_rows,
                       .bucket = (int64_t)c->bucket_rows,
                       .evict = evict_of(&c->eviction_policy),
                       .exponent = policy ? policy->decay_exponent : 1,
                       .decay = 1,
                       .counts = c->counts,
                       .absent = {absent, absent}};
    if (a && strcmp(c->admission.m->key, "frequency_admission") == 0) {
        r.admit = (int64_t)a->threshold;
        r.waiting = (int64_t)a->max_counters;
    } else if (a && strcmp(c->admission.m->key, "sketch_admission") == 0) {
        double least = (double)a->threshold / 4;
        r.admit = (int64_t)a->threshold;
        r.cells = (int64_t)a->cells;
        r.error = cr_conf_has(a, "max_error") ? a->max_error : least > 1 ? least : 1;
    } else if (a) {
        r.chance = a->probability;
    }
    if (c->expiry) {
        r.interval = c->expiry->interval_steps;
        r.unseen = c->expiry->unseen_steps;
        r.unseen_days = c->expiry->unseen_days;
        r.decay = c->expiry->decay_rate;
        r.least = c->expiry->least_score;
    }
    if (c->ctr_accessor) {
        r.ctr = cr_ctr_rules_of(c->ctr_accessor);
        r.counts = false; /* rows have their shows */
    }
    return r;
}

cr_grow_rules cr_grown_rules(const cr_feature *f) {
    return f->demb ? demb_rules(f->demb) : grow_rules(f->grow);
}

/* Returns the first values that a config asks for. */
static cr_init init_of(const cr_demb_init_conf *c, int64_t rows, int64_t D) {
    double range = 1 / sqrt((double)rows);
    double lower = cr_conf_has(c, "lower") ? c->lower : -range;
    double upper = cr_conf_has(c, "upper") ? c->upper : range;
    double std = cr_conf_has(c, "std_dev") ? c->std_dev : 1 / sqrt((double)D);
    if (strcmp(c->mode, "CONSTANT") == 0) return CR_INIT_C(c->value);
    if (strcmp(c->mode, "NORMAL") == 0) return (cr_init){CR_INIT_NORMAL, c->mean, std, 0, 0};
    if (strcmp(c->mode, "TRUNCATED_NORMAL") == 0)
        return (cr_init){CR_INIT_TRUNC_NORMAL, c->mean, std, lower, upper};
    return (cr_init){CR_INIT_UNIFORM, lower, upper, 0, 0};
}

void cr_maps_init(const cr_feature *f, int64_t D, bool given, cr_init *init) {
    if (f->demb && f->demb->initializer_args)
        *init = init_of(f->demb->initializer_args, (int64_t)f->demb->max_capacity, D);
    if (f->grow && !given) *init = CR_INIT_U(FIRST_RANGE);
}

static bool same_init(const cr_demb_init_conf *a, const cr_demb_init_conf *b) {
    if (!a || !b) return a == b;
    return strcmp(a->mode, b->mode) == 0 && a->mean == b->mean && a->std_dev == b->std_dev &&
           a->lower == b->lower && a->upper == b->upper && a->value == b->value;
}

static const char *demb_differ(const cr_demb_conf *x, const cr_demb_conf *y) {
    const cr_demb_admit_conf *p = x->admission_strategy.conf, *q = y->admission_strategy.conf;
    return strcmp(x->score_strategy, y->score_strategy) != 0 ? "score_strategy"
           : !same_init(x->eval_initializer_args, y->eval_initializer_args)
               ? "eval_initializer_args"
           : x->bucket_capacity != y->bucket_capacity        ? "bucket_capacity"
           : !p != !q                                        ? "admission_strategy"
           : p && p->threshold != q->threshold               ? "threshold"
           : p && p->counter_capacity != q->counter_capacity ? "counter_capacity"
           : p && !same_init(p->initializer_args, q->initializer_args)
               ? "initializer_args of the admission"
               : NULL;
}

const char *cr_grown_differ(const cr_feature *a, const cr_feature *b) {
    if (a->demb) return demb_differ(a->demb, b->demb);
    if (!a->grow) return NULL;
    cr_grow_rules x = grow_rules(a->grow), y = grow_rules(b->grow);
    return x.most != y.most                                 ? "max_rows"
           : x.bucket != y.bucket                           ? "bucket_rows"
           : x.evict != y.evict || x.exponent != y.exponent ? "the eviction policy"
           : x.counts != y.counts                           ? "counts"
           : x.cells != y.cells || x.error != y.error       ? "sketch_admission"
           : x.admit != y.admit || x.waiting != y.waiting   ? "frequency_admission"
           : x.chance != y.chance                           ? "probability_admission"
           : x.absent[0] != y.absent[0]                     ? "absent_value"
           : x.interval != y.interval || x.unseen != y.unseen || x.decay != y.decay ||
                   x.least != y.least || x.unseen_days != y.unseen_days
               ? "expiry"
               : cr_ctr_differ(a->grow->ctr_accessor, b->grow->ctr_accessor);
}

/* ---- training ---- */

cr_code cr_grown_alloc(cr_model *m, const cr_model_opts *o, cr_model_table *t,
                       const cr_table_spec *spec, cr_err *err) {
    cr_grow_rules rules = cr_grown_rules(t->owner);
    cr_grow_opts go = {
        .spec = spec, .init = &t->init, .seed = o->seed, .rules = &rules, .pool = o->pool};
    const cr_owner *owner;
    if (o->meet && t->placing && t->placing->n > 0) {
        if (!m->shards) m->shards = cr_shards_new(o->meet, o->pool);
        CR_TRY(cr_shards_add(m->shards, spec, t->placing, &go, &owner, err));
    } else {
        CR_TRY(cr_grow_new(&t->grow, &go, err));
        owner = cr_grow_owner(t->grow);
    }
    cr_table_describe(&t->table, spec, owner);
    t->grows = true;
    t->grow_rows = CR_NEW_N(&m->arena, int64_t, o->meet ? o->meet->n + 1 : 2);
    return CR_OK;
}

cr_placing *cr_model_grown_placing(cr_arena *a, const cr_model_table *t, const int *holders,
                                   int n) {
    cr_grow_rules rules = cr_grown_rules(t->owner);
    cr_placing *p = CR_NEW(a, cr_placing);
    *p = (cr_placing){.kind = CR_ROW_WISE, .shards = CR_NEW_N(a, cr_shard, n)};
    for (int k = 0; k < n; k++) {
        cr_shard s = {holders[k], cr_grow_cut(&rules, k, n), cr_grow_cut(&rules, k + 1, n), 0,
                      t->D};
        if (s.row < s.end) p->shards[p->n++] = s;
    }
    return p;
}

void cr_grown_clear(cr_model_table *t) {
    cr_grow_free(t->grow);
    t->grow = NULL;
}

cr_code cr_grown_step(cr_model_table *t, int64_t day, cr_err *err) {
    cr_grow *g = t->table.owner->grow;
    t->map_steps++;
    if (!g) return CR_OK;
    cr_grow_today(g, day);
    return cr_grow_step(g, err);
}

bool cr_model_grown_keeps(const cr_model_table *t) {
    cr_grow_rules r = cr_grown_rules(t->owner);
    return cr_grow_keeps(&r);
}

bool cr_grown_wants_day(const cr_model_table *t) {
    return t->grows && cr_grown_rules(t->owner).unseen_days > 0;
}

void cr_model_grown_steps(cr_model *m, const int64_t *before, int64_t steps) {
    for (int i = 0; i < m->n_tables; i++) {
        cr_model_table *t = m->tables[i];
        if (!t->grows) continue;
        t->map_steps = before[i] + steps;
        if (t->table.owner->grow) cr_grow_set_steps(t->table.owner->grow, t->map_steps);
    }
}

void cr_grown_rest(cr_model_table *t) {
    if (t->table.owner->grow) cr_grow_rest(t->table.owner->grow);
}

cr_code cr_grown_save(cr_model_table *t, const cr_meet *meet, cr_err *err) {
    CR_TRY(cr_grow_save(t->table.owner->grow, meet, &t->map_state, t->grow_rows, err));
    t->map_state.steps[0] = t->map_steps;
    return CR_OK;
}

void cr_grown_saved(cr_model_table *t) {
    if (t->table.owner->grow) cr_grow_saved(t->table.owner->grow);
    cr_zch_state_clear(&t->map_state);
    t->grow_loaded = false;
}

cr_code cr_model_grown_load(cr_model_table *t, int64_t rows, cr_err *err) {
    if (t->grow_loaded) return CR_OK; /* for another tensor of the table */
    t->grow_loaded = true;
    t->map_steps = t->map_state.steps[0];
    return t->table.owner->grow ? cr_grow_load(t->table.owner->grow, &t->map_state, rows, err)
                                : CR_OK;
}

float cr_model_absent(const cr_model_table *t) {
    return cr_grown_rules(t->owner).absent[0];
}
