/*
 * init.c - see init.h. Uniform values are drawn in float like torch's (low + u * (high - low)),
 * normal ones by Box-Muller in double. Value i depends on (key, i) only, so the number of threads
 * and a resume change nothing.
 */
#include "emb/init.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/rng.h"

typedef struct arg {
    const char *name;
    double *to;
} arg;

/* Reads "key=value" pairs separated by commas; s points behind the function's name. */
static cr_code read_args(const char *s, const char *text, const arg *args, cr_err *err) {
    while (*s) {
        if (*s == ',' || *s == ' ') {
            s++;
            continue;
        }
        size_t len = strcspn(s, ",");
        const char *eq = memchr(s, '=', len);
        if (!eq)
            return cr_fail(
                err, CR_ECONF,
                "init_fn '%s': '%.*s' is not key=value; write e.g. nn.init.normal_,mean=0,std=0.1",
                text, (int)len, s);
        size_t k = (size_t)(eq - s);
        while (k > 0 && s[k - 1] == ' ')
            k--;
        const arg *a = args;
        while (a->name && (strlen(a->name) != k || strncmp(a->name, s, k) != 0))
            a++;
        if (!a->name)
            return cr_fail(err, CR_ECONF,
                           "init_fn '%s': unknown argument '%.*s'; this function takes %s%s%s",
                           text, (int)k, s, args[0].name ? args[0].name : "none",
                           args[0].name && args[1].name ? ", " : "",
                           args[0].name && args[1].name ? args[1].name : "");
        const char *v = eq + 1, *end = s + len;
        while (v < end && *v == ' ')
            v++;
        while (end > v && end[-1] == ' ')
            end--;
        bool text_arg = strcmp(a->name, "mode") == 0 || strcmp(a->name, "nonlinearity") == 0;
        if (text_arg) {
            if (end - v >= 2 && (*v == '\'' || *v == '"') && end[-1] == *v) v++, end--;
            size_t n = (size_t)(end - v);
            const char *const *word = strcmp(a->name, "mode") == 0
                                          ? (const char *const[]){"fan_in", "fan_out"}
                                          : (const char *const[]){"leaky_relu", "relu"};
            int i = 0;
            while (i < 2 && (strlen(word[i]) != n || memcmp(word[i], v, n) != 0))
                i++;
            if (i == 2)
                return cr_fail(err, CR_ECONF, "init_fn '%s': %s is '%.*s'; use %s or %s", text,
                               a->name, (int)n, v, word[0], word[1]);
            *a->to = i;
        } else if (!cr_parse_f64(v, (size_t)(end - v), a->to))
            return cr_fail(err, CR_ECONF, "init_fn '%s': '%.*s' is not a number", text,
                           (int)(end - v), v);
        s += len;
    }
    return CR_OK;
}

cr_code cr_init_parse(cr_init *out, const char *text, int64_t fan_out, int64_t fan_in,
                      cr_err *err) {
    const char *s = text;
    const char *const prefixes[] = {"torch.nn.init.", "nn.init.", "init."};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(s, prefixes[i], strlen(prefixes[i])) == 0) {
            s += strlen(prefixes[i]);
            break;
        }
    char name[32];
    size_t len = strcspn(s, ",(");
    while (len > 0 && s[len - 1] == ' ')
        len--;
    snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : sizeof(name) - 1), s);
    s += strcspn(s, ",(");
    double fi = (double)fan_in, fo = (double)fan_out;
    *out = (cr_init){CR_INIT_CONST, 0, 0, 0, 0};
    if (strcmp(name, "uniform_") == 0) {
        *out = (cr_init){CR_INIT_UNIFORM, 0, 1, 0, 0};
        return read_args(s, text, (arg[]){{"a", &out->a}, {"b", &out->b}, {NULL, NULL}}, err);
    }
    if (strcmp(name, "normal_") == 0) {
        *out = (cr_init){CR_INIT_NORMAL, 0, 1, 0, 0};
        return read_args(s, text, (arg[]){{"mean", &out->a}, {"std", &out->b}, {NULL, NULL}}, err);
    }
    if (strcmp(name, "trunc_normal_") == 0) {
        *out = (cr_init){CR_INIT_TRUNC_NORMAL, 0, 1, -2, 2};
        return read_args(s, text,
                         (arg[]){{"mean", &out->a},
                                 {"std", &out->b},
                                 {"a", &out->lo},
                                 {"b", &out->hi},
                                 {NULL, NULL}},
                         err);
    }
    if (strcmp(name, "constant_") == 0)
        return read_args(s, text, (arg[]){{"val", &out->a}, {NULL, NULL}}, err);
    if (strcmp(name, "zeros_") == 0 || strcmp(name, "ones_") == 0) {
        out->a = name[0] == 'o';
        return read_args(s, text, (arg[]){{NULL, NULL}}, err);
    }
    double gain = 1, slope = 0, fan_mode = 0, nonlin = 0;
    if (strncmp(name, "xavier_", 7) == 0) {
        CR_TRY(read_args(s, text, (arg[]){{"gain", &gain}, {NULL, NULL}}, err));
        double std = gain * sqrt(2.0 / (fi + fo));
        if (strcmp(name, "xavier_uniform_") == 0)
            *out = CR_INIT_U(sqrt(3.0) * std);
        else if (strcmp(name, "xavier_normal_") == 0)
            *out = CR_INIT_N(std);
        else
            goto unknown;
        return CR_OK;
    }
    if (strncmp(name, "kaiming_", 8) == 0) {
        CR_TRY(read_args(
            s, text,
            (arg[]){{"a", &slope}, {"mode", &fan_mode}, {"nonlinearity", &nonlin}, {NULL, NULL}},
            err));
        if (nonlin > 0) slope = 0; /* relu has no slope */
        double std = sqrt(2.0 / (1 + slope * slope)) / sqrt(fan_mode > 0 ? fo : fi);
        if (strcmp(name, "kaiming_uniform_") == 0)
            *out = CR_INIT_U(sqrt(3.0) * std);
        else if (strcmp(name, "kaiming_normal_") == 0)
            *out = CR_INIT_N(std);
        else
            goto unknown;
        return CR_OK;
    }
unknown:
    return cr_fail(
        err, CR_ECONF,
        "init_fn '%s': unknown function '%s'; known are nn.init.uniform_, normal_, trunc_normal_, "
        "constant_, zeros_, ones_, xavier_uniform_, xavier_normal_, kaiming_uniform_, "
        "kaiming_normal_",
        text, name);
}

void cr_init_fill(const cr_init *init, uint64_t key, int64_t first, int64_t n, float *out) {
    switch (init->kind) {
    case CR_INIT_CONST:
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)init->a;
        break;
    case CR_INIT_UNIFORM: {
        float lo = (float)init->a, range = (float)(init->b - init->a);
        for (int64_t i = 0; i < n; i++)
            out[i] = lo + range * cr_rng_f32(key, (uint64_t)(first + i));
        break;
    }
    case CR_INIT_NORMAL:
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)(init->a + init->b * cr_rng_normal(key, (uint64_t)(first + i)));
        break;
    case CR_INIT_WAVES:
        for (int64_t i = 0; i < n; i++) {
            int64_t D = (int64_t)init->a, place = (first + i) / D, c = (first + i) % D;
            double x = (double)place / pow(10000, 2.0 * (double)c / (double)D);
            out[i] = (float)(c % 2 ? cos(x) : sin(x));
        }
        break;
    case CR_INIT_TRUNC_NORMAL:
        /* Draws again until the value lies inside the limits; each value has its own stream of
         * tries. */
        for (int64_t i = 0; i < n; i++) {
            uint64_t k = cr_rng_sub(key, (uint64_t)(first + i));
            double v = init->a;
            for (uint64_t try = 0; try < 1000; try++) {
                v = init->a + init->b * cr_rng_normal(k, try);
                if (v >= init->lo && v <= init->hi) break;
            }
            out[i] = (float)v;
        }
        break;
    }
}
