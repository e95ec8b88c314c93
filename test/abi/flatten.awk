# SPDX-License-Identifier: BSD-3-Clause
# Prints a C header without comments, one preprocessor line, one statement or
# one brace a line, blanks collapsed: what the other checks read.

# Strings keep what is in them; a comment counts as a blank.
function strip(line,    out, c, two)
{
    out = ""
    while (line != "") {
        if (in_comment) {
            c = index(line, "*/")
            if (c == 0)
                return out
            line = substr(line, c + 2)
            in_comment = 0
            out = out " "
            continue
        }
        two = substr(line, 1, 2)
        if (two == "/*") {
            in_comment = 1
            line = substr(line, 3)
        } else if (two == "//") {
            return out
        } else if (match(line, /^"([^"\\]|\\.)*"/)) {
            out = out substr(line, 1, RLENGTH)
            line = substr(line, RLENGTH + 1)
        } else {
            out = out substr(line, 1, 1)
            line = substr(line, 2)
        }
    }
    return out
}

function tidy(text)
{
    gsub(/[ \t\r]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    return text
}

function put(text)
{
    text = tidy(text)
    if (text != "")
        print text
}

# Code is cut after ';' and '{', and before '}'.
function code(text,    i, c)
{
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "}") {
            put(pending)
            pending = ""
        }
        pending = pending c
        if (c == ";" || c == "{") {
            put(pending)
            pending = ""
        }
    }
    pending = pending " "
}

{
    text = strip($0)
    if (directive != "" || text ~ /^[ \t]*#/) {
        if (text ~ /\\[ \t]*$/) {
            sub(/\\[ \t]*$/, " ", text)
            directive = directive text
            next
        }
        put(pending)
        pending = ""
        put(directive text)
        directive = ""
        next
    }
    code(text)
}

END {
    put(pending)
}
