# Units under a systemd that has booted: a household's home with a gateway, its access point, and a visitor of another household
# in a network of its own, as the package brings them. Runs inside the container; /packages has now.deb and next.deb.
# shellcheck shell=sh
SCRIPTS=${SCRIPTS:-/scripts}
SCRIPT=booted.sh
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
# What is compared later.
mkdir -p /var/kept

SERVICES="guestright-home guestright-ap guestright-visit"
SERVER=192.0.2.1
AWAY=198.51.100.2

# Nothing runs and nothing starts with the computer until somebody says so, whatever the distribution's presets are.
is_installed_and_still() {
    # On a computer everybody sees the same number of this boot. A container shows one of its own, but not to units with a
    # /proc of their own, and what a unit has left behind would look like another boot's.
    ! mountpoint -q /proc/sys/kernel/random/boot_id || umount /proc/sys/kernel/random/boot_id
    apt-get install --yes --quiet --no-install-recommends /packages/now.deb
    for service in $SERVICES; do
        is "$(systemctl is-active "$service" || true)" inactive
        is "$(systemctl is-enabled "$service" || true)" disabled
        systemctl preset "$service"
        is "$(systemctl is-enabled "$service" || true)" disabled
    done
    [ "$(stat --format='%a %U' /var/lib/guestright)" = "711 guestright" ]
}

# The exposure of each unit, home with the gateway's settings and without.
is_little_exposed() {
    for service in $SERVICES; do
        note "$(systemd-analyze security --no-pager "$service" | sed -n 's/.*Overall/overall/p')"
        systemd-analyze security --no-pager --threshold=25 "$service" >/dev/null
    done
    lets_home_be_a_gateway
    note "with a gateway: $(systemd-analyze security --no-pager guestright-home | sed -n 's/.*Overall/overall/p')"
    systemd-analyze security --no-pager --threshold=25 guestright-home >/dev/null
}

lets_home_be_a_gateway() {
    mkdir -p /etc/systemd/system/guestright-home.service.d
    ln -sf /usr/share/guestright/guestright-home-gateway.conf /etc/systemd/system/guestright-home.service.d/gateway.conf
    systemctl daemon-reload
}

# The household's computer is this container; a guest, its own home, and the Internet have networks of their own.
gets_a_household() {
    ip netns add guest
    ip netns add net
    ip netns add away
    ip link add guests type veth peer name eth0 netns guest
    ip link add wan type veth peer name to-home netns net
    ip address add 10.73.0.1/24 dev guests
    ip address add 203.0.113.2/24 dev wan
    ip link set guests up
    ip link set wan up
    ip route add default via 203.0.113.1
    ip -n guest link set lo up
    ip -n guest address add 10.73.0.10/24 dev eth0
    ip -n guest link set eth0 up
    ip -n guest route add default via 10.73.0.1
    ip -n net link set lo up
    ip -n net address add $SERVER/32 dev lo
    ip -n net address add 203.0.113.1/24 dev to-home
    ip -n net link set to-home up
    ip link add wan netns away type veth peer name to-away netns net
    ip -n net address add 198.51.100.1/24 dev to-away
    ip -n net link set to-away up
    ip -n away link set lo up
    ip -n away address add $AWAY/24 dev wan
    ip -n away link set wan up
    ip -n away route add default via 198.51.100.1
    ip netns exec net sysctl -qw net.ipv4.ip_forward=1
    cd /etc/guestright || exit 1
    guestright team init --dir team
    guestright team member add home --role home --dir team
    guestright team member add router --role access-point --dir team
    guestright team gateway init --dir team --endpoint 203.0.113.2:51820
    cp -r team/gateway team/home.key team/home.cert team/router.key team/router.cert .
    cat >home.toml <<CONF
key = "home.key"
certificate = "home.cert"
state = "/var/lib/guestright/home"
[gateway]
uplink_interface = "wan"
dns_upstream = "$SERVER"
CONF
    cat >ap.toml <<CONF
key = "router.key"
certificate = "router.cert"
state = "/var/lib/guestright/ap"
home = "127.0.0.1:7274"
visitor_interface = "guests"
uplink_interface = "wan"
interval_ms = 1000
CONF
    mkdir /etc/away
    guestright team init --dir /etc/away
    guestright team member add home --role home --dir /etc/away
    guestright team gateway init --dir /etc/away --endpoint $AWAY:51820
    guestright team member add alice --qr --dir /etc/away >/dev/null
    printf 'key = "home.key"\ncertificate = "home.cert"\nstate = "state"\n[gateway]\nuplink_interface = "wan"\ndns_upstream = "%s"\n' \
        $SERVER >/etc/away/home.toml
    chown -R guestright: gateway home.key home.cert router.key router.cert
    network >/var/kept/network
}

# What programs of ours change in the network.
network() {
    nft list ruleset
    ip rule
    ip -4 route show table all
    ip -o link | cut -d : -f 2 | sort
    cat /proc/sys/net/ipv4/ip_forward
}

main_pid() { systemctl show --property=MainPID --value "$1"; }

# `start` waits until the service says that it serves.
starts_and_says_so() {
    systemctl start guestright-home guestright-ap
    for service in guestright-home guestright-ap; do
        is "$(systemctl is-active "$service")" active
        is "$(systemctl show --property=Type --value "$service")" notify
        is "$(stat --format=%U "/proc/$(main_pid "$service")")" guestright
    done
    says "home of team" systemctl show --property=StatusText guestright-home
    says "access point of team" systemctl show --property=StatusText guestright-ap
    within 10 home_is_reached
}

home_is_reached() { guestright ap status | grep -q '^home *connected'; }

# A guest of another household, whose home runs too. The unit is in the guest's network.
serves_a_guest() {
    mkdir -p /run/systemd/system/guestright-visit.service.d
    printf '[Service]\nNetworkNamespacePath=/run/netns/guest\n' >/run/systemd/system/guestright-visit.service.d/guest.conf
    systemctl daemon-reload
    systemd-run --quiet --unit=away-home --property=Type=notify --property=NetworkNamespacePath=/run/netns/away \
        /usr/bin/guestright home --config /etc/away/home.toml
    cd /etc/away || exit 1
    # Everything that `up` does but for the unit, which it finds.
    timeout 60 guestright up --key alice.key --certificate alice.cert --tunnel alice.conf --home $AWAY
    fails [ -e /etc/systemd/system/guestright-visit.service ]
    is "$(systemctl is-active guestright-visit)" active
    within 20 is_online
    within 10 reaches_the_internet
    says "online" systemctl show --property=StatusText guestright-visit
}

# Without its settings file it would be the household that is asked.
is_online() { guestright status --config /etc/guestright/visit.toml --json | grep -q '"online":true'; }

reaches_the_internet() { ip netns exec guest ping -c 1 -W 1 -q $SERVER; }

journal_has_fields() {
    for field in TEAM CLASS BYTES REASON STARTED; do
        journalctl --unit=guestright-ap --output=json MESSAGE=session | grep -q "\"GUESTRIGHT_$field\":" || return 1
    done
}

reloads() {
    before=$(main_pid guestright-ap)
    sed -i 's/^interval_ms = .*/interval_ms = 1500/' /etc/guestright/ap.toml
    systemctl reload guestright-ap
    within 5 has_read_settings 1
    # What is wrong changes nothing, and is said to whoever asked.
    echo 'interval_ms = "often"' >>/etc/guestright/ap.toml
    fails systemctl reload guestright-ap
    is "$(systemctl is-active guestright-ap)" active
    sed -i '$d' /etc/guestright/ap.toml
    # By a signal too.
    sed -i 's/^interval_ms = .*/interval_ms = 1000/' /etc/guestright/ap.toml
    systemctl kill --signal=HUP --kill-who=main guestright-ap
    within 5 has_read_settings 2
    is "$(systemctl is-active guestright-ap)" active
    is "$(main_pid guestright-ap)" "$before"
    reaches_the_internet
}

has_read_settings() { # how often
    [ "$(journalctl --unit=guestright-ap --output=cat --grep='settings were read again' | grep -cv wrong)" -ge "$1" ]
}

is_another() { # service, process
    [ "$(main_pid "$1")" != "$2" ] && [ "$(systemctl is-active "$1")" = active ]
}

starts_again_after_a_kill() {
    for service in guestright-home guestright-ap; do
        before=$(main_pid "$service")
        systemctl kill --signal=KILL --kill-who=main "$service"
        # What keeps strangers out is still there while nobody runs.
        [ $service = guestright-home ] || nft list ruleset | grep -q guestright
        within 20 is_another "$service" "$before"
        is "$(systemctl show --property=NRestarts --value "$service")" 1
    done
    within 40 reaches_the_internet
}

# A process that stands still does not keep its watchdog.
starts_again_after_standing_still() {
    for service in $SERVICES; do
        mkdir -p "/run/systemd/system/$service.service.d"
        printf '[Service]\nWatchdogSec=2\nRestartSec=1\n' >"/run/systemd/system/$service.service.d/watchdog.conf"
    done
    systemctl daemon-reload
    # shellcheck disable=SC2086 # A list of names.
    systemctl restart $SERVICES
    # As long as they run nothing happens.
    sleep 5
    for service in $SERVICES; do
        is "$(systemctl show --property=NRestarts --value "$service")" 0
        before=$(main_pid "$service")
        kill -STOP "$before"
        within 30 is_another "$service" "$before"
        says "atchdog" journalctl --unit="$service" --output=cat
    done
    for service in $SERVICES; do
        rm "/run/systemd/system/$service.service.d/watchdog.conf"
    done
    systemctl daemon-reload
    # shellcheck disable=SC2086 # A list of names.
    systemctl restart $SERVICES
    within 40 reaches_the_internet
}

# An upgrade starts again what runs. The guest's packets say how long nobody carries them.
is_upgraded_with_a_guest() {
    within 40 reaches_the_internet
    home=$(main_pid guestright-home)
    ap=$(main_pid guestright-ap)
    ip netns exec guest ping -i 0.1 -W 1 -D $SERVER >/var/kept/ping &
    pings=$!
    sleep 1
    began=$(milliseconds)
    apt-get install --yes --quiet --no-install-recommends /packages/next.deb
    upgraded=$(milliseconds)
    is_another guestright-home "$home"
    is_another guestright-ap "$ap"
    within 60 replies_came_after "$upgraded"
    sleep 1
    kill -INT $pings
    note "upgrade: $((upgraded - began)) ms; longest time without a reply: $(longest_silence) ms"
    [ "$(longest_silence)" -lt 30000 ]
    # Nothing is enabled that was not.
    is "$(systemctl is-enabled guestright-ap || true)" disabled
    # The session that the restart has ended.
    within 5 journal_has_fields
}

replies_came_after() { # milliseconds
    awk -v after="$1" -F '[][]' '/bytes from/ && $2 * 1000 > after + 500 { found = 1 } END { exit !found }' /var/kept/ping
}

longest_silence() {
    awk -F '[][]' '/bytes from/ { if (last && $2 - last > most) most = $2 - last; last = $2 } END { printf "%d", most * 1000 }' /var/kept/ping
}

puts_everything_back() {
    # shellcheck disable=SC2086 # A list of names.
    systemctl stop $SERVICES
    network >/var/kept/network-after
    diff /var/kept/network /var/kept/network-after
    for service in $SERVICES; do
        is "$(systemctl is-active "$service" || true)" inactive
    done
}

# Also what was killed, and could not.
puts_back_what_a_crash_left_when_removed() {
    mkdir -p /run/systemd/system/guestright-ap.service.d
    printf '[Service]\nRestart=no\n' >/run/systemd/system/guestright-ap.service.d/once.conf
    systemctl daemon-reload
    systemctl start guestright-home guestright-ap
    systemctl kill --signal=KILL --kill-who=main guestright-ap
    within 10 is_over guestright-ap
    nft list ruleset | grep -q guestright
    apt-get purge --yes --quiet guestright 2>&1
    network >/var/kept/network-after
    diff /var/kept/network /var/kept/network-after
    is "$(systemctl is-active guestright-home || true)" inactive
}

is_over() { [ "$(systemctl is-active "$1")" != active ]; }

if [ "${0##*/}" = $SCRIPT ]; then
    # shellcheck source-path=SCRIPTDIR source=steps.sh
    . "$SCRIPTS/steps.sh"
    run_steps is_installed_and_still is_little_exposed gets_a_household starts_and_says_so serves_a_guest \
        reloads starts_again_after_a_kill starts_again_after_standing_still \
        is_upgraded_with_a_guest puts_everything_back puts_back_what_a_crash_left_when_removed
fi
