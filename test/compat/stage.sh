# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What a build installs, below another folder: for tests of what is built on it.

# stage MESON BUILD_DIR FOLDER: installs there, and lets pkg-config, the loader and
# PATH find it. If it fails, its output is in FOLDER.output.
stage() {
    local file folder prefix
    DESTDIR=$3 "$1" install -C "$2" --no-rebuild --quiet >"$3.output" 2>&1 ||
        return
    rm "$3.output"
    folder=$(dirname "$(find "$3" -name talaria.pc)")
    # Only these files are not where they say they are.
    for file in "$folder"/talaria*.pc; do
        prefix=$(sed -n 's/^prefix=//p' "$file")
        sed -i "s|^prefix=.*|prefix=$3$prefix|" "$file"
    done
    export PKG_CONFIG_PATH=$folder LD_LIBRARY_PATH=${folder%/pkgconfig}
    export PATH=$3$prefix/bin:$PATH
}
