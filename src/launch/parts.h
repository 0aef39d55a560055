/*
 * parts.h - data files of which each host has others: every rank reads all of them, from its own
 * disk or from the rank that has them (docs/design/data.md, "Parts on hosts").
 *
 * The files are those of a store of their own, parts://NAME, which exists while a job is open; in
 * parts://@RANK/PATH a rank writes into a folder of another one. A rank proves that it knows the
 * key of the job before it gets a byte, and so does the one that it asks. What travels is not
 * sealed, as the rows of other ranks are not.
 */
#ifndef CR_LAUNCH_PARTS_H
#define CR_LAUNCH_PARTS_H

#include "base/mem.h"
#include "launch/proof.h"

#define CR_PARTS_SCHEME "parts"
#define CR_PARTS_ADDR   1024 /* bytes of the addresses of a rank */

typedef struct cr_part_file {
    const char *name; /* parts://... */
    const char *path; /* on the host that has it */
    int owner;        /* the rank that gives it to others */
    bool mine;        /* this rank has it, too */
    int64_t size;
    int64_t changed; /* of the one on this host: the time of its last change */
    uint64_t digest; /* names the content */
} cr_part_file;

typedef struct cr_parts cr_parts;
/* cr_parts_new begins to serve the files of this rank and writes where it is reached, as text of at
 * most CR_PARTS_ADDR bytes. files: all of them, sorted by name and borrowed, as everything here. */
CR_CHECKED cr_code cr_parts_new(cr_parts **out, const cr_part_file *files, int64_t n, int self,
                                const cr_key *key, char addr[CR_PARTS_ADDR], cr_err *err);
/* cr_parts_use makes the files readable under their names; addr: of all ranks, one after the other.
 * One cr_parts is in use at a time. */
void cr_parts_use(cr_parts *p, const char *addr, int n_ranks);
/* cr_parts_free ends the serving; no file may be open and no other rank may want one. NULL is
 * fine. */
void cr_parts_free(cr_parts *p);
/* cr_parts_dir returns the name under which this rank writes into a folder of another one; NULL: no
 * files are in use. */
char *cr_parts_dir(int rank, const char *path, cr_arena *a);
/* cr_parts_sent returns the bytes that other ranks got from this one. */
int64_t cr_parts_sent(cr_parts *p);

#endif
