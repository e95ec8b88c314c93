# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Installs a build below another folder, for tests that build on it.

# stage MESON BUILD_DIR FOLDER: installs there, and lets pkg-config, the loader and
# PATH find it. If it fails, its output is in FOLDER.output.
stage() {
    local file folder prefix
    DESTDIR=$3 "$1" install -C "$2" --no-rebuild --quiet >"$3.output" 2>&1 ||
        return
    rm "$3.output"
    folder=$(dirname "$(find "$3" -name talaria.pc)")
    # Only these files contain their prefix.
    for file in "$folder"/talaria*.pc; do
        prefix=$(sed -n 's/^prefix=//p' "$file")
        sed -i "s|^prefix=.*|prefix=$3$prefix|" "$file"
    done
    export PKG_CONFIG_PATH=$folder LD_LIBRARY_PATH=${folder%/pkgconfig}
    export PATH=$3$prefix/bin:$PATH
}

# plugins_d STAGE MANIFEST OBJECT: adds an administrator's manifest of an object in
# another folder. Sets within to a command that runs its arguments in a mount
# namespace, with the staged folder of manifests at the core's path; fails where
# these are not permitted.
plugins_d() {
    local there real
    there=$(pkg-config --variable=manifestdir talaria-plugin)
    real=${there#"$1"}
    real=${real%/talaria/plugins.d}
    mkdir -p "$there"
    python3 -c 'import json, sys
manifest = json.load(open(sys.argv[1]))
manifest["plugin"]["library_path"] = sys.argv[2]
json.dump(manifest, open(sys.argv[3], "w"))' \
        "$2" "$3" "$there/$(basename "$2")" || return
    chmod -R go-w "$there"
    within=$1.within
    cat >"$within" <<END
#!/bin/sh
[ "\$(id -u)" -eq 0 ] && map= || map=--map-root-user
exec unshare --mount \$map /bin/sh -c \
    'mount --bind "$1$real" "$real" && exec "\$@"' sh "\$@"
END
    chmod 755 "$within"
    "$within" true 2>"$1.output"
}
