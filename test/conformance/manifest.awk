# SPDX-License-Identifier: BSD-3-Clause
# Writes the manifest of the wire plugin from the file variants, in the format of
# talaria manifest. -v name=NAME: the plugin's name.
BEGIN {
    printf "{\n  \"format\": \"1.0\",\n  \"plugin\": {\n"
    printf "    \"name\": \"%s\",\n    \"version\": \"1.0\",\n", name
    printf "    \"library_path\": \"libna_%s.so\",\n", name
    printf "    \"abi\": {\n      \"major\": 1,\n      \"minor\": 0,\n"
    printf "      \"min_host_minor\": 0\n    },\n    \"protocols\": ["
}

/^[a-z]/ {
    printf "%s\n      \"%s\"", comma, $1
    comma = ","
}

END {
    printf "\n    ],\n    \"priority\": -100\n  }\n}\n"
}
