# From a root of Debian without compilers to a town that has shown itself: installation and demo. What is downloaded lies in
# apt's cache; the clock runs for everything else.
# shellcheck shell=sh
SCRIPTS=${SCRIPTS:-/scripts}
SCRIPT=first-minute.sh
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

installs_and_shows_a_town() {
    fails command -v gcc
    began=$(milliseconds)
    apt-get install --yes --quiet /packages/now.deb
    installed=$(milliseconds)
    guestright demo
    shown=$(milliseconds)
    note "installed in $((installed - began)) ms, demo in $((shown - installed)) ms, together $((shown - began)) ms"
}

if [ "${0##*/}" = $SCRIPT ]; then
    # shellcheck source-path=SCRIPTDIR source=steps.sh
    . "$SCRIPTS/steps.sh"
    run_steps installs_and_shows_a_town
fi
