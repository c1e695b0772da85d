# The steps of the User Mode Linux machine: the papers' own stack, and our ESP against the kernel's.
#
#   visitor 10.10.0.2 ── 10.10.0.1 router 198.51.100.1 ── 198.51.100.2 home
#
# shellcheck shell=bash

MODULES_WANTED=(veth tun esp4 xfrm_user authenc authencesn cbc md5 des_generic gcm seqiv echainiv
    chacha20poly1305 l2tp_ppp ppp_async
    ip_tables iptable_nat xt_MASQUERADE)

# shellcheck disable=SC2034 # Read by guest.sh.
STEPS=(
    "paper-a-stack l2tp_ipsec aes128-md5 aes-128-cbc+hmac-md5-96 kernel"
    "paper-b-suite-stack l2tp_ipsec 3des-sha1 3des-cbc+hmac-sha1-96 kernel"
    "paper-a-length-field l2tp_ipsec aes128-md5 aes-128-cbc+hmac-md5-96 userspace"
    "stack-behind-nat l2tp_ipsec aes128-sha1 aes-128-cbc+hmac-sha1-96 kernel behind-nat"
    "paper-b-tunnel kernel_tunnel 3des-cbc+hmac-sha1-96"
    "tunnel-aes-128-cbc-md5 kernel_tunnel aes-128-cbc+hmac-md5-96"
    "tunnel-aes-128-cbc-sha1 kernel_tunnel aes-128-cbc+hmac-sha1-96"
    "tunnel-aes-128-cbc-sha1-extended kernel_tunnel aes-128-cbc+hmac-sha1-96 extended"
    "tunnel-aes-128-gcm kernel_tunnel aes-128-gcm"
    "tunnel-aes-256-gcm kernel_tunnel aes-256-gcm"
    "tunnel-chacha20-poly1305 kernel_tunnel chacha20-poly1305"
    "ours-aes-128-gcm ours_meets_kernel aes-128-gcm udp"
    "ours-aes-128-gcm-extended ours_meets_kernel aes-128-gcm raw --extended-sequence"
    "ours-chacha20-poly1305 ours_meets_kernel chacha20-poly1305 udp"
    "ours-paper-a-suite ours_meets_kernel aes-128-cbc+hmac-md5-96 udp --legacy-paper"
    "ours-paper-b-suite ours_meets_kernel 3des-cbc+hmac-sha1-96 raw --legacy-paper"
)

HOME_ADDRESS=198.51.100.2

# shellcheck source-path=SCRIPTDIR source=l2tp.sh
. "$STAGE/l2tp.sh"
# shellcheck source-path=SCRIPTDIR source=esp.sh
. "$STAGE/esp.sh"
# shellcheck source-path=SCRIPTDIR source=capture.sh
. "$STAGE/capture.sh"

set_up() {
    local module
    for module in "${MODULES_WANTED[@]}"; do
        modprobe "$module"
    done
    add_host visitor router home
    wire visitor eth0 10.10.0.2/24 router lan0 10.10.0.1/24
    wire router wan0 198.51.100.1/24 home eth0 198.51.100.2/24
    ip -n visitor route add default via 10.10.0.1
    in_host router sysctl -qw net.ipv4.ip_forward=1
    router_hides no
}

# Whether the router hides the visitor's address. Every step says so first, whatever the one before has left.
router_hides() { # yes or no
    in_host router iptables-legacy -t nat -F POSTROUTING
    ip -n home route replace 10.10.0.0/24 via 198.51.100.1
    if [ "$1" = yes ]; then
        ip -n home route del 10.10.0.0/24
        in_host router iptables-legacy -t nat -A POSTROUTING -o wan0 -j MASQUERADE
    fi
}
