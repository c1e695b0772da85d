#!/bin/sh
# What udhcpc runs when it has an address: sets it, as every stock client would.
# shellcheck disable=SC2154 # udhcpc sets what begins in small letters.
case $1 in
deconfig)
    ip address flush dev "$interface"
    ip link set "$interface" up
    ;;
bound | renew)
    ip address replace "$ip/$mask" dev "$interface"
    ip route replace default via "$router" dev "$interface"
    echo "$dns" >"/guest/work/$interface.dns"
    ;;
esac
