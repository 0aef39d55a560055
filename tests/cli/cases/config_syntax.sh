# broken text in each of the three syntaxes
printf 'train_config:\n  num_epochs: [1\nmodel_dir: x\n' >a.yaml
run crank check a.yaml
ends 2
has_err "...a.yaml:...: not valid YAML: ...; correct it here"
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
