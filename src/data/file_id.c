/*
 * file_id.c - see file_id.h.
 */
#include "data/file_id.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/mem.h"

#define SAMPLE ((int64_t)64 << 10)

static int64_t ns(struct timespec t) {
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static cr_file_id of_stat(const struct stat *st) {
    return (cr_file_id){.dev = (uint64_t)st->st_dev,
                        .ino = (uint64_t)st->st_ino,
                        .size = st->st_size,
                        .changed = ns(st->st_mtim),
                        .touched = ns(st->st_ctim)};
}

static int add_part(cr_digest *d, int fd, void *buf, int64_t from, int64_t to) {
    while (from < to) {
        ssize_t k = pread(fd, buf, (size_t)(to - from), from);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return errno;
        if (k == 0) break; /* shorter than it was: the digest tells */
        cr_digest_add(d, buf, (size_t)k);
        from += k;
    }
    return 0;
}

static cr_code add_digest(cr_file_id *id, int fd, const char *path, cr_err *err) {
    void *buf = cr_alloc((size_t)SAMPLE, "a part of a file");
    int64_t head = id->size < SAMPLE ? id->size : SAMPLE;
    int64_t tail = id->size - SAMPLE > head ? id->size - SAMPLE : head;
    cr_digest d;
    cr_digest_init(&d);
    int e = add_part(&d, fd, buf, 0, head);
    if (e == 0) e = add_part(&d, fd, buf, tail, id->size);
    cr_free(buf);
    id->digest = cr_digest_end(&d);
    return e == 0 ? CR_OK : cr_io_fail(err, path, "read", e);
}

cr_code cr_file_id_read(cr_file_id *out, int fd, const char *path, cr_err *err) {
    struct stat st;
    if (fstat(fd, &st) != 0) return cr_io_fail(err, path, "read", errno);
    *out = of_stat(&st);
    if (!S_ISREG(st.st_mode)) return CR_OK; /* a pipe is read once and cannot be compared */
    return add_digest(out, fd, path, err);
}

static cr_code differs(const char *path, cr_err *err) {
    return cr_fail_at(err, CR_EDATA, ((cr_loc){path, 0, 0}),
                      "the file changed while the run was using it; keep data files as they are "
                      "during a run, and start again");
}

/* *look: the digest must decide */
static cr_code compare(const cr_file_id *was, const struct stat *st, const char *path, bool *look,
                       cr_err *err) {
    cr_file_id now = of_stat(st);
    *look = now.dev != was->dev || now.ino != was->ino || now.touched != was->touched;
    if (now.size != was->size || now.changed != was->changed) return differs(path, err);
    return CR_OK;
}

static cr_code look_again(const cr_file_id *was, int fd, const char *path, cr_err *err) {
    cr_file_id now = {.size = was->size};
    CR_TRY(add_digest(&now, fd, path, err));
    return now.digest == was->digest ? CR_OK : differs(path, err);
}

cr_code cr_file_id_check(const cr_file_id *was, int fd, const char *path, cr_err *err) {
    struct stat st;
    bool look;
    if (fstat(fd, &st) != 0) return cr_io_fail(err, path, "read", errno);
    CR_TRY(compare(was, &st, path, &look, err));
    return look ? look_again(was, fd, path, err) : CR_OK;
}

cr_code cr_file_id_check_path(const cr_file_id *was, const char *path, cr_err *err) {
    struct stat st;
    bool look;
    if (was->ino == 0 || stat(path, &st) != 0) return CR_OK;
    CR_TRY(compare(was, &st, path, &look, err));
    if (!look) return CR_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return CR_OK;
    cr_code code = look_again(was, fd, path, err);
    close(fd);
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
