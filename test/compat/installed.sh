#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs and plugins need nothing but what is installed:
#
#   installed.sh MESON SOURCE_ROOT
#
# Builds the source for a prefix of its own, installs it there, checks the
# installed files, and builds with pkg-config: programs in C and C++, on the shared
# and on the static library, one by CMake, and a plugin. Then it installs the names
# of Mercury, and builds programs that use these. No variable leads to the plugins.
# CC and CXX: lists of compilers, of which the installed ones are used. Exit status
# 0, or 1 with what failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../abi/lib.sh disable=SC1091
. "$here/../abi/lib.sh"

if [ $# -ne 2 ] || [ ! -f "$2/meson.build" ]; then
    echo 'usage: installed.sh MESON SOURCE_ROOT' >&2
    exit 1
fi
meson=$1 source_root=$2
warnings='-Wall -Wextra -Wpedantic -Werror'
patience=60 # seconds for a program that runs
for variable in ${!TALARIA_@} ${!HG_@} ${!NA_@} ${!PKG_CONFIG@} DESTDIR \
    LD_LIBRARY_PATH; do
    unset "$variable"
done

# The real path, since manifests are found by theirs.
tmp=$(realpath "$(mktemp -d)") || exit 1
trap 'rm -rf "$tmp"' EXIT
prefix=$tmp/prefix

# quiet WHAT COMMAND...: its output is shown if it fails.
quiet() {
    local what=$1
    shift
    "$@" >"$tmp/output" 2>&1 && return
    fail "$what"
    sed 's/^/    /' "$tmp/output"
    return 1
}

# expect WHAT WANTED FOUND
expect() {
    [ "$2" = "$3" ] || fail "$1: '$3', not '$2'"
}

# The installed tool; the variable replaces a run of ldconfig.
talaria() {
    LD_LIBRARY_PATH=$libdir timeout "$patience" "$prefix/bin/talaria" "$@"
}

compilers() {
    local compiler
    for compiler; do
        if have "$compiler"; then
            printf '%s\n' "$compiler"
        fi
    done
}

# run_program SOURCE PROGRAM: it finds its plugin in SOURCE
run_program() {
    local source
    if ! source=$(timeout "$patience" "$2" 2>"$tmp/output" </dev/null); then
        fail "$2: exit status $?"
        sed 's/^/    /' "$tmp/output"
    fi
    expect "where ${2##*/} found the plugin" "$1" "$source"
}

check_layout() {
    local wanted found link json version
    version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" "$source_root/meson.build")
    wanted=$({
        basename -a "$source_root"/core/include/*.h talaria_version.h
    } | sort)
    found=$(find "$prefix/include/talaria" -type f -printf '%P\n' | sort)
    expect 'headers installed' "$wanted" "$found"
    expect 'headers for plugins' "$(
        cd "$source_root/plugins" && printf '%s\n' common/*.h na_plugin.h |
            grep -v '_private\.h$' | sort
    )" "$(find "$prefix/include/talaria-plugin-1" -type f -printf '%P\n' | sort)"
    for found in transport-abi.md transport-abi-growth.md plugin-library.md; do
        [ -f "$prefix/share/doc/talaria/$found" ] || fail "$found is not there"
    done
    [ -f "$prefix/share/man/man3/HG_Forward.3" ] || fail 'HG_Forward(3)'
    [ -f "$prefix/share/man/man7/na_plugin.7" ] || fail 'na_plugin(7)'
    while IFS=: read -r found link; do
        [ -e "$(dirname "$found")/$link" ] ||
            fail "${found##*/} leads to $link, which is not installed"
    done < <(find "$prefix/share/doc/talaria" -name '*.md' -exec \
        grep -oHE '\]\([^)#:]+[)#]' {} + | sed 's/](\([^)#]*\).$/\1/')

    for found in "$libdir/libtalaria.a" "$libdir/libtalaria.so.$version" \
        "$prefix/bin/talaria" "$plugins/libna_sm.so"; do
        if [ ! -f "$found" ] || [ -L "$found" ]; then
            fail "$found is not there"
        fi
    done
    expect soname libtalaria.so.0 "$(LC_ALL=C readelf -d \
        "$libdir/libtalaria.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')"
    expect 'what libtalaria.so.0 is' "libtalaria.so.$version" \
        "$(readlink "$libdir/libtalaria.so.0")"

    json=$(find "$plugins" -name '*.json')
    expect 'the object that the manifest names' libna_sm.so \
        "$(sed -n 's/.*"library_path": *"\([^"]*\)".*/\1/p' "$json")"
    found=$(find "$prefix" -name '*mercury*' ! -path '*/include/*' ! -path '*/man3/*' -o \
        -name na.pc -o -name hg_info -o -name 'lib*_util*' -o -name 'libna.*')
    expect 'what is installed unasked' '' "$found"
    expect 'what is in the folder of plugins' \
        "$(printf '%s\n' libna_sm.so "${json##*/}" | sort)" \
        "$(find "$plugins" -mindepth 1 -printf '%f\n' | sort)"
}

check_destdir() {
    quiet 'meson install with DESTDIR' env DESTDIR="$tmp/stage" \
        "$meson" install -C "$tmp/build" --no-rebuild || return
    expect 'what DESTDIR changes' '' \
        "$(diff -r --no-dereference "$prefix" "$tmp/stage$prefix" 2>&1)"
}

check_pkg_config() {
    local wanted
    quiet 'talaria.pc' pkg-config --print-errors --exists talaria
    quiet 'talaria-plugin.pc' pkg-config --print-errors --exists talaria-plugin
    wanted=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$source_root/meson.build")
    expect 'version of talaria.pc' "$wanted" "$(pkg-config --modversion talaria)"
    expect plugindir "$plugins" \
        "$(pkg-config --variable=plugindir talaria-plugin)"
    for wanted in major minor; do
        expect "abi_$wanted" "$(sed -n \
            "s/^#define NA_PLUGIN_ABI_${wanted^^} \([0-9]*\).*/\1/p" \
            "$prefix/include/talaria-plugin-1/na_plugin.h")" \
            "$(pkg-config --variable=abi_$wanted talaria-plugin)"
    done
    expect abi_version "$(pkg-config --variable=abi_major talaria-plugin).$(
        pkg-config --variable=abi_minor talaria-plugin)" \
        "$(pkg-config --variable=abi_version talaria-plugin)"
    expect manifestdir "$prefix/etc/talaria/plugins.d" \
        "$(pkg-config --variable=manifestdir talaria-plugin)"
    expect 'libraries of a plugin' "-L$libdir -ltalaria-plugin" \
        "$(pkg-config --libs talaria-plugin | sed 's/ *$//')"
}

# build_programs PACKAGE COMPILER LANGUAGE
# shellcheck disable=SC2046,SC2086
build_programs() {
    local static package=$1
    shift
    quiet "$1 -x $2, shared $package" "$1" $warnings -x "$2" \
        "$here/use_installed.c" -o "$tmp/shared-$1" \
        $(pkg-config --cflags --libs $package) \
        -Wl,-rpath,"$libdir" && run_program beside_core "$tmp/shared-$1"

    static=$(pkg-config --static --cflags --libs $package)
    quiet "$1 -x $2, static $package" "$1" $warnings -x "$2" "$here/use_installed.c" \
        -o "$tmp/static-$1" ${static//-ltalaria/-l:libtalaria.a} || return
    expect "shared libraries of $1's static program" '' "$(LC_ALL=C \
        readelf -d "$tmp/static-$1" | grep -F talaria)"
    run_program libdir "$tmp/static-$1"
}

# A program that carries na+sm inside itself, on the shared and on the static core.
# shellcheck disable=SC2046,SC2086
build_carrier() {
    local static
    quiet "$1, na+sm inside" "$1" $warnings -DCARRIED=na_plugin_v1_sm -x "$2" \
        "$here/use_installed.c" -o "$tmp/carrier-$1" \
        $(pkg-config --cflags --libs talaria talaria-sm) \
        -Wl,-rpath,"$libdir" && run_program registered "$tmp/carrier-$1"
    static=$(pkg-config --static --cflags --libs talaria talaria-sm)
    static=${static//-ltalaria /-l:libtalaria.a }
    quiet "$1, na+sm and the core inside" "$1" $warnings \
        -DCARRIED=na_plugin_v1_sm -x "$2" "$here/use_installed.c" \
        -o "$tmp/carrier-static-$1" $static || return
    expect "shared libraries of $1's carrier" '' "$(LC_ALL=C \
        readelf -d "$tmp/carrier-static-$1" | grep -F talaria)"
    run_program registered "$tmp/carrier-static-$1"
}

# check_plugins_d COMPILER: programs on both libraries find a manifest of the
# administrator, of a plugin in any folder.
check_plugins_d() {
    local manifests json
    manifests=$(pkg-config --variable=manifestdir talaria-plugin)
    json=$(find "$plugins" -name '*.json')
    mkdir -p "$manifests"
    mv "$plugins" "$tmp/anywhere"
    sed "s|libna_sm.so|$tmp/anywhere/libna_sm.so|" \
        "$tmp/anywhere/${json##*/}" >"$manifests/sm.json"
    run_program sysconf "$tmp/shared-$1"
    run_program sysconf "$tmp/static-$1"
    rm "$manifests/sm.json"
    mv "$tmp/anywhere" "$plugins"
}

# A project of CMake, which asks pkg-config.
build_cmake() {
    if ! have cmake; then
        echo 'left out: cmake is not installed'
        return
    fi
    mkdir "$tmp/cmake"
    cat >"$tmp/cmake/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(program C)
find_package(PkgConfig REQUIRED)
pkg_check_modules(TALARIA REQUIRED IMPORTED_TARGET talaria)
add_executable(program $here/use_installed.c)
target_link_libraries(program PkgConfig::TALARIA)
END
    quiet 'cmake' cmake -S "$tmp/cmake" -B "$tmp/cmake/build" &&
        quiet 'cmake --build' cmake --build "$tmp/cmake/build" &&
        run_program beside_core "$tmp/cmake/build/program"
}

check_mercury() {
    local name version
    expect 'headers installed with the util library' "$(
        {
            basename -a "$source_root"/core/{include,compat/util}/*.h \
                talaria_version.h
        } | sort
    )" "$(find "$prefix/include/talaria" -type f -printf '%P\n' | sort)"
    expect 'what libmercury.so, libna.so and libmercury_util.so are' \
        'libtalaria.so.0 libtalaria.so.0 libtalaria_util.so.0' \
        "$(readlink "$libdir"/lib{mercury,na,mercury_util}.so | paste -sd ' ')"
    for name in mercury na mercury_util; do
        quiet "$name.pc" pkg-config --print-errors --exists "$name"
        version=${name/#mercury/hg}
        version=$(awk -v prefix="$version" '
            $2 ~ toupper(prefix) "_VERSION_(MAJOR|MINOR|PATCH)" {
                printf "%s%s", dot, $3
                dot = "."
            }' "$prefix/include/talaria/${name}_config.h")
        expect "version of $name.pc" "$version" \
            "$(pkg-config --modversion "$name")"
    done
}

# run_util PROGRAM: it prints nothing, and needs no plugin.
run_util() {
    quiet "$1" env LD_LIBRARY_PATH="$libdir" timeout "$patience" "$1"
}

# The util library by pkg-config, shared and static, and by the linker's names.
# shellcheck disable=SC2046,SC2086
build_util() {
    local flags compiler=$1 source=$2
    flags=$(pkg-config --cflags mercury)
    quiet "$compiler, mercury_util" "$compiler" $warnings "$here/$source" \
        -o "$tmp/util" $(pkg-config --cflags --libs mercury mercury_util) &&
        run_util "$tmp/util"
    quiet "$compiler, -lmercury_util" "$compiler" $warnings "$here/$source" \
        -o "$tmp/util" $flags -L"$libdir" -lmercury -lna -lmercury_util &&
        run_util "$tmp/util"
    expect "what $compiler's program by -lmercury needs" \
        'libtalaria.so.0 libtalaria_util.so.0' "$(LC_ALL=C readelf -d \
            "$tmp/util" | grep -o 'libtalaria[^]]*' | sort | paste -sd ' ')"
    quiet "$compiler, libtalaria_util.a" "$compiler" $warnings \
        "$here/$source" -o "$tmp/util" $flags $(pkg-config --libs mercury) \
        "$libdir/libtalaria_util.a" -pthread && run_util "$tmp/util"
}

hg_info() {
    LD_LIBRARY_PATH=$libdir timeout "$patience" "$prefix/bin/hg_info" "$@"
}

check_hg_info() {
    local found
    found=$(hg_info | awk '$1 == "na" && NF == 3 { print $2 }')
    expect 'the protocol that hg_info lists' sm "$found"
    expect 'the protocol of hg_info na+sm' sm \
        "$(hg_info na+sm | awk '$1 == "na" { print $2 }')"
    found=$(hg_info -c | sed -n '/^class,protocol,device$/,$p' | cut -d, -f1,2)
    expect 'hg_info --csv' "$(printf 'class,protocol\nna,sm')" "$found"
    if have jq; then
        expect 'hg_info --json' 'na sm string' "$(hg_info --json |
            jq -r '.protocols[] | .class, .protocol, (.device | type)' |
            paste -sd ' ')"
    else
        echo 'left out: jq is not installed'
    fi
    hg_info na+nosuch >"$tmp/output" 2>&1 && fail 'hg_info finds na+nosuch'
    grep -q 'na+nosuch' "$tmp/output" || fail 'hg_info does not name na+nosuch'
    hg_info na sm >"$tmp/output" 2>&1 && fail 'hg_info takes two arguments'
    hg_info --help | grep -q -e --csv || fail 'hg_info --help'
}

# cmake_project FOLDER LANGUAGE PREFIX: find_package(mercury), its targets, in a
# prefix that CMake searches.
cmake_project() {
    local dir=$tmp/$1 util=$here/use_util.c
    [ "$2" = C ] || util=$here/use_util.cc
    mkdir "$dir"
    cp "$here/use_installed.c" "$dir/program.${2,,}"
    cat >"$dir/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(program $2)
set(CMAKE_CXX_STANDARD 11)
find_package(mercury 2.3 REQUIRED COMPONENTS mercury na mercury_util)
add_executable(program program.${2,,})
target_link_libraries(program mercury)
add_executable(below program.${2,,})
target_link_libraries(below na)
add_executable(util $util)
target_link_libraries(util mercury mercury_util)
add_executable(scoped $util)
target_link_libraries(scoped mercury::mercury mercury::mercury_util)
file(WRITE \${CMAKE_BINARY_DIR}/version "\${mercury_VERSION}")
find_package(mercury 2.4 REQUIRED)
find_package(mercury QUIET 3.0)
if(mercury_FOUND)
  message(FATAL_ERROR "what is found claims to be version 3")
endif()
find_package(mercury QUIET 2.99)
if(mercury_FOUND)
  message(FATAL_ERROR "what is found claims to be version 2.99")
endif()
END
    quiet "cmake, mercury, $2" cmake -S "$dir" -B "$dir/build" \
        -DCMAKE_PREFIX_PATH="$3" -DCMAKE_"$2"_FLAGS="$warnings" &&
        quiet "cmake --build, mercury, $2" cmake --build "$dir/build" || return
    expect 'version of the CMake package' \
        "$(pkg-config --modversion mercury)" "$(cat "$dir/build/version")"
    run_program beside_core "$dir/build/program"
    run_program beside_core "$dir/build/below"
    run_util "$dir/build/util"
    run_util "$dir/build/scoped"
}

# A plugin outside of our tree, by its author's Makefile. It does not export symbols
# of libtalaria-plugin.a, with and without --exclude-libs.
# shellcheck disable=SC2046,SC2086
build_plugin() {
    local object=$plugins/libna_probe.so listed exclude
    cp "$here/../plugins/probe.c" "$tmp/probe.c"
    for exclude in '' -Wl,--exclude-libs,ALL; do
        (cd "$tmp" && quiet "a plugin, $1 $exclude" "$1" -shared -fPIC \
            -fvisibility=hidden $warnings -Wno-unused-parameter probe.c \
            -o "$object" $(pkg-config --cflags --libs talaria-plugin) $exclude \
            -Wl,-z,defs) || {
            failures=$((failures + 1))
            return
        }
        nm "$object" | grep -q ' tp_report_entries$' ||
            fail "$1's plugin has nothing of libtalaria-plugin.a"
        quiet "what $1's plugin exports" \
            "$here/../abi/symbols.sh" --plugin "$object"
    done
    quiet 'talaria manifest' talaria manifest "$object" \
        -o "$plugins/probe.json"
    listed=$(talaria info 2>&1)
    [[ $listed = *probe*1.2.3* ]] ||
        fail "talaria info doesn't list $1's plugin: $listed"
    rm -f "$object" "$plugins/probe.json"
}

# Meson's default for such a prefix on some Debians, which CMake does not search.
quiet 'meson setup' "$meson" setup "$tmp/build" "$source_root" \
    --prefix "$prefix" --libdir lib64 --buildtype debug -Dtests=false \
    -Dofi=disabled -Ducx=disabled || finish installed.sh
quiet 'ninja' ninja -C "$tmp/build" || finish installed.sh
quiet 'meson install' "$meson" install -C "$tmp/build" --no-rebuild ||
    finish installed.sh

libdir=$(dirname "$(find "$prefix" -name libtalaria.a)")
plugins=$libdir/talaria/plugins-1
export PKG_CONFIG_PATH=$libdir/pkgconfig
check_layout
check_destdir
check_pkg_config

# shellcheck disable=SC2086
{
    mapfile -t c_compilers < <(compilers ${CC:-gcc clang})
    mapfile -t cxx_compilers < <(compilers ${CXX:-g++ clang++})
}
[ ${#c_compilers[@]} -gt 0 ] || fail 'no C compiler'
[ ${#cxx_compilers[@]} -gt 0 ] || fail 'no C++ compiler'
for compiler in "${c_compilers[@]}"; do
    build_programs talaria "$compiler" c
    build_carrier "$compiler" c
    build_plugin "$compiler"
done
for compiler in "${cxx_compilers[@]}"; do
    build_programs talaria "$compiler" c++
    build_carrier "$compiler" c++
done
build_cmake
check_plugins_d "${c_compilers[0]}"

quiet 'meson configure' "$meson" configure "$tmp/build" -Dmercury_compat=true ||
    finish installed.sh
quiet 'ninja, mercury' ninja -C "$tmp/build" || finish installed.sh
quiet 'meson install, mercury' "$meson" install -C "$tmp/build" --no-rebuild ||
    finish installed.sh
check_mercury
check_hg_info
build_programs mercury "${c_compilers[0]}" c
build_programs na "${cxx_compilers[0]}" c++
build_util "${c_compilers[0]}" use_util.c
build_util "${cxx_compilers[0]}" use_util.cc
if have cmake; then
    cmake_project mercury-c C "$prefix"
    cmake_project mercury-cxx CXX "$prefix"
fi

# A moved installation finds its plugins.
mv "$prefix" "$tmp/moved"
for compiler in "${c_compilers[@]}"; do
    LD_LIBRARY_PATH=${libdir/"$prefix"/"$tmp/moved"} \
        run_program beside_core "$tmp/shared-$compiler"
done
if have cmake; then
    PKG_CONFIG_PATH=${libdir/"$prefix"/"$tmp/moved"}/pkgconfig \
        cmake_project mercury-moved C "$tmp/moved"
fi
finish installed.sh
