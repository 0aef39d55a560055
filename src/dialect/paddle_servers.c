/*
 * paddle_servers.c - how a PaddleRec config trains with parameter servers: fleet_mode and
 * distribute_strategy of the old kind, sync_mode of the new one, become train_config.servers.
 *
 * A worker of Paddle has CPU_NUM threads (thread_num of the phase), each with a batch of its own.
 * In sync and half_async their gradients are averaged in every step, which is a batch so many times
 * as large. In async and geo each is sent as it comes, so the batch stays, and the queue takes as
 * many gradients as Paddle's strategy object says: CPU_NUM.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dialect/paddle_int.h"

bool cr_pd_on_cluster(const cr_conf_node *runner) {
    const char *text = runner ? cr_conf_find_text(runner, "class") : "";
    return strcasecmp(text, "local_cluster_train") == 0 || strcasecmp(text, "cluster_train") == 0;
}

/* Returns one of the words, or words[0] after a mistake. */
static const char *word_of(cr_pd *p, const char *key, const char *const *words) {
    const char *text = cr_pd_str(p, p->runner, key, false);
    cr_buf b;
    if (!text) return words[0];
    for (int i = 0; words[i]; i++)
        if (strcasecmp(words[i], text) == 0) return words[i];
    cr_buf_init(&b);
    for (int i = 0; words[i]; i++)
        cr_buf_printf(&b, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    cr_pd_wrong(p, cr_pd_at(p, p->runner, key), "%s is '%.40s' and must be %s", key, text, b.data);
    cr_buf_clear(&b);
    return words[0];
}

/* The batches that a worker computes at a time. On a node of a cluster the platform says it. */
static int64_t replicas(cr_pd *p) {
    int64_t threads = cr_pd_int(p, p->phase, "thread_num", 1, 1, 4096), n;
    const char *nodes = getenv("CPU_NUM");
    if (!cr_pd_on_cluster(p->runner.map) || !nodes || !*nodes) return threads;
    if (cr_parse_i64(nodes, strlen(nodes), &n) && n >= 1 && n <= 4096) return n;
    cr_pd_wrong(p, cr_pd_at(p, p->runner, "class"),
                "CPU_NUM of the environment is '%.40s' and must be a number from 1 to 4096", nodes);
    return threads;
}

/* The batches between two differences of geo: train.strategy.mode.push_num at the top, with dots or
 * as mappings. */
static int64_t push_num(cr_pd *p) {
    static const char key[] = "train.strategy.mode.push_num";
    cr_pd_map at = {p->in, "the config"};
    if (cr_pd_get(p, at, key)) return cr_pd_int(p, at, key, 100, 1, 1000000000);
    static const char *const steps[] = {"train", "strategy", "mode"};
    for (int i = 0; i < 3 && at.map; i++)
        at = (cr_pd_map){cr_pd_get(p, at, steps[i]), steps[i]};
    return at.map ? cr_pd_int(p, at, "push_num", 100, 1, 1000000000) : 100;
}

static void old_servers(cr_pd *p) {
    static const char *const fleets[] = {"ps", "pslib", "collective", NULL};
    static const char *const strategies[] = {"async", "sync", "half_async", "geo", NULL};
    const char *fleet = word_of(p, "fleet_mode", fleets);
    const char *strategy = word_of(p, "distribute_strategy", strategies);
    int64_t n = p->replicas = replicas(p);
    if (!cr_pd_on_cluster(p->runner.map) || strcmp(fleet, "collective") == 0) return;
    cr_loc at = cr_pd_at(p, p->runner, "distribute_strategy");
    const char *name = cr_pd_str(p, p->optimizer, "class", false);
    bool sgd = !name || strcasecmp(name, "sgd") == 0;
    p->merges = strcmp(strategy, "async") != 0 && strcmp(strategy, "geo") != 0;
    cr_pd_put(p, at, "train_config: {servers: {strategy: %s}}", strategy);
    if (strcmp(strategy, "async") == 0)
        cr_pd_put(p, at,
                  "train_config: {servers: {max_merge_var_num: %lld, send_queue_size: %lld, "
                  "min_send_grad_num_before_recv: %lld, send_wait_times: 5, is_sgd_optimizer: %s}}",
                  (long long)n, (long long)n, (long long)n, sgd ? "true" : "false");
    if (strcmp(strategy, "geo") == 0)
        cr_pd_put(p, at, "train_config: {servers: {k_steps: %lld}}", (long long)push_num(p));
}

static void new_servers(cr_pd *p) {
    static const char *const modes[] = {"sync", "async", "geo", NULL};
    p->replicas = 1;
    if (!p->o->servers) return;
    const char *mode = word_of(p, "sync_mode", modes);
    int64_t step = cr_pd_int(p, p->runner, "geo_step", 100, 1, 1000000000);
    cr_loc at = cr_pd_at(p, p->runner, "sync_mode");
    cr_pd_put(p, at, "train_config: {servers: {strategy: %s}}", mode);
    if (strcmp(mode, "geo") == 0)
        cr_pd_put(p, at, "train_config: {servers: {k_steps: %lld}}", (long long)step);
}

void cr_pd_servers(cr_pd *p) {
    p->merges = true;
    if (p->old)
        old_servers(p);
    else
        new_servers(p);
}
