/* Addresses in texts show no passwords, and everything else stays as it is. */
#include "base/secret.h"

#include "harness.h"

static void masked(const char *text, const char *want) {
    cr_arena a;
    cr_arena_init(&a, 0);
    CHECK_STR(cr_masked(&a, text), want);
    cr_arena_clear(&a);
}

TEST(addresses) {
    masked("kafka://b:9092/t?group.id=g&sasl.password=x&a=1",
           "kafka://b:9092/t?group.id=g&sasl.password=***&a=1");
    masked("kafka://b:9092/t?sasl.password=a=b%20c", "kafka://b:9092/t?sasl.password=***");
    masked("kafka://b/t?ssl.key.pem=x&sasl.oauthbearer.client.secret=y",
           "kafka://b/t?ssl.key.pem=***&sasl.oauthbearer.client.secret=***");
    masked(
        "path: \"kafka://b/t?ssl.key.password=x\"\nnext: \"kafka://b/t?sasl.password=y\" # z",
        "path: \"kafka://b/t?ssl.key.password=***\"\nnext: \"kafka://b/t?sasl.password=***\" # z");
    masked("s3a://ID:SECRET@bucket/key", "s3a://ID:***@bucket/key");
    masked("--x=http://me:a:b@c@host:80/p?q=1", "--x=http://me:***@host:80/p?q=1");
}

TEST(as_they_are) {
    masked("", "");
    masked("data/a.csv?password=x", "data/a.csv?password=x");
    masked("http://host:80/a@b:c", "http://host:80/a@b:c");
    masked("s3://bucket/a?b=c&d", "s3://bucket/a?b=c&d");
    masked("kafka://b/t?group.id=g&", "kafka://b/t?group.id=g&");
    masked("kafka://b/t?sasl.password", "kafka://b/t?sasl.password");
    masked("://", "://");
}

TEST_MAIN(CASE(addresses), CASE(as_they_are))
