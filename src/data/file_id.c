/*
 * file_id.c - see file_id.h.
 */
#include "data/file_id.h"

#include "base/digest.h"
#include "base/mem.h"

#define SAMPLE ((int64_t)64 << 10)

static cr_file_id of_stat(const cr_fs_stat *st) {
    return (cr_file_id){.dev = st->dev,
                        .ino = st->ino,
                        .size = st->size,
                        .changed = st->changed,
                        .touched = st->touched,
                        .digest = st->version};
}

static cr_code add_part(cr_digest *d, cr_fs *f, void *buf, int64_t from, int64_t to, cr_err *err) {
    size_t got; /* when the file is shorter than it was, less is read, and the digest differs */
    if (from >= to) return CR_OK;
    CR_TRY(cr_fs_pread(f, from, buf, (size_t)(to - from), &got, err));
    cr_digest_add(d, buf, got);
    return CR_OK;
}

static cr_code add_digest(cr_file_id *id, cr_fs *f, cr_err *err) {
    void *buf = cr_alloc((size_t)SAMPLE, "a part of a file");
    int64_t head = id->size < SAMPLE ? id->size : SAMPLE;
    int64_t tail = id->size - SAMPLE > head ? id->size - SAMPLE : head;
    cr_digest d;
    cr_digest_init(&d);
    cr_code code = add_part(&d, f, buf, 0, head, err);
    if (code == CR_OK) code = add_part(&d, f, buf, tail, id->size, err);
    cr_free(buf);
    id->digest = cr_digest_end(&d);
    return code;
}

cr_code cr_file_id_read(cr_file_id *out, cr_fs *f, cr_err *err) {
    const cr_fs_stat *st = cr_fs_info(f);
    *out = of_stat(st);
    if (st->kind != CR_FS_FILE || st->version) return CR_OK;
    return add_digest(out, f, err);
}

static cr_code differs(const char *path, cr_err *err) {
    return cr_fail_at(err, CR_EDATA, ((cr_loc){path, 0, 0}),
                      "the file changed while the run was using it; keep data files as they are "
                      "during a run, and start again");
}

/* Compares what the system says of a file. *look: the digest must decide. */
static cr_code compare(const cr_file_id *was, const cr_fs_stat *st, const char *path, bool *look,
                       cr_err *err) {
    *look =
        !st->version && (st->dev != was->dev || st->ino != was->ino || st->touched != was->touched);
    bool same = st->version ? st->version == was->digest : st->changed == was->changed;
    return same && st->size == was->size ? CR_OK : differs(path, err);
}

static cr_code look_again(const cr_file_id *was, cr_fs *f, cr_err *err) {
    cr_file_id now = {.size = was->size};
    CR_TRY(add_digest(&now, f, err));
    return now.digest == was->digest ? CR_OK : differs(cr_fs_path(f), err);
}

cr_code cr_file_id_check(const cr_file_id *was, cr_fs *f, cr_err *err) {
    cr_fs_stat st;
    bool look;
    CR_TRY(cr_fs_restat(f, &st, err));
    CR_TRY(compare(was, &st, cr_fs_path(f), &look, err));
    return look ? look_again(was, f, err) : CR_OK;
}

cr_code cr_file_id_check_path(const cr_file_id *was, const char *path, cr_err *err) {
    cr_fs_stat st;
    cr_fs *f;
    bool look;
    if (was->ino == 0 && was->digest == 0) return CR_OK;
    if (cr_fs_stat_data(path, &st, NULL) != 0) return CR_OK;
    CR_TRY(compare(was, &st, path, &look, err));
    if (!look || cr_fs_open(&f, path, NULL) != CR_OK) return CR_OK;
    cr_code code = look_again(was, f, err);
    cr_fs_close(f);
    return code;
}

void cr_file_ids_clear(cr_file_ids *ids) {
    cr_free(ids->v);
    *ids = (cr_file_ids){0};
}

cr_data_digest cr_file_ids_digest(const cr_file_ids *ids) {
    cr_digest content, times;
    cr_digest_init(&content);
    cr_digest_init(&times);
    for (int64_t i = 0; i < ids->n; i++) {
        cr_digest_add(&content, &ids->v[i].size, sizeof ids->v[i].size);
        cr_digest_add(&content, &ids->v[i].digest, sizeof ids->v[i].digest);
        cr_digest_add(&times, &ids->v[i].changed, sizeof ids->v[i].changed);
    }
    return ids->n > 0 ? (cr_data_digest){cr_digest_end(&content), cr_digest_end(&times)}
                      : (cr_data_digest){0};
}
