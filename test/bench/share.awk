# The instructions in a callgrind profile that objects whose path matches OURS
# executed themselves: awk -v ours=OURS -f share.awk PROFILE. An object is named at
# its first use; the line after calls= is the cost of the callee.
/^c?ob=/ {
    called = /^cob=/
    sub(/^c?ob=/, "")
    id = $1
    if (NF > 1)
        counts[id] = $2 ~ ours
    if (!called)
        object = id
    next
}
/^calls=/ { getline; next }
/^[0-9+*-]/ && counts[object] { sum += $2 }
END { printf "%d\n", sum }
