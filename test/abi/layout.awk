# SPDX-License-Identifier: BSD-3-Clause
# Converts a snapshot to a C file that compiles only with a header of the same
# layout. A sized table may have grown at its end, and ABI_MINOR may be larger;
# nothing else may differ. The optional entries are the same, since a core of the
# older minor relies on the others. reserved_zero may have any meaning: the fields
# around it are checked.

BEGIN {
    print "#include \"na_plugin.h\""
    print "#define SAME(type, name, expected) __builtin_types_compatible_p( \\"
    print "    __typeof__(&((type *) 0)->name), expected *)"
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

$1 == "optional" {
    optional[$2] = 1
}

$1 == "field" && $2 == "na_plugin_ops" && /\(\*@\)/ {
    entries[++entry_count] = $3
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

# Each entry of the list becomes a member, and so does each required entry: one
# that is both is declared twice.
END {
    if (entry_count == 0)
        exit
    print "#define LISTED(entry) char optional_##entry;"
    print "struct entries {"
    print "    NA_PLUGIN_OPS_OPTIONAL(LISTED)"
    for (i = 1; i <= entry_count; i++)
        if (!(entries[i] in optional))
            printf "    char optional_%s; /* was required */\n", entries[i]
    print "};"
    for (name in optional)
        printf "_Static_assert(sizeof(((struct entries *) 0)->optional_%s), " \
            "\"%s: was optional\");\n", name, name
}
