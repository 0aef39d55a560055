/*
 * hdfs_blocks.h - bytes of a block, straight from the data nodes that have it.
 *
 * A data node sends packets, and a checksum for every few hundred bytes. A node that does not
 * answer, or whose bytes do not have their checksums, is left for the next one, which goes on where
 * it stopped.
 */
#ifndef CR_STORE_HDFS_BLOCKS_H
#define CR_STORE_HDFS_BLOCKS_H

#include "base/fs.h"
#include "base/proto.h"

#define CR_BLOCK_NODES 8
#define CR_BLOCK_TOKEN 4096

/* A block as the name node describes it (LocatedBlockProto). */
typedef struct cr_block {
    char pool[200];
    uint64_t id, stamp;
    int64_t at, size; /* where it lies in the file */
    bool corrupt;     /* the name node knows no good replica */
    int n_nodes;
    struct {
        char host[256];
        int port;
    } nodes[CR_BLOCK_NODES];
    size_t n_token;
    unsigned char token[CR_BLOCK_TOKEN]; /* as it came; it goes to the data node */
} cr_block;

/* cr_block_parse reads a description; by_name: nodes are known by their names and not by their
 * addresses. False: it is none. */
bool cr_block_parse(cr_block *b, cr_pb m, bool by_name);

/* cr_block_read reads n bytes of a block from byte `from` of it on; n is at most what is behind it.
 * *got says how many came when all nodes failed, and is n otherwise. */
int cr_block_read(const cr_block *b, int64_t from, void *buf, size_t n, size_t *got,
                  cr_fs_why *why);

/* cr_block_request: the bytes that ask a data node, which tests compare with known ones. */
void cr_block_request(cr_buf *out, const cr_block *b, const char *client, int64_t from, size_t n);

#endif
