/*
 * creds.h - the keys with which requests to clouds are signed, and where they are found. Keys are
 * never written to logs or messages.
 */
#ifndef CR_STORE_CREDS_H
#define CR_STORE_CREDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fs.h"

typedef struct cr_creds {
    char id[256], secret[256], token[4096]; /* token "": none */
    int64_t until;                          /* seconds since 1970; 0: for ever */
} cr_creds;

/* Both look in their chain of places, the first that has keys counts, and keep what they found
 * until a quarter of an hour before it ends. `fresh` looks again: the keys were refused. EACCES:
 * there are none; why tells where they may stand.
 *
 * AWS: AWS_ACCESS_KEY_ID and its companions; the role of a pod; the profile AWS_PROFILE of
 * ~/.aws/credentials; the container's address; the machine's (IMDSv2).
 * Alibaba Cloud: OSS_ACCESS_KEY_ID ..., ALIBABA_CLOUD_ACCESS_KEY_ID ...; the role of a pod;
 * ~/.aliyun/config.json; ~/.alibabacloud/credentials; the role of the machine;
 * ALIBABA_CLOUD_CREDENTIALS_URI. */
int cr_creds_aws(cr_creds *out, bool fresh, cr_fs_why *why);
int cr_creds_alibaba(cr_creds *out, bool fresh, cr_fs_why *why);
/* cr_ini_get copies the value of a key of a section of an INI file; false: there is none. */
bool cr_ini_get(const char *path, const char *section, const char *key, char *out, size_t size);
/* cr_home_path writes $HOME/<rest>; false: there is no home. */
bool cr_home_path(char *out, size_t size, const char *rest);

#endif
