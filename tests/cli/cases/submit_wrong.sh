# crank submit with strange names and paths, files that cannot be copied, a full disk, Ctrl-C, numbers of processes that are used again

tiny_config
tiny_data
export CRANK_JOBS_DIR="$PWD/jobs"
backend() { printf 'backend: %s\nmodel_dir: out\nbinary: path\ncrank: /opt/crank\n' "$1"; }
try() { run crank submit tiny.yaml -b b.yaml --no-check "$@"; }

# ---- names ----
for name in '"a\nb"' '"\u0007"' '"a/b"' .a; do
    { backend local && printf "job_name: %s\n" "$name"; } >b.yaml
    try --dry-run
    ends 2
    has_err "b.yaml:5:11: job_name '...' names the folder of the job, so it has no '/', no line break ..."
done
{ backend local && printf 'job_name: %s\n' "$(printf '%0250d' 0)"; } >b.yaml
try --dry-run
ends 2
has_err "b.yaml:5:11: job_name has 250 bytes, ...; choose a name of 200 bytes at most"
strange="100%j 'q\" # \$(touch made)"
mkdir "$strange"
cp tiny.yaml train.csv eval.csv "$strange"
cd "$strange"
for kind in local slurm 'hosts\nstart: none\nhosts: [host0, host1]' 'hosts\nstart: mpich\nhosts: [host0]'; do
    { backend "$kind" && printf 'job_name: "a $(touch made)%s b"\nenv: {ONE: "1 2", TWO: x}\n' "'"; } | sed 's/\\n/\n/g' >b.yaml
    try --dry-run
    ends 0
    for f in a*/*.sh a*/.jobs.sh; do sh -n "$f" || fail "$f of $kind"; done
    case $kind in
    slurm)
        grep -qxF "#SBATCH --job-name=\"a \$(touch made)' b\"" a*/job.sbatch || fail "$(cat a*/job.sbatch)"
        grep -qxF "#SBATCH --output=\"$(echo "$PWD" | sed 's/%/%%/; s/"/\\"/')/$(echo a*)/job-%j.out\"" a*/job.sbatch || fail "$(cat a*/job.sbatch)"
        ;;
    *none*) sed -n '/^echo .on host1/p' a*/job.sh | sh 2>line && grep -q "^on host1 run: sh '.*/node.sh 1$" line || fail "$(cat line)" ;;
    # ps shows the command line of mpiexec, but not the variables
    *mpich*) grep -q -- ' -genvall /opt/crank' a*/run.sh || fail "$(cat a*/run.sh)" ;;
    esac
    is_gone made
    rm -rf a*
done
cd ..

# ---- what the cluster would refuse later ----
{ backend hosts && echo 'start: none' && echo 'hosts: [host0, host1, host0]'; } >b.yaml
try --dry-run
ends 2
has_err "b.yaml:6:23: hosts: 'host0' stands twice; write it once, and ranks_per_node for its ranks"
for time in abc 2h 1.5; do
    { backend slurm && echo "time: $time"; } >b.yaml
    try --dry-run
    ends 2
    has_err "b.yaml:5:7: time is '$time', which is no time limit of Slurm; write minutes (90), hours:minutes:seconds (1:30:00), days-hours (2-12) or unlimited"
done
{ backend slurm && echo 'time: UNLIMITED'; } >b.yaml
try --dry-run
ends 0
{ backend local && echo 'work_dir: nowhere'; } >b.yaml
try --dry-run
ends 2
has_err "b.yaml:5:11: work_dir 'nowhere' is no folder here; make it, or leave the key out"
rm -rf crank_2*

# ---- files that cannot be copied are told before anything is written ----
mkfifo pipe
echo 'echo mine' >run.sh
echo part >bin.part
{ backend local && echo 'files: [pipe, run.sh, {a: b}, bin.part]'; } >b.yaml
try --dry-run
ends 2
has_err "b.yaml:5:9: files: pipe is no file that you may read, ..."
has_err "b.yaml:5:8: files has run.sh, a name that the submission writes itself; rename it"
has_err "b.yaml:5:8: files has bin.part, a name that the submission writes itself; rename it"
has_err "b.yaml:5:23: files: a part of the list is no text; ..."
is_gone crank_2*

# ---- files that are hardly meant to be sent ----
truncate -s 3G data.bin
{ backend local && echo 'files: [data.bin, none]'; } >b.yaml
try --dry-run
ends 2
has_err "b.yaml:1:1: warning: the files of the job have 3.2 GB, and all of them are copied into the folder and sent to the nodes; leave data and models out of 'files'"
rm data.bin

# ---- a disk that is full: no half folder stays ----
if (ulimit -f 8 && ! head -c 100000 /dev/zero >big) 2>/dev/null; then
    head -c 100000 /dev/zero >big
    { backend local && echo 'files: [big]'; } >b.yaml
    run sh -c 'ulimit -f 8 && exec crank submit tiny.yaml -b b.yaml --no-check --dry-run'
    ends 1
    has_err "...big: cannot write: ..."
    is_gone crank_2*
fi

# ---- a bundle is written whole or not at all ----
echo old >b.tar.gz
mkdir full
printf '#!/bin/sh\nuntil [ "$1" = -cf ]; do shift; done\necho half >"$2"\necho "No space left on device"\nexit 2\n' >full/tar
chmod +x full/tar
PATH=$PWD/full:$PATH run crank bundle -o b.tar.gz
ends 1
has_err "...tar could not write ...b.tar.gz: No space left on device..."
echo old >wanted
same wanted b.tar.gz
is_gone b.tar.gz.part*
# the message is tar's own: gzip has nothing to say about its variables
printf '#!/bin/sh\necho "tar: disk is gone"\ngzip -c </dev/null >/dev/null\nexit 2\n' >full/tar
PATH=$PWD/full:$PATH run crank bundle -o b.tar.gz
ends 1
has_err "...tar could not write .../b.tar.gz: tar: disk is gone"

# ... and that of gzip, which begins with an empty line, is found
printf '#!/bin/sh\nprintf "\\ngzip: stdout: No space left on device\\ntar: Child returned status 1\\n"\nexit 2\n' >full/tar
PATH=$PWD/full:$PATH run crank bundle -o b.tar.gz
ends 1
has_err "...tar could not write .../b.tar.gz: gzip: stdout: No space left on device"

# ---- names of files that Kubernetes does not take ----
cp tiny.yaml 'ti ny.yaml'
{ backend mpijob | grep -v binary && printf 'image: i\njob_name: x\nfiles: ["a=b"]\n'; } >b.yaml
touch 'a=b'
run crank submit 'ti ny.yaml' -b b.yaml --no-check --dry-run
ends 2
has_err "ti ny.yaml: Kubernetes takes letters, digits, '-', '_' and '.' in names of files; rename it"
has_err "a=b: Kubernetes takes letters, ..."

# ---- Ctrl-C ends the client too, and the folder stays ----
mkdir bin
PATH=$PWD/bin:$PATH
cat >bin/sbatch <<'END'
#!/bin/sh
[ "$1" = --version ] && exec echo "slurm-wlm 22.05"
echo $$ >"$CASE_DIR/client"
exec sleep 1000
END
chmod +x bin/sbatch
{ backend slurm && echo 'job_name: held'; } >b.yaml
for signal in INT TERM; do
    rm -rf held_2* "$CASE_DIR/client"
    # a shell starts background programs with SIGINT ignored; env gives it back
    env --default-signal=INT crank submit tiny.yaml -b b.yaml --no-check >"$out" 2>"$err" &
    pid=$!
    until [ -s "$CASE_DIR/client" ]; do sleep 0.05; done
    kill -$signal $pid
    code=0
    wait $pid || code=$?
    [ $code -eq 1 ] || fail "$signal: exit code $code"
    has_err "...held_...: job.sh was ended by a signal; the cluster may have taken the job all the same, ..."
    # it ends on its own; a zombie waits for a parent that asks for its exit code
    while grep -q '^State:[[:space:]]*[^ZX]' "/proc/$(cat "$CASE_DIR/client")/status" 2>/dev/null; do sleep 0.05; done
    [ -f held_2*/job.sbatch ] || fail "the folder is gone"
done

# ---- Ctrl-C while the folder or a bundle is written: nothing stays, and the client is not called ----
truncate -s 20G large.bin # a hole, which takes a while to copy
{ backend slurm && printf 'job_name: half\nfiles: [large.bin]\n'; } >b.yaml
env --default-signal=INT crank submit tiny.yaml -b b.yaml --no-check >"$out" 2>"$err" &
pid=$!
until [ -s "$(echo half_2*/large.bin)" ]; do sleep 0.02; done
kill -INT $pid
code=0
wait $pid || code=$?
[ $code -eq 1 ] || fail "exit code $code"
has_err "...stopped by a signal; nothing was submitted, and the folder was removed"
is_gone half_2*
rm large.bin
mkdir tmp
printf '#!/bin/sh\n: >"$CASE_DIR/packing"\nexec sleep 1000\n' >bin/tar
chmod +x bin/tar
TMPDIR=$PWD/tmp env --default-signal=INT crank bundle -o c.tar.gz >"$out" 2>"$err" &
pid=$!
until [ -e "$CASE_DIR/packing" ]; do sleep 0.05; done
kill -INT $pid
code=0
wait $pid || code=$?
[ $code -eq 1 ] || fail "exit code $code"
rm bin/tar
[ -z "$(ls tmp)" ] || fail "the bundle left $(ls tmp)"
is_gone c.tar.gz*
{ backend slurm && echo 'job_name: held'; } >b.yaml

# ---- warnings are shown before the client is called ----
printf '#!/bin/sh\n[ "$1" = --version ] && { echo "fatal: no configuration" >&2; exit 1; }\ncp "$CASE_DIR/err" "$CASE_DIR/told"\necho 4711\n' >bin/sbatch
rm -rf held_2*
{ backend slurm && printf 'job_name: held\ntime: "1:00"\nrequeue: false\n'; } >b.yaml
run crank submit tiny.yaml -b b.yaml --no-check
ends 0
has_out "client: .../sbatch, which does not tell its version"
grep -q "warning: 'sbatch --version' failed, so the client may not work here: fatal: no configuration" "$CASE_DIR/told" || fail "$(cat "$CASE_DIR/told")"
grep -q 'b.yaml:7:10: warning: without requeue the job ends at its time limit' "$CASE_DIR/told" || fail "$(cat "$CASE_DIR/told")"
{ backend slurm && echo 'job_name: held'; } >b.yaml

# ---- an answer of any length is shown whole; one without an id is no job ----
rm -rf held_2*
printf '#!/bin/sh\nprintf "%%05000d\\n" 7\n' >bin/sbatch
run crank submit tiny.yaml -b b.yaml --no-check
ends 0
[ "$(grep -c '^0\{4999\}7$' "$out")" -eq 1 ] || fail "the answer was cut"

# ---- a client that leaves a process behind which holds its output: nobody waits for that one, and it goes on ----
rm -rf held_2*
cat >bin/sbatch <<'END'
#!/bin/sh
[ "$1" != --version ] || echo "slurm-wlm 22.05"
[ "$1" = --version ] || echo 4711
sleep 1000 2>/dev/null &
echo $! >>"$CASE_DIR/left"
END
run timeout 100 crank submit tiny.yaml -b b.yaml --no-check --timeout 600
ends 0
has_out "client: .../sbatch, slurm-wlm 22.05"
has_out "job id: 4711"
while read -r p; do kill "$p" || fail "it was ended"; done <"$CASE_DIR/left"

# ---- arrays of Slurm: each task has its own output and port; logs are those of all tasks ----
cat >bin/squeue <<'END'
#!/bin/sh
cat "$CASE_DIR/queue" 2>/dev/null
END
printf '#!/bin/sh\ncat "$CASE_DIR/ended"\n' >bin/sacct
printf '#!/bin/sh\necho 4711\n' >bin/sbatch
chmod +x bin/*
for key in 'array: 0-2' 'options: [--array=0-2]'; do
    rm -rf held_2*
    { backend slurm && printf 'job_name: held\n%s\n' "$key"; } >b.yaml
    try
    ends 0
    folder=$(echo held_2*)
    grep -qx "#SBATCH --output=$PWD/$folder/job-%A_%a.out" "$folder/job.sbatch" || fail "$(cat "$folder/job.sbatch")"
    grep -qF -- '--master_port $((29500 + SLURM_ARRAY_TASK_ID % 1000)) ' "$folder/job.sbatch" || fail "$(cat "$folder/job.sbatch")"
done
printf 'task 0, step 5\n' >"$folder/job-4711_0.out"
printf 'task 1, step 7\n' >"$folder/job-4711_1.out"
printf 'COMPLETED\nPENDING\nRUNNING\nPENDING\n' >"$CASE_DIR/queue"
run crank jobs show last
has_out "state      RUNNING"
has_out "last step  7"
run crank jobs logs last
printf 'task 0, step 5\ntask 1, step 7\n' >wanted
same wanted "$out"
rm "$CASE_DIR/queue"
printf 'COMPLETED\nFAILED\nCOMPLETED\n' >"$CASE_DIR/ended"
run crank jobs show last
has_out "state      FAILED"
# a task that begins later is followed, too
printf '#!/bin/sh\n[ -e "$CASE_DIR/asked" ] || { : >"$CASE_DIR/asked"; echo RUNNING; exit; }\necho "task 2, step 1" >"%s/job-4711_2.out"\n' "$PWD/$folder" >bin/squeue
CRANK_POLL=0 run timeout 100 crank jobs logs -f last
ends 0
printf 'task 0, step 5\ntask 1, step 7\ntask 2, step 1\n' >wanted
same wanted "$out"
rm bin/squeue bin/sacct

# ---- another process with the number of a job that has ended is left alone ----
rm -rf crank_2*
backend local >b.yaml
try --dry-run
ends 0
sleep 1000 &
echo $! >"$(echo crank_2*)/.answer"
run crank jobs show last
has_out "state      LOST"
run crank jobs stop last
ends 1
has_err "the job does not run"
kill $! || fail "the other process was ended"

# ---- words of sbatch, and args as a text ----
{ backend slurm && printf 'partition: "a b"\nconstraint: "x#y"\noptions: [-N1]\nargs: "--set train_config.num_epochs=x\\n--quiet"\n'; } >b.yaml
try --dry-run
ends 2
has_err "b.yaml:5:12: partition is 'a b', and a directive of sbatch is one word without blanks, quotes and '#'"
has_err "b.yaml:6:13: constraint is 'x#y', and a directive of sbatch is one word without blanks, quotes and '#'"
has_err "b.yaml:7:11: options: an option of sbatch begins with -- and has one line; write for example --nice=100"
has_err "b.yaml:8:7: args holds a line break, which would end the command of the nodes; write it as one line"
for args in '"--set train_config.num_epochs=x"' '[--set=train_config.num_epochs=x]' '[--set, train_config.num_epochs=x]'; do
    { backend slurm && echo "args: $args"; } >b.yaml # the nodes would read the edit
    try --dry-run
    ends 2
    has_err "...num_epochs...'x'..."
done
rm -rf crank_2*
{ backend slurm && printf 'args: |\n  --model_dir m$SLURM_ARRAY_TASK_ID\n'; } >b.yaml
try --dry-run
ends 0
grep -q ' --model_dir m$SLURM_ARRAY_TASK_ID --continue_train &$' crank_2*/job.sbatch || fail "$(cat crank_2*/job.sbatch)"
rm -rf crank_2*

# ---- a cluster that gives no answer is asked once for a list; what is no record of a job is passed over ----
rm -rf jobs crank_2* held_2*
backend local >b.yaml
for i in 1 2 3; do
    mkdir -p "hang$i"
    (cd "hang$i" && cp ../tiny.yaml ../b.yaml . && crank submit tiny.yaml -b b.yaml --no-check --dry-run >"$out" 2>"$err" && cd crank_2* && echo $i >.answer &&
        printf 'echo x >>"%s/asked.%s"\nexec sleep 1000\n' "$PWD/../.." $i >.jobs.sh) || fail "hang$i"
done
echo garbage >jobs/one.json
echo '{"id": 5, "folder": [], "backend": null}' >jobs/two.json
run timeout 100 crank jobs list --timeout 1
ends 0
[ "$(grep -c '  crank_.*  local  *unknown  ' "$out")" -eq 3 ] || fail "$(cat "$out")"
[ "$(grep -c . "$out")" -eq 4 ] || fail "$(cat "$out")"
[ "$(cat asked.* | wc -l)" -eq 1 ] || fail "the cluster was asked again"
run timeout 100 crank jobs show last --timeout 1
ends 0
has_err "...the client gave no answer within 1 s (--timeout gives more time)"
# Ctrl-C ends a list
rm asked.*
env --default-signal=INT crank jobs list >"$out" 2>"$err" &
pid=$!
until [ -s "$(ls asked.* 2>/dev/null | head -n 1)" ]; do sleep 0.05; done
kill -INT $pid
code=0
wait $pid || code=$?
[ $code -eq 1 ] || fail "exit code $code"
has_err "...stopped by a signal..."
rm -rf hang* jobs

# ---- hosts: users and ports in names, the client and its version ----
{ backend hosts && printf 'start: mpich\nhosts: [me@host0, "host1:22", host2]\nnodes: 2\n'; } >b.yaml
try --dry-run
ends 2
has_err "b.yaml:6:9: hosts: 'me@host0' names a user, and the ranks look for each other by this name; ..."
has_err "b.yaml:6:19: hosts: 'host1:22' is no name of a host; write a name or an address, without a port"
has_err "b.yaml:7:8: nodes is 2, and there are 3 hosts; leave nodes out"
printf '#!/bin/sh\n[ "$1" != -V ] || echo "OpenSSH_9.2p1" >&2\n' >bin/ssh
chmod +x bin/ssh
{ backend hosts && printf 'start: shh\nhosts: [host0, me@host1]\n'; } >b.yaml
try --dry-run
ends 2
has_err "b.yaml:5:8: start is 'shh' and must be ssh, none, mpich or openmpi"
sed -i s/shh/ssh/ b.yaml
try --dry-run
ends 0
has_out "client: .../bin/ssh, OpenSSH_9.2p1"
rm -rf crank_2*
echo 'ssh: /no/ssh' >>b.yaml
try
ends 2
has_err "b.yaml:5:8: the client '/no/ssh' is not on PATH, and job.sh calls it; install it or extend PATH"
rm bin/ssh

# ---- the commit of the config's repository is kept ----
if command -v git >/dev/null; then
    mkdir repo
    cp tiny.yaml repo
    git -C repo init -q && git -C repo add . && git -C repo -c user.name=a -c user.email=a@example.com commit -q -m one
    backend local >b.yaml
    rm -rf crank_2*
    run crank submit repo/tiny.yaml -b b.yaml --no-check --dry-run
    ends 0
    run crank jobs show last
    has_out "commit     $(git -C repo rev-parse HEAD)"
fi

# ---- jobs of the same name and minute in two folders are two jobs ----
rm -rf jobs crank_2*
until [ "$(ls -d one/crank_2* two/crank_2* 2>/dev/null | sed 's,.*/,,' | uniq -d)" ]; do
    rm -rf jobs one two
    for d in one two; do
        mkdir $d
        cp tiny.yaml b.yaml $d
        (cd $d && crank submit tiny.yaml -b b.yaml --no-check --dry-run >"$out" 2>"$err") || fail "$d"
    done
done
run crank jobs list
[ "$(grep -c crank_2 "$out")" -eq 2 ] || fail "$(cat "$out")"
for d in one two; do
    run crank jobs show $d/crank_2*/
    has_out "folder     $PWD/$d/crank_..."
done

# ---- variables that hold keys: the folder is for its owner alone ----
{ backend local && echo 'env: {AWS_SECRET_ACCESS_KEY: hush}'; } >b.yaml
chmod 644 b.yaml
rm -rf crank_2*
try --dry-run
ends 0
has_err "b.yaml:5:6: warning: env holds a secret, and others on this machine can read b.yaml; run 'chmod 600 b.yaml'"
has_out "the folder holds secrets: only you can read it (mode 0700)"
[ "$(stat -c %a crank_2*)" = 700 ] || fail "the folder can be read by others"
[ "$(stat -c %a crank_2*/run.sh)" = 600 ] || fail "run.sh can be read by others"
if grep -q hush "$out" "$err"; then fail "the key is shown"; fi

# ---- PaddleCloud: edits of crank's keys, and a value of two lines in config.ini ----
. "$CLI/submit/backends.sh"
paddle_config cpu ps '{workspace}/train_data'
standin paddlecloud
backend_mpi | sed 's,files: .*,files: config.yaml,; s,"/user/out","/user/out\\nfs_name=other",' >c.yaml
chmod 600 c.yaml
run crank submit config.yaml -b c.yaml --dry-run --set train_config.num_epochs=7
ends 2
has_err "crank submit: --set train_config.num_epochs=7 does not reach the nodes, which run a config of PaddleRec; edit config.yaml"
has_err "c.yaml:...: output_path holds a line break; remove it"
is_gone ctr_2*
# an unknown key of an inner part: crank help has no page of it, so the keys are listed
printf 'backend: PaddleCloud\nconfig: {who: 1}\nsubmit: {what: 2}\n' >c.yaml
run crank submit config.yaml -b c.yaml --dry-run
ends 2
has_err "c.yaml:2:10: unknown key 'who' in config; give one of paddle_version, use_python3, fs_name, ..."
has_err "c.yaml:3:10: unknown key 'what' in submit; give one of ak, sk, priority, job_name, ..."
