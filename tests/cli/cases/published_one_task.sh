# configs of published shapes with one task; published_dbmtl and published_tasks have the others
. "$CLI/published.sh"
for path in "$published_dir"/*.config; do
    case $path in
    */dbmtl* | */mmoe* | */pepnet* | */ple*) ;;
    *) published "$(basename "$path" .config)" ;;
    esac
done
