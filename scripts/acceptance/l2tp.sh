# L2TP over IPsec as the papers had it: strongSwan with IKEv1 and a shared secret, ESP of the kernel in transport
# mode, xl2tpd and pppd. What the kernel puts on the wire for packets of voice is kept for our encoder to repeat.
# shellcheck shell=bash

TUNNEL_ADDRESS=10.99.0.1

l2tp_ipsec() { # suite in strongSwan's words, suite in ours, `kernel` or `userspace` for the L2TP data path,
    # and perhaps `behind-nat`
    local proposal=$1 suite=$2 data_path=$3 host capture
    capture=l2tp-$suite-$data_path
    clear_away
    if [ -n "${4:-}" ]; then router_hides yes; else router_hides no; fi
    for host in home visitor; do
        start_charon $host "$proposal"
    done
    for host in home visitor; do
        within 20 test -S /guest/work/$host/vici
        control_charon $host --load-all --file /guest/work/$host/swanctl.conf
    done
    stage "charon is up"
    control_charon visitor --initiate --child l2tp --timeout 30
    in_host visitor ip xfrm state
    stage "keys are there"
    settings_of_l2tp "$data_path"
    start xl2tpd-home home xl2tpd -D -c /guest/work/home/xl2tpd.conf -s /dev/null \
        -p /guest/work/home/xl2tpd.number -C /guest/work/home/xl2tpd.control
    within 10 has_socket home 1701
    start xl2tpd-visitor visitor xl2tpd -D -c /guest/work/visitor/xl2tpd.conf -s /dev/null \
        -p /guest/work/visitor/xl2tpd.number -C /guest/work/visitor/xl2tpd.control
    within 40 has_address visitor ppp0
    stage "PPP is up"
    can_ping visitor $TUNNEL_ADDRESS
    stage "pinged"
    capture_voice "$capture" "$suite" $TUNNEL_ADDRESS ppp0
    stage "captured"
    transfer visitor home $TUNNEL_ADDRESS
    stage "transferred"
    clear_away
}

clear_away() {
    stop xl2tpd-visitor xl2tpd-home charon-visitor charon-home
    local host
    for host in visitor home; do
        within 15 lacks_ppp $host
        ip -n $host xfrm state flush
        ip -n $host xfrm policy flush
        rm -rf "/guest/work/$host"
        mkdir -p /guest/work/$host
    done
}

lacks_ppp() { ! ip -n "$1" link show ppp0; }
has_address() { ip -n "$1" -4 -oneline address show dev "$2" | grep -q inet; }

# strongSwan's control program, told where this host's charon listens.
control_charon() { # host, what to do…
    local host=$1
    shift
    STRONGSWAN_CONF=/guest/work/$host/strongswan.conf swanctl "$@" --uri "unix:///guest/work/$host/vici"
}

start_charon() { # host, suite
    local host=$1 proposal=$2 directory=/guest/work/$1
    cat >"$directory/strongswan.conf" <<CONF
charon {
    load = random nonce openssl aes md5 sha1 sha2 hmac gmp kdf kernel-netlink socket-default vici updown
    install_routes = no
    filelog {
        log {
            path = /guest/out/charon-$host.txt
            default = 1
        }
    }
    plugins {
        vici {
            socket = unix://$directory/vici
        }
    }
}
CONF
    # The home waits, whatever the port of who asks; the visitor asks.
    local own="remote_addrs = $HOME_ADDRESS" own_identity="" peer_identity="id = $HOME_ADDRESS" peer_port=1701
    if [ "$host" = home ]; then
        own="local_addrs = $HOME_ADDRESS" own_identity="id = $HOME_ADDRESS" peer_identity="" peer_port=
    fi
    cat >"$directory/swanctl.conf" <<CONF
connections {
    l2tp {
        version = 1
        $own
        proposals = $proposal-modp1024
        local {
            auth = psk
            $own_identity
        }
        remote {
            auth = psk
            $peer_identity
        }
        children {
            l2tp {
                mode = transport
                esp_proposals = $proposal
                local_ts = dynamic[udp/1701]
                remote_ts = dynamic[udp${peer_port:+/$peer_port}]
            }
        }
    }
}
secrets {
    ike-all {
        secret = "only in this machine"
    }
}
CONF
    # Each charon thinks that /run is its own: it keeps the number of its process there.
    # shellcheck disable=SC2016 # The inner shell expands it.
    start "charon-$host" "$host" env STRONGSWAN_CONF="$directory/strongswan.conf" \
        unshare --mount sh -c 'mount -t tmpfs run /run && exec /usr/lib/ipsec/charon'
}

settings_of_l2tp() { # `kernel` or `userspace`
    local userspace=no host
    [ "$1" = kernel ] || userspace=yes
    cat >/guest/work/home/xl2tpd.conf <<CONF
[global]
listen-addr = $HOME_ADDRESS
force userspace = $userspace
[lns default]
ip range = 10.99.0.10-10.99.0.50
local ip = $TUNNEL_ADDRESS
require chap = yes
refuse pap = yes
require authentication = yes
length bit = yes
name = home
pppoptfile = /guest/work/home/options
CONF
    cat >/guest/work/visitor/xl2tpd.conf <<CONF
[global]
port = 1701
force userspace = $userspace
[lac home]
lns = $HOME_ADDRESS
length bit = yes
pppoptfile = /guest/work/visitor/options
autodial = yes
redial = yes
redial timeout = 1
CONF
    for host in home visitor; do
        # No compression of any field: what the papers count.
        cat >/guest/work/$host/options <<CONF
mtu 1380
mru 1380
noccp
noaccomp
nopcomp
novj
nodefaultroute
ipcp-accept-local
ipcp-accept-remote
CONF
    done
    echo require-chap >>/guest/work/home/options
    printf 'name member\nnoauth\n' >>/guest/work/visitor/options
}
