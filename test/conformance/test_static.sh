#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The static cases of talaria check, which open nothing: small plugins that break
# one rule each, and files that are no plugins.
#
# Needs $TALARIA, the command; $CC builds the objects. If $NA_WIRE_PLUGIN is set,
# also checks that plugin with its manifest, and the objects beside it that the
# file objects lists.
# shellcheck disable=SC2016 # variables of filters are those of jq
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../abi/lib.sh disable=SC1091
. "$here/../abi/lib.sh"
root=$here/../..
for tool in "${CC:=cc}" jq python3; do
    have "$tool" || { echo "skipped: no $tool"; exit 77; }
done
unset TALARIA_PLUGIN_PATH TALARIA_PLUGIN_FILES
umask 022
tmp=$(mktemp -d "${TMPDIR:-/tmp}/talaria-static-XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT

# The folder of plugins has safe permissions, unlike $TMPDIR perhaps.
objects=$tmp/objects
mkdir "$objects"

options=(-fPIC -fvisibility=hidden -D_GNU_SOURCE -I "$root/abi"
    -I "$root/plugins")

# Code that every plugin links, compiled once.
mkdir "$tmp/common"
(cd "$tmp/common" && "$CC" -c "${options[@]}" "$root"/plugins/common/*.c) ||
    fail 'plugins/common does not build'

# build NAME [OPTION...]: the test plugin, which loads but does not work, as
# objects/NAME.so
build() {
    local name=$1
    shift
    "$CC" -shared "${options[@]}" -o "$objects/$name.so" \
        "$root/test/plugins/probe.c" "$tmp"/common/*.o "$@" \
        2>"$tmp/cc" || { fail "$name does not build" && cat "$tmp/cc"; }
}

# source_file NAME CODE: a further source file; prints its path
source_file() {
    printf '%s\n' "$2" >"$tmp/$1.c"
    printf '%s\n' "$tmp/$1.c"
}

# holds FILTER [OPTION...]: the filter yields true for the report. (jq's exit
# status for an empty file depends on its version.)
holds() {
    local filter=$1
    shift
    [ "$(jq "$@" "$filter" "$tmp/report" 2>&1)" = true ]
}

# check FILE [OPTION...]: writes the report to $tmp/report. Its list of rules
# has "failed" where a case has failed, whatever the results of the other cases
# of that rule.
check() {
    local status
    "$TALARIA" check --json --limit 5 "$@" >"$tmp/report" 2>"$tmp/errors" \
        </dev/null
    status=$?
    [ "$status" -le 1 ] || fail "check $*: exit status $status"
    holds '.cases | length > 0' || fail "check $*: no report"
    holds '[.cases[] | select(.verdict == "failed") | .broken_rule] -
        [.rules[] | select(.verdict == "failed") | .rule] == []' ||
        fail "check $*: its list of rules hides a failed case"
}

# finds FILE [CASE:RULE...]: exactly these static cases fail, each by that rule.
static='^(file|load|table|manifest)_'
static_cases=(--case 'file_*' --case 'load_*' --case 'table_*'
    --case 'manifest_*')
finds() {
    local file=$1 wanted found
    shift
    wanted=$(printf '%s\n' "$@" | sort)
    check "$file" "${static_cases[@]}"
    found=$(jq -r --arg static "$static" '.cases[] |
        select(.verdict == "failed" and (.name | test($static))) |
        "\(.name):\(.broken_rule)"' "$tmp/report" | sort)
    [ "$found" = "$wanted" ] && return
    fail "${file##*/}: found '${found//$'\n'/ }', not '${wanted//$'\n'/ }'"
    jq -c '.cases[] | select(.verdict == "failed") |
        [.name, .expected, .came]' "$tmp/report"
}

# explains NAME TEXT: the last finding has this explanation.
explains() {
    holds 'any(.cases[];
        .name == $name and ("\(.came)\(.reason)" | contains($text)))' \
        --arg name "$1" --arg text "$2" || {
        fail "the finding of $1 lacks \"$2\":"
        jq -c --arg name "$1" '.cases[] | select(.name == $name)' "$tmp/report"
    }
}

manifest() {
    "$TALARIA" manifest "$objects/$1.so" >"$objects/$1.json" 2>"$tmp/errors" ||
        fail "$1 has no manifest"
}

good_objects() {
    build good
    manifest good
    finds "$objects/good.so"
    holds '[.cases[] |
        select((.name | test($static)) and .verdict == "passed")] |
        length == 16' --arg static "$static" || fail 'good: not all passed'
    build lists_none -DPROBE_PROTOCOLS=NULL \
        -DPROBE_FLAGS=NA_PLUGIN_OTHER_PROTOCOLS
    manifest lists_none
    finds "$objects/lists_none.so"
    build grown -DPROBE_GROWN -DPROBE_MINOR=7 -DPROBE_FLAGS=0x80000000U \
        '-DPROBE_SIZE=sizeof(struct grown)'
    finds "$objects/grown.so"
    explains manifest_agrees 'talaria manifest writes it'
    build stripped -Wl,-s,--hash-style=sysv
    finds "$objects/stripped.so"
    build tls "$(source_file tls '_Thread_local int kept;
        int *tls(void); int *tls(void) { return &kept; }')"
    finds "$objects/tls.so"
}

# breaks FILE: sets $broken to the rules that a plugin breaks according to the
# static cases and the one that calls only info, and $absent to the others.
breaks() {
    check "$1" "${static_cases[@]}" --case devices
    broken=$(jq -r '.cases[] |
        select(.verdict == "failed" and .name != "opens") |
        " \(.broken_rule)"' "$tmp/report")
    absent=$(jq -r '.cases[] | select(.verdict == "not offered") |
        .reason' "$tmp/report")
    broken=$(tr -s ' ' '\n' <<<"$broken" | sort -nu | tr '\n' ' ')
}

# The wire plugin, and its objects that break a rule as a whole.
wire_objects() {
    local name rule count=0
    [ -n "${NA_WIRE_PLUGIN-}" ] || return 0
    breaks "$NA_WIRE_PLUGIN"
    [ -z "${broken// /}$absent" ] ||
        fail "$NA_WIRE_PLUGIN: $broken$absent"
    while read -r name rule _; do
        case $name in '' | '#'*) continue ;; esac
        count=$((count + 1))
        breaks "${NA_WIRE_PLUGIN%.so}_$name.so"
        [[ " $broken" = *" $rule "* ]] ||
            fail "$name: rule $rule is not broken, but '${broken% }'"
    done <"$here/objects"
    [ "$count" -gt 0 ] || fail "$here/objects lists none"
}

# Exported, undefined and needed symbols.
symbols() {
    local defined='int HG_Init(void); int HG_Init(void) { return 1; }'
    local call='extern int HG_Init(void); int f(void); int f(void)
        { return HG_Init(); }'

    build more "$(source_file more '#define V __attribute__((visibility('\
'"default")))
        V extern int more, most; V int more = 1; V int most = 2;')"
    finds "$objects/more.so" file_exports:2
    explains file_exports '2 more: mo'
    build no_symbol -DPROBE_NO_SYMBOL
    finds "$objects/no_symbol.so" file_exports:2
    build depending -DPROBE_NO_SYMBOL -Wl,--no-as-needed "$objects/good.so"
    finds "$objects/depending.so" file_exports:2
    printf 'int na_plugin_v1(void) { return 1; }\n' |
        "$CC" -shared -fPIC -o "$objects/code.so" -x c - || fail 'code.so'
    finds "$objects/code.so" file_exports:2 table_versions:3
    build lacks "$(source_file lacks "$call")"
    # The command exports that symbol, but the object must not rely on it.
    finds "$objects/lacks.so" file_undefined:2 load_resolves:2
    explains file_undefined '1 undefined: HG_Init'
    build library "$(source_file library "$defined")"
    mv "$objects/library.so" "$objects/libtalaria.so.7"
    build needs -Wl,--no-as-needed "-L$objects" -l:libtalaria.so.7 \
        "-Wl,-rpath,$objects"
    finds "$objects/needs.so" file_needs:2
    build undefined -DPROBE_UNDEFINED
    finds "$objects/undefined.so" load_resolves:2
    explains load_resolves probe_nobody_defines
    # jansson is loaded because the command needs it, not because of the object.
    build borrows "$(source_file borrows 'extern void *json_object(void);
        void *f(void); void *f(void) { return json_object(); }')"
    finds "$objects/borrows.so" load_resolves:2
    explains load_resolves json_object
}

# Memory layout.
memory() {
    build writable -Wl,-z,norelro
    finds "$objects/writable.so" file_constant:2
    build static_tls -ftls-model=initial-exec "$(source_file static_tls '
        __attribute__((visibility("hidden"))) extern _Thread_local int kept;
        _Thread_local int kept;
        int *tls(void); int *tls(void) { return &kept; }')"
    finds "$objects/static_tls.so" file_static_tls:13
    build stack -Wl,-z,execstack
    check "$objects/stack.so" "${static_cases[@]}"
    # glibc refuses it since 2.41, and loaded it before.
    if holds 'any(.cases[]; .name == "load_resolves" and
        ("\(.came)" | contains("cannot enable executable stack")))'; then
        finds "$objects/stack.so" file_memory:13 load_resolves:2
    else
        finds "$objects/stack.so" file_memory:13
    fi
    explains file_memory 'executable stacks'
    build trace '-DPROBE_TRACE="PROBE_LOADED"'
    finds "$objects/trace.so" load_quiet:13
    build prints "$(source_file prints '#include <stdio.h>
        __attribute__((constructor)) static void f(void) { puts("hi"); }')"
    finds "$objects/prints.so" load_quiet:13
    build stays "$(source_file stays '#include <stdlib.h>
        __attribute__((constructor)) static void f(void)
        { if (!getenv("STAYS")) setenv("STAYS", "1", 1); else abort(); }')"
    finds "$objects/stays.so" load_quiet:13 load_repeated:13
}

# Threads started on loading: by the plugin, and by a library that it needs, which
# ends by itself and has a descriptor meanwhile.
threads() {
    build thread "$(source_file thread '#include <pthread.h>
        #include <unistd.h>
        static void *stay(void *p) { for (;;) pause(); return p; }
        __attribute__((constructor)) static void f(void)
        { pthread_t t; pthread_create(&t, 0, stay, 0); }')" -Wl,-z,nodelete
    finds "$objects/thread.so" load_quiet:13
    explains load_quiet '1 threads were started'
    "$CC" -shared -fPIC -Wl,-z,nodelete -o "$objects/libbusy.so" \
        "$(source_file busy '
        #include <fcntl.h>
        #include <pthread.h>
        #include <time.h>
        #include <unistd.h>
        static void spin(void)
        {
            struct timespec t;
            long end = 0;
            do {
                clock_gettime(CLOCK_MONOTONIC, &t);
                if (!end) end = t.tv_sec * 1000 + t.tv_nsec / 1000000 + 100;
            } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < end);
        }
        static void *work(void *p)
        {
            int fd;
            spin();
            fd = open("/dev/null", O_RDONLY);
            spin();
            close(fd);
            return p;
        }
        __attribute__((constructor)) static void f(void)
        { pthread_t t; pthread_create(&t, 0, work, 0); }')" ||
        fail 'libbusy.so'
    build busy "$(source_file waits '#include <unistd.h>
        __attribute__((constructor)) static void f(void)
        { usleep(150000); }')" -Wl,--no-as-needed "-L$objects" -lbusy
    LD_LIBRARY_PATH=$objects${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
        finds "$objects/busy.so"
}

table() {
    build magic -DPROBE_MAGIC=0x12345678U
    finds "$objects/magic.so" table_versions:3
    build major -DPROBE_MAJOR=2
    finds "$objects/major.so" table_versions:3
    build min_host_minor -DPROBE_MINOR=9 -DPROBE_MIN_HOST_MINOR=9
    finds "$objects/min_host_minor.so" table_versions:3
    build short -DPROBE_SIZE=40
    finds "$objects/short.so" table_versions:3
    build long -DPROBE_SIZE=4096
    finds "$objects/long.so" table_versions:3
    build cut_off -DPROBE_CUT_OFF
    finds "$objects/cut_off.so" table_versions:3
    build reserved -DPROBE_RESERVED=1
    finds "$objects/reserved.so" table_bits:4
    build flag -DPROBE_FLAGS=0x80000000U
    finds "$objects/flag.so" table_bits:4
    for what in 'NAME=NULL' 'NAME="a+b"' 'NAME=""' 'VERSION=""' \
        'VERSION=NULL' 'VERSION="1\n2"' 'PROTOCOLS="a","b/c"' \
        'PROTOCOLS="a","b c"' 'PROTOCOLS=""' 'PROTOCOLS="a:"' \
        'PROTOCOLS="a","b","a"' 'PROTOCOLS=NULL' 'NO_OPEN=1' \
        'PROTOCOLS="a",(char *) 16'; do
        build field "-DPROBE_$what"
        finds "$objects/field.so" table_fields:12
    done
    explains table_fields 'signal 11'
}

# alters NAME FILTER: a manifest of good.so altered by jq is rejected.
alters() {
    jq "$2" "$objects/good.json" >"$objects/with_$1.json"
    check "$objects/good.so" --case manifest_agrees \
        --manifest "$objects/with_$1.json"
    holds 'any(.cases[]; .broken_rule == 14)' ||
        fail "a manifest with $2 passes"
}

manifests() {
    alters name '.plugin.name = "other"'
    alters version '.plugin.version = "1.2.4"'
    alters library '.plugin.library_path = "more.so"'
    alters nowhere '.plugin.library_path = "none/good.so"'
    alters major '.plugin.abi.major = 2'
    alters minor '.plugin.abi.minor = 1'
    alters host '.plugin.abi.min_host_minor = 4294967296'
    alters protocols '.plugin.protocols = ["alpha"]'
    alters order '.plugin.protocols = ["beta", "alpha"]'
    alters longer '.plugin.protocols += ["gamma"]'
    alters number '.plugin.protocols = ["alpha", 1]'
    alters text '.plugin.protocols = "alpha"'
    alters priority 'del(.plugin.priority)'
    alters others '.plugin.other_protocols = true'
    alters format '.format = "2.0"'
    alters no_abi 'del(.plugin.abi)'
    alters list '[.]'
    printf '{"format": "1.0",\n' >"$objects/with_cut.json"
    check "$objects/good.so" --manifest "$objects/with_cut.json" \
        --case 'manifest_*'
    explains manifest_agrees 'line 2'
    check "$objects/good.so" --manifest "$objects" --case 'manifest_*'
    explains manifest_agrees 'is no regular file'
    # Through a link in another folder: the real path counts.
    mkdir "$tmp/links"
    ln -s "$objects/good.json" "$tmp/links/good.json"
    check "$objects/good.so" --manifest "$tmp/links/good.json" \
        --case 'manifest_*'
    holds 'any(.cases[]; .name == "manifest_agrees" and .verdict == "passed")' ||
        fail 'a manifest is not found by a link'
}

# selects NAME... -- OPTION...: the options select these cases alone.
selects() {
    local names=() found
    while [ "$1" != -- ]; do
        names+=("$1")
        shift
    done
    shift
    found=$("$TALARIA" check --list "$@" | awk '/^  / { print $1 }' | sort)
    [ "$found" = "$(printf '%s\n' "${names[@]}" | sort)" ] ||
        fail "$* selects $found"
}

selection() {
    selects file_trust -- --case file_trust
    selects file_trust manifest_agrees -- --case file_trust \
        --case manifest_agrees
    selects file_trust -- --case file_trust --case manifest_agrees --rule 15
    check "$objects/good.so" --case manifest_agrees --case file_trust
    holds '[.cases[].name] - ["opens"] | sort ==
        ["file_trust", "manifest_agrees"]' ||
        fail 'not the two cases selected'
}

# trusts NAME: good.so with its manifest, in a folder of its own
trusts() {
    mkdir "$tmp/$1"
    cp "$objects"/good.{so,json} "$tmp/$1"
}

permissions() {
    trusts file
    chmod g+w "$tmp/file/good.so"
    finds "$tmp/file/good.so" file_trust:15
    explains file_trust 'its group'
    trusts folder
    chmod 1777 "$tmp/folder"
    finds "$tmp/folder/good.so" file_trust:15
    explains file_trust 'everyone (mode 1777)'
    trusts manifest
    chmod o+w "$tmp/manifest/good.json"
    finds "$tmp/manifest/good.so" file_trust:15
    if [ "$(id -u)" -eq 0 ]; then
        trusts owner
        chown 4711 "$tmp/owner/good.so"
        finds "$tmp/owner/good.so" file_trust:15
        explains file_trust 'user 4711'
    fi
}

# no_object FILE WORDS: the first case fails with this reason, the others are not
# run.
no_object() {
    chmod go-w "$1"
    finds "$1" file_is_object:2
    explains file_is_object "$2"
}

# Files that are no shared object for this machine.
no_objects() {
    local size length
    printf 'no object\n' >"$objects/text.so"
    no_object "$objects/text.so" 'not an ELF file'
    : >"$objects/empty.so"
    no_object "$objects/empty.so" 'is empty'
    mkdir "$objects/folder.so"
    no_object "$objects/folder.so" 'not a file'
    head -c 20000 "$objects/good.so" | tail -c 10000 >"$objects/middle.so"
    no_object "$objects/middle.so" 'not an ELF file'
    printf 'int main(void) { return 0; }\n' |
        "$CC" -fPIE -pie -o "$objects/program.so" -x c - || fail 'program.so'
    no_object "$objects/program.so" 'is an executable'
    # Number 1 in the place of the machine's; the other class.
    cp "$objects/good.so" "$objects/machine.so"
    printf '\1\0' | dd of="$objects/machine.so" bs=1 seek=18 conv=notrunc \
        status=none
    no_object "$objects/machine.so" 'is built for'
    cp "$objects/good.so" "$objects/class.so"
    printf '\7' | dd of="$objects/class.so" bs=1 seek=4 conv=notrunc status=none
    no_object "$objects/class.so" 'object, this process is'
    size=$(wc -c <"$objects/good.so")
    for length in 1 4 16 63 64 65 300; do
        head -c "$length" "$objects/good.so" >"$objects/cut.so"
        no_object "$objects/cut.so" ''
    done
    # From here on the headers are complete.
    for length in 1000 4096 8192 $((size / 2)); do
        head -c "$length" "$objects/good.so" >"$objects/cut.so"
        no_object "$objects/cut.so" 'is cut off'
    done
}

# Random bytes, and a good object damaged at many places, one at a time. The cases
# that only read the file may report any fault, but never crash.
spoilt() {
    build victim -DPROBE_OPEN_FAILS=1 -Wl,-s
    python3 - "$TALARIA" "$objects" <<'END' || fail 'damaged objects'
import concurrent.futures, json, os, random, struct, subprocess, sys

talaria, folder = sys.argv[1:]
good = open(os.path.join(folder, 'victim.so'), 'rb').read()
dice = random.Random(20)
extremes = [0, 1, 0x7fffffff, 0xffffffff, 2**63 - 1, 2**64 - 1, len(good),
            len(good) - 1]
full = [at for at in range(0, len(good) - 8, 8) if any(good[at:at + 8])]


def spoil():
    data = bytearray(good)
    kind = dice.randrange(4)
    # The headers are at the front.
    place = dice.choice(full if dice.randrange(2) else full[:60])
    place += dice.randrange(8)
    if kind == 0:
        data[place] = dice.randrange(256)
    elif kind == 1:
        data[place] ^= 1 << dice.randrange(8)
    else:
        place &= ~7 if kind == 2 else ~3
        struct.pack_into('=Q' if kind == 2 else '=I', data, place,
                         dice.choice(extremes) & (2**64 - 1 if kind == 2
                                                  else 2**32 - 1))
    return bytes(data)


def look(number, data):
    path = os.path.join(folder, f'spoilt{number}.so')
    with open(path, 'wb') as file:
        file.write(data)
    run = subprocess.run(
        [talaria, 'check', '--json', '--limit', '5', '--case', 'file_*', path],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    try:
        cases = json.loads(run.stdout)['cases']
        crashed = [case for case in cases if case['name'].startswith('file_')
                   and case['expected'] in ('no crash', 'an end')]
        refused = any(case['name'] == 'file_is_object'
                      and case['verdict'] == 'failed' for case in cases)
    except (ValueError, KeyError):
        crashed, refused = [run.stdout, run.stderr], False
    if run.returncode not in (0, 1) or crashed:
        print(path, run.returncode, crashed)
        return False, refused
    os.unlink(path)
    return True, refused


data = [dice.randbytes(dice.randrange(1, 9000)) for _ in range(20)]
data += [good[:16] + dice.randbytes(dice.randrange(1, 9000))
         for _ in range(20)]
places = 1000 if os.environ.get('TALARIA_TEST_SOAK') == '1' else 250
data += [spoil() for _ in range(places)]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    results = list(pool.map(look, range(len(data)), data))
refused = sum(refused for _, refused in results)
print(f'{len(data)} damaged objects, {refused} of them refused')
# Fails if nothing was damaged, or nothing was read.
sys.exit(not all(fine for fine, _ in results) or not places / 10 < refused < len(data) * 9 / 10)
END
}

good_objects
wire_objects
symbols
memory
threads
table
manifests
selection
permissions
no_objects
spoilt
finish test_static.sh
