/*
 * s3.c - where buckets of S3 and of stores that speak like it (MinIO, Ceph) are found.
 *
 * AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL names another store than Amazon's; its buckets are named
 * in the path of a URL. Amazon's are named in the host, except for those with a dot, which no
 * certificate covers. AWS_S3_ADDRESSING_STYLE (path, virtual) decides otherwise.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs_list.h"
#include "store/object.h"

static const char *env(const char *name) {
    const char *v = getenv(name);
    return v && *v ? v : NULL;
}

static void find_region(char *out, size_t size) {
    const char *region = env("AWS_REGION"), *profile = env("AWS_PROFILE"),
               *file = env("AWS_CONFIG_FILE");
    char path[1024], section[300];
    if (!region) region = env("AWS_DEFAULT_REGION");
    snprintf(out, size, "%s", region ? region : "");
    if (region) return;
    snprintf(section, sizeof section, "%s%.200s", profile ? "profile " : "",
             profile ? profile : "default");
    if (!file && cr_home_path(path, sizeof path, ".aws/config")) file = path;
    if (!file || !cr_ini_get(file, section, "region", out, size)) snprintf(out, size, "us-east-1");
}

static int place(cr_obj_place *p, const char *path, cr_fs_why *why) {
    const char *endpoint = env("AWS_ENDPOINT_URL_S3"), *style = env("AWS_S3_ADDRESSING_STYLE");
    if (!endpoint) endpoint = env("AWS_ENDPOINT_URL");
    int e = cr_obj_split(p, path, why);
    if (e != 0) return e;
    if (strlen(p->host) >= sizeof p->bucket) {
        snprintf(why->text, sizeof why->text, "the name of the bucket is too long");
        return EINVAL;
    }
    memcpy(p->bucket, p->host, strlen(p->host) + 1);
    find_region(p->region, sizeof p->region);
    p->in_path = endpoint || strchr(p->bucket, '.');
    if (style) p->in_path = strcmp(style, "path") == 0;
    const char *dot = p->in_path ? "" : ".", *first = p->in_path ? "" : p->bucket;
    if (!endpoint) {
        /* China is a part of Amazon of its own */
        snprintf(p->host, sizeof p->host, "%s%ss3.%s.amazonaws.com%s", first, dot, p->region,
                 strncmp(p->region, "cn-", 3) == 0 ? ".cn" : "");
        snprintf(p->base, sizeof p->base, "https://%s", p->host);
        return 0;
    }
    size_t scheme, n;
    e = cr_obj_endpoint(endpoint, "AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL", &scheme, &n, why);
    if (e == 0 && scheme == 0) {
        snprintf(why->text, sizeof why->text,
                 "the endpoint of the environment, '%.60s', is no http:// or https:// address",
                 endpoint);
        snprintf(why->cure, sizeof why->cure, "; correct AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL");
        e = EINVAL;
    }
    if (e != 0) return e;
    const char *name = endpoint + scheme;
    snprintf(p->host, sizeof p->host, "%s%s%.*s", first, dot, (int)n, name);
    snprintf(p->base, sizeof p->base, "%.*s%s", (int)scheme, endpoint, p->host);
    return 0;
}

const cr_cloud cr_cloud_s3 = {.scheme = "s3",
                              .style = &cr_sig4_s3,
                              .prefix = "x-amz-",
                              .region_name = "x-amz-bucket-region",
                              .signs_host = true,
                              .creds = cr_creds_aws,
                              .place = place};

const cr_store cr_store_s3 = CR_OBJECT_STORE("s3");
const cr_store cr_store_s3a = CR_OBJECT_STORE("s3a"); /* as Hadoop writes it */
const cr_store cr_store_s3n = CR_OBJECT_STORE("s3n");
