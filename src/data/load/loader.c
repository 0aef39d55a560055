/*
 * loader.c - the workers, and the way in and out.
 *
 *   cutter -> slots -> sequencer -> windows -> planner -> parcels -> the caller
 *
 * The cutter makes slots out of blocks, the sequencer puts done slots in order into windows, and
 * the planner makes batches of windows. Each is a struct of its own that knows only the queue
 * before it and the queue behind it; the loader owns them, the lock and the threads.
 *
 * There is one kind of thread. A worker looks for the work nearest to the caller: assemble a
 * planned batch, else put the next encoded block into the stream, else cut a block and parse and
 * encode it at once, while it is in the cache. No work waits for other work, so any number of
 * threads (one, too) goes on. Backpressure: no cut while about one window and two batches of rows
 * lie ready. Nothing that decides on content looks at time.
 */
#include "data/load/loader.h"

#include <signal.h>
#include <string.h>

#include "base/cpu.h"
#include "base/guard.h"
#include "data/files.h"
#include "data/load/cutter.h"
#include "data/load/fill.h"
#include "data/load/mix.h"
#include "data/load/planner.h"
#include "data/load/sequencer.h"

/* Bytes for a block of text, the places of its fields, and its encoded rows. */
#define CSV_HAND ((size_t)4 << 20)

struct cr_loader {
    cr_mix *mix; /* the training data has several sources, and nothing below is used; NULL: one */
    cr_loader_opts o;
    cr_items in;
    pthread_mutex_t lock; /* guards everything below, except what the parts keep for one worker */
    pthread_cond_t work, ready; /* for workers; for the caller */
    pthread_t *threads;
    int n_threads;
    int n_rows_traced; /* workers that have a row in the trace */
    atomic_bool stop;
    cr_cutter cut;
    cr_slots slots;
    cr_sequencer seq;
    cr_windows windows;
    cr_planner plan;
    cr_loader_stats stats;
    double row_bytes, slot_bytes; /* bytes of a row, the most of any block so far; see fill.h */
    /* These belong to the caller. */
    void *tally;   /* of what was given out */
    bool finished; /* the caller has seen the end */
    cr_err failed; /* the caller has seen an error */
};

/* ---- the workers ---- */

/* wanted tells whether further blocks may be read. */
static bool wanted(const cr_loader *l) {
    return !l->seq.over && !l->plan.over &&
           l->windows.rows + l->seq.open_rows < l->seq.full + 2 * l->o.batch_size;
}

static bool may_cut(const cr_loader *l) {
    return !l->cut.busy && !l->cut.over && l->slots.n < l->n_threads + 2 && wanted(l);
}

/* filled notes that the rows of a slot are there, or that it failed. read_s is the CPU time of
 * reading. */
static void filled(cr_loader *l, const cr_filler *f, const cr_raw *raw, double read_s, cr_slot *s,
                   cr_code code) {
    s->code = code;
    s->done = true;
    l->stats.bytes += (int64_t)raw->size;
    l->stats.read_s += read_s;
    l->stats.parse_s += f->parse_s;
    l->stats.encode_s += f->encode_s;
    if (f->row_bytes > l->row_bytes) l->row_bytes = f->row_bytes;
    if (f->slot_bytes > l->slot_bytes) l->slot_bytes = f->slot_bytes;
    pthread_cond_broadcast(&l->work);
}

/* do_block cuts the next block and fills its slot. */
static void do_block(cr_loader *l, cr_filler *f, cr_raw *raw) {
    l->cut.busy = true;
    cr_slot *s = cr_slots_new(&l->slots);
    pthread_mutex_unlock(&l->lock);
    double t0 = cr_thread_cpu(), span = cr_trace_begin(l->o.trace);
    bool over = cr_cutter_next(&l->cut, raw, s);
    cr_trace_end(l->o.trace, f->row, CR_STAGE_READ, span);
    double read_s = cr_thread_cpu() - t0;
    bool block = s->code == CR_OK && !s->end;
    pthread_mutex_lock(&l->lock);
    cr_slots_push(&l->slots, s);
    l->cut.busy = false;
    if (over) l->cut.over = true;
    s->done = !block;
    pthread_cond_broadcast(&l->work);
    if (!block) return;
    pthread_mutex_unlock(&l->lock);
    cr_code code = cr_fill(f, raw, s);
    pthread_mutex_lock(&l->lock);
    filled(l, f, raw, read_s, s, code);
}

/* do_rows fills a slot whose rows are known, with the hand it was given. */
static void do_rows(cr_loader *l, cr_filler *f, cr_slot *s) {
    int64_t hints[CR_CUTTER_HINTS];
    int n_hints = cr_cutter_hints(&l->cut, s->epoch == l->cut.epoch ? s->unit >> 32 : 0, hints);
    pthread_mutex_unlock(&l->lock);
    cr_cutter_hint(&l->cut, hints, n_hints);
    cr_raw *raw = &l->cut.hands.raw[s->hand];
    double t0 = cr_thread_cpu(), span = cr_trace_begin(l->o.trace);
    bool end = false;
    raw->from = s->base + s->lead;
    raw->n_rows = s->n_read;
    cr_code code = l->in.reader->cut(l->in.src, s->file, s->block, raw, &end, &s->err);
    cr_trace_end(l->o.trace, f->row, CR_STAGE_READ, span);
    double read_s = cr_thread_cpu() - t0;
    f->parse_s = f->encode_s = 0;
    if (code == CR_OK) code = cr_fill(f, raw, s);
    pthread_mutex_lock(&l->lock);
    l->cut.hands.busy[s->hand] = false;
    filled(l, f, raw, read_s, s, code);
}

static void do_sequence(cr_loader *l) {
    cr_slot *s = cr_slots_pop(&l->slots);
    l->seq.busy = true;
    pthread_mutex_unlock(&l->lock);
    cr_sequencer_put(&l->seq, s);
    pthread_mutex_lock(&l->lock);
    l->seq.busy = false;
    cr_planner_run(&l->plan);
    pthread_cond_broadcast(&l->work);
    pthread_cond_signal(&l->ready); /* an end or an error is ready at once */
}

static void do_assemble(cr_loader *l, cr_parcel *x, int row) {
    x->started = true;
    pthread_mutex_unlock(&l->lock);
    double span = cr_trace_begin(l->o.trace);
    cr_code code = cr_gather(&x->batch, NULL, &x->mem, x->shape, x->runs, x->n_runs, &x->err);
    cr_trace_end(l->o.trace, row, CR_STAGE_BATCH, span);
    pthread_mutex_lock(&l->lock);
    if (code != CR_OK) x->kind = CR_PARCEL_FAILED;
    cr_planner_done(&l->plan, x);
    pthread_cond_signal(&l->ready);
    pthread_cond_broadcast(&l->work);
}

static void *work(void *arg) {
    cr_loader *l = arg;
    const bool known = cr_items_known(&l->in);
    cr_filler f;
    cr_raw raw = {0};
    pthread_mutex_lock(&l->lock);
    cr_filler_init(&f, &l->in, cr_trace_row(l->o.trace, "data", ++l->n_rows_traced));
    while (!atomic_load(&l->stop)) {
        cr_parcel *x = cr_planner_todo(&l->plan);
        cr_slot *s;
        if (x)
            do_assemble(l, x, f.row);
        else if (!l->seq.busy && !l->seq.over && l->slots.head && l->slots.head->done)
            do_sequence(l);
        else if (known && !l->seq.over && !l->plan.over && cr_cutter_feed(&l->cut, l->n_threads))
            pthread_cond_broadcast(&l->work);
        else if (known && wanted(l) && (s = cr_cutter_pick(&l->cut)))
            do_rows(l, &f, s);
        else if (!known && may_cut(l))
            do_block(l, &f, &raw);
        else {
            double span = cr_trace_begin(l->o.trace);
            pthread_cond_wait(&l->work, &l->lock);
            cr_trace_end(l->o.trace, f.row, CR_STAGE_WAIT, span);
        }
    }
    pthread_mutex_unlock(&l->lock);
    cr_free(raw.text);
    cr_filler_clear(&f);
    return NULL;
}

/* ---- in and out ---- */

/* start goes to the position where the run begins. */
static cr_code start(cr_loader *l, cr_err *err) {
    int64_t skip;
    CR_TRY(cr_cutter_start(&l->cut, &skip, err));
    cr_sequencer_start(&l->seq, skip);
    if (cr_items_known(&l->in)) l->stats.total_rows = cr_hands_all(&l->cut.hands, &l->in);
    l->finished = l->o.n_epochs > 0 && l->o.start.epoch >= l->o.n_epochs;
    return CR_OK;
}

static cr_code start_threads(cr_loader *l, cr_err *err) {
    l->threads = cr_alloc((size_t)l->o.n_threads * sizeof(pthread_t), "threads");
    l->n_threads = l->o.n_threads;
    /* Only the main thread takes signals. */
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
        ids->n = l->in.n_files;
        ids->v = cr_alloc((size_t)(ids->n + 1) * sizeof(*ids->v), "a list of files");
        for (int64_t f = 0; f < l->in.n_files; f++)
            ids->v[f] = *l->in.reader->file_id(l->in.src, f);
        return CR_OK;
    }
    if (ids->n != l->in.n_files)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){l->o.paths, 0, 0}),
                          "these are %lld files now and were %lld when the run first read them; "
                          "keep data files as they are during a run, and start again",
                          (long long)l->in.n_files, (long long)ids->n);
    for (int64_t f = 0; f < l->in.n_files && !l->in.reader->stream; f++)
        CR_TRY(cr_file_id_check_path(&ids->v[f], l->in.reader->path(l->in.src, f), err));
    return CR_OK;
}

void cr_loader_mark(cr_loader *l, cr_data_pos pos, cr_buf *out) {
    if (l->mix) return; /* streams are not mixed */
    const cr_reader_stream *s = l->in.reader->stream;
    if (s && !s->mark(l->in.src, pos.unit & 0xffffffff, out)) cr_buf_reset(out);
}

void cr_loader_kinds(const cr_loader *l, cr_colkind *out) {
    if (l->mix) l = cr_mix_one(l->mix);
    l->in.reader->kinds(l->in.src, out);
}

void cr_loader_kept(const cr_loader *l, cr_buf *out) {
    if (l->mix) return; /* tables with sessions are not mixed */
    if (l->o.reader->kept) l->o.reader->kept(l->in.src, out);
}

cr_code cr_loader_new(cr_loader **out, const cr_loader_opts *opts, cr_diag *diag) {
    *out = NULL;
    CR_ASSERT(opts->batch_size > 0 && opts->n_threads > 0);
    CR_ASSERT(opts->share.first <= opts->share.end && opts->share.end <= opts->share.of);
    /* only a training mixes; whoever else reads several sources reads each row once */
    if (opts->mask && cr_data_sources(opts->conf, opts->paths) > 1) {
        cr_loader *l = cr_alloc(sizeof(*l), "a loader");
        cr_code code = cr_mix_new(&l->mix, opts, diag);
        if (code == CR_OK)
            *out = l;
        else
            cr_loader_free(l);
        return code;
    }
    cr_source *src;
    CR_TRY(opts->reader->open(&src, opts->conf, opts->paths, opts->want, opts->n_want, diag));
    cr_code ok = check_columns(opts, src, diag);
    if (ok != CR_OK) {
        opts->reader->close(src);
        return ok;
    }
    cr_loader *l = cr_alloc(sizeof(*l), "a loader");
    l->o = *opts;
    if (l->o.share.of == 0) l->o.share = (cr_share){0, 1, 1};
    if (opts->tally_size) l->tally = cr_alloc(opts->tally_size, "counts of the data");
    atomic_init(&l->stop, false);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->ready, NULL);
    l->windows.slots = &l->slots;
    cr_planner_init(&l->plan, &l->o, &l->windows);
    if (opts->block_bytes > 0 && opts->reader->set_block)
        opts->reader->set_block(src, opts->block_bytes);
    cr_err err = {0};
    cr_code code = cr_items_open(&l->in, &l->o, src, &err);
    if (code == CR_OK && opts->reader->stream)
        code = opts->reader->stream->begin(src, opts->places, opts->start.unit & 0xffffffff, &err);
    cr_sequencer_init(&l->seq, &l->in, &l->windows, &l->lock);
    if (code == CR_OK) code = note_files(l, &err);
    if (code == CR_OK) code = cr_cutter_open(&l->cut, &l->in, &l->slots, &l->stop, &err);
    if (code == CR_OK) code = start(l, &err);
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
    if (l->mix) {
        cr_mix_free(l->mix);
        cr_free(l);
        return;
    }
    pthread_mutex_lock(&l->lock);
    atomic_store(&l->stop, true);
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    if (l->in.reader && l->in.reader->stream) l->in.reader->stream->interrupt(l->in.src);
    for (int i = 0; i < l->n_threads; i++)
        pthread_join(l->threads[i], NULL);
    cr_planner_clear(&l->plan);
    cr_sequencer_clear(&l->seq);
    cr_windows_clear(&l->windows);
    cr_slots_clear(&l->slots);
    cr_cutter_close(&l->cut);
    cr_items_close(&l->in);
    cr_free(l->threads);
    cr_free(l->tally);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->ready);
    cr_free(l);
}

/* give_back makes a parcel free again and plans the next with it. */
static void give_back(cr_loader *l, cr_parcel *x) {
    cr_planner_return(&l->plan, x);
    cr_planner_run(&l->plan);
    pthread_cond_broadcast(&l->work);
}

cr_code cr_loader_next(cr_loader *l, cr_batch **out, bool *done, cr_err *err) {
    if (l->mix) return cr_mix_next(l->mix, out, done, err);
    *out = NULL;
    *done = l->finished;
    if (l->failed.code != CR_OK) {
        cr_err_copy(err, &l->failed);
        return l->failed.code;
    }
    if (l->finished) return CR_OK;
    pthread_mutex_lock(&l->lock);
    cr_parcel *x = cr_planner_take(&l->plan);
    if (!x) {
        double t0 = cr_now();
        while (!(x = cr_planner_take(&l->plan)))
            pthread_cond_wait(&l->ready, &l->lock);
        l->stats.wait_s += cr_now() - t0;
    }
    if (x->tally.any) l->o.tally_add(l->tally, x->tally.sum, l->o.tally_size);
    cr_code code = CR_OK;
    if (x->kind == CR_PARCEL_BATCH) {
        *out = &x->batch;
        l->stats.batches++;
        l->stats.rows += x->batch.n_rows;
    } else {
        if (x->kind == CR_PARCEL_FAILED) {
            cr_err_copy(&l->failed, &x->err);
            cr_err_copy(err, &x->err);
            code = x->err.code;
        } else
            *done = l->finished = x->last;
        give_back(l, x);
    }
    pthread_mutex_unlock(&l->lock);
    return code;
}

void cr_loader_release(cr_loader *l, cr_batch *b) {
    if (!b) return;
    if (l->mix) {
        cr_mix_release(l->mix, b);
        return;
    }
    pthread_mutex_lock(&l->lock);
    give_back(l, (cr_parcel *)(void *)b);
    pthread_mutex_unlock(&l->lock);
}

cr_data_pos cr_loader_after(const cr_batch *b) {
    return ((const cr_parcel *)(const void *)b)->after;
}

void cr_loader_get_stats(cr_loader *l, cr_loader_stats *out) {
    if (l->mix) {
        cr_mix_get_stats(l->mix, out);
        return;
    }
    pthread_mutex_lock(&l->lock);
    *out = l->stats;
    out->bad_rows = l->seq.n_bad;
    pthread_mutex_unlock(&l->lock);
}

void cr_loader_tally(cr_loader *l, void *out) {
    if (l->mix) {
        cr_mix_tally(l->mix, out);
        return;
    }
    if (!l->tally) return;
    memcpy(out, l->tally, l->o.tally_size);
    memset(l->tally, 0, l->o.tally_size);
}

bool cr_loader_divides(const cr_loader *l) {
    return !l->mix && cr_items_known(&l->in) && l->cut.hands.split;
}

bool cr_loader_first_bad(cr_loader *l, cr_err *out) {
    if (l->mix) return cr_mix_first_bad(l->mix, out);
    pthread_mutex_lock(&l->lock);
    cr_err_copy(out, &l->seq.first_bad);
    pthread_mutex_unlock(&l->lock);
    return out->code != CR_OK;
}

int64_t cr_loader_memory(cr_loader *l, bool shuffle) {
    if (l->mix) return cr_mix_memory(l->mix, shuffle);
    const cr_items *in = &l->in;
    const bool known = cr_items_known(in);
    const double G = (double)l->o.batch_size;
    pthread_mutex_lock(&l->lock);
    double packed = l->row_bytes, held = l->slot_bytes;
    pthread_mutex_unlock(&l->lock);
    if (shuffle) held = packed; /* rows that wait to be shuffled are packed too */
    int hands = known && shuffle ? in->reader->hands(in->src) : l->o.n_threads;
    /* One window is given out while another is filled, and batches are on their way. */
    double waiting = 2.0 * (double)cr_window_rows(&l->o, shuffle) + 2 * G,
           batches = CR_LOADER_AHEAD * G;
    if (known && !shuffle) waiting += (double)l->cut.hands.max_queued;
    double all = known ? (double)l->stats.total_rows : 0;
    if (all > 0 && waiting > 3 * all) waiting = 3 * all;
    if (all > 0 && batches > 3 * all - waiting) batches = 3 * all - waiting;
    size_t hand = known ? in->reader->hand_bytes(in->src) : CSV_HAND;
    return cr_i64_from(waiting * held + batches * packed + (double)hands * (double)hand);
}
