#!/bin/sh
# Runs the scenarios in ns-3 and in ours, and compares them. Exit code 0 if they agree, 1 if not, 2 if ns-3 is missing.
# `--store` writes the rows of ns-3 to ns3.csv, which `cargo test -p guestright-wlan` compares with.
set -eu

here=$(cd -- "$(dirname -- "$0")" && pwd)
store=no
case ${1:-} in
--store) store=yes ;;
'') ;;
*)
    echo "usage: sh crates/sim/wlan/compare/run.sh [--store]" >&2
    exit 2
    ;;
esac

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if ! [ -e /usr/include/ns3/wifi-module.h ] || ! command -v g++ >/dev/null 2>&1; then
    echo "run.sh: ns-3 is missing; apt-get install libns3-dev g++ (or: sh scripts/setup.sh bench)" >&2
    exit 2
fi
g++ -std=c++17 -O2 "$here/scenario.cc" -o "$folder/scenario" \
    -lns3-wifi -lns3-mobility -lns3-propagation -lns3-network -lns3-core

rows() { # how many runs, arguments of the scenario
    runs=$1
    shift
    "$folder/scenario" --seconds=60 --warmup=5 --runs="$runs" "$@"
}
{
    echo "# ns-3 $(dpkg-query -W -f '${Version}' libns3-dev 2>/dev/null || echo "of unknown version"), compare/run.sh --store"
    echo "# scenario,channels,bytes,calls,run,offered,delivered,arrived,delay_ns,variation_ns"
    rows 10 --scenario=one-way --calls=10,20,23,24,25,30
    rows 10 --scenario=one-way --bytes=200 --calls=20,21,22,30
    rows 10 --scenario=both-ways --calls=5,10,13,14,15,20,30
    rows 10 --scenario=two-cells --channels=1 --calls=3,6,7
    rows 30 --scenario=two-cells --channels=1 --calls=8,10,15
    rows 10 --scenario=two-cells --channels=2 --calls=7,13,14
    rows 30 --scenario=two-cells --channels=2 --calls=15,20
} >"$folder/ns3.csv"
[ "$store" = no ] || cp "$folder/ns3.csv" "$here/ns3.csv"

cd "$here"
cargo run --quiet --release --package guestright-wlan --example compare_ns3 <"$folder/ns3.csv"
