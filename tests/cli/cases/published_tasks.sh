# configs of published shapes: the other models with several tasks
. "$CLI/published.sh"
for path in "$published_dir"/mmoe*.config "$published_dir"/pepnet*.config "$published_dir"/ple*.config; do
    published "$(basename "$path" .config)"
done
