#!/bin/sh
# In the place of OpenWrt's rc.common, procd.sh and functions.sh: every call writes one line, and settings come from
# variables UCI_SECTION_OPTION, the type of a section from UCI_SECTION.
#
# usage: standins.sh INIT FUNCTION...
#
# shellcheck shell=dash
# shellcheck disable=SC2034 # what is set here is for the script that is read below

config_load() { echo "config_load $1"; }
config_get() {
	local variable="UCI_$2"
	[ "$3" = TYPE ] || variable="UCI_$2_$3"
	eval "$1=\"\${$variable-}\""
}

# Sets what it is asked for. A section that is not there, and a value that its type does not allow, are failures.
uci_validate_section() {
	local package="$1" kind="$2" section="$3" specification option type value
	shift 3
	eval "[ \"\${UCI_$section-}\" = \"$kind\" ]" || return 1
	for specification; do
		option="${specification%%:*}"
		specification="${specification#*:}"
		type="${specification%%:*}"
		value="${specification#"$type"}"
		eval "$option=\"\${UCI_${section}_$option-\${value#:}}\""
		eval "value=\"\${$option}\""
		case "$type:$value" in
		bool: | bool:0 | bool:1 | bool:on | bool:off | bool:true | bool:false | bool:yes | bool:no | string:*) ;;
		*) return 1 ;;
		esac
	done
}

for call in procd_open_instance procd_set_param procd_append_param procd_add_jail procd_add_jail_mount \
	procd_add_jail_mount_rw procd_close_instance procd_add_reload_trigger procd_add_raw_trigger procd_add_validation \
	logger mkdir chmod chown; do
	eval "$call() { echo \"$call \$*\"; }"
done

# shellcheck disable=SC1090 # whichever script is tested
. "$1"
shift
# Where the test has put what a router has.
SETTINGS="$ROUTER/etc/guestright"
UCI="$ROUTER/etc/config/guestright"
PROG="$ROUTER/usr/bin/guestright"
UJAIL="$ROUTER/sbin/ujail"
DEVICES="$ROUTER/devices"
RTC="$ROUTER/rtc"
CLOCK_IS_SET="$ROUTER/clock"
for call; do
	"$call"
	echo "$call: $?"
done
