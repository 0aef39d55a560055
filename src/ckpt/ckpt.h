/*
 * ckpt.h - checkpoints: save, load, choose and delete them; and directories that are written whole.
 *
 * model_dir/model.ckpt-N/ holds model-*.safetensors, optimizer-*.safetensors, index.json (which
 * tensor is where), state.json (step, data position ...) and manifest.json (size and digest of each
 * file). It is written under a hidden name, synced and renamed, so it is either whole or absent
 * (docs/formats/checkpoint.md). Tensors are abstract (get/put callbacks), so this folder knows
 * neither graph nor tables, and a checkpoint does not depend on the number of ranks or threads.
 */
#ifndef CR_CKPT_CKPT_H
#define CR_CKPT_CKPT_H

#include "base/json.h"
#include "base/pool.h"
#include "ckpt/safetensors.h"
#include "data/file_id.h"
#include "data/pos.h"
#include "graph/part.h"

#define CR_CKPT_DIMS 4

/* What to do with a tensor that has another number of rows in the checkpoint (and is the same
 * otherwise), when cr_ckpt_load_opts.allow_resize is set. New rows, and tensors that start anew,
 * keep the values that they have. */
typedef enum cr_resize {
    CR_RESIZE_NO,    /* it is an error */
    CR_RESIZE_FIRST, /* a row keeps its number: the first rows that both have are taken */
    CR_RESIZE_HASH, /* row = hash mod rows: when the table grew to a multiple, row r takes row r mod
                       old rows, and every value finds its vector again; else the table starts anew
                     */
    CR_RESIZE_LAST, /* a row keeps its distance from the end: a table that grew takes all rows, one
                       that shrank starts anew */
    CR_RESIZE_FIT,  /* it gets as many rows as the checkpoint has (cr_ckpt_tensor.fit) */
    CR_RESIZE_ANEW, /* rows have another meaning now: the tensor starts anew */
} cr_resize;

/* ---- manifest.json: name, size and digest of the files of a folder (manifest.c) ---- */
#define CR_MANIFEST "manifest.json"
typedef struct cr_manifest cr_manifest;
typedef struct cr_manifest_file {
    const char *name;
    int64_t size;
    uint64_t digest;
    bool sealed; /* the file carries its own digest: state.json, which is replaced alone */
} cr_manifest_file;
/* cr_manifest_new makes an empty manifest; _add adds a file with the size and digest that it was
 * written with, _add_dir reads all other files of a folder, _write makes manifest.json. */
cr_manifest *cr_manifest_new(void);
void cr_manifest_free(cr_manifest *m);
void cr_manifest_add(cr_manifest *m, const char *name, int64_t size, uint64_t digest);
CR_CHECKED cr_code cr_manifest_add_dir(cr_manifest *m, const char *dir, cr_err *err);
CR_CHECKED cr_code cr_manifest_write(cr_manifest *m, const char *dir, cr_err *err);
/* cr_manifest_read reads the manifest of a folder and checks it against its own digest. *out NULL:
 * the folder has none. Here and below, CR_ERUN means damage and CR_EIO a file that cannot be
 * read. */
CR_CHECKED cr_code cr_manifest_read(cr_manifest **out, const char *dir, cr_err *err);
const cr_manifest_file *cr_manifest_find(const cr_manifest *m, const char *name); /* NULL: no */
/* cr_manifest_content compares content that the caller has read from path, a file of the folder; a
 * file that is not listed is an error. cr_manifest_check_file reads a listed file and compares
 * it. */
CR_CHECKED cr_code cr_manifest_content(const cr_manifest *m, const char *path, const void *data,
                                       size_t n, cr_err *err);
CR_CHECKED cr_code cr_manifest_check_file(const cr_manifest *m, const char *name, cr_err *err);
/* cr_manifest_check reads all files, those with weights (*.safetensors) only when asked to, and
 * reports every wrong file to diag. pool and done may be NULL; it adds to the counts of done. */
typedef struct cr_checked {
    int files, damaged;
    int64_t bytes;
} cr_checked;
CR_CHECKED cr_code cr_manifest_check(const cr_manifest *m, bool weights, cr_pool *pool,
                                     cr_checked *done, cr_diag *diag);

/* A rectangle of a tensor that one holder has (graph/part.h): rows [row, end) and columns [col,
 * col_end) of the tensor seen as rows of part_width elements. */
typedef struct cr_ckpt_part {
    int holder;
    int64_t row, end;
    int64_t col, col_end;
} cr_ckpt_part;

/* One tensor of a running model. get/put move elements first .. first+n-1 in row-major order of the
 * whole tensor; n is at most 65536.
 *
 * With n_parts > 0 the elements lie with several holders, and get/put of a holder are only called
 * for elements that it has. All elements of one call lie in one rectangle of this holder: so a call
 * stays inside one row unless the rectangle has all columns. The rectangles are sorted by row, then
 * by column, cover the tensor and do not overlap, and every holder is given the same list. Calls
 * come in any order. They come from the calling thread, or from threads of cr_ckpt_save_opts.pool,
 * several at a time for different elements. */
typedef struct cr_ckpt_tensor {
    const char *name;
    int n_dims; /* 0 .. CR_CKPT_DIMS; 0: a scalar */
    int64_t shape[CR_CKPT_DIMS];
    cr_dtype dtype; /* type in the file; loading converts from any type */
    void (*get)(void *ctx, int64_t first, int64_t n, float *out);
    void (*put)(void *ctx, int64_t first, int64_t n, const float *in);
    /* Whole numbers (dtype I64, no parts): they move by these two, which a float could not hold;
     * get and put are then NULL. */
    void (*get_whole)(void *ctx, int64_t first, int64_t n, int64_t *out);
    void (*put_whole)(void *ctx, int64_t first, int64_t n, const int64_t *in);
    /* CR_RESIZE_FIT: the checkpoint decides the number of rows; called before put. */
    cr_code (*fit)(void *ctx, int64_t rows, cr_err *err);
    void *ctx;
    bool optimizer; /* it goes to optimizer-*.safetensors */
    cr_resize resize;
    /* number of last rows of the table that nothing reads; a checkpoint may lack them */
    int spare_rows;
    bool may_lack; /* where absent tensors keep their values, nothing is said of this one */
    bool in_place; /* loading only compares it: the model reads it in the mapped file */
    /* it is written as 8-bit rows with scale and offset (quant.c); 2 dimensions; dtype is not
     * used */
    bool int8_rows;
    /* Where the elements lie. n_parts 0: every holder has all of them. Else the tensor is seen as
     * rows of part_width elements, which divides their number: the width of a table, or 1 for a
     * flat cut. shape does not change: it is that of the whole tensor. */
    int64_t part_width;
    const cr_ckpt_part *parts;
    int n_parts;
} cr_ckpt_tensor;

/* Ready-made get/put: ctx is a float array that holds the elements one after another. */
void cr_ckpt_get_flat(void *ctx, int64_t first, int64_t n, float *out);
void cr_ckpt_put_flat(void *ctx, int64_t first, int64_t n, const float *in);
/* Ready-made get/put: row r of `width` floats lies at base + r * stride (a plane of a table). */
typedef struct cr_ckpt_rows {
    float *base;
    int64_t width, stride;
} cr_ckpt_rows;
void cr_ckpt_get_rows(void *ctx, int64_t first, int64_t n, float *out);
void cr_ckpt_put_rows(void *ctx, int64_t first, int64_t n, const float *in);

/* What a run needs besides tensors to continue as if it had never stopped. Texts are borrowed;
 * after cr_ckpt_open they belong to the cr_ckpt. */
typedef struct cr_ckpt_metric {
    const char *name;
    double value;
} cr_ckpt_metric;
typedef struct cr_ckpt_state {
    int64_t step;       /* N of model.ckpt-N */
    int64_t epoch;      /* number of finished epochs */
    cr_data_pos data;   /* where the data stream continues */
    const char *places; /* of a stream: the text of cr_loader_mark; NULL: files */
    cr_data_digest train_files, eval_files; /* digests of the data; zeros: not known */
    int64_t updates;                        /* optimizer updates of tables so far (Adam's t) */
    int64_t dense_updates;                  /* optimizer updates of dense parameters so far */
    int64_t averages;                       /* dense updates that are part of the averages (ema) */
    int64_t accumulated; /* batches whose gradients wait for the next dense update */
    double loss_scale;   /* of the GradScaler; 0: none */
    int64_t scale_quiet; /* dense updates since the loss scale changed */
    bool overflow;       /* a waiting batch has gradients that are not finite */
    int64_t sched_steps, sched_epochs;
    uint64_t seed;
    int lanes;
    const cr_ckpt_metric *metrics;
    int n_metrics;
    /* an evaluation of this checkpoint was due and is not recorded yet */
    bool pending;
    bool stopped;              /* a signal ended the run; no checkpoint was due */
    const char *version;       /* version of crank that wrote it; save fills it in */
    const char *cpu;           /* CPU level of the training; save fills it in */
    const char *extra;         /* free text of the caller; NULL: none */
    const char *sessions;      /* of the reader (cr_loader_kept), as text; NULL: it has none */
    const char *split;         /* which rows are kept for evaluation, as text; NULL: not known */
    const char *train_metrics; /* state of the training metrics, as text; NULL: none */
} cr_ckpt_state;

/* Memory for copies of checkpoints, which they use one after the other, because fresh memory costs
 * more than the copying. All zeros at first; cr_ckpt_room_clear frees it. Between two copies the
 * system may take its pages. */
typedef struct cr_ckpt_room {
    void *p;
    size_t n;
} cr_ckpt_room;
void cr_ckpt_room_clear(cr_ckpt_room *r);

typedef struct cr_ckpt_save_opts {
    /* bytes of a file; 0: 2 GiB for exports; for checkpoints between 64 MiB and 1 GiB, chosen by
     * the size of all tensors. A larger tensor is split by rows, */
    int64_t shard_bytes;
    bool whole; /* unless this is set: then it has a file to itself, which can be mapped */
    /* text of features.json: the meaning of the model's numbers; NULL: none */
    const char *features;
    /* For cr_ckpt_write_tensors: it adds the files of weights to this manifest; the caller adds its
     * own files and writes it. NULL: the manifest is written with the files of the folder. */
    cr_manifest *manifest;
    /* The holders of the tensors, who save together; NULL: this process has everything. Their
     * messages call them ranks. */
    const cr_meet *meet;
    cr_pool *pool; /* its threads read the tensors; NULL: the calling thread does */
    /* The rest is for checkpoints. cr_ckpt_save_begin: bytes that a copy of this holder's files may
     * take besides what room has; 0: no copy. room is kept until cr_ckpt_save_end; NULL: the copy
     * has its own memory. */
    int64_t memory;
    cr_ckpt_room *room;
    /* bytes that a holder gets from others at a time; 0: chosen, at most 8 MiB */
    int64_t round_bytes;
} cr_ckpt_save_opts;

/* cr_ckpt_lock_dir makes this process the only one that trains in model_dir, which must exist.
 * While another process trains there, it fails with CR_ERUN and names that process. The lock ends
 * with the process, however it ends, or with cr_ckpt_unlock (NULL is fine). Readers need no
 * lock. */
typedef struct cr_ckpt_lock cr_ckpt_lock;
CR_CHECKED cr_code cr_ckpt_lock_dir(cr_ckpt_lock **out, const char *model_dir, cr_err *err);
void cr_ckpt_unlock(cr_ckpt_lock *l);
/* The owner calls cr_ckpt_lock_keep before it writes, because a user may have removed the lock file
 * or the folder. It takes the lock again. CR_ERUN: model_dir is another folder now, or belongs to
 * another training. */
CR_CHECKED cr_code cr_ckpt_lock_keep(cr_ckpt_lock **l, const char *model_dir, cr_err *err);
/* cr_ckpt_lock_is_real is false where the file system has no locks; another process may then be at
 * work. */
bool cr_ckpt_lock_is_real(const cr_ckpt_lock *l);

/* cr_ckpt_sweep removes what killed runs left in model_dir: temporary directories and files. alone:
 * this process holds the lock, so it removes all of them; else only those whose process is gone. A
 * missing model_dir is fine. It is called before training. */
CR_CHECKED cr_code cr_ckpt_sweep(const char *model_dir, bool alone, cr_err *err);
/* cr_ckpt_save writes model_dir/model.ckpt-<state->step>, replacing one of that name in one step.
 * opts may be NULL. After a failure model_dir is as before (temporary files are removed).
 *
 * With opts->meet it is collective: each holder writes some of the files, which are the same for
 * any number of holders. model_dir must be a folder that all of them see. What a file needs from
 * other holders comes in rounds. Of state the first holder's is written; the step must be the same.
 * When one holder fails, all get its code and its message. */
CR_CHECKED cr_code cr_ckpt_save(const char *model_dir, const cr_ckpt_state *state,
                                const cr_ckpt_tensor *v, int n, const cr_ckpt_save_opts *opts,
                                cr_err *err);
/* The same in two steps, so that training goes on meanwhile. cr_ckpt_save_begin is collective. It
 * copies the bytes of this holder's files and starts a thread that writes them; where opts->memory
 * does not suffice for the copy it writes them at once. It takes nothing from its arguments that
 * must stay, except opts->meet and opts->room. After a failure there is nothing to end. */
typedef struct cr_ckpt_saving cr_ckpt_saving;
CR_CHECKED cr_code cr_ckpt_save_begin(cr_ckpt_saving **out, const char *model_dir,
                                      const cr_ckpt_state *state, const cr_ckpt_tensor *v, int n,
                                      const cr_ckpt_save_opts *opts, cr_err *err);
/* cr_ckpt_save_ready is collective: would cr_ckpt_save_end wait for no holder? */
bool cr_ckpt_save_ready(cr_ckpt_saving *s);
/* cr_ckpt_save_end is collective: it waits until all files are written, writes the texts and gives
 * the checkpoint its name. mine says whether this holder wants that; if it is not CR_OK, *err says
 * why not, the checkpoint fails on all holders with that message, and model_dir is as before. It
 * frees s in any case. saved may be NULL. */
typedef struct cr_ckpt_saved {
    int files;
    int64_t bytes;      /* of all tensors */
    bool in_background; /* a thread wrote this holder's files, */
    int64_t copied;     /* from a copy of so many bytes */
    double write_s;     /* seconds that this holder's files took */
} cr_ckpt_saved;
CR_CHECKED cr_code cr_ckpt_save_end(cr_ckpt_saving *s, cr_code mine, cr_ckpt_saved *saved,
                                    cr_err *err);
/* cr_ckpt_save_state rewrites only state.json of a checkpoint directory, whole or not at all. */
CR_CHECKED cr_code cr_ckpt_save_state(const char *ckpt_dir, const cr_ckpt_state *state,
                                      cr_err *err);
/* cr_ckpt_write_tensors writes shards and index.json into an existing directory (an export). The
 * format is that of a checkpoint without state.json; cr_ckpt_open reads it once it has its
 * manifest. With opts->meet it is collective, as cr_ckpt_save is: each holder writes some of the
 * shards, the first one everything else, and only its manifest is filled. The memory that it needs
 * does not depend on the size of the tensors. */
CR_CHECKED cr_code cr_ckpt_write_tensors(const char *dir, const cr_ckpt_tensor *v, int n,
                                         const cr_ckpt_save_opts *opts, cr_err *err);

/* A checkpoint that is open for reading (mapped). */
typedef struct cr_ckpt cr_ckpt;
typedef struct cr_ckpt_info {
    const char *name;
    int n_dims;
    int64_t shape[CR_ST_MAX_DIMS];
    cr_dtype dtype;
    int64_t n_elems, n_bytes;
    bool optimizer;
    bool int8_rows; /* dtype is U8; reading gives the values for which the bytes stand */
} cr_ckpt_info;
/* cr_ckpt_type_name returns "F32" and so on, "INT8" for 8-bit rows. */
const char *cr_ckpt_type_name(const cr_ckpt_info *t);
/* cr_ckpt_open compares all files except those of weights with their digests. It opens a checkpoint
 * directory, an export directory, a directory of safetensors files without index.json (made by
 * other tools), or one such file. */
CR_CHECKED cr_code cr_ckpt_open(cr_ckpt **out, const char *path, cr_err *err);
/* cr_ckpt_open_weights does not touch the files of a checkpoint's optimizer state: they may be
 * large, damaged or gone. */
CR_CHECKED cr_code cr_ckpt_open_weights(cr_ckpt **out, const char *path, cr_err *err);
void cr_ckpt_close(cr_ckpt *c);
int cr_ckpt_count(const cr_ckpt *c);
const cr_ckpt_info *cr_ckpt_at(const cr_ckpt *c, int i);              /* sorted by name */
const cr_ckpt_info *cr_ckpt_find(const cr_ckpt *c, const char *name); /* NULL: not there */
const cr_ckpt_state *cr_ckpt_get_state(const cr_ckpt *c);             /* NULL: it has none */
const char *cr_ckpt_path(const cr_ckpt *c);
bool cr_ckpt_is_export(const cr_ckpt *c);       /* an export that crank wrote, with a manifest */
const char *cr_ckpt_features(const cr_ckpt *c); /* text of features.json; NULL: it has none */
/* cr_ckpt_view returns a tensor's bytes in the mapped file, in the tensor's own type, valid while c
 * is open. It returns NULL for a tensor that is in several pieces, not 4-byte aligned or in 8-bit
 * rows; use cr_ckpt_read for those. */
const void *cr_ckpt_view(const cr_ckpt *c, const char *name);
/* cr_ckpt_read converts elements first .. first+n-1 of a tensor to float. */
CR_CHECKED cr_code cr_ckpt_read(const cr_ckpt *c, const char *name, int64_t first, int64_t n,
                                float *out, cr_err *err);
/* cr_ckpt_read_whole reads elements of a tensor of type I64. */
CR_CHECKED cr_code cr_ckpt_read_whole(const cr_ckpt *c, const char *name, int64_t first, int64_t n,
                                      int64_t *out, cr_err *err);
/* cr_ckpt_copy is for a tensor that was compared by cr_ckpt_load (in_place), under the name that it
 * has in the model: it reads elements first .. first+n-1, and 0 for spare rows that the checkpoint
 * lacks. Several threads may call it. */
void cr_ckpt_copy(const cr_ckpt *c, const char *name, int64_t first, int64_t n, float *out);
/* cr_ckpt_tell_old warns when an old version wrote the checkpoint. cr_ckpt_load calls it. */
void cr_ckpt_tell_old(const cr_ckpt *c);
/* cr_ckpt_verify reads every file of weights and compares its digest (for old versions its CRC-32).
 * Files of other tools have neither and give CR_OK. pool may be NULL. */
CR_CHECKED cr_code cr_ckpt_verify(const cr_ckpt *c, cr_pool *pool, cr_err *err);
/* cr_ckpt_digest tells whether two ranks have opened the same content, without reading all of it:
 * sizes, beginnings and ends of the files of weights, and their digests where there is a manifest.
 */
uint64_t cr_ckpt_digest(const cr_ckpt *c);

/* One line of a parameter map: the parameter `model` is called `ckpt` in the checkpoint; "-": it
 * keeps its values. */
typedef struct cr_ckpt_rename {
    const char *model, *ckpt;
    int line;
} cr_ckpt_rename;
typedef struct cr_ckpt_loaded {
    int weights, state; /* number of tensors that were read */
    int kept;           /* weights that kept their values: absent, "-", or starting anew */
    int resized;        /* weights with another number of rows */
} cr_ckpt_loaded;
typedef struct cr_ckpt_load_opts {
    /* fine tuning: absent tensors keep their values, with a warning; not all may be absent */
    bool allow_missing;
    bool allow_extra;    /* tensors of the checkpoint that the model lacks are ignored */
    bool allow_resize;   /* see cr_resize; there is one warning per weight */
    bool skip_optimizer; /* do not read optimizer tensors */
    bool no_verify;      /* do not compare checksums first */
    bool dry;            /* only compare: no put, no checksums, no warnings */
    /* Renames. The state of a renamed parameter is looked for under the other name too. map_path is
     * for messages. */
    const cr_ckpt_rename *map;
    int n_map;
    const char *map_path;
    cr_pool *pool;        /* for the checksums; NULL: this thread computes them */
    int self;             /* which holder this is: of tensors with parts it loads its own */
    cr_ckpt_loaded *done; /* NULL: not wanted */
} cr_ckpt_load_opts;
/* cr_ckpt_load first checks all names and shapes and adds every mismatch to diag; only if there is
 * none does it call put. opts NULL: it is strict and loads everything. Returns
 * cr_diag_code(diag). */
CR_CHECKED cr_code cr_ckpt_load(const cr_ckpt *c, const cr_ckpt_tensor *v, int n,
                                const cr_ckpt_load_opts *opts, cr_diag *diag);
/* cr_ckpt_load_one fills t from the tensor called name (NULL: the only tensor of the file),
 * whatever its type; the shape must be the same. self is as in cr_ckpt_load_opts. dry: it only
 * compares. */
CR_CHECKED cr_code cr_ckpt_load_one(const cr_ckpt *c, const char *name, const cr_ckpt_tensor *t,
                                    int self, bool dry, cr_err *err);
/* cr_ckpt_param_map reads a fine_tune_ckpt_param_map file: lines "name_in_model
 * name_in_checkpoint". */
CR_CHECKED cr_code cr_ckpt_param_map(cr_arena *a, const char *path, cr_ckpt_rename **map, int *n,
                                     cr_err *err);
/* cr_shape_text writes "(2, 3)". */
void cr_shape_text(char *out, size_t size, int n_dims, const int64_t *shape);

/* ---- 8-bit rows (quant.c) ---- */
/* cr_int8_row: x[i] stands for q[i] * scale + offset, with scale = (max - min) / 255 and offset =
 * min. |error| <= scale / 2 besides the last rounding to float. Values must be finite. */
void cr_int8_row(const float *x, int64_t n, uint8_t *q, float *scale, float *offset);
/* The value of q. The product is exact in double, so the result is the same on every CPU. */
static inline float cr_int8_value(float q, float scale, float offset) {
    return (float)((double)q * (double)scale + (double)offset);
}

/* ---- choosing (choose.c) ---- */
/* How much of a checkpoint must be whole. */
typedef enum cr_ckpt_need {
    CR_NEED_ALL,
    CR_NEED_WEIGHTS, /* enough for cr_ckpt_open_weights */
    CR_NEED_LIST,    /* all files must be there, but the values of weights are not read */
} cr_ckpt_need;
/* cr_ckpt_check tells whether a checkpoint directory is whole: every file is there and fits its
 * digest. CR_ERUN: it is damaged; CR_EIO: it cannot be read. In this and the following, pool may be
 * NULL. */
CR_CHECKED cr_code cr_ckpt_check(const char *ckpt_dir, cr_ckpt_need need, cr_pool *pool,
                                 cr_err *err);
/* cr_ckpt_read_state reads state.json alone. Texts go to the arena. */
CR_CHECKED cr_code cr_ckpt_read_state(cr_arena *a, const char *ckpt_dir, cr_ckpt_state *s,
                                      cr_err *err);
/* cr_ckpt_steps lists the steps of all directories model.ckpt-N of model_dir in ascending order,
 * whole or not. A missing model_dir has none. */
CR_CHECKED cr_code cr_ckpt_steps(cr_arena *a, const char *model_dir, int64_t **steps, int *n,
                                 cr_err *err);
/* cr_ckpt_latest finds the newest whole checkpoint; damaged newer ones are skipped with a warning
 * in the log, and one that cannot be read is an error. *path NULL: there is no model.ckpt-N at all.
 * If there are only damaged ones, it returns CR_ERUN. */
CR_CHECKED cr_code cr_ckpt_latest(cr_arena *a, const char *model_dir, cr_ckpt_need need,
                                  cr_pool *pool, char **path, int64_t *step, cr_err *err);
/* cr_ckpt_best finds the checkpoint with the best metric in train_eval_result_v2.txt. Of equal ones
 * the first wins; when a step has several evaluations, the last one counts. It warns when a better
 * step has no checkpoint. metric may be NULL when lines hold exactly one. Without a result file it
 * finds the newest. The checkpoint must be whole. *path NULL: there is no checkpoint at all. */
CR_CHECKED cr_code cr_ckpt_best(cr_arena *a, const char *model_dir, const char *metric,
                                bool larger_is_better, cr_ckpt_need need, cr_pool *pool,
                                char **path, int64_t *step, cr_err *err);
/* cr_ckpt_best_step finds the best step that has a checkpoint, which cr_ckpt_prune spares; *step is
 * -1 when there is none. */
CR_CHECKED cr_code cr_ckpt_best_step(const char *model_dir, const char *metric,
                                     bool larger_is_better, int64_t *step, cr_err *err);
typedef struct cr_ckpt_eval {
    int64_t step;
    double value;
} cr_ckpt_eval;
/* cr_ckpt_best_eval finds, among the lines that have the metric, the best evaluated step and the
 * best step that has a checkpoint (saved->step -1: none has). It returns false when there is no
 * such line. */
bool cr_ckpt_best_eval(const char *model_dir, const char *metric, bool larger_is_better,
                       cr_ckpt_eval *any, cr_ckpt_eval *saved);
/* cr_ckpt_evals lists all recorded evaluations that have the metric in the order of steps, the last
 * one of each step; value is NAN where the result was not a number. Returns how many there are. */
int cr_ckpt_evals(cr_arena *a, const char *model_dir, const char *metric, cr_ckpt_eval **out);
/* cr_ckpt_metric_like returns the first metric in the recorded evaluations whose name begins with
 * prefix; NULL: there is none. */
const char *cr_ckpt_metric_like(cr_arena *a, const char *model_dir, const char *prefix);
/* cr_ckpt_resolve turns a user's path into one that cr_ckpt_open takes. The path is a checkpoint
 * directory, a model_dir (its newest checkpoint is taken), a directory of safetensors files, or a
 * safetensors file. */
CR_CHECKED cr_code cr_ckpt_resolve(cr_arena *a, const char *path, cr_ckpt_need need, cr_pool *pool,
                                   char **out, cr_err *err);
/* cr_ckpt_prune deletes all but the newest keep checkpoints (keep <= 0: deletes nothing) and the
 * one of step `spare` (-1: none). A deletion that fails is a warning, not an error. */
CR_CHECKED cr_code cr_ckpt_prune(const char *model_dir, int64_t keep, int64_t spare, cr_err *err);
/* cr_ckpt_prune_worst deletes all but the best `keep` checkpoints by the recorded evaluations, and
 * the newest one, which a run goes on from. Those without an evaluation count as the worst. */
CR_CHECKED cr_code cr_ckpt_prune_worst(const char *model_dir, int64_t keep, const char *metric,
                                       bool larger_is_better, cr_err *err);

/* cr_ckpt_delete deletes one checkpoint; a failure is a warning. */
void cr_ckpt_delete(const char *model_dir, int64_t step);

/* ---- the result file (results.c) ---- */
#define CR_CKPT_RESULTS "train_eval_result_v2.txt"
/* cr_ckpt_results_each calls fn for every line of the file of a model_dir, which may be absent:
 * {"global_step": 1000, "auc": 0.7, ...}. Nothing else reads the file. */
CR_CHECKED cr_code cr_ckpt_results_each(const char *model_dir, cr_json_line_fn fn, void *ctx,
                                        cr_err *err);
/* cr_ckpt_results_cut restores train_eval_result_v2.txt to its state after `step`: one line per
 * step up to it, in their order. Incomplete lines are removed. */
CR_CHECKED cr_code cr_ckpt_results_cut(const char *model_dir, int64_t step, cr_err *err);
/* cr_ckpt_results_find returns the metrics of a step (-1: of the last line); *n -1: the step has no
 * line. *any: the file has lines. */
CR_CHECKED cr_code cr_ckpt_results_find(cr_arena *a, const char *model_dir, int64_t step,
                                        cr_ckpt_metric **out, int *n, bool *any, cr_err *err);

/* cr_ckpt_results_check compares the file with the metrics that the checkpoints keep and reports
 * differences to diag. */
CR_CHECKED cr_code cr_ckpt_results_check(const char *model_dir, cr_sev sev, cr_diag *diag);

/* ---- directories written whole (outdir.c): exports, predictions ---- */
typedef struct cr_outdir cr_outdir;
/* cr_outdir_open makes a hidden sibling of path, to write into. path must not exist; its parents
 * are made. */
CR_CHECKED cr_code cr_outdir_open(cr_outdir **out, const char *path, cr_err *err);
const char *cr_outdir_tmp(const cr_outdir *d); /* write files here */
/* cr_outdir_commit syncs everything and renames it to path; it refuses when path has appeared
 * meanwhile. After a failure everything written is removed. It frees d in any case. */
CR_CHECKED cr_code cr_outdir_commit(cr_outdir *d, cr_err *err);
void cr_outdir_abort(cr_outdir *d);
/* cr_ckpt_remove_leftovers removes "<dir>/<prefix>*-PID" (files and directories) of processes that
 * are gone (alone: of any process), and logs it. */
CR_CHECKED cr_code cr_ckpt_remove_leftovers(const char *dir, const char *prefix, bool alone,
                                            cr_err *err);
/* cr_ckpt_is_leftover: is it a name "<prefix>*-PID" of a process that is gone (alone: of any)? */
bool cr_ckpt_is_leftover(const char *name, const char *prefix, bool alone);

#endif
