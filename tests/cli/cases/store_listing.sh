# thousands of files, folders of Hive, _SUCCESS: a listing is one request per page and is kept for the job; an object that
# changes under a run is found and refused
kind=s3
stand_in() {
    export AWS_ENDPOINT_URL="http://127.0.0.1:$1" AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=SECRETEXAMPLE AWS_EC2_METADATA_DISABLED=true
}
. "$CLI/store_server.sh"
tiny_config
tiny_data 960 300
# 40 days of 60 files each, with markers, hidden files and files of another kind; the rows are those of 40 local folders
mkdir objects
python3 - <<'P'
import os, urllib.parse
head, *rows = open("train.csv").read().splitlines()
def put(key, text):
    with open("objects/" + urllib.parse.quote("demo-bucket/" + key, safe="-._~"), "w") as f:
        f.write(text)
    if key.endswith(".csv"):
        os.makedirs("local/" + os.path.dirname(key), exist_ok=True)
        with open("local/" + key, "w") as f:
            f.write(text)
k = 0
for day in range(40):
    d = "data/dt=202501%02d" % day
    for part in range(60):
        put("%s/part-%05d.csv" % (d, part), "\n".join([head, rows[k % 960], rows[(k * 7 + 1) % 960]]) + "\n")
        k += 1
    put(d + "/_SUCCESS", "")
    put(d + "/.part-0.csv.crc", "x")
    put(d + "/_temporary/0/part-0.csv", "not,a,row\n")
    put(d + "/", "")
put("data2/dt=20250101/part-0.csv", "not,a,row\n")
P
server --dir objects
run crank train tiny.yaml --train_input_path 'local/data/dt=*' --model_dir near --set train_config.num_epochs=1
requests() { # requests PATTERN: listings and HEADs of a training with these files
    l0=$(stat_of lists)
    h0=$(stat_of heads)
    rm -rf far
    run crank train tiny.yaml --train_input_path "$1" --model_dir far --set train_config.num_epochs=1
    same_weights near far
    lists=$(($(stat_of lists) - l0))
    heads=$(($(stat_of heads) - h0))
}
# folders and files; 2,600 names in pages of 1,000, once for the whole job; and the two requests that ask whether the pattern
# itself is a name
requests 's3://demo-bucket/data/dt=*/*.csv'
[ $lists -le 4 ] && [ $heads -le 1 ] || fail "$lists listings and $heads HEADs for files of folders"
# folders: one listing to see that they are some, then all files
requests 's3://demo-bucket/data/dt=*'
[ $lists -le 5 ] && [ $heads -le 1 ] || fail "$lists listings and $heads HEADs for folders"
requests 's3://demo-bucket/data/dt=202501{0,1,2,3}*/part-*'
[ $lists -le 9 ] && [ $heads -le 1 ] || fail "$lists listings and $heads HEADs for braces"
# listings that are not whole are asked for again, and refused if they stay so: a file would be missing in the training
fault '{"list_cut": 2, "list_bad": 1}'
requests 's3://demo-bucket/data/dt=*/*.csv'
[ "$(stat_of lists)" -gt 0 ] || fail "no listing"
fault '{"list_cut": 100}'
run crank train tiny.yaml --train_input_path 's3://demo-bucket/data/dt=20250101/*.csv' --model_dir none
ends bad
has_err "...the listing breaks off: it does not tell its next page (tried 8 times)..."
fault '{"list_cut": 0, "list_bad": 100}'
run crank train tiny.yaml --train_input_path 's3://demo-bucket/data/dt=20250101/*.csv' --model_dir none
ends bad
has_err "...the listing tells no size of ... (tried 8 times)..."
fault '{"list_bad": 0}'
# another version of the same size appears between the listing and the first read
fault '{"replace": 1}'
run crank train tiny.yaml --train_input_path 's3://demo-bucket/data/dt=20250101/*.csv' --model_dir changed
ends bad
has_err "...412...the object was replaced since it was opened: run again"
# ls: a pattern; a folder with folders costs no request for each of them
l0=$(stat_of requests)
run crank ls s3://demo-bucket/data
has_out "...  dt=20250139/"
[ $(($(stat_of requests) - l0)) -le 3 ] || fail "$(($(stat_of requests) - l0)) requests to list a folder"
run crank ls 's3://demo-bucket/data/dt=2025010*/part-00007.csv'
[ "$(wc -l <"$out")" -eq 10 ] || fail "the files of a pattern: $(cat "$out")"
# what is not there
run crank train tiny.yaml --train_input_path 's3://demo-bucket/data/dt=2026*/*.csv' --model_dir none
ends bad
has_err "...no file found; check the path"
run crank train tiny.yaml --train_input_path 's3://demo-bucket/data/dt=20250101/_temporary' --model_dir none
ends bad
over
