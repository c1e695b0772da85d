# What the steps of both machines are made of. Read by guest.sh.
# shellcheck shell=bash

# Waits for a condition, at most so long.
within() { # seconds, command…
    local deadline=$((SECONDS + $1 + 1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $deadline ] || { echo "waited in vain for: $*" >&2; return 1; }
        sleep 0.1
    done
}

# What has to fail. A step does not end at a command behind `!`.
fails() {
    if "$@"; then
        echo "should have failed: $*" >&2
        return 1
    fi
}

# A line for the step's own log.
stage() { echo "== $(cut -d ' ' -f 1 /proc/uptime) s: $*"; }

in_host() { ip netns exec "$@"; }

add_host() { # name…
    local name
    for name in "$@"; do
        ip netns add "$name"
        ip -n "$name" link set lo up
    done
}

# A wire between two hosts, each end with its address.
wire() { # host, interface, address/length, host, interface, address/length
    ip link add "$2" netns "$1" type veth peer name "$5" netns "$4"
    ip -n "$1" address add "$3" dev "$2"
    ip -n "$4" address add "$6" dev "$5"
    ip -n "$1" link set "$2" up
    ip -n "$4" link set "$5" up
}

# Starts a program in a host and remembers it under a name, so that it can be ended by its number.
start() { # name, host, command…
    local name=$1 host=$2
    shift 2
    ip netns exec "$host" "$@" >>"/guest/out/$name.txt" 2>&1 &
    echo $! >"/guest/work/$name.pid"
}

stop() { # name…
    local name pid
    for name in "$@"; do
        [ -e "/guest/work/$name.pid" ] || continue
        pid=$(cat "/guest/work/$name.pid")
        kill "$pid" 2>/dev/null || true
        within 60 gone "$pid" || kill -KILL "$pid" 2>/dev/null || true
        rm -f "/guest/work/$name.pid"
    done
}

gone() { # process; one that has ended and was not yet waited for is gone too
    ! grep -qs '^State:.[^Z]' "/proc/$1/status"
}

can_ping() { # host, address
    ip netns exec "$1" ping -c 3 -i 0.3 -W 3 -q "$2"
}

# A transfer over TCP, compared byte for byte with what was sent.
transfer() { # client's host, server's host, server's address
    mkdir -p /guest/work/served
    head -c 1000000 /dev/urandom >/guest/work/served/file
    start served "$2" busybox httpd -f -p "$3:5201" -h /guest/work/served
    within 10 listens "$2" 5201
    ip netns exec "$1" curl -sS --max-time 60 -o /guest/work/received "http://$3:5201/file"
    cmp /guest/work/served/file /guest/work/received
    stop served
}

has_socket() { # host, UDP port
    [ -n "$(ip netns exec "$1" ss -Hlun "sport = :$2")" ]
}

listens() { # host, TCP port
    [ -n "$(ip netns exec "$1" ss -Hltn "sport = :$2")" ]
}
