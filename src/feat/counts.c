/*
 * counts.c - counts what features meet in the data, and finds out whether rows differ.
 *
 * The feature types count while they encode, each chunk into its own numbers; here these are added
 * in the order of the stream. A feature is constant if every row equals the first one. Nearly
 * always the second row differs already, so the comparison costs a few loads per feature and chunk,
 * where counting distinct values would cost a hash for every value.
 */
#include "feat/feat_int.h"

#include <string.h>
#include <strings.h>

#include "base/half.h"
#include "base/rng.h"

const cr_feature_counts *cr_features_counts(const cr_chunk_rows *e) {
    return e->tally;
}

size_t cr_features_counts_size(const cr_features *fs) {
    return sizeof(cr_feature_counts) * (size_t)fs->n;
}

static void add(cr_feature_counts *to, const cr_feature_counts *from) {
    if (from->rows == 0) return;
    if (to->rows == 0) {
        *to = *from;
        return;
    }
    if (to->out_of_range == 0) to->first_bad = from->first_bad;
    to->varies |= from->varies || to->first_row != from->first_row;
    to->rows += from->rows;
    to->steps += from->steps;
    to->ids += from->ids;
    to->missing += from->missing;
    to->masked += from->masked;
    to->out_of_range += from->out_of_range;
    to->unknown += from->unknown;
    to->not_finite += from->not_finite;
    to->unparsable += from->unparsable;
    to->truncated += from->truncated;
    to->cut += from->cut;
}

void cr_features_counts_add(void *to, const void *from, size_t size) {
    cr_feature_counts *a = to;
    const cr_feature_counts *b = from;
    for (size_t i = 0; i < size / sizeof(*a); i++)
        add(&a[i], &b[i]);
}

/* Is this "nan", "inf" or "infinity", in any case? */
static bool not_finite(const char *s, size_t n) {
    static const char *const words[] = {"nan", "inf", "infinity"};
    while (n > 0 && s[0] == ' ') {
        s++;
        n--;
    }
    while (n > 0 && s[n - 1] == ' ')
        n--;
    size_t sign = n > 0 && (s[0] == '+' || s[0] == '-');
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (n - sign == strlen(words[i]) && strncasecmp(s + sign, words[i], n - sign) == 0)
            return true;
    return false;
}

void cr_count_bad(cr_feature_counts *c, const char *s, size_t n) {
    if (not_finite(s, n))
        c->not_finite++;
    else
        c->unparsable++;
}

/* ---- do rows differ? ---- */

static uint64_t mix(uint64_t h, uint64_t x) {
    return cr_mix64(h ^ x) + CR_RNG_STEP;
}

static uint64_t mix_floats(uint64_t h, const float *v, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        h = mix(h, cr_f32_bits(v[i]));
    return h;
}

/* Mixes ids [a, b) of a row or step, and their number, into the hash h. */
static uint64_t mix_ids(uint64_t h, const cr_jagged *j, int64_t a, int64_t b) {
    h = mix(h, (uint64_t)(b - a));
    for (int64_t i = a; i < b; i++)
        h = mix(h, (uint64_t)j->ids[i]);
    return j->w ? mix_floats(h, j->w + a, b - a) : h;
}

static uint64_t hash_row(const cr_feature *f, const cr_batch *b, int64_t r) {
    if (!f->sparse && !f->seq)
        return mix_floats(0, b->dense + r * b->dense_width + f->dense_off, f->value_dim);
    if (!f->sparse) {
        const cr_dense_seq *q = &b->dense_seq[f->slot];
        int64_t n = q->steps[r + 1] - q->steps[r];
        return mix_floats(mix(0, (uint64_t)n), q->v + q->steps[r] * q->width, n * q->width);
    }
    const cr_jagged *j = &b->sparse[f->slot];
    if (!f->seq) return mix_ids(0, j, j->off ? j->off[r] : r, j->off ? j->off[r + 1] : r + 1);
    uint64_t h = mix(0, (uint64_t)(j->steps[r + 1] - j->steps[r]));
    for (int64_t s = j->steps[r]; s < j->steps[r + 1]; s++)
        h = mix_ids(h, j, j->off ? j->off[s] : s, j->off ? j->off[s + 1] : s + 1);
    return h;
}

/* For features with one number or one id in each row: a feature that hardly ever has a value must
 * not cost a hash per row. */
static bool plain_varies(const cr_feature *f, const cr_batch *b) {
    bool same = true;
    int64_t r = 1;
    if (f->sparse) {
        const int64_t *ids = b->sparse[f->slot].ids;
        while (r < b->n_rows && (same = ids[r] == ids[0]))
            r++;
    } else {
        const float *x = b->dense + f->dense_off;
        while (r < b->n_rows && (same = cr_f32_bits(x[r * b->dense_width]) == cr_f32_bits(x[0])))
            r++;
    }
    return !same;
}

void cr_features_compare(const cr_feature *f, const cr_batch *b, cr_feature_counts *c) {
    const cr_jagged *j = f->sparse ? &b->sparse[f->slot] : NULL;
    c->rows = b->n_rows;
    if (f->seq) c->steps = (j ? j->steps : b->dense_seq[f->slot].steps)[b->n_rows];
    c->first_row = hash_row(f, b, 0);
    if (!f->seq && (j ? !j->off && !j->w : f->value_dim == 1)) {
        c->varies = plain_varies(f, b);
        return;
    }
    for (int64_t r = 1; r < b->n_rows && !c->varies; r++)
        c->varies = hash_row(f, b, r) != c->first_row;
}
