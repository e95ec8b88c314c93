#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Allowed includes between folders, and the length of source files:
#
#   layers.sh SOURCE_ROOT               checks the tree
#   layers.sh --self-test SOURCE_ROOT   alters copies of it; each must be
#                                       rejected for its own reason
#
# Every #include of core, plugins, tools and subprojects that names a header of
# this tree has to follow one of the arrows in `allowed`; no .c file is longer
# than 800 lines. Exit status 0, or 1 with what failed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh disable=SC1091
. "$here/lib.sh"
max_lines=800
folders='abi core plugins tools subprojects test'
foreign='^(rdma|ucp|uct|ucs|infiniband|psm[23]?)/|^mpi\.h$|^ibverbs'

# allowed LAYER OTHER: whether a file of LAYER may include one of OTHER. An arrow
# may skip layers and never points back.
allowed() {
    [ "$1" = "$2" ] && return
    case $1 in
    base) set -- "$2" include ;;
    proc) set -- "$2" include base ;;
    setting) set -- "$2" include base abi ;;
    plugin) set -- "$2" include base abi object setting ;;
    na) set -- "$2" include base abi plugin setting ;;
    rt) set -- "$2" include base abi plugin na ;;
    bulk) set -- "$2" include base abi plugin na rt proc ;;
    hg) set -- "$2" include base abi plugin setting na rt proc bulk ;;
    watch) set -- "$2" include base abi plugin setting na rt proc bulk hg ;;
    compat) set -- "$2" include ;;
    # The page that processes publish.
    tools) set -- "$2" include tools/settings watch ;;
    # These read the descriptors of plugins with the core's code.
    tools/settings) set -- "$2" include abi base tools object setting ;;
    # The kit uses the ABI only, and parses files with the core's code.
    tools/check) set -- "$2" abi tools object setting ;;
    plugins/common) set -- "$2" abi ;;
    plugins/*) set -- "$2" abi plugins/common ;;
    *) set -- "$2" ;;
    esac
    local to=$1 layer
    shift
    for layer; do
        [ "$layer" = "$to" ] && return
    done
    return 1
}

# Sets layer to that of a path below the root, "" if it has none.
set_layer() {
    case $1 in
    core/include/*) layer=include ;;
    core/*/*) layer=${1#core/} layer=${layer%%/*} ;;
    abi/*.h) layer=abi ;;
    plugins/*/* | subprojects/*/*) layer=${1#*/} layer=${1%%/*}/${layer%%/*} ;;
    tools/check/*) layer=tools/check ;;
    tools/settings/*) layer=tools/settings ;;
    tools/*) layer=tools ;;
    test/*) layer='test' ;;
    *) layer='' ;;
    esac
}

# Sets plain to a path without "." and "..".
set_plain() {
    local rest=$1/ part
    plain=''
    while [ -n "$rest" ]; do
        part=${rest%%/*} rest=${rest#*/}
        case $part in
        '' | .) ;;
        ..) case $plain in */*) plain=${plain%/*} ;; *) plain='' ;; esac ;;
        *) plain=${plain:+$plain/}$part ;;
        esac
    done
}

# Sets found to the included file of this tree, or "". A generated file has a
# template in the same folder.
set_found() {
    local root=$1 file=$2 name=$3 style=$4 candidate candidates
    candidates="core/$name core/include/$name abi/$name plugins/$name"
    [ "$style" = '<' ] || candidates="${file%/*}/$name $candidates"
    case $file in
    tools/*/*) candidates="$candidates tools/$name" ;;
    plugins/*/*/* | subprojects/*)
        set_layer "$file"
        candidates="$candidates $layer/$name"
        ;;
    esac
    for candidate in $candidates; do
        set_plain "$candidate"
        found=$plain
        [ -e "$root/$found" ] || [ -e "$root/$found.in" ] && return
    done
    found=''
}

check_include() {
    local root=$1 file=$2 line=$3 style=$4 name=$5 from
    local what="$file:$line: includes $name"
    set_found "$root" "$file" "$name" "$style"
    set_layer "$file"
    from=$layer
    if [ -z "$found" ]; then
        [ "$style" = '<' ] || fail "$what, which is not in this tree"
        case $file in
        core/*) [[ ! $name =~ $foreign ]] ||
            fail "$what: the core knows no network" ;;
        esac
        return
    fi
    set_layer "$found"
    if [ -z "$from" ] || [ -z "$layer" ]; then
        fail "$what: $file or $found is in no layer"
        return
    fi
    case $from in
    subprojects/*)
        # Only by the name of the installed header.
        case $layer:$name in
        "$from":* | plugins/common:common/*) ;;
        include:*/* | abi:*/*) fail "$what: $from sees only what is installed" ;;
        include:* | abi:*) ;;
        *) fail "$what: $from sees only what is installed" ;;
        esac
        ;;
    *)
        allowed "$from" "$layer" ||
            fail "$what: $from may not include $layer"
        ;;
    esac
}

sources() {
    local folder
    for folder in $folders; do
        [ ! -d "$1/$folder" ] || (cd "$1" && find "$folder" -type f \
            \( -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.in' \) \
            ! -path 'subprojects/packagecache/*')
    done | sort
}

# includes ROOT, of the files in its input: for each #include outside of test,
# "FILE LINE STYLE NAME"; for a .c file that is too long "FILE LINES long -".
includes() {
    (cd "$1" && xargs -rd '\n' awk -v max=$max_lines '
        FNR == 1 { end_file(); file = FILENAME }
        { lines = FNR }
        file !~ /^test\// && match($0, /^[ \t]*#[ \t]*include[ \t]*["<]/) {
            style = substr($0, RLENGTH, 1)
            name = substr($0, RLENGTH + 1)
            if (sub(/[">].*/, "", name))
                print file, FNR, style, name
        }
        END { end_file() }
        function end_file() {
            if (file ~ /\.c$/ && lines > max)
                print file, lines, "long", "-"
        }')
}

# Checks the files in its input.
check_files() {
    local root=$1 file line style name
    while read -r file line style name; do
        if [ "$style" = long ]; then
            fail "$file: $line lines, at most $max_lines"
        else
            check_include "$root" "$file" "$line" "$style" "$name"
        fi
    done < <(includes "$root")
}

check() {
    local root=$1 files
    if [ ! -d "$root/core" ]; then
        fail "$root: it has no core"
        return
    fi
    files=$(sources "$root")
    check_files "$root" <<<"$files"
    printf '%s files\n' "$(wc -l <<<"$files")"
}

# control NAME WANTED FILE CONTENT: with FILE added to a copy of the tree, the
# check must report it with WANTED; with WANTED "ok", accept it.
control() {
    local name=$1 wanted=$2 file=$3 content=$4
    mkdir -p "$(dirname "$tmp/tree/$file")"
    printf '%s\n' "$content" >"$tmp/tree/$file"
    sources "$tmp/tree" | grep -qxF "$file" || fail "$file is not checked"
    (check_files "$tmp/tree" <<<"$file") >"$tmp/complaints"
    rm "$tmp/tree/$file"
    if [ "$wanted" = ok ]; then
        grep "^FAIL: $file" "$tmp/complaints" &&
            fail "control '$name' is refused"
    elif ! grep -q "^FAIL: $file.*$wanted" "$tmp/complaints"; then
        fail "control '$name' is not refused for '$wanted'"
    fi
}

self_test() {
    local root=$1 folder file
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    mkdir "$tmp/tree"
    for folder in $folders; do
        [ ! -d "$root/$folder" ] || cp -R "$root/$folder" "$tmp/tree/"
    done
    for file in core/base core/proc core/na core/rt core/hg core/include \
        plugins/ofi plugins/sm plugins/common; do
        mkdir -p "$tmp/tree/$file"
        printf '\n' >"$tmp/tree/$file/control_x.h"
    done

    control 'base up to na' 'base may not include na' \
        core/base/control.c '#include "na/control_x.h"'
    control 'proc up to hg' 'proc may not include hg' \
        core/proc/control.c '  #  include "hg/control_x.h" /* why */'
    control 'na up to hg' 'na may not include hg' \
        core/na/control.h '#include <hg/control_x.h>'
    control 'na up to rt' 'na may not include rt' \
        core/na/control.c '#include "rt/control_x.h"'
    control 'rt up to hg' 'rt may not include hg' \
        core/rt/control.h '#include "hg/control_x.h"'
    control 'back by a relative path' 'base may not include hg' \
        core/base/control.c '#include "../hg/./control_x.h"'
    control 'a public header in' 'include may not include base' \
        core/include/control.h '#include "base/control_x.h"'
    control 'a plugin into the core' 'plugins/sm may not include base' \
        plugins/sm/control.c '#include "base/control_x.h"'
    control 'a plugin into the interface' 'plugins/sm may not include include' \
        plugins/sm/control.c '#include <control_x.h>'
    control 'a plugin into another' 'plugins/sm may not include plugins/ofi' \
        plugins/sm/control.c '#include "../ofi/control_x.h"'
    control 'what plugins share into a plugin' \
        'plugins/common may not include plugins/sm' \
        plugins/common/control.c '#include "sm/control_x.h"'
    control 'what plugins share into the core' \
        'plugins/common may not include base' \
        plugins/common/control.c '#include "base/control_x.h"'
    control 'a tool into the core' 'tools may not include na' \
        tools/control.c '#include "na/control_x.h"'
    control 'the kit into the interface' 'tools/check may not include include' \
        tools/check/control.c '#include "mercury.h"'
    control 'a tool into the ABI' 'tools may not include abi' \
        tools/control.c '#include "na_plugin.h"'
    control 'a subproject into the tree' 'sees only what is installed' \
        subprojects/control/a.c '#include "../../core/include/control_x.h"'
    control 'a network in the core' 'knows no network' \
        core/plugin/control.c '#include <rdma/fabric.h>'
    control 'a header that is nowhere' 'not in this tree' \
        core/na/control.c '#include "na/nowhere_x.h"'
    control 'a file too long' '801 lines' \
        core/na/control.c "$(seq 801)"

    control 'the longest file' ok core/na/control.c "$(seq 800)"
    control 'hg down to base' ok core/hg/control.c \
        '#include "base/control_x.h"'
    control 'hg down to rt' ok core/hg/control.c \
        '#include "rt/control_x.h"'
    control 'a plugin and the ABI' ok plugins/sm/control.c \
        '#include "na_plugin.h"
#include "control_x.h"'
    control 'a plugin and what plugins share' ok plugins/sm/control.c \
        '#include "common/control_x.h"'
    control 'the kit and the ABI' ok tools/check/control.c \
        '#include "na_plugin.h"
#include "check/kit.h"
#include "common/tool.h"'
    control 'a subproject into a plugin' 'sees only what is installed' \
        subprojects/control/a.c '#include "sm/control_x.h"'
    control 'a subproject and what is installed' ok \
        subprojects/control/a.c '#include "na_plugin.h"
#include "common/control_x.h"
#include <control_x.h>'
}

if [ "$#" -eq 1 ]; then
    check "$1"
elif [ "$#" -eq 2 ] && [ "$1" = --self-test ]; then
    self_test "$2"
else
    fail 'usage: layers.sh [--self-test] SOURCE_ROOT'
fi
finish layers.sh
