/*
 * oss.c - where buckets of Alibaba Cloud's OSS are found.
 *
 * oss://bucket/key needs OSS_ENDPOINT or OSS_REGION; a path may also name the whole host, as PAI
 * writes it: oss://bucket.oss-cn-hangzhou-internal.aliyuncs.com/key. The region is that of the
 * host's name unless OSS_REGION says another.
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

/* Writes "cn-hangzhou" of "oss-cn-hangzhou-internal.aliyuncs.com". */
static void region_of(char *out, size_t size, const char *host) {
    const char *a = strncmp(host, "oss-", 4) == 0 ? host + 4 : "";
    size_t n = strcspn(a, "."), tail = strlen("-internal");
    if (n > tail && strncmp(a + n - tail, "-internal", tail) == 0) n -= tail;
    snprintf(out, size, "%.*s", (int)n, a);
}

static int place(cr_obj_place *p, const char *path, cr_fs_why *why) {
    const char *endpoint = env("OSS_ENDPOINT"), *region = env("OSS_REGION"), *scheme = "https://";
    char made[128], whole[256];
    int e = cr_obj_split(p, path, why);
    if (e != 0) return e;
    char *dot = strchr(p->host, '.');
    if (dot) { /* the path names the host; a bucket has no dot */
        memcpy(whole, dot + 1, strlen(dot + 1) + 1);
        *dot = 0;
        endpoint = whole;
    } else if (!endpoint && region) {
        snprintf(made, sizeof made, "oss-%.60s.aliyuncs.com", region);
        endpoint = made;
    }
    if (!endpoint || strlen(p->host) >= sizeof p->bucket) {
        snprintf(why->text, sizeof why->text, "%s",
                 endpoint ? "the name of the bucket is too long"
                          : "the region of the bucket is not known");
        snprintf(why->cure, sizeof why->cure,
                 "; set OSS_ENDPOINT, as in oss-cn-hangzhou.aliyuncs.com");
        return EINVAL;
    }
    memcpy(p->bucket, p->host, strlen(p->host) + 1);
    size_t at, len;
    e = cr_obj_endpoint(endpoint, "OSS_ENDPOINT", &at, &len, why);
    if (e != 0) return e;
    if (at == 7) scheme = "http://";
    const char *name = endpoint + at;
    int n = (int)len;
    region_of(p->region, sizeof p->region, name);
    if (region) snprintf(p->region, sizeof p->region, "%s", region);
    /* a store that is no name of OSS (an address, a stand-in) has the bucket in the path */
    p->in_path = !strstr(name, ".aliyuncs.com");
    snprintf(p->host, sizeof p->host, "%s%s%.*s", p->in_path ? "" : p->bucket,
             p->in_path ? "" : ".", n, name);
    snprintf(p->base, sizeof p->base, "%s%s", scheme, p->host);
    return 0;
}

const cr_cloud cr_cloud_oss = {.scheme = "oss",
                               .style = &cr_sig4_oss,
                               .prefix = "x-oss-",
                               .range_header = "x-oss-range-behavior",
                               .checksum = "x-oss-hash-crc64ecma",
                               .creds = cr_creds_alibaba,
                               .place = place};

const cr_store cr_store_oss = CR_OBJECT_STORE("oss");
