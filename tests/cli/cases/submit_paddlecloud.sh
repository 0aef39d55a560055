# crank submit and crank run -b to PaddleCloud: the three kinds of backend.yaml, all mistakes at once, the client's answers, secrets

. "$CLI/submit/backends.sh"
paddle_config cpu ps '{workspace}/train_data'
standin paddlecloud
standin curl
# ---- the three kinds: the folders byte for byte ----
for kind in mpi k8s_collective k8s_ps; do
    case $kind in
    mpi) paddle_config cpu ps '{workspace}/train_data' ;;
    k8s_collective) paddle_config gpu collective '{workspace}/afs/data' ;;
    k8s_ps) paddle_config cpu ps '{workspace}/afs/data' ;;
    esac
    backend_$kind >backend.yaml
    chmod 600 backend.yaml
    rm -rf ctr_*
    run crank run -m config.yaml -b backend.yaml
    ends 0
    folder=$(echo ctr_[0-9]*)
    # in an MPI job the first node writes the checkpoint of all
    [ $kind = mpi ] || has_err "config.yaml:...: warning: the nodes save a checkpoint together, and each has a folder 'output' of its own; write ..."
    # PaddleRec's own backend.yaml has doubled keys; the last counts
    [ $kind != k8s_ps ] || has_err "backend.yaml:...: warning: key 'k8s_trainers' is given twice (first on line ...); the last counts"
    [ ${#folder} -eq 16 ] || fail "the folder is called $folder"
    has_out "The task submission folder is generated at $PWD/$folder"
    has_out "the folder holds secrets: only you can read it (mode 0700)"
    [ "$(stat -c %a "$folder")" = 700 ] || fail "the folder can be read by others"
    for f in "$folder"/* "$folder"/.jobs.sh "$folder"/.client.sh; do [ "$(stat -c %a "$f")" = 600 ] || fail "$f can be read by others"; done
    [ -s "$folder/crank_secret" ] || fail "there is no secret of the job"
    mkdir got.$kind
    cp "$folder"/*.sh "$folder/config.ini" "$folder/.jobs.sh" "$folder/.client.sh" got.$kind
    same "$CLI/submit/$kind" got.$kind
    same "$CLI/submit/$kind.call" call
    same "$folder" call.files -x '.*'
    sed -n '/before_submit/,$p' "$out" >lines
    case $kind in
    mpi) set -- cpu mpi ;;
    k8s_collective) set -- gpu k8s ;;
    k8s_ps) set -- cpu k8s ;;
    esac
    cat >wanted <<END
before_submit
gen $1 before_hook.sh
gen $2_config.ini
gen $2_job.sh
gen end_hook.sh
check begins ...
check passed
job ready
{"groupName": "paddle", "jobId": "job-4711", "userId": "u-1"}
end submit
job id: job-4711
next  crank jobs logs -f job-4711
END
    same wanted lines
    # neither the keys nor the password are shown
    for secret in AKAKAK SKSKSK 'pa#ss&w\ord'; do
        if grep -qF "$secret" "$out" "$err"; then fail "$secret is shown"; fi
        if grep -rqF "$secret" "$HOME/.crank"; then fail "$secret is kept"; fi
    done
done

# ---- one trainer: the job stands alone; with one card the runner's class is train, and the client is told so ----
for cards in 1 2; do
    paddle_config gpu collective '{workspace}/afs/data'
    backend_k8s_collective | sed "s/k8s-trainers: 2/k8s-trainers: 1/; s/k8s_gpu_card: 1/k8s_gpu_card: $cards/" >backend.yaml
    chmod 600 backend.yaml
    rm -rf ctr_*
    run crank submit config.yaml -b backend.yaml
    ends 0
    tail -n 5 call >got
    case $cards in
    1) remark=single-gpu && has_out "Attention: Use single GPU card for PaddleRec distributed training, please set runner class from 'cluster_train' to 'train' in config.yaml." ;;
    2) remark=single-trainer ;;
    esac
    printf -- '--is-standalone\n1\n--json\n--job-remark\n%s\n' $remark >wanted
    same wanted got
done

# ---- a key that is there and empty stays empty; files with a dot are uploaded, a program stays one ----
echo hidden >.hidden
printf '#!/bin/sh\n' >tool.sh
chmod 755 tool.sh
backend_mpi | sed 's,^  files: .*,  files: config.yaml .hid* tool.sh,; s,^  priority: .*,  priority: "",' >backend.yaml
chmod 600 backend.yaml
paddle_config cpu ps '{workspace}/train_data'
rm -rf ctr_*
run crank submit config.yaml -b backend.yaml
ends 0
sed -n '/^--files$/,/^--json$/p' call >got
printf -- '--files\n./before_hook.sh\n./config.ini\n./config.yaml\n./crank_secret\n./end_hook.sh\n./job.sh\n./tool.sh\n./.hidden\n--json\n' >wanted
same wanted got
sed -n '/^--mpi-priority$/,/^--group-name$/p' call >got
printf -- '--mpi-priority\n\n--group-name\n' >wanted
same wanted got
[ "$(stat -c %a ctr_*/tool.sh)" = 700 ] || fail "tool.sh is no program"
rm -rf ctr_*
touch .jobs.sh crank
sed -i 's,^  files: .*,  files: config.yaml .jobs.sh crank,; s,^  binary: .*,  start_cmd: " ",' backend.yaml
run crank submit config.yaml -b backend.yaml
ends 2
has_err "backend.yaml:...: files has .jobs.sh, a name that the submission writes itself; leave it out"
has_err "backend.yaml:...: files has crank, a name that the submission writes itself; leave it out"
has_err "backend.yaml:...: start_cmd is empty, so the nodes would run nothing; leave it out, and they run 'crank run -m config.yaml'"
rm -f .jobs.sh crank
paddle_config cpu ps '{workspace}/afs/data'
backend_k8s_ps >backend.yaml
chmod 600 backend.yaml
run crank submit config.yaml -b backend.yaml
ends 0
folder=$(echo ctr_[0-9]*)

# ---- jobs ----
run crank jobs list
ends 0
has_out "...job-4711  ctr_...  PaddleCloud  running..."
run crank jobs show last
has_out "state      running"
has_out "last step  40"
has_out "config     $PWD/config.yaml"
printf 'job\n--ak\nAKAKAK\n--sk\nSKSKSK\ninfo\njob-4711\n' >wanted
same wanted call
run crank jobs logs job-4711
printf 'epoch 0\nbatch: 40, auc: 0.5\nsecond trainer, line 1\nsecond trainer, line 2\n' >wanted
same wanted "$out"
rm call.asked
STANDIN_STATE=success CRANK_POLL=0 run crank jobs logs -f job-4711
printf 'epoch 0\nbatch: 40, auc: 0.5\nsecond trainer, line 1\n' >wanted
same wanted "$out"
# what comes later is shown once, of each trainer
printf '#!/bin/sh\n[ "$(wc -l <"$STANDIN_LOG.asked")" -lt 3 ] || export STANDIN_STATE=killed\nexec sh "%s" "$@"\n' "$CLI/submit/paddlecloud" >bin/paddlecloud
CRANK_POLL=0 run crank jobs logs -f job-4711
printf 'epoch 0\nbatch: 40, auc: 0.5\nsecond trainer, line 1\nsecond trainer, line 2\nsecond trainer, line 3\nsecond trainer, line 4\n' >wanted
same wanted "$out"
standin paddlecloud
run crank jobs stop "$folder"
has_out "killed"
grep -qx kill call || fail "$(cat call)"
run crank jobs show 99
ends 2
has_err "...there is no job '99'; 'crank jobs list' shows the jobs that were submitted from here ..."

# ---- by hand, after an edit ----
sed 's/job_name="ctr"/job_name="edited"/' "$folder/job.sh" >job.new
cat job.new >"$folder/job.sh"
run sh "$folder/job.sh" # from any folder
ends 0
grep -qx edited call || fail "$(cat call)"

# ---- dry run: the client is not called ----
rm -rf ctr_* call
run crank submit config.yaml -b backend.yaml --dry-run
ends 0
is_gone call
has_out "nothing was submitted (--dry-run); 'sh job.sh' in the folder does it"

# ---- the client's other answers ----
rm -rf ctr_*
STANDIN=refusal run crank submit config.yaml -b backend.yaml
ends 1
has_err "error: group does not exist"
has_err "...ctr_...: the client refused the job: job.sh ended with exit code 3; correct the files there and run 'sh job.sh' again"
rm -rf ctr_*
STANDIN=garbage run crank submit config.yaml -b backend.yaml
ends 1
has_out "<html>502 Bad Gateway</html>"
has_err "...: the client's answer has no job id; it is in .answer, ..."
rm -rf ctr_*
STANDIN=hang run crank submit config.yaml -b backend.yaml --timeout 1
ends 1
has_err "...: job.sh gave no answer within 1 s and was ended; the cluster may have taken the job all the same..."
run crank submit config.yaml -b backend.yaml --timeout 1
ends 1
has_err "...: the folder is there already, from a submission of the same minute; wait a minute, or remove it"
rm -rf ctr_*

# ---- ps does not show the keys while the client runs; it gets them all the same ----
if command -v perl >/dev/null; then
    cat >client.pl <<'END'
# what the client got, and every command line of this machine with a key in it
open(my $log, ">", "$ENV{STANDIN_LOG}") or die;
print $log "$_\n" for @ARGV;
for my $file (glob("/proc/[0-9]*/cmdline")) {
    open(my $line, "<", $file) or next;
    my $words = do { local $/; <$line> } // "";
    print $log "SHOWN: $file: $words\n" if $words =~ /AKAKAK|SKSKSK/;
}
system("env >$ENV{STANDIN_LOG}.env");
print '{"jobId": "job-9"}';
END
    # clients are often started by a script
    printf '#!/bin/sh\n[ "$1" != --version ] || exit 1\nexec perl "%s/client.pl" "$@"\n' "$PWD" >bin/paddlecloud
    run crank submit config.yaml -b backend.yaml
    ends 0
    has_out "job id: job-9"
    printf 'job\n--ak\nAKAKAK\n--sk\nSKSKSK\ntrain\n' >wanted
    head -n 6 call >got
    same wanted got
    if grep -q SHOWN call; then fail "$(grep -a SHOWN call)"; fi
    # the programs that the client starts have nothing of it
    if grep -q -E 'AKAKAK|CRANK_HIDE|hide-args' call.env; then fail "$(cat call.env)"; fi
    [ -z "$(ls -a ctr_*/ | grep hiding)" ] || fail "$(ls -a ctr_*/)"
    # a client into which nothing can be loaded gets the words, and the user hears why
    rm ctr_*/.hide-args.so
    printf '#!/bin/sh\n[ "$3" != @ak ] || { echo "error: ak is wrong" >&2; exit 4; }\n' >bin/paddlecloud
    run sh ctr_*/job.sh
    ends 4
    has_err "...the client did not get its keys, because .hide-args.so was not loaded into it; .client.sh says what to do"
    rm -rf ctr_*
    standin paddlecloud
fi

# ---- secrets from elsewhere ----
sed -i '/^  ak:/d; /^  sk:/d; /^  fs_ugi:/d' backend.yaml
run env PADDLECLOUD_AK=AKAKAK PADDLECLOUD_SK=SKSKSK 'PADDLECLOUD_FS_UGI=user,pa#ss&w\ord' crank submit config.yaml -b backend.yaml
ends 0
folder=$(echo ctr_*)
same "$CLI/submit/$kind/config.ini" "$folder/config.ini"
rm -rf ctr_*
printf 'ak=AKAKAK\nsk=SKSKSK\nfs_ugi=user,pa#ss&w\\ord\n' >keys
chmod 644 keys
run crank submit config.yaml -b backend.yaml
ends 2
has_err "backend.yaml:...: No -- FS_UGI or FS_NAME -- found in your backend.yaml, please check..."
has_err "backend.yaml:...: No -- AK or SK -- found in your backend.yaml, please check..."
run crank submit config.yaml -b backend.yaml --secrets keys
ends 2
has_err "keys: others on this machine can read these secrets; run 'chmod 600 keys'"
chmod 600 keys
run crank submit config.yaml -b backend.yaml --secrets keys
ends 0
folder=$(echo ctr_*)
same "$CLI/submit/$kind/job.sh" "$folder/job.sh"
rm -rf ctr_*
run crank submit config.yaml -b backend.yaml --show-secrets
ends 2

# ---- all mistakes at once ----
cat >bad.yaml <<'END'
backend: PaddleCloud
cluster_type: mpi
config:
  fs_nme: afs://x
  fs_ugi: nocomma
  train_data_path: afs://host/data
  communicator: {FLAGS_rpc_retry_times: many}
submit:
  files: "*.yaml nothing*"
  nodes: many
  k8s-gpu-card: 2
  start_cmd: python -m paddlerec.run -m other.yaml
END
sed 's/class: cluster_train/class: train/' config.yaml >train.yaml
PATH=/usr/bin:/bin run "$CRANK" submit train.yaml -b bad.yaml
ends 2
has_err "bad.yaml:4:3: unknown key 'fs_nme' in config; did you mean 'fs_name'?"
has_err "bad.yaml:5:11: fs_ugi has no comma; its form is user,password"
has_err "bad.yaml:6:20: train_data_path has a scheme, which fs_name says; write the path alone"
has_err "bad.yaml:7:41: FLAGS_rpc_retry_times is 'many' and must be an integer"
has_err "bad.yaml:8:1: No -- AK or SK -- found in your backend.yaml, please check..."
has_err "bad.yaml:9:10: files: nothing fits 'nothing*' in ..."
has_err "bad.yaml:9:10: start_cmd reads other.yaml, and no pattern of 'files' fits it..."
has_err "bad.yaml:10:10: nodes: 'many' is not an integer; give an integer from 1 to 4096"
has_err "bad.yaml:11:17: warning: k8s_gpu_card has no effect with cluster_type: mpi; remove it"
has_err "bad.yaml:3:1: warning: Job output_path not set! Please check your backend yaml."
has_err "train.yaml:...: the runner's class is 'train', and a job of a cluster has class: cluster_train"
has_err "train.yaml:...: warning: the nodes have the data in ./train_data and ./test_data; write data_path: ..."
has_err "crank submit: the client 'paddlecloud' is not on PATH, and job.sh calls it; install it or extend PATH"
is_gone ctr_*
for pair in 'mpi gpu collective' 'k8s gpu ps' 'k8s cpu collective' 'vms cpu ps'; do
    # shellcheck disable=SC2086
    set -- $pair
    paddle_config "$2" "$3" '{workspace}/train_data'
    backend_mpi | sed "s/^cluster_type: .*/cluster_type: $1/" >backend.yaml
    run crank submit config.yaml -b backend.yaml
    ends 2
    case $pair in
    mpi*) has_err "config.yaml:...: Paddlecloud with Mpi don't support GPU training, check your config.yaml & backend.yaml..." ;;
    'k8s gpu'*) has_err "config.yaml:...: PS-GPU on paddlecloud is not supported at this time, comming soon..." ;;
    'k8s cpu'*) has_err "config.yaml:...: Unexpected config -> device: CPU with fleet_mode: Collective, check your config.yaml..." ;;
    vms*) has_err "backend.yaml:2:15: cluster_type vms error, must in MPI/K8S" ;;
    esac
done
# files are copied flat: two of the same name are refused before anything is written
mkdir -p one two
echo 1 >one/same.txt
echo 2 >two/same.txt
paddle_config cpu ps '{workspace}/train_data'
backend_mpi | sed 's,^  files: .*,  files: ./*.yaml one/same.txt two/same.txt,' >backend.yaml
grep -q same.txt backend.yaml || fail "$(cat backend.yaml)"
run crank submit config.yaml -b backend.yaml
ends 2
has_err "backend.yaml:...: files: one/same.txt and two/same.txt have the same name, and all files lie in one folder on the nodes; rename one of them"
is_gone ctr_*
printf 'backend: Slrum\n' >bad.yaml
run crank submit config.yaml -b bad.yaml
ends 2
has_err "bad.yaml:1:10: Slrum can not be supported now; did you mean 'slurm'? the backends are PaddleCloud, slurm, local, hosts..."
printf 'backend: Kubernetes\n' >volcano.yaml
run crank submit config.yaml -b volcano.yaml
ends 2
has_err "volcano.yaml:1:10: Kubernetes can not be supported now: ...; write 'backend: pytorchjob' or 'backend: mpijob' ..."
run crank run -m config.yaml -b bad.yaml -o runner.epochs=2
ends 2
has_err "...-o runner.epochs=2 does not reach the nodes of a cluster; edit config.yaml"

# ---- the nodes do not see the name of the model's folder, so they are told the model ----
mkdir dnn
paddle_config cpu ps '{workspace}/train_data'
sed 's/"builtin:dnn"/"{workspace}\/model.py"/' config.yaml >dnn/config.yaml
cd dnn
backend_mpi >backend.yaml
chmod 600 backend.yaml
run crank submit config.yaml -b backend.yaml --dry-run
ends 0
grep -qxF 'start_cmd="CRANK_JOB_SECRET=\$(cat crank_secret) crank run -m config.yaml --builtin dnn"' ctr_*/job.sh || fail "$(grep start_cmd= ctr_*/job.sh)"
rm -rf ctr_*
{ backend_mpi && echo '  start_cmd: python -m paddlerec.run -m config.yaml'; } >backend.yaml
run crank submit config.yaml -b backend.yaml --dry-run
ends 0
has_err "backend.yaml:...: warning: the nodes do not have the folder whose name says that the model is dnn; add --builtin dnn to start_cmd, or write phase.model: builtin:dnn"
rm -rf ctr_*
sed -i 's/-m config.yaml$/& --builtin dnn/' backend.yaml
run crank submit config.yaml -b backend.yaml --dry-run
ends 0
no_err "...the nodes do not have the folder..."
rm -rf ctr_*
# phases with models of their own, and a workspace that the nodes do not have
cd ..
sed 's,^workspace: .*,workspace: dnn,; s/^- {name: p, .*/&\n- {name: q, model: "{workspace}\/other.py", dataset_name: d}/' dnn/config.yaml >two.yaml
backend_mpi | sed 's,\./config.yaml,./two.yaml,' >backend.yaml
chmod 600 backend.yaml
run crank submit two.yaml -b backend.yaml --dry-run
ends 0
has_err "two.yaml:1:12: warning: the nodes have the files of the job in one folder and no folder 'dnn'; write workspace: \"./\""
has_err "two.yaml:...: warning: the phases have different models, and the nodes do not see the names of their folders; write model: builtin:NAME in each phase"
