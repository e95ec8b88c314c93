#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Man pages: the page of each command has exactly the options that --help prints;
# talaria-plugins(7) has each variable of the environment; the formatters print no
# warnings.
#
#   test_man.sh SOURCE_ROOT BUILD_ROOT
. "$(dirname "$0")/lib.sh"

man=$1/tools/man

# The options in the help of a command, one a line.
help_options() {
    # shellcheck disable=SC2086 # words
    "$TALARIA" $1 --help 2>/dev/null | sed -n 's/^ *\(-.*\)/\1/p' |
        sed 's/   .*//' | grep -oE -- '--?[a-z?V][a-z-]*' | sort -u
}

# Those in the tags of a page, which are the lines after .TP.
page_options() {
    awk '/^\.TP/ { tag = 1; next } tag { print; tag = 0 }' "$1" |
        sed 's/\\-/-/g; s/\\f[A-Z]//g; s/^\.[A-Z]* //; s/[",]/ /g' |
        awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^-/) print $i }' |
        grep -oE -- '^--?[a-z?V][a-z-]*' | sort -u
}

# of PAGE COMMAND...: a page, and its commands.
of() {
    page=$man/$1
    shift
    ran=$page
    : >"$folder/help"
    for command; do
        help_options "$command" >"$folder/one"
        [ -s "$folder/one" ] || fail "talaria $command --help: no options"
        cat "$folder/one" >>"$folder/help"
    done
    sort -u "$folder/help" >"$folder/wanted"
    page_options "$page" >"$folder/there"
    diff "$folder/wanted" "$folder/there" >"$out" ||
        fail "$page: not what --help has (<), or not in it (>)"
}

: >"$out"
: >"$err"
of talaria.1 ''
of talaria-check.1 check
of talaria-copy.1 'copy serve' 'copy put' 'copy get' 'copy ls' 'copy stat' \
    'copy rm'
of talaria-doctor.1 doctor
of talaria-info.1 info
of talaria-manifest.1 manifest
of talaria-perf.1 'perf lat' 'perf rate' 'perf bw' 'perf serve' \
    'perf compare' 'perf plot'
of talaria-ping.1 ping
of talaria-settings.1 settings
of talaria-export.1 export
of talaria-top.1 top

# Each subcommand has its page, and talaria(1) names it.
run 0 --help
sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' "$out" >"$folder/names"
[ "$(wc -l <"$folder/names")" -ge 6 ] || fail "talaria --help: no subcommands"
while read -r name; do
    [ -f "$man/talaria-$name.1" ] || fail "no page of talaria $name"
    grep -qx "\.B $name" "$man/talaria.1" || fail "talaria(1): no $name"
done <"$folder/names"

# The same for the environment.
sed -n 's/^ \*   \([A-Z][A-Z_<>]*\)[_* ].*/\1/p' "$1/core/base/env.h" |
    sed 's/<.*//; s/_$//' >"$folder/variables"
[ "$(wc -l <"$folder/variables")" -ge 5 ] || fail "env.h: no variables"
while read -r name; do
    grep -q "^\.BI* $name" "$man/talaria-plugins.7" ||
        fail "talaria-plugins(7): no $name"
done <"$folder/variables"

# The page has the settings of the core, and the README of a plugin its settings,
# each with its default.
defaults() {
    jq -r '.settings[] | select(.owner == "'"$1"'" and .key) |
        .'"$2"' + " " + .default' "$out" | sort
}
for plugin in sm ofi ucx; do
    [ ! -f "$2/plugins/$plugin/libna_$plugin.so" ] ||
        TALARIA_PLUGIN_PATH=${TALARIA_PLUGIN_PATH:+$TALARIA_PLUGIN_PATH:}$2/plugins/$plugin
done
export TALARIA_PLUGIN_PATH
run 0 settings --json
defaults core variable >"$folder/wanted"
[ "$(wc -l <"$folder/wanted")" -ge 3 ] || fail "$ran: no settings of the core"
while read -r name default; do
    sed -n "/^\.B $name\$/,/^\.TP/p" "$man/talaria-plugins.7" |
        tr '\n' ' ' | grep -q "the default is ${default}[,;. ]" ||
        fail "talaria-plugins(7): not that the default of $name is $default"
done <"$folder/wanted"
for owner in na ofi ucx; do
    plugin=$owner
    [ "$owner" != na ] || plugin=sm
    [ -f "$2/plugins/$plugin/libna_$plugin.so" ] || continue
    defaults "$owner" key >"$folder/wanted"
    [ -s "$folder/wanted" ] || fail "$ran: no settings of $plugin"
    sed -n '/^## Settings/,/^## [^S]/p' "$1/plugins/$plugin/README.md" |
        sed -n 's/^| `\([^`]*\)` | \([^ ]*\) |.*/\1 \2/p' |
        sort >"$folder/there"
    diff "$folder/wanted" "$folder/there" >"$err" ||
        fail "plugins/$plugin/README.md: not its settings (<), or others (>)"
done

# References lead to existing pages.
for page in "$man"/*; do
    sed -n 's/\\-/-/g; s/^\.BR \(talaria[a-z-]*\) (\([17]\)).*/\1.\2/p' \
        "$page" >"$folder/refers"
    while read -r name; do
        [ -f "$man/$name" ] || fail "${page##*/} refers to $name"
    done <"$folder/refers"
done

formatters=
if command -v groff >/dev/null; then
    formatters=groff
    for page in "$man"/*; do
        groff -ww -man -Tutf8 -P-cbou "$page" >"$folder/text" 2>"$err" ||
            fail "groff $page"
        ran="groff $page"
        err_empty
        grep -q 'SEE ALSO' "$folder/text" || fail "$ran: no text"
    done
fi
if command -v mandoc >/dev/null; then
    formatters=mandoc
    for page in "$man"/*; do
        # mandoc may not know GNU's macros.
        mandoc -Tlint -W warning "$page" >"$folder/lint" 2>&1
        grep -v 'STYLE:' "$folder/lint" >"$err"
        ran="mandoc $page"
        err_empty
    done
fi
[ -n "$formatters" ] || echo 'left out: neither groff nor mandoc'
finish
