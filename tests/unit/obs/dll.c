/*
 * dll.c - the lines of DLLogger and TCAP_DLLogger, byte for byte as the two Python packages wrote
 * them for the same calls at the same time.
 */
#include "obs/dll.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

#include "../base/tmpdir.h"
#include "harness.h"

/* the calls of a short run */
static void play(cr_dll *l) {
    int64_t step[] = {0, 100, 3};
    cr_dll_fix_time(l, 1735689600125000, 2000);
    cr_dll_meta(l, "train.loss", "", -1, "MINIMIZE", "TRAIN");
    cr_dll_meta(l, "train.ips", "samples/s", 3, "MAXIMIZE", "TRAIN");
    cr_dll_meta(l, "train.ips", "twice", 3, NULL, NULL);
    cr_dll_fix_time(l, 1735689601500000, 1377000);
    cr_dll_begin(l, -1, NULL);
    cr_dll_f64(l, "lr", 0.001);
    cr_dll_i64(l, "batch_size", 2048);
    cr_dll_str(l, "model_name", "deepfm's \xc3\xa9");
    cr_dll_str(l, "path", NULL);
    cr_dll_end(l);
    cr_dll_fix_time(l, 1735689605250000, 5127000);
    cr_dll_begin(l, 2, step);
    cr_dll_f64(l, "train.loss", 0.5123);
    cr_dll_f64(l, "train.ips", 81234.5);
    cr_dll_end(l);
    cr_dll_fix_time(l, 1735689606000000, 2);
    cr_dll_begin(l, 3, step);
    cr_dll_f64(l, "val.auc", 1);
    cr_dll_end(l);
    cr_dll_begin(l, 1, step);
    cr_dll_f64(l, "val.loss", 1e-5);
    cr_dll_end(l);
    cr_dll_begin(l, 0, step);
    cr_dll_f64(l, "train.loss", NAN);
    cr_dll_end(l);
}

static const char nvidia_file[] =
    "DLLL {\"timestamp\": \"1735689600.125\", \"elapsedtime\": \"0.002\", \"datetime\": "
    "\"2025-01-01 00:00:00.125000+00:00\", \"type\": \"METADATA\", \"metric\": \"train.loss\", "
    "\"metadata\": {\"unit\": \"\", \"GOAL\": \"MINIMIZE\", \"STAGE\": \"TRAIN\"}}\n"
    "DLLL {\"timestamp\": \"1735689600.125\", \"elapsedtime\": \"0.002\", \"datetime\": "
    "\"2025-01-01 00:00:00.125000+00:00\", \"type\": \"METADATA\", \"metric\": \"train.ips\", "
    "\"metadata\": {\"unit\": \"samples/s\", \"format\": \":.3f\", \"GOAL\": \"MAXIMIZE\", "
    "\"STAGE\": \"TRAIN\"}}\n"
    "DLLL {\"timestamp\": \"1735689601.5\", \"datetime\": \"2025-01-01 00:00:01.500000+00:00\", "
    "\"elapsedtime\": \"1.377\", \"type\": \"LOG\", \"step\": \"PARAMETER\", \"data\": {\"lr\": "
    "0.001, \"batch_size\": 2048, \"model_name\": \"deepfm's \\u00e9\", \"path\": null}}\n"
    "DLLL {\"timestamp\": \"1735689605.25\", \"datetime\": \"2025-01-01 00:00:05.250000+00:00\", "
    "\"elapsedtime\": \"5.127\", \"type\": \"LOG\", \"step\": [0, 100], \"data\": {\"train.loss\": "
    "0.5123, \"train.ips\": 81234.5}}\n"
    "DLLL {\"timestamp\": \"1735689606.0\", \"datetime\": \"2025-01-01 00:00:06+00:00\", "
    "\"elapsedtime\": \"2e-06\", \"type\": \"LOG\", \"step\": [0, 100, 3], \"data\": {\"val.auc\": "
    "1.0}}\n"
    "DLLL {\"timestamp\": \"1735689606.0\", \"datetime\": \"2025-01-01 00:00:06+00:00\", "
    "\"elapsedtime\": \"2e-06\", \"type\": \"LOG\", \"step\": [0], \"data\": {\"val.loss\": "
    "1e-05}}\n"
    "DLLL {\"timestamp\": \"1735689606.0\", \"datetime\": \"2025-01-01 00:00:06+00:00\", "
    "\"elapsedtime\": \"2e-06\", \"type\": \"LOG\", \"step\": [], \"data\": {\"train.loss\": "
    "null}}\n"; /* Python writes NaN, which is no JSON */

static const char nvidia_console[] =
    "DLL 2025-01-01 00:00:01.500000 - PARAMETER lr : 0.001  batch_size : 2048  model_name : "
    "deepfm's \xc3\xa9  path : None \n"
    "DLL 2025-01-01 00:00:05.250000 - (0, 100) train.loss : 0.5123  train.ips : 81234.500 "
    "samples/s\n"
    "DLL 2025-01-01 00:00:06 - (0, 100, 3) val.auc : 1.0 \n"
    "DLL 2025-01-01 00:00:06 - (0,) val.loss : 1e-05 \n"
    "DLL 2025-01-01 00:00:06 - () train.loss : nan \n";

static const char tcap_file[] =
    "TCAPPDLL {\"timestamp\": \"1735689600.125\", \"elapsedtime\": \"0.002\", \"datetime\": "
    "\"2025-01-01 00:00:00.125000\", \"type\": \"METADATA\", \"metric\": \"train.loss\", "
    "\"metadata\": {\"unit\": \"\", \"GOAL\": \"MINIMIZE\", \"STAGE\": \"TRAIN\"}}\n"
    "TCAPPDLL {\"timestamp\": \"1735689600.125\", \"elapsedtime\": \"0.002\", \"datetime\": "
    "\"2025-01-01 00:00:00.125000\", \"type\": \"METADATA\", \"metric\": \"train.ips\", "
    "\"metadata\": {\"unit\": \"samples/s\", \"format\": \":.3f\", \"GOAL\": \"MAXIMIZE\", "
    "\"STAGE\": \"TRAIN\"}}\n"
    "TCAPPDLL {\"timestamp\": \"1735689601.5\", \"datetime\": \"2025-01-01 00:00:01.500000\", "
    "\"elapsedtime\": \"1.377\", \"type\": \"LOG\", \"step\": \"PARAMETER\", \"data\": \"{'lr': "
    "'0.001', 'batch_size': '2048', 'model_name': \\\"deepfm's \\u00e9\\\", 'path': 'None'}\"}\n"
    "TCAPPDLL {\"timestamp\": \"1735689605.25\", \"datetime\": \"2025-01-01 00:00:05.250000\", "
    "\"elapsedtime\": \"5.127\", \"type\": \"LOG\", \"step\": [0, 100], \"data\": \"{'rank': '0', "
    "'train.loss': '0.5123', 'train.ips': '81234.5'}\"}\n"
    "TCAPPDLL {\"timestamp\": \"1735689606.0\", \"datetime\": \"2025-01-01 00:00:06\", "
    "\"elapsedtime\": \"2e-06\", \"type\": \"LOG\", \"step\": [0, 100, 3], \"data\": \"{'rank': "
    "'0', 'val.auc': '1.0'}\"}\n"
    "TCAPPDLL {\"timestamp\": \"1735689606.0\", \"datetime\": \"2025-01-01 00:00:06\", "
    "\"elapsedtime\": \"2e-06\", \"type\": \"LOG\", \"step\": [0], \"data\": \"{'rank': '0', "
    "'val.loss': '1e-05'}\"}\n"
    "TCAPPDLL {\"timestamp\": \"1735689606.0\", \"datetime\": \"2025-01-01 00:00:06\", "
    "\"elapsedtime\": \"2e-06\", \"type\": \"LOG\", \"step\": [], \"data\": \"{'rank': '0', "
    "'train.loss': 'nan'}\"}\n";

static const char tcap_console[] =
    "TCAPPDLL 2025-01-01 00:00:01.500000 - PARAMETER lr : 0.001  batch_size : 2048  model_name : "
    "deepfm's \xc3\xa9  path : None \n"
    "TCAPPDLL 2025-01-01 00:00:05.250000 - Epoch: 0 Iteration: 100  rank : 0  train.loss : 0.5123 "
    " train.ips : 81234.5 samples/s\n"
    "TCAPPDLL 2025-01-01 00:00:06 - Epoch: 0 Iteration: 100 Validation Iteration: 3  rank : 0  "
    "val.auc : 1.0 \n"
    "TCAPPDLL 2025-01-01 00:00:06 - Epoch: 0  rank : 0  val.loss : 1e-05 \n"
    "TCAPPDLL 2025-01-01 00:00:06 -  rank : 0  train.loss : nan \n";

static void check(cr_dll_form form, const char *file, const char *console) {
    cr_err err;
    cr_dll *l;
    cr_buf text;
    cr_buf_init(&text);
    /* an earlier run's lines go away */
    CHECK(cr_file_write("log.json", "old\n", 4, &err) == CR_OK);
    fflush(stdout);
    int out = dup(STDOUT_FILENO);
    CHECK(freopen("console.txt", "w", stdout));
    CHECK(cr_dll_open(&l, form, "log.json", false, true, &err) == CR_OK);
    play(l);
    cr_dll_close(l);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    CHECK(cr_file_read("log.json", 0, &text, &err) == CR_OK);
    CHECK_STR(text.data, file);
    CHECK(cr_file_read("console.txt", 0, &text, &err) == CR_OK);
    CHECK_STR(text.data, console);
    /* a run that goes on adds its lines */
    CHECK(cr_dll_open(&l, form, "log.json", true, false, &err) == CR_OK);
    cr_dll_begin(l, 0, NULL);
    cr_dll_end(l);
    cr_dll_close(l);
    CHECK(cr_file_read("log.json", 0, &text, &err) == CR_OK);
    CHECK(text.n > strlen(file) && memcmp(text.data, file, strlen(file)) == 0);
    cr_buf_clear(&text);
}

TEST(dllogger) {
    check(CR_DLL_NVIDIA, nvidia_file, nvidia_console);
}
TEST(tcap) {
    check(CR_DLL_TCAP, tcap_file, tcap_console);
}

TEST(time_zones) {
    cr_err err;
    cr_dll *l;
    cr_buf text;
    cr_buf_init(&text);
    setenv("TZ", "IST-5:30", 1);
    tzset();
    CHECK(cr_dll_open(&l, CR_DLL_NVIDIA, "zone.json", false, false, &err) == CR_OK);
    cr_dll_fix_time(l, 1735689600125000, 2000);
    cr_dll_begin(l, 0, NULL);
    cr_dll_end(l);
    cr_dll_close(l);
    CHECK(cr_file_read("zone.json", 0, &text, &err) == CR_OK);
    CHECK(strstr(text.data, "\"2025-01-01 05:30:00.125000+05:30\""));
    setenv("TZ", "UTC", 1);
    tzset();
    cr_buf_clear(&text);
}

TEST(names) {
    cr_dll_form f;
    CHECK(cr_dll_form_of("dllogger", &f) && f == CR_DLL_NVIDIA);
    CHECK(cr_dll_form_of("tcap", &f) && f == CR_DLL_TCAP);
    CHECK(!cr_dll_form_of("json", &f));
    /* a run without such a log */
    cr_dll_meta(NULL, "a", NULL, -1, NULL, NULL);
    cr_dll_begin(NULL, 0, NULL);
    cr_dll_f64(NULL, "a", 1);
    cr_dll_i64(NULL, "a", 1);
    cr_dll_str(NULL, "a", "b");
    cr_dll_end(NULL);
    cr_dll_settle(NULL);
    cr_dll_close(NULL);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(dllogger), CASE(tcap), CASE(time_zones), CASE(names)};
    setenv("TZ", "UTC", 1);
    tzset();
    if (!tmpdir_enter()) return 1;
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return tmpdir_leave() ? rc : 1;
}
