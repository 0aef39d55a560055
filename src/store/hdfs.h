/*
 * hdfs.h - what the two ways to HDFS share: its web interface (hdfs_web.c) and the protocol of its
 * own clients (hdfs_native.c). hdfs.c chooses between them.
 */
#ifndef CR_STORE_HDFS_H
#define CR_STORE_HDFS_H

#include "base/fs.h"

extern const cr_store cr_hdfs_web, cr_hdfs_native;

/* cr_hdfs_errno: what an exception of Hadoop means; 0: it is not known. It adds a cure where the
 * rights are the cause. */
int cr_hdfs_errno(const char *exception, cr_fs_why *why);
/* cr_hdfs_describe fills a description from what HDFS tells of a file; `changed` is in
 * milliseconds. Both ways give the same file the same version, so that a run may go on by the
 * other one. */
void cr_hdfs_describe(cr_fs_stat *st, cr_fs_kind kind, int64_t size, int64_t changed, int64_t id);

#endif
