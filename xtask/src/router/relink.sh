#!/bin/sh
# Links a router's program: first as Zig does, then once more by Zig's linker with $GUESTRIGHT_LINK, options that Zig does not
# let through, and with the functions' names, which Zig leaves out where debug information is to be left out.
# $GUESTRIGHT_TARGET is Rust's name of the processor, with underscores, by which cargo-zigbuild names its compiler of C. Paths
# have no spaces.
set -eu
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
ZIG_VERBOSE_LINK=1 "$(printenv "CC_$GUESTRIGHT_TARGET")" "$@" 2>"$lines" || {
    cat "$lines" >&2
    exit 1
}
# Libraries that others could load are nothing that a router has.
case " $* " in *" -shared "*) exit 0 ;; esac
line=$(grep '^ld\.lld ' "$lines" | tail -n 1 | sed 's/ -s / /')
[ -n "$line" ] || {
    echo "relink.sh: Zig has not printed how it links: is it another version than that of scripts/setup.sh?" >&2
    exit 1
}
zig=zig
if command -v python-zig >/dev/null; then
    zig=python-zig
fi
# shellcheck disable=SC2086 # Words of a command.
$zig $line $GUESTRIGHT_LINK --script="$(dirname "$0")/relink.ld"
