/*
 * proof.c - HMAC-SHA256 by nettle, random bytes by the kernel.
 */
#include "launch/proof.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 4096 /* bytes of a secret file */
#define MAKE "make one with 'head -c 32 /dev/urandom | base64'"

static void mac_text(struct hmac_sha256_ctx *ctx, const char *s) {
    hmac_sha256_update(ctx, strlen(s) + 1, (const uint8_t *)s);
}

static cr_code read_secret(const char *path, char *out, size_t *n, cr_err *err) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cr_fail(err, CR_EUSAGE, "--secret_file %s cannot be read: %s%s", path,
                       strerror(errno), cr_errno_cure(errno));
    cr_code code = CR_OK;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 077))
        code = cr_fail(err, CR_EUSAGE,
                       "--secret_file %s can be read by others on this machine; run 'chmod 600 %s'",
                       path, path);
    *n = 0;
    while (code == CR_OK && *n < MOST) {
        ssize_t k = read(fd, out + *n, MOST - *n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) code = cr_fail(err, CR_EIO, "--secret_file %s: %s", path, strerror(errno));
        if (k <= 0) break;
        *n += (size_t)k;
    }
    close(fd);
    return code;
}

cr_code cr_secret_key(cr_key *out, const char *path, const char *text, const char *run_id,
                      cr_err *err) {
    char file[MOST];
    size_t n = text ? strlen(text) : 0;
    if (!path && !text)
        return cr_fail(
            err, CR_EUSAGE,
            "several nodes need a secret that they share, so that no stranger can join; "
            "set CRANK_JOB_SECRET or give --secret_file FILE, the same on all nodes (" MAKE ")");
    if (path) {
        CR_TRY(read_secret(path, file, &n, err));
        text = file;
    }
    while (n > 0 && strchr(" \t\r\n", text[n - 1]))
        n--;
    if (n < CR_SECRET_MIN)
        return cr_fail(err, CR_EUSAGE, "the secret of %s has %d bytes and needs at least %d; " MAKE,
                       path ? path : "CRANK_JOB_SECRET", (int)n, CR_SECRET_MIN);
    struct hmac_sha256_ctx ctx;
    hmac_sha256_set_key(&ctx, n, (const uint8_t *)text);
    mac_text(&ctx, "crank launch 1");
    mac_text(&ctx, run_id);
    hmac_sha256_digest(&ctx, sizeof out->b, out->b);
    explicit_bzero(file, sizeof file);
    explicit_bzero(&ctx, sizeof ctx);
    return CR_OK;
}

cr_code cr_random(void *out, size_t n, cr_err *err) {
    char *p = out;
    int fd = -1; /* of /dev/urandom, for kernels before 3.17 */
    while (n > 0) {
        ssize_t k = fd < 0 ? getrandom(p, n, 0) : read(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0 && errno == ENOSYS && (fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC)) >= 0)
            continue;
        if (k <= 0) {
            int e = k < 0 ? errno : EIO;
            if (fd >= 0) close(fd);
            return cr_fail(err, CR_ERUN, "no random numbers: %s", strerror(e));
        }
        p += k;
        n -= (size_t)k;
    }
    if (fd >= 0) close(fd);
    return CR_OK;
}

void cr_prove(const cr_key *key, const char *who, const uint8_t a[CR_NONCE],
              const uint8_t h[CR_NONCE], uint8_t out[CR_PROOF]) {
    struct hmac_sha256_ctx ctx;
    hmac_sha256_set_key(&ctx, sizeof key->b, key->b);
    mac_text(&ctx, who);
    hmac_sha256_update(&ctx, CR_NONCE, a);
    hmac_sha256_update(&ctx, CR_NONCE, h);
    hmac_sha256_digest(&ctx, CR_PROOF, out);
}

void cr_seal(const cr_key *key, uint64_t count, const void *data, size_t n, uint8_t out[CR_SEAL]) {
    struct hmac_sha256_ctx ctx;
    uint8_t number[8];
    for (int i = 0; i < 8; i++)
        number[i] = (uint8_t)(count >> (8 * i));
    hmac_sha256_set_key(&ctx, sizeof key->b, key->b);
    hmac_sha256_update(&ctx, sizeof number, number);
    hmac_sha256_update(&ctx, n, data);
    hmac_sha256_digest(&ctx, CR_SEAL, out);
}

bool cr_same_secret(const void *a, const void *b, size_t n) {
    return memeql_sec(a, b, n) != 0;
}
