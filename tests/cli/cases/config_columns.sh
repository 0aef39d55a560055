# crank check looks at the data as well: a column that no file has
tiny_config
tiny_data
edit 22 '  - id_feature: {feature_name: itm, expression: "item:itm", num_buckets: 30, embedding_dim: 4}'
sed -i 's/\[user, item, tags/[user, itm, tags/' tiny.yaml
run crank check tiny.yaml
ends 2
has_err "...train.csv has no column 'itm', which ... needs; did you mean 'item'?"
