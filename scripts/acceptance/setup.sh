# A computer with a radio is set up by one command, serves two clients, and is put back.
# shellcheck shell=bash

set_up_by_one_command() {
    leave_the_radio
    # Names that the household's resolver knows.
    start names internet dnsmasq --keep-in-foreground --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces \
        --listen-address="$SERVER" "--address=/#/$SERVER" --user=root --pid-file
    within 10 has_socket internet 53
    echo "nameserver $SERVER" >/etc/resolv.conf
    condition_of_access >/guest/work/before-setup
    cat >/guest/work/answers.toml <<CONF
[wifi]
ssid = "one command"
[team]
members = ["alice"]
[home]
port_mapping = false
CONF
    stage "setup, with a radio"
    set_up_with --answers /guest/work/answers.toml
    in_host access iw dev wlan0 info | grep 'type AP'
    stage "two in the open network"
    associates visitor wlan1 NONE
    associates phone wlan2 NONE
    is_leased visitor wlan1
    is_leased phone wlan2
    do_not_reach_each_other
    stage "one of them by OWE: the open network leads it to the hidden one"
    associates phone wlan2 OWE
    in_host phone wpa_cli -p /run/supplicant-phone -i wlan2 status | grep 'key_mgmt=OWE'
    in_host phone iw dev wlan2 link | grep 'SSID: one command owe'
    is_leased phone wlan2
    do_not_reach_each_other
    stage "a member is served"
    fails can_fetch visitor 3
    start visit-alice visitor "$STAGE/guestright" visit --json --key /etc/guestright/team/alice.key \
        --certificate /etc/guestright/team/alice.cert --state alice-state --no-tunnel
    within 60 grep -q '"event":"granted"' /guest/out/visit-alice.txt
    # The word comes a moment before the gate opens.
    within 60 can_fetch visitor 60
    fails can_fetch phone 3
    stop visit-alice supplicant-visitor supplicant-phone
    stage "undo"
    is_taken_back
    set_up_on_a_vlan
}

# Guests with a tag on the uplink's own wire.
set_up_on_a_vlan() {
    stage "setup, with a VLAN"
    set_up_with --no-wifi --port uplink --vlan 73 --no-port-mapping
    add_host lodger
    ip -n internet link add link to-access name tagged type vlan id 73
    ip -n internet link set tagged netns lodger
    ip -n lodger link set tagged up
    is_leased lodger tagged
    fails can_fetch lodger 3
    stage "undo"
    is_taken_back
}

# What the steps before this one have left.
leave_the_radio() {
    leave_the_phones
    stop visit ap home-access dnsmasq supplicant-visitor supplicant-phone hostapd
    in_host access "$STAGE/guestright" ap off --config access/ap.toml
    ip -n access address flush dev wlan0
    ip -n access link set wlan0 down
    ip -n visitor address flush dev wlan1
    ip -n phone address flush dev wlan2
}

set_up_with() { # flags
    in_host access "$STAGE/guestright" setup "$@" --yes --json >/guest/work/setup.json
    jq -r '.steps[] | "\(.done): \(.says)"' /guest/work/setup.json
    [ "$(jq -r .state /guest/work/setup.json)" = "done" ]
    # Once more there is nothing to do.
    in_host access "$STAGE/guestright" setup --yes --json | jq -e '.state == "unchanged"'
}

# Whether everything is as it was before, byte for byte.
is_taken_back() {
    in_host access "$STAGE/guestright" setup --undo --yes
    condition_of_access >/guest/work/after-setup
    diff /guest/work/before-setup /guest/work/after-setup
}

# Everything on `access` that setup could change: files, links, addresses, routes, rules, switches, and who is running.
condition_of_access() {
    find /etc /var/lib/guestright* /var/log -printf '%p %m %u:%g %l\n' 2>/dev/null | LC_ALL=C sort
    find /etc -type f -exec sha256sum {} + | LC_ALL=C sort
    ip -n access -details link show
    ip -n access address show
    ip -n access route show table all
    ip -n access rule show
    in_host access nft list ruleset
    in_host access tc qdisc show
    in_host access iw dev
    in_host access sysctl --all --pattern '^net[.]ipv[46][.](conf|ip_forward)' 2>/dev/null
    in_host access ps -eo args | grep -E '^(hostapd|dnsmasq --conf-file=/etc)|[g]uestright (ap|home) --config /etc' || true
}

# Joins the network of the name that setup gave it, with this kind of key. Whoever was in it before leaves it.
associates() { # host, interface, key_mgmt
    local protection=0
    [ "$3" = NONE ] || protection=2
    cat >"/guest/work/setup-$1.conf" <<CONF
ctrl_interface=/run/supplicant-$1
network={
    ssid="one command"
    key_mgmt=$3
    ieee80211w=$protection
    scan_freq=2437
}
CONF
    # A station asks again after 100 ms, and an access point that was still reckoning then begins OWE anew while the
    # station is at its end. That is how a processor in software loses many attempts, so this person keeps trying.
    local attempt
    for attempt in {1..20}; do
        stage "$1 joins, attempt $attempt"
        stop "supplicant-$1"
        ip -n "$1" address flush dev "$2"
        start "supplicant-$1" "$1" wpa_supplicant -i "$2" -D nl80211 -c "/guest/work/setup-$1.conf"
        if within 10 is_in "$1" "$2"; then
            return
        fi
    done
    return 1
}

is_in() { # host, interface
    in_host "$1" wpa_cli -p "/run/supplicant-$1" -i "$2" status | grep '^wpa_state=COMPLETED' &&
        in_host access iw dev "$(access_point_of "$1" "$2")" station get \
            "$(in_host "$1" cat "/sys/class/net/$2/address")" | grep 'authorized:.*yes'
}

# The interface of `access` that a station is at.
access_point_of() { # host, interface
    local bssid
    bssid=$(in_host "$1" wpa_cli -p "/run/supplicant-$1" -i "$2" status | sed -n 's/^bssid=//p')
    ip -n access -json link show | jq -r ".[] | select(.address == \"$bssid\" and .ifname != \"br-guest\").ifname"
}

# Gets an address of the guests' network, and is answered for a name by the resolver that comes with it.
is_leased() { # host, interface
    in_host "$1" busybox udhcpc -i "$2" -n -q -f -t 20 -T 2 -s "$STAGE/lease.sh"
    address_of "$1" "$2" | grep '^10[.]73[.]0[.]'
    can_ping "$1" 10.73.0.1
    [ "$(in_host "$1" dig +short +tries=3 +time=3 "@$(cat "/guest/work/$2.dns")" example.org)" = "$SERVER" ]
}

address_of() { # host, interface
    ip -n "$1" -4 -json address show dev "$2" | jq -r '.[].addr_info[].local'
}

# Neither on the air nor over the bridge: not even a question for the other's hardware address is answered.
do_not_reach_each_other() {
    fails can_ping visitor "$(address_of phone wlan2)"
    fails knows_where visitor "$(address_of phone wlan2)"
    fails can_ping phone "$(address_of visitor wlan1)"
    fails knows_where phone "$(address_of visitor wlan1)"
    can_ping visitor 10.73.0.1
    can_ping phone 10.73.0.1
}

knows_where() { # host, address
    ip -n "$1" neighbour show "$2" | grep lladdr
}
