/*
 * cmd_scaffold.c - `crank scaffold MODEL DIR`: a folder in the form that ModelZoo asks of a
 * contribution. Its run scripts are plain Python without packages; they turn the unified flags into
 * a line of `crank zoo run`. Every @MODEL@ in the texts below is the name of the model.
 */
#include <ctype.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/example.h"

typedef struct args {
    cr_opt_list words;
    const char *config, *dataset_path;
    int64_t rows;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, words, CR_O_LIST, 0, CR_O_REQUIRED, "WORD", NULL, NULL, 0, 0,
            "the model, as model_config names it, and the folder to make"),
    CR_OPT_STR(args, config, CR_O_PATH, "FILE", "that of 'crank help MODEL'",
               "config of the model"),
    CR_OPT_STR(args, dataset_path, CR_O_PATH, "PATH", "made-up data in DIR/data",
               "data for model.yaml"),
    CR_OPT_(args, rows, CR_O_COUNT, 0, 0, "N", "4k", NULL, 1000, 1e9, "rows of made-up data"),
    CR_OPT_END,
};

#define LICENCE                                                                                    \
    "# BSD 3-Clause License\n"                                                                     \
    "# Copyright (c) the contributors of this model. All rights reserved.\n"

static const char argument_py[] = LICENCE
    "\"\"\"The unified arguments of ModelZoo.\"\"\"\n"
    "import argparse\n"
    "import warnings\n"
    "\n"
    "YES = ('yes', 'true', 't', 'y', '1')\n"
    "NO = ('no', 'false', 'f', 'n', '0')\n"
    "\n"
    "\n"
    "def str2bool(text):\n"
    "    \"\"\"Reads a bool that is the value of a flag.\"\"\"\n"
    "    if text.lower() in YES:\n"
    "        return True\n"
    "    if text.lower() in NO:\n"
    "        return False\n"
    "    raise argparse.ArgumentTypeError('%r is none of %s' % (text, ', '.join(YES + NO)))\n"
    "\n"
    "\n"
    "def parse_args(argv=None):\n"
    "    p = argparse.ArgumentParser(description='Train @MODEL@ with crank.')\n"
    "    p.add_argument('--model_name', default='@MODEL@', choices=['@MODEL@'], help='the model')\n"
    "    p.add_argument('--epoch', type=int, default=1, help='epochs to run')\n"
    "    p.add_argument('--step', type=int, default=-1, help='steps of a short run; -1: all')\n"
    "    p.add_argument('--batch_size', '--bs', type=int, default=256, help='batch of a rank')\n"
    "    p.add_argument('--dataset_path', required=True, help='folder with train and eval')\n"
    "    p.add_argument('--lr', '--learning-rate', type=float, default=0.002, help='learning "
    "rate')\n"
    "    p.add_argument('--device', required=True, choices=['cpu', 'cuda', 'sdaa'], "
    "help='device')\n"
    "    p.add_argument('--autocast', type=str2bool, default=False, help='mixed precision')\n"
    "    p.add_argument('--grad_scale', type=str2bool, default=False, help='loss scaling')\n"
    "    p.add_argument('--nproc_per_node', type=int, default=1, help='ranks per node')\n"
    "    p.add_argument('--nnode', '--nnodes', type=int, default=1, help='nodes')\n"
    "    p.add_argument('--node_rank', type=int, default=0, help='number of this node')\n"
    "    p.add_argument('--master_addr', default='127.0.0.1', help='node 0')\n"
    "    p.add_argument('--master_port', type=int, default=29500, help='port of node 0')\n"
    "    p.add_argument('--num_workers', type=int, default=2, help='threads that read data')\n"
    "    args = p.parse_args(argv)\n"
    "    if args.step > 0 and args.epoch > 1:\n"
    "        warnings.warn('step and epoch conflict; epoch is forced to 1')\n"
    "        args.epoch = 1\n"
    "    return args\n";

static const char formate_cmd_py[] =
    LICENCE "\"\"\"Turns the arguments into a command line of crank, which prints it in ModelZoo's "
            "block.\"\"\"\n"
            "import os\n"
            "\n"
            "\n"
            "def format_cmd(args, model_dir):\n"
            "    \"\"\"model_dir is the folder that holds @MODEL@.yaml. CRANK names another "
            "program.\"\"\"\n"
            "    cmd = [os.environ.get('CRANK', 'crank'), 'zoo', 'run']\n"
            "    cmd += ['--config', os.path.join(model_dir, '@MODEL@.yaml')]\n"
            "    for key, value in vars(args).items():\n"
            "        cmd += ['--' + key, str(value)]\n"
            "    return cmd\n";

static const char run_py[] =
    LICENCE "\"\"\"Trains @MODEL@: python run_scripts/run_@MODEL@.py --dataset_path DIR --device "
            "cpu ...\"\"\"\n"
            "import os\n"
            "import subprocess\n"
            "import sys\n"
            "\n"
            "HERE = os.path.dirname(os.path.abspath(__file__))\n"
            "sys.path.insert(0, HERE)\n"
            "\n"
            "from argument import parse_args  # noqa: E402\n"
            "from formate_cmd import format_cmd  # noqa: E402\n"
            "\n"
            "if __name__ == '__main__':\n"
            "    sys.exit(subprocess.call(format_cmd(parse_args(), os.path.dirname(HERE))))\n";

static const char scripts_readme[] =
    "# 参数介绍 (arguments)\n"
    "\n"
    "| 参数名 | 解释 | 样例 |\n"
    "|---|---|---|\n"
    "| model_name | name of the model | --model_name @MODEL@ |\n"
    "| epoch | epochs to run; forced to 1 when step is given | --epoch 1 |\n"
    "| step | steps of a short run, -1: all | --step 10 |\n"
    "| batch_size, bs | rows of a batch on each rank | --batch_size 256 |\n"
    "| dataset_path | folder with train and eval | --dataset_path data |\n"
    "| lr | learning rate | --lr 0.002 |\n"
    "| device | cpu; cuda and sdaa run on the CPU, with a warning | --device cpu |\n"
    "| autocast | mixed precision | --autocast True |\n"
    "| grad_scale | loss scaling | --grad_scale False |\n"
    "| nproc_per_node | ranks on each node | --nproc_per_node 4 |\n"
    "| nnode, nnodes | nodes | --nnode 1 |\n"
    "| node_rank | number of this node | --node_rank 0 |\n"
    "| master_addr, master_port | node 0 | --master_addr 127.0.0.1 --master_port 29500 |\n"
    "| num_workers | threads that read data | --num_workers 2 |\n";

static const char readme[] =
    "# @MODEL@\n"
    "\n"
    "## 1. 模型概述 (model overview)\n"
    "\n"
    "@MODEL@, trained by crank from `@MODEL@.yaml`. Origin: say here which\n"
    "paper and which repository the model comes from.\n"
    "\n"
    "## 2. 数据集准备 (dataset)\n"
    "\n"
    "`@DATA@` has the rows to train on in `train/` and those to evaluate on in `eval/`. Say here\n"
    "where the data comes from and how it is prepared. The data that `crank scaffold` made up is\n"
    "for trying only; `crank synth --for @MODEL@.yaml -o data` makes more of it.\n"
    "\n"
    "## 3. Docker 环境准备 (environment)\n"
    "\n"
    "crank is one program without Python packages. In a base image of Debian 12, put it on the\n"
    "PATH; then build, run and enter the container as usual:\n"
    "\n"
    "```\n"
    "docker build . -t @MODEL@\n"
    "docker run -itd --name @MODEL@ @MODEL@ /bin/bash\n"
    "docker exec -it @MODEL@ /bin/bash\n"
    "```\n"
    "\n"
    "## 4. 启动训练 (training)\n"
    "\n"
    "```\n"
    "python run_scripts/run_@MODEL@.py --model_name @MODEL@ --dataset_path @DATA@ --batch_size 256 "
    "--epoch 1 --lr 0.002 --device cpu --autocast False\n"
    "```\n"
    "\n"
    "[run_scripts/README.md](run_scripts/README.md) explains the arguments. The log is that of\n"
    "TCAP_DLLogger: on the console, and in `tcap.json` beside the checkpoints.\n"
    "\n"
    "## 5. 训练结果 (results)\n"
    "\n"
    "| 加速卡数量 (ranks) | 模型 (model) | 混合精度 (AMP) | batch size | epoch | 吞吐量 "
    "(samples/s) | AUC |\n"
    "|---|---|---|---|---|---|---|\n"
    "| 1 | @MODEL@ | no | 256 | 1 | fill in | fill in |\n";

static const char model_yaml[] = "- case_name: fill_in_your_account\n"
                                 "  desc:\n"
                                 "    run_dir: PyTorch/contrib/Recommendation/@MODEL@\n"
                                 "    run_file: run_scripts/run_@MODEL@.py\n"
                                 "  params:\n"
                                 "    nnodes: 1\n"
                                 "    nproc_per_node: 1\n"
                                 "    batch_size: 256\n"
                                 "    model_name: @MODEL@\n"
                                 "    dataset_path: @DATA@\n"
                                 "    step: 10\n"
                                 "    epoch: 1\n"
                                 "    lr: 0.002\n"
                                 "    device: cpu\n"
                                 "    autocast: True\n";

static const char requirements[] =
    "# crank is one program; its run scripts need Python 3 and no packages\n";

typedef struct scaffold {
    cr_ui *ui;
    const char *model, *dir, *data;
} scaffold;

/* Writes a text with the names filled in; @MODEL@ also in the name of the file. */
static cr_code put(const scaffold *s, const char *name, const char *text) {
    cr_buf out, path;
    cr_err err;
    cr_buf_init(&out);
    cr_buf_init(&path);
    const char *from[] = {name, text};
    cr_buf *to[] = {&path, &out};
    for (int i = 0; i < 2; i++)
        for (const char *p = from[i]; *p;) {
            if (strncmp(p, "@MODEL@", 7) == 0) {
                cr_buf_str(to[i], s->model);
                p += 7;
            } else if (strncmp(p, "@DATA@", 6) == 0) {
                cr_buf_str(to[i], s->data);
                p += 6;
            } else {
                cr_buf_char(to[i], *p++);
            }
        }
    cr_code code =
        cr_file_write(cr_path_join(&s->ui->arena, s->dir, path.data), out.data, out.n, &err);
    cr_buf_clear(&out);
    cr_buf_clear(&path);
    return code == CR_OK ? CR_OK : cr_ui_fail(s->ui, &err);
}

/* Reads the config: the user's own, or the example of the model. */
static cr_code read_config(const scaffold *s, const char *own, cr_buf *text) {
    cr_err err;
    if (own)
        return cr_file_read(own, 64 << 20, text, &err) == CR_OK ? CR_OK : cr_ui_fail(s->ui, &err);
    if (cr_example_whole(text, s->model)) return CR_OK;
    return cr_ui_wrong(s->ui,
                       "crank knows no config of '%s'; give one with --config FILE, or a name of "
                       "'crank help models'",
                       s->model);
}

static cr_code make_data(const scaffold *s, int64_t rows) {
    cr_arena *a = &s->ui->arena;
    cr_synth_result res = {0};
    cr_config_opts config = {.path =
                                 cr_path_join(a, s->dir, cr_arena_printf(a, "%s.yaml", s->model))};
    cr_synth_opts o = {.rows = rows,
                       .seed = 1,
                       .scale = 1,
                       .dir = cr_path_join(a, s->dir, "data"),
                       .result = &res};
    return cr_synth_for(&config, 0, &o, &s->ui->diag);
}

static cr_code write_all(const scaffold *s, const args *a, const cr_buf *config) {
    cr_err err;
    if (cr_mkdirs(cr_path_join(&s->ui->arena, s->dir, "run_scripts"), &err) != CR_OK)
        return cr_ui_fail(s->ui, &err);
    CR_TRY(put(s, "@MODEL@.yaml", config->data));
    CR_TRY(put(s, "README.md", readme));
    CR_TRY(put(s, "requirements.txt", requirements));
    CR_TRY(put(s, "model.yaml", model_yaml));
    CR_TRY(put(s, "run_scripts/argument.py", argument_py));
    CR_TRY(put(s, "run_scripts/formate_cmd.py", formate_cmd_py));
    CR_TRY(put(s, "run_scripts/run_@MODEL@.py", run_py));
    CR_TRY(put(s, "run_scripts/README.md", scripts_readme));
    return a->dataset_path ? CR_OK : make_data(s, a->rows);
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    if (a->words.n != 2)
        return cr_ui_wrong(ui, "scaffold takes a model and a folder: crank scaffold deepfm DIR");
    scaffold s = {ui, a->words.v[0], a->words.v[1], a->dataset_path ? a->dataset_path : "data"};
    for (const char *p = s.model; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            return cr_ui_wrong(ui, "'%s' cannot name a script; use letters, digits and _", s.model);
    if (cr_path_exists(s.dir))
        return cr_ui_wrong(ui, "%s exists already; name a folder that does not", s.dir);
    cr_buf config;
    cr_buf_init(&config);
    cr_code code = read_config(&s, a->config, &config);
    if (code == CR_OK) code = write_all(&s, a, &config);
    cr_buf_clear(&config);
    if (code != CR_OK) return code;
    cr_ui_say("made  %s\n", s.dir);
    cr_ui_next(ui, "crank check %s --run", cr_ui_quote(ui, s.dir));
    return CR_OK;
}

static const char *const examples[] = {
    "crank scaffold deepfm contrib/deepfm",
    "crank scaffold dlrm contrib/dlrm --config dlrm.yaml --dataset_path data/criteo",
    NULL,
};

const cr_cmd cr_cmd_scaffold = {
    .name = "scaffold",
    .help = "Make a folder in ModelZoo's form: run scripts, README, model.yaml, data to try",
    .about = "'crank check DIR' tells whether such a folder is complete.\n",
    .operand = "MODEL DIR",
    .operand_opt = "words",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
