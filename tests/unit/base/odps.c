/*
 * odps.c - signatures for MaxCompute against known answers, which were computed apart from this
 * code, and the paths of tables.
 */
#include <stdlib.h>

#include "harness.h"
#include "store/odps.h"
#include "store/odps_sign.h"

#define SESSION                                                                                    \
    "{\"RequiredDataColumns\": [\"a\"], \"RequiredPartitionColumns\": [], "                        \
    "\"RequiredPartitions\": "                                                                     \
    "[\"dt=20250101\"], \"RequiredBucketIds\": [], \"SplitOptions\": {\"SplitMode\": "             \
    "\"RowOffset\", \"SplitNumber\": 268435456, \"CrossPartition\": true}, \"ArrowOptions\": "     \
    "{\"TimestampUnit\": \"nano\", \"DatetimeUnit\": \"milli\"}, \"FilterPredicate\": \"\", "      \
    "\"EnableEstimateStats\": false}"

typedef struct known {
    const char *method, *path, *query; /* query: a=1&b, in any order */
    const char *md5, *type, *version;  /* x-odps-tunnel-version */
    const char *v2, *v4;
} known;

static const known answers[] = {
    {"GET", "/projects/demo/tunnel", "service&curr_project=demo", "", "", NULL,
     "PDAEJDhwhmoLmfQxXDS3dAoNUCY=", "jNcnptNsZnIIajehCSBYEaQSX/s="},
    {"GET", "/projects/demo/tunnel", "service&quotaName=pay-as-you-go&curr_project=demo", "", "",
     NULL, "RP9tkwcqAnc2evxe8bhyF7VT4fI=", "LKqZfX3zv81KbYwDMlgoa1uiqoo="},
    {"POST", "/api/storage/v1/projects/demo/schemas/default/tables/t/sessions",
     "session_type=batch_read&curr_project=demo&quotaName=pay-as-you-go",
     "051ae3c86d3f62d7352c893016b1e421", "application/json", NULL,
     "EuRHZD5olpbd9gEd6nX++rhNRpA=", "g+q49pnXOF+DzknwpBCl1UorcuE="},
    {"GET", "/api/storage/v1/projects/demo/schemas/default/tables/t/data",
     "session_id=S1&split_index=0&row_index=0&row_count=10&max_batch_rows=4096&curr_project=demo&"
     "quotaName=pay-as-you-go",
     "", "", NULL, "maBRppFI0HS2CGA379il5Vz/zHo=", "FPUMpv3DoMClAzOP8tSRZRLZqRA="},
    {"GET", "/projects/demo/tables/t", "partition=dt='20250101'&curr_project=demo", "", "", NULL,
     "2gDkPRN+zx7ObV8r92kbdKIu9b0=", "8PadcUZb9b+TY224aIyD11ZkpsM="},
    {"POST", "/projects/demo/tables/t",
     "downloads&asyncmode=true&partition=dt=20250101&curr_project=demo", "", "", "6",
     "DuRxQhlwYZcV8kEnoa6gEi/iE5k=", "kmOcYNV9Ct5lGWx9EFlXCnIKJc8="},
    {"GET", "/projects/demo/tables/t",
     "data&arrow&downloadid=D1&rowrange=(0,10)&columns=a&partition=dt=20250101&curr_project=demo",
     "", "", "6", "wpu+8RamGD6rw4A4Ca0dO7oXHko=", "dYmcN2DHE+HyYzxN98QYskD24SY="},
};

static void signature(const known *k, bool v4, cr_buf *out) {
    char date[40], text[512], *save = NULL;
    cr_sig4_pair query[16], headers[2] = {{"x-odps-user-agent", "demo/1.0"}};
    cr_odps_sign s = {.id = "AKIDEXAMPLE",
                      .secret = "SECRETEXAMPLE",
                      .region = v4 ? "cn-hangzhou" : "",
                      .method = k->method,
                      .md5 = k->md5,
                      .type = k->type,
                      .date = date,
                      .path = k->path,
                      .query = query,
                      .headers = headers,
                      .n_headers = 1};
    cr_odps_date(date, s.day, 1735689600);
    CHECK_STR(date, "Wed, 01 Jan 2025 00:00:00 GMT");
    if (k->version) headers[s.n_headers++] = (cr_sig4_pair){"x-odps-tunnel-version", k->version};
    snprintf(text, sizeof text, "%s", k->query);
    for (char *p = strtok_r(text, "&", &save); p; p = strtok_r(NULL, "&", &save)) {
        char *eq = strchr(p, '=');
        if (eq) *eq++ = 0;
        query[s.n_query++] = (cr_sig4_pair){p, eq ? eq : ""};
    }
    cr_buf_reset(out);
    cr_odps_signature(&s, out);
}

TEST(known_answers) {
    cr_buf b;
    cr_buf_init(&b);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        char want[160];
        signature(&answers[i], false, &b);
        snprintf(want, sizeof want, "ODPS AKIDEXAMPLE:%s", answers[i].v2);
        CHECK_STR(b.data, want);
        signature(&answers[i], true, &b);
        snprintf(want, sizeof want,
                 "ODPS AKIDEXAMPLE/20250101/cn-hangzhou/odps/aliyun_v4_request:%s", answers[i].v4);
        CHECK_STR(b.data, want);
    }
    char md5[33];
    cr_odps_md5(SESSION, strlen(SESSION), md5);
    CHECK_INT((long long)strlen(SESSION), 341);
    CHECK_STR(md5, "051ae3c86d3f62d7352c893016b1e421");
    cr_buf_clear(&b);
}

TEST(paths) {
    cr_arena a;
    cr_odps_table t;
    cr_err err;
    cr_arena_init(&a, 0);
    CHECK_INT(cr_odps_parse(&t, "odps://p/tables/t", &a, &err), CR_OK);
    CHECK_STR(t.project, "p");
    CHECK_STR(t.table, "t");
    CHECK_INT(t.n_partitions, 0);
    CHECK_INT(cr_odps_parse(&t, "odps://p/tables/s.t/dt=1/hh=2&dt=1/hh=3/", &a, &err), CR_OK);
    CHECK_STR(t.schema, "s");
    CHECK_STR(t.table, "t");
    CHECK_INT(t.n_partitions, 2);
    CHECK_STR(t.partitions[0], "dt=1/hh=2");
    CHECK_STR(t.partitions[1], "dt=1/hh=3");
    static const char *const wrong[] = {"odps://p/table/t",    "odps://p",
                                        "odps:///tables/t",    "odps://p/tables/",
                                        "s3://b/tables/t",     "odps://p/tables/t/20250101",
                                        "odps://p/tables/s.",  "odps://p/tables/.t",
                                        "odps://p/tables/t/=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_INT(cr_odps_parse(&t, wrong[i], &a, &err), CR_ECONF);
    cr_arena_clear(&a);
}

/* Accounts come from a file, or from the environment with an address. */
TEST(accounts) {
    cr_odps *o = NULL;
    cr_err err;
    char path[] = "/tmp/crank-odps-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    fprintf(f, "access_id=ID\naccess_key = K\nend_point=http://x/api\n");
    fclose(f);
    unsetenv("ODPS_ENDPOINT");
    setenv("ODPS_CONFIG_FILE_PATH", path, 1);
    /* names of keys are not trimmed */
    CHECK_INT(cr_odps_open(&o, "p", "q", &err), CR_ECONF);
    CHECK(strstr(err.msg, "'access_key' is missing") != NULL);
    f = fopen(path, "w");
    fprintf(f, "access_id=ID\naccess_key= K \nend_point=ftp://x/api\n");
    fclose(f);
    CHECK_INT(cr_odps_open(&o, "p", "q", &err), CR_ECONF);
    CHECK(strstr(err.msg, "'ftp://x/api' is no address of MaxCompute") != NULL);
    setenv("ODPS_ENDPOINT", "http://x/api/", 1);
    CHECK_INT(cr_odps_open(&o, "p", "q", &err), CR_OK);
    cr_odps_close(o);
    unsetenv("ODPS_CONFIG_FILE_PATH");
    unsetenv("ODPS_ENDPOINT");
    setenv("ALIBABA_CLOUD_CREDENTIALS_URI", "http://127.0.0.1:1/", 1);
    CHECK_INT(cr_odps_open(&o, "p", "q", &err), CR_ECONF);
    CHECK(strstr(err.msg, "ODPS_ENDPOINT is not set") != NULL);
    unsetenv("ALIBABA_CLOUD_CREDENTIALS_URI");
    remove(path);
}

TEST_MAIN(CASE(known_answers), CASE(paths), CASE(accounts))
