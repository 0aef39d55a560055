/*
 * parts.c - data of which each host has a part, as PaddleCloud's MPI jobs get it: the ranks tell
 * each other what they have, and all of them read the union (launch/parts.h).
 *
 * The union is sorted by path, so a job gives the bits of one process that has all files in one
 * place, for any number of hosts. Files with the same path, size and digest are one file: two ranks
 * of a host, or files that the platform gives to every host. Files with the same path and another
 * content are different files, and their names get the number of a rank.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/scheme.h"
#include "data/files.h"
#include "job/job.h"
#include "launch/parts.h"

/* a file of a rank, as it travels; its path follows */
typedef struct told_file {
    int64_t size, changed;
    uint64_t digest;
    int64_t n_path; /* with the NUL */
} told_file;

typedef struct had_file {
    const char *path;
    told_file t;
    int rank;
} had_file;

struct cr_job_parts {
    cr_parts *serving;
    cr_part_file *files;
    int64_t n;
    char *addr;
    cr_key key;
};

static bool wanted(const cr_job *j) {
    const char *type = getenv("PADDLEREC_CLUSTER_TYPE");
    const cr_data_conf *d = j->root->data_config;
    if (!j->comm || d->mixing || j->reader->prepare) return false;
    return cr_conf_has(d, "host_parts") ? d->host_parts : type && strcasecmp(type, "MPI") == 0;
}

/* Are these paths of the local disk? */
static bool is_local(const char *paths) {
    for (const char *s = paths, *end; *s; s = *end ? end + 1 : end) {
        end = cr_glob_item_end(s);
        s += strspn(s, " \t\n");
        if (cr_scheme_len(s) || cr_is_stdin(s)) return false;
    }
    return *paths != 0;
}

/* Appends what this rank has. A host may have no file of this kind; one that cannot be read is a
 * mistake. */
static cr_code list_own(const cr_job *j, const char *paths, cr_buf *out, cr_err *err) {
    char **names;
    size_t n = 0;
    cr_arena a;
    cr_arena_init(&a, 0);
    if (cr_data_files(j->root->data_config, &a, paths, j->reader->exts, &names, &n, NULL) != CR_OK)
        n = 0;
    cr_code code = CR_OK;
    for (size_t i = 0; i < n && code == CR_OK; i++) {
        cr_fs *f;
        cr_file_id id;
        code = cr_fs_open(&f, names[i], err);
        if (code != CR_OK) break;
        code = cr_file_id_read(&id, f, err);
        told_file t = {id.size, id.changed, id.digest, (int64_t)strlen(names[i]) + 1};
        cr_fs_close(f);
        cr_buf_add(out, &t, sizeof t);
        cr_buf_add(out, names[i], (size_t)t.n_path);
    }
    cr_arena_clear(&a);
    return code;
}

static int by_path(const void *a, const void *b) {
    const had_file *x = a, *y = b;
    int k = strcmp(x->path, y->path);
    if (k == 0) k = (x->t.size > y->t.size) - (x->t.size < y->t.size);
    if (k == 0) k = (x->t.digest > y->t.digest) - (x->t.digest < y->t.digest);
    return k ? k : x->rank - y->rank;
}

/* Reads what all ranks have told; the program of all ranks is the same. */
static had_file *read_told(const char *all, const size_t *at, int n_ranks, int64_t *n,
                           cr_arena *a) {
    int64_t k = 0;
    for (int pass = 0;; pass++) {
        had_file *v = pass ? CR_NEW_N(a, had_file, k + 1) : NULL;
        k = 0;
        for (int r = 0; r < n_ranks; r++)
            for (const char *p = all + at[r]; p < all + at[r + 1]; k++) {
                told_file t;
                memcpy(&t, p, sizeof t);
                if (v) v[k] = (had_file){p + sizeof t, t, r};
                p += sizeof t + (size_t)t.n_path;
            }
        if (!v) continue;
        *n = k;
        qsort(v, (size_t)k, sizeof *v, by_path);
        return v;
    }
}

/* The name of a file in lists of paths, where some letters have a meaning. */
static char *name_of(const had_file *h, bool twice, cr_arena *a) {
    const char *path = h->path;
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    char *name = twice ? cr_arena_printf(a, CR_PARTS_SCHEME "://%s~%d", path, h->rank)
                       : cr_arena_printf(a, CR_PARTS_SCHEME "://%s", path);
    for (char *p = name + sizeof CR_PARTS_SCHEME + 2; *p; p++)
        if (strchr(",*?[]{}\\$ \t\n", *p)) *p = '_';
    return name;
}

static int by_name(const void *a, const void *b) {
    const cr_part_file *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Makes the list of all files; *differ: not every rank has all of them. */
static cr_part_file *unite(const had_file *v, int64_t n, int self, int n_ranks, int64_t *n_out,
                           bool *differ, cr_arena *a) {
    cr_part_file *files = CR_NEW_N(a, cr_part_file, n + 1);
    int64_t k = 0;
    *differ = false;
    for (int64_t i = 0, end; i < n; i = end, k++) {
        cr_part_file *f = &files[k];
        bool twice = (i > 0 && strcmp(v[i - 1].path, v[i].path) == 0);
        *f = (cr_part_file){.path = v[i].path,
                            .owner = v[i].rank,
                            .size = v[i].t.size,
                            .changed = v[i].t.changed,
                            .digest = v[i].t.digest};
        int holders = 0, last = -1;
        for (end = i; end < n && strcmp(v[end].path, v[i].path) == 0 && v[end].t.size == f->size &&
                      v[end].t.digest == f->digest;
             end++) {
            holders += v[end].rank != last;
            last = v[end].rank;
            if (last != self) continue;
            f->mine = true;
            f->changed = v[end].t.changed;
        }
        *differ = *differ || holders < n_ranks;
        twice = twice || (end < n && strcmp(v[end].path, v[i].path) == 0);
        f->name = name_of(&v[i], twice, a);
    }
    qsort(files, (size_t)k, sizeof *files, by_name);
    int64_t m = 0; /* letters that were replaced may have made two names equal */
    for (int64_t i = 0; i < k; i++) {
        files[m] = files[i];
        if (m > 0 && strcmp(files[m - 1].name, files[m].name) == 0)
            files[m].name = cr_arena_printf(a, "%s~%lld", files[m].name, (long long)m);
        m++;
    }
    qsort(files, (size_t)m, sizeof *files, by_name);
    *n_out = m;
    return files;
}

/* Collective: the union of the files that the paths name on all hosts; 0: all ranks have all of
 * them. */
static cr_part_file *meet(const cr_job *j, const cr_buf *own, int64_t *n, cr_arena *a) {
    int n_ranks = cr_comm_size(j->comm), self = cr_comm_rank(j->comm);
    size_t *at = CR_NEW_N(a, size_t, n_ranks + 1);
    uint64_t *sizes = CR_NEW_N(a, uint64_t, n_ranks);
    for (int r = 0; r <= n_ranks; r++)
        at[r] = (size_t)r * sizeof *sizes;
    sizes[self] = own->n;
    cr_comm_gather(j->comm, sizes, at);
    at[0] = 0;
    for (int r = 0; r < n_ranks; r++)
        at[r + 1] = at[r] + sizes[r];
    char *all = CR_NEW_N(a, char, at[n_ranks] + 1);
    if (own->n) memcpy(all + at[self], own->data, own->n);
    cr_comm_gather(j->comm, all, at);
    bool differ;
    int64_t n_told;
    had_file *v = read_told(all, at, n_ranks, &n_told, a);
    cr_part_file *files = unite(v, n_told, self, n_ranks, n, &differ, a);
    if (!differ) *n = 0;
    return files;
}

/* Collective: all ranks serve what they have and learn where the others are. */
static cr_code serve(cr_job *j, struct cr_job_parts *p, cr_err *err) {
    int n_ranks = cr_comm_size(j->comm), self = cr_comm_rank(j->comm);
    cr_arena *a = &j->cfg.arena;
    cr_code code = CR_OK;
    if (self == 0) code = cr_random(p->key.b, sizeof p->key.b, err);
    code = cr_job_agree(j, code, NULL);
    if (code != CR_OK) return code;
    cr_comm_share(j->comm, p->key.b, sizeof p->key.b, 0);
    p->addr = CR_NEW_N(a, char, (int64_t)n_ranks *CR_PARTS_ADDR);
    code = cr_parts_new(&p->serving, p->files, p->n, self, &p->key,
                        p->addr + (size_t)self * CR_PARTS_ADDR, err);
    cr_code all = cr_job_agree(j, code, NULL);
    if (all != CR_OK) return code != CR_OK ? code : all;
    size_t *at = CR_NEW_N(a, size_t, n_ranks + 1);
    for (int r = 0; r <= n_ranks; r++)
        at[r] = (size_t)r * CR_PARTS_ADDR;
    cr_comm_gather(j->comm, p->addr, at);
    cr_parts_use(p->serving, p->addr, n_ranks);
    return CR_OK;
}

static const char *list_of(const cr_part_file *v, int64_t n, cr_arena *a) {
    cr_buf b;
    cr_buf_init(&b);
    for (int64_t i = 0; i < n; i++)
        cr_buf_printf(&b, "%s%s", i ? "," : "", v[i].name);
    const char *text = cr_arena_strndup(a, b.data, b.n);
    cr_buf_clear(&b);
    return text;
}

static void tell(const cr_job *j, const char *key, const cr_part_file *v, int64_t n) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < n; i++)
        bytes += v[i].size;
    if (cr_job_is_first(j))
        CR_INFO("%s: the hosts have different files; all ranks read all of them, %lld files with "
                "%lld bytes, over the network where another host has them",
                key, (long long)n, (long long)bytes);
}

/* Are there several hosts? The same on all ranks. */
static bool apart(const cr_job *j) {
    const cr_who *w = cr_comm_who(j->comm);
    bool several = false;
    for (int r = 1; r < cr_comm_size(j->comm); r++)
        several = several || strcmp(w[r].host, w[0].host) != 0;
    return several;
}

cr_code cr_job_unite(cr_job *j, cr_diag *diag) {
    const struct {
        const char *key;
        const char **paths;
    } sets[] = {{"train_input_path", &j->root->train_input_path},
                {"eval_input_path", &j->root->eval_input_path}};
    enum { N = sizeof sets / sizeof *sets };
    if (!wanted(j)) return CR_OK;
    cr_arena *a = &j->cfg.arena;
    cr_part_file *v[N] = {0};
    int64_t n[N] = {0}, sum = 0;
    cr_code code = CR_OK;
    cr_err err = {0};
    for (int i = 0; i < N && code == CR_OK; i++) {
        cr_buf own;
        if (!is_local(*sets[i].paths)) continue; /* the same on all ranks: their configs are */
        cr_buf_init(&own);
        cr_code mine = list_own(j, *sets[i].paths, &own, &err);
        if (mine != CR_OK) (void)cr_diag_err(diag, &err);
        code = cr_job_agree(j, mine, NULL);
        if (code == CR_OK) v[i] = meet(j, &own, &n[i], a);
        cr_buf_clear(&own);
        sum += n[i];
    }
    /* one host: nothing is elsewhere, unless its ranks have different files all the same */
    if (code != CR_OK || (sum == 0 && !apart(j))) return code;
    struct cr_job_parts *p = CR_NEW(a, struct cr_job_parts);
    p->files = CR_NEW_N(a, cr_part_file, sum + 1);
    for (int i = 0; i < N; i++)
        for (int64_t k = 0; k < n[i]; k++)
            p->files[p->n++] = v[i][k];
    qsort(p->files, (size_t)p->n, sizeof *p->files, by_name);
    int64_t m = 0; /* a file may be for training and evaluation */
    for (int64_t i = 0; i < p->n; i++)
        if (m == 0 || strcmp(p->files[m - 1].name, p->files[i].name) != 0)
            p->files[m++] = p->files[i];
    p->n = m;
    j->parts = p;
    code = serve(j, p, &err);
    if (code != CR_OK) {
        if (err.code != CR_OK) (void)cr_diag_err(diag, &err);
        return code;
    }
    for (int i = 0; i < N; i++)
        if (n[i] > 0) {
            *sets[i].paths = list_of(v[i], n[i], a);
            tell(j, sets[i].key, v[i], n[i]);
        }
    return CR_OK;
}

void cr_job_part(cr_job *j) {
    if (!j->parts) return;
    cr_parts_free(j->parts->serving);
    j->parts = NULL;
}
