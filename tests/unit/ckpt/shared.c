/*
 * Checkpoints that several holders write and read together: the same bytes as one process, for any
 * number of holders and any placing; a holder whose disk is full; a copy that is written while the
 * model changes.
 */
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "ckpt/ckpt.h"
#include "harness.h"
#include "holders.h"

/* where syncs cost nothing, if there is such a place: there are thousands of small files */
static char fast[] = "/dev/shm/crank_test_XXXXXX", plain[] = "/tmp/crank_test_XXXXXX";
static char *root;
static cr_arena arena;
static int n_dirs;

static char *new_dir(void) {
    char *d = cr_arena_printf(&arena, "%s/d%d", root, n_dirs++);
    if (cr_mkdirs(d, NULL) != CR_OK) exit(1);
    return d;
}

/* ---- a model whose elements lie somewhere ---- */

#define TENSORS 7
static const struct {
    const char *name;
    int n_dims;
    int64_t rows, width;
    cr_dtype dtype;
    bool optimizer;
} shapes[TENSORS] = {{"model.a.weight", 2, 301, 12, CR_DT_F32, false},
                     {"state.model.a.weight.sum", 2, 301, 12, CR_DT_F32, true},
                     {"state.model.a.weight.row", 1, 301, 1, CR_DT_F32, true},
                     {"model.b.weight", 2, 77, 7, CR_DT_BF16, false},
                     {"model.mlp.0.weight", 2, 9, 5, CR_DT_F32, false},
                     {"state.model.mlp.0.weight.m", 2, 9, 5, CR_DT_F32, true},
                     {"model.scalar", 0, 1, 1, CR_DT_F32, false}};

static float value(int tensor, int64_t i) { /* bf16 stores it */
    return (float)(int)(cr_rng_u64(9, (uint64_t)(tensor * 1000000 + i)) % 251) - 125;
}

/* Where the elements of each tensor lie, for all holders. */
typedef struct placing {
    cr_ckpt_part parts[TENSORS][64];
    int n[TENSORS];
    int64_t width[TENSORS];
} placing;

static int by_place(const void *a, const void *b) {
    const cr_ckpt_part *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return x->col < y->col ? -1 : x->col > y->col;
}

/* Cuts a tensor by random rows and columns: columns first, each range by rows of its own. */
static void place(placing *p, int t, int n_holders, uint64_t *seed) {
    int64_t rows = shapes[t].rows, width = shapes[t].width;
    bool flat = cr_rng_u64(*seed, 1) % 3 == 0;
    if (flat) {
        rows *= width;
        width = 1;
    }
    p->width[t] = width;
    p->n[t] = 0;
    if (cr_rng_u64(*seed, 2) % 4 == 0) return; /* every holder has all of it */
    uint64_t k = 10;
    for (int64_t col = 0; col < width;) {
        int64_t to = col + 1 + (int64_t)(cr_rng_u64(*seed, k++) % (uint64_t)width);
        if (to > width || p->n[t] > 40) to = width;
        for (int64_t row = 0; row < rows;) {
            int64_t end = row + 1 + (int64_t)(cr_rng_u64(*seed, k++) % (uint64_t)rows);
            if (end > rows || p->n[t] > 50) end = rows;
            int who = (int)(cr_rng_u64(*seed, k++) % (uint64_t)n_holders);
            p->parts[t][p->n[t]++] = (cr_ckpt_part){who, row, end, col, to};
            row = end;
        }
        col = to;
    }
    qsort(p->parts[t], (size_t)p->n[t], sizeof(cr_ckpt_part), by_place);
}

/* What one holder has of a tensor. Elements that it lacks have another value, and may not be
 * touched. */
typedef struct held {
    const placing *p;
    int tensor, holder;
    float v[301 * 12];
    atomic_int wrong; /* calls for elements of others, or in several parts */
    atomic_int n_get, n_put;
} held;

/* Does a call stay inside one part of this holder? */
static bool fits(const held *h, int64_t first, int64_t n) {
    int t = h->tensor;
    if (n < 1 || n > 65536) return false;
    if (!h->p || h->p->n[t] == 0) return true;
    int64_t D = h->p->width[t], last = first + n - 1;
    for (int i = 0; i < h->p->n[t]; i++) {
        const cr_ckpt_part *p = &h->p->parts[t][i];
        if (first / D < p->row || first / D >= p->end || first % D < p->col ||
            first % D >= p->col_end)
            continue;
        bool wide = p->col == 0 && p->col_end == D;
        return p->holder == h->holder && last / D < p->end && last % D < p->col_end &&
               (wide || last / D == first / D);
    }
    return false;
}

static void get(void *ctx, int64_t first, int64_t n, float *out) {
    held *h = ctx;
    if (!fits(h, first, n)) atomic_fetch_add(&h->wrong, 1);
    atomic_fetch_add(&h->n_get, (int)n);
    memcpy(out, h->v + first, sizeof *out * (size_t)n);
}

static void put(void *ctx, int64_t first, int64_t n, const float *in) {
    held *h = ctx;
    if (!fits(h, first, n)) atomic_fetch_add(&h->wrong, 1);
    atomic_fetch_add(&h->n_put, (int)n);
    memcpy(h->v + first, in, sizeof *in * (size_t)n);
}

/* The tensors of a holder; p NULL: it has everything. */
typedef struct model {
    held held[TENSORS];
    cr_ckpt_tensor t[TENSORS];
} model;

static bool has(const placing *p, int t, int self, int64_t i) {
    held probe = {.p = p, .tensor = t, .holder = self};
    return fits(&probe, i, 1);
}

static void model_init(model *m, const placing *p, int self, bool filled) {
    memset(m, 0, sizeof *m);
    for (int t = 0; t < TENSORS; t++) {
        held *h = &m->held[t];
        h->p = p;
        h->tensor = t;
        h->holder = self;
        for (int64_t i = 0; i < shapes[t].rows * shapes[t].width; i++)
            h->v[i] = filled && has(p, t, self, i) ? value(t, i) : -999;
        m->t[t] = (cr_ckpt_tensor){.name = shapes[t].name,
                                   .n_dims = shapes[t].n_dims,
                                   .shape = {shapes[t].rows, shapes[t].width},
                                   .dtype = shapes[t].dtype,
                                   .get = get,
                                   .put = put,
                                   .ctx = h,
                                   .optimizer = shapes[t].optimizer,
                                   .part_width = p ? p->width[t] : 0,
                                   .parts = p ? p->parts[t] : NULL,
                                   .n_parts = p ? p->n[t] : 0};
    }
}

/* Has the holder what it should have, and nothing else? */
static bool model_is(const model *m, const placing *p, int self) {
    for (int t = 0; t < TENSORS; t++)
        for (int64_t i = 0; i < shapes[t].rows * shapes[t].width; i++)
            if (m->held[t].v[i] != (has(p, t, self, i) ? value(t, i) : -999)) return false;
    return true;
}

static int count_wrong(const model *m) {
    int n = 0;
    for (int t = 0; t < TENSORS; t++)
        n += atomic_load(&m->held[t].wrong);
    return n;
}

/* ---- saving together ---- */

typedef struct job {
    const char *dir;
    const placing *p;
    int64_t shard, round, memory;
    cr_pool *pool;       /* NULL: none */
    cr_ckpt_room *rooms; /* NULL: each copy has its own memory */
    bool small_state;
    bool change;   /* the model changes after cr_ckpt_save_begin */
    bool unwanted; /* holder 1 does not want the checkpoint when it is written */
    int bad_row;   /* a row with a value that 8-bit rows do not take; 0: none */
    bool int8;     /* the last tensor is written as 8-bit rows */
    bool bad;      /* and its last row has a value that is not finite */
    cr_code code[MAX_HOLDERS];
    cr_err err[MAX_HOLDERS];
    int wrong[MAX_HOLDERS];
    bool loaded[MAX_HOLDERS];
} job;

static const cr_ckpt_state state = {.step = 7, .seed = 3, .lanes = 8, .version = "1", .cpu = "c"};

static void save_work(holder *h, void *ctx) {
    job *j = ctx;
    model m;
    model_init(&m, j->p, h->number, true);
    if (j->small_state) m.t[1].dtype = CR_DT_BF16;
    cr_ckpt_save_opts o = {.shard_bytes = j->shard,
                           .features = "{}\n",
                           .meet = h->of->n > 1 ? &h->meet : NULL,
                           .pool = j->pool,
                           .memory = j->memory,
                           .room = j->rooms ? &j->rooms[h->number] : NULL,
                           .round_bytes = j->round};
    cr_ckpt_saving *s;
    cr_code code = cr_ckpt_save_begin(&s, j->dir, &state, m.t, TENSORS, &o, &j->err[h->number]);
    if (code == CR_OK) {
        for (int t = 0; t < TENSORS && j->change; t++)
            for (int64_t i = 0; i < shapes[t].rows * shapes[t].width; i++)
                m.held[t].v[i] += 1;
        while (!cr_ckpt_save_ready(s))
            usleep(1000);
        cr_ckpt_saved saved;
        cr_err *err = &j->err[h->number];
        cr_code mine = CR_OK;
        if (j->unwanted && h->number == 1)
            mine = cr_fail_at(err, CR_ERUN, ((cr_loc){"dir", 0, 0}), "the lock is lost");
        code = cr_ckpt_save_end(s, mine, &saved, err);
        if (j->memory > 0 && saved.in_background != (saved.copied > 0)) code = CR_ERUN;
    }
    j->code[h->number] = code;
    j->wrong[h->number] = count_wrong(&m);
}

static const int lanes_of[][MAX_HOLDERS + 1] = {
    {1, 0}, {1, 1, 0}, {1, 1, 1, 0}, {1, 1, 1, 1, 0}, {1, 1, 1, 1, 1, 1, 1, 0}};

static void run(job *j, int n_holders, void (*work)(holder *, void *)) {
    static holders hs;
    for (size_t i = 0; i < sizeof lanes_of / sizeof *lanes_of; i++) {
        int n = 0;
        while (lanes_of[i][n])
            n++;
        if (n == n_holders) holders_run(&hs, lanes_of[i], work, j);
    }
}

static bool same_dirs(const char *a, const char *b) {
    char **na, **nb;
    size_t n, m;
    if (cr_list_dir(&arena, a, &na, &n, NULL) != CR_OK ||
        cr_list_dir(&arena, b, &nb, &m, NULL) != CR_OK || n != m)
        return false;
    bool same = true;
    for (size_t i = 0; i < n && same; i++) {
        cr_buf x, y;
        cr_buf_init(&x);
        cr_buf_init(&y);
        same = strcmp(na[i], nb[i]) == 0 &&
               cr_file_read(cr_path_join(&arena, a, na[i]), 0, &x, NULL) == CR_OK &&
               cr_file_read(cr_path_join(&arena, b, nb[i]), 0, &y, NULL) == CR_OK && x.n == y.n &&
               memcmp(x.data, y.data, x.n) == 0;
        if (!same) fprintf(stderr, "%s differs from %s in %s\n", a, b, na[i]);
        cr_buf_clear(&x);
        cr_buf_clear(&y);
    }
    return same;
}

static char *in(const char *dir, const char *name) {
    return cr_path_join(&arena, dir, name);
}

static void load_work(holder *h, void *ctx) {
    job *j = ctx;
    model m;
    cr_ckpt *c;
    cr_diag diag;
    model_init(&m, j->p, h->number, false);
    j->code[h->number] = cr_ckpt_open(&c, j->dir, &j->err[h->number]);
    if (j->code[h->number] != CR_OK) return;
    cr_diag_init(&diag);
    j->code[h->number] =
        cr_ckpt_load(c, m.t, TENSORS, &(cr_ckpt_load_opts){.self = h->number}, &diag);
    cr_diag_clear(&diag);
    cr_ckpt_close(c);
    j->wrong[h->number] = count_wrong(&m);
    j->loaded[h->number] = model_is(&m, j->p, h->number);
}

/* Random placings: the files of one process, and everything finds its place again for other
 * holders. */
TEST(same_bytes_for_any_placing) {
    static const int64_t shards[] = {0, 1000, 3000, 100};
    static placing p, q;
    cr_pool *pool;
    cr_ckpt_room rooms[MAX_HOLDERS] = {{0}};
    CHECK_INT(cr_pool_new(&pool, 3, NULL), CR_OK);
    for (int round = 0; round < 24; round++) {
        uint64_t seed = 100 + (uint64_t)round;
        static const int counts[] = {2, 3, 4, 7};
        int n = counts[round % 4], m = counts[(round / 4) % 4];
        char *one = new_dir(), *many = new_dir();
        job alone = {.dir = one, .shard = shards[round / 2 % 4]};
        run(&alone, 1, save_work);
        CHECK_INT(alone.code[0], CR_OK);
        for (int t = 0; t < TENSORS; t++, seed += 1000) {
            place(&p, t, n, &seed);
            place(&q, t, m, &(uint64_t){seed + 500});
        }
        job j = {.dir = many,
                 .p = &p,
                 .shard = alone.shard,
                 .round = round % 3 == 0 ? 0 : 64 + 100 * (round % 7),
                 .memory = round % 2 ? 1 << 20 : 0,
                 .rooms = round % 3 ? rooms : NULL,
                 /* the copy must hold what was there when the saving began */
                 .change = round % 2,
                 .pool = round % 5 == 0 ? pool : NULL};
        run(&j, n, save_work);
        for (int h = 0; h < n; h++) {
            CHECK_INT(j.code[h], CR_OK);
            CHECK_INT(j.wrong[h], 0);
        }
        CHECK(same_dirs(in(one, "model.ckpt-7"), in(many, "model.ckpt-7")));
        job l = {.dir = in(many, "model.ckpt-7"), .p = &q};
        run(&l, m, load_work);
        for (int h = 0; h < m; h++) {
            CHECK_INT(l.code[h], CR_OK);
            CHECK_INT(l.wrong[h], 0);
            CHECK(l.loaded[h]);
        }
    }
    for (int h = 0; h < MAX_HOLDERS; h++)
        cr_ckpt_room_clear(&rooms[h]);
    cr_pool_free(pool);
}

/* Without parts every holder has everything, and the files are shared among them. */
TEST(files_are_shared) {
    char *one = new_dir(), *many = new_dir();
    job alone = {.dir = one, .shard = 1000};
    run(&alone, 1, save_work);
    job j = {.dir = many, .shard = 1000};
    run(&j, 4, save_work);
    for (int h = 0; h < 4; h++)
        CHECK_INT(j.code[h], CR_OK);
    CHECK(same_dirs(in(one, "model.ckpt-7"), in(many, "model.ckpt-7")));
}

/* An export: tensors that all holders have, some as 8-bit rows and as FP16. */
static void export_work(holder *h, void *ctx) {
    job *j = ctx;
    model m;
    model_init(&m, NULL, h->number, true);
    m.t[0].int8_rows = true;
    m.t[4].dtype = CR_DT_F16;
    if (j->bad_row) m.held[0].v[j->bad_row * shapes[0].width] = INFINITY;
    cr_ckpt_save_opts o = {.shard_bytes = j->shard,
                           .whole = j->shard == 1000,
                           .features = "{}\n",
                           .meet = h->of->n > 1 ? &h->meet : NULL,
                           .pool = j->pool,
                           .round_bytes = j->round};
    j->code[h->number] = cr_ckpt_write_tensors(j->dir, m.t, TENSORS, &o, &j->err[h->number]);
}

TEST(exports_are_shared) {
    static const int64_t shards[] = {300, 1000, 3000};
    cr_pool *pool;
    CHECK_INT(cr_pool_new(&pool, 3, NULL), CR_OK);
    for (int k = 0; k < 3; k++)
        for (int n = 2; n <= 4; n++) {
            char *one = new_dir(), *many = new_dir();
            job alone = {.dir = one, .shard = shards[k]};
            run(&alone, 1, export_work);
            CHECK_INT(alone.code[0], CR_OK);
            job j = {.dir = many,
                     .shard = shards[k],
                     .round = n == 3 ? 500 : 0,
                     .pool = n == 2 ? pool : NULL};
            run(&j, n, export_work);
            for (int h = 0; h < n; h++)
                CHECK_INT(j.code[h], CR_OK);
            CHECK(same_dirs(one, many));
            cr_ckpt *c;
            if (cr_ckpt_open(&c, many, NULL) != CR_OK) {
                CHECK(false);
                continue;
            }
            CHECK_INT(cr_ckpt_verify(c, NULL, NULL), CR_OK);
            cr_ckpt_close(c);
        }
    cr_pool_free(pool);
    /* each holder looks at a part of the values, and tells the others */
    for (int row = 1; row < 301; row += 100) {
        job j = {.dir = new_dir(), .shard = 1000, .bad_row = row};
        run(&j, 3, export_work);
        for (int h = 0; h < 3; h++) {
            CHECK_INT(j.code[h], CR_ERUN);
            CHECK(strstr(j.err[h].msg, "parameter 'model.a.weight', row ") != NULL);
        }
        CHECK_STR(j.err[0].msg, j.err[2].msg);
    }
}

/* ---- failures ---- */

/* One holder has values that the type of the file cannot store. */
static void overflow_work(holder *h, void *ctx) {
    job *j = ctx;
    model m;
    model_init(&m, j->p, h->number, true);
    cr_ckpt_save_opts o = {.shard_bytes = j->shard,
                           .meet = &h->meet,
                           .memory = j->memory,
                           .round_bytes = 256};
    if (h->number == 2)
        for (int i = 0; i < 9; i++)
            m.held[3].v[i] = 1e6f;
    m.t[3].dtype = CR_DT_F16;
    j->code[h->number] = cr_ckpt_save(j->dir, &state, m.t, TENSORS, &o, &j->err[h->number]);
}

TEST(one_failure_reaches_all) {
    static placing p; /* the last holder has all of tensor 3, the others share the rest */
    memset(&p, 0, sizeof p);
    p.width[3] = 7;
    p.n[3] = 1;
    p.parts[3][0] = (cr_ckpt_part){2, 0, 77, 0, 7};
    char *dir = new_dir();
    job j = {.dir = dir, .p = &p, .shard = 1000};
    run(&j, 3, overflow_work);
    for (int h = 0; h < 3; h++) {
        CHECK_INT(j.code[h], CR_ERUN);
        CHECK(strstr(j.err[h].msg, "rank 2: parameter 'model.b.weight', row 0 holds 1e+06") !=
              NULL);
    }
    char **names;
    size_t n;
    CHECK_INT(cr_list_dir(&arena, dir, &names, &n, NULL), CR_OK);
    CHECK_INT((int)n, 0);
}

/* A limit on the size of a file stands in for a full disk: only the file of holder 1 is larger. */
static void limit_files(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN); /* the write fails instead */
    struct rlimit r;
    if (getrlimit(RLIMIT_FSIZE, &r) != 0) exit(1);
    r.rlim_cur = bytes;
    if (setrlimit(RLIMIT_FSIZE, &r) != 0) exit(1);
}

TEST(full_disk_of_one_holder) {
    static placing p;
    memset(&p, 0, sizeof p);
    for (int background = 0; background < 2; background++) {
        for (int t = 0; t < TENSORS; t++) { /* holder 1 has the large tensors */
            p.width[t] = shapes[t].width;
            p.n[t] = 1;
            p.parts[t][0] = (cr_ckpt_part){t == 0   ? 1
                                           : t == 1 ? 2
                                                    : 0,
                                           0, shapes[t].rows, 0, shapes[t].width};
        }
        char *dir = new_dir();
        job j = {.dir = dir,
                 .p = &p,
                 .shard = 1 << 20,
                 .memory = background ? 1 << 20 : 0,
                 .small_state = true};
        limit_files(12000);
        run(&j, 3, save_work);
        limit_files(RLIM_INFINITY);
        for (int h = 0; h < 3; h++) {
            CHECK_INT(j.code[h], CR_EIO);
            CHECK(strstr(j.err[h].msg, "rank 1: cannot") != NULL);
        }
        CHECK_STR(j.err[0].msg, j.err[1].msg);
        CHECK_STR(j.err[0].msg, j.err[2].msg);
        char **names;
        size_t n;
        CHECK_INT(cr_list_dir(&arena, dir, &names, &n, NULL), CR_OK);
        CHECK_INT((int)n, 0);
    }
}

TEST(unwanted_by_one_holder) {
    for (int background = 0; background < 2; background++) {
        char *dir = new_dir();
        job j = {.dir = dir, .shard = 1000, .memory = background ? 1 << 20 : 0, .unwanted = true};
        run(&j, 3, save_work);
        for (int h = 0; h < 3; h++) {
            CHECK_INT(j.code[h], CR_ERUN);
            CHECK_STR(j.err[h].msg, "rank 1: the lock is lost");
            CHECK_STR(j.err[h].at.path, "dir");
        }
        char **names;
        size_t n;
        CHECK_INT(cr_list_dir(&arena, dir, &names, &n, NULL), CR_OK);
        CHECK_INT((int)n, 0);
    }
}

/* Memory for the bytes under way: without it, all holders fail with one message. */
TEST(no_memory_of_one_holder) {
    static placing p;
    for (int t = 0; t < TENSORS; t++)
        place(&p, t, 3, &(uint64_t){7000 + (uint64_t)t});
    int failures = 0;
    for (uint64_t k = 1; k < 200; k++) {
        char *dir = new_dir();
        job j = {.dir = dir, .p = &p, .shard = 1000, .round = 256};
        cr_alloc_fail_after(k);
        run(&j, 3, save_work);
        cr_alloc_fail_after(0);
        if (j.code[0] == CR_OK) break;
        failures++;
        for (int h = 0; h < 3; h++) {
            CHECK_INT(j.code[h], CR_ENOMEM);
            CHECK_STR(j.err[h].msg, j.err[0].msg);
        }
        CHECK(strncmp(j.err[0].msg, "rank ", 5) == 0 && strstr(j.err[0].msg, ": no memory for "));
        char **names;
        size_t n;
        CHECK_INT(cr_list_dir(&arena, dir, &names, &n, NULL), CR_OK);
        CHECK_INT((int)n, 0);
    }
    CHECK(failures > 9);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(same_bytes_for_any_placing), CASE(files_are_shared),
                                   CASE(exports_are_shared),         CASE(one_failure_reaches_all),
                                   CASE(full_disk_of_one_holder),    CASE(unwanted_by_one_holder),
                                   CASE(no_memory_of_one_holder)};
    cr_arena_init(&arena, 0);
    root = mkdtemp(fast);
    if (!root) root = mkdtemp(plain);
    if (!root) return 1;
    int rc = t_run(cases, sizeof cases / sizeof *cases, argc, argv);
    if (cr_rmtree(root, NULL) != CR_OK) rc = 1;
    cr_arena_clear(&arena);
    return rc;
}
