#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The example in the comment at the head of mercury_hl.h compiles and works:
#
#   example.sh INCLUDE_DIR LIBRARY CC...
#
# Its three pieces (common, target, origin) become one program, whose process calls
# itself. Exit status 0, or 1 with what failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../abi/lib.sh disable=SC1091
. "$here/../abi/lib.sh"

if [ $# -lt 3 ] || [ ! -f "$1/mercury_hl.h" ]; then
    fail 'usage: example.sh INCLUDE_DIR LIBRARY CC...'
    finish example.sh
fi
include_dir=$1 library=$2
shift 2
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# The indented lines, in a file for each piece.
awk -v dir="$tmp/piece" '
    NR == 1 { next }
    /\*\// { exit }
    /^ \*     / { piece += !inside; inside = 1
                  print substr($0, 8) > (dir piece); next }
    / [^*]/ { inside = 0 }' "$include_dir/mercury_hl.h"
for piece in 1 2 3; do
    [ -s "$tmp/piece$piece" ] || fail "there is no piece $piece"
done
[ ! -e "$tmp/piece4" ] || fail 'there are more than three pieces'
grep -qx '\.\.\.' "$tmp/piece2" || fail 'no ... between definition and use'

{
    printf '#include "mercury_hl.h"\n#include <stdio.h>\n'
    cat "$tmp/piece1"
    sed '/^\.\.\.$/,$d' "$tmp/piece2"
    cat <<'END'
static void
ask(hg_class_t *hg_class, hg_context_t *context, const char *name)
{
END
    sed 's/add_register_origin(hg_class);//' "$tmp/piece3"
    cat <<'END'
}

/* That side alone: it is enough that it compiles. */
void origin(hg_class_t *hg_class, hg_context_t *context, const char *name);
void
origin(hg_class_t *hg_class, hg_context_t *context, const char *name)
{
END
    cat "$tmp/piece3"
    cat <<'END'
}

int
main(void)
{
    hg_class_t *hg_class = HG_Init("na+sm", HG_TRUE);
    hg_context_t *context = HG_Context_create(hg_class);
    hg_addr_t self;
    char name[128];
    hg_size_t size = sizeof name;

END
    sed '1,/^\.\.\.$/d' "$tmp/piece2"
    cat <<'END'
    if (HG_Addr_self(hg_class, &self) != HG_SUCCESS ||
        HG_Addr_to_string(hg_class, name, &size, self) != HG_SUCCESS)
        return 1;
    ask(hg_class, context, name);
    return HG_Addr_free(hg_class, self) != HG_SUCCESS ||
           HG_Context_destroy(context) != HG_SUCCESS ||
           HG_Finalize(hg_class) != HG_SUCCESS;
}
END
} >"$tmp/example.c"

if ! "$@" -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$include_dir" \
    "$tmp/example.c" -o "$tmp/example" "$library" \
    -Wl,-rpath,"${library%/*}" >"$tmp/output" 2>&1; then
    fail 'the example does not compile'
    cat "$tmp/output" "$tmp/example.c"
elif ! output=$(timeout 60 "$tmp/example" 2>&1) || [ "$output" != 42 ]; then
    fail "the example prints '$output', not 42"
fi
finish example.sh
