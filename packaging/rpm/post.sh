# After an installation or upgrade. Nothing is enabled or started.
# shellcheck shell=sh
systemd-sysusers guestright.conf || :
if [ -d /run/systemd/system ]; then
    systemd-tmpfiles --create guestright.conf || :
    systemctl daemon-reload || :
fi
