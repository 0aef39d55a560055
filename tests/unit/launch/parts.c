/*
 * parts.c - files that another rank has are read and written; strangers, files that changed and
 * ranks that are gone.
 */
#include "launch/parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fs.h"
#include "harness.h"

#define N_BYTES 3000000

static char dir[64];
static cr_part_file files[2];
static cr_key key = {{1, 2, 3}};
static char addr[2][CR_PARTS_ADDR];
static cr_parts *rank[2];
static char *bytes;

static const char *at(const char *name) {
    static char path[4][128];
    static int k;
    char *p = path[k++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

static cr_part_file file_of(const char *name, const char *path, int owner, bool mine) {
    cr_fs_stat st;
    CHECK_INT(cr_fs_stat_path(path, true, &st, NULL), 0);
    return (cr_part_file){.name = name,
                          .path = strdup(path),
                          .owner = owner,
                          .mine = mine,
                          .size = st.size,
                          .changed = st.changed,
                          .digest = 7};
}

/* Rank 0 reads and rank 1 has the second file; both are in this process. */
static void begin(const cr_key *other) {
    cr_err err;
    snprintf(dir, sizeof dir, "/tmp/crank-parts.XXXXXX");
    CHECK(mkdtemp(dir) != NULL);
    bytes = malloc(N_BYTES);
    for (int i = 0; i < N_BYTES; i++)
        bytes[i] = (char)(i * 7 + i / 1000);
    CHECK_INT(cr_file_write(at("a"), "first", 5, &err), CR_OK);
    CHECK_INT(cr_file_write(at("b"), bytes, N_BYTES, &err), CR_OK);
    files[0] = file_of("parts://a", at("a"), 0, true);
    files[1] = file_of("parts://b", at("b"), 1, false);
    CHECK_INT(cr_parts_new(&rank[0], files, 2, 0, &key, addr[0], &err), CR_OK);
    CHECK_INT(cr_parts_new(&rank[1], files, 2, 1, other, addr[1], &err), CR_OK);
    cr_parts_use(rank[0], addr[0], 2);
}

static void end(void) {
    cr_parts_free(rank[0]);
    cr_parts_free(rank[1]);
    free(bytes);
    free((char *)(uintptr_t)files[0].path);
    free((char *)(uintptr_t)files[1].path);
    CHECK_INT(cr_rmtree(dir, NULL), CR_OK);
}

static void *read_all(void *ctx) {
    cr_err err;
    cr_buf b;
    cr_buf_init(&b);
    CHECK_INT(cr_file_read("parts://b", 0, &b, &err), CR_OK);
    bool same = b.n == N_BYTES && memcmp(b.data, bytes, N_BYTES) == 0;
    *(int *)ctx = same;
    cr_buf_clear(&b);
    return NULL;
}

TEST(reading) {
    cr_err err;
    cr_fs *f;
    char part[100];
    size_t got;
    begin(&key);
    CHECK_INT(cr_fs_open(&f, "parts://b", &err), CR_OK);
    CHECK_INT(cr_fs_info(f)->size, N_BYTES);
    CHECK_INT(cr_fs_info(f)->version, 7);
    CHECK_INT(cr_fs_pread(f, 2999950, part, 100, &got, &err), CR_OK);
    CHECK_INT(got, 50);
    CHECK(memcmp(part, bytes + 2999950, 50) == 0);
    CHECK_INT(cr_fs_pread(f, 1048570, part, 100, &got, &err), CR_OK);
    CHECK(got == 100 && memcmp(part, bytes + 1048570, 100) == 0);
    cr_fs_close(f);
    CHECK_INT(cr_fs_open(&f, "parts://a", &err), CR_OK);
    CHECK_INT(cr_fs_pread(f, 0, part, 100, &got, &err), CR_OK);
    CHECK(got == 5 && memcmp(part, "first", 5) == 0);
    cr_fs_close(f);
    CHECK_INT(cr_fs_open(&f, "parts://c", &err), CR_EIO);
    CHECK(strstr(err.msg, "No such file") != NULL);
    int64_t before = cr_parts_sent(rank[1]);
    pthread_t t[4];
    int same[4] = {0};
    for (int i = 0; i < 4; i++)
        CHECK_INT(pthread_create(&t[i], NULL, read_all, &same[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
        CHECK(same[i]);
    }
    CHECK(cr_parts_sent(rank[1]) - before >= 4 * N_BYTES);
    CHECK_INT(cr_parts_sent(rank[0]), 0); /* its own file was read from its own disk */
    end();
}

TEST(writing) {
    cr_err err;
    cr_arena a;
    cr_buf b;
    cr_outfile *f;
    cr_buf_init(&b);
    cr_arena_init(&a, 0);
    begin(&key);
    const char *to = cr_parts_dir(1, dir, &a);
    CHECK_INT(cr_file_write(cr_path_join(&a, to, "out"), bytes, N_BYTES, &err), CR_OK);
    CHECK_INT(cr_file_read(at("out"), 0, &b, &err), CR_OK);
    CHECK(b.n == N_BYTES && memcmp(b.data, bytes, N_BYTES) == 0);
    /* a file that was not committed disappears; one of a folder that is not there cannot be made */
    CHECK_INT(cr_outfile_open(&f, cr_path_join(&a, to, "half"), &err), CR_OK);
    CHECK_INT(cr_outfile_write(f, bytes, N_BYTES, &err), CR_OK);
    cr_outfile_abort(f);
    CHECK(!cr_path_exists(at("half")));
    CHECK_INT(cr_file_write(cr_path_join(&a, to, "no/out"), "x", 1, &err), CR_EIO);
    CHECK(strstr(err.msg, "No such file") != NULL);
    /* only folders of ranks are written into */
    CHECK_INT(cr_file_write("parts://b", "x", 1, &err), CR_EIO);
    CHECK_INT(cr_file_write("parts://@7/x", "x", 1, &err), CR_EIO);
    CHECK_INT(cr_file_write("parts://@x/x", "x", 1, &err), CR_EIO);
    end();
    CHECK(cr_parts_dir(1, dir, &a) == NULL);
    cr_buf_clear(&b);
    cr_arena_clear(&a);
}

TEST(changes) {
    cr_err err;
    cr_fs *f;
    char part[100];
    size_t got;
    begin(&key);
    CHECK_INT(cr_fs_open(&f, "parts://b", &err), CR_OK);
    bytes[5]++;
    CHECK_INT(cr_file_write(at("b"), bytes, N_BYTES - 1, &err), CR_OK);
    CHECK_INT(cr_fs_pread(f, 0, part, 100, &got, &err), CR_EIO);
    CHECK(strstr(err.msg, "of rank 1 changed while the job was using it") != NULL);
    CHECK_INT(unlink(at("b")), 0);
    CHECK_INT(cr_fs_pread(f, 0, part, 100, &got, &err), CR_EIO);
    CHECK(strstr(err.msg, "of rank 1 changed while the job was using it") != NULL);
    cr_fs_close(f);
    CHECK_INT(cr_file_write(at("a"), "other", 5, &err), CR_OK);
    CHECK(cr_fs_open(&f, "parts://a", &err) != CR_OK);
    end();
}

/* Another job answers in the place of the rank, or nobody does. */
TEST(wrong_rank) {
    static const cr_key other = {{9}};
    cr_err err;
    cr_buf b;
    cr_buf_init(&b);
    begin(&other);
    CHECK_INT(cr_file_read("parts://b", 0, &b, &err), CR_EIO);
    CHECK(strstr(err.msg, "rank 1, which has") != NULL);
    snprintf(addr[1], sizeof addr[1], "%s", addr[0]); /* rank 0 of this job is not rank 1 */
    CHECK_INT(cr_file_read("parts://b", 0, &b, &err), CR_EIO);
    snprintf(addr[1], sizeof addr[1], "127.0.0.1 1");
    CHECK_INT(cr_file_read("parts://b", 0, &b, &err), CR_EIO);
    CHECK(strstr(err.msg, "rank 1, which has") != NULL);
    CHECK(strstr(err.msg, "cannot be reached by TCP: Connection refused") != NULL);
    addr[1][0] = 0;
    CHECK_INT(cr_file_read("parts://b", 0, &b, &err), CR_EIO);
    cr_buf_clear(&b);
    end();
}

/* A stranger gets a nonce and a proof, which say nothing, and no more. */
TEST(strangers) {
    begin(&key);
    const char *last = strrchr(addr[1], ' ');
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)atoi(last + 1))};
    for (int way = 0; way < 3; way++) {
        char junk[200] = {0}, in[200];
        size_t n = 0;
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        CHECK_INT(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
        if (way == 0) CHECK_INT(send(fd, junk, 7, MSG_NOSIGNAL), 7);
        if (way == 0) CHECK_INT(shutdown(fd, SHUT_WR), 0);
        if (way > 0)
            CHECK_INT(send(fd, junk, 32 * (size_t)(way + 1), MSG_NOSIGNAL), 32 * (way + 1));
        for (ssize_t k; (k = recv(fd, in + n, sizeof in - n, 0)) > 0;)
            n += (size_t)k;
        CHECK_INT(n, way == 0 ? 0 : 64);
        close(fd);
    }
    int same = 0;
    read_all(&same);
    CHECK(same);
    end();
}

TEST_MAIN(CASE(reading), CASE(writing), CASE(changes), CASE(wrong_rank), CASE(strangers))
