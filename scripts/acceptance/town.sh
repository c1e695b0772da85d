# Two households, the Internet between them, and somebody from one who comes by at the other.
# shellcheck shell=bash

SERVER=192.0.2.1
ACCESS=198.51.100.2
AWAY=203.0.113.2
GUESTS=10.11.0.1
# The network of the members of `away`, without its last number.
INSIDE=10.73.5

build_town() {
    add_host visitor phone access internet away next
    ip -n internet address add $SERVER/32 dev lo
    wire access uplink $ACCESS/24 internet to-access 198.51.100.1/24
    wire away uplink $AWAY/24 internet to-away 203.0.113.1/24
    ip -n access route add default via 198.51.100.1
    ip -n away route add default via 203.0.113.1
    in_host internet sysctl -qw net.ipv4.ip_forward=1
    iw phy phy0 set netns name access
    iw phy phy1 set netns name visitor
    iw phy phy2 set netns name phone
    ip -n access address add $GUESTS/24 dev wlan0
    ip -n access link set wlan0 up
    mkdir -p /guest/work/web
    head -c 300000 /dev/urandom >/guest/work/web/file
    # Says from where it was asked.
    mkdir -p /guest/work/web/cgi-bin
    # shellcheck disable=SC2016 # The server's shell expands it.
    printf '#!/bin/sh\nprintf "Content-Type: text/plain\\r\\n\\r\\n%%s\\n" "$REMOTE_ADDR"\n' \
        >/guest/work/web/cgi-bin/who
    chmod +x /guest/work/web/cgi-bin/who
    start web internet busybox httpd -f -p $SERVER:80 -h /guest/work/web
}

guestright() { "$STAGE/guestright" "$@"; }

# Keys and settings of both teams, made with the program's own commands.
found_teams() {
    local team
    for team in access away; do
        guestright team init --dir $team
        guestright team member add home --role home --dir $team
    done
    guestright team member add router --role access-point --dir access
    guestright team gateway init --dir away --network $INSIDE.0/24 --endpoint $AWAY:51820
    guestright team member add member --qr --dir away
    guestright team member add phone --qr --dir away
    for team in access away; do
        cat >$team/home.toml <<CONF
key = "home.key"
certificate = "home.cert"
state = "home-state"
# A team that only takes is served all the same: this is about tunnels, and the visitor comes more than once.
[policy]
kind = "quota"
quota_bytes = 0
CONF
    done
    printf '[links]\nannounce = "%s:7275"\n' $ACCESS >>access/home.toml
    cat >>away/home.toml <<CONF
[gateway]
uplink_interface = "uplink"
backend = "kernel"
dns_upstream = "$SERVER"
[voice]
[links]
announce = "$AWAY:7275"
CONF
    cat >access/ap.toml <<CONF
key = "router.key"
certificate = "router.cert"
state = "ap-state"
home = "127.0.0.1:7274"
visitor_interface = "wlan0"
uplink_interface = "uplink"
# A processor in software takes its time: receipts are asked for after bytes, and may be late.
interval_ms = 30000
volume_bytes = 200000
flush_ms = 500
[phones]
CONF
    start home-access access "$STAGE/guestright" --log info home --config access/home.toml
    start home-away away "$STAGE/guestright" --log info home --config away/home.toml
    within 60 has_lines /guest/out/home-access.txt
    within 60 has_lines /guest/out/home-away.txt
    start ap access "$STAGE/guestright" --log info ap --config access/ap.toml
    within 60 ap_says '.home_up'
}

has_lines() { [ -s "$1" ]; }

# Whether what the access point says of itself fits a jq expression.
ap_says() { in_host access "$STAGE/guestright" ap status --config access/ap.toml --json | jq -e "$1"; }

# Which layers of the firewall are in force, and what doctor says of them: before Linux 6.9 all but the owned table.
layers_of_this_kernel() {
    uname -r
    in_host access "$STAGE/guestright" doctor --json >/guest/work/doctor.json # It fails where something else is missing.
    jq -r '.[] | select(.what | startswith("layer: ")) | "\(.what): \(.says)"' /guest/work/doctor.json
    ap_says '.layers | .leases and .routing and .static_filter and (.owned_table | not)'
}

# Whether there is a session of this host, signed for up to so many bytes.
signs() { # host, bytes
    ap_says "any(.sessions[]; .ip == \"$(cat "/guest/work/$1.address")\" and .signed >= $2)"
}

# Whether so many sessions have ended that were signed for from the first byte of the file to the last.
has_been_paid() { # sessions
    ap_says "[.closed[] | select(.signed >= 300000)] | length == $1"
}

# Whether a host reaches the Internet, and from where.
is_seen_as() { # host, address
    in_host "$1" curl -sS --max-time 10 http://$SERVER/cgi-bin/who | grep -F "$2"
}

# Whether a host gets the file, unchanged.
can_fetch() { # host, seconds
    in_host "$1" curl -s -o /guest/work/fetched --max-time "$2" http://$SERVER/file &&
        cmp /guest/work/web/file /guest/work/fetched
}
