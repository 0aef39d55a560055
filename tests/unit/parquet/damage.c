/*
 * damage.c - a Parquet file cut at any byte, or with any one byte changed, never crashes, hangs
 * or takes more memory than the budget allows.
 *
 * The small files are those of the fuzzer's corpus (every encoding and codec, by three writers):
 * all lengths, and every byte with several others in its place. Larger ones, with pages, row groups
 * and lists, are made here and damaged at places chosen by a fixed seed. Memory is bounded from
 * outside: by the address space, or under ASan by the largest single piece.
 */
#include <dirent.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"
#include "fuzz/pq_touch.h"
#include "harness.h"

#define SMALL_BUDGET ((size_t)256 << 10)
#define BUDGET       ((size_t)1 << 20)
#define ROOM                                                                                       \
    ((size_t)48 << 20) /* all that is held at a time: far below what sizes in files say            \
                        */
#define MAX_ROWS 3000

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef WITH_ASAN
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "max_allocation_size_mb=48";
}
static void bound_memory(void) {}
#else
static void bound_memory(void) {
    long pages = 0;
    const char *preload = getenv("LD_PRELOAD");
    if (preload && strstr(preload, "vgpreload")) return; /* valgrind's own memory would count */
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld", &pages) == 1 && pages > 0) {
        rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ROOM;
        setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    }
    if (f) fclose(f);
}
#endif

static int fd = -1;
static char fd_path[64];
static long n_opened, n_refused;

static void put_file(const void *data, size_t n) {
    if (fd < 0) {
        fd = memfd_create("damaged", 0);
        snprintf(fd_path, sizeof fd_path, "/proc/self/fd/%d", fd);
    }
    CHECK(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, n, 0) == (ssize_t)n);
}

/* reads all that can be read; the number of column chunks that were whole, -1: not opened */
static int read_all(size_t budget) {
    cr_pq_file *f;
    cr_err err;
    const cr_pq_opts opts = {.budget = budget, .keep_levels = true};
    if (cr_pq_open(&f, fd_path, &opts, &err) != CR_OK) {
        pq_touch_err(&err);
        n_refused++;
        return -1;
    }
    n_opened++;
    int whole = pq_touch_file(f, MAX_ROWS);
    cr_pq_close(f);
    return whole;
}

static int chunks(void) {
    cr_pq_file *f;
    cr_err err;
    int n = -1;
    if (cr_pq_open(&f, fd_path, NULL, &err) == CR_OK) {
        n = cr_pq_get_meta(f)->n_groups * cr_pq_get_meta(f)->n_leaves;
        cr_pq_close(f);
    }
    return n;
}

static void cut_at(const cr_buf *b, size_t n) {
    put_file(b->data, n);
    CHECK_INT(read_all(SMALL_BUDGET), -1); /* the end of the file is its magic */
}

static void change(const cr_buf *b, size_t at, uint8_t to, size_t budget) {
    uint8_t was = (uint8_t)b->data[at];
    if (was == to) return;
    CHECK(pwrite(fd, &to, 1, (off_t)at) == 1);
    (void)read_all(budget);
    CHECK(pwrite(fd, &was, 1, (off_t)at) == 1);
}

static int each_small(void (*fn)(const cr_buf *b)) {
    const char *root = getenv("CRANK_SOURCE_ROOT");
    char dir[1000], path[1300];
    int n = 0;
    snprintf(dir, sizeof dir, "%s/tests/fuzz/corpus/pq_file", root ? root : ".");
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        cr_buf b;
        cr_err err;
        size_t len = strlen(e->d_name);
        if (len < 8 || strcmp(e->d_name + len - 8, ".parquet") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        cr_buf_init(&b);
        CHECK_INT(cr_file_read(path, 0, &b, &err), CR_OK);
        put_file(b.data, b.n);
        if (chunks() <= 0 || read_all(SMALL_BUDGET) != chunks()) {
            fprintf(stderr, "%s: it is not read whole\n", path);
            CHECK(false);
        }
        fn(&b);
        cr_buf_clear(&b);
        n++;
    }
    if (d) closedir(d);
    return n;
}

static void cut_everywhere(const cr_buf *b) {
    for (size_t n = 0; n < b->n; n++)
        cut_at(b, n);
}
TEST(small_cut) {
    CHECK(each_small(cut_everywhere) >= 20);
}

static void change_everywhere(const cr_buf *b) {
    put_file(b->data, b->n);
    for (size_t i = 0; i < b->n; i++) {
        uint8_t was = (uint8_t)b->data[i];
        const uint8_t to[] = {0, 0xff, (uint8_t)(was + 1), (uint8_t)(was ^ 0x80),
                              (uint8_t)(was ^ 1 << i % 7)};
        for (size_t k = 0; k < sizeof to; k++)
            change(b, i, to[k], SMALL_BUDGET);
    }
}
TEST(small_changed) {
    n_opened = n_refused = 0;
    CHECK(each_small(change_everywhere) >= 20);
    /* both ways are walked */
    CHECK(n_opened > 10000 && n_refused > 1000);
}

/* ---- larger files, by our writer ---- */

enum { ROWS = 3000, ITEMS = 2 * ROWS };

static bool make_file(const char *path, cr_pq_codec codec, int version, bool no_dict) {
    cr_pq_node nodes[] = {
        {.name = "root", .type = CR_PQ_GROUP, .n_children = 5, .field_id = -1},
        {.name = "id", .type = CR_PQ_I64, .field_id = -1},
        {.name = "price", .type = CR_PQ_F32, .rep = CR_PQ_OPTIONAL, .field_id = -1},
        {.name = "word",
         .type = CR_PQ_BYTES,
         .rep = CR_PQ_OPTIONAL,
         .logical = {.kind = CR_PQ_STRING},
         .field_id = -1},
        {.name = "flag", .type = CR_PQ_BOOL, .field_id = -1},
        {.name = "tags",
         .type = CR_PQ_GROUP,
         .rep = CR_PQ_OPTIONAL,
         .n_children = 1,
         .logical = {.kind = CR_PQ_LIST},
         .field_id = -1},
        {.name = "list",
         .type = CR_PQ_GROUP,
         .rep = CR_PQ_REPEATED,
         .n_children = 1,
         .field_id = -1},
        {.name = "element", .type = CR_PQ_I32, .rep = CR_PQ_OPTIONAL, .field_id = -1},
    };
    static int64_t id[ROWS];
    static float price[ROWS];
    static uint8_t valid[ROWS], flag[ROWS], list_valid[ROWS], item_valid[ITEMS];
    static char text[ROWS * 8];
    static uint32_t beg[ROWS], end[ROWS];
    static int32_t off[ROWS + 1], item[ITEMS];
    uint32_t at = 0;
    int64_t nulls = 0, item_nulls = 0;
    for (int i = 0; i < ROWS; i++) {
        id[i] = (int64_t)i * 7919 % 100003;
        price[i] = (float)i / 8;
        valid[i] = i % 7 != 3;
        nulls += !valid[i];
        flag[i] = i % 100 < 50;
        beg[i] = at;
        if (valid[i]) at += (uint32_t)snprintf(text + at, 8, "w%d", i % 50);
        end[i] = at;
        list_valid[i] = i % 11 != 5;
        off[i + 1] = off[i] + (list_valid[i] ? i % 3 : 0);
    }
    int n_items = off[ROWS];
    for (int i = 0; i < n_items; i++) {
        item[i] = i * 31 % 1000;
        item_valid[i] = i % 13 != 7;
        item_nulls += !item_valid[i];
    }
    cr_pq_vec v[5] = {
        {.type = CR_PQ_I64, .n_rows = ROWS, .n = ROWS, .v.i64 = id},
        {.type = CR_PQ_F32,
         .n_rows = ROWS,
         .n = ROWS,
         .v.f32 = price,
         .valid = valid,
         .n_null = nulls},
        {.type = CR_PQ_BYTES,
         .n_rows = ROWS,
         .n = ROWS,
         .valid = valid,
         .n_null = nulls,
         .bytes = text,
         .beg = beg,
         .end = end},
        {.type = CR_PQ_BOOL, .n_rows = ROWS, .n = ROWS, .v.b8 = flag},
        {.type = CR_PQ_I32,
         .n_rows = ROWS,
         .n = n_items,
         .v.i32 = item,
         .valid = item_valid,
         .n_null = item_nulls,
         .depth = 1,
         .list = {{.off = off, .valid = list_valid, .n = ROWS}}},
    };
    cr_pq_meta m = {.nodes = nodes, .n_nodes = 8};
    cr_arena arena;
    cr_err err;
    cr_pq_writer *w = NULL;
    cr_arena_init(&arena, 0);
    const cr_pq_write_opts o = {.codec = codec,
                                .group_rows = 1700,
                                .page_bytes = 3000,
                                .page_version = version,
                                .no_dict = no_dict,
                                .no_crc = version != 1};
    bool good = cr_pq_schema_finish(&m, &arena, &err) == CR_OK &&
                cr_pq_writer_new(&w, path, &m, &o, &err) == CR_OK &&
                cr_pq_write(w, v, &err) == CR_OK && cr_pq_writer_finish(w, &err) == CR_OK;
    if (!good) fprintf(stderr, "%s\n", err.msg);
    cr_pq_writer_free(w);
    cr_arena_clear(&arena);
    return good;
}

TEST(larger) {
    static const cr_pq_codec codecs[] = {CR_PQ_RAW, CR_PQ_SNAPPY, CR_PQ_ZSTD, CR_PQ_LZ4};
    char path[] = "/tmp/pq_damage_XXXXXX";
    int tmp = mkstemp(path);
    CHECK(tmp >= 0);
    close(tmp);
    n_opened = n_refused = 0;
    for (int i = 0; i < 8; i++) {
        cr_buf b;
        cr_err err;
        const uint64_t seed = 20240 + (uint64_t)i;
        uint64_t draw = 0;
        CHECK(make_file(path, codecs[i % 4], 1 + i / 4, i % 2));
        cr_buf_init(&b);
        CHECK_INT(cr_file_read(path, 0, &b, &err), CR_OK);
        if (b.n < 100) continue;
        put_file(b.data, b.n);
        CHECK_INT(read_all(BUDGET), chunks());
        CHECK_INT(chunks(), 10);
        for (int k = 0; k < 150; k++) {
            size_t at = (size_t)cr_rng_below(seed, draw++, b.n);
            uint8_t to = (uint8_t)cr_rng_u64(seed, draw++);
            change(&b, at, to, BUDGET);
            /* the footer is small and says the most */
            at = b.n - 8 - (size_t)cr_rng_below(seed, draw++, 900);
            change(&b, at, to, BUDGET);
        }
        for (int k = 0; k < 100; k++)
            cut_at(&b, (size_t)cr_rng_below(seed, draw++, b.n));
        cr_buf_clear(&b);
    }
    CHECK(n_opened > 500 && n_refused > 800);
    unlink(path);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(small_cut), CASE(small_changed), CASE(larger)};
    bound_memory();
    return t_run(cases, sizeof cases / sizeof cases[0], argc, argv);
}
