/*
 * mix.c - see mix.h.
 */
#include "data/load/mix.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "data/files.h"
#include "data/load/gather.h"
#include "data/load/planner.h"

#define PASSES 20 /* bits of an epoch's number that count the passes of a source in it */

typedef struct source {
    char *paths;
    cr_loader *l;
    int64_t size;    /* rows of a batch */
    double weight;   /* whole_batches: the chance of a batch */
    cr_batch *held;  /* taken, and not in a batch yet */
    bool done;       /* read through in this epoch */
    cr_data_more at; /* position after the last batch */
    cr_file_ids ids;
} source;

struct cr_mix {
    cr_loader_opts o;
    bool whole;
    int n;
    source v[CR_MAX_SOURCES];
    cr_parcel parcel[CR_LOADER_AHEAD];
    bool used[CR_LOADER_AHEAD];
    cr_data_pos at; /* position after the last batch */
    bool finished;
    void *tally, *part_tally;
    cr_loader_stats before; /* of loaders that were closed at the end of an epoch */
    double wait_s;
};

/* ---- start ---- */

/* The part of a source's rows in a batch that this process has. */
static cr_share share_of(const cr_mix *m, const source *s, int64_t first) {
    const cr_share *own = &m->o.share;
    int64_t B = m->o.batch_size;
    if (m->whole || own->of == 0) return *own;
    int64_t lo = B * own->first / own->of, hi = B * own->end / own->of;
    lo = lo < first ? first : lo > first + s->size ? first + s->size : lo;
    hi = hi < first ? first : hi > first + s->size ? first + s->size : hi;
    return (cr_share){(int)(lo - first), (int)(hi - first), (int)s->size};
}

/* Opens the loaders of all sources at their positions. */
static cr_code open_sources(cr_mix *m, cr_diag *diag) {
    int64_t first = 0;
    for (int i = 0; i < m->n; i++) {
        source *s = &m->v[i];
        const cr_data_more *at = &m->at.more[i];
        cr_loader_opts o = m->o;
        o.paths = s->paths;
        o.batch_size = s->size;
        o.share = share_of(m, s, first);
        o.drop_remainder = true;
        o.n_epochs = 0;
        o.no_split = true;
        o.seed = cr_rng_sub(m->o.seed, (uint64_t)i);
        o.n_threads = m->o.n_threads / m->n > 1 ? m->o.n_threads / m->n : 1;
        o.ids = &s->ids;
        o.start = m->at.n_more > 0 ? (cr_data_pos){.epoch = at->epoch,
                                                   .unit = at->unit,
                                                   .row = at->row,
                                                   .rows = at->rows,
                                                   .bad_rows = at->bad_rows}
                                   : (cr_data_pos){.epoch = m->at.epoch << PASSES};
        s->done = m->at.n_more > 0 && at->done;
        s->at = (cr_data_more){.epoch = o.start.epoch,
                               .unit = o.start.unit,
                               .row = o.start.row,
                               .rows = o.start.rows,
                               .bad_rows = o.start.bad_rows,
                               .done = s->done};
        CR_TRY(cr_loader_new(&s->l, &o, diag));
        first += s->size;
    }
    return CR_OK;
}

static void close_sources(cr_mix *m) {
    for (int i = 0; i < m->n; i++) {
        source *s = &m->v[i];
        cr_loader_stats st;
        if (!s->l) continue;
        if (s->held) cr_loader_release(s->l, s->held);
        s->held = NULL;
        cr_loader_get_stats(s->l, &st);
        m->before.rows += st.rows;
        m->before.bad_rows += st.bad_rows;
        m->before.bytes += st.bytes;
        m->before.read_s += st.read_s;
        m->before.parse_s += st.parse_s;
        m->before.encode_s += st.encode_s;
        m->before.wait_s += st.wait_s;
        if (m->part_tally) {
            cr_loader_tally(s->l, m->part_tally);
            m->o.tally_add(m->tally, m->part_tally, m->o.tally_size);
        }
        cr_loader_free(s->l);
        s->l = NULL;
    }
}

/* Gives every source its rows of a batch. */
static cr_code sizes(cr_mix *m, cr_diag *diag) {
    const cr_mixing_conf *c = m->o.conf->mixing;
    int64_t left = m->o.batch_size;
    if (c->weights.n > 0 && c->weights.n != m->n) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, c->base.at,
                    "mixing.weights has %lld numbers for %d sources; give each source one",
                    (long long)c->weights.n, m->n);
        return CR_ECONF;
    }
    for (int i = 0; i < m->n; i++) {
        source *s = &m->v[i];
        s->weight = c->weights.n ? c->weights.v[i] : 1.0 / m->n;
        s->size =
            m->whole ? m->o.batch_size : (int64_t)floor((double)m->o.batch_size * s->weight + 1e-9);
        left -= s->size;
    }
    for (int i = 0; !m->whole && left > 0; i = (i + 1) % m->n, left--)
        m->v[i].size++;
    for (int i = 0; i < m->n; i++)
        if (m->v[i].size < 1) {
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, c->base.at,
                        "source %d has no row in a batch of %lld; raise batch_size or its weight",
                        i + 1, (long long)m->o.batch_size);
            return CR_ECONF;
        }
    return CR_OK;
}

/* Puts the files of all sources into the caller's list, or compares with it. */
static cr_code note_files(cr_mix *m, cr_diag *diag) {
    cr_file_ids *ids = m->o.ids;
    int64_t n = 0, k = 0;
    bool same = true;
    if (!ids) return CR_OK;
    for (int i = 0; i < m->n; i++)
        n += m->v[i].ids.n;
    bool fresh = !ids->v;
    if (fresh) {
        ids->v = cr_alloc((size_t)(n + 1) * sizeof *ids->v, "a list of files");
        ids->n = n;
    }
    for (int i = 0; i < m->n && ids->n == n; i++)
        for (int64_t f = 0; f < m->v[i].ids.n; f++, k++) {
            const cr_file_id *id = &m->v[i].ids.v[f];
            if (fresh) ids->v[k] = *id;
            same &= ids->v[k].size == id->size && ids->v[k].digest == id->digest;
        }
    if (same && ids->n == n) return CR_OK;
    cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){m->o.paths, 0, 0},
                "these files are others than when the run first read them; keep data files as they "
                "are during a run, and start again");
    return CR_EDATA;
}

cr_code cr_mix_new(cr_mix **out, const cr_loader_opts *o, cr_diag *diag) {
    cr_mix *m = cr_alloc(sizeof *m, "a mixture of sources");
    m->o = *o;
    m->whole = o->conf->mixing->whole_batches;
    m->n = cr_data_sources(o->conf, o->paths);
    m->at = o->start;
    *out = m;
    if (m->n > CR_MAX_SOURCES) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, (cr_loc){o->paths, 0, 0},
                    "there are %d sources and at most %d; join some of them with commas", m->n,
                    CR_MAX_SOURCES);
        m->n = 0;
        return CR_ECONF;
    }
    const char *p = o->paths;
    for (int i = 0; i < m->n; i++) {
        size_t n = strcspn(p, "$");
        m->v[i].paths = cr_alloc(n + 1, "paths of a source");
        memcpy(m->v[i].paths, p, n);
        p += n + 1;
    }
    if (o->start.n_more > 0 && o->start.n_more != m->n) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){o->paths, 0, 0},
                    "the saved position is one of %d sources, and there are %d now",
                    o->start.n_more, m->n);
        return CR_EDATA;
    }
    if (o->tally_size) {
        m->tally = cr_alloc(o->tally_size, "counts of the data");
        m->part_tally = cr_alloc(o->tally_size, "counts of the data");
    }
    CR_TRY(sizes(m, diag));
    m->finished = o->n_epochs > 0 && o->start.epoch >= o->n_epochs;
    CR_TRY(open_sources(m, diag));
    return note_files(m, diag);
}

void cr_mix_free(cr_mix *m) {
    if (!m) return;
    close_sources(m);
    for (int i = 0; i < m->n; i++) {
        cr_free(m->v[i].paths);
        cr_file_ids_clear(&m->v[i].ids);
    }
    for (int i = 0; i < CR_LOADER_AHEAD; i++)
        cr_region_clear(&m->parcel[i].mem);
    cr_free(m->tally);
    cr_free(m->part_tally);
    cr_free(m);
}

cr_loader *cr_mix_one(const cr_mix *m) {
    return m->v[0].l;
}

/* ---- batches ---- */

/* Takes the next batch of a source, which begins again at its end. */
static cr_code take(source *s, cr_err *err) {
    bool done;
    while (!s->held) {
        CR_TRY(cr_loader_next(s->l, &s->held, &done, err));
        if (!s->held) s->done = true;
    }
    return CR_OK;
}

static bool all_done(const cr_mix *m) {
    for (int i = 0; i < m->n; i++)
        if (!m->v[i].done) return false;
    return true;
}

/* Draws the source of the next batch. */
static int draw(const cr_mix *m) {
    uint64_t key = cr_rng_sub(cr_rng_key(m->o.seed, "mixing", NULL), (uint64_t)m->at.epoch);
    double u = cr_rng_f64(key, (uint64_t)m->at.unit), sum = 0;
    for (int i = 0; i < m->n; i++) {
        sum += m->v[i].weight;
        if (u < sum) return i;
    }
    return m->n - 1;
}

/* Gives out the held batches of sources [from, to) as one. */
static cr_code join(cr_mix *m, int from, int to, cr_batch **out, cr_err *err) {
    const cr_batch *srcs[CR_MAX_SOURCES];
    cr_row_run runs[CR_MAX_SOURCES];
    int k = 0, n = 0;
    while (m->used[k])
        k++; /* the caller holds fewer than there are */
    cr_parcel *x = &m->parcel[k];
    for (int i = from; i < to; i++, n++) {
        srcs[n] = m->v[i].held;
        runs[n] = (cr_row_run){.srcs = &srcs[n], .n_srcs = 1, .n = srcs[n]->n_rows};
    }
    CR_TRY(cr_gather(&x->batch, NULL, &x->mem, srcs[0], runs, n, err));
    x->batch.global_rows = 0;
    m->at.bad_rows = 0;
    for (int i = 0; i < m->n; i++) {
        source *s = &m->v[i];
        if (i >= from && i < to) {
            cr_data_pos p = cr_loader_after(s->held);
            x->batch.global_rows += s->size;
            s->at = (cr_data_more){p.epoch, p.unit, p.row, p.rows, p.bad_rows, false};
            cr_loader_release(s->l, s->held);
            s->held = NULL;
        }
        s->at.done = s->done;
        m->at.more[i] = s->at;
        m->at.bad_rows += s->at.bad_rows;
    }
    m->at.n_more = m->n;
    m->at.unit++;
    m->at.rows += x->batch.global_rows;
    x->after = m->at;
    m->used[k] = true;
    m->before.batches++;
    *out = &x->batch;
    return CR_OK;
}

/* Begins the next epoch: all sources anew. */
static cr_code end_epoch(cr_mix *m, bool *done, cr_err *err) {
    close_sources(m);
    m->at = (cr_data_pos){.epoch = m->at.epoch + 1};
    *done = m->finished = m->o.n_epochs > 0 && m->at.epoch >= m->o.n_epochs;
    if (m->finished) return CR_OK;
    cr_diag diag;
    cr_diag_init(&diag);
    cr_code code = open_sources(m, &diag);
    if (code != CR_OK && diag.n > 0) (void)cr_fail_at(err, code, diag.v[0].at, "%s", diag.v[0].msg);
    cr_diag_clear(&diag);
    return code;
}

cr_code cr_mix_next(cr_mix *m, cr_batch **out, bool *done, cr_err *err) {
    *out = NULL;
    *done = m->finished;
    if (m->finished) return CR_OK;
    int from = m->whole ? draw(m) : 0, to = m->whole ? from + 1 : m->n;
    for (int i = from; i < to; i++)
        CR_TRY(take(&m->v[i], err));
    if (all_done(m)) return end_epoch(m, done, err);
    return join(m, from, to, out, err);
}

void cr_mix_release(cr_mix *m, cr_batch *b) {
    for (int i = 0; i < CR_LOADER_AHEAD; i++)
        if (b == &m->parcel[i].batch) m->used[i] = false;
}

/* ---- what the sources have together ---- */

void cr_mix_tally(cr_mix *m, void *out) {
    if (!m->tally) return;
    for (int i = 0; i < m->n; i++) {
        if (!m->v[i].l) continue;
        cr_loader_tally(m->v[i].l, m->part_tally);
        m->o.tally_add(m->tally, m->part_tally, m->o.tally_size);
    }
    memcpy(out, m->tally, m->o.tally_size);
    memset(m->tally, 0, m->o.tally_size);
}

void cr_mix_get_stats(cr_mix *m, cr_loader_stats *out) {
    *out = m->before;
    for (int i = 0; i < m->n; i++) {
        cr_loader_stats st;
        if (!m->v[i].l) continue;
        cr_loader_get_stats(m->v[i].l, &st);
        out->rows += st.rows;
        out->bad_rows += st.bad_rows;
        out->bytes += st.bytes;
        out->read_s += st.read_s;
        out->parse_s += st.parse_s;
        out->encode_s += st.encode_s;
        out->wait_s += st.wait_s;
        int64_t steps = st.total_rows / m->v[i].size;
        if (!m->whole && steps * m->o.batch_size > out->total_rows)
            out->total_rows = steps * m->o.batch_size;
    }
}

int64_t cr_mix_memory(cr_mix *m, bool shuffle) {
    int64_t all = 0;
    for (int i = 0; i < m->n; i++)
        if (m->v[i].l) all += cr_loader_memory(m->v[i].l, shuffle);
    return all;
}

bool cr_mix_first_bad(cr_mix *m, cr_err *out) {
    for (int i = 0; i < m->n; i++)
        if (m->v[i].l && cr_loader_first_bad(m->v[i].l, out)) return true;
    return false;
}
