# ModelZoo: a folder in its form, its check, and the unified run interface
run crank scaffold deepfm zoo --rows 2k
has_out "made  zoo"
for f in README.md requirements.txt model.yaml deepfm.yaml run_scripts/argument.py run_scripts/formate_cmd.py \
    run_scripts/run_deepfm.py run_scripts/README.md data/train data/eval; do
    is_there "zoo/$f"
done
run crank check zoo
has_out "ok    structure: run_scripts/run_<modelname>.py"
has_out "-     run: not run: add --run, which executes the scripts of this folder"
has_out "... rules pass"
# the scripts are Python without packages; crank is found on the PATH
if command -v python3 >/dev/null; then
    mkdir -p bin
    ln -s "$(command -v crank)" bin/crank
    PATH=$PWD/bin:$PATH run crank check zoo --run
    has_out "ok    arguments: run_scripts/run_deepfm.py"
    has_out "ok    run: run_scripts/run_deepfm.py"
    has_out "ok    log: run_scripts/run_deepfm.py"
    is_there zoo/output/deepfm/version_0/tcap.json
    sed -i 's/batch_size: 256/batch_size: none/' zoo/model.yaml
    PATH=$PWD/bin:$PATH run crank check zoo --run
    ends 2
    has_out "FAIL  run: run_scripts/run_deepfm.py: it ended with 2: ..."
fi
# what is missing is told
mkdir -p poor/run_scripts
printf -- '- case_name: me\n  desc: {run_dir: a/b, run_file: run_scripts/run_x.py}\n  params: {step: 10, warm_up: 1}\n' >poor/model.yaml
echo 'breakpoint()' >poor/run_scripts/run_x.py
run crank check poor
ends 2
has_out "FAIL  structure: README.md: it is missing; ..."
has_out "FAIL  sources: run_scripts/run_x.py: it calls a debugger; remove the call"
has_out "FAIL  model.yaml: case 1: line 3: params.batch_size is missing or empty; ..."
has_out "FAIL  model.yaml: case 1: line 3: params.warm_up is no common parameter; put it under params.others"
run crank check poor --json
ends 2
has_out '{"path": "poor", "pass": false, "rules": [{"rule": "structure", ...'

# the run interface
cd zoo
run crank zoo run --model_name deepfm --dataset_path data --batch_size 128 --epoch 1 --lr 0.01 --device cpu --autocast False \
    --model_dir m --threads 1
has_out "################################################## RUN INFO ##################################################"
has_out "环境变量:"
has_out "运行参数:"
has_out "set=data_config.batch_size=128"
has_out "set=train_config.dense_optimizer.adam_optimizer.lr=0.01"
has_out "TCAPPDLL ... - Epoch: 0 Iteration: 0  rank : 0  train.loss : 0..."
grep -q 'batch_size : 128 ' "$out" || fail "another batch"
run crank config m/pipeline.config
has_out "...lr: 0.01..."
# --step wins, with a warning; the other spellings
run crank run_deepfm --dataset_path data --bs 64 --step 3 --epoch 2 --device sdaa --autocast t --model_dir n --log_format crank --threads 1
has_err "...--step and --epoch conflict; epoch is forced to 1"
has_err "...--device sdaa: crank trains on CPUs; it runs here on the CPU"
has_out "trained ... 3 steps in ..."
run crank python run_scripts/run_deepfm.py --model_name=DeepFM --dataset_path data --step 2 --device cpu --model_dir o --threads 1
# a model_dir of its own for each run
run crank run_deepfm --dataset_path data --step 2 --device cpu --threads 1
run crank run_deepfm --dataset_path data --step 2 --device cpu --threads 1
is_there output/deepfm/version_1/model.ckpt-1
# what follows a training: predictions, the profile at its path, parameters against a reference; rates that rise
run crank run_deepfm --dataset_path data --step 4 --device cpu --model_dir p --threads 1 --do_predict True --profiler True --profiler_path profile.json --warm_up 0.5 \
    --precision_align True --precision_align_cuda_path o --precision_align_log_path table.txt --autocast True
ends 1
has_err "...--precision_align with --autocast compares rounded products with the reference"
is_there p/predictions/part-0.csv
is_there profile.json
run crank config p/pipeline.config
has_out "...warmup_size: 2..."
grep -q 'relative L2' table.txt || fail "no table of parameters"
grep -q '^not aligned within 0.01' table.txt || fail "two steps are not four"
run crank run_deepfm --dataset_path data --step 2 --device cpu --model_dir q --threads 1 --precision_align True --precision_align_cuda_path o --precision_align_log_path table.txt
grep -q '^aligned within 0.01' table.txt || fail "the same run"
# mistakes
# every argument of the interface, also in its other spellings
run crank run_deepfm --dataset_path data --bs 64 --learning-rate 0.01 --epoch 1 --step 4 --device cpu --autocast False --grad_scale False --nproc_per_node 1 --nnodes 1 \
    --node_rank 0 --master_addr 127.0.0.1 --master_port 29500 --num_workers 2 --eval_step 2 --early_stop -1 --warm_up 0.0 --do_predict False --profiler False --model_dir all --threads 1
ends 0
ckpt=$(ls -d all/model.ckpt-* | tail -n 1)
run crank run_deepfm --dataset_path data --batch_size 64 --step 2 --device cpu --nnode 1 --checkpoint_path "$ckpt" --model_dir from --threads 1
ends 0
run crank run_deepfm --dataset_path data --batch_size 64 --step 2 --device cpu --pretrained_path "$ckpt" --model_dir from2 --threads 1
ends 0
run crank run_deepfm --dataset_path data --device cpu --autocast maybe
ends 2
has_err "crank zoo: --autocast is 'maybe' and must be yes, true, t, y or 1, or no, false, f, n or 0"
run crank zoo run --model_name dlrm --dataset_path data --device cpu --config deepfm.yaml
ends 2
has_err "crank zoo: deepfm.yaml trains deepfm, not dlrm; give --model_name deepfm, or the config of dlrm with --config"
run crank zoo run --model_name nothing --dataset_path run_scripts --device cpu
ends 2
has_err "crank zoo: no config of nothing: neither nothing.yaml here or one folder up, nor pipeline.yaml in run_scripts; give --config FILE, or start with 'crank scaffold nothing DIR'"
run crank run_deepfm --dataset_path data --device tpu
ends 2
has_err "crank zoo: --device is 'tpu' and must be cpu, cuda or sdaa"
run crank run_deepfm --dataset_path data --device cpu --warm_up 0.1
ends 2
has_err "crank zoo: --warm_up is a share of all steps, and --step does not say how many there are; ..."
run crank run_deepfm --dataset_path data --device cpu --precision_align True
ends 2
has_err "crank zoo: --precision_align needs --precision_align_cuda_path, ..."
run crank run_deepfm --dataset_path data --device cpu --precision_align True --precision_align_cuda_path o --precision_align_log_path l --nproc_per_node 2
ends 2
has_err "crank zoo: --precision_align works on one device; ..."
run crank run_deepfm --device cpu
ends 2
has_err "...--dataset_path..."
run crank zoo fly --dataset_path data --device cpu
ends 2
has_err "crank zoo: 'fly' is not known; write crank zoo run --model_name NAME, or crank run_NAME"
# the wrong word is told, and not the flags that it lacks
run crank zoo foo
ends 2
has_err "crank zoo: 'foo' is not known; write crank zoo run --model_name NAME, or crank run_NAME"
run crank scaffold deepfm run_scripts
ends 2
has_err "crank scaffold: run_scripts exists already; name a folder that does not"
run crank scaffold no_such_model x
ends 2
has_err "crank scaffold: crank knows no config of 'no_such_model'; ..."
cd ..
