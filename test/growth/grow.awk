# SPDX-License-Identifier: BSD-3-Clause
# Simulates the next minor version: na_plugin.h with a new member at the end of each
# sized table. Fails unless it has found all of them.
function grow(name) {
    if (name ~ /^na_plugin(_host|_open_info|_opened|_device|_setting|_mem_info)?$/)
        print "    uint64_t grown;"
    else
        print "    int32_t (*grown)(na_plugin_class *cls);"
    count++
}
/^#define NA_PLUGIN_ABI_MINOR 0$/ { sub(/0$/, "1"); minor = 1 }
/^} na_plugin[a-z_]*;$/ {
    name = $2
    sub(/;/, "", name)
    if (sized)
        grow(name)
}
/^typedef struct na_plugin/ { sized = 0 }
/^    uint32_t size;/ { sized = 1 }
{ print }
END {
    if (count != 12 || !minor) {
        print "grow.awk: " count " tables of 12, minor: " minor \
            >"/dev/stderr"
        exit 1
    }
}
