#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The names in docs/migration.md exist, and those that it lists as missing do not:
#
#   migration.sh SOURCE_ROOT
#   migration.sh --self-test SOURCE_ROOT   altered copies of the page are rejected
#
# Headers, functions, options of classes, variables of the environment, options of
# the build, and the log messages that it quotes. Exit status 0, or 1 with
# what failed.
# shellcheck disable=SC2016 # backticks are the page's
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../abi/lib.sh disable=SC1091
. "$here/../abi/lib.sh"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# section NAME: the page from the heading to the next.
section() {
    awk -v name="$1" '/^##+ / { on = $0 ~ "^##+ " name "$" } on' "$page"
}

# Text in backticks, one a line.
quoted() {
    grep -oE '`[^`]+`' | tr -d '`'
}

# column N: of a table's rows, without its head.
column() {
    awk -F ' *[|] *' -v n="$1" '/^\|/ && !/^\| ?-/ { if (rows++) print $(n + 1) }'
}

check_headers() {
    local line wanted
    while IFS= read -r line; do
        case $line in
        '| `'*'| always |') wanted=core/include ;;
        '| `'*'| with '*) wanted=core/compat/util ;;
        *) continue ;;
        esac
        rows=$((rows + 1))
        quoted <<<"${line% |*|}" | sort >"$tmp/output"
        # Interfaces that only Talaria has are below the table.
        basename -a "$root/$wanted"/*.h |
            grep -vxE 'talaria\.h|mercury_hl\.h' | sort >"$tmp/there"
        diff "$tmp/output" "$tmp/there" >"$tmp/diff" ||
            fail "headers of $wanted: $(tr '\n' ' ' <"$tmp/diff")"
    done < <(section Headers)
    [ "$rows" -eq 2 ] || fail 'the table of headers is not understood'
}

check_missing() {
    local name count=0
    while read -r name; do
        case $name in
        mercury_*.h) count=$((count + 1)) ;;
        hg_*) ;;
        *) continue ;;
        esac
        if grep -rqw --include='*.h' -e "$name" \
            "$root"/core/{include,compat} ||
            [ -n "$(find "$root"/core/{include,compat} -name "$name")" ]; then
            fail "$name exists, but the guide denies it"
        fi
    done < <(section 'Not provided' | column 1 | quoted)
    [ "$count" -ge 10 ] || fail 'the table of what is missing is not understood'
}

# Names of C outside that table, with or without arguments.
check_names() {
    local name count=0
    section 'Not provided' | column 1 | quoted >"$tmp/missing"
    section Environment | column 1 | quoted >>"$tmp/missing"
    while read -r name; do
        [[ $name =~ ^(HG_|NA_|MERCURY_|hg_|na_|talaria_)[A-Za-z0-9_]+$ ]] ||
            continue
        if grep -qxF -e "$name" "$tmp/missing" || [ "$name" = hg_info ]; then
            continue
        fi
        count=$((count + 1))
        grep -rqw --include='*.h' -e "$name" "$root"/core/{include,compat} ||
            fail "$name is in no header"
    done < <(quoted <"$page" | sort -u)
    [ "$count" -ge 15 ] || fail 'too few names were found'
}

# The table of a struct lists exactly its fields.
check_fields() {
    section 'Options of a class' | awk -v name="\`$1\`" '
        /^\| field of/ { on = index($0, name) } on && /^\|/' |
        column 1 | quoted | sort >"$tmp/output"
    awk -v start="^struct $1 {" '
        $0 ~ start { on = 1; next } /^};/ { on = 0 } on' "$2" | tr '\n' ' ' |
        sed 's:/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/::g' |
        grep -oE '[a-z_]+;' | tr -d ';' |
        grep -vx na_init_info | sort >"$tmp/there"
    [ -s "$tmp/there" ] || fail "struct $1 was not found"
    diff "$tmp/output" "$tmp/there" >"$tmp/diff" ||
        fail "fields of $1: $(tr '\n' ' ' <"$tmp/diff")"
}

check_environment() {
    local name count=0
    while read -r name; do
        case $name in
        HG_LOG_* | TALARIA_PLUGIN_*)
            count=$((count + 1))
            grep -qw -e "$name" "$root/core/base/env.h" ||
                fail "$name is not read"
            ;;
        TALARIA_*)
            name=${name#TALARIA_}
            name=${name%_\*}
            grep -q -e "\`${name,,}\\." "$root/plugins/${name,,}/README.md" ||
                fail "the plugin ${name,,} has no settings"
            ;;
        esac
    done < <(section Environment | quoted)
    [ "$count" -ge 4 ] || fail 'the table of variables is not understood'
    while read -r name; do
        grep -q "^option('$name'" "$root/meson_options.txt" ||
            fail "there is no -D$name"
    done < <(grep -oE -- '-D[a-z_]+' "$page" | cut -c3- | sort -u)
}

# The log lines that the guide quotes: the pieces between placeholders.
check_words() {
    local words piece count=0
    cat "$root"/plugins/*/*.c "$root"/core/na/*.c | tr '\n' ' ' |
        sed 's/" *\(PRI[a-z0-9]*\)\{0,1\} *"//g' >"$tmp/source"
    while read -r words; do
        [[ $words = *' '*' '* ]] || continue
        while read -r piece; do
            count=$((count + 1))
            grep -qF -e "$piece" "$tmp/source" ||
                fail "the log does not contain '$piece'"
        done <<<"${words// N /$'\n'}"
    done < <(section 'On the wire' | column 2 | quoted)
    [ "$count" -ge 6 ] || fail 'too few log messages were found'
}

check() {
    page=$1 rows=0
    [ -r "$page" ] || fail "there is no $page"
    [ "$(wc -l <"$page")" -le 150 ] || fail 'it is longer than a page'
    check_headers
    check_missing
    check_names
    check_fields hg_init_info "$root/core/include/mercury_types.h"
    check_fields na_init_info "$root/core/include/na_types.h"
    check_environment
    check_words
}

# control WANTED SCRIPT: the page, altered by sed, is refused for WANTED.
control() {
    sed "$2" "$root/docs/migration.md" >"$tmp/page"
    ! cmp -s "$tmp/page" "$root/docs/migration.md" || fail "no change: $2"
    (check "$tmp/page") >"$tmp/complaints"
    grep -q "^FAIL: .*$1" "$tmp/complaints" ||
        fail "not refused for '$1': $(cat "$tmp/complaints")"
}

if [ "${1-}" = --self-test ] && [ $# -eq 2 ]; then
    root=$2
    control 'mercury_time.h' 's/ `mercury_time.h`//'
    control 'mercury_event.h exists' 's/| `mercury_mem_pool.h`/| `mercury_event.h`/'
    control 'talaria_handle_dropped' 's/talaria_handle_drop/&ped/'
    control 'checksum_level' 's/ `checksum_level`//'
    control 'HG_LOG_SUBSYSTEM' 's/`HG_LOG_SUBSYS`/`HG_LOG_SUBSYSTEM`/'
    control 'mercury_compatible' 's/-Dmercury_compat/&ible/'
    control 'never ever' 's/and never before/and never ever/'
elif [ $# -eq 1 ] && [ -d "$1" ]; then
    root=$1
    check "$root/docs/migration.md"
else
    fail 'usage: migration.sh [--self-test] SOURCE_ROOT'
fi
finish migration.sh
