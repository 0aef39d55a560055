/*
 * survey.c - reads all blocks of the files and puts their parts together.
 *
 * Blocks are read in rounds: as many as there are threads are cut, then parsed and counted by all
 * threads at once, each into a part of its own. Rows of the sample are joined after each round, the
 * counts of the parts at the end; neither depends on which part had which block.
 */
#include "survey/survey.h"

#include <string.h>

#include "base/file.h"
#include "base/stop.h"
#include "survey/survey_int.h"

/* One block on its way, and the counts of all blocks that took this way. */
typedef struct part {
    cr_raw raw;
    cr_chunk chunk;
    cr_bad bad;
    cr_arena arena;
    tally *cols;
    sample rows;
    int64_t file, block;
    bool used;
    cr_code code;
    cr_err err;
} part;

typedef struct work {
    cr_survey *s;
    const cr_survey_opts *o;
    form form;
    cr_source *src;
    cr_want *want;
    part *parts;
    int n_parts;
    uint64_t limit;
    /* the whole */
    tally *cols;
    sample rows;
    cr_arena arena;
    /* the next block */
    int64_t file, block, n_blocks;
    bool end;
} work;

static void count_part(void *ctx, int64_t item, int thread) {
    work *w = ctx;
    part *p = &w->parts[item];
    (void)thread;
    if (!p->used) return;
    cr_bad_reset(&p->bad);
    p->code = w->form.reader->parse(w->src, &p->raw, &p->chunk, &p->bad, &p->err);
    if (p->code != CR_OK) return;
    for (int i = 0; i < w->s->n_cols; i++)
        cr_sv_tally_column(&p->cols[i], &p->chunk.cols[i], p->chunk.n_rows);
    cr_sv_sample_chunk(&p->rows, &p->chunk, p->file, p->block, w->limit);
}

/* Cuts the next block into a part; w->end: there is none. */
static cr_code next_block(work *w, part *p, cr_err *err) {
    const cr_reader_type *reader = w->form.reader;
    p->used = false;
    while (!w->end) {
        if (w->n_blocks == 0) CR_TRY(reader->n_blocks(w->src, w->file, &w->n_blocks, err));
        bool end = w->n_blocks >= 0 && w->block >= w->n_blocks;
        if (!end) {
            if (reader->block_rows) {
                cr_block_rows rows;
                reader->block_rows(w->src, w->file, w->block, &rows);
                p->raw.from = 0;
                p->raw.n_rows = rows.n_rows;
            }
            CR_TRY(reader->cut(w->src, w->file, w->block, &p->raw, &end, err));
        }
        if (!end) {
            p->used = true;
            p->file = w->file;
            p->block = w->block++;
            return CR_OK;
        }
        w->file++;
        w->block = w->n_blocks = 0;
        w->end = w->file >= reader->n_files(w->src);
    }
    return CR_OK;
}

static cr_code join_part(work *w, part *p, cr_err *err) {
    cr_survey *s = w->s;
    if (!p->used) return CR_OK;
    if (p->code != CR_OK) {
        *err = p->err;
        return p->code;
    }
    cr_sv_sample_join(&w->rows, &p->rows);
    s->rows += p->chunk.n_rows;
    s->bad_rows += p->bad.n;
    if (p->bad.n && !s->bad_row)
        s->bad_row = cr_arena_printf(&s->arena, "%s: %s", w->form.reader->path(w->src, p->file),
                                     p->bad.v[0].msg);
    return CR_OK;
}

static cr_code read_all(work *w, cr_err *err) {
    while (!w->end) {
        if (cr_stop_requested) return cr_fail(err, CR_ESTOP, "stopped");
        if (w->o->max_rows && w->s->rows >= w->o->max_rows) {
            w->s->whole = false;
            break;
        }
        for (int i = 0; i < w->n_parts; i++)
            CR_TRY(next_block(w, &w->parts[i], err));
        w->limit = w->rows.limit;
        cr_pool_run(w->o->pool, w->n_parts, count_part, w);
        for (int i = 0; i < w->n_parts; i++)
            CR_TRY(join_part(w, &w->parts[i], err));
    }
    for (int i = 0; i < w->n_parts; i++)
        for (int k = 0; k < w->s->n_cols; k++) {
            cr_sv_tally_end(&w->parts[i].cols[k]);
            cr_sv_tally_join(&w->cols[k], &w->parts[i].cols[k]);
        }
    for (int k = 0; k < w->s->n_cols; k++)
        cr_sv_tally_settle(&w->cols[k]);
    return CR_OK;
}

static cr_code open_files(work *w, cr_diag *diag) {
    cr_survey *s = w->s;
    const cr_reader_type *reader = w->form.reader;
    s->reader = reader;
    s->paths = w->o->paths;
    s->delimiter = reader->typed ? NULL : w->form.conf->delimiter;
    s->header = w->form.conf->with_header;
    s->n_cols = w->form.n_names;
    w->want = CR_NEW_N(&s->arena, cr_want, s->n_cols + 1);
    for (int i = 0; i < s->n_cols; i++)
        w->want[i] = (cr_want){.name = w->form.names[i], .type = -1, .why = "the profile"};
    CR_TRY(reader->open(&w->src, w->form.conf, w->o->paths, w->want, s->n_cols, diag));
    s->n_files = reader->n_files(w->src);
    const char **files = CR_NEW_N(&s->arena, const char *, s->n_files + 1);
    for (int64_t i = 0; i < s->n_files; i++) {
        files[i] = cr_arena_strdup(&s->arena, reader->path(w->src, i));
        s->bytes += reader->file_id(w->src, i)->size;
    }
    s->files = files;
    s->cols = CR_NEW_N(&s->arena, cr_survey_col, s->n_cols + 1);
    cr_colkind *kinds = CR_NEW_N(&s->arena, cr_colkind, s->n_cols + 1);
    reader->kinds(w->src, kinds);
    for (int i = 0; i < s->n_cols; i++) {
        cr_survey_col *c = &s->cols[i];
        c->name = w->form.names[i];
        c->stored = kinds[i].text ? cr_arena_strdup(&s->arena, kinds[i].text) : NULL;
        if (kinds[i].depth == 1) c->kind = CR_SURVEY_LIST;
        if (kinds[i].depth > 1 || kinds[i].key >= 0) c->kind = CR_SURVEY_OTHER;
    }
    return CR_OK;
}

static void set_up(work *w) {
    int n = w->s->n_cols;
    w->cols = CR_NEW_N(&w->arena, tally, n + 1);
    for (int i = 0; i < n; i++)
        cr_sv_tally_init(&w->cols[i], &w->arena);
    cr_sv_sample_init(&w->rows, n);
    w->n_parts = cr_pool_threads(w->o->pool);
    w->parts = CR_NEW_N(&w->arena, part, w->n_parts);
    for (int i = 0; i < w->n_parts; i++) {
        cr_arena_init(&w->parts[i].arena, 0);
        cr_arena_init(&w->parts[i].chunk.arena, 0);
        cr_sv_sample_init(&w->parts[i].rows, n);
        w->parts[i].cols = CR_NEW_N(&w->parts[i].arena, tally, n + 1);
        for (int k = 0; k < n; k++)
            cr_sv_tally_init(&w->parts[i].cols[k], &w->parts[i].arena);
    }
}

static void tear_down(work *w) {
    for (int i = 0; i < w->n_parts; i++) {
        part *p = &w->parts[i];
        if (w->form.reader->raw_clear) w->form.reader->raw_clear(w->src, &p->raw);
        cr_free(p->raw.text);
        cr_arena_clear(&p->chunk.arena);
        cr_arena_clear(&p->arena);
        cr_bad_clear(&p->bad);
        cr_sv_sample_clear(&p->rows);
    }
    if (w->n_parts) cr_sv_sample_clear(&w->rows);
    if (w->src) w->form.reader->close(w->src);
    cr_arena_clear(&w->arena);
}

/* The marks of missing values of all columns, each once. */
static void join_marks(cr_survey *s, const tally *t) {
    const char **v = CR_NEW_N(&s->arena, const char *, s->n_cols *N_MARKS + 1);
    for (int i = 0; i < s->n_cols; i++)
        for (int k = 0; k < t[i].n_marks; k++) {
            int m = 0;
            while (m < s->n_marks && strcmp(v[m], t[i].marks[k]) != 0)
                m++;
            if (m == s->n_marks) v[s->n_marks++] = cr_arena_strdup(&s->arena, t[i].marks[k]);
        }
    s->marks = v;
}

static cr_code survey(work *w, cr_diag *diag) {
    cr_survey *s = w->s;
    cr_err err;
    CR_TRY(cr_sv_form_find(&w->form, w->o->paths, &s->arena, diag));
    CR_TRY(open_files(w, diag));
    set_up(w);
    if (read_all(w, &err) != CR_OK) return cr_diag_err(diag, &err);
    if (s->rows == 0) {
        if (s->bad_rows)
            cr_fail_at(&err, CR_EDATA, ((cr_loc){s->paths, 0, 0}),
                       "none of the %lld rows can be read; the first: %s", (long long)s->bad_rows,
                       s->bad_row);
        else
            cr_fail_at(&err, CR_EDATA, ((cr_loc){s->paths, 0, 0}),
                       "there are no rows in it; name files with data");
        return cr_diag_err(diag, &err);
    }
    cr_sv_sample_end(&w->rows);
    s->sampled = w->rows.n;
    for (int i = 0; i < s->n_cols; i++)
        cr_sv_judge_column(s, i, &w->cols[i], &w->rows, w->o);
    join_marks(s, w->cols);
    if (!cr_sv_worth_label(s, w->cols, w->o, diag)) return CR_EUSAGE;
    cr_sv_worth_columns(s, &w->rows);
    return CR_OK;
}

cr_code cr_survey_make(cr_survey *s, const cr_survey_opts *o, cr_diag *diag) {
    *s = (cr_survey){.label = -1, .whole = true};
    cr_arena_init(&s->arena, 0);
    work w = {.s = s, .o = o};
    cr_arena_init(&w.arena, 0);
    cr_code code = survey(&w, diag);
    tear_down(&w);
    return code;
}

void cr_survey_clear(cr_survey *s) {
    cr_arena_clear(&s->arena);
}
