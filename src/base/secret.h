/*
 * secret.h - which settings are secrets, by their names. Their values are not printed.
 */
#ifndef CR_BASE_SECRET_H
#define CR_BASE_SECRET_H

#include <stdbool.h>

/* cr_is_secret: is it a variable or a key such as AWS_SECRET_ACCESS_KEY, HADOOP_TOKEN or fs_ugi? */
bool cr_is_secret(const char *name);

#endif
