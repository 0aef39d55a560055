# broken text in each of the three syntaxes
printf 'train_config:\n  num_epochs: [1\nmodel_dir: x\n' >a.yaml
run crank check a.yaml
ends 2
has_err "a.yaml:3:13: not valid YAML: ...; close the bracket or quote that is open at the end of the text"
printf 'train_config {\n  num_epochs = 1\n}\n' >a.config
run crank check a.config
ends 2
has_err "...a.config:2:14: found '=' after 'num_epochs'; write ':' instead"
printf '{"train_config": {"num_epochs": 1,}\n' >a.json
run crank check a.json
ends 2
has_err "...a.json:1...: not valid JSON: ...; correct it here"
run crank check nowhere.yaml
ends 1
has_err "...nowhere.yaml..."
: >empty.yaml
run crank check empty.yaml
ends 2
has_err "empty.yaml: there is no config in it; 'crank help deepfm --example' prints one to begin with"
# a text in another syntax than the name says is one line, and its cure works
tiny_data 64 16
tiny_config
crank config tiny.yaml --format pbtxt >p.config
crank config tiny.yaml --format json >j.json
other() { # other FROM TO WHAT STANDS_FOR RIGHT_NAME
    cp "$1" "$2"
    run crank check "$2"
    ends 2
    has_err "$2: the text is $3, but .${2##*.} stands for $4; rename the file: $5"
    [ "$(wc -l <"$err")" -eq 1 ] || fail "not one line"
    mv "$2" "$5"
    run crank check "$5"
    ends 0
}
other tiny.yaml y.config YAML "protobuf text" y.yaml
other tiny.yaml y.json YAML JSON y.yaml
other p.config q.yaml "protobuf text" YAML q.config
other j.json k.config JSON "protobuf text" k.json
# a text that is wrong in its own syntax keeps the messages of that syntax
sed 's/num_epochs: /num_epochs = /' p.config >wrong.config
run crank check wrong.config
ends 2
has_err "wrong.config:...: found '=' after 'num_epochs'; write ':' instead"
# other encodings and packed files
iconv -t UTF-16 tiny.yaml >wide.yaml
run crank check wide.yaml
ends 2
has_err "wide.yaml: the text is UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"
gzip -c tiny.yaml >packed.yaml
run crank check packed.yaml
ends 2
has_err "packed.yaml: the file is packed with gzip; unpack it (gunzip)"
# Windows' line ends and byte order mark are no mistake
{
    printf '\357\273\277'
    sed 's/$/\r/' tiny.yaml
} >windows.yaml
run crank check windows.yaml
ends 0
