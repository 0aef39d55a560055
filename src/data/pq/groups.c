/*
 * groups.c - see groups.h.
 *
 * With many files only some stay open; what a file begins with is read again when its turn comes,
 * and the file must be what it was.
 */
#include "data/pq/groups.h"

#include "base/checked.h"
#include "base/file.h"
#include "data/files.h"

/* One hand reads a stretch of blocks. Longer stretches decompress fewer pages twice; shorter ones
 * mix better, and fewer rows wait in memory. */
#define RUN_ROWS     131072
#define RUN_MIN_ROWS 32768
#define RUN_BYTES    ((size_t)32 << 20)
#define MAX_HANDS    8
#define HANDS_BYTES  ((size_t)256 << 20)

void cr_pqg_init(cr_pqg *g, const cr_pqg_type *type) {
    *g = (cr_pqg){.type = type, .block = CR_PQG_BLOCK};
    cr_arena_init(&g->arena, 0);
    pthread_mutex_init(&g->lock, NULL);
}

void cr_pqg_clear(cr_pqg *g) {
    for (int64_t i = 0; i < g->n_files; i++)
        g->type->close(g->files[i].open);
    pthread_mutex_destroy(&g->lock);
    cr_arena_clear(&g->arena);
}

/* ---- opening ---- */

static void add_error(cr_diag *diag, const cr_err *e) {
    cr_diag_add(diag, CR_SEV_ERROR, e->code, e->at, "%s", e->msg);
}

void cr_pqg_list(cr_pqg *g, const cr_data_conf *conf, const char *paths, const char *const *exts,
                 cr_diag *diag) {
    cr_err e = {0};
    char **list = NULL;
    size_t n = 0;
    if (cr_data_files(conf, &g->arena, paths, exts, &list, &n, &e) != CR_OK) add_error(diag, &e);
    g->files = CR_NEW_N(&g->arena, cr_pqg_file, n + 1);
    g->n_files = (int64_t)n;
    for (size_t i = 0; i < n; i++)
        g->files[i].path = list[i];
}

void cr_pqg_not_opened(const cr_err *e, bool foreign, cr_diag *diag) {
    cr_diag_add(diag, CR_SEV_ERROR, e->code, e->at, "%s%s", e->msg,
                foreign ? "; leave it out, or set data_config.dataset_type to what it is" : "");
}

bool cr_pqg_begin(cr_pqg *g, cr_pqg_file *f, const void *x, int n, cr_diag *diag) {
    cr_err e;
    f->groups = CR_NEW_N(&g->arena, cr_pqg_group, n + 1);
    if (cr_file_id_read(&f->id, g->type->fs(x), &e) == CR_OK) return true;
    add_error(diag, &e);
    return false;
}

static void too_many(const cr_pqg_file *f, int64_t n_rows, cr_diag *diag) {
    cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){f->path, 0, 0},
                "it claims to have %lld rows, which is more than a file can hold; it is damaged",
                (long long)n_rows);
}

cr_pqg_group *cr_pqg_add(cr_pqg_file *f, int number, int64_t n_rows, cr_diag *diag) {
    /* sums of rows must not wrap around */
    if (n_rows > CR_PQG_BLOCKS * CR_PQG_BLOCK_ROWS - f->n_rows) {
        too_many(f, cr_add_i64(f->n_rows, n_rows), diag);
        return NULL;
    }
    cr_pqg_group *x = &f->groups[f->n_groups++];
    *x = (cr_pqg_group){.number = number, .n_rows = n_rows, .first_row = f->n_rows, .plain = 1};
    f->n_rows += n_rows;
    return x;
}

bool cr_pqg_keep(cr_pqg *g, cr_pqg_file *f, void *x) {
    f->far = cr_fs_is_far(g->type->fs(x));
    if (!f->far && g->n_files > CR_PQG_OPEN) return false;
    f->open = x;
    g->n_open += !f->far;
    return true;
}

/* Decides where blocks begin, and how many of them are a stretch. */
static void cut_blocks(cr_pqg *g) {
    double held = 0;
    g->n_rows = 0;
    for (int64_t i = 0; i < g->n_files; i++) {
        cr_pqg_file *f = &g->files[i];
        f->n_blocks = 0;
        g->n_rows += f->n_rows;
        for (int k = 0; k < f->n_groups; k++) {
            cr_pqg_group *x = &f->groups[k];
            double n = (double)g->block / (x->plain / (double)x->n_rows);
            x->block_rows = n < 1 ? 1 : n > CR_PQG_BLOCK_ROWS ? CR_PQG_BLOCK_ROWS : (int64_t)n;
            if (x->block_rows > 256) x->block_rows -= x->block_rows % 256;
            x->first_block = f->n_blocks;
            f->n_blocks += (x->n_rows + x->block_rows - 1) / x->block_rows;
            if (x->held > held) held = x->held;
        }
    }
    g->run_rows = g->n_rows / (2 * MAX_HANDS);
    if (g->run_rows < RUN_MIN_ROWS) g->run_rows = RUN_MIN_ROWS;
    if (g->run_rows > RUN_ROWS) g->run_rows = RUN_ROWS;
    held += g->large;
    g->hand_bytes = (held < 1e15 ? (size_t)held : (size_t)1e15) + g->block;
    size_t n = HANDS_BYTES / g->hand_bytes;
    g->n_hands = n < 2 ? 2 : n > MAX_HANDS ? MAX_HANDS : (int)n;
}

cr_code cr_pqg_end(cr_pqg *g, size_t errors, cr_diag *diag) {
    if (diag->n_errors > errors) return cr_diag_code(diag);
    cr_pqs_wants_end(&g->w);
    cut_blocks(g);
    for (int64_t i = 0; i < g->n_files; i++) {
        if (g->files[i].n_blocks <= CR_PQG_BLOCKS) continue;
        too_many(&g->files[i], g->files[i].n_rows, diag);
        return CR_EDATA;
    }
    return CR_OK;
}

/* ---- open files ---- */

static void drop_oldest(cr_pqg *g) {
    cr_pqg_file *old = NULL;
    for (int64_t i = 0; i < g->n_files; i++) {
        cr_pqg_file *f = &g->files[i];
        if (f->open && !f->far && f->users == 0 && (!old || f->last < old->last)) old = f;
    }
    if (!old) return; /* all are in use: each hand has one */
    g->type->close(old->open);
    old->open = NULL;
    g->n_open--;
}

static cr_code open_again(const cr_pqg *g, cr_pqg_file *f, cr_err *err) {
    void *x = NULL;
    CR_TRY(g->type->open(&x, f->path, err));
    cr_code code = cr_file_id_check(&f->id, g->type->fs(x), err);
    if (code == CR_OK)
        f->open = x;
    else
        g->type->close(x);
    return code;
}

cr_code cr_pqg_take(cr_pqg *g, int64_t file, void **out, cr_err *err) {
    cr_pqg_file *f = &g->files[file];
    cr_code code = CR_OK;
    pthread_mutex_lock(&g->lock);
    if (!f->open) {
        if (g->n_open >= CR_PQG_OPEN) drop_oldest(g);
        code = open_again(g, f, err);
        if (code == CR_OK) g->n_open++;
    }
    if (code == CR_OK) {
        f->users++;
        f->last = ++g->clock;
        *out = f->open;
    }
    pthread_mutex_unlock(&g->lock);
    return code;
}

void cr_pqg_leave(cr_pqg *g, int64_t file) {
    pthread_mutex_lock(&g->lock);
    g->files[file].users--;
    pthread_mutex_unlock(&g->lock);
}

/* ---- blocks ---- */

cr_pqg_group *cr_pqg_of(const cr_pqg_file *f, int64_t block) {
    int a = 0, z = f->n_groups;
    while (z - a > 1) {
        int m = (a + z) / 2;
        if (f->groups[m].first_block <= block)
            a = m;
        else
            z = m;
    }
    return &f->groups[a];
}

/* The blocks of a stretch: a group is cut into even ones of about `rows` rows. */
static int64_t run_blocks(const cr_pqg_group *x, int64_t rows) {
    double most = (double)RUN_BYTES / (x->plain / (double)x->n_rows);
    if (most < (double)rows) rows = most < 1 ? 1 : (int64_t)most;
    int64_t n = (x->n_rows + x->block_rows - 1) / x->block_rows;
    int64_t parts = x->whole ? 1 : (x->n_rows + rows / 2) / rows;
    return parts <= 1 ? n : (n + parts - 1) / parts;
}

int64_t cr_pqg_run(const cr_pqg_group *x) {
    return run_blocks(x, RUN_ROWS);
}

void cr_pqg_cut(const cr_pqg_group *x, int64_t file, int64_t block, int64_t row, cr_raw *raw) {
    raw->file = file;
    raw->block = block;
    raw->first_row = x->first_row + row;
    raw->first_line = 0;
    raw->offset = -1;
    raw->size = (size_t)(x->bytes * (double)raw->n_rows / (double)x->n_rows);
}

void cr_pqg_chunk(const cr_pqg *g, const cr_raw *raw, cr_chunk *chunk) {
    cr_arena_reset(&chunk->arena);
    chunk->n_rows = raw->n_rows;
    chunk->n_cols = g->w.n;
    chunk->path = g->files[raw->file].path;
    chunk->first_row = raw->first_row;
    chunk->lines = NULL;
}

/* ---- for the table of a reader ---- */

static cr_pqg *groups_of(const cr_source *s) {
    return (cr_pqg *)(uintptr_t)s; /* its first member */
}

int64_t cr_pqg_n_files(const cr_source *s) {
    return groups_of(s)->n_files;
}

const char *cr_pqg_path(const cr_source *s, int64_t file) {
    return groups_of(s)->files[file].path;
}

const cr_file_id *cr_pqg_file_id(const cr_source *s, int64_t file) {
    return &groups_of(s)->files[file].id;
}

cr_code cr_pqg_n_blocks(cr_source *s, int64_t file, int64_t *out, cr_err *err) {
    (void)err;
    *out = groups_of(s)->files[file].n_blocks;
    return CR_OK;
}

void cr_pqg_set_block(cr_source *s, size_t bytes) {
    groups_of(s)->block = bytes > 0 ? bytes : CR_PQG_BLOCK;
    cut_blocks(groups_of(s));
}

int cr_pqg_columns(const cr_source *s, const char *const **out) {
    *out = groups_of(s)->w.names;
    return groups_of(s)->w.n_names;
}

void cr_pqg_block_rows(const cr_source *s, int64_t file, int64_t block, cr_block_rows *out) {
    const cr_pqg *g = groups_of(s);
    const cr_pqg_group *x = cr_pqg_of(&g->files[file], block);
    int64_t b = block - x->first_block, at = b * x->block_rows, left = x->n_rows - at;
    int64_t of_group = (left + x->block_rows - 1) / x->block_rows;
    int64_t run = run_blocks(x, RUN_ROWS), mixed = run_blocks(x, g->run_rows);
    *out = (cr_block_rows){.first_row = x->first_row + at,
                           .n_rows = left < x->block_rows ? left : x->block_rows,
                           .stretch = run - b % run,
                           .stretch_shuffled = mixed - b % mixed};
    if (out->stretch > of_group) out->stretch = of_group;
    if (out->stretch_shuffled > of_group) out->stretch_shuffled = of_group;
}

int cr_pqg_hands(const cr_source *s) {
    return groups_of(s)->n_hands;
}

size_t cr_pqg_hand_bytes(const cr_source *s) {
    return groups_of(s)->hand_bytes;
}

void cr_pqg_kinds(const cr_source *s, cr_colkind *out) {
    cr_pqs_kinds(&groups_of(s)->w, out);
}
