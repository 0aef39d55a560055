tiny_config
tiny_data
edit 15 '  batch_size: many'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:15:15: batch_size: 'many' is not an integer; give an integer ..."
tiny_config
sed -i 14,19d tiny.yaml
edit 13 'data_config: 3'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:13:14: data_config: found '3'; give a block of keys (see 'crank help ...')"
tiny_config
edit 14 '  dataset_type: CsvData'
run crank check tiny.yaml
ends 2
has_err "tiny.yaml:14:17: dataset_type: unknown value 'CsvData'; ...CsvDataset..."
