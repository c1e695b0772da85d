#!/bin/sh
# Draws one figure again: ./figure.sh PLAN FIGURE [quick|full]. Makes the runs of its plan first, unless they are there.
# It ends with 0 if the picture has the same bytes as the expected one, with 3 if not.
set -eu
# A path from where the call was made; run.sh gets it too.
case ${GUESTRIGHT_LAB:-} in /*) ;; */*) export GUESTRIGHT_LAB="$PWD/$GUESTRIGHT_LAB" ;; esac
cd "$(dirname "$0")"
plan=$1 figure=$2 level=${3:-quick}
picture=figures/$figure.svg
[ -f "results/$level/$plan/run.json" ] || ./run.sh "$level" "$plan"
lab=${GUESTRIGHT_LAB:-guestright-lab}
if [ -z "${GUESTRIGHT_LAB:-}" ] && [ -x bin/guestright-lab ]; then lab=bin/guestright-lab; fi
"$lab" report "results/$level/$plan" --fail-on never > /dev/null
echo "drawn: results/$level/$plan/$picture"
if cmp -s "results/$level/$plan/$picture" "expected/$level/$plan/$picture"; then
    echo "the same bytes as expected/$level/$plan/$picture"
else
    echo "not the bytes of expected/$level/$plan/$picture; ./verify.py $level says whether its numbers are near"
    exit 3
fi
