# SPDX-License-Identifier: BSD-3-Clause
# From a snapshot: a C file that compiles only with a header that still lays
# out everything in it as it was. A sized table may have grown at its end, and
# ABI_MINOR may have; nothing else may differ. What reserved_zero became is not
# asked: the fields around it stay where they are.

BEGIN {
    print "#include \"na_plugin.h\""
    print "#define SAME(type, name, want) __builtin_types_compatible_p( \\"
    print "    __typeof__(&((type *) 0)->name), want *)"
}

$1 == "const" {
    relation = $2 == "NA_PLUGIN_ABI_MINOR" ? ">=" : "=="
    printf "_Static_assert((%s) %s (%s), \"%s: was %s\");\n", $2, relation, \
        $3, $2, $3
}

$1 == "string" {
    printf "_Static_assert(__builtin_strcmp(%s, \"%s\") == 0, " \
        "\"%s: was %s\");\n", $2, $3, $2, $3
}

$1 == "struct" {
    if ($3 == "frozen")
        printf "_Static_assert(sizeof(%s) == %s, " \
            "\"%s: frozen at %s bytes\");\n", $2, $4, $2, $4
    else
        printf "_Static_assert(sizeof(%s) >= %s, " \
            "\"%s: had %s bytes\");\n", $2, $4, $2, $4
    printf "_Static_assert(_Alignof(%s) == %s, " \
        "\"%s: was aligned to %s\");\n", $2, $5, $2, $5
}

$1 == "field" && $3 != "reserved_zero" {
    where = $2 "." $3
    type = $0
    sub(/^field [^ ]+ [^ ]+ [^ ]+ [^ ]+ /, "", type)
    text = type
    sub(/@/, "was_" ++fields, type)
    sub(/ *@/, "", text)
    printf "_Static_assert(offsetof(%s, %s) == %s, " \
        "\"%s: was at offset %s\");\n", $2, $3, $4, where, $4
    printf "_Static_assert(sizeof(((%s *) 0)->%s) == %s, " \
        "\"%s: had %s bytes\");\n", $2, $3, $5, where, $5
    printf "typedef %s;\n", type
    printf "_Static_assert(SAME(%s, %s, was_%d), \"%s: was of type %s\");\n", \
        $2, $3, fields, where, text
}
