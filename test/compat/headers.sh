#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Each public header compiles by itself, without a warning, in every language
# mode that is promised, and so do small programs that use them, with Boost's
# headers at hand and without.
#
#   headers.sh INCLUDE_DIR [EXTRA_INCLUDE_DIR...]
#
# CC and CXX: lists of compilers to use; one that isn't installed is reported
# and left out. Exit status 0, or 1 when anything failed.

c_compilers=${CC:-gcc clang}
cxx_compilers=${CXX:-g++ clang++}
c_modes='c99 c11 c17 c2x gnu17'
cxx_modes='c++11 c++14 c++17 c++20'
here=$(dirname "$0")

if [ $# -lt 1 ] || [ ! -d "$1" ]; then
    echo "usage: headers.sh INCLUDE_DIR [EXTRA_INCLUDE_DIR...]" >&2
    exit 1
fi
include_dir=$1

# From here on the arguments are the options of every compilation.
for dir; do
    set -- "$@" "-I$dir"
    shift
done
set -- "$@" -Wall -Wextra -Wpedantic -Werror -fsyntax-only

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
messages=$tmp/messages

# The check for Boost looks for its header only, so a folder with a copy of that
# simulates Boost.
mkdir -p "$tmp/boost/boost"
echo '#define BOOST_PP_CAT(a, b) a##b' >"$tmp/boost/boost/preprocessor.hpp"
cat >"$tmp/boost.c" <<'END'
#include "mercury_macros.h"
MERCURY_GEN_PROC(pair_t, ((int32_t) (first))((int32_t) (second)))
#ifdef WITH_BOOST
static int BOOST_PP_CAT(one, word) = 1;
int main(void) { return oneword; }
#elif defined(BOOST_PP_CAT)
#error "Boost's headers are not here"
#else
int main(void) { return 0; }
#endif
END

compiled=0
failed=0

# compile WHAT COMPILER OPTION...: reads the source from stdin if "-" is among
# the options.
compile()
{
    what=$1
    shift
    compiled=$((compiled + 1))
    if ! "$@" >"$messages" 2>&1; then
        echo "FAIL $what"
        sed 's/^/    /' "$messages"
        failed=$((failed + 1))
    fi
}

# must_fail WHAT TEXT COMPILER OPTION...: TEXT must be in the messages.
must_fail()
{
    what=$1
    text=$2
    shift 2
    compiled=$((compiled + 1))
    if "$@" >"$messages" 2>&1; then
        echo "FAIL $what: compiled, and should not"
        failed=$((failed + 1))
    elif ! grep -q "$text" "$messages"; then
        echo "FAIL $what: for another reason"
        sed 's/^/    /' "$messages"
        failed=$((failed + 1))
    fi
}

# try_language NAME SOURCE "COMPILER..." "MODE..." OPTION...
try_language()
{
    language=$1
    source=$2
    compilers=$3
    modes=$4
    shift 4
    present=0
    for compiler in $compilers; do
        if ! command -v "$compiler" >/dev/null; then
            echo "not installed: $compiler"
            continue
        fi
        present=$((present + 1))
        for mode in $modes; do
            for header in "$include_dir"/*.h; do
                name=$(basename "$header")
                compile "$name, $compiler -std=$mode" \
                    "$compiler" "-std=$mode" "$@" -x "$language" - <<END
#include "$name"
struct what_macros_alone_lack;
END
            done
            for define in -UTALARIA_BUILD_SHARED -DTALARIA_BUILD_SHARED; do
                compile "$(basename "$source"), $compiler -std=$mode $define" \
                    "$compiler" "-std=$mode" "$@" "$define" "$source"
            done
            compile "optimized $(basename "$source"), $compiler -std=$mode" \
                "$compiler" "-std=$mode" "$@" -O2 "$source"
            compile "api.c, $compiler -std=$mode" "$compiler" "-std=$mode" \
                "$@" -x "$language" "$here/api.c"
            compile "with Boost, $compiler -std=$mode" "$compiler" \
                "-std=$mode" "$@" "-I$tmp/boost" -DWITH_BOOST \
                -x "$language" "$tmp/boost.c"
            if echo '#include <boost/preprocessor.hpp>' |
                "$compiler" -E -x "$language" - >/dev/null 2>&1; then
                echo "left out: no Boost, $compiler -std=$mode: it is installed"
            else
                compile "without Boost, $compiler -std=$mode" "$compiler" \
                    "-std=$mode" "$@" -x "$language" "$tmp/boost.c"
            fi
            must_fail "HG_Addr_lookup of four, $compiler -std=$mode" \
                HG_Addr_lookup_takes_3_or_5_arguments \
                "$compiler" "-std=$mode" "$@" -DLOOKUP_OF_FOUR "$source"
        done
    done
    if [ $present -eq 0 ]; then
        echo "FAIL no compiler for $language among: $compilers"
        failed=$((failed + 1))
    fi
}

if [ -z "$(find "$include_dir" -maxdepth 1 -name '*.h' | head -n 1)" ]; then
    echo "FAIL no header in $include_dir"
    exit 1
fi
try_language c "$here/use_headers.c" "$c_compilers" "$c_modes" "$@"
try_language c++ "$here/use_headers.cc" "$cxx_compilers" "$cxx_modes" "$@"

echo "$compiled compilations, $failed failed"
[ $failed -eq 0 ]
