# A stock client on our access point: hostapd, wpa_supplicant, DHCP.
# shellcheck shell=bash

join_by_radio() {
    cat >/guest/work/hostapd.conf <<CONF
interface=wlan0
driver=nl80211
ssid=acceptance
hw_mode=g
channel=6
auth_algs=1
ctrl_interface=/run/hostapd
CONF
    cat >/guest/work/supplicant.conf <<CONF
network={
    ssid="acceptance"
    key_mgmt=NONE
    scan_freq=2437
}
CONF
    start hostapd access hostapd /guest/work/hostapd.conf
    within 20 grep -q AP-ENABLED /guest/out/hostapd.txt
    start supplicant-visitor visitor wpa_supplicant -i wlan1 -D nl80211 -c /guest/work/supplicant.conf
    start supplicant-phone phone wpa_supplicant -i wlan2 -D nl80211 -c /guest/work/supplicant.conf
    within 30 associated visitor wlan1
    within 30 associated phone wlan2
}

associated() { # host, interface
    in_host "$1" iw dev "$2" link | grep '^Connected'
}

lease_addresses() {
    start dnsmasq access dnsmasq --keep-in-foreground --conf-file=/dev/null --interface=wlan0 --bind-interfaces \
        --dhcp-range=10.11.0.50,10.11.0.99,10m --no-ping --no-resolv --no-hosts "--address=/#/$SERVER" --user=root \
        --pid-file=/guest/work/dnsmasq.number --dhcp-leasefile=/guest/work/leases --log-dhcp --log-facility=-
    within 10 has_socket access 67
    lease_address visitor wlan1
    lease_address phone wlan2
}

lease_address() { # host, interface
    in_host "$1" busybox udhcpc -i "$2" -n -q -f -t 10 -T 2 -s "$STAGE/lease.sh"
    in_host "$1" ip route show default | grep "via $GUESTS dev $2"
    ip -n "$1" -4 -json address show dev "$2" | jq -r '.[].addr_info[].local' >"/guest/work/$1.address"
    can_ping "$1" "$GUESTS"
}

stays_closed() {
    # Refused, or no answer; anything but a file.
    ! can_fetch visitor 3
}

visit_plainly() {
    start visit visitor "$STAGE/guestright" visit --json --update-seconds 1 --key away/member.key \
        --certificate away/member.cert --state away/member-state --home "$AWAY:7274" --no-tunnel
    within 60 grep -q '"event":"granted"' /guest/out/visit.txt
    # A transfer that a busy computer has starved is begun again; a visit that is over lets none through.
    within 120 can_fetch visitor 60
    within 30 signs visitor 200000
    stop visit
    within 30 has_been_paid 1
    ! can_fetch visitor 3
}

# The access point counts each guest with the rate that iw(8) prints of its station.
rates_are_read() {
    local host
    printf '[radio]\nstandard = "g"\nrate_mbps = 54\n' >>access/ap.toml
    kill -HUP "$(cat /guest/work/ap.pid)"
    within 60 ap_says '.calls.now == 0'
    for host in visitor phone; do
        by_tunnel up $host "$(member_on $host)"
        within 60 is_seen_as $host "$AWAY"
        within 60 signs $host 0
    done
    within 60 rates_are_those_of_the_radio || { ap_says .calls; in_host access iw dev wlan0 station dump; return 1; }
    in_host access "$STAGE/guestright" ap status --config access/ap.toml | grep -E '^(calls|radio) '
}

rates_are_those_of_the_radio() {
    local rates
    rates=$(in_host access iw dev wlan0 station dump | awk '/tx bitrate:/ { print $3 }' | jq -cs sort)
    ap_says "(.calls.measured_mbps | length == 2 and sort == $rates)"
}

# The two call each other, both over the radio, and hang up: it counts the two ends while they talk. The radios of mac80211_hwsim
# take no time on the air, so nothing is compared of how many more fit.
calls_are_counted() {
    within 30 ap_says '.calls.now == 0'
    telephone phone phone call listen --answer auto
    within 60 grep -q '"event":"registered"' /guest/out/telephone-phone.txt
    telephone visitor member call phone
    within 60 grep -q '"event":"protected"' /guest/out/telephone-visitor.txt
    within 60 ap_says '.calls.now == 2' || { ap_says .calls; return 1; }
    stop telephone-visitor telephone-phone
    within 60 ap_says '.calls.now == 0'
    by_tunnel down visitor member
    by_tunnel down phone
}

member_on() { if [ "$1" = visitor ]; then echo member; else echo "$1"; fi; } # host

# With wg-quick alone, as what is read from a QR code has it.
by_tunnel() { # up or down, host, member if it is not called as its host
    local member=${3:-$2}
    # wg-quick wants to tell somebody about the resolver; nobody here keeps one.
    mkdir -p /guest/work/tools
    printf '#!/bin/sh\n' >/guest/work/tools/resolvconf
    chmod +x /guest/work/tools/resolvconf
    in_host "$2" env PATH="/guest/work/tools:$PATH" wg-quick "$1" "/guest/work/away/$member.conf"
}

telephone() { # host, member, words…
    local host=$1 member=$2
    shift 2
    : >>"/guest/work/$member-contacts"
    start "telephone-$host" "$host" "$STAGE/guestright" "$@" --json --no-sound --contacts "/guest/work/$member-contacts" \
        --key "away/$member.key" --certificate "away/$member.cert"
}
