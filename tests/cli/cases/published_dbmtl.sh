# configs of published shapes: dbmtl
. "$CLI/published.sh"
for path in "$published_dir"/dbmtl*.config; do
    published "$(basename "$path" .config)"
done
