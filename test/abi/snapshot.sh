#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Writes a snapshot of the transport ABI to standard output:
#
#   snapshot.sh HEADER > abi/history/MAJOR.MINOR.snapshot
#
#   const NAME VALUE
#   string NAME TEXT
#   struct NAME sized|frozen SIZE ALIGNMENT
#   field STRUCT NAME OFFSET SIZE DECLARATOR     @ stands for the name
#
# Numbers are those of a machine with 64-bit pointers. CC: the compiler, gcc if
# not set. Exit status 0, or 1 with the reason on standard error.
set -eu -o pipefail

here=$(dirname "$0")
header=${1:?usage: snapshot.sh HEADER}
compiler=${CC:-gcc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

awk -f "$here/flatten.awk" "$header" >"$tmp/flat"
awk -f "$here/members.awk" "$tmp/flat" >"$tmp/members"
cp "$header" "$tmp/na_plugin.h"

{
    cat <<'C'
#include "na_plugin.h"
#include <stdio.h>
_Static_assert(sizeof(void *) == 8, "snapshots are of 64-bit machines");
#define NUMBER(name) printf("const %s %lld\n", #name, (long long) (name))
#define STRING(name) printf("string %s %s\n", #name, name)
#define STRUCT(name, kind) printf("struct %s %s %zu %zu\n", #name, kind, \
    sizeof(name), _Alignof(name))
#define FIELD(type, name, text) printf("field %s %s %zu %zu %s\n", #type, \
    #name, offsetof(type, name), sizeof(((type *) 0)->name), text)
int main(void)
{
C
    awk '$1 == "const"  { printf "    NUMBER(%s);\n", $2 }
         $1 == "string" { printf "    STRING(%s);\n", $2 }
         $1 == "struct" { printf "    STRUCT(%s, \"%s\");\n", $2, $3 }
         $1 == "field"  { text = $0
                          sub(/^field [^ ]+ [^ ]+ /, "", text)
                          printf "    FIELD(%s, %s, \"%s\");\n",
                              $2, $3, text }' "$tmp/members"
    printf '    return 0;\n}\n'
} >"$tmp/snapshot.c"
"$compiler" -std=gnu11 -o "$tmp/snapshot" "$tmp/snapshot.c"
"$tmp/snapshot"
