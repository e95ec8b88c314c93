#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Writes a snapshot of the transport ABI to standard output:
#
#   snapshot.sh HEADER > abi/history/MAJOR.MINOR.snapshot
#   snapshot.sh HEADER COMPILER... > abi/history/MAJOR.MINOR-i386.snapshot
#
#   const NAME VALUE
#   string NAME TEXT
#   optional ENTRY                               of NA_PLUGIN_OPS_OPTIONAL
#   struct NAME sized|frozen SIZE ALIGNMENT
#   field STRUCT NAME OFFSET SIZE DECLARATOR     @ in place of the name
#
# The first form uses the compiler CC (default: gcc) for 64-bit pointers. The
# second one, for another architecture (gcc -m32), leaves out constants and
# strings, which are the same, and needs no library. Exit status 0, or 1 with the
# reason on standard error.
set -eu -o pipefail

here=$(dirname "$0")
header=${1:?usage: snapshot.sh HEADER [COMPILER...]}
shift
compiler=${CC:-gcc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

awk -f "$here/flatten.awk" "$header" >"$tmp/flat"
awk -f "$here/members.awk" "$tmp/flat" >"$tmp/members"
cp "$header" "$tmp/na_plugin.h"

# Takes the numbers from the assembly output, which is not run.
if [ $# -gt 0 ]; then
    awk 'BEGIN {
            print "#include \"na_plugin.h\""
            print "#define PRINT(text, a, b) __asm__ volatile( \\"
            print "    \"\\n@\" text \" %c0 %c1\" : : \"i\"(a), \"i\"(b))"
            print "void numbers(void);\nvoid numbers(void)\n{"
         }
         $1 == "struct" { printf "PRINT(\"%s\", sizeof(%s), _Alignof(%s));\n",
                              $0, $2, $2 }
         $1 == "field"  { printf "PRINT(\"%s %s %s\", offsetof(%s, %s), " \
                              "sizeof(((%s *) 0)->%s));\n",
                              $1, $2, $3, $2, $3, $2, $3 }
         END { print "}" }' "$tmp/members" >"$tmp/numbers.c"
    "$@" -std=gnu11 -ffreestanding -S -o "$tmp/numbers" "$tmp/numbers.c"
    grep -E '^[[:space:]]*@(struct|field) ' "$tmp/numbers" |
        sed 's/^[[:space:]]*@//' >"$tmp/found"
    awk 'NR == FNR && $1 == "field" { text = $0
            sub(/^field [^ ]+ [^ ]+ /, "", text)
            type[$2 " " $3] = text }
         NR == FNR { next }
         $1 == "field" { print $0, type[$2 " " $3]; next }
         { print }' "$tmp/members" "$tmp/found"
    grep '^optional ' "$tmp/members"
    [ "$(wc -l <"$tmp/found")" -eq \
        "$(grep -cE '^(struct|field) ' "$tmp/members")" ]
    exit
fi

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
         $1 == "optional" { printf "    puts(\"%s\");\n", $0 }
         $1 == "struct" { printf "    STRUCT(%s, \"%s\");\n", $2, $3 }
         $1 == "field"  { text = $0
                          sub(/^field [^ ]+ [^ ]+ /, "", text)
                          printf "    FIELD(%s, %s, \"%s\");\n",
                              $2, $3, text }' "$tmp/members"
    printf '    return 0;\n}\n'
} >"$tmp/snapshot.c"
"$compiler" -std=gnu11 -o "$tmp/snapshot" "$tmp/snapshot.c"
"$tmp/snapshot"
