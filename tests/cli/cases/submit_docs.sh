# every backend.yaml and every command about submission in the guide: each is run as it stands there, with clients that stand in

. "$CLI/submit/backends.sh"
for client in dlc kubectl paddlecloud curl; do standin $client; done
cat >bin/sbatch <<'END'
#!/bin/sh
[ "$1" != --version ] || { echo "slurm-wlm 22.05.8"; exit 0; }
echo "step 7" >job-4711.out
echo 4711
END
printf '#!/bin/sh\nexit 0\n' >bin/squeue
printf '#!/bin/sh\necho "JobState=COMPLETED"\n' >bin/scontrol
printf '#!/bin/sh\necho "$1" >"$STANDIN_LOG.cancelled"\n' >bin/scancel
chmod +x bin/*
export CRANK_JOBS_DIR="$PWD/jobs" CRANK_POLL=0 STANDIN_STATE=Succeeded
guide=$CLI/../../docs/guide
n_run=0
page() { # page NAME: runs its blocks in their order
    rm -rf block.* backend.new ./*_2*
    awk '/^```/ { inside = !inside; if (inside) n++; next } inside { print > ("block." n) }' "$guide/$1"
    for block in $(ls block.* | sort -t . -k 2 -n); do
        if head -n 1 "$block" | grep -q '^backend:'; then
            sed "s,^stage_dir: .*,stage_dir: $PWD/storage," "$block" >backend.new # the one folder that must be on this machine
            continue
        fi
        while read -r line; do
            case $line in 'crank submit '* | 'crank run '*' -b '* | 'crank jobs '* | 'crank bundle'*) ;; *) continue ;; esac
            file=$(echo "$line" | sed -n 's/.* -b \([^ ]*\).*/\1/p')
            if [ -n "$file" ] && [ -f backend.new ]; then cp backend.new "$file" && chmod 600 "$file"; fi # submit.md has the file of another page
            if [ -n "$file" ] && grep -q '^backend: hosts' "$file"; then line="$line --dry-run"; fi # tests/mpi/submit.sh starts such jobs
            # shellcheck disable=SC2086
            run timeout 900 $line </dev/null
            ends 0
            n_run=$((n_run + 1))
        done <"$block"
    done
    for f in ./*_2*/*.sh ./*_2*/.*.sh; do
        [ ! -e "$f" ] || sh -n "$f" || fail "$1: $f is no script"
    done
}
mkdir storage
tiny_config
tiny_data
sed 's,^train_config:,train_config:\n  lanes: 32,' tiny.yaml >deepfm.yaml # enough for the 32 ranks of a page
for name in start_one_machine start_hosts start_slurm submit start_kubernetes start_dlc; do page $name.md; done
grep -qx 4711 call.cancelled || fail "scancel was not called"
# PaddleCloud: the keys are in the environment
paddle_config cpu ps '{workspace}/train_data'
export PADDLECLOUD_AK=AKAKAK PADDLECLOUD_SK=SKSKSK PADDLECLOUD_FS_UGI=user,password STANDIN_STATE=success
page paddlecloud.md
[ $n_run -ge 18 ] || fail "only $n_run commands were found in the guide"
