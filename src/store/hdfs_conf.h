/*
 * hdfs_conf.h - which addresses serve an hdfs:// path, and as whom requests are made. Known
 * from the path, from the environment, and from Hadoop's own files (core-site.xml, hdfs-site.xml of
 * HADOOP_CONF_DIR).
 */
#ifndef CR_STORE_HDFS_CONF_H
#define CR_STORE_HDFS_CONF_H

#include "base/fs.h"

#define CR_HDFS_NODES 8

typedef struct cr_hdfs_place {
    /* "http://nn1:9870": the name nodes, or a gateway; for the native protocol "nn1:8020" */
    char base[CR_HDFS_NODES][320];
    int n;
    bool gateway;     /* the only base is a gateway, from WEBHDFS_URL */
    char name[256];   /* of the file system, as the path says it */
    const char *path; /* behind it, with its slash; points into the path */
    char user[128];
    char *token; /* a delegation token; NULL: none. From malloc */
    bool kerberos;
    bool by_name; /* data nodes are reached by their names (dfs.client.use.datanode.hostname) */
} cr_hdfs_place;

/* cr_hdfs_find fills a place; native: with addresses of RPC, and without a token. EINVAL: the path
 * or the configuration does not lead anywhere. */
int cr_hdfs_find(cr_hdfs_place *p, const char *path, bool native, cr_fs_why *why);
void cr_hdfs_clear(cr_hdfs_place *p);
/* cr_hdfs_token reads a file of tokens in Hadoop's form and returns the first one of HDFS as it
 * stands in URLs, from malloc; NULL: there is none. */
char *cr_hdfs_token(const char *data, size_t n);

#endif
