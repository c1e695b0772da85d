#!/bin/sh
# Whether the quick runs of papers A to D have the same Parquet bytes with one thread, with many, and in shards that are merged.
#
#     sh scripts/same_bytes.sh PROGRAM [PLAN...]
#
# PROGRAM is a guestright-lab. Prints a line for each plan, and its SHA-256. Exit code 0 if all are the same, 1 if not.
set -eu

if [ $# -lt 1 ]; then
    echo "usage: sh scripts/same_bytes.sh PROGRAM [PLAN...]" >&2
    exit 64
fi
program=$1
shift
[ $# -gt 0 ] || set -- paper-a paper-b paper-c paper-d

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

lab() { # a name for errors, arguments
    name=$1
    shift
    if ! "$program" "$@" >"$folder/log" 2>&1; then
        echo "same_bytes.sh: $name failed:" >&2
        tail -n 20 "$folder/log" >&2
        exit 1
    fi
}

for paper; do
    begin=$(date +%s)
    lab "one thread of $paper" run "$paper" --quick --on sim --threads 1 --fail-on never --out "$folder/one"
    one=$(($(date +%s) - begin))
    lab "many threads of $paper" run "$paper" --quick --on sim --threads 8 --fail-on never --out "$folder/many"
    for shard in 1 2 3; do
        lab "shard $shard of $paper" run "$paper" --quick --on sim --shard "$shard/3" --out "$folder/shards"
    done
    lab "merging $paper" merge "$folder/shards" --fail-on never --out "$folder/merged"
    for rows in "$folder"/one/*/rows.parquet; do
        plan=$(basename "$(dirname "$rows")")
        sum=$(sha256sum <"$rows" | cut -c1-64)
        verdict="the same bytes: one thread, 8 threads, 3 shards"
        for other in many merged; do
            if ! cmp -s "$rows" "$folder/$other/$plan/rows.parquet"; then
                verdict="DIFFERS: one thread and $other"
                failed=1
            fi
        done
        echo "$paper/$plan: $verdict, $sum"
    done
    echo "$paper: $one s with one thread"
    rm -rf "$folder/one" "$folder/many" "$folder/shards" "$folder/merged"
done
exit "$failed"
