# Stock phones that join by 802.1X, two of different teams, and a third household to which one of them goes on.
#
#   visitor (phone of `next`) ~~radio~~ access ── internet ── next, its home and its own access point
#   phone (phone of `away`)   ~~radio~~ access, then next     away, its home
#
# What the phones have is in the files of `team member add --phone`; nothing of ours runs on them but the telephone of
# the last step.
# shellcheck shell=bash

NEXT=198.18.0.2
# The network of guests of `next`, and that of its members, without the last number.
NEXT_GUESTS=10.12.0
NEXT_INSIDE=10.74.5
# What each phone fetches while the other does, in files of the web server's.
FILES=10
# A roam takes at most so long, in milliseconds, on a processor in software that has to keep up with the clock. One in virtual time took
# less than a second (docs/measurements.md).
ROAM_MS_MAX=30000

# A third household that knows the others' homes, and what two phones import.
phones_get_their_files() {
    local team
    wire next uplink $NEXT/24 internet to-next 198.18.0.1/24
    ip -n next route add default via 198.18.0.1
    iw phy phy3 set netns name next
    ip -n next address add $NEXT_GUESTS.1/24 dev wlan3
    ip -n next link set wlan3 up
    guestright team init --dir next
    guestright team member add home --role home --dir next
    guestright team member add router --role access-point --dir next
    guestright team gateway init --dir next --network $NEXT_INSIDE.0/24 --endpoint $NEXT:51820
    for team in access away next; do
        guestright team member list --dir $team --json | jq -c '.[] | select(.role == "home")' >/guest/work/home-of-$team
    done
    cat >next/home.toml <<CONF
key = "home.key"
certificate = "home.cert"
state = "home-state"
[policy]
kind = "quota"
quota_bytes = 0
[links]
announce = "$NEXT:7275"
[gateway]
uplink_interface = "uplink"
backend = "kernel"
dns_upstream = "$SERVER"
[gateway.ikev2]
profile = "modern"
[voice]
peers = ["$(id_of access)@$ACCESS:7275", "$(id_of away)@$AWAY:7275"]
CONF
    sed 's/"wlan0"/"wlan3"/' access/ap.toml >next/ap.toml
    start home-next next "$STAGE/guestright" --log info home --config next/home.toml
    within 60 has_lines /guest/out/home-next.txt
    start ap-next next "$STAGE/guestright" --log info ap --config next/ap.toml
    within 60 ap_of_says next '.home_up'
    serve_addresses next wlan3 $NEXT_GUESTS
    in_host next "$STAGE/guestright" team member add lodger --phone --dir next --home next/home.toml
    in_host away "$STAGE/guestright" team member add phone --phone --dir away --home away/home.toml
    cat next/home-state/neighbours.addresses
    grep -F "$(team_of away)" next/home-state/neighbours.addresses
}

# What names a team, and its home.
team_of() { jq -r .team "/guest/work/home-of-$1"; }

id_of() { jq -r .id "/guest/work/home-of-$1"; }

ap_of_says() { in_host "$1" "$STAGE/guestright" ap status --config "$1/ap.toml" --json | jq -e "$2"; } # household, expression

serve_addresses() { # host, interface, network without its last number
    start "dnsmasq-$1" "$1" dnsmasq --keep-in-foreground --conf-file=/dev/null --interface="$2" --bind-interfaces \
        --dhcp-range="$3.50,$3.99,10m" --no-ping --no-resolv --no-hosts "--address=/#/$SERVER" --user=root \
        --pid-file="/guest/work/dnsmasq-$1.number" --dhcp-leasefile="/guest/work/leases-$1" --log-dhcp --log-facility=-
    within 10 has_socket "$1" 67
}

# The radio of a household, with what our program prints for hostapd.
air_of() { # household, interface, words for `ap hostapd`…
    local house=$1 interface=$2
    shift 2
    stop "hostapd-$house"
    in_host "$house" "$STAGE/guestright" ap hostapd --config "$house/ap.toml" --interface "$interface" "$@" \
        >"/guest/work/hostapd-$house.conf"
    rm -f "/guest/out/hostapd-$house.txt"
    start "hostapd-$house" "$house" hostapd "/guest/work/hostapd-$house.conf"
    within 20 grep -q AP-ENABLED "/guest/out/hostapd-$house.txt"
}

# wpa_supplicant with a phone's file as it was made, and a socket for wpa_cli.
phone_on() { # host, interface, file
    { echo "ctrl_interface=/run/supplicant-$1"; cat "$3"; } >"/guest/work/phone-$1.conf"
    stop "supplicant-$1"
    ip -n "$1" address flush dev "$2"
    rm -f "/guest/out/supplicant-$1.txt"
    start "supplicant-$1" "$1" wpa_supplicant -i "$2" -D nl80211 -c "/guest/work/phone-$1.conf"
}

phone_says() { in_host "$1" wpa_cli -p "/run/supplicant-$1" -i "$2" status | grep -x "$3"; } # host, interface, line

# Whether both sides say that the phone is in, and the access point, whose it is.
has_joined() { # host, interface, household, team
    phone_says "$1" "$2" 'wpa_state=COMPLETED' &&
        ap_of_says "$3" "any(.phones.joined[]; .team == \"$(team_of "$4")\" and
            .mac == \"$(in_host "$1" cat "/sys/class/net/$2/address")\")"
}

# A household that calls its Wi-Fi otherwise: both phones find it by their realms (ANQP).
phones_join_by_passpoint() {
    stop supplicant-visitor supplicant-phone hostapd
    air_of access wlan0 --channel 6 --ssid "12 Mill Lane" --passpoint "12 Mill Lane" \
        --team "$(team_of next)" --team "$(team_of away)"
    both_join
    local host
    for host in visitor phone; do
        phone_says $host "$(radio_of $host)" 'ssid=12 Mill Lane'
        phone_says $host "$(radio_of $host)" 'selectedMethod=13 (EAP-TLS)'
        grep INTERWORKING-SELECTED "/guest/out/supplicant-$host.txt"
    done
}

# By the name that all phones know: WPA-Enterprise, EAP-TLS with the home of another team, management frames protected. The phones
# come anew, so that none of them takes this for the network that it was in.
phones_join_by_name() {
    stop supplicant-visitor supplicant-phone
    air_of access wlan0 --channel 6
    both_join
    local host
    for host in visitor phone; do
        phone_says $host "$(radio_of $host)" 'ssid=guestright'
        phone_says $host "$(radio_of $host)" 'selectedMethod=13 (EAP-TLS)'
        phone_says $host "$(radio_of $host)" 'EAP state=SUCCESS'
        phone_says $host "$(radio_of $host)" 'pmf=[12]'
        fails grep INTERWORKING-SELECTED "/guest/out/supplicant-$host.txt"
        lease_address $host "$(radio_of $host)"
    done
    fails can_fetch phone 3
    fails can_fetch visitor 3
}

both_join() {
    phone_on visitor wlan1 next/lodger-phone/wpa_supplicant.conf
    phone_on phone wlan2 away/phone-phone/wpa_supplicant.conf
    within 60 has_joined visitor wlan1 access next
    within 60 has_joined phone wlan2 access away
}

radio_of() {
    case $1 in
    visitor) echo wlan1 ;;
    phone) echo wlan2 ;;
    esac
}

# The kernel's WireGuard with the text of the QR code, and its home signs.
phone_tunnels_by_wireguard() {
    by_tunnel up phone
    ip -n phone -details link show phone | grep -w wireguard
    is_signed_for phone away
}

# strongSwan's client with what the profile for iPhones says. It has a trap where the tunnel will be: the first packet
# brings it up.
phone_tunnels_by_ikev2() {
    prepare_ikev2
    ip -n visitor xfrm policy
    fails ip_has_tunnel
    stage "traffic, and so a tunnel"
    # The packet that asks for the tunnel has the address from before, and stays outside.
    in_host visitor ping -c 1 -W 1 -q "$SERVER" || true
    within 30 ip_has_tunnel
    is_signed_for visitor next
    in_host next "$STAGE/guestright" home status --config next/home.toml --json |
        jq -e '.ikev2.peers | length == 1 and .[0].name == "lodger"'
}

# The trap has a state of its own, of number 0.
ip_has_tunnel() { ip -n visitor xfrm state | grep 'proto esp' | grep -v 'spi 0x00000000'; }

profile_says() { # key
    sed -n "/<key>$1<\/key>/{n;s/.*<string>\(.*\)<\/string>.*/\1/p;q}" next/lodger-phone/apple.mobileconfig
}

prepare_ikev2() {
    local own=/guest/work/ike
    mkdir -p $own
    [ "$(profile_says EncryptionAlgorithm)" = AES-256-GCM ]
    [ "$(profile_says IntegrityAlgorithm)" = SHA2-256 ]
    grep -A1 '<key>DiffieHellmanGroup</key>' next/lodger-phone/apple.mobileconfig | grep '<integer>19</integer>'
    [ "$(profile_says AuthenticationMethod)" = SharedSecret ]
    cat >$own/strongswan.conf <<CONF
charon {
  load = random nonce openssl aes sha1 sha2 hmac kdf gcm kernel-netlink socket-default vici
  install_virtual_ip = yes
  filelog { stderr { default = 1
    flush_line = yes } }
  plugins { vici { socket = unix://$own/vici } }
}
CONF
    cat >$own/swanctl.conf <<CONF
connections { home {
  version = 2
  remote_addrs = $(profile_says RemoteAddress)
  proposals = aes256gcm16-prfsha256-ecp256
  vips = 0.0.0.0
  local { auth = psk
    id = $(profile_says LocalIdentifier) }
  remote { auth = psk
    id = $(profile_says RemoteIdentifier) }
  children { home {
    remote_ts = 0.0.0.0/0
    esp_proposals = aes256gcm16-ecp256
    start_action = trap } }
} }
secrets { ike-1 { secret = "$(profile_says SharedSecret)" } }
CONF
    # charon has the folder of its number built in.
    start charon-visitor visitor unshare --mount sh -c \
        "mount -t tmpfs own /run && STRONGSWAN_CONF=$own/strongswan.conf exec /usr/lib/ipsec/charon"
    within 30 swan --version --daemon
    swan --load-all --file $own/swanctl.conf
}

swan() {
    STRONGSWAN_CONF=/guest/work/ike/strongswan.conf swanctl "$@" --uri unix:///guest/work/ike/vici
}

# Whether a phone is on the Internet by its home, and signed for.
is_signed_for() { # host, team
    within 60 is_seen_as "$1" "$(home_of "$2")"
    within 60 signs "$1" 0
    within 60 can_fetch "$1" 60
    within 60 signs "$1" 200000
}

team_on() { if [ "$1" = phone ]; then echo away; else echo next; fi; } # host

home_of() {
    case $1 in
    away) echo "$AWAY" ;;
    next) echo $NEXT ;;
    esac
}

# Both at once: each fetches files at the same time, and the home of each signs for them.
two_teams_at_once() {
    local host before=()
    for host in phone visitor; do
        # Who has rested may have no session.
        is_signed_for $host "$(team_on $host)"
        before+=("$(signed_by $host)")
    done
    fetches phone >/guest/work/fetched-by-phone &
    local other=$!
    fetches visitor
    wait $other
    within 90 signs phone $((before[0] + FILES * 300000))
    within 90 signs visitor $((before[1] + FILES * 300000))
}

signed_by() { ap_says "[.sessions[] | select(.ip == \"$(cat "/guest/work/$1.address")\" and .open).signed] | add"; } # host

fetches() { # host
    local file
    for ((file = 0; file < FILES; file++)); do
        in_host "$1" curl -sS --max-time 60 "http://$SERVER/file" | cmp /guest/work/web/file -
    done
}

# While somebody at home and the phone talk, the phone goes on to another team's access point. What comes of the call is looked
# at on both sides of the air: at the phone, and where its tunnel ends at home.
call_survives_a_roam() {
    local bssid
    stop charon-visitor
    air_of next wlan3 --channel 11
    stage "a call with somebody at a desk"
    add_host desk
    wire desk uplink 198.18.1.2/24 internet to-desk 198.18.1.1/24
    ip -n desk route add default via 198.18.1.1
    by_tunnel up desk member
    # Where they talked before, too.
    rm -f /guest/out/telephone-desk.txt /guest/out/telephone-phone.txt
    telephone desk member call listen --answer auto
    within 60 grep -q '"event":"registered"' /guest/out/telephone-desk.txt
    telephone phone phone call member
    within 60 grep -q '"event":"protected"' /guest/out/telephone-phone.txt
    stage "the phone looks around, as it does when a radio gets weak"
    bssid=$(in_host next cat /sys/class/net/wlan3/address)
    within 90 looks_for "$bssid"
    follow_the_radio
    listen_to phone phone "src host $INSIDE.1"
    listen_to away gr-home "src host $(ip -n phone -4 -json address show dev phone | jq -r '.[].addr_info[].local')"
    within 30 has_packets phone 100
    within 30 has_packets away 100
    stage "roam"
    in_host phone wpa_cli -p /run/supplicant-phone -i wlan2 roam "$bssid"
    within 60 has_joined phone wlan2 next away
    within 60 ap_of_says next 'any(.sessions[]; .open and .signed > 0)'
    local at
    for at in phone away; do
        within 30 has_packets $at $(($(packets_of $at | wc -l) + 100))
    done
    stop listen-phone listen-away
    fails grep -h '"event":"ended"' /guest/out/telephone-phone.txt /guest/out/telephone-desk.txt
    stop telephone-phone telephone-desk follow
    longest_gap phone "to the phone"
    longest_gap away "from the phone"
}

# Takes away what the steps with phones have left, wherever they came to their end.
leave_the_phones() {
    stop telephone-phone telephone-desk follow listen-phone listen-away charon-visitor
    by_tunnel down phone || true
    by_tunnel down desk member || true
    stop supplicant-visitor supplicant-phone hostapd-access hostapd-next ap-next home-next dnsmasq-next
}

# Whether the phone knows of an access point. If not it looks, unless it does already.
looks_for() { # BSSID
    in_host phone wpa_cli -p /run/supplicant-phone -i wlan2 bss "$1" | grep '^ssid=guestright' && return
    in_host phone wpa_cli -p /run/supplicant-phone -i wlan2 scan
    return 1
}

# What a phone's system does when its radio is somewhere else: it asks for an address.
follow_the_radio() {
    cat >/guest/work/follow.sh <<'SCRIPT'
mkfifo "$3"
tail -n 0 -F "$1" >"$3" 2>/dev/null &
trap "kill $!; exit" TERM
while read -r line; do
    case $line in
    *CTRL-EVENT-CONNECTED*) busybox udhcpc -i wlan2 -n -q -f -t 10 -T 1 -s "$2" ;;
    esac
done <"$3"
SCRIPT
    start follow phone sh /guest/work/follow.sh /guest/out/supplicant-phone.txt "$STAGE/lease.sh" /guest/work/follow
}

# Voice that arrives: packets of the call with their times.
listen_to() { # host, interface, whose
    start "listen-$1" "$1" tcpdump -i "$2" -Q in -n -U -w "/guest/work/call-$1.pcap" \
        "udp and $3 and not port 5060 and not port 53"
    within 20 grep -q 'listening on' "/guest/out/listen-$1.txt"
}

packets_of() { tcpdump -n -tt -r "/guest/work/call-$1.pcap" "${@:2}" 2>/dev/null; } # host, filter…

has_packets() { [ "$(packets_of "$1" | wc -l)" -ge "$2" ]; } # host, number

# The longest time without voice.
longest_gap() { # host, direction
    packets_of "$1" | awk -v direction="$2" -v most=$ROAM_MS_MAX '
        NR > 1 && $1 - last > gap { gap = $1 - last }
        { last = $1 }
        END {
            printf "roam: %d packets of voice %s, the longest time without one %d ms\n", NR, direction, gap * 1000
            exit !(NR > 200 && gap * 1000 <= most)
        }' >/guest/work/gap || { cat /guest/work/gap; return 1; }
    cat /guest/work/gap
    note "$(cat /guest/work/gap)" >&3
}
