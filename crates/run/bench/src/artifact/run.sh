#!/bin/sh
# Makes the runs: ./run.sh [quick|full] [PLAN...]. Results are written to results/LEVEL. A call that was interrupted goes
# on where it was, and one after it makes the same results again.
set -eu
# A path from where the call was made.
case ${GUESTRIGHT_LAB:-} in /*) ;; */*) GUESTRIGHT_LAB=$PWD/$GUESTRIGHT_LAB ;; esac
cd "$(dirname "$0")"
level=${1:-quick}
[ $# -eq 0 ] || shift
case $level in
quick) options="--quick" ;;
full) options="@FULL_OPTIONS@" ;;
*) echo "run.sh: $level is neither quick nor full" >&2; exit 64 ;;
esac
[ -d "expected/$level" ] || { echo "run.sh: this artifact has no results of the level $level" >&2; exit 64; }
lab=${GUESTRIGHT_LAB:-guestright-lab}
if [ -z "${GUESTRIGHT_LAB:-}" ] && [ -x bin/guestright-lab ]; then lab=bin/guestright-lab; fi
command -v "$lab" > /dev/null || {
    echo "run.sh: there is no program $lab; build it as README.md says, or name it in GUESTRIGHT_LAB" >&2
    exit 69
}
[ $# -gt 0 ] || set -- @PLANS@
for plan; do
    [ -f "plans/$plan.toml" ] || { echo "run.sh: there is no plans/$plan.toml" >&2; exit 64; }
    # The verdicts are the report's; also one that cannot be computed does not stop the plans after it.
    # shellcheck disable=SC2086 # Several words.
    "$lab" run "plans/$plan.toml" $options --out "results/$level" --fail-on never
done
[ $# -lt 2 ] || "$lab" report "results/$level" --fail-on never > /dev/null
