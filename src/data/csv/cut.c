/*
 * cut.c - finds where a block of a CSV file begins and ends.
 *
 * In plain files block k holds the rows that begin in bytes [k*block, (k+1)*block), so any block
 * can be cut without reading those before it. The hard part is a quoted field that holds line ends:
 * a byte alone does not show whether it lies inside one. The text around it is read twice, taken to
 * begin outside and inside of quotes; rows of the right width and quotes in their places show which
 * is true (in practice from the first quote or row on). When they do not, the file is searched once
 * from its beginning and all block starts are kept. That is always right, but it reads the whole
 * file, so it comes last.
 *
 * Compressed files are read front to back, in blocks of about the same size that end with a row.
 */
#include "data/csv/csv_int.h"

#include <string.h>

#define WIN_FIRST ((size_t)16 << 10)
#define WIN_MAX   ((size_t)1 << 20)

cr_code cr_csv_reserve(cr_raw *raw, size_t size, cr_err *err) {
    if (raw->cap >= size + CR_RAW_PAD) return CR_OK;
    size_t cap = size + size / 4 + CR_RAW_PAD;
    void *p;
    CR_TRY(cr_try_alloc(&p, cap, "a block of a file", err));
    if (raw->size) memcpy(p, raw->text, raw->size);
    cr_free(raw->text);
    raw->text = p;
    raw->cap = cap;
    return CR_OK;
}

static cr_code too_long(const cr_source *s, const cr_csv_file *f, cr_err *err) {
    return cr_fail_at(err, CR_EDATA, ((cr_loc){f->path, 0, 0}), "a row is longer than %zu MiB; %s",
                      CR_CSV_MAX_ROW >> 20,
                      s->form.no_quotes ? "is it a text with one row per line?"
                                        : "is a quote opened and never closed?");
}

/* ---- plain files ---- */

/* Returns the open file, which must still be the one that the run began with. */
static cr_code plain(cr_source *s, int64_t file, cr_stream **out, cr_err *err) {
    const cr_csv_file *f = &s->files[file];
    size_t slot = (size_t)(file % CR_CSV_FDS);
    if (f->kept) {
        *out = f->kept;
        return cr_stream_check(*out, &f->id, err);
    }
    if (!s->fds[slot] || s->fd_file[slot] != file) {
        cr_stream_close(s->fds[slot]);
        s->fds[slot] = NULL;
        CR_TRY(cr_stream_open(&s->fds[slot], f->path, err));
        s->fd_file[slot] = file;
    }
    *out = s->fds[slot];
    return cr_stream_check(*out, &f->id, err);
}

static cr_code window(cr_source *s, size_t size, cr_err *err) {
    if (s->win_cap >= size + CR_RAW_PAD) return CR_OK;
    void *p;
    CR_TRY(cr_try_alloc(&p, size + CR_RAW_PAD, "a part of a file", err));
    cr_free(s->win);
    s->win = p;
    s->win_cap = size + CR_RAW_PAD;
    return CR_OK;
}

/* search_all finds the starts of all blocks of a file from its beginning. */
static cr_code search_all(cr_source *s, cr_stream *st, cr_csv_file *f, int64_t n_blocks,
                          cr_err *err) {
    void *p;
    CR_TRY(cr_try_alloc(&p, (size_t)(n_blocks + 1) * sizeof(int64_t), "the blocks of a file", err));
    int64_t *starts = p;
    cr_raw buf = {0};
    cr_code code = CR_OK;
    int64_t base = f->data_start; /* the place of buf in the file: a row begins there */
    int64_t k = 0;
    while (k <= n_blocks && k * (int64_t)s->block <= base)
        starts[k++] = base;
    while (k <= n_blocks && base < f->size) {
        /* The first try reads a block, and the next ones read more, up to the longest row that is
         * allowed. */
        size_t want = buf.size ? 4 * buf.size : s->block + WIN_FIRST;
        if ((int64_t)want > f->size - base) want = (size_t)(f->size - base);
        bool eof = base + (int64_t)want == f->size;
        if (want > CR_CSV_MAX_ROW + 5 * s->block) {
            code = too_long(s, f, err);
            break;
        }
        if ((code = cr_csv_reserve(&buf, want, err)) != CR_OK) break;
        code = cr_stream_pread(st, buf.text + buf.size, want - buf.size, base + (int64_t)buf.size,
                               err);
        if (code != CR_OK) break;
        buf.size = want;
        size_t last, end = cr_csv_row_end(&s->form, buf.text, want,
                                          (size_t)(k * (int64_t)s->block - base), &last);
        if (end == SIZE_MAX && eof) end = want; /* the last row has no line end */
        if (end == SIZE_MAX) end = last;
        if (end == 0) continue; /* there is no row end at all, so more is read */
        base += (int64_t)end;
        buf.size = 0;
        while (k <= n_blocks && k * (int64_t)s->block <= base)
            starts[k++] = base;
    }
    while (k <= n_blocks)
        starts[k++] = f->size;
    cr_free(buf.text);
    if (code != CR_OK) {
        cr_free(starts);
        return code;
    }
    f->starts = starts;
    return CR_OK;
}

static bool good(const cr_csv_guess *g) {
    return g->rows > 0 && g->faults * 8 <= g->rows;
}

/* guess finds the first row that begins at or behind target in the window; SIZE_MAX: it cannot
 * tell. */
static size_t guess(const cr_source *s, const cr_csv_file *f, size_t n, size_t from, size_t target,
                    bool eof) {
    cr_csv_guess g[2];
    for (int q = 0; q < 2; q++)
        g[q] = cr_csv_try(&s->form, s->win, from, n, target, eof, q == 1, f->n_cols);
    /* In a file of one column any text is a row, so only quotes can tell. */
    if (f->n_cols == 1 && !memchr(s->win, '"', n)) return SIZE_MAX;
    if (good(&g[0]) == good(&g[1])) return SIZE_MAX;
    return good(&g[0]) ? g[0].start : g[1].start;
}

/* start_of finds the first row that begins at or behind block * s->block. */
static cr_code start_of(cr_source *s, int64_t file, int64_t block, int64_t *out, cr_err *err) {
    cr_csv_file *f = &s->files[file];
    int64_t at = block * (int64_t)s->block;
    if (at <= f->data_start) {
        *out = f->data_start;
        return CR_OK;
    }
    if (at >= f->size) {
        *out = f->size;
        return CR_OK;
    }
    if (s->memo_file == file && s->memo_block == block) {
        *out = s->memo_start;
        return CR_OK;
    }
    cr_stream *st;
    CR_TRY(plain(s, file, &st, err));
    bool found = f->starts != NULL;
    if (found) *out = f->starts[block];
    /* The search begins some rows before: near the end of the file too few may follow. */
    int64_t back = (int64_t)(s->block / 128 < 64 ? 64 : s->block / 128);
    int64_t from = at - back > f->data_start ? at - back : f->data_start;
    int64_t lead = from - f->data_start < (int64_t)s->form.n_delim ? from - f->data_start
                                                                   : (int64_t)s->form.n_delim;
    for (size_t size = WIN_FIRST; !found && size <= WIN_MAX; size *= 4) {
        int64_t left = f->size - (from - lead);
        size_t n = left < (int64_t)size ? (size_t)left : size, target = (size_t)(at - from + lead);
        CR_TRY(window(s, n, err));
        CR_TRY(cr_stream_pread(st, s->win, n, from - lead, err));
        bool eof = (int64_t)n == left;
        size_t start = SIZE_MAX, last;
        if (from == f->data_start || s->form.no_quotes)
            start = cr_csv_row_end(&s->form, s->win, n, target, &last);
        else
            start = guess(s, f, n, (size_t)lead, target, eof);
        found = start != SIZE_MAX;
        if (found) *out = from - lead + (int64_t)start;
        if (eof) break;
    }
    if (!found) {
        int64_t n_blocks = (f->size + (int64_t)s->block - 1) / (int64_t)s->block;
        CR_TRY(search_all(s, st, f, n_blocks, err));
        *out = f->starts[block];
    }
    s->memo_file = file;
    s->memo_block = block;
    s->memo_start = *out;
    return CR_OK;
}

static cr_code cut_plain(cr_source *s, int64_t file, int64_t block, cr_raw *raw, bool *end,
                         cr_err *err) {
    cr_csv_file *f = &s->files[file];
    if (block * (int64_t)s->block >= f->size) {
        *end = true;
        return CR_OK;
    }
    int64_t a, z;
    CR_TRY(start_of(s, file, block, &a, err));
    CR_TRY(start_of(s, file, block + 1, &z, err));
    /* Two guesses from two places contradict each other only in a file that is not CSV. */
    if (z < a) z = a;
    if (z - a > (int64_t)(CR_CSV_MAX_ROW + s->block)) return too_long(s, f, err);
    size_t n = (size_t)(z - a);
    raw->size = 0;
    raw->offset = a;
    raw->first_row = block == 0 ? 0 : -1;
    raw->first_line = a == f->data_start ? f->first_line : 0;
    CR_TRY(cr_csv_reserve(raw, n + 1, err));
    if (n == 0) return CR_OK;
    cr_stream *st;
    CR_TRY(plain(s, file, &st, err));
    CR_TRY(cr_stream_pread(st, raw->text, n, a, err));
    if (raw->text[n - 1] != '\n' && z == f->size) raw->text[n++] = '\n';
    raw->size = n;
    return CR_OK;
}

/* ---- compressed files ---- */

static int64_t count_lines(const char *p, size_t n) {
    int64_t lines = 0;
    const char *end = p + n;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
        lines++;
        p++;
    }
    return lines;
}

static cr_code fill(cr_source *s, size_t size, cr_err *err) {
    CR_TRY(cr_csv_reserve(&s->carry, size, err));
    while (!s->front_eof && s->carry.size < size) {
        size_t got;
        CR_TRY(cr_stream_read(s->front, s->carry.text + s->carry.size, size - s->carry.size, &got,
                              err));
        s->carry.size += got;
        if (got == 0) s->front_eof = true;
    }
    return CR_OK;
}

static cr_code rewind_front(cr_source *s, int64_t file, cr_err *err) {
    const cr_csv_file *f = &s->files[file];
    cr_stream_close(s->front);
    s->front = NULL;
    CR_TRY(cr_stream_open(&s->front, f->path, err));
    CR_TRY(cr_stream_check(s->front, &f->id, err));
    s->front_file = file;
    s->front_block = 0;
    s->front_line = f->first_line;
    s->front_eof = false;
    s->carry.size = 0;
    CR_TRY(fill(s, (size_t)f->data_start, err));
    s->carry.size = 0;
    return CR_OK;
}

static cr_code cut_front(cr_source *s, int64_t file, int64_t block, cr_raw *raw, bool *end,
                         cr_err *err) {
    const cr_csv_file *f = &s->files[file];
    if (block == 0) CR_TRY(rewind_front(s, file, err));
    if (!s->front || s->front_file != file || s->front_block != block)
        CR_BUG("blocks of a compressed file are cut in order");
    CR_TRY(cr_stream_check(s->front, &f->id, err));
    size_t size = s->block, cut = 0;
    for (;; size *= 2) {
        if (size > CR_CSV_MAX_ROW + 2 * s->block) return too_long(s, f, err);
        CR_TRY(fill(s, size, err));
        size_t n = s->carry.size, last;
        cut = n == 0 ? 0 : cr_csv_row_end(&s->form, s->carry.text, n, n, &last);
        if (cut == SIZE_MAX) cut = s->front_eof ? n : last;
        if (cut > 0 || s->front_eof) break;
    }
    raw->size = 0;
    raw->offset = -1;
    raw->first_row = block == 0 ? 0 : -1;
    raw->first_line = s->front_line;
    if (cut == 0) {
        *end = true;
        return CR_OK;
    }
    CR_TRY(cr_csv_reserve(raw, cut + 1, err));
    memcpy(raw->text, s->carry.text, cut);
    memmove(s->carry.text, s->carry.text + cut, s->carry.size - cut);
    s->carry.size -= cut;
    s->front_line += count_lines(raw->text, cut);
    if (raw->text[cut - 1] != '\n') raw->text[cut++] = '\n';
    raw->size = cut;
    s->front_block++;
    return CR_OK;
}

void cr_csv_will_need(cr_source *s, int64_t file, int64_t block) {
    const cr_csv_file *f = &s->files[file];
    /* The begin and the end of the block are looked for a little around it. */
    int64_t at = block * (int64_t)s->block - (int64_t)WIN_FIRST;
    if (f->kept) cr_stream_will_need(f->kept, at, (int64_t)(s->block + 2 * WIN_FIRST));
}

cr_code cr_csv_cut(cr_source *s, int64_t file, int64_t block, cr_raw *raw, bool *end, cr_err *err) {
    *end = false;
    raw->file = file;
    raw->block = block;
    return s->files[file].front ? cut_front(s, file, block, raw, end, err)
                                : cut_plain(s, file, block, raw, end, err);
}

void cr_csv_cut_clear(cr_source *s) {
    for (int i = 0; i < CR_CSV_FDS; i++)
        cr_stream_close(s->fds[i]);
    cr_stream_close(s->front);
    cr_free(s->carry.text);
    cr_free(s->win);
    for (int64_t i = 0; i < s->n_files; i++) {
        cr_stream_close(s->files[i].kept);
        cr_free(s->files[i].starts);
    }
}
