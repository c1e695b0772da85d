# A computer with a radio is set up by one command, and put back.
# shellcheck shell=bash

# Everything on `access` that setup could change.
condition_of_access() {
    (
        cd / && find etc var/lib/guestright var/lib/guestright-setup var/lib/guestright-dhcp -printf '%p %m %u:%g %l\n' \
            2>/dev/null | LC_ALL=C sort
        find /etc -type f -exec sha256sum {} + 2>/dev/null | LC_ALL=C sort
        ip -n access -details link show | sed 's/ qdisc [^ ]*//'
        ip -n access address show
        ip -n access route show table all
        in_host access nft list ruleset
    )
}

set_up_by_one_command() {
    stop visit ap home-access dnsmasq supplicant-visitor supplicant-phone hostapd
    in_host access "$STAGE/guestright" ap off --config access/ap.toml || true
    ip -n access address flush dev wlan0
    ip -n access link set wlan0 down
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
    in_host access "$STAGE/guestright" setup --answers /guest/work/answers.toml --yes --json
    in_host access iw dev wlan0 info | grep 'type AP'
    associates visitor wlan1 NONE
    # Whoever knows OWE is led from the open network to the hidden one.
    associates phone wlan2 OWE
    in_host phone wpa_cli -p /run/supplicant-phone -i wlan2 status | grep 'key_mgmt=OWE'
    in_host visitor busybox udhcpc -i wlan1 -n -q -f -t 10 -T 2 -s "$STAGE/lease.sh"
    in_host phone busybox udhcpc -i wlan2 -n -q -f -t 10 -T 2 -s "$STAGE/lease.sh"
    can_ping visitor 10.73.0.1
    # Neither on the air nor over the bridge.
    ! can_ping visitor "$(ip -n phone -4 -json address show dev wlan2 | jq -r '.[].addr_info[].local')"
    ! can_fetch visitor 3
    start visit visitor "$STAGE/guestright" visit --json --key /etc/guestright/team/alice.key \
        --certificate /etc/guestright/team/alice.cert --state alice-state --no-tunnel
    within 30 grep -q '"event":"granted"' /guest/out/visit.txt
    can_fetch visitor 60
    stop visit supplicant-visitor supplicant-phone
    in_host access "$STAGE/guestright" setup --undo --yes
    condition_of_access >/guest/work/after-setup
    diff /guest/work/before-setup /guest/work/after-setup
    set_up_on_a_vlan
}

# Guests under a tag on the uplink's own wire.
set_up_on_a_vlan() {
    in_host access "$STAGE/guestright" setup --no-wifi --port uplink --vlan 73 --yes --json
    ip -n access -details link show guest73 | grep 'vlan protocol 802.1Q id 73'
    ip -n access link show guest73 | grep 'master br-guest'
    in_host access "$STAGE/guestright" setup --undo --yes
    condition_of_access >/guest/work/after-setup
    diff /guest/work/before-setup /guest/work/after-setup
}

# Joins the network of the name that setup gave it, with this kind of key.
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
    ip -n "$1" address flush dev "$2"
    start "supplicant-$1" "$1" wpa_supplicant -i "$2" -D nl80211 -c "/guest/work/setup-$1.conf"
    within 40 associated "$1" "$2"
}
