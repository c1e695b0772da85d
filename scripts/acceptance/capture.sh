# Packets of a kernel with the keys it used, in a form that our encoder's test reads.
# shellcheck shell=bash

# Sends datagrams of voice's sizes and keeps what left, the keys, and, where it can be seen, what entered the tunnel.
capture_voice() { # name, suite in our words, address to send to, interface where packets enter (may be empty)
    local name=$1 suite=$2 address=$3 entrance=$4 size
    rm -f /guest/out/capture-{inner,outer}.txt /guest/work/{inner,outer}.pcap
    start capture-outer visitor tcpdump -i eth0 -n -U -w /guest/work/outer.pcap \
        'ip and src 10.10.0.2 and (proto 50 or udp port 4500) and not udp[8:4] == 0'
    within 10 grep -q 'listening on' /guest/out/capture-outer.txt
    if [ -n "$entrance" ]; then
        start capture-inner visitor tcpdump -i "$entrance" -n -U -w /guest/work/inner.pcap udp
        within 10 grep -q 'listening on' /guest/out/capture-inner.txt
    fi
    # 20 bytes of IP and 8 of UDP besides.
    for size in 32 172; do
        in_host visitor bash -c "printf '%0${size}d' 7 >/dev/udp/$address/5004"
    done
    within 5 has_packets 2 /guest/work/outer.pcap
    [ -z "$entrance" ] || within 5 has_packets 2 /guest/work/inner.pcap
    stop capture-inner capture-outer
    {
        echo "# What Linux $(uname -r) put on the wire; made by make acceptance."
        echo "suite $suite"
        outbound_keys
        [ -z "$entrance" ] || packets inner /guest/work/inner.pcap
        packets outer /guest/work/outer.pcap
    } >"/guest/out/$name.capture"
    rm -f /guest/out/capture-{inner,outer}.txt
}

has_packets() { [ "$(tcpdump -n -r "$2" 2>/dev/null | wc -l)" -ge "$1" ]; }

# The state whose packets leave the visitor.
outbound_keys() {
    in_host visitor ip xfrm state list src 10.10.0.2 | awk '
        $1 == "proto" { print "spi " $4 }
        $1 ~ /^auth/ { print "authentication_key " $3 }
        $1 == "enc" || $1 == "aead" { print "encryption_key " $3 }
        $1 == "encap" { print "encapsulation " $3 " " $5 " " $7 }
        /flag.* esn/ { print "extended_sequence yes" }'
}

# Each packet of a file as one line of hexadecimal, from its IP header on.
packets() { # word in front, file
    tcpdump -n -x -r "$2" 2>/dev/null | awk -v word="$1" '
        /^[^\t]/ { if (hex != "") print word " " hex; hex = "" }
        /^\t0x/ { for (i = 2; i <= NF; i++) hex = hex $i }
        END { if (hex != "") print word " " hex }'
}
