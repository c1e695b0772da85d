# ESP in tunnel mode with keys that both ends are given: the kernel against itself, and against our program.
# shellcheck shell=bash

# The addresses inside the tunnel.
VISITOR_INSIDE=10.93.0.2
HOME_INSIDE=10.93.0.1

# How the kernel calls the suite, with new keys.
algorithms() { # suite in our words
    case $1 in
    3des-cbc+hmac-sha1-96) echo "enc cbc(des3_ede) $(key 24) auth-trunc hmac(sha1) $(key 20) 96" ;;
    aes-128-cbc+hmac-md5-96) echo "enc cbc(aes) $(key 16) auth-trunc hmac(md5) $(key 16) 96" ;;
    aes-128-cbc+hmac-sha1-96) echo "enc cbc(aes) $(key 16) auth-trunc hmac(sha1) $(key 20) 96" ;;
    aes-128-gcm) echo "aead rfc4106(gcm(aes)) $(key 20) 128" ;;
    aes-256-gcm) echo "aead rfc4106(gcm(aes)) $(key 36) 128" ;;
    chacha20-poly1305) echo "aead rfc7539esp(chacha20,poly1305) $(key 36) 128" ;;
    *) echo "no suite $1" >&2 && return 1 ;;
    esac
}

key() { # bytes
    echo "0x$(od -An -v -tx1 -N "$1" /dev/urandom | tr -d ' \n')"
}

# The kernel's packets in tunnel mode, for our encoder to repeat.
kernel_tunnel() { # suite in our words, `extended` for sequence numbers of 64 bits
    local suite=$1 extended=${2:-} out in flags=(replay-window 64) host
    clear_xfrm
    router_hides no
    out=$(algorithms "$suite") in=$(algorithms "$suite")
    [ -z "$extended" ] || flags+=(flag esn)
    for host in visitor home; do
        # shellcheck disable=SC2086 # An algorithm and its key are words of their own.
        ip -n $host xfrm state add src 10.10.0.2 dst $HOME_ADDRESS proto esp spi 0x1001 mode tunnel "${flags[@]}" $out
        # shellcheck disable=SC2086
        ip -n $host xfrm state add src $HOME_ADDRESS dst 10.10.0.2 proto esp spi 0x1002 mode tunnel "${flags[@]}" $in
    done
    policies visitor 10.10.0.2 $VISITOR_INSIDE "$HOME_ADDRESS" $HOME_INSIDE
    policies home "$HOME_ADDRESS" $HOME_INSIDE 10.10.0.2 $VISITOR_INSIDE
    ip -n visitor address add $VISITOR_INSIDE/32 dev lo
    ip -n visitor route add $HOME_INSIDE via 10.10.0.1 src $VISITOR_INSIDE
    ip -n home address add $HOME_INSIDE/32 dev lo
    ip -n home route add $VISITOR_INSIDE via 198.51.100.1 src $HOME_INSIDE
    can_ping visitor $HOME_INSIDE
    capture_voice "tunnel-$suite${extended:+-$extended}" "$suite" $HOME_INSIDE ""
    clear_xfrm
}

# One end is our program, at the visitor's; the other is the kernel, at home, with the commands that ours prints.
ours_meets_kernel() { # suite in our words, `udp` or `raw`, further words for `tunnel esp-keys`
    local suite=$1 encapsulation=$2
    shift 2
    stop ours encapsulated
    clear_xfrm
    router_hides no
    rm -f one.* two.* /guest/out/ours.txt
    "$STAGE/guestright-lab" tunnel esp-keys --suite "$suite" --encapsulation "$encapsulation" "$@" \
        --one 10.10.0.2:4500 --two "$HOME_ADDRESS:4500" --inner-one $VISITOR_INSIDE/32 --inner-two $HOME_INSIDE/32 \
        one.toml two.toml
    "$STAGE/guestright-lab" tunnel esp --config two.toml --kernel-commands >two.commands
    in_host home sh -e two.commands
    ip -n home address add $HOME_INSIDE/32 dev lo
    ip -n home route add $VISITOR_INSIDE via 198.51.100.1 src $HOME_INSIDE
    [ "$encapsulation" = raw ] || take_esp_from_udp
    run_ours
    can_ping visitor $HOME_INSIDE
    can_ping home $VISITOR_INSIDE
    transfer visitor home $HOME_INSIDE
    transfer home visitor $VISITOR_INSIDE
    # Whoever starts again goes on counting, or the kernel would take its packets for old ones.
    stop ours
    run_ours
    can_ping visitor $HOME_INSIDE
    finds_no_fault
    stop ours encapsulated
    clear_xfrm
}

# Whether the kernel at home took everything: nothing old, nothing forged, nothing without an association. Dummy packets
# (RFC 4303, section 2.6), which ours sends to keep NAT awake, it drops as it should and counts as protocol errors.
finds_no_fault() {
    ip -n home -statistics xfrm state >states
    sed '/0x/d' states
    [ "$(grep -c 'replay 0 failed 0' states)" = 2 ]
    # shellcheck disable=SC2016 # awk's own.
    in_host home awk '$2 > 0 && $1 != "XfrmInStateProtoError" { print; bad = 1 } END { exit bad }' /proc/net/xfrm_stat
}

run_ours() {
    rm -f /guest/out/ours.txt
    start ours visitor "$STAGE/guestright-lab" tunnel esp --config one.toml
    within 20 grep -q 'is up' /guest/out/ours.txt
    ip -n visitor route replace $HOME_INSIDE dev esp0
}

# The kernel looks for ESP in UDP only on a socket that says so (RFC 3948; UDP_ENCAP is 100, UDP_ENCAP_ESPINUDP 2).
take_esp_from_udp() {
    rm -f /guest/out/encapsulated.txt
    # shellcheck disable=SC2016 # Perl's own.
    start encapsulated home perl -MSocket -e '
        socket(my $socket, AF_INET, SOCK_DGRAM, 17) or die "socket: $!";
        bind($socket, sockaddr_in(4500, INADDR_ANY)) or die "bind: $!";
        setsockopt($socket, 17, 100, pack("i", 2)) or die "setsockopt: $!";
        $| = 1;
        print "ready\n";
        sleep;'
    within 10 grep -q ready /guest/out/encapsulated.txt
}

policies() { # host, its address, its address inside, the other's address, the other's inside
    ip -n "$1" xfrm policy add src "$3" dst "$5" dir out tmpl src "$2" dst "$4" proto esp mode tunnel
    ip -n "$1" xfrm policy add src "$5" dst "$3" dir in tmpl src "$4" dst "$2" proto esp mode tunnel
}

clear_xfrm() {
    local host
    for host in visitor home; do
        ip -n $host xfrm state flush
        ip -n $host xfrm policy flush
    done
    # What was never there need not go.
    ip -n visitor address del $VISITOR_INSIDE/32 dev lo 2>/dev/null || true
    ip -n visitor route del $HOME_INSIDE 2>/dev/null || true
    ip -n home address del $HOME_INSIDE/32 dev lo 2>/dev/null || true
    ip -n home route del $VISITOR_INSIDE 2>/dev/null || true
}
