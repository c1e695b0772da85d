#!/bin/sh
# Runs saturated cells of 802.11n, ac and ax in ns-3, and writes its rows to today.csv, which `cargo test -p guestright-wlan`
# compares with: some twenty minutes. Exit code 2 if ns-3 is missing.
set -eu

here=$(cd -- "$(dirname -- "$0")" && pwd)
if ! [ -e /usr/include/ns3/wifi-module.h ] || ! command -v g++ >/dev/null 2>&1; then
    echo "today.sh: ns-3 is missing; apt-get install libns3-dev g++ (or: sh scripts/setup.sh bench)" >&2
    exit 2
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
g++ -std=c++17 -O2 "$here/today.cc" -o "$folder/today" \
    -lns3-wifi -lns3-mobility -lns3-propagation -lns3-network -lns3-core
{
    echo "format,stations,bars,seconds,run,delivered,given_up"
    for format in n1 ac ax n; do
        # Frames of 802.11n are long, and who has the medium keeps it for long: a mean needs more time.
        seconds=5
        [ "$format" != n ] || seconds=20
        for stations in 1 2 5 10; do
            for bars in 1 0; do
                for run in 1 2 3; do
                    "$folder/today" "$format" "$stations" "$seconds" "$run" "$bars"
                done
            done
        done
    done
} >"$folder/today.csv"
mv "$folder/today.csv" "$here/today.csv"
