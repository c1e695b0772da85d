#!/bin/sh
# Runs the scenarios in ns-2 and in ours, and compares them. Exit code 0 if they agree, 1 if not, 2 if ns-2 is missing.
# `--store` keeps what ns-2 did in ns2.csv and scripted.csv, which `cargo test -p guestright-transport` compares with.
# `--quick` leaves out the runs of many calls.
set -eu

here=$(cd -- "$(dirname -- "$0")" && pwd)
store=no
quick=no
case ${1:-} in
--store) store=yes ;;
--quick) quick=yes ;;
'') ;;
*)
    echo "usage: sh crates/sim/transport/compare/run.sh [--store | --quick]" >&2
    exit 2
    ;;
esac
if ! command -v ns >/dev/null 2>&1; then
    echo "run.sh: ns-2 is missing; apt-get install ns2 (or: sh scripts/setup.sh bench)" >&2
    exit 2
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
version="# ns-2 $(dpkg-query -W -f '${Version}' ns2 2>/dev/null || echo "of unknown version"), compare/run.sh --store"
cd "$here"
compare() {
    cargo run --quiet --release --package guestright-transport --example compare_ns2 -- "$@"
}

{
    echo "$version"
    echo "# script,agent,heard,acknowledged,sends (see script.rs)"
    while read -r name source lost acks seconds; do
        case $name in '#'*) continue ;; esac
        for agent in Reno Newreno Vegas; do
            ns scripted.tcl $agent "$source" "$lost" "$acks" "$seconds" >"$folder/trace"
            compare pack "$name,$agent" <"$folder/trace"
        done
    done <scripted.txt
} >"$folder/scripted.csv"

compare files "$folder" >"$folder/runs"
{
    echo "$version"
    echo "# agent,flows,bulk,ppm,seed,made,sent,heard,late,heard_squares,again,timeouts,first_drops,second_drops,lost,acks_lost,bulk_heard,bulk_drops"
    if [ "$quick" = yes ]; then
        grep 'UDP .*,0,0,' "$folder/runs"
    else
        cat "$folder/runs"
    fi | while read -r agent load name; do
        ns path.tcl "$agent" "$load" 60 300 "$name"
    done
} >"$folder/ns2.csv"

if [ "$store" = yes ]; then
    cp "$folder/ns2.csv" "$folder/scripted.csv" "$here"
fi
compare judge "$folder/ns2.csv" "$folder/scripted.csv"
