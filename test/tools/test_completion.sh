#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Completion in bash: the options of each subcommand are those of its --help, and
# values and arguments are completed.
#
#   test_completion.sh SOURCE_ROOT BUILD_ROOT
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC1091
. "$1/tools/completions/talaria" || exit 1
export TALARIA_PLUGIN_PATH=$2/plugins/sm
complete -p talaria >"$out" 2>"$err" || fail "nothing completes talaria"
: >"$out"
: >"$err"

# at WORD...: completes the last of these, as bash splits a line; sets reply,
# sorted.
at() {
    local words
    ran="completion of: talaria $*"
    COMP_WORDS=("$TALARIA" "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _talaria talaria "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" \
        2>"$err"
    [ ! -s "$err" ] || fail "$ran: prints errors"
    words=("${COMPREPLY[@]}")
    reply=$(printf '%s\n' "${words[@]}" | LC_ALL=C sort | tr '\n' ' ')
    reply=${reply% }
}

gives() { [ "$reply" = "$1" ] || fail "$ran: \"$reply\", not \"$1\""; }

options_of() {
    # shellcheck disable=SC2086 # words
    "$TALARIA" $1 --help | sed -n 's/^ *\(-.*\)/\1/p' | sed 's/   .*//' |
        grep -oE -- '--[a-z][a-z-]*' | LC_ALL=C sort -u | tr '\n' ' ' |
        sed 's/ $//'
}

at ''
gives 'check copy doctor export help info manifest perf ping settings top'
at help ''
gives 'check copy doctor export info manifest perf ping settings top'
[ "$reply" = "$("$TALARIA" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' |
    LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')" ] ||
    fail "$ran: not the subcommands of --help"
at c
gives 'check copy'
at x
gives ''
at copy ''
gives 'get ls put rm serve stat'
at copy s
gives 'serve stat'
at perf ''
gives 'bw compare lat plot rate serve'

for name in '' check 'copy serve' 'copy put' 'copy get' 'copy ls' 'copy stat' \
    'copy rm' doctor export info manifest 'perf lat' 'perf rate' 'perf bw' 'perf serve' \
    'perf compare' 'perf plot' ping settings top; do
    wanted=$(options_of "$name")
    [ -n "$wanted" ] || fail "talaria $name --help: no options"
    # shellcheck disable=SC2086 # words
    at $name -
    gives "$wanted"
done
at copy put --re
gives --resume
at copy -
gives --help

# Values: after a blank, after '=', and incomplete ones.
at perf lat --level ''
gives 'bulk na rpc'
at perf lat --level =
gives 'bulk na rpc'
at perf lat --level = b
gives bulk
at perf lat --local ''
gives "$("$TALARIA" info --json | jq -r '.plugins[] |
    select(.state == "usable") | .name + "+" + .protocols[]' | LC_ALL=C sort |
    tr '\n' ' ' | sed 's/ $//')"
[ ! -d "$2/plugins/sm" ] || [ -n "$reply" ] || fail "$ran: no plugin"
at ping --count ''
gives ''
at copy put --jobs = ''
gives ''

at settings core sm.ri
gives "$([ ! -d "$2/plugins/sm" ] || echo sm.ring_size)"
at settings hg.o
gives 'hg.overflow_max hg.overflow_total'

# Files.
cd "$folder" || exit 1
mkdir files 'files/a folder'
: >files/one.so
: >files/two.so
: >files/one.json
: >'files/with blank.json'
at check files/
gives 'files/a folder files/one.so files/two.so'
at manifest --output files/o
gives 'files/one.json files/one.so'
at manifest --output x files/t
gives files/two.so
at check --manifest = files/
gives 'files/a folder files/one.json files/with blank.json'
at perf compare files/
gives 'files/a folder files/one.json files/with blank.json'
at perf compare files/one.json files/w
gives 'files/with blank.json'
at copy put files/one.so files/o
gives 'files/one.json files/one.so'
at copy put --token-file files/w
gives 'files/with blank.json'
at copy serve na+sm files/a
gives 'files/a folder'
# An address is three words to bash, and no file.
at copy get files/o
gives ''
at copy get na+sm : //1-0 files/o
gives 'files/one.json files/one.so'
# -r takes a value in check, and none in rm; so does -j.
at check -r 1 files/two
gives files/two.so
at copy rm -r ''
gives ''
at check -j files/two
gives files/two.so
finish
