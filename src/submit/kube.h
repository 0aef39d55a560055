/*
 * kube.h - what the two kinds of Kubernetes jobs share: keys, checks, pods, job.sh.
 */
#ifndef CR_SUBMIT_KUBE_H
#define CR_SUBMIT_KUBE_H

#include "submit/submit_int.h"

#define CR_KUBE_MEMBERS                                                                            \
    CR_PLACE_MEMBERS;                                                                              \
    const char *namespace, *image, *image_pull_policy, *clean_pod_policy, *queue, *priority_class; \
    int64_t ttl_seconds_after_finished, active_deadline_seconds, backoff_limit;                    \
    const cr_conf_node *volumes
typedef struct cr_kube_conf {
    CR_KUBE_MEMBERS;
} cr_kube_conf;
#define CR_KUBE_ROWS(S)                                                                            \
    CR_PLACE_ROWS(S, "image"), CR_STR(S, namespace, "default", 0, "namespace of the job"),         \
        CR_STR(S, image, NULL, 0, "image of the pods, with crank in it"),                          \
        CR_STR(S, image_pull_policy, NULL, 0, "Always, IfNotPresent or Never"),                    \
        CR_STR(S, clean_pod_policy, "Running", 0, "pods deleted at the end: None, Running, All"),  \
        CR_STR(S, queue, NULL, 0, "queue of the gang scheduler"),                                  \
        CR_STR(S, priority_class, NULL, 0, "priority class of the gang scheduler"),                \
        CR_INT(S, ttl_seconds_after_finished, 86400, 0, 2147483647, 0,                             \
               "how long the finished job is kept"),                                               \
        CR_INT(S, active_deadline_seconds, 0, 0, 2147483647, 0, "limit of the job; 0: none"),      \
        CR_INT(S, backoff_limit, 3, 0, 1000, 0, "retries of the job"),                             \
        CR_TREE(S, volumes, 0, "claims that the pods mount: [{claim: data, mount: /data}]")

/* cr_kube_check also looks at the name: `suffix` and a number are put behind it. */
void cr_kube_check(cr_submit *s, const char *suffix, int64_t last);
/* cr_kube_head writes apiVersion to metadata; cr_kube_policy the runPolicy below spec. */
void cr_kube_head(cr_submit *s, cr_buf *b, const char *api, const char *kind);
void cr_kube_policy(cr_submit *s, cr_buf *b);
/* A role of a job. */
typedef struct cr_kube_pod {
    const char *role, *restart, *container;
    int64_t replicas;
    const char *const *command; /* NULL: that of the image */
    bool small;                 /* one core: it only starts others */
    bool secret;                /* CRANK_JOB_SECRET comes from the secret of the job */
} cr_kube_pod;
void cr_kube_role(cr_submit *s, cr_buf *b, const cr_kube_pod *p);
/* cr_kube_words: the words of `first`, those of the node's command, and those of `behind`
 * (separated by blanks), as a list, NULL-ended. */
const char *const *cr_kube_words(cr_submit *s, const char *const *first, const char *behind);
/* cr_kube_files writes job.yaml from b, job.sh and .jobs.sh; log is what kubectl logs takes. */
CR_CHECKED cr_code cr_kube_files(cr_submit *s, cr_buf *b, const char *kind, const char *log,
                                 bool secret, cr_err *err);
const char *cr_kube_answer(cr_submit *s, const char *text);

#define CR_KUBE_LIMIT (1000 * 1000) /* bytes of a ConfigMap, with room for its frame */

#endif
