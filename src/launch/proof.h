/*
 * proof.h - the job's secret: read or made, proven without being shown, and the seal of messages.
 */
#ifndef CR_LAUNCH_PROOF_H
#define CR_LAUNCH_PROOF_H

#include <stdint.h>

#include "base/err.h"

#define CR_NONCE      32
#define CR_PROOF      32
#define CR_SEAL       16
#define CR_SECRET_MIN 16 /* bytes of a secret */

typedef struct cr_key {
    uint8_t b[CR_PROOF];
} cr_key;

/* cr_secret_key reads the secret from a file, or from text when path is NULL, and makes the key of
 * the job run_id of it. White space at the end does not count. Both NULL: CR_EUSAGE with a cure. */
CR_CHECKED cr_code cr_secret_key(cr_key *out, const char *path, const char *text,
                                 const char *run_id, cr_err *err);
/* cr_random fills n bytes with random ones of the system. */
CR_CHECKED cr_code cr_random(void *out, size_t n, cr_err *err);
/* cr_prove computes the proof of who ("agent", "head") for two nonces. The key of a direction is
 * made in the same way, with other words. */
void cr_prove(const cr_key *key, const char *who, const uint8_t a[CR_NONCE],
              const uint8_t h[CR_NONCE], uint8_t out[CR_PROOF]);
/* cr_seal computes the seal of the count-th message. */
void cr_seal(const cr_key *key, uint64_t count, const void *data, size_t n, uint8_t out[CR_SEAL]);
/* cr_same_secret compares without telling by its time where the first difference is. */
bool cr_same_secret(const void *a, const void *b, size_t n);

#endif
