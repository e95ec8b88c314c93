#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The parts of an installation are independent:
#
#   parts.sh MESON BUILD_DIR PLUGIN...
#
# PLUGIN: sm, ofi, ucx as built there. Each part is installed by its tag into a
# folder of its own: runtime (the core), tools, devel, doc, plugin-PLUGIN. No file is
# in two of them, and all together equal an installation without tags. Core and
# tools work without a plugin; each plugin works alone, in any order of
# installation; when one is removed, its use fails with a message, and the others
# work. Exit status 0, 1 with what failed, or 77 where Talaria is installed already.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../abi/lib.sh disable=SC1091
. "$here/../abi/lib.sh"

if [ $# -lt 2 ] || [ ! -d "$2/meson-info" ]; then
    echo 'usage: parts.sh MESON BUILD_DIR PLUGIN...' >&2
    exit 1
fi
meson=$1 build=$2
shift 2
patience=60 # seconds for a program that runs
for variable in ${!TALARIA_@} ${!HG_@} ${!NA_@} DESTDIR LD_LIBRARY_PATH; do
    unset "$variable"
done
# The info string for each plugin.
declare -A info=([sm]=na+sm [ofi]=ofi+tcp [ucx]=ucx+tcp)

tmp=$(realpath "$(mktemp -d)") || exit 1
trap 'rm -rf "$tmp"' EXIT

# install_part FOLDER [TAG]
install_part() {
    DESTDIR=$tmp/$1 "$meson" install -C "$build" --no-rebuild --quiet \
        ${2:+--tags "$2"} >"$tmp/output" 2>&1 && return
    fail "meson install ${2:-without a tag}"
    cat "$tmp/output"
    finish parts.sh
}

# files FOLDER
files() {
    (cd "$tmp/$1" && find . ! -type d | sort)
}

# add TAG: the part joins the installation that is tried.
add() {
    mkdir -p "$tmp/tried"
    cp -a "$tmp/$1/." "$tmp/tried"
}

# remove TAG
remove() {
    files "$1" | (cd "$tmp/tried" && xargs rm --)
}

talaria() {
    LD_LIBRARY_PATH=$(dirname "$(find "$tmp/tried" -name libtalaria.so.0)") \
        timeout "$patience" "$(find "$tmp/tried" -path '*/bin/talaria')" "$@"
}

# works PLUGIN: it opens a class, and data moves.
works() {
    talaria perf lat --level rpc --local "${info[$1]}" --rounds 1 \
        --operations 10 --warm-up 1 >"$tmp/output" 2>&1 && return
    fail "${info[$1]} does not work $2"
    sed 's/^/    /' "$tmp/output"
}

# is_missing PLUGIN: opening it fails, with a message.
is_missing() {
    if talaria info "${info[$1]}" >"$tmp/output" 2>&1; then
        fail "${info[$1]} is found $2"
    elif ! grep -q 'not_found\|not found' "$tmp/output"; then
        fail "no message that ${info[$1]} is missing"
        sed 's/^/    /' "$tmp/output"
    fi
}

install_part all
# The core also searches the folder it was built for.
for plugin; do
    installed=$(cd "$tmp/all" && find . -name "libna_$plugin.so")
    if [ -e "${installed#.}" ]; then
        echo "skipped: ${installed#.} is installed on this machine"
        exit 77
    fi
done
parts=(runtime tools devel)
for plugin; do
    parts+=("plugin-$plugin")
done
# The option docs of the build installs the site.
[ -z "$(find "$tmp/all" -path '*/doc/talaria/site/index.html')" ] || parts+=(doc)
for part in "${parts[@]}"; do
    install_part "$part" "$part"
    [ -n "$(files "$part")" ] || fail "nothing has the tag $part"
done
for part in "${parts[@]}"; do
    files "$part"
done | sort >"$tmp/union"
uniq -d "$tmp/union" >"$tmp/twice"
[ ! -s "$tmp/twice" ] || fail "in two parts: $(cat "$tmp/twice")"
files all | diff - "$tmp/union" >"$tmp/output" ||
    fail "all together (>) are not what is installed (<): $(cat "$tmp/output")"

add tools
add runtime
talaria info >"$tmp/output" 2>&1 || fail 'talaria info without a plugin'
for plugin; do
    is_missing "$plugin" 'without any plugin'
done
for plugin; do
    add "plugin-$plugin"
    works "$plugin" alone
    for other; do
        [ "$other" = "$plugin" ] || is_missing "$other" "beside $plugin alone"
    done
    remove "plugin-$plugin"
done

# All, in another order than above; then one after the other is removed.
for ((i = $#; i > 0; i--)); do
    add "plugin-${!i}"
done
for plugin; do
    works "$plugin" 'beside the others'
done
while [ $# -gt 1 ]; do
    removed=$1
    remove "plugin-$removed"
    shift
    is_missing "$removed" 'when it was removed'
    works "$1" "without $removed"
done
# Libraries and headers are independent of plugins.
remove tools
add devel
[ -f "$(find "$tmp/tried" -name talaria-plugin.pc)" ] || fail 'no talaria-plugin.pc'
finish parts.sh
