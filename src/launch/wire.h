/*
 * wire.h - the messages between the agents of a job and its head, as bytes.
 *
 * A message is a type and the fields of its row in the table below: numbers and texts. The parser
 * takes bytes from the network; whatever does not fit its row exactly is refused
 * (docs/design/launch.md).
 */
#ifndef CR_LAUNCH_WIRE_H
#define CR_LAUNCH_WIRE_H

#include <stdint.h>

#include "base/buf.h"

#define CR_WIRE_VERSION 3
#define CR_WIRE_MAX     16384 /* bytes of type and fields */
#define CR_WIRE_TEXT    4096  /* bytes of a text */
#define CR_WIRE_NUMS    10
#define CR_WIRE_TEXTS   2

/* name, fields: n a number, t a text */
#define CR_WIRE_TABLE(X)                                                                           \
    X(JOIN, "nnnnnnnnnntt")                                                                        \
    X(REFUSE, "t")                                                                                 \
    X(START, "nnnnnnnn")                                                                           \
    X(PUT, "tt")                                                                                   \
    X(FENCE, "n")                                                                                  \
    X(STEP, "nn")                                                                                  \
    X(FAULT, "nnnnnnt")                                                                            \
    X(ENDED, "nn")                                                                                 \
    X(STOP, "nn")                                                                                  \
    X(WISH, "n")                                                                                   \
    X(TELL, "nt")                                                                                  \
    X(BYE, "nt")                                                                                   \
    X(SPARE, "n")                                                                                  \
    X(LOST, "nn")                                                                                  \
    X(PING, "")

#define CR_WIRE_ENUM(name, fields) CR_WIRE_##name,
typedef enum cr_wire_type { CR_WIRE_NONE, CR_WIRE_TABLE(CR_WIRE_ENUM) CR_WIRE_TYPES } cr_wire_type;

/* numbers of the messages */
enum {
    CR_JOIN_RANK1,
    CR_JOIN_NPROC,
    CR_JOIN_SEEN,
    CR_JOIN_TRAINED,
    CR_JOIN_DIGEST,
    CR_JOIN_ARGS,
    CR_JOIN_BATCH,
    CR_JOIN_MIN,
    CR_JOIN_MAX,
    CR_JOIN_FAULT_MS
};
enum {
    CR_START_GEN,
    CR_START_RESTARTS,
    CR_START_FIRST,
    CR_START_WORLD,
    CR_START_NODE,
    CR_START_NODES,
    CR_START_RESUME,
    CR_START_BATCH
};
enum { CR_FAULT_GEN, CR_FAULT_RANK, CR_FAULT_KIND, CR_FAULT_CODE, CR_FAULT_SHOWN, CR_FAULT_SPARE };

typedef struct cr_msg {
    cr_wire_type type;
    uint64_t num[CR_WIRE_NUMS]; /* in the order of the row */
    struct {
        const char *p; /* followed by no NUL when it was parsed */
        size_t n;
    } text[CR_WIRE_TEXTS];
} cr_msg;

const char *cr_wire_name(cr_wire_type type);
/* cr_wire_put appends type and fields; texts that are too long are cut. */
void cr_wire_put(cr_buf *out, const cr_msg *m);
/* cr_wire_get parses exactly n bytes. The texts point into data. False: no such message. */
bool cr_wire_get(cr_msg *out, const void *data, size_t n);
/* cr_wire_text copies text i, always with a NUL at its end. */
void cr_wire_text(const cr_msg *m, int i, char *out, size_t size);

#endif
