#!/bin/sh
# Whether what is installed is the version that it says.
#
# shellcheck shell=dash

case "$PKG_NAME" in
guestright)
	guestright --version | grep -F "$PKG_VERSION"
	;;
guestright-service)
	# Scripts and settings, no program.
	exit 0
	;;
*)
	echo "nobody knows the version of $PKG_NAME" >&2
	exit 1
	;;
esac
