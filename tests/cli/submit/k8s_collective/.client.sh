# .client.sh - read by job.sh and .jobs.sh: the client, whose keys 'ps' does not show.
# .hide-args.so puts the keys of descriptor 9 in the places of @ak and @sk inside it. Where that does not work,
# write "${ak}" and "${sk}" in their places and leave out the line that reads this file.
paddlecloud() {
    hide=$PWD/.hide-args.so
    case $hide in *[\ :]*) hide=./.hide-args.so ;; esac
    : >.hiding.$$
    env LD_PRELOAD="$hide${LD_PRELOAD:+:$LD_PRELOAD}" CRANK_HIDE="$PWD/.hiding.$$" paddlecloud "$@" 9<<KEYS
@ak ${ak}
@sk ${sk}
KEYS
    code=$?
    [ $code -eq 127 ] || [ ! -e .hiding.$$ ] || echo "the client did not get its keys, because .hide-args.so was not loaded into it; .client.sh says what to do" >&2
    rm -f .hiding.$$
    return $code
}
