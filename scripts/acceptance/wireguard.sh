# The way home: by our program and the kernel's WireGuard, by stock programs alone, and ours against the kernel's.
# shellcheck shell=bash

gateway_is_kernels() {
    ip -n away -details link show gr-home | grep -w wireguard
    in_host away "$STAGE/guestright" home status --config away/home.toml --json | jq -e '.gateway.members | length == 2'
}

# With our program: everything goes home, and the access point sees nothing else.
visit_through_home() {
    listen_in
    start visit-home visitor "$STAGE/guestright" visit --json --key away/member.key --certificate away/member.cert \
        --state away/tunnel-state --home "$AWAY:7274" --tunnel away/member.conf
    within 60 grep -q '"event":"granted"' /guest/out/visit-home.txt
    within 60 is_seen_as visitor "$AWAY"
    within 120 can_fetch visitor 60
    within 30 signs visitor 200000
    stop visit-home
    within 30 has_been_paid 2
    hears_only_the_tunnel
}

# Without any program of ours: wg-quick and the kernel's WireGuard, from the text in the QR code.
stock_client_comes_home() {
    by_tunnel up phone
    ip -n phone -details link show phone | grep -w wireguard
    within 60 is_seen_as phone "$AWAY"
    within 60 signs phone 0
    # More than goes without receipts.
    within 120 can_fetch phone 60
    within 30 signs phone 200000
    by_tunnel down phone
}

# What the access point can hear of its visitor.
listen_in() {
    rm -f /guest/out/listen.txt
    start listen access tcpdump -i wlan0 -n -U -w /guest/work/heard.pcap \
        "ether host $(in_host visitor cat /sys/class/net/wlan1/address)"
    within 10 grep -q 'listening on' /guest/out/listen.txt
}

hears_only_the_tunnel() {
    stop listen
    local tunnel="udp and host $AWAY and port 51820" visitor late closed others
    visitor=$(in_host visitor cat /sys/class/net/wlan1/address)
    # The visit before this one spoke with its home without a tunnel. What that home still repeats to a connection that is
    # gone is an answer to nothing said here; whatever the visitor itself sends there counts.
    late="tcp and src host $AWAY and src port 7274 and ether dst $visitor"
    # What the home sent just before the tunnel was taken down comes to a port that is closed: an error about the tunnel itself.
    closed="icmp[icmptype] = icmp-unreach and dst host $AWAY and icmp[28:2] = 51820"
    [ "$(tcpdump -n -r /guest/work/heard.pcap "$tunnel" 2>/dev/null | wc -l)" -gt 100 ]
    others=$(tcpdump -n -r /guest/work/heard.pcap \
        "not ($tunnel) and not ($late) and not ($closed) and not (host $GUESTS and port 7273) and not arp and not (udp and port 67) and not ether proto 0x888e")
    echo "$others"
    [ -z "$others" ]
}

# Both ends from the same kind of file: one is the kernel's, one is ours.
kernel_meets_ours() {
    local side
    add_host left right
    wire left eth0 10.20.0.1/24 right eth0 10.20.0.2/24
    for side in left right; do
        wg genkey >$side.private
        wg pubkey <$side.private >$side.public
    done
    cat >left.conf <<CONF
[Interface]
PrivateKey = $(cat left.private)
ListenPort = 51820
[Peer]
PublicKey = $(cat right.public)
AllowedIPs = 10.21.0.2/32
CONF
    cat >right.conf <<CONF
[Interface]
PrivateKey = $(cat right.private)
Address = 10.21.0.2/24
[Peer]
PublicKey = $(cat left.public)
AllowedIPs = 10.21.0.0/24
Endpoint = 10.20.0.1:51820
PersistentKeepalive = 5
CONF
    ip -n left link add wg0 type wireguard
    in_host left wg setconf wg0 left.conf
    ip -n left address add 10.21.0.1/24 dev wg0
    ip -n left link set wg0 up
    start ours right "$STAGE/guestright-lab" tunnel wireguard --config right.conf --interface wg0
    within 20 grep -q 'is up' /guest/out/ours.txt
    can_ping right 10.21.0.1
    can_ping left 10.21.0.2
    transfer left right 10.21.0.2
    transfer right left 10.21.0.1
    in_host left wg show wg0 | grep 'latest handshake'
    stop ours
}
