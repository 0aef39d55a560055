/*
 * hrpc.h - calls to name nodes by Hadoop's own protocol (version 9, protobuf), without Java.
 *
 * A connection begins with "hrpc" and a message that names the user; then each call is a packet of
 * three messages, and each answer one of two. Connections stay open for the next call.
 */
#ifndef CR_STORE_HRPC_H
#define CR_STORE_HRPC_H

#include "base/fs.h"
#include "base/proto.h"

#define CR_HRPC_ID 16 /* bytes of the name that a client gives itself */

typedef struct cr_hrpc_answer {
    cr_buf packet; /* owns what body points to */
    cr_pb body;    /* the message of the answer */
    /* a refusal: the name of an exception without its package, and the first line of its text;
     * "": the call succeeded */
    char exception[80];
    char text[200];
    bool fatal; /* the other end closes the connection */
} cr_hrpc_answer;

/* cr_hrpc_call makes one call, on a connection that an earlier call left open where there is one.
 * 0: there is an answer, which may be a refusal. The answer must be given back by cr_hrpc_clear in
 * either case. The request may be made twice. */
int cr_hrpc_call(const char *address, const char *user, const char *method, const cr_buf *request,
                 cr_hrpc_answer *a, cr_fs_why *why);
void cr_hrpc_clear(cr_hrpc_answer *a);

/* ---- the bytes themselves, which tests compare with known ones ---- */

void cr_hrpc_hello(cr_buf *out, const char *user, const char id[CR_HRPC_ID]);
void cr_hrpc_request(cr_buf *out, int call, const char id[CR_HRPC_ID], const char *method,
                     const cr_buf *request);
/* cr_hrpc_parse takes the packet of an answer apart; false: it is none, or that of another call. */
bool cr_hrpc_parse(cr_hrpc_answer *a, int call);

#endif
