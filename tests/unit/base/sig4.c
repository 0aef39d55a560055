/*
 * sig4.c - signatures against published answers of OSS's own library, and answers that were
 * computed with another tool.
 */
#include "store/sig4.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "store/object.h"

typedef struct known {
    const cr_sig4_style *style;
    const char *id, *secret, *region, *time, *method, *path;
    cr_sig4_pair query[6];
    cr_sig4_pair headers[5];
    const char *want;
} known;

static int count(const cr_sig4_pair *v, int most) {
    int n = 0;
    while (n < most && v[n].name)
        n++;
    return n;
}

static void check(const known *k) {
    char out[65];
    known copy = *k;
    cr_sig4 s = {.style = k->style,
                 .id = k->id,
                 .secret = k->secret,
                 .region = k->region,
                 .method = k->method,
                 .path = k->path,
                 .query = copy.query,
                 .n_query = count(k->query, 6),
                 .headers = copy.headers,
                 .n_headers = count(k->headers, 5),
                 .payload = "UNSIGNED-PAYLOAD"};
    memcpy(s.time, k->time, sizeof s.time);
    cr_sig4_sign(&s, out);
    CHECK_STR(out, k->want);
}

#define OSS_KEY "/oss-bucket-test/test-sign-V4/-!@#$%^&*()/abcdefjhijklmnoqprstuvwxyz/123456789"
#define HEADS(prefix, time)                                                                        \
    {prefix "content-sha256", "UNSIGNED-PAYLOAD"}, {                                               \
        prefix "date", time                                                                        \
    }
#define DAY "20250101T000000Z"

TEST(published_by_oss) {
    known put = {.style = &cr_sig4_oss,
                 .id = "ak",
                 .secret = "sk",
                 .region = "cn-hangzhou",
                 .time = "20221016T091431Z",
                 .method = "PUT",
                 .path = OSS_KEY,
                 .headers = {{"content-type", "application/octet-stream"},
                             {"x-oss-head1", "value"},
                             HEADS("x-oss-", "20221016T091431Z")},
                 .want = "5028172a0a3806285979896982bee6e36e915cbf428ee7100a809e1f0ff43b64"};
    check(&put);
    known query = put;
    query.time = "20221016T040719Z";
    query.headers[3].value = query.time;
    cr_sig4_pair pairs[] = {{"param1", "value1"}, {"+param1", "value3"}, {"|param1", "value4"},
                            {"+param2", ""},      {"|param2", ""},       {"param2", ""}};
    memcpy(query.query, pairs, sizeof pairs);
    query.want = "16e58322c5aafb55edd82813b02d6521caab8194882c786bf0e77b7987a63979";
    check(&query);
}

TEST(oss) {
    known k = {.style = &cr_sig4_oss,
               .id = "AKIDEXAMPLE",
               .secret = "SECRETEXAMPLE",
               .region = "cn-hangzhou",
               .time = DAY,
               .method = "GET",
               .path = "/demo-bucket/train/dt=20250101/part-0.parquet",
               .headers = {{"x-oss-range-behavior", "standard"}, HEADS("x-oss-", DAY)},
               .want = "4eef6d6ccc3ba9887383fc05c58ddea9d28ae2ce0937e81f835d3b37f79427e6"};
    check(&k);
    known list = {.style = &cr_sig4_oss,
                  .id = "AKIDEXAMPLE",
                  .secret = "SECRETEXAMPLE",
                  .region = "cn-hangzhou",
                  .time = DAY,
                  .method = "GET",
                  .path = "/demo-bucket/",
                  .query = {{"list-type", "2"},
                            {"prefix", "train/dt=20250101/"},
                            {"delimiter", "/"},
                            {"max-keys", "1000"},
                            {"encoding-type", "url"}},
                  .headers = {HEADS("x-oss-", DAY)},
                  .want = "148829657f9bdbb394962c5c39ad2104134d740bc81221591b34c7669a0d4ef0"};
    check(&list);
    known token = {.style = &cr_sig4_oss,
                   .id = "AKIDEXAMPLE",
                   .secret = "SECRETEXAMPLE",
                   .region = "cn-hangzhou",
                   .time = DAY,
                   .method = "POST",
                   .path = "/demo-bucket/out/model.bin",
                   .query = {{"uploads", ""}},
                   .headers = {{"content-type", "application/octet-stream"},
                               {"x-oss-security-token", "TOK"},
                               HEADS("x-oss-", DAY)},
                   .want = "f3c27053e4db87b97920114ed8295911e9ffa39cb7889d5efb7f5c2bacaa2b4e"};
    check(&token);
}

TEST(s3) {
    known k = {.style = &cr_sig4_s3,
               .id = "AKIDEXAMPLE",
               .secret = "SECRETEXAMPLE",
               .region = "us-east-1",
               .time = DAY,
               .method = "GET",
               .path = "/demo-bucket/train/dt=20250101/part-0.parquet",
               .headers = {{"range", "bytes=0-65535"},
                           {"host", "s3.us-east-1.amazonaws.com"},
                           HEADS("x-amz-", DAY)},
               .want = "859494dc31f53365b202573490ed8d0af2d36e9aabbf86da775cab360f87189b"};
    check(&k);
    known list = {
        .style = &cr_sig4_s3,
        .id = "AKIDEXAMPLE",
        .secret = "SECRETEXAMPLE",
        .region = "us-east-1",
        .time = DAY,
        .method = "GET",
        .path = "/",
        .query = {{"delimiter", "/"}, {"list-type", "2"}, {"prefix", "train/dt=20250101/"}},
        .headers = {{"host", "demo-bucket.s3.us-east-1.amazonaws.com"}, HEADS("x-amz-", DAY)},
        .want = "0601b2b96a6398515509fdb3d79ea4c28d6372440959e90584d07b7176bd3214"};
    check(&list);
}

TEST(header_and_time) {
    cr_buf b;
    cr_buf_init(&b);
    cr_sig4_pair h[] = {{"x-amz-date", DAY}, {"host", "h"}};
    cr_sig4 s = {.style = &cr_sig4_s3,
                 .id = "ID",
                 .secret = "S",
                 .region = "r",
                 .method = "GET",
                 .path = "/",
                 .headers = h,
                 .n_headers = 2,
                 .payload = "UNSIGNED-PAYLOAD"};
    cr_sig4_time(s.time, 1735689600);
    CHECK_STR(s.time, DAY);
    cr_sig4_header(&s, &b);
    CHECK(strncmp(b.data,
                  "Authorization: AWS4-HMAC-SHA256 Credential=ID/20250101/r/s3/aws4_request, "
                  "SignedHeaders=host;x-amz-date, Signature=",
                  115) == 0);
    CHECK(!strstr(b.data, "S/"));
    cr_buf_clear(&b);
}

/* the hosts of Amazon's buckets; China's regions end otherwise */
TEST(hosts_of_s3) {
    static const char *const v[][2] = {{"eu-central-1", "b.s3.eu-central-1.amazonaws.com"},
                                       {"cn-north-1", "b.s3.cn-north-1.amazonaws.com.cn"}};
    unsetenv("AWS_ENDPOINT_URL");
    unsetenv("AWS_ENDPOINT_URL_S3");
    unsetenv("AWS_S3_ADDRESSING_STYLE");
    for (int i = 0; i < 2; i++) {
        cr_obj_place p = {.in_path = false};
        cr_fs_why why = {0};
        setenv("AWS_REGION", v[i][0], 1);
        CHECK_INT(cr_cloud_s3.place(&p, "s3://b/k", &why), 0);
        CHECK_STR(p.host, v[i][1]);
    }
}

TEST_MAIN(CASE(published_by_oss), CASE(oss), CASE(s3), CASE(header_and_time), CASE(hosts_of_s3))
