# keys and passwords of crank submit: no message, no answer of a client, no command line and no file that others can read shows them

. "$CLI/submit/backends.sh"
for client in paddlecloud dlc kubectl; do standin $client; done
tiny_config
tiny_data
paddle_config cpu ps '{workspace}/train_data'
export CRANK_JOBS_DIR="$PWD/jobs"
mkdir storage "$HOME/.dlc" && : >"$HOME/.dlc/config"
unseen() { # unseen WHAT: the last run did not show the secret
    if grep -q hush "$out" "$err"; then fail "$1 is shown"; fi
}
dlc() {
    printf 'backend: dlc\njob_name: j\nbinary: image\nworkspace_id: 1\nworker_image: i\nworker_spec: s\nwork_dir: /mnt\nstage_dir: %s/storage\n' "$PWD"
}

# ---- values that YAML takes for something else, and mistakes beside them ----
while IFS= read -r value; do
    for key in ak sk fs_ugi; do
        backend_mpi | awk -v key="$key" -v value="$value" '$1 == key ":" { print "  " key ": " value; next } { print }' >b.yaml
        grep -q hush b.yaml || fail "$value is not in b.yaml"
        chmod 600 b.yaml
        rm -rf ctr_2*
        run crank submit config.yaml -b b.yaml --dry-run
        ends any
        unseen "$key: $value"
    done
    for file in local dlc; do
        if [ $file = dlc ]; then dlc; else printf 'backend: local\njob_name: j\n'; fi >b.yaml
        printf 'env: {AWS_SECRET_ACCESS_KEY: %s}\n' "$value" >>b.yaml
        chmod 600 b.yaml
        rm -rf j_2*
        run crank submit tiny.yaml -b b.yaml --dry-run --no-check
        ends any
        unseen "env of $file: $value"
    done
done <<'END2'
*hush1
!hush1
!hush1 x
!!hush1 x
&hush1 x
@hush1
`hush1
%hush1
"hush1
'hush1
[hush1
[hush1, hush2]
{hush1: 1}
hush1: 2
- hush1
|hush1
"\qhush1"
"a\nhush1"
'a' hush1
hush1
{date-hush1}
"{date-hush1}"
"{date:hush1}"
END2
dlc >b.yaml
printf 'envs: OSS_ACCESS_KEY_SECRET=a,hush1\nimage_repo_password: "{datehush1}"\n' >>b.yaml
chmod 600 b.yaml
run crank submit tiny.yaml -b b.yaml --dry-run --no-check
ends 2
unseen "envs"
has_err "b.yaml:9:7: envs: part 2 is no pair K=V; a value has no comma; ..."
has_err "b.yaml:10:22: image_repo_password: '{date...' is no date; ..."

# ---- a client that prints what it was given: stars in the places of keys, in answers and in errors ----
cat >bin/dlc <<'END2'
#!/bin/sh
cat "$4"
cat "$4" >&2
printf 'as JSON: "hush\\"1\\\\", and a last line without its end: hush"1\\' >&2
printf '| JobId |\n| dlc1k2m3n4o5p6q7 |\n'
exit "${REFUSE-0}"
END2
dlc >b.yaml
printf 'envs: MODE=x,OSS_ACCESS_KEY_SECRET=hush2\nimage_repo_password: %s\nenv: {A_TOKEN: hush3}\n' "'hush\"1\\'" >>b.yaml
chmod 600 b.yaml
for refuse in 0 1; do
    rm -rf j_2*
    REFUSE=$refuse run crank submit tiny.yaml -b b.yaml --no-check
    ends $refuse
    unseen "what dlc prints"
    for where in out err; do
        has_$where "image_repo_password=***"
        has_$where "envs=MODE=x,OSS_ACCESS_KEY_SECRET=***"
        has_$where "workspace_id=1"
    done
    has_err 'as JSON: "***", and a last line without its end: ***'
done
printf '#!/bin/sh\nenv printf "error: %%s is not known\\n" "$@" >&2\nexit 1\n' >bin/paddlecloud
backend_mpi | sed 's/AKAKAK/hush-ak/; s/SKSKSK/hush-sk/; s/pa#ss/hush-pass/; s,files: .*,files: config.yaml,' >b.yaml
chmod 600 b.yaml
run crank submit config.yaml -b b.yaml
ends 1
unseen "what paddlecloud prints"
[ "$(grep -c -F 'error: *** is not known' "$err")" -eq 2 ] || fail "$(cat "$err")"

# ---- files: those with a secret are their owner's alone, also those of a second sh job.sh ----
standin dlc
umask 022
rm -rf j_2* ctr_2* storage
mkdir storage
dlc >b.yaml
printf 'image_repo_password: hush1\nenv: {A_TOKEN: hush3}\nmodel_dir: "/m/{date}"\n' >>b.yaml
chmod 600 b.yaml
run crank submit tiny.yaml -b b.yaml --no-check
ends 0
run sh j_2*/job.sh 20250101
ends 0
rm -f call*
for kind in mpijob pytorchjob; do
    printf 'backend: %s\njob_name: k-%s\nimage: i\nenv: {A_TOKEN: hush3}\n' $kind $kind >k.yaml
    chmod 600 k.yaml
    run crank submit tiny.yaml -b k.yaml --no-check
    ends 0
    unseen "the token"
done
printf 'backend: hosts\njob_name: h\nhosts: [host0, host1]\nstart: mpich\nbinary: image\nenv: {A_TOKEN: hush3}\n' >h.yaml
chmod 600 h.yaml
run crank submit tiny.yaml -b h.yaml --no-check --dry-run
ends 0
grep -rl hush "$PWD" "$HOME/.crank" "$TMPDIR" 2>/dev/null | grep -v -E "/(cases|err|out)$" | sort -u >holders
[ "$(grep -c . holders)" -ge 8 ] || fail "the secrets are nowhere: $(cat holders)"
while read -r file; do
    case $(stat -c %a "$file") in *00) continue ;; esac
    case $(stat -c %a "$(dirname "$file")") in 700) continue ;; esac
    fail "$file holds a secret and can be read by others"
done <holders
if grep -q -E 'jobs/|call' holders; then fail "$(cat holders)"; fi
# no command line of the scripts has one
for file in j_2*/job.sh k-*_2*/job.sh h_2*/job.sh storage/*/node.sh h_2*/run.sh; do
    if grep hush "$file" | grep -v "^export A_TOKEN=hush3$"; then fail "$file starts a program with a secret"; fi
done

# ---- names that tell of a secret ----
for name in BOS_SK bos_ak AK OPENAI_API_KEY SSH_PRIVATE_KEY KEY_PASSPHRASE DB_PASSWD HADOOP_TOKEN HADOOP_UGI; do
    printf 'backend: local\njob_name: n\nbinary: image\nenv: {%s: hush3}\n' $name >n.yaml
    chmod 600 n.yaml
    run crank submit tiny.yaml -b n.yaml --no-check --dry-run
    ends 0
    [ "$(stat -c %a n_2*)" = 700 ] || fail "$name is no secret"
    rm -rf n_2*
done
for name in BREAK TASK_AKT PATH_MASK OMP_PLACES; do
    printf 'backend: local\njob_name: n\nbinary: image\nenv: {%s: x}\n' $name >n.yaml
    run crank submit tiny.yaml -b n.yaml --no-check --dry-run
    ends 0
    [ "$(stat -c %a n_2*)" = 755 ] || fail "$name is a secret"
    rm -rf n_2*
done

# ---- the cure is a command, also for a strange name ----
mkdir "it's here"
cp k.yaml "it's here/b 1.yaml"
chmod 644 "it's here/b 1.yaml"
rm -rf k-*_2*
run crank submit tiny.yaml -b "it's here/b 1.yaml" --no-check --dry-run
ends 0
sed -n "s/.*others on this machine can read .*; run '\\(chmod 600 .*\\)'\$/\\1/p" "$err" >cure
sh ./cure
[ "$(stat -c %a "it's here/b 1.yaml")" = 600 ] || fail "the cure does nothing: $(cat "$err")"
