#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Output and input of talaria perf: JSON against its schema, CSV, tables,
# comparisons, pictures, and invalid files.
#
#   test_perf_output.sh BUILD_DIR
. "$(dirname "$0")/lib.sh"
export TALARIA_PLUGIN_PATH="${1:?usage: $0 BUILD_DIR}/plugins/sm"

schema=$(dirname "$0")/../../tools/perf/result.schema.json
for name in python3 gnuplot; do
    command -v "$name" >/dev/null || { echo "skipped: no $name"; exit 77; }
done
python3 -c 'import jsonschema' 2>/dev/null ||
    { echo "skipped: no jsonschema for python3 to check JSON with"; exit 77; }

# The last output is valid.
valid() {
    python3 - "$schema" "$out" >"$err" 2>&1 <<'EOF' || fail "$ran: not valid"
import json, sys
import jsonschema
schema, value = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft7Validator.check_schema(schema)
jsonschema.Draft7Validator(schema).validate(value)
EOF
}

# measure FILE ARGUMENT...: writes a result to FILE.
measure() {
    file=$folder/$1
    shift
    run 0 perf "$@" --local na+sm --duration 0.01 --json
    err_empty
    valid
    cp "$out" "$file"
}

label='it'"'"'s `touch here` "$(touch here)" <b>&\n'
measure one.json lat --size 0,64,1K --rounds 7 --label "$label"
json '.format == "1.3" and .settings.level == "rpc" and .settings.local'
json '[.points[].size_bytes] == [0, 64, 1024]'
json '.points | all(.test == "lat" and .unit == "ns" and
    (.rounds | length) == 7 and .summary.median_ns > 0 and
    .summary.min_ns <= .summary.median_ns and
    .summary.median_ns <= .summary.max_ns)'
json '.points | all(.rounds | all(.operations > 0 and .elapsed_ns > 0 and
    .value_ns > 0 and .peer_value_ns == null))'
measure two.json lat --size 64,1K --rounds 7 --busy
measure rate.json rate --rounds 2
json '.points[0] | .test == "rate" and .summary.median_ops_per_s > 0 and
    .summary.median_low95_ops_per_s == null'
measure na.json lat --level na --rounds 2
json '.settings.level == "na" and .points[0].summary.median_ns > 0'
measure bw.json bw --level bulk --size 4K --rounds 2
json '[.points[].test] == ["bw_read", "bw_write"]'
json '.points | all(.summary.median_bytes_per_s > 0)'

# A table and CSV.
# Six rounds give an interval; slow ones, beside other tests, are not counted.
run 0 perf lat --local na+sm --duration 0.01 --rounds 20
err_empty
out_has "SIZE"
out_has "95 % INTERVAL"
out_has "64 B"
out_has "level rpc"
run 0 perf lat --local na+sm --duration 0.01 --rounds 2 --csv --label 'a,"b"'
err_empty
out_has '"a,""b""",na+sm,rpc,lat,64,ns,'
python3 - "$out" >"$err" 2>&1 <<'EOF' || fail "$ran: no good CSV"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert len(rows) == 1, rows
row = rows[0]
assert row["label"] == 'a,"b"' and row["unit"] == "ns", row
assert int(row["counted_rounds"]) + int(row["slow_rounds"]) == 2, row
assert float(row["median"]) > 0 and row["median_low95"] == "", row
assert None not in row and None not in row.values(), row
EOF

# make FILE FACTOR: a result with rounds of 100 to 114 times FACTOR.
make() {
    jq --argjson factor "$2" '.points |= map(.rounds = [range(15) as $i |
        .rounds[0] | .value_ns = (100 + $i) * $factor | .slow = false])' \
        "$folder/two.json" >"$folder/$1"
}
make base.json 1
make same.json 1.001
make worse.json 1.5
make better.json 0.5
cp "$folder/base.json" "$out"
ran="a result that was made"
valid

run 0 perf compare "$folder/base.json" "$folder/same.json"
err_empty
out_has "1.001"
out_has "no difference"
run 0 perf compare "$folder/base.json" "$folder/worse.json"
out_has "1.500"
out_has "worse"
run 0 perf compare "$folder/base.json" "$folder/better.json" --fail-worse 1
out_has "better"
run 0 perf compare "$folder/base.json" "$folder/same.json" --fail-worse 0
run 0 perf compare "$folder/base.json" "$folder/worse.json" --fail-worse 50
run 1 perf compare "$folder/base.json" "$folder/worse.json" --fail-worse 40
err_has "worse by more than 40 percent"
run 0 perf compare "$folder/base.json" "$folder/worse.json" --json
json '.points | length == 2 and all(.b_is == "worse" and .failed == false and
    (.ratio - 1.5 | fabs) < 0.001 and .ratio_low95 > 1.4 and
    .ratio_high95 < 1.6)'
json '.differences == []'
# Of rates, more is better.
jq '.points |= map(.rounds = [range(15) as $i | .rounds[0] |
    .value_ops_per_s = 100 + $i | .slow = false])' \
    "$folder/rate.json" >"$folder/rate1.json"
jq '.points[].rounds[].value_ops_per_s *= 2' \
    "$folder/rate1.json" >"$folder/rate2.json"
run 0 perf compare "$folder/rate1.json" "$folder/rate2.json" --fail-worse 0
out_has "better"
run 1 perf compare "$folder/rate2.json" "$folder/rate1.json" --fail-worse 40
run 0 perf compare "$folder/rate2.json" "$folder/rate1.json" --fail-worse 60
# Points of one file only, different settings, nothing in common.
run 0 perf compare "$folder/one.json" "$folder/two.json"
err_has "1 points of A and 0 of B are not in the other one"
out_has "differs: busy is false in A, true in B"
run 1 perf compare "$folder/one.json" "$folder/bw.json"
err_has "no point in common"
run 2 perf compare "$folder/one.json"
run 2 perf compare "$folder/one.json" "$folder/two.json" "$folder/two.json"
run 2 perf compare "$folder/one.json" "$folder/two.json" --fail-worse x

# Pictures: lines, bars, panels. Labels are not executed, nor parsed as XML.
title='a `touch here` $(touch here) '"'"'; !touch here'
cd "$folder" || exit 99
for kind in svg png; do
    run 0 perf plot one.json two.json -o "lines.$kind" --title "$title"
    err_empty
    run 0 perf plot rate.json rate1.json rate2.json -o "bars.$kind"
    err_empty
    run 0 perf plot one.json rate.json bw.json -o "panels.$kind"
    err_empty
done
[ ! -e here ] || fail "a label was run"
python3 - >"$out" 2>"$err" <<'EOF' || fail "a picture is invalid"
import xml.etree.ElementTree as tree
for name, texts in (("lines", ["1 K", "two.json", "it's `touch here`",
                               "a `touch here` $(touch here)"]),
                    ("bars", ["rate.json", "/s"]),
                    ("panels", ["bw.json, bw_write", "Bandwidth, MiB/s"])):
    svg = tree.parse(name + ".svg").getroot()
    assert svg.tag.endswith("svg"), svg.tag
    words = " ".join("".join(svg.itertext()).replace("\u00a0", " ").split())
    for text in texts:
        assert text in words, (name, text, words)
    png = open(name + ".png", "rb").read()
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and png[-8:-4] == b"IEND", name
    assert len(png) > 5000, (name, len(png))
EOF
run 2 perf plot one.json -o picture.pdf
err_has ".svg"
run 2 perf plot one.json
run 2 perf plot -o picture.svg
run 1 perf plot one.json -o nowhere/picture.svg
err_has "nowhere/picture.svg"
PATH=$folder/empty run 1 perf plot one.json -o picture.svg
err_has "gnuplot is not installed"
[ ! -e picture.svg ] || fail "a file without a picture was written"

# Invalid result files. The unit tests have many more.
head -c 1000 one.json >cut.json
echo '{}' >empty.json
jq '.format = "2.0"' one.json >newer.json
jq '.points[1].rounds[2].value_ns = -1' one.json >below.json
jq '.points[0].test = "laterality"' one.json >unknown.json
for file in nowhere cut empty newer below unknown; do
    run 1 perf compare one.json "$file.json"
    err_has "$file.json: "
    run 1 perf plot "$file.json" -o picture.svg
    err_has "$file.json: "
done
err_has "points[0].test is unknown"
run 1 perf compare one.json below.json
err_has "points[1].rounds[2].value_ns"
run 1 perf compare newer.json one.json
err_has "its format is 2.0, this program reads 1"
finish
