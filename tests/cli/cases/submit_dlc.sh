# crank submit to PAI-DLC: the files byte for byte, dates of recurring trainings, the client's answers, mistakes

. "$CLI/submit/backends.sh"
standin dlc
tiny_config
tiny_data
mkdir storage
cat >dlc.yaml <<END
backend: dlc
job_name: deepfm
nodes: 2
ranks_per_node: 2
binary: image
workspace_id: 12345
worker_image: registry.example.com/team/crank:1.0
worker_spec: ecs.g7.8xlarge
data_sources: d-abc123
priority: 1
vpc_id: vpc-1
switch_id: vsw-1
security_group_id: sg-1
job_max_running_time_minutes: 1440
enable_credential: true
image_repo_username: reader
work_dir: /mnt/data/jobs
stage_dir: $PWD/storage
model_dir: /mnt/data/model
env: {MODE: "a b"}
args: [--set, train_config.lanes=8]
END
run crank submit tiny.yaml -b dlc.yaml --dry-run
has_err "$HOME/.dlc/config: warning: the client's file with your access keys is missing; run 'dlc config'"
rm -rf deepfm_*
mkdir "$HOME/.dlc" && : >"$HOME/.dlc/config"
run env DLC_IMAGE_REPO_PASSWORD=PASSPASS crank submit tiny.yaml -b dlc.yaml
ends 0
no_err "...dlc/config..."
folder=$(echo deepfm_*)
has_out "job id: dlc1k2m3n4o5p6q7"
if grep -q PASSPASS "$out" "$err"; then fail "the password is shown"; fi
[ "$(stat -c %a "$folder")" = 700 ] || fail "the folder can be read by others"
mkdir got
for f in job.sh job.ini node.sh .jobs.sh; do sed "s,$folder,FOLDER,g; s,$PWD,HERE,g" "$folder/$f" >got/$f; done
same "$CLI/submit/dlc_files" got
printf 'submit\npytorchjob\n--job_file\n.job.ini\n' >wanted
same wanted call
same "$folder/job.ini" call.ini
same "storage/$folder/tiny.yaml" tiny.yaml
is_there "storage/$folder/secret"
is_gone "storage/$folder/job.ini"
run crank jobs show last
has_out "state      Running"
has_out "last step  30"
run crank jobs list
has_out "...dlc1k2m3n4o5p6q7 ... dlc ... Running ..."
# what comes later is shown once, of each pod
rm -f call.asked
printf '#!/bin/sh\n[ "$(cat "$STANDIN_LOG.asked" 2>/dev/null | wc -l)" -lt 2 ] || export STANDIN_STATE=Succeeded\nexec sh "%s" "$@"\n' "$CLI/submit/dlc" >bin/dlc
CRANK_POLL=0 run crank jobs logs -f last
ends 0
printf 'step 30 of dlc1k2m3n4o5p6q7-master-0\nstep 30 of dlc1k2m3n4o5p6q7-worker-0\nworker, line 1\nworker, line 2\nworker, line 3\n' >wanted
same wanted "$out"
[ -z "$(ls -a "$folder" | grep seen)" ] || fail "$(ls -a "$folder")"
standin dlc
run crank jobs stop last
has_out "stopped dlc1k2m3n4o5p6q7"
for answer in refusal garbage; do
    rm -rf deepfm_*
    STANDIN=$answer run crank submit tiny.yaml -b dlc.yaml
    ends 1
done
rm -rf deepfm_*
STANDIN=hang run crank submit tiny.yaml -b dlc.yaml --timeout 1
ends 1
rm -rf deepfm_*

# ---- every flag of the client is a key ----
for key in tags envs interactive running_timeout exit_code_on_stopped masters master_image master_spec resource_id worker_cpu worker_gpu worker_gpu_type \
    worker_memory worker_shared_memory master_cpu master_gpu master_gpu_type master_memory master_shared_memory data_source_uris code_source code_branch \
    code_commit thirdparty_libs thirdparty_lib_dir extended_cidrs default_route oversold_type driver job_reserved_minutes job_reserved_policy \
    disable_ecs_stock_check image_repo_password advanced_settings; do
    value=7
    case $key in
    masters) value=1 ;; tags | envs) value=a=1,b=2 ;; data_source_uris) value=oss://bucket/path/::/mnt/more,nas://id/::/mnt/nas ;; interactive | disable*) value=true ;; default_route) value=eth1 ;; job_reserved_policy) value=Always ;;
    esac
    { grep -v '^worker_spec' dlc.yaml && echo "$key: $value" && echo "worker_cpu: 8
worker_memory: 64Gi
resource_id: q1
masters: 1
master_image: m
master_cpu: 4
master_memory: 8Gi" | grep -v "^$key:"; } >all.yaml
    # with a quota a role has no instance type
    [ $key != master_spec ] || { grep -v -E '^(resource_id|worker_cpu|worker_memory|master_cpu|master_memory):' all.yaml && echo "worker_spec: w"; } >new.yaml
    [ $key != master_spec ] || mv new.yaml all.yaml
    run crank submit tiny.yaml -b all.yaml --dry-run --no-check
    ends 0
    no_err "...has no effect..."
    grep -qx "$key=$value" deepfm_*/job.ini || fail "$key is not in $(cat deepfm_*/job.ini)"
    grep -qx workers=1 deepfm_*/job.ini || fail "a master is one of two nodes"
    rm -rf deepfm_*
done

# a job of one node, which is the master
{ grep -v -E '^(nodes|worker_image|worker_spec)' dlc.yaml && printf 'nodes: 1\nmasters: 1\nmaster_image: m\nmaster_spec: ecs.g7.xlarge\n'; } >one.yaml
run crank submit tiny.yaml -b one.yaml --dry-run
ends 0
if grep -q '^workers=' deepfm_*/job.ini; then fail "there are no workers: $(cat deepfm_*/job.ini)"; fi
rm -rf deepfm_*
# keys that need another one
{ grep -v -E '^(vpc_id|switch_id)' dlc.yaml && printf 'worker_gpu: 2\nmaster_cpu: 8\n'; } >idle.yaml
run crank submit tiny.yaml -b idle.yaml --dry-run
ends 0
has_err "idle.yaml:...: warning: security_group_id has no effect without vpc_id"
has_err "idle.yaml:...: warning: worker_gpu has no effect without resource_id, the quota that it is a share of"
has_err "idle.yaml:...: warning: master_cpu has no effect without masters: 1"
rm -rf deepfm_*
# variables of the platform may be secrets
{ cat dlc.yaml && echo 'envs: MODE=x,OSS_ACCESS_KEY_SECRET=hush'; } >envs.yaml
chmod 644 envs.yaml
run crank submit tiny.yaml -b envs.yaml --dry-run
ends 0
has_err "envs.yaml:...: warning: envs holds a secret, and others on this machine can read envs.yaml; run 'chmod 600 envs.yaml'"
[ "$(stat -c %a deepfm_*/job.ini)" = 600 ] || fail "job.ini can be read by others"
rm -rf deepfm_*

# ---- files: a program stays one, names with a dot arrive; the upload may leave a process behind that holds its output ----
printf '#!/bin/sh\necho hooked\n' >hook.sh
chmod 755 hook.sh
echo hidden >.hidden
echo plain >plain.txt
printf 'sleep 1000 &\necho $! >left\ncp -r "$stage" storage/\n' >up
{ grep -v stage_dir dlc.yaml && printf 'files: ["*.sh", .hid*, plain.txt]\nupload: cd "%s" && sh up\n' "$PWD"; } >files.yaml
run timeout 100 crank submit tiny.yaml -b files.yaml --timeout 600
ends 0
has_out "job id: dlc1k2m3n4o5p6q7"
kill "$(cat left)" || fail "what the upload left behind was ended"
folder=$(echo deepfm_*)
for f in hook.sh .hidden plain.txt; do same $f "storage/$folder/$f"; done
[ "$(stat -c %a "$folder/hook.sh")" = 700 ] || fail "hook.sh is no program: $(stat -c %a "$folder/hook.sh")"
[ "$(stat -c %a "$folder/plain.txt")" = 600 ] || fail "plain.txt: $(stat -c %a "$folder/plain.txt")"
[ -x "storage/$folder/hook.sh" ] || fail "hook.sh of the storage is no program"
rm -rf deepfm_*

# ---- recurring: the date of the scheduler ----
sed "s|^args: .*|args: [--set, train_config.lanes=8, --train_input_path, '/mnt/data/dt={date}/*,/mnt/data/{date-1:%Y-%m-%d}/*']|; s/^job_name: .*/job_name: 'daily_{date}'/" dlc.yaml >daily.yaml
run crank submit tiny.yaml -b daily.yaml --dry-run
ends 0
folder=$(echo daily_*)
run sh "$folder/job.sh" 20250301
ends 0
grep -qx 'name=daily_20250301' call.ini || fail "$(cat call.ini)"
grep -qx "command=sh '\{0,1\}/mnt/data/jobs/$folder-20250301'\{0,1\}/node.sh" call.ini || fail "$(cat call.ini)"
grep -q 'dt=20250301/\*,/mnt/data/2025-02-28/' "storage/$folder-20250301/node.sh" || fail "$(cat storage/*/node.sh)"
run sh "$folder/job.sh"
ends 0
grep -qx "name=daily_$(date -d yesterday +%Y%m%d)" call.ini || fail "$(cat call.ini)"
run sh "$folder/job.sh" someday
ends 2
# cron: another folder, hardly any variables, no terminal; DataWorks gives \${bizdate}, the day before the day of the run
for line in 'sh deepfm_…/job.sh ${bizdate}' '0 3 * * * sh /home/you/deepfm_…/job.sh'; do
    grep -qF "$line" "$CLI/../../docs/guide/start_dlc.md" || fail "start_dlc.md has no line '$line'"
done
here=$PWD
run env -i PATH="$PWD/bin:/usr/bin:/bin" HOME="$HOME" STANDIN_LOG="$STANDIN_LOG" sh -c "cd / && sh '$here/$folder/job.sh'" </dev/null
ends 0
grep -qx "name=daily_$(date -d yesterday +%Y%m%d)" call.ini || fail "$(cat call.ini)"
bizdate=20240228 run sh -c "sh '$folder'/job.sh \"\$bizdate\""
ends 0
grep -q 'dt=20240228/\*,/mnt/data/2024-02-27/' "storage/$folder-20240228/node.sh" || fail "$(cat storage/*/node.sh)"
# a date of a leap year; the same date again replaces the folder of the stage
run sh "$folder/job.sh" 20240301
ends 0
grep -q '2024-02-29' "storage/$folder-20240301/node.sh" || fail "$(cat storage/*/node.sh)"
run sh "$folder/job.sh" 20240301
ends 0
# crank jobs knows the newest, also of those of one second
run crank jobs show last
has_out "job        dlc1k2m3n4o5p6q7"
rm -rf daily_*

# ---- mistakes, all at once ----
cat >bad.yaml <<'END'
backend: dlc
job_name: "two words"
priority: 10
vpc_id: vpc-1
default_route: eth7
success_policy: x
command: ls
worker_specs: a
name: n
workers: 2
job_file: f
tags: a
envs: "A=1,2"
data_source_uris: oss://bucket/path
masters: 1
resource_id: q
worker_spec: s
args: [--set, "a={date:%Q}", --set, "b={dated}"]
model_dir: /mnt/{date-}/{date7}
env: {A: [1]}
nodes: 2
END
run crank submit tiny.yaml -b bad.yaml
ends 2
has_err "bad.yaml:2:11: job_name has letters, digits, '_', '.' and '-', at most 256 of them"
has_err "bad.yaml:3:11: priority is '10' and must be an integer from 1 to 9"
has_err "bad.yaml:4:9: with vpc_id, switch_id and security_group_id are needed too"
has_err "bad.yaml:5:16: default_route is 'eth7' and must be eth0 or eth1"
has_err "bad.yaml:6:17: success_policy is for TFJobs; remove it"
has_err "bad.yaml:7:10: crank writes the command; add words with args: [...]"
has_err "bad.yaml:8:1: unknown key 'worker_specs'...; did you mean 'worker_spec'?"
has_err "...workspace_id is missing; 'dlc get workspace' lists yours"
has_err "...worker_image is missing; ..."
has_err "...work_dir is a whole path in the containers..."
has_err "...give one of stage_dir, ..."
has_err "bad.yaml:19:12: model_dir: '{date-}' is no date; write {date}, {date-7} for a week earlier, or {date:%Y-%m-%d} for another form"
has_err "bad.yaml:19:12: model_dir: '{date7}' is no date; ..."
has_err "bad.yaml:18:15: args: '{date:%Q}' is no date; ..."
has_err "bad.yaml:18:37: args: '{dated}' is no date; ..."
has_err "bad.yaml:9:7: crank writes the name; write job_name"
has_err "bad.yaml:10:10: crank writes the number of workers; write nodes, which counts the master too"
has_err "bad.yaml:11:11: crank writes the job file; write its lines as keys of this file"
has_err "bad.yaml:12:7: tags: part 1 is no pair K=V; write k=v,k2=v2"
has_err "bad.yaml:13:7: envs: part 2 is no pair K=V; a value has no comma; env: {NAME: value} takes any value of one line"
has_err "bad.yaml:14:19: data_source_uris: 'oss://bucket/path' has not the form oss://bucket/path/::/mount/point"
has_err "bad.yaml:1:1: master_image is missing; the containers are made of it"
has_err "bad.yaml:17:14: worker_spec and resource_id are both given; a quota has worker_cpu and worker_memory instead of worker_spec"
has_err "bad.yaml:16:14: a quota needs master_cpu and master_memory; ..."
has_err "bad.yaml:20:...: env: 'A' is no variable with a text of one line; write NAME: \"value\""
# a request that is too large is told before anything is written; upload is one line of job.sh, and YAML's block texts end with a line break
{ cat dlc.yaml && printf 'advanced_settings: %s\n' "$(printf '%070000d' 0)"; } >large.yaml
run crank submit tiny.yaml -b large.yaml --dry-run --no-check
ends 2
has_err "large.yaml:1:1: job.ini would have 70... bytes, and a request of DLC has 65536 at most; shorten envs and advanced_settings ..."
is_gone deepfm_*
{ grep -v stage_dir dlc.yaml && printf 'upload: |\n  cd "%s" &&\n  cp -r "$stage" storage/\n' "$PWD"; } >lines.yaml
run crank submit tiny.yaml -b lines.yaml --dry-run --no-check
ends 2
has_err "lines.yaml:22:1: upload holds a line break; write one command, with && between its parts, or the name of a script"
{ grep -v stage_dir dlc.yaml && printf 'upload: |\n  cd "%s" && cp -r "$stage" storage/\n' "$PWD"; } >lines.yaml
run crank submit tiny.yaml -b lines.yaml --no-check
ends 0
has_out "job id: dlc1k2m3n4o5p6q7"
