/*
 * fill.c - turns a raw block into the rows of a slot: parse, hide, split, encode, leave out bad
 * rows.
 */
#include "data/load/fill.h"

#include <string.h>

#include "base/cpu.h"
#include "base/rng.h"

void cr_filler_init(cr_filler *f, const cr_items *in, int row) {
    *f = (cr_filler){.in = in, .row = row};
    cr_arena_init(&f->chunk.arena, 0);
    cr_arena_init(&f->enc.arena, 0);
}

void cr_filler_clear(cr_filler *f) {
    cr_arena_clear(&f->chunk.arena);
    cr_arena_clear(&f->enc.arena);
    cr_bad_clear(&f->bad);
    cr_free(f->mark);
    cr_free(f->good);
    cr_free(f->hidden);
    cr_free(f->kept);
    cr_skipper_clear(&f->skipper);
}

static void rows_room(cr_filler *f, int64_t n) {
    if (f->cap_rows >= n) return;
    cr_free(f->mark);
    cr_free(f->good);
    f->cap_rows = n + n / 4;
    f->mark = cr_alloc((size_t)f->cap_rows, "the rows of a block");
    f->good = cr_alloc((size_t)f->cap_rows * sizeof(*f->good), "the rows of a block");
}

static void keep_bad(cr_filler *f, cr_slot *s) {
    if (f->bad.n == 0) return;
    if (!s->bad) s->bad = cr_alloc(CR_BAD_KEEP * sizeof(*s->bad), "a list of bad rows");
    memcpy(s->bad, f->bad.v, (size_t)f->bad.n_kept * sizeof(*s->bad));
    s->n_bad_kept = f->bad.n_kept;
}

/* hide draws which rows of the chunk are hidden. */
static void hide(cr_filler *f, const cr_raw *raw, int64_t epoch) {
    int64_t n = f->chunk.n_rows, first = cr_items_known(f->in) ? f->chunk.first_row : 0;
    double p = f->in->o->conf->sample_mask_prob;
    f->chunk.hidden = NULL;
    if (!f->in->o->mask || p <= 0) return;
    if (f->cap_hidden < n) {
        cr_free(f->hidden);
        f->cap_hidden = n + n / 4;
        f->hidden = cr_alloc((size_t)f->cap_hidden, "the rows of a block");
    }
    uint64_t key = cr_rng_sub(cr_rng_key(f->in->o->seed, "sample_mask", NULL), (uint64_t)epoch);
    key = cr_rng_sub(key, (uint64_t)raw->file);
    if (!cr_items_known(f->in)) key = cr_rng_sub(key, (uint64_t)raw->block);
    for (int64_t r = 0; r < n; r++)
        f->hidden[r] = cr_rng_f64(key, (uint64_t)(first + r)) < p;
    f->chunk.hidden = f->hidden;
}

/* split leaves the rows of one side in the chunk. The loader that reads the other side reports the
 * bad rows there; rows without a side belong to the training. */
static void split(cr_filler *f, const cr_raw *raw) {
    int64_t n = f->chunk.n_rows;
    if (cr_split_all(&f->in->o->split)) return;
    if (f->cap_kept < n) {
        cr_free(f->kept);
        f->cap_kept = n + n / 4;
        f->kept = cr_alloc((size_t)f->cap_kept * sizeof(*f->kept), "the rows of a block");
    }
    int64_t n_kept = cr_split_rows(&f->in->o->split, &f->chunk,
                                   cr_items_known(f->in) ? -1 : raw->block, &f->skipper, f->kept);
    if (f->bad.n > 0) {
        rows_room(f, n);
        if (n > 0) memset(f->mark, 0, (size_t)n);
        for (int64_t i = 0; i < n_kept; i++)
            f->mark[f->kept[i]] = 1;
        cr_bad_keep(&f->bad, f->mark, f->chunk.lines, f->in->o->split.side != CR_EVAL_ROWS);
    }
    cr_split_chunk(&f->chunk, f->kept, n_kept);
    f->bad.rows_of = f->kept;
}

/* ---- the good rows into the slot ---- */

/* sizes notes what one row takes, when n rows take so many bytes packed and held. */
static void sizes(cr_filler *f, int64_t n, size_t packed, size_t held) {
    double p = (double)packed / (double)n, h = (double)held / (double)n;
    if (p > f->row_bytes) f->row_bytes = p;
    if (h > f->slot_bytes) f->slot_bytes = h;
}

/* copy packs the good rows into the slot's own memory. */
static cr_code copy(cr_filler *f, cr_slot *s, int64_t n_good) {
    const cr_batch *src = &f->enc.rows;
    bool shuffle = f->in->o->shuffle;
    cr_row_run run = {&src, NULL, 1, n_good < src->n_rows ? f->good : NULL, 0, n_good};
    cr_arena_reset(&s->arena);
    CR_TRY(cr_gather(&s->rows, shuffle ? &s->rec : NULL, &s->mem, src, &run, 1, &s->err));
    sizes(f, n_good, s->mem.used, s->mem.used);
    return CR_OK;
}

/* drop_offsets removes the offsets of ids that turned out to be one per row, or per step; a batch
 * is then assembled by plain copies. */
static void drop_offsets(cr_batch *b) {
    for (int f = 0; f < b->n_sparse; f++) {
        cr_jagged *j = &b->sparse[f];
        int64_t n = j->steps ? j->steps[b->n_rows] : b->n_rows;
        if (!j->off || j->off[n] != n) continue;
        int32_t differs = 0;
        for (int64_t i = 0; i < n; i++)
            differs |= j->off[i] ^ (int32_t)i;
        if (!differs) j->off = NULL;
    }
}

/* packed_bytes returns about what the rows take in a batch, without reserved columns. */
static size_t packed_bytes(const cr_batch *b) {
    int64_t n = b->n_rows * (b->dense_width + b->n_labels + b->n_weights) * 4;
    for (int f = 0; f < b->n_sparse; f++) {
        const cr_jagged *j = &b->sparse[f];
        int64_t steps = j->steps ? j->steps[b->n_rows] : b->n_rows;
        n += j->n_ids * (j->w ? 12 : 8) + (j->off ? steps * 4 : 0) + (j->steps ? b->n_rows * 4 : 0);
    }
    for (int f = 0; f < b->n_dense_seq; f++)
        n += (b->n_rows + b->dense_seq[f].steps[b->n_rows] * b->dense_seq[f].width) * 4;
    return (size_t)n;
}

/* take_over gives the slot everything that the encoder has made, with its memory; the encoder goes
 * on with the memory that the slot had. Only reserved columns are copied, because they may point
 * into the chunk. */
static cr_code take_over(cr_filler *f, cr_slot *s) {
    cr_batch *rows = &f->enc.rows;
    s->mem.used = 0;
    if (rows->n_reserved > 0) {
        cr_batch own = {.n_rows = rows->n_rows,
                        .n_reserved = rows->n_reserved,
                        .reserved = rows->reserved};
        cr_batch copied = {0};
        const cr_batch *src = &own;
        cr_row_run run = {&src, NULL, 1, NULL, 0, own.n_rows};
        CR_TRY(cr_gather(&copied, NULL, &s->mem, src, &run, 1, &s->err));
        rows->reserved = copied.reserved;
    }
    drop_offsets(rows);
    s->rows = *rows;
    cr_arena was = s->arena;
    s->arena = f->enc.arena;
    f->enc.arena = was;
    size_t used = cr_arena_used(&s->arena);
    /* A new arena begins with a block that is large enough, so that it need not grow. */
    if (!was.head) cr_arena_init(&f->enc.arena, used + used / 4);
    sizes(f, rows->n_rows, packed_bytes(rows) + s->mem.used, used + s->mem.used);
    return CR_OK;
}

/* ---- all of it ---- */

cr_code cr_fill(cr_filler *f, const cr_raw *raw, cr_slot *s) {
    const cr_items *in = f->in;
    const cr_loader_opts *o = in->o;
    f->parse_s = f->encode_s = 0;
    cr_bad_reset(&f->bad);
    f->bad.rows_of = NULL;
    double t0 = cr_thread_cpu(), span = cr_trace_begin(o->trace);
    CR_TRY(in->reader->parse(in->src, raw, &f->chunk, &f->bad, &s->err));
    double t1 = cr_thread_cpu();
    span = cr_trace_end(o->trace, f->row, CR_STAGE_PARSE, span);
    f->parse_s = t1 - t0;
    int64_t n_block = f->chunk.n_rows;
    hide(f, raw, s->epoch);
    split(f, raw);
    int64_t n = f->chunk.n_rows, n_good = n;
    const int32_t *rows_of = f->bad.rows_of;
    if (n > 0) {
        cr_arena arena = f->enc.arena;
        cr_arena_reset(&arena);
        f->enc = (cr_chunk_rows){.arena = arena, .rows.n_rows = n};
        CR_TRY(o->encode(o->encode_ctx, &f->chunk, &f->enc, &f->bad, &s->err));
        f->enc.rows.n_rows = n;
        if (o->tally_size && (!s->of_all || o->share.first == 0))
            cr_tally_add(&s->tally, f->enc.tally, o);
    }
    if (f->bad.n > 0) {
        rows_room(f, n_block);
        if (n_block > 0) memset(f->mark, 0, (size_t)n_block);
        for (int64_t i = 0; i < f->bad.n; i++) {
            int64_t row = f->bad.rows[i];
            if (row < 0 || row >= n_block)
                s->n_bad++;
            else if (!f->mark[row]) {
                f->mark[row] = 1;
                s->n_bad++;
            }
        }
        n_good = 0;
        for (int64_t i = 0; i < n; i++) {
            if (!f->mark[rows_of ? rows_of[i] : i]) f->good[n_good++] = (cr_rowref){0, (uint32_t)i};
        }
        keep_bad(f, s);
    }
    if (n_good > 0) CR_TRY(o->shuffle || n_good < n ? copy(f, s, n_good) : take_over(f, s));
    f->encode_s = cr_thread_cpu() - t1;
    cr_trace_end(o->trace, f->row, CR_STAGE_FEATURES, span);
    return CR_OK;
}
