/*
 * save.c - writes a checkpoint, which is then either whole or absent.
 *
 * Everything goes into a hidden directory beside the final name; each file is synced, then the
 * directory, then one rename makes the checkpoint appear, then the parent is synced. A kill at any
 * moment leaves either no new checkpoint or all of it. Replacing a checkpoint of the same step
 * swaps two directories in one system call. Where the file system cannot do that, the old one is
 * first renamed; after a kill cr_ckpt_sweep gives it its name back.
 *
 * Several holders write the files together (cut.c, fill.c); the first one makes the directory and
 * renames it. With room for a copy of the bytes, a thread writes them while the caller goes on.
 */
#include "ckpt/save_int.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/guard.h"
#include "base/log.h"
#include "launch/parts.h"

void cr_ckpt_get_flat(void *ctx, int64_t first, int64_t n, float *out) {
    memcpy(out, (const float *)ctx + first, (size_t)n * sizeof(float));
}

void cr_ckpt_put_flat(void *ctx, int64_t first, int64_t n, const float *in) {
    memcpy((float *)ctx + first, in, (size_t)n * sizeof(float));
}

void cr_ckpt_get_rows(void *ctx, int64_t first, int64_t n, float *out) {
    const cr_ckpt_rows *r = ctx;
    while (n > 0) {
        int64_t row = first / r->width, col = first % r->width, m = r->width - col;
        if (m > n) m = n;
        memcpy(out, r->base + row * r->stride + col, (size_t)m * sizeof(float));
        out += m;
        first += m;
        n -= m;
    }
}

void cr_ckpt_put_rows(void *ctx, int64_t first, int64_t n, const float *in) {
    const cr_ckpt_rows *r = ctx;
    while (n > 0) {
        int64_t row = first / r->width, col = first % r->width, m = r->width - col;
        if (m > n) m = n;
        memcpy(r->base + row * r->stride + col, in, (size_t)m * sizeof(float));
        in += m;
        first += m;
        n -= m;
    }
}

static cr_code write_small(const char *dir, const char *name, const char *text, size_t n,
                           cr_manifest *m, cr_err *err) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_manifest_add(m, name, (int64_t)n, cr_digest_of(text, n));
    cr_code code = cr_file_write(cr_path_join(&a, dir, name), text, n, err);
    cr_arena_clear(&a);
    return code;
}

/* ---- the files of weights that this holder writes ---- */

typedef struct writer {
    ckpt_cut *cut;
    const char *dir;
    cr_st_stream *file; /* the one that is being written */
} writer;

/* Adds bytes to a file. With the first ones it is opened, with the last ones it is synced. */
static cr_code write_bytes(void *ctx, int file, const void *data, size_t n, bool last,
                           cr_err *err) {
    writer *w = ctx;
    ckpt_cut_file *f = &w->cut->files[file];
    cr_code code = CR_OK;
    if (!w->file) {
        cr_arena a;
        cr_arena_init(&a, 0);
        code = cr_st_begin(&w->file, cr_path_join(&a, w->dir, f->name), err);
        if (code == CR_OK) code = cr_st_put(w->file, f->head.data, f->head.n, err);
        cr_arena_clear(&a);
    }
    if (code == CR_OK) code = cr_st_put(w->file, data, n, err);
    if (code != CR_OK) {
        cr_st_abort(w->file);
    } else if (last) {
        code = cr_st_end(w->file, NULL, &f->digest, err);
    } else {
        return CR_OK;
    }
    w->file = NULL;
    return code;
}

/* Writes index.json and features.json, and adds all files to the manifest. */
static cr_code write_texts(const char *dir, const ckpt_cut *c, const char *features, cr_manifest *m,
                           cr_err *err) {
    for (int i = 0; i < c->n_files; i++)
        cr_manifest_add(m, c->files[i].name, (int64_t)c->files[i].head.n + c->files[i].bytes,
                        c->files[i].digest);
    CR_TRY(write_small(dir, CKPT_INDEX, c->index.data, c->index.n, m, err));
    return features ? write_small(dir, CKPT_FEATURES, features, strlen(features), m, err) : CR_OK;
}

/* Collective: tells all holders the digests of all files. */
static void share_digests(ckpt_cut *c, const cr_meet *m) {
    if (!m) return;
    size_t *at = CR_NEW_N(&c->arena, size_t, m->n + 1);
    uint64_t *all = CR_NEW_N(&c->arena, uint64_t, c->n_files + 1);
    for (int pass = 0; pass < 2; pass++) {
        size_t k = 0;
        for (int h = 0; h < m->n; h++) {
            at[h] = k * sizeof *all;
            for (int i = 0; i < c->n_files; i++) {
                ckpt_cut_file *f = &c->files[i];
                if (f->writer != h) continue;
                if (pass == 0 && h == m->self) all[k] = f->digest;
                if (pass == 1) f->digest = all[k];
                k++;
            }
        }
        at[m->n] = k * sizeof *all;
        if (pass == 0) m->gather(m->ctx, all, at);
    }
}

/* Writes what the first holder alone writes. */
static cr_code finish_tensors(const char *dir, const ckpt_cut *cut, const cr_ckpt_save_opts *o,
                              cr_err *err) {
    cr_manifest *own = o->manifest ? NULL : cr_manifest_new();
    cr_code code = write_texts(dir, cut, o->features, own ? own : o->manifest, err);
    if (code == CR_OK && own) code = cr_manifest_add_dir(own, dir, err);
    if (code == CR_OK && own) code = cr_manifest_write(own, dir, err);
    cr_manifest_free(own);
    return code;
}

cr_code cr_ckpt_write_tensors(const char *dir, const cr_ckpt_tensor *v, int n,
                              const cr_ckpt_save_opts *opts, cr_err *err) {
    static const cr_ckpt_save_opts none;
    const cr_ckpt_save_opts *o = opts ? opts : &none;
    const cr_meet *m = o->meet;
    int64_t limit = o->shard_bytes > 0 ? o->shard_bytes : CKPT_EXPORT_FILE;
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_ckpt_tensor *all;
    int n_all;
    ckpt_cut cut = {0};
    writer w = {.cut = &cut, .dir = dir};
    ckpt_fill fill = {.cut = &cut, .meet = m, .pool = o->pool, .take = write_bytes, .ctx = &w};
    cr_code code = cr_ckpt_expand(&a, v, n, m, &all, &n_all, err);
    if (code == CR_OK) code = cr_ckpt_cut_init(&cut, all, n_all, limit, o->whole, m, err);
    code = cr_ckpt_agree(m, code, err);
    if (code == CR_OK) {
        code = cr_ckpt_fill(&fill, err);
        cr_st_abort(w.file); /* another holder failed in the middle of a file */
        code = cr_ckpt_agree(m, code, err);
    }
    if (code == CR_OK) {
        share_digests(&cut, m);
        if (!m || m->self == 0) code = finish_tensors(dir, &cut, o, err);
        code = cr_ckpt_agree(m, code, err);
    }
    cr_ckpt_cut_clear(&cut);
    cr_arena_clear(&a);
    return code;
}

static void state_text(cr_buf *text, const cr_ckpt_state *state) {
    cr_ckpt_state s = *state;
    if (!s.version) s.version = CR_VERSION;
    if (!s.cpu) s.cpu = cr_cpu_level_name(cr_cpu_level_max());
    cr_ckpt_state_write(text, &s);
}

static cr_code write_state(const char *dir, const cr_buf *text, cr_err *err) {
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_code code = cr_file_write(cr_path_join(&a, dir, CKPT_STATE), text->data, text->n, err);
    cr_arena_clear(&a);
    return code;
}

cr_code cr_ckpt_save_state(const char *ckpt_dir, const cr_ckpt_state *state, cr_err *err) {
    cr_buf text;
    cr_buf_init(&text);
    state_text(&text, state);
    cr_code code = write_state(ckpt_dir, &text, err);
    cr_buf_clear(&text);
    return code;
}

/* ---- the swap ---- */

/* Makes tmp appear as path. If a directory was there, it ends up in *trash. */
static cr_code publish(cr_arena *a, const char *model_dir, const char *tmp, const char *path,
                       const char **trash, cr_err *err) {
    cr_fs_why why;
    *trash = NULL;
    if (tmp == path) return CR_OK; /* the manifest, which is written last, marks it as whole */
    if (!cr_path_exists(path)) {
        int e = cr_fs_move_path(tmp, path, CR_MOVE_OVER, &why);
        return e == 0 ? CR_OK : cr_fs_fail(err, path, "rename the new checkpoint", e, &why);
    }
    if (cr_fs_move_path(tmp, path, CR_MOVE_SWAP, &why) == 0) {
        *trash = tmp;
        return CR_OK;
    }
    char *old =
        cr_arena_printf(a, "%s/" CKPT_OLD "%s-%d", model_dir, cr_path_base(path), (int)getpid());
    int e = cr_fs_move_path(path, old, CR_MOVE_OVER, &why);
    if (e != 0) return cr_fs_fail(err, path, "set the old checkpoint aside", e, &why);
    e = cr_fs_move_path(tmp, path, CR_MOVE_OVER, &why);
    if (e != 0) {
        cr_code code = cr_fs_fail(err, path, "rename the new checkpoint", e, &why);
        if (cr_fs_move_path(old, path, CR_MOVE_OVER, &why) != 0)
            CR_WARN("%s: the old checkpoint is kept as %s", path, old);
        return code;
    }
    *trash = old;
    return CR_OK;
}

/* ---- a checkpoint ---- */

struct cr_ckpt_saving {
    cr_arena arena;
    const cr_meet *meet; /* NULL: there is one holder */
    char *model_dir, *path;
    char *tmp; /* where the files are written */
    ckpt_cut cut;
    cr_buf state;            /* text of state.json */
    const char *features;    /* text of features.json; NULL: none */
    cr_ckpt_room own, *room; /* memory of the copy; room is own, or the caller's */
    int64_t copied;          /* bytes of the files that this holder writes, in room; 0: no copy */
    char **where;            /* the place of each file there */
    bool running;            /* the thread is at work: */
    pthread_t thread;
    atomic_bool done;
    cr_code code; /* what became of this holder's files; only read when the thread has ended */
    cr_err err;
    double write_s; /* seconds that this took */
};

static bool is_first(const cr_ckpt_saving *s) {
    return !s->meet || s->meet->self == cr_meet_first(s->meet);
}

/* Collective: chooses the folder, whose name the first holder gives, and makes it. */
static cr_code make_dir(cr_ckpt_saving *s, int64_t step, cr_err *err) {
    int64_t pid = getpid();
    const cr_meet *m = s->meet;
    if (m) {
        size_t *at = CR_NEW_N(&s->arena, size_t, m->n + 1);
        for (int h = 1, first = cr_meet_first(m); h <= m->n; h++)
            at[h] = h > first ? sizeof pid : 0;
        m->gather(m->ctx, &pid, at);
    }
    char *name = cr_arena_printf(&s->arena, CKPT_PREFIX "%" PRId64, step);
    s->path = cr_path_join(&s->arena, s->model_dir, name);
    /* where names cannot be moved, the files are written in their final place (outdir.c) */
    s->tmp = s->path;
    bool moves = cr_store_moves(s->model_dir);
    if (moves)
        s->tmp = cr_path_join(&s->arena, s->model_dir,
                              cr_arena_printf(&s->arena, CKPT_TMP "%s-%d", name, (int)pid));
    cr_code code = CR_OK;
    if (is_first(s)) {
        code = cr_mkdirs(s->model_dir, err);
        if (code == CR_OK) code = cr_ckpt_remove_dir(s->tmp, err);
        if (code == CR_OK) code = cr_mkdirs(s->tmp, err);
    }
    CR_TRY(cr_ckpt_agree(m, code, err));
    /* in a job whose hosts share no disk, the first rank writes the files of the others */
    char *far = moves && !is_first(s) && !cr_path_is_dir(s->tmp)
                    ? cr_parts_dir(cr_meet_first(m), s->tmp, &s->arena)
                    : NULL;
    if (far)
        s->tmp = far;
    else if (moves && !is_first(s) && !cr_path_is_dir(s->tmp))
        code = cr_fail_at(err, CR_ERUN, cr_ckpt_at_path(s->tmp),
                          "the first rank made this folder, but it is not here; model_dir must lie "
                          "on a file system that all ranks share");
    return cr_ckpt_agree(m, code, err);
}

void cr_ckpt_room_clear(cr_ckpt_room *r) {
    if (r->p) cr_big_free(r->p, r->n);
    *r = (cr_ckpt_room){0};
}

/* Takes memory for the bytes of this holder's files, if they fit. */
static void make_copy(cr_ckpt_saving *s, int64_t memory, cr_ckpt_room *room) {
    int self = s->meet ? s->meet->self : 0;
    int64_t bytes = 0;
    s->room = room ? room : &s->own;
    for (int i = 0; i < s->cut.n_files; i++)
        if (s->cut.files[i].writer == self) bytes += (s->cut.files[i].bytes + 63) / 64 * 64;
    if (bytes == 0 || memory == 0 || bytes - (int64_t)s->room->n > memory) return;
    if (s->room->n < (size_t)bytes) {
        cr_ckpt_room_clear(s->room);
        if (cr_big_alloc(&s->room->p, (size_t)bytes, "a copy of the weights to write", NULL) !=
            CR_OK)
            return;
        s->room->n = (size_t)bytes;
    }
    char *p = s->room->p;
    s->copied = bytes;
    s->where = CR_NEW_N(&s->arena, char *, s->cut.n_files + 1);
    for (int i = 0; i < s->cut.n_files; i++) {
        if (s->cut.files[i].writer != self) continue;
        s->where[i] = p;
        p += (s->cut.files[i].bytes + 63) / 64 * 64;
    }
}

/* Writes the files from the copy. */
static void *write_copy(void *ctx) {
    cr_ckpt_saving *s = ctx;
    double t0 = cr_now();
    writer w = {.cut = &s->cut, .dir = s->tmp};
    for (int i = 0; i < s->cut.n_files && s->code == CR_OK; i++)
        if (s->where[i])
            s->code = write_bytes(&w, i, s->where[i], (size_t)s->cut.files[i].bytes, true, &s->err);
    s->write_s = cr_now() - t0;
    atomic_store(&s->done, true);
    return NULL;
}

/* Writes the copy in a thread, or here when no thread can be started. */
static void start_writing(cr_ckpt_saving *s) {
    sigset_t all, before; /* only the main thread takes signals */
    sigfillset(&all);
    cr_guard_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    s->running = pthread_create(&s->thread, NULL, write_copy, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!s->running) write_copy(s);
}

static void free_saving(cr_ckpt_saving *s) {
    cr_ckpt_room_clear(&s->own);
    if (s->copied > 0 && s->room != &s->own) cr_big_idle(s->room->p, s->room->n);
    cr_ckpt_cut_clear(&s->cut);
    cr_buf_clear(&s->state);
    cr_arena_clear(&s->arena);
    cr_free(s);
}

static void remove_tmp(const cr_ckpt_saving *s) {
    if (is_first(s) && cr_rmtree(s->tmp, NULL) != CR_OK)
        CR_WARN("%s: cannot be removed; delete it by hand", s->tmp);
}

cr_code cr_ckpt_save_begin(cr_ckpt_saving **out, const char *model_dir, const cr_ckpt_state *state,
                           const cr_ckpt_tensor *v, int n, const cr_ckpt_save_opts *opts,
                           cr_err *err) {
    static const cr_ckpt_save_opts none;
    const cr_ckpt_save_opts *o = opts ? opts : &none;
    const cr_meet *m = o->meet;
    cr_ckpt_tensor *all = NULL;
    int n_all = 0;
    cr_err own;
    cr_ckpt_saving *s = cr_alloc(sizeof *s, "a checkpoint");
    *out = NULL;
    s->meet = m;
    cr_arena_init(&s->arena, 0);
    cr_buf_init(&s->state);
    s->model_dir = cr_arena_strdup(&s->arena, model_dir);
    s->features = o->features ? cr_arena_strdup(&s->arena, o->features) : NULL;
    state_text(&s->state, state);
    cr_code code = cr_ckpt_expand(&s->arena, v, n, m, &all, &n_all, &own);
    if (code == CR_OK)
        code = cr_ckpt_cut_init(&s->cut, all, n_all, o->shard_bytes, o->whole, m, &own);
    code = cr_ckpt_agree(m, code, &own);
    if (code == CR_OK) code = make_dir(s, state->step, &own);
    if (code != CR_OK) {
        cr_err_copy(err, &own);
        free_saving(s);
        return code;
    }
    make_copy(s, o->memory, o->room);
    writer w = {.cut = &s->cut, .dir = s->tmp};
    ckpt_fill fill = {.cut = &s->cut,
                      .meet = m,
                      .pool = o->pool,
                      .round_bytes = o->round_bytes,
                      .where = s->where,
                      .take = write_bytes,
                      .ctx = &w};
    double t0 = cr_now();
    s->code = cr_ckpt_fill(&fill, &s->err);
    cr_st_abort(w.file); /* another holder failed in the middle of a file */
    s->write_s = cr_now() - t0;
    if (s->copied > 0)
        start_writing(s);
    else
        atomic_store(&s->done, true);
    *out = s;
    return CR_OK;
}

bool cr_ckpt_save_ready(cr_ckpt_saving *s) {
    const cr_meet *m = s->meet;
    bool ready = atomic_load(&s->done);
    if (!m) return ready;
    size_t *at = cr_alloc(sizeof *at * (size_t)(m->n + 1), "holders");
    char *all = cr_alloc((size_t)m->n, "holders");
    for (int h = 0; h <= m->n; h++)
        at[h] = (size_t)h;
    memset(all, 1, (size_t)m->n); /* a worker that was lost writes nothing */
    all[m->self] = (char)ready;
    m->gather(m->ctx, all, at);
    for (int h = 0; h < m->n; h++)
        ready = ready && all[h];
    cr_free(at);
    cr_free(all);
    return ready;
}

/* Makes the checkpoint whole and gives it its name. */
static cr_code commit(cr_ckpt_saving *s, cr_err *err) {
    const char *trash = NULL;
    cr_manifest *m = cr_manifest_new();
    cr_code code = write_texts(s->tmp, &s->cut, s->features, m, err);
    if (code == CR_OK) code = write_state(s->tmp, &s->state, err);
    if (code == CR_OK) code = cr_manifest_add_dir(m, s->tmp, err);
    if (code == CR_OK) code = cr_manifest_write(m, s->tmp, err);
    cr_manifest_free(m);
    if (code == CR_OK) code = cr_sync_dir(s->tmp, err);
    if (code == CR_OK) code = publish(&s->arena, s->model_dir, s->tmp, s->path, &trash, err);
    if (code != CR_OK) {
        remove_tmp(s);
        return code;
    }
    code = cr_sync_dir(s->model_dir, err);
    if (trash && cr_rmtree(trash, NULL) != CR_OK)
        CR_WARN("%s: cannot be removed; delete it by hand", trash);
    return code;
}

static void wait_for_thread(cr_ckpt_saving *s) {
    if (s->running) pthread_join(s->thread, NULL);
    s->running = false;
}

cr_code cr_ckpt_save_end(cr_ckpt_saving *s, cr_code mine, cr_ckpt_saved *saved, cr_err *err) {
    /* a holder that hears nothing for long takes the others for dead, so all meet now and then */
    while (s->meet && !cr_ckpt_save_ready(s))
        usleep(20000);
    wait_for_thread(s);
    if (mine != CR_OK) {
        s->code = mine;
        cr_err_copy(&s->err, err);
    }
    if (saved)
        *saved =
            (cr_ckpt_saved){s->cut.n_files, s->cut.bytes, s->copied > 0, s->copied, s->write_s};
    cr_code code = cr_ckpt_agree(s->meet, s->code, &s->err);
    if (code != CR_OK) {
        remove_tmp(s);
    } else {
        share_digests(&s->cut, s->meet);
        code = is_first(s) ? commit(s, &s->err) : CR_OK;
        code = cr_ckpt_agree(s->meet, code, &s->err);
    }
    if (code != CR_OK) cr_err_copy(err, &s->err);
    free_saving(s);
    return code;
}

cr_code cr_ckpt_save(const char *model_dir, const cr_ckpt_state *state, const cr_ckpt_tensor *v,
                     int n, const cr_ckpt_save_opts *opts, cr_err *err) {
    cr_ckpt_saving *s;
    cr_ckpt_save_opts o = opts ? *opts : (cr_ckpt_save_opts){0};
    o.memory = 0; /* nothing goes on meanwhile */
    CR_TRY(cr_ckpt_save_begin(&s, model_dir, state, v, n, &o, err));
    return cr_ckpt_save_end(s, CR_OK, NULL, err);
}

/* ---- leftovers ---- */

/* Removes what a kill left of files that are replaced whole (base/file.c), in model_dir and in
 * checkpoints. */
static cr_code sweep_files(cr_arena *a, const char *model_dir, bool alone, cr_err *err) {
    static const char *const files[] = {"pipeline.config.tmp-",    "version.tmp-",
                                        (CR_MANIFEST ".tmp-"),     "feature_counts.json.tmp-",
                                        (CR_CKPT_RESULTS ".tmp-"), "trace.json.tmp-"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        CR_TRY(cr_ckpt_remove_leftovers(model_dir, files[i], alone, err));
    int64_t *steps;
    int n;
    CR_TRY(cr_ckpt_steps(a, model_dir, &steps, &n, err));
    for (int i = 0; i < n; i++) {
        char *dir =
            cr_path_join(a, model_dir, cr_arena_printf(a, CKPT_PREFIX "%" PRId64, steps[i]));
        CR_TRY(cr_ckpt_remove_leftovers(dir, CKPT_STATE ".tmp-", alone, err));
    }
    return CR_OK;
}

cr_code cr_ckpt_sweep(const char *model_dir, bool alone, cr_err *err) {
    if (!cr_path_is_dir(model_dir)) return CR_OK;
    cr_arena a;
    cr_arena_init(&a, 0);
    char **names;
    size_t n;
    cr_code code = cr_list_dir(&a, model_dir, &names, &n, err);
    for (size_t i = 0; code == CR_OK && alone && i < n; i++) {
        char *path = cr_path_join(&a, model_dir, names[i]);
        if (cr_ckpt_step_of(names[i]) < 0 || !cr_ckpt_unfinished(path)) continue;
        CR_INFO("Removing %s, left by a run that did not finish", path);
        code = cr_ckpt_remove_dir(path, err);
    }
    /* After a kill between the two renames of publish the old checkpoint has its other name. */
    for (size_t i = 0; code == CR_OK && i < n; i++) {
        if (strncmp(names[i], CKPT_OLD CKPT_PREFIX, strlen(CKPT_OLD CKPT_PREFIX)) != 0) continue;
        char *name = cr_arena_strdup(&a, names[i] + strlen(CKPT_OLD));
        char *dash = strrchr(name, '-');
        if (dash) *dash = 0;
        if (cr_ckpt_step_of(name) < 0) continue;
        char *path = cr_path_join(&a, model_dir, name);
        if (!cr_path_exists(path))
            code = cr_rename(cr_path_join(&a, model_dir, names[i]), path, err);
    }
    if (code == CR_OK) code = cr_ckpt_remove_leftovers(model_dir, CKPT_OLD CKPT_PREFIX, alone, err);
    if (code == CR_OK) code = cr_ckpt_remove_leftovers(model_dir, CKPT_TMP CKPT_PREFIX, alone, err);
    if (code == CR_OK) code = sweep_files(&a, model_dir, alone, err);
    cr_arena_clear(&a);
    return code;
}
