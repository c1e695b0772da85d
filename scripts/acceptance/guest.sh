#!/bin/bash
# What both machines run once the host's files are in reach: the rest of the mounts, the steps of this machine one
# after the other, a verdict for each, and power off. STAGE, MACHINE and MODULES come from whoever started this.
#
# The host reads the lines that begin with `@@`:
#   @@ plan NAME…        every step that will have a verdict
#   @@ note TEXT         progress
#   @@ ok NAME SECONDS
#   @@ FAIL NAME REASON
#   @@ end               nothing was cut off
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C

prepare() {
    mkdir -p /dev/pts /dev/shm /dev/net /lib/modules /run/netns /run/lock
    mount -t devpts devpts /dev/pts
    mount -t tmpfs shm /dev/shm
    mount --bind "$MODULES" /lib/modules
    # What shells and `wg` read from.
    [ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
    [ -e /dev/stdin ] || ln -s /proc/self/fd/0 /dev/stdin
    [ -e /dev/net/tun ] || mknod /dev/net/tun c 10 200
    [ -e /dev/ppp ] || mknod /dev/ppp c 108 0
    if [ -e "$STAGE/pppd" ]; then # The host's may not be read by everyone.
        mount --bind "$STAGE/pppd" /usr/sbin/pppd
        mount -t tmpfs ppp /etc/ppp && : >/etc/ppp/options && echo '* * "only in this machine" *' >/etc/ppp/chap-secrets
        chmod 600 /etc/ppp/options /etc/ppp/chap-secrets
    fi
    ip link set lo up
    cd /guest/work || exit 1
}

uptime_seconds() { cut -d ' ' -f 1 /proc/uptime; }

note() { echo "@@ note $(uptime_seconds) s: $*"; }

# Runs a step in a shell of its own that ends at the first failure. What it has to report to the host goes to its descriptor 3.
step() { # name, command…
    local name=$1 began ended
    shift
    began=$(uptime_seconds)
    : >"/guest/work/$name.began"
    ( set -eE; trap 'echo "failed: $BASH_COMMAND" >&2' ERR; "$@" ) 3>&1 >"/guest/out/$name.log" 2>&1
    local code=$?
    ended=$(uptime_seconds)
    if [ $code -eq 0 ]; then
        echo "@@ ok $name $(awk "BEGIN { print $ended - $began }")"
        return
    fi
    echo "@@ FAIL $name $(tail -n 1 "/guest/out/$name.log")"
    echo "--- the end of $name:"
    tail -n 40 "/guest/out/$name.log"
    local file
    for file in /guest/out/*.txt; do
        # What a program printed since the step began.
        [ "$file" -nt "/guest/work/$name.began" ] || continue
        echo "--- the end of $file:"
        tail -n 12 "$file"
    done
    echo "---"
}

run_steps() { # the names and commands of the machine's table STEPS
    local line
    # shellcheck disable=SC2086 # The words of a line are the step's name, its command, and what it takes.
    for line in "${STEPS[@]}"; do
        step $line
    done
}

main() {
    prepare
    # shellcheck source=/dev/null
    . "$STAGE/toolbox.sh"
    # shellcheck source=/dev/null
    . "$STAGE/$MACHINE.sh"
    # The first word of each line.
    echo "@@ plan set-up ${STEPS[*]%% *}"
    note "$MACHINE is up, Linux $(uname -r)"
    step set-up set_up
    run_steps
    echo "@@ end"
}

main
sync
# Wait for the console to be written before the power is gone.
sleep 0.2
/bin/busybox poweroff -f
