/*
 * manifest.c - manifest.json: name, size and digest of every file in a folder, so that a changed
 * byte is found.
 *
 * The manifest carries its own digest: the text ends in a member "digest", which is the XXH64 of
 * all bytes before it (a sealed text). state.json is sealed in the same way and not listed by
 * digest, because it is replaced while the rest of a checkpoint stays: two files cannot be replaced
 * in one step. Digests find damage and do not resist tampering (base/digest.h).
 */
#include "ckpt/ckpt_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/file.h"

#define FORMAT   "crank-manifest"
#define VERSION  1
#define SEAL     ", \"digest\": \""
#define SEAL_END "\"}\n"
#define SEAL_LEN (sizeof(SEAL) - 1 + CR_DIGEST_TEXT + sizeof(SEAL_END) - 1)

#define BAD(path, ...) cr_fail_at(err, CR_ERUN, cr_ckpt_at_path(path), __VA_ARGS__)

struct cr_manifest {
    cr_arena arena;
    char *dir; /* of a manifest that was read */
    cr_manifest_file *v;
    int n, cap;
};

/* ---- damage ---- */

cr_code cr_ckpt_damaged(cr_err *err, const char *path, cr_code code) {
    static const char *const cures[] = {
        ": copy the checkpoint again, or use another one",
        ": copy the export again, or make it again with crank export",
        ": copy or save the file again",
    };
    cr_arena a;
    if (!err) return code;
    cr_arena_init(&a, 0);
    const char *dir = cr_path_is_dir(path) ? path : cr_path_dir(&a, path);
    /* only checkpoints have a state, but it may be what is missing */
    bool is_ckpt = cr_ckpt_step_of(cr_path_base(dir)) >= 0 ||
                   strcmp(cr_path_base(path), CKPT_STATE) == 0 ||
                   cr_path_exists(cr_path_join(&a, dir, CKPT_STATE));
    bool is_export = cr_path_exists(cr_path_join(&a, dir, CKPT_INDEX)) ||
                     cr_path_exists(cr_path_join(&a, dir, CR_MANIFEST));
    const char *cure = cures[is_ckpt ? 0 : is_export ? 1 : 2];
    size_t n = strlen(err->msg);
    snprintf(err->msg + n, sizeof err->msg - n, "%s", cure);
    cr_err_cure(err, cure);
    cr_arena_clear(&a);
    return code;
}

/* ---- sealed texts ---- */

void cr_ckpt_seal(cr_buf *b) {
    CR_ASSERT(b->n >= 2 && memcmp(b->data + b->n - 2, "}\n", 2) == 0);
    b->n -= 2;
    char digest[CR_DIGEST_TEXT + 1];
    cr_digest_text(cr_digest_of(b->data, b->n), digest);
    cr_buf_printf(b, "%s%s%s", SEAL, digest, SEAL_END);
}

bool cr_ckpt_is_sealed(const char *text, size_t n) {
    return n >= SEAL_LEN && memcmp(text + n - SEAL_LEN, SEAL, sizeof(SEAL) - 1) == 0;
}

cr_code cr_ckpt_check_seal(const char *path, const char *text, size_t n, cr_err *err) {
    char end[SEAL_LEN + 1], digest[CR_DIGEST_TEXT + 1];
    if (n < SEAL_LEN) return CKPT_DAMAGED(path, "cut short; the file is damaged");
    cr_digest_text(cr_digest_of(text, n - SEAL_LEN), digest);
    snprintf(end, sizeof end, "%s%s%s", SEAL, digest, SEAL_END);
    if (memcmp(text + n - SEAL_LEN, end, SEAL_LEN) == 0) return CR_OK;
    return CKPT_DAMAGED(path, "does not fit the digest at its end; the file is damaged");
}

/* ---- making ---- */

cr_manifest *cr_manifest_new(void) {
    cr_manifest *m = cr_alloc(sizeof *m, "a manifest");
    cr_arena_init(&m->arena, 0);
    return m;
}

void cr_manifest_free(cr_manifest *m) {
    if (!m) return;
    cr_free(m->v);
    cr_arena_clear(&m->arena);
    cr_free(m);
}

static void push(cr_manifest *m, cr_manifest_file f) {
    if (m->n == m->cap) {
        int cap = m->cap ? 2 * m->cap : 16;
        m->v = cr_realloc(m->v, sizeof *m->v * (size_t)m->cap, sizeof *m->v * (size_t)cap,
                          "a manifest");
        m->cap = cap;
    }
    f.name = cr_arena_strdup(&m->arena, f.name);
    m->v[m->n++] = f;
}

void cr_manifest_add(cr_manifest *m, const char *name, int64_t size, uint64_t digest) {
    push(m, (cr_manifest_file){.name = name, .size = size, .digest = digest});
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const cr_manifest_file *)a)->name, ((const cr_manifest_file *)b)->name);
}

const cr_manifest_file *cr_manifest_find(const cr_manifest *m, const char *name) {
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->v[i].name, name) == 0) return &m->v[i];
    return NULL;
}

cr_code cr_manifest_add_dir(cr_manifest *m, const char *dir, cr_err *err) {
    char **names;
    size_t n;
    CR_TRY(cr_list_dir(&m->arena, dir, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        cr_manifest_file f = {.name = names[i], .sealed = strcmp(names[i], CKPT_STATE) == 0};
        const char *path = cr_path_join(&m->arena, dir, names[i]);
        if (cr_manifest_find(m, names[i]) || cr_path_is_dir(path)) continue;
        if (!f.sealed) CR_TRY(cr_digest_file(path, &f.size, &f.digest, err));
        push(m, f);
    }
    return CR_OK;
}

cr_code cr_manifest_write(cr_manifest *m, const char *dir, cr_err *err) {
    cr_buf text;
    cr_jw w;
    char digest[CR_DIGEST_TEXT + 1];
    cr_buf_init(&text);
    if (m->n > 0) qsort(m->v, (size_t)m->n, sizeof *m->v, by_name);
    cr_jw_init(&w, &text);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "format", FORMAT);
    cr_jw_i64(&w, "format_version", VERSION);
    cr_jw_arr(&w, "files");
    for (int i = 0; i < m->n; i++) {
        const cr_manifest_file *f = &m->v[i];
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "name", f->name);
        if (f->sealed) {
            cr_jw_bool(&w, "sealed", true);
        } else {
            cr_digest_text(f->digest, digest);
            cr_jw_i64(&w, "size", f->size);
            cr_jw_str(&w, "xxh64", digest);
        }
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_buf_char(&text, '\n');
    cr_ckpt_seal(&text);
    cr_code code = cr_file_write(cr_path_join(&m->arena, dir, CR_MANIFEST), text.data, text.n, err);
    cr_buf_clear(&text);
    return code;
}

/* ---- reading ---- */

/* Is this a name inside the folder? It must not lead out of it. */
static bool is_inside(const char *s) {
    return s && s[0] && strchr(s, '/') == NULL && strcmp(s, ".") != 0 && strcmp(s, "..") != 0;
}

static cr_code fill(cr_manifest *m, const char *path, const cr_json *j, cr_err *err) {
    const char *format = cr_json_str(cr_json_get(j, "format"));
    const cr_json *files = cr_json_get(j, "files");
    int64_t version;
    if (!format || strcmp(format, FORMAT) != 0 ||
        !cr_json_i64(cr_json_get(j, "format_version"), &version))
        return CKPT_DAMAGED(path, "not a manifest of crank; the file is damaged");
    if (version > VERSION)
        return BAD(path, "format version %lld; this crank reads up to %d, use a newer one",
                   (long long)version, VERSION);
    if (!files || !cr_json_is_arr(files))
        return CKPT_DAMAGED(path, "'files' is missing; the file is damaged");
    for (size_t i = 0; i < cr_json_len(files); i++) {
        const cr_json *f = cr_json_at(files, i);
        const char *digest = cr_json_str(cr_json_get(f, "xxh64"));
        cr_manifest_file o = {.name = cr_json_str(cr_json_get(f, "name"))};
        (void)cr_json_bool(cr_json_get(f, "sealed"), &o.sealed);
        if (!is_inside(o.name) ||
            (!o.sealed && (!digest || !cr_digest_parse(digest, &o.digest) ||
                           !cr_json_i64(cr_json_get(f, "size"), &o.size) || o.size < 0)))
            return CKPT_DAMAGED(path, "entry %zu of 'files' is wrong; the file is damaged", i);
        push(m, o);
    }
    return CR_OK;
}

cr_code cr_manifest_read(cr_manifest **out, const char *dir, cr_err *err) {
    cr_manifest *m = cr_manifest_new();
    m->dir = cr_arena_strdup(&m->arena, dir);
    const char *path = cr_path_join(&m->arena, dir, CR_MANIFEST);
    cr_buf text;
    cr_json *j = NULL;
    cr_fs_stat st;
    cr_buf_init(&text);
    *out = NULL;
    if (cr_fs_stat_path(path, true, &st, NULL) ==
        ENOENT) { /* cr_file_read reports any other error */
        cr_manifest_free(m);
        return CR_OK;
    }
    cr_code code = cr_file_read(path, CKPT_SMALL, &text, err);
    if (code == CR_OK) code = cr_ckpt_check_seal(path, text.data ? text.data : "", text.n, err);
    if (code == CR_OK) {
        cr_err why;
        code = cr_json_parse(&j, text.data, text.n, &why) == CR_OK
                   ? fill(m, path, j, err)
                   : CKPT_DAMAGED(path, "%s; the file is damaged", why.msg);
        cr_json_free(j);
    }
    cr_buf_clear(&text);
    if (code == CR_OK)
        *out = m;
    else
        cr_manifest_free(m);
    return code;
}

/* ---- comparing ---- */

static cr_code other_content(const char *path, const cr_manifest_file *f, int64_t size,
                             uint64_t digest, cr_err *err) {
    if (size != f->size)
        return CKPT_DAMAGED(path, "%lld bytes, " CR_MANIFEST " says %lld; the file is damaged",
                            (long long)size, (long long)f->size);
    if (digest == f->digest) return CR_OK;
    return CKPT_DAMAGED(path, "its content does not fit its digest in " CR_MANIFEST
                              "; the file is damaged");
}

cr_code cr_manifest_content(const cr_manifest *m, const char *path, const void *data, size_t n,
                            cr_err *err) {
    const cr_manifest_file *f = cr_manifest_find(m, cr_path_base(path));
    if (!f)
        return CKPT_DAMAGED(path, CR_MANIFEST " does not list it; the file is damaged, or belongs "
                                              "to another folder");
    if (f->sealed) return cr_ckpt_check_seal(path, data, n, err);
    return other_content(path, f, (int64_t)n, cr_digest_of(data, n), err);
}

cr_code cr_ckpt_file_size(const char *path, int64_t *size, cr_err *err) {
    cr_fs_stat st;
    cr_fs_why why;
    int e = cr_fs_stat_path(path, true, &st, &why);
    *size = st.size;
    if (e == 0) return CR_OK;
    if (e == ENOENT) return CKPT_DAMAGED(path, "the file is missing; the folder is damaged");
    return cr_fs_fail(err, path, "read", e, &why); /* the file may be whole */
}

cr_code cr_manifest_check_file(const cr_manifest *m, const char *name, cr_err *err) {
    cr_arena a;
    cr_buf text;
    const cr_manifest_file *f = cr_manifest_find(m, name);
    int64_t size = 0;
    uint64_t digest;
    CR_ASSERT(f);
    cr_arena_init(&a, 0);
    cr_buf_init(&text);
    const char *path = cr_path_join(&a, m->dir, name);
    cr_code code = cr_ckpt_file_size(path, &size, err);
    if (code == CR_OK && f->sealed) {
        code = cr_file_read(path, CKPT_SMALL, &text, err);
        if (code == CR_OK) code = cr_ckpt_check_seal(path, text.data ? text.data : "", text.n, err);
    } else if (code == CR_OK) {
        /* its size differs, so it need not be read */
        code = other_content(path, f, size, f->digest, err);
        if (code == CR_OK) code = cr_digest_file(path, &size, &digest, err);
        if (code == CR_OK) code = other_content(path, f, size, digest, err);
    }
    cr_buf_clear(&text);
    cr_arena_clear(&a);
    return code;
}

typedef struct check {
    const cr_manifest *m;
    bool weights;
    cr_code *codes;
    cr_err *errs;
} check;

static bool is_weights(const char *name) {
    size_t n = strlen(name);
    return n > 12 && strcmp(name + n - 12, ".safetensors") == 0;
}

static void check_one(void *ctx, int64_t i, int thread) {
    (void)thread;
    check *c = ctx;
    const char *name = c->m->v[i].name;
    if (!c->weights && is_weights(name)) return;
    c->codes[i] = cr_manifest_check_file(c->m, name, &c->errs[i]);
}

cr_code cr_manifest_check(const cr_manifest *m, bool weights, cr_pool *pool, cr_checked *done,
                          cr_diag *diag) {
    cr_arena a;
    cr_arena_init(&a, 0);
    check c = {m, weights, CR_NEW_N(&a, cr_code, m->n + 1), CR_NEW_N(&a, cr_err, m->n + 1)};
    cr_code code = CR_OK;
    if (pool)
        cr_pool_run(pool, m->n, check_one, &c);
    else
        for (int i = 0; i < m->n; i++)
            check_one(&c, i, 0);
    for (int i = 0; i < m->n; i++) {
        if (!weights && is_weights(m->v[i].name)) continue;
        if (done) {
            done->files++;
            done->bytes += m->v[i].size;
            done->damaged += c.codes[i] != CR_OK;
        }
        if (c.codes[i] == CR_OK) continue;
        if (code == CR_OK) code = c.codes[i];
        cr_diag_add(diag, CR_SEV_ERROR, c.codes[i], c.errs[i].at, "%s", c.errs[i].msg);
    }
    cr_arena_clear(&a);
    return code;
}
