/*
 * made.c - columns of slot text that no line has: constants, drawn ids, how often a drawn id is
 * expected, copies, chosen values, and ids with their parts.
 *
 * Draws are a function of the line's bytes, the number of the row in it and the column, so they are
 * the same for any number of threads, any size of blocks and after a pause, and in every epoch.
 */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/rng.h"
#include "conf/conf.h"
#include "data/slots/slots_int.h"

#define TRIES 100 /* draws before a banned id is taken after all */

static int64_t draw_once(const cr_slot_draw *d, uint64_t key, uint64_t i) {
    const cr_slot_made_conf *c = d->conf;
    if (c->sampler == CR_DRAW_COUNTS) {
        double u = cr_rng_f64(key, i);
        int64_t lo = 0, hi = d->n_sums - 1;
        while (lo < hi) {
            int64_t mid = (lo + hi) / 2;
            if (d->sums[mid] > u)
                hi = mid;
            else
                lo = mid + 1;
        }
        return lo;
    }
    uint64_t n = (uint64_t)(c->last - c->first) + 1;
    if (c->sampler == CR_DRAW_UNIFORM) return c->first + (int64_t)cr_rng_below(key, i, n);
    double x = exp(cr_rng_f64(key, i) * log((double)n + 1)) - 1;
    int64_t id = c->first + (int64_t)x;
    return id > c->last ? c->last : id;
}

int64_t cr_slots_draw(const cr_slot_draw *d, uint64_t key, uint64_t i, bool bans, int64_t ban) {
    int64_t id = draw_once(d, key, i);
    for (uint64_t k = 1; bans && id == ban && k < TRIES; k++)
        id = draw_once(d, cr_rng_sub(key, k), i);
    return id;
}

double cr_slots_share(const cr_slot_draw *d, int64_t id) {
    const cr_slot_made_conf *c = d->conf;
    if (c->sampler == CR_DRAW_COUNTS)
        return id < 0 || id >= d->n_sums ? 0 : d->sums[id] - (id > 0 ? d->sums[id - 1] : 0);
    if (id < c->first || id > c->last) return 0;
    double n = (double)(c->last - c->first) + 1, k = (double)(id - c->first);
    return c->sampler == CR_DRAW_UNIFORM ? 1 / n : log((k + 2) / (k + 1)) / log(n + 1);
}

/* Reads the counts of a file and adds them up. */
static void read_counts(cr_slot_draw *d, cr_arena *a, cr_diag *diag) {
    cr_buf text;
    cr_err err;
    const char *path = d->conf->counts;
    cr_buf_init(&text);
    if (cr_file_read(path, 0, &text, &err) != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, err.code, cr_conf_at(d->conf, "counts"), "%s", err.msg);
        cr_buf_clear(&text);
        return;
    }
    int64_t n = 0, line = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.data[i] == '\n';
    double *sums = CR_NEW_N(a, double, n + 1), total = 0;
    n = 0;
    for (const char *p = text.data, *end = p + text.n, *nl; p < end; p = nl + 1, line++) {
        nl = memchr(p, '\n', (size_t)(end - p));
        if (!nl) nl = end;
        const char *last = nl;
        while (last > p && (last[-1] == ' ' || last[-1] == '\r'))
            last--;
        const char *number = last;
        while (number > p && number[-1] != ' ' && number[-1] != '\t')
            number--;
        double x;
        if (last == p) continue;
        if (number == p || !cr_parse_f64(number, (size_t)(last - number), &x) || !(x >= 0)) {
            cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){path, (int)line, 0},
                        "the line is not a word and its count; correct the file");
            break;
        }
        total += pow(x, d->conf->power);
        sums[n++] = total;
    }
    for (int64_t i = 0; i < n; i++)
        sums[i] /= total;
    if (n == 0 || !(total > 0))
        cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, cr_conf_at(d->conf, "counts"),
                    "%s has no counts; write a word and its count per line", path);
    d->sums = sums;
    d->n_sums = n;
    cr_buf_clear(&text);
}

/* Finds another column of the same row; -1: none is named. */
static int other(const struct cr_slots *t, const cr_slot_made_conf *c, const char *key,
                 const char *name, cr_diag *diag) {
    if (!name || !*name) return -1;
    int f = (int)cr_map_get(&t->index, name, strlen(name), -1);
    if (f < 0 || t->v[f].type != CR_COL_I64) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, key),
                    "%s: '%s' is no column of whole numbers in input_fields; name one", key, name);
        return -1;
    }
    return f;
}

void cr_slots_find_made(struct cr_slots *t, const cr_data_conf *c, cr_arena *a, cr_diag *diag) {
    const cr_slot_text_conf *st = c->slot_text;
    int64_t n = st ? st->made.n : 0;
    int *made = CR_NEW_N(a, int, n + 1);
    for (int64_t i = 0; i < n; i++) {
        const cr_slot_made_conf *m = st->made.v[i];
        int f = (int)cr_map_get(&t->index, m->name, strlen(m->name), -1);
        if (f < 0) {
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(m, "name"),
                        "'%s' is not in input_fields, which say what it holds; add it there",
                        m->name);
            continue;
        }
        cr_slot_draw *d = CR_NEW(a, cr_slot_draw);
        *d = (cr_slot_draw){.conf = m, .key = cr_rng_key(0, "slots", m->name)};
        d->as_many_as = other(t, m, "as_many_as", m->as_many_as, diag);
        d->begin_with = other(t, m, "begin_with", m->begin_with, diag);
        d->other_than = other(t, m, "other_than", m->other_than, diag);
        d->log_of = other(t, m, "log_of", m->log_of, diag);
        d->copy_of = other(t, m, "copy_of", m->copy_of, diag);
        d->parts_of = other(t, m, "parts_of", m->parts_of, diag);
        d->values_of = other(t, m, "values_of", m->values_of, diag);
        d->places_of = other(t, m, "places_of", m->places_of, diag);
        d->where = other(t, m, "where", m->where, diag);
        if ((d->values_of >= 0 || d->places_of >= 0) &&
            (!t->v[f].many || t->v[f].type == CR_COL_STR))
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(m, "name"),
                        "'%s' holds values of another column; its input_type is ARRAY_INT64 or "
                        "ARRAY_FLOAT",
                        m->name);
        bool draws = m->count > 0 || *m->as_many_as;
        if (draws && (!t->v[f].many || t->v[f].type != CR_COL_I64))
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(m, "name"),
                        "'%s' holds drawn ids; its input_type is ARRAY_INT64", m->name);
        bool copies = d->copy_of >= 0, splits = d->parts_of >= 0;
        if ((copies || splits) && (t->v[f].many != splits || t->v[f].type != CR_COL_I64))
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(m, "name"),
                        "'%s' holds %s; its input_type is %s", m->name,
                        copies ? "a copy" : "an id and its parts",
                        copies ? "INT64" : "ARRAY_INT64");
        if (*m->log_of && (!t->v[f].many || t->v[f].type != CR_COL_F32))
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(m, "name"),
                        "'%s' holds logarithms; its input_type is ARRAY_FLOAT", m->name);
        if (d->log_of >= 0 && !t->v[d->log_of].draw)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(m, "log_of"),
                        "log_of: '%s' is no drawn column; name one that stands before this",
                        m->log_of);
        if (draws && m->sampler == CR_DRAW_COUNTS) read_counts(d, a, diag);
        if (splits) d->parts = cr_slots_read_parts(m->parts, cr_conf_at(m, "parts"), a, diag);
        t->v[f].draw = d;
        made[t->n_made++] = f;
    }
    t->made = made;
}
