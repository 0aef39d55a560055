/*
 * rings.h - bytes between the ranks of one machine, through shared memory.
 *
 * Each ordered pair of ranks has one ring per slot: the sender copies bytes in, the receiver copies
 * them out, and two counters say how far each of them is. Nothing waits in here; put and take move
 * what they can, and say how much that was. Both sides know how many bytes a message has.
 *
 * The memory has no name: one rank makes it, the others open it through the maker's process, and it
 * ends with the last of them, also when all are killed.
 */
#ifndef CR_COMM_RINGS_H
#define CR_COMM_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the maker tells the others. */
typedef struct cr_rings_name {
    int64_t pid, fd; /* fd < 0: there are no rings */
    uint64_t mark;   /* the memory begins with it */
} cr_rings_name;

typedef struct cr_rings {
    char *mem;
    size_t size, cap; /* of all, and of one ring */
    int n, slots, self, fd;
} cr_rings;

/* cr_rings_make makes the memory for n ranks, of which the caller is the first; cr_rings_open
 * joins it as rank `self`. Both return false where this machine does not allow it. After all have
 * opened it, cr_rings_joined closes the way in. */
bool cr_rings_make(cr_rings *r, int n, int slots, cr_rings_name *name);
bool cr_rings_open(cr_rings *r, const cr_rings_name *name, int n, int slots, int self);
void cr_rings_joined(cr_rings *r);
void cr_rings_close(cr_rings *r);
/* cr_rings_put and cr_rings_take move up to n bytes to or from another rank and return how many. */
size_t cr_rings_put(const cr_rings *r, int to, int slot, const void *data, size_t n);
size_t cr_rings_take(const cr_rings *r, int from, int slot, void *data, size_t n);

#endif
