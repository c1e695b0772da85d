# After the old version has gone: what runs is started again with the new program.
# shellcheck shell=sh
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || :
    if [ "$1" -ge 1 ]; then
        systemctl try-restart guestright-ap.service guestright-home.service guestright-visit.service || :
    fi
fi
