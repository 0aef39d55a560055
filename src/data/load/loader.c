/*
 * loader.c - the workers: cut, parse, encode, assemble; and the way in and out.
 *
 * There is one kind of thread. A worker looks for the work nearest to the caller: assemble a
 * planned batch, else put the next encoded block into the stream, else cut a block and parse and
 * encode it at once, while it is in the cache. No work waits for other work, so any number of
 * threads (one, too) goes on. Backpressure: no cut while about one window and two batches of rows
 * lie ready.
 */
#include "data/load/loader.h"

#include <signal.h>
#include <string.h>

#include "base/cpu.h"
#include "base/guard.h"
#include "base/rng.h"
#include "data/load/loader_int.h"
#include "data/load/shuffle.h"

/* a block of text, the places of its fields, its rows encoded */
#define CSV_HAND ((size_t)4 << 20)

/* what one worker keeps from block to block */
typedef struct worker {
    cr_raw raw;
    cr_chunk chunk;
    cr_batch enc;
    cr_bad bad;
    uint8_t *mark; /* per row of the block: bad */
    uint8_t *hidden;
    int64_t cap_hidden;
    int32_t *kept; /* rows of the block on the side that is wanted */
    int64_t cap_kept;
    cr_rowref *good;
    int64_t cap_rows;
    double read_s, parse_s, encode_s;
    double row_bytes; /* encoded, of the last block */
    int row;          /* in the trace */
} worker;

/* ---- cut ---- */

int64_t cr_loader_file_of(const cr_loader *l, int64_t item) {
    int64_t a = 0, z = l->n_files;
    while (z - a > 1) {
        int64_t m = (a + z) / 2;
        if (l->first_item[m] <= item)
            a = m;
        else
            z = m;
    }
    return a;
}

int cr_loader_hints(cr_loader *l, int64_t now, int64_t out[CR_LOADER_HINTS]) {
    int n = 0;
    bool dealt = !l->known || l->o.shuffle; /* else the order is that of the files */
    if (!l->reader->will_need || l->split || (dealt && l->order_epoch != l->epoch)) return 0;
    if (l->hint_epoch != l->epoch + 1) {
        l->hint_epoch = l->epoch + 1; /* 0: none yet */
        l->hint = now;
    }
    for (; l->hint < l->n_items && l->hint < now + CR_LOADER_HINTS && n < CR_LOADER_HINTS;
         l->hint++)
        out[n++] = dealt ? l->order[l->hint] : l->hint;
    return n;
}

void cr_loader_hint(cr_loader *l, const int64_t *items, int n) {
    for (int i = 0; i < n; i++) {
        int64_t file = cr_loader_file_of(l, items[i]);
        if (!l->front[file]) l->reader->will_need(l->src, file, items[i] - l->first_item[file]);
    }
}

/* skip_front comes to the block a run starts with in a file that can only be read from its
 * beginning. */
static cr_code skip_front(cr_loader *l, int64_t file, cr_raw *raw, cr_err *err) {
    bool end = false;
    for (int64_t b = 0; b < l->block && !end; b++) {
        if (atomic_load(&l->stop)) return cr_fail(err, CR_ESTOP, "stopped");
        CR_TRY(l->reader->cut(l->src, file, b, raw, &end, err));
    }
    if (!end) return CR_OK;
    return cr_fail_at(err, CR_EDATA, ((cr_loc){l->reader->path(l->src, file), 0, 0}),
                      "the file is shorter than the saved position; the files changed since the "
                      "checkpoint was made");
}

/* cut_next cuts the next block of the stream, or finds the epoch's end. By the holder of `cutting`.
 * Returns true when nothing comes after it. */
static bool cut_next(cr_loader *l, cr_raw *raw, cr_slot *s) {
    for (;;) {
        s->epoch = l->epoch;
        if (l->order_epoch != l->epoch) {
            cr_shuffle_items(l->order, l->n_items, l->o.shuffle, l->o.seed, l->epoch);
            l->order_epoch = l->epoch;
        }
        s->unit = l->item << 32 | l->block;
        if (l->item >= l->n_items) {
            s->end = true;
            l->epoch++;
            l->item = l->block = 0;
            return l->o.n_epochs > 0 && l->epoch >= l->o.n_epochs;
        }
        int64_t hints[CR_LOADER_HINTS];
        cr_loader_hint(l, hints, cr_loader_hints(l, l->item, hints));
        int64_t item = l->order[l->item], file = cr_loader_file_of(l, item);
        bool front = l->front[file], end = false;
        if (front && !l->front_begun && l->block > 0) s->code = skip_front(l, file, raw, &s->err);
        l->front_begun = front;
        if (s->code == CR_OK)
            s->code = l->reader->cut(l->src, file, front ? l->block : item - l->first_item[file],
                                     raw, &end, &s->err);
        if (s->code != CR_OK) return true;
        if (front && !end) {
            l->block++;
        } else {
            l->item++;
            l->block = 0;
            l->front_begun = false;
        }
        if (front && end) continue;
        s->next_unit = l->item << 32 | l->block;
        s->file = file;
        s->offset = raw->offset;
        s->first_line = raw->first_line;
        return false;
    }
}

/* ---- parse and encode ---- */

static void rows_room(worker *w, int64_t n) {
    if (w->cap_rows >= n) return;
    cr_free(w->mark);
    cr_free(w->good);
    w->cap_rows = n + n / 4;
    w->mark = cr_alloc((size_t)w->cap_rows, "the rows of a block");
    w->good = cr_alloc((size_t)w->cap_rows * sizeof(*w->good), "the rows of a block");
}

static void keep_bad(worker *w, cr_slot *s) {
    if (w->bad.n == 0) return;
    if (!s->bad) s->bad = cr_alloc(CR_BAD_KEEP * sizeof(*s->bad), "a list of bad rows");
    memcpy(s->bad, w->bad.v, (size_t)w->bad.n_kept * sizeof(*s->bad));
    s->n_bad_kept = w->bad.n_kept;
}

/* hide draws which rows of the chunk are hidden. */
static void hide(const cr_loader *l, worker *w, const cr_raw *raw, int64_t epoch) {
    int64_t n = w->chunk.n_rows, first = l->known ? w->chunk.first_row : 0;
    double p = l->o.conf->sample_mask_prob;
    w->chunk.hidden = NULL;
    if (!l->o.mask || p <= 0) return;
    if (w->cap_hidden < n) {
        cr_free(w->hidden);
        w->cap_hidden = n + n / 4;
        w->hidden = cr_alloc((size_t)w->cap_hidden, "the rows of a block");
    }
    uint64_t key = cr_rng_sub(cr_rng_key(l->o.seed, "sample_mask", NULL), (uint64_t)epoch);
    key = cr_rng_sub(key, (uint64_t)raw->file);
    if (!l->known) key = cr_rng_sub(key, (uint64_t)raw->block);
    for (int64_t r = 0; r < n; r++)
        w->hidden[r] = cr_rng_f64(key, (uint64_t)(first + r)) < p;
    w->chunk.hidden = w->hidden;
}

/* split leaves the rows of one side in the chunk. What was reported of rows on the other side is
 * told by the loader that reads that side; rows without a side belong to the training. */
static void split(const cr_loader *l, worker *w, const cr_raw *raw) {
    int64_t n = w->chunk.n_rows;
    if (l->o.split.side == CR_ALL_ROWS) return;
    if (w->cap_kept < n) {
        cr_free(w->kept);
        w->cap_kept = n + n / 4;
        w->kept = cr_alloc((size_t)w->cap_kept * sizeof(*w->kept), "the rows of a block");
    }
    int64_t n_kept = cr_split_rows(&l->o.split, &w->chunk, l->known ? -1 : raw->block, w->kept);
    if (w->bad.n > 0) {
        rows_room(w, n);
        if (n > 0) memset(w->mark, 0, (size_t)n);
        for (int64_t i = 0; i < n_kept; i++)
            w->mark[w->kept[i]] = 1;
        cr_bad_keep(&w->bad, w->mark, w->chunk.lines, l->o.split.side == CR_TRAIN_ROWS);
    }
    cr_split_chunk(&w->chunk, w->kept, n_kept);
    w->bad.rows_of = w->kept;
}

/* process fills the slot with the good rows of a raw block. */
static cr_code process(cr_loader *l, worker *w, const cr_raw *raw, cr_slot *s) {
    cr_bad_reset(&w->bad);
    w->bad.rows_of = NULL;
    double t0 = cr_thread_cpu(), span = cr_trace_begin(l->o.trace);
    CR_TRY(l->reader->parse(l->src, raw, &w->chunk, &w->bad, &s->err));
    double t1 = cr_thread_cpu();
    span = cr_trace_end(l->o.trace, w->row, CR_STAGE_PARSE, span);
    w->parse_s += t1 - t0;
    int64_t n_block = w->chunk.n_rows;
    hide(l, w, raw, s->epoch);
    split(l, w, raw);
    int64_t n = w->chunk.n_rows, n_good = n;
    const int32_t *rows_of = w->bad.rows_of;
    if (n > 0) {
        cr_arena arena = w->enc.arena;
        cr_arena_reset(&arena);
        w->enc = (cr_batch){.arena = arena, .n_rows = n};
        CR_TRY(l->o.encode(l->o.encode_ctx, &w->chunk, &w->enc, &w->bad, &s->err));
        w->enc.n_rows = n;
        if (l->o.tally_size) {
            if (!s->tally) s->tally = cr_alloc(l->o.tally_size, "counts of a block");
            memcpy(s->tally, w->enc.tally, l->o.tally_size);
            s->counted = true;
        }
    }
    if (w->bad.n > 0) {
        rows_room(w, n_block);
        if (n_block > 0) memset(w->mark, 0, (size_t)n_block);
        for (int64_t i = 0; i < w->bad.n; i++) {
            int64_t row = w->bad.rows[i];
            if (row < 0 || row >= n_block)
                s->n_bad++;
            else if (!w->mark[row]) {
                w->mark[row] = 1;
                s->n_bad++;
            }
        }
        n_good = 0;
        for (int64_t i = 0; i < n; i++) {
            if (!w->mark[rows_of ? rows_of[i] : i]) w->good[n_good++] = (cr_rowref){0, (uint32_t)i};
        }
        keep_bad(w, s);
    }
    if (n_good > 0) {
        const cr_batch *src = &w->enc;
        cr_row_run run = {&src, NULL, 1, n_good < n ? w->good : NULL, 0, n_good};
        CR_TRY(cr_gather(&s->rows, l->o.shuffle ? &s->rec : NULL, &s->mem, src, &run, 1, &s->err));
        w->row_bytes = (double)s->mem.used / (double)n_good;
    }
    w->encode_s += cr_thread_cpu() - t1;
    cr_trace_end(l->o.trace, w->row, CR_STAGE_FEATURES, span);
    return CR_OK;
}

/* ---- the workers ---- */

cr_slot *cr_loader_slot(cr_loader *l) {
    cr_slot *s = l->free_slots;
    if (s)
        l->free_slots = s->next;
    else
        s = cr_alloc(sizeof(*s), "a block of rows");
    s->next = NULL;
    s->done = s->end = s->started = s->counted = false;
    s->base = s->lead = 0;
    s->n_stands = s->first_row = -1;
    s->block_end = true;
    s->rows.n_rows = s->n_read = s->n_bad = s->n_bad_kept = 0;
    s->code = CR_OK;
    return s;
}

void cr_loader_queue(cr_loader *l, cr_slot *s) {
    if (l->tail)
        l->tail->next = s;
    else
        l->head = s;
    l->tail = s;
    l->n_pending++;
    l->queued += s->n_read;
}

static bool may_cut(const cr_loader *l) {
    return !l->cutting && !l->cut_over && !l->plan_over && l->n_pending < l->n_threads + 2 &&
           l->closed_rows + l->open_rows < l->W + 2 * l->G;
}

static void do_block(cr_loader *l, worker *w) {
    l->cutting = true;
    cr_slot *s = cr_loader_slot(l);
    pthread_mutex_unlock(&l->lock);
    double t0 = cr_thread_cpu(), span = cr_trace_begin(l->o.trace);
    bool over = cut_next(l, &w->raw, s);
    cr_trace_end(l->o.trace, w->row, CR_STAGE_READ, span);
    w->read_s = cr_thread_cpu() - t0;
    w->parse_s = w->encode_s = 0;
    bool work = s->code == CR_OK && !s->end;
    pthread_mutex_lock(&l->lock);
    cr_loader_queue(l, s);
    l->cutting = false;
    if (over) l->cut_over = true;
    s->done = !work;
    pthread_cond_broadcast(&l->work);
    if (!work) return;
    pthread_mutex_unlock(&l->lock);
    cr_code code = process(l, w, &w->raw, s);
    pthread_mutex_lock(&l->lock);
    s->code = code;
    s->done = true;
    l->stats.bytes += (int64_t)w->raw.size;
    l->stats.read_s += w->read_s;
    l->stats.parse_s += w->parse_s;
    l->stats.encode_s += w->encode_s;
    if (w->row_bytes > l->row_bytes) l->row_bytes = w->row_bytes;
    pthread_cond_broadcast(&l->work);
}

/* do_rows: a slot whose rows are known, with the hand it was given */
static void do_rows(cr_loader *l, worker *w, cr_slot *s) {
    int64_t hints[CR_LOADER_HINTS];
    int n_hints = cr_loader_hints(l, s->epoch == l->epoch ? s->unit >> 32 : 0, hints);
    pthread_mutex_unlock(&l->lock);
    cr_loader_hint(l, hints, n_hints);
    cr_raw *raw = &l->hands[s->hand];
    double t0 = cr_thread_cpu(), span = cr_trace_begin(l->o.trace);
    bool end = false;
    raw->from = s->base + s->lead;
    raw->n_rows = s->n_read;
    w->parse_s = w->encode_s = 0;
    cr_code code = l->reader->cut(l->src, s->file, s->block, raw, &end, &s->err);
    cr_trace_end(l->o.trace, w->row, CR_STAGE_READ, span);
    w->read_s = cr_thread_cpu() - t0;
    if (code == CR_OK) code = process(l, w, raw, s);
    pthread_mutex_lock(&l->lock);
    s->code = code;
    s->done = true;
    l->busy[s->hand] = false;
    l->stats.bytes += (int64_t)raw->size;
    l->stats.read_s += w->read_s;
    l->stats.parse_s += w->parse_s;
    l->stats.encode_s += w->encode_s;
    if (w->row_bytes > l->row_bytes) l->row_bytes = w->row_bytes;
    pthread_cond_broadcast(&l->work);
}

static void do_sequence(cr_loader *l) {
    cr_slot *s = l->head;
    l->head = s->next;
    if (!l->head) l->tail = NULL;
    l->n_pending--;
    l->queued -= s->n_read;
    l->sequencing = true;
    pthread_mutex_unlock(&l->lock);
    cr_plan_slot(l, s);
    pthread_mutex_lock(&l->lock);
    l->sequencing = false;
    cr_plan_jobs(l);
    pthread_cond_broadcast(&l->work);
    pthread_cond_signal(&l->ready); /* an end or an error is ready at once */
}

static void do_assemble(cr_loader *l, cr_job *j, int row) {
    j->started = true;
    pthread_mutex_unlock(&l->lock);
    double span = cr_trace_begin(l->o.trace);
    cr_code code = cr_gather(&j->batch, NULL, &j->mem, j->shape, j->runs, j->n_runs, &j->err);
    cr_trace_end(l->o.trace, row, CR_STAGE_BATCH, span);
    pthread_mutex_lock(&l->lock);
    if (code != CR_OK) j->kind = CR_JOB_FAILED;
    cr_plan_done(l, j);
    pthread_cond_signal(&l->ready);
    pthread_cond_broadcast(&l->work);
}

static cr_job *next_job(const cr_loader *l) {
    for (cr_job *j = l->job_head; j; j = j->next) {
        if (!j->started) return j;
    }
    return NULL;
}

static void *work(void *arg) {
    cr_loader *l = arg;
    worker w = {0};
    cr_arena_init(&w.chunk.arena, 0);
    cr_arena_init(&w.enc.arena, 0);
    pthread_mutex_lock(&l->lock);
    w.row = cr_trace_row(l->o.trace, "data", ++l->n_rows_traced);
    while (!atomic_load(&l->stop)) {
        cr_job *j = next_job(l);
        cr_slot *s;
        if (j)
            do_assemble(l, j, w.row);
        else if (!l->sequencing && !l->seq_over && l->head && l->head->done)
            do_sequence(l);
        else if (l->known && cr_rows_feed(l))
            pthread_cond_broadcast(&l->work);
        else if (l->known && (s = cr_rows_pick(l)))
            do_rows(l, &w, s);
        else if (!l->known && may_cut(l))
            do_block(l, &w);
        else {
            double span = cr_trace_begin(l->o.trace);
            pthread_cond_wait(&l->work, &l->lock);
            cr_trace_end(l->o.trace, w.row, CR_STAGE_WAIT, span);
        }
    }
    pthread_mutex_unlock(&l->lock);
    cr_free(w.raw.text);
    cr_arena_clear(&w.chunk.arena);
    cr_arena_clear(&w.enc.arena);
    cr_bad_clear(&w.bad);
    cr_free(w.mark);
    cr_free(w.hidden);
    cr_free(w.kept);
    cr_free(w.good);
    return NULL;
}

/* ---- in and out ---- */

/* find_items lists what an epoch is made of: blocks of plain files, whole compressed files. */
static cr_code find_items(cr_loader *l, cr_err *err) {
    l->n_files = l->reader->n_files(l->src);
    l->first_item = cr_alloc((size_t)(l->n_files + 1) * sizeof(int64_t), "a list of files");
    l->front = cr_alloc((size_t)l->n_files + 1, "a list of files");
    for (int64_t f = 0; f < l->n_files; f++) {
        int64_t n;
        CR_TRY(l->reader->n_blocks(l->src, f, &n, err));
        l->front[f] = n < 0;
        l->first_item[f + 1] = l->first_item[f] + (n < 0 ? 1 : n);
    }
    l->n_items = l->first_item[l->n_files];
    if (l->n_items >= INT32_MAX)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){l->o.paths, 0, 0}),
                          "%lld blocks of rows are too many for one run; use fewer files",
                          (long long)l->n_items);
    void *p;
    CR_TRY(
        cr_try_alloc(&p, (size_t)(l->n_items + 1) * sizeof(int64_t), "the order of blocks", err));
    l->order = p;
    l->order_epoch = -1;
    return CR_OK;
}

static cr_code set_start(cr_loader *l, cr_err *err) {
    const cr_data_pos *p = &l->o.start;
    l->epoch = p->epoch;
    l->item = p->unit >> 32;
    l->block = p->unit & 0xffffffff;
    l->skip = p->row;
    l->epoch_rows = p->rows - p->row;
    l->epoch_bad = p->bad_rows;
    l->epoch_batches = p->rows > 0;
    if (p->epoch < 0 || p->unit < 0 || p->row < 0 || p->rows < p->row || p->bad_rows < 0 ||
        l->item > l->n_items)
        return cr_fail_at(
            err, CR_EDATA, ((cr_loc){l->o.paths, 0, 0}),
            "the saved position (block %lld) does not fit these files, which have %lld "
            "blocks; the files changed since the checkpoint was made",
            (long long)l->item, (long long)l->n_items);
    l->finished = l->o.n_epochs > 0 && p->epoch >= l->o.n_epochs;
    return l->exact ? cr_rows_start(l, err) : CR_OK;
}

static int64_t rows_of_window(const cr_loader_opts *o, int64_t global) {
    if (!o->shuffle) return 1;
    int64_t n = o->conf->shuffle_buffer_size > 0 ? o->conf->shuffle_buffer_size : 1;
    const int64_t most = INT64_C(1) << 40;
    return n > most / global ? most : n * global;
}

static cr_code start_threads(cr_loader *l, cr_err *err) {
    l->threads = cr_alloc((size_t)l->o.n_threads * sizeof(pthread_t), "threads");
    l->n_threads = l->o.n_threads;
    /* signals are the main thread's */
    sigset_t all, old;
    sigfillset(&all);
    cr_guard_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int e = 0;
    for (int i = 0; i < l->o.n_threads && e == 0; i++) {
        e = pthread_create(&l->threads[i], NULL, work, l);
        if (e == 0) continue;
        pthread_mutex_lock(&l->lock);
        l->n_threads = i;
        pthread_mutex_unlock(&l->lock);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (e == 0) return CR_OK;
    return cr_fail(err, CR_ERUN, "cannot start a reader thread: %s%s", strerror(e),
                   cr_errno_cure(e));
}

/* check_columns lets the encoder look at what the files hold. */
static cr_code check_columns(const cr_loader_opts *o, const cr_source *src, cr_diag *diag) {
    if (!o->check) return CR_OK;
    size_t errors = diag->n_errors;
    cr_colkind *kinds = cr_alloc((size_t)(o->n_want + 1) * sizeof(*kinds), "kinds of columns");
    o->reader->kinds(src, kinds);
    o->check(o->encode_ctx, kinds, diag);
    cr_free(kinds);
    return diag->n_errors > errors ? cr_diag_code(diag) : CR_OK;
}

/* note_files fills the caller's list of files, or compares with it. */
static cr_code note_files(const cr_loader *l, cr_err *err) {
    cr_file_ids *ids = l->o.ids;
    if (!ids) return CR_OK;
    if (!ids->v) {
        ids->n = l->n_files;
        ids->v = cr_alloc((size_t)(ids->n + 1) * sizeof(*ids->v), "a list of files");
        for (int64_t f = 0; f < l->n_files; f++)
            ids->v[f] = *l->reader->file_id(l->src, f);
        return CR_OK;
    }
    if (ids->n != l->n_files)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){l->o.paths, 0, 0}),
                          "these are %lld files now and were %lld when the run first read them; "
                          "keep data files as they are during a run, and start again",
                          (long long)l->n_files, (long long)ids->n);
    for (int64_t f = 0; f < l->n_files; f++)
        CR_TRY(cr_file_id_check_path(&ids->v[f], l->reader->path(l->src, f), err));
    return CR_OK;
}

void cr_loader_kinds(const cr_loader *l, cr_colkind *out) {
    l->reader->kinds(l->src, out);
}

cr_code cr_loader_new(cr_loader **out, const cr_loader_opts *opts, cr_diag *diag) {
    *out = NULL;
    CR_ASSERT(opts->batch_size > 0 && opts->n_threads > 0);
    CR_ASSERT(opts->share.first <= opts->share.end && opts->share.end <= opts->share.of);
    cr_source *src;
    CR_TRY(opts->reader->open(&src, opts->conf, opts->paths, opts->want, opts->n_want, diag));
    cr_code ok = check_columns(opts, src, diag);
    if (ok != CR_OK) {
        opts->reader->close(src);
        return ok;
    }
    cr_loader *l = cr_alloc(sizeof(*l), "a loader");
    l->o = *opts;
    l->reader = opts->reader;
    l->src = src;
    l->G = opts->batch_size;
    if (l->o.share.of == 0) l->o.share = (cr_share){0, 1, 1};
    l->W = rows_of_window(opts, l->G);
    if (opts->tally_size) l->tally = cr_alloc(opts->tally_size, "counts of the data");
    atomic_init(&l->stop, false);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->ready, NULL);
    for (int i = 0; i < CR_LOADER_AHEAD; i++) {
        l->jobs[i].ready = true;
        l->jobs[i].next = l->free_jobs;
        l->free_jobs = &l->jobs[i];
    }
    if (opts->block_bytes > 0 && l->reader->set_block) l->reader->set_block(src, opts->block_bytes);
    cr_err err = {0};
    cr_code code = find_items(l, &err);
    if (code == CR_OK) code = note_files(l, &err);
    if (code == CR_OK && l->reader->block_rows) code = cr_rows_open(l, &err);
    if (code == CR_OK) code = set_start(l, &err);
    if (code == CR_OK && !l->finished) code = start_threads(l, &err);
    if (code != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at, "%s", err.msg);
        cr_loader_free(l);
        return code;
    }
    *out = l;
    return CR_OK;
}

void cr_loader_free(cr_loader *l) {
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    atomic_store(&l->stop, true);
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_threads; i++)
        pthread_join(l->threads[i], NULL);
    cr_plan_clear(l);
    cr_rows_close(l);
    l->reader->close(l->src);
    cr_free(l->threads);
    cr_free(l->tally);
    cr_free(l->first_item);
    cr_free(l->front);
    cr_free(l->order);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->ready);
    cr_free(l);
}

static void copy_err(cr_err *to, const cr_err *from) {
    if (!to) return;
    *to = *from;
    if (from->at.path == from->path) to->at.path = to->path;
}

/* give_back makes a job free again and plans the next with it. */
static void give_back(cr_loader *l, cr_job *j) {
    j->next = l->free_jobs;
    l->free_jobs = j;
    cr_plan_jobs(l);
    pthread_cond_broadcast(&l->work);
}

cr_code cr_loader_next(cr_loader *l, cr_batch **out, bool *done, cr_err *err) {
    *out = NULL;
    *done = l->finished;
    if (l->failed.code != CR_OK) {
        copy_err(err, &l->failed);
        return l->failed.code;
    }
    if (l->finished) return CR_OK;
    pthread_mutex_lock(&l->lock);
    if (!l->job_head || !l->job_head->ready) {
        double t0 = cr_now();
        while (!l->job_head || !l->job_head->ready)
            pthread_cond_wait(&l->ready, &l->lock);
        l->stats.wait_s += cr_now() - t0;
    }
    cr_job *j = l->job_head;
    l->job_head = j->next;
    if (!l->job_head) l->job_tail = NULL;
    if (j->counted) l->o.tally_add(l->tally, j->tally, l->o.tally_size);
    cr_code code = CR_OK;
    if (j->kind == CR_JOB_BATCH) {
        *out = &j->batch;
        l->stats.batches++;
        l->stats.rows += j->batch.n_rows;
    } else {
        if (j->kind == CR_JOB_FAILED) {
            copy_err(&l->failed, &j->err);
            copy_err(err, &j->err);
            code = j->err.code;
        } else
            *done = l->finished = j->last;
        give_back(l, j);
    }
    pthread_mutex_unlock(&l->lock);
    return code;
}

void cr_loader_release(cr_loader *l, cr_batch *b) {
    if (!b) return;
    pthread_mutex_lock(&l->lock);
    give_back(l, (cr_job *)(void *)b);
    pthread_mutex_unlock(&l->lock);
}

void cr_loader_get_stats(cr_loader *l, cr_loader_stats *out) {
    pthread_mutex_lock(&l->lock);
    *out = l->stats;
    pthread_mutex_unlock(&l->lock);
}

void cr_loader_tally(cr_loader *l, void *out) {
    if (!l->tally) return;
    memcpy(out, l->tally, l->o.tally_size);
    memset(l->tally, 0, l->o.tally_size);
}

bool cr_loader_first_bad(cr_loader *l, cr_err *out) {
    pthread_mutex_lock(&l->lock);
    *out = l->first_bad;
    pthread_mutex_unlock(&l->lock);
    if (out->at.path) out->at.path = out->path;
    return out->code != CR_OK;
}

int64_t cr_loader_memory(cr_loader *l, bool shuffle) {
    cr_loader_opts o = l->o;
    o.shuffle = shuffle;
    pthread_mutex_lock(&l->lock);
    double row = l->row_bytes;
    pthread_mutex_unlock(&l->lock);
    int hands = l->known && shuffle ? l->reader->hands(l->src) : o.n_threads;
    /* a window being given out and one being filled; batches on their way */
    double rows = 2.0 * (double)rows_of_window(&o, l->G) + (2 + CR_LOADER_AHEAD) * (double)l->G;
    if (l->known && !shuffle) rows += (double)l->max_queued;
    double all = l->known ? (double)l->stats.total_rows : 0;
    if (all > 0 && rows > 3 * all) rows = 3 * all;
    size_t hand = l->known ? l->reader->hand_bytes(l->src) : CSV_HAND;
    return cr_i64_from(rows * row + (double)hands * (double)hand);
}
