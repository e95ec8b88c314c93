#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The code for quirks of providers is separate:
#
#   quirks.sh names FOLDER
#       no source of FOLDER outside quirks/ and provider.c names a provider, or
#       compares a provider's name
#   quirks.sh removal FOLDER COMPILER...
#       without any one file of quirks/, and its line in quirks/table.c, the
#       plugin still builds
#   quirks.sh --self-test FOLDER COMPILER...
#       both checks detect faults
#
# Exit status 0, or 1 with what failed.
set -u
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

# Files that may name a provider as well, because they are documentation. Only
# remove files from this list.
allowed=''

# The names of providers, of their layers and of their functions; and names that
# are generated from the rows of the table.
names='\b(shm|smr|rxm|rxd|ofi_rx[md]|verbs|cxi|opx|psm[0-9]?|gni|efa|xnet)\b'
names="$names|\b(smr|rxm|rxd|tcpx|xnet)_[a-z]"
names="$names|\"(tcp|net|sockets|udp)[\";]|OFI_TRAIT_"
names="$names|str(n)?(cmp|str)\([^;]*->(provider|protocol)\b"

check_names() {
    local folder=$1 file found
    for file in "$folder"/*.[ch]; do
        case " provider.c $allowed " in
        *" ${file##*/} "*) continue ;;
        esac
        found=$(grep -nE "$names" "$file" | head -3)
        [ -z "$found" ] || fail "${file##*/} names a provider: $found"
    done
    for file in $allowed; do
        grep -qE "$names" "$folder/$file" ||
            fail "$file names no provider any more: take it off the list"
    done
}

# links WITHOUT COMPILER...: links all objects but one.
links() {
    local without=$1 object objects=()
    shift
    for object in *.o; do
        [ "$object" = "$without" ] || objects+=("$object")
    done
    "$@" -shared -Wl,-z,defs -o plugin.so "${objects[@]}" -ldl -pthread
}

# The table is compiled again for each. Other files that include the header do not
# compile, others that call it do not link.
check_removal() {
    local folder=$1 file name quirks=()
    shift
    for file in "$folder"/quirks/*.c; do
        name=${file##*/}
        [ "$name" = table.c ] || quirks+=("${name%.c}")
    done
    [ "${#quirks[@]}" -gt 0 ] || fail 'no quirks'
    rm -rf "$work/removal"
    mkdir "$work/removal"
    cp -r "$folder" "$work/removal/ofi"
    cp -r "$folder/../common" "$work/removal/common"
    cd "$work/removal" || exit 1
    set -- "$@" -I.
    for file in ofi/*.c ofi/quirks/*.c common/*.c; do
        name=${file#ofi/}
        "$@" -fPIC -fvisibility=hidden -O0 -Wall -Wextra -Werror \
            -Wno-unused-parameter -c "$file" -o "${name//\//_}.o" ||
            { fail "$file does not compile"; return; }
    done
    links none "$@" || { fail 'the plugin does not link'; return; }
    for name in "${quirks[@]}"; do
        without "$name" "$@" || fail "the plugin does not build without $name"
    done
    echo "without: ${quirks[*]}"
}

without() {
    local name=$1
    shift
    if grep -rlE "#.*include.*\b$name\.[ch]\"" ofi; then
        echo "includes $name"
        return 1
    fi
    grep -qE "^ *each\($name\) *\\\\$" ofi/quirks/table.c ||
        { echo "$name is not in quirks/table.c"; return 1; }
    sed "/each($name) *\\\\$/d" ofi/quirks/table.c >ofi/quirks/without.c
    "$@" -fPIC -fvisibility=hidden -O0 -Wall -Wextra -Werror \
        -Wno-unused-parameter -c ofi/quirks/without.c -o quirks_table.c.o &&
        links "quirks_$name.c.o" "$@"
}

# control REASON COMMAND...: fails, and logs that.
control() {
    local reason=$1 output
    shift
    output=$("$@" 2>&1)
    [[ $output = *"FAIL: $reason"* ]] || fail "not noticed: $reason ($output)"
}

self_test() {
    local folder=$1 spoiled=$work/spoiled first
    shift
    cp -r "$folder/../common" "$work/common"
    for line in 'static const char name[] = "tcp";' '/* as shm does */' \
        'if (strcmp(cls->trait->provider, "x") == 0)'; do
        rm -rf "$spoiled"
        cp -r "$folder" "$spoiled"
        echo "$line" >>"$spoiled/send.c"
        control 'send.c names a provider' check_names "$spoiled"
    done
    for first in "$folder"/quirks/*.c; do
        first=${first##*/}
        [ "$first" = table.c ] || break
    done
    rm -rf "$spoiled"
    cp -r "$folder" "$spoiled"
    echo 'int ofi_needed(void); int ofi_needed(void) { return 0; }' \
        >>"$spoiled/quirks/$first"
    # shellcheck disable=SC2028
    echo 'int ofi_needed(void); int ofi_user(void); int ofi_user(void)' \
        '{ return ofi_needed(); }' >>"$spoiled/send.c"
    control "the plugin does not build without ${first%.c}" \
        check_removal "$spoiled" "$@"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mode=$1 folder=$(realpath "$2")
shift 2
case $mode in
names) check_names "$folder" ;;
removal) check_removal "$folder" "$@" ;;
--self-test) self_test "$folder" "$@" ;;
*) fail "unknown: $mode" ;;
esac
exit "$failed"
