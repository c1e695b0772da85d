#!/bin/sh
# Run by the feed's CI in a root file system of OpenWrt, after the package is installed: $1 is its name, $2 its version.
#
# shellcheck shell=dash

UCI=${UCI:-/etc/config/guestright}

case "$1" in
guestright)
	guestright --version 2>&1 | grep -F "$2" || exit 1
	# The settings that come with it are read, those of both programs.
	guestright ap --show-config --uci "$UCI" | grep -F 'visitor_interface = "br-guest"' || exit 1
	guestright home --show-config --uci "$UCI" | grep -F 'lend_bytes_max = 25000000' || exit 1
	# Nothing is enabled before somebody says so, and that is no failure.
	guestright ap --uci "$UCI" | grep -F 'not enabled' || exit 1
	guestright home --uci "$UCI" | grep -F 'not enabled' || exit 1
	;;
guestright-service)
	sh -n /etc/init.d/guestright || exit 1
	;;
esac
