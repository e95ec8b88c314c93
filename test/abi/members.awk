# SPDX-License-Identifier: BSD-3-Clause
# From a flattened header: its constants, structs and fields, one a line.
#   const NAME | string NAME | struct NAME sized|frozen
#   field STRUCT NAME DECLARATOR      with @ in place of the name
#   optional NAME                     an entry of NA_PLUGIN_OPS_OPTIONAL
# A table with its own size in a field "size" is sized: it may grow at its end.
# Any other struct is frozen. Fails for a declaration that it cannot parse.

function refuse(what)
{
    print "members.awk: cannot read: " what > "/dev/stderr"
    failed = 1
    exit 1
}

# Prints the struct that ends here, with its fields.
function flush_struct(    i, sized)
{
    sized = "frozen"
    for (i = 1; i <= count; i++)
        if (names[i] == "size" && declarators[i] == "uint32_t @")
            sized = "sized"
    print "struct " current " " sized
    for (i = 1; i <= count; i++)
        print "field " current " " names[i] " " declarators[i]
}

function add(text,    name, rest, at, inside, i, c)
{
    sub(/ *;$/, "", text)
    gsub(/\( /, "(", text)
    gsub(/ \)/, ")", text)
    if (match(text, /\(\*[A-Za-z_][A-Za-z0-9_]*\)\(/)) {
        name = substr(text, RSTART + 2, RLENGTH - 4)
        at = RSTART + 2
    } else if (match(text, /[A-Za-z_][A-Za-z0-9_]*(\[[^]]*\])?$/)) {
        at = RSTART
        rest = substr(text, at)
        match(rest, /^[A-Za-z_][A-Za-z0-9_]*/)
        name = substr(rest, 1, RLENGTH)
    } else {
        refuse(text)
    }
    inside = 0
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "(")
            inside++
        if (c == ")")
            inside--
        if (inside == 0 && c == ",")
            refuse("more than one field in: " text)
    }
    count++
    names[count] = name
    declarators[count] = substr(text, 1, at - 1) "@" \
        substr(text, at + length(name))
}

# Functions are skipped.
depth > 0 || (current == "" && /\) \{$/) {
    depth += gsub(/\{/, "{") - gsub(/\}/, "}")
    next
}

/^#define [A-Z_][A-Z0-9_]* / {
    if ($2 != "NA_PLUGIN_EXPORT")
        print ($3 ~ /^"/ ? "string " : "const ") $2
    next
}

/^#define NA_PLUGIN_OPS_OPTIONAL\(entry\) / {
    text = substr($0, index($0, ")") + 1)
    while (match(text, /entry\([a-z_]+\)/)) {
        print "optional " substr(text, RSTART + 6, RLENGTH - 7)
        text = substr(text, RSTART + RLENGTH)
    }
    next
}

/^#/ {
    next
}

/^typedef struct [A-Za-z_0-9]+ \{$/ {
    if (current != "")
        refuse($0)
    current = $3
    count = 0
    next
}

current != "" && /^\}/ {
    if ($0 != "} " current ";")
        refuse($0)
    flush_struct()
    current = ""
    next
}

current != "" {
    if ($0 ~ /[{}]/)
        refuse($0)
    add($0)
    next
}

/^typedef struct [A-Za-z_0-9]+ [A-Za-z_0-9]+;$/ || /^extern "C" \{$/ || /^\}$/ {
    next
}

{
    refuse($0)
}

END {
    if (!failed && current != "")
        refuse("the end of struct " current " is missing")
}
