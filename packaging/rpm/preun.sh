# Before the last version goes.
# shellcheck shell=sh
if [ "$1" -eq 0 ]; then
    if [ -d /run/systemd/system ]; then
        systemctl --no-reload disable --now guestright-ap.service guestright-home.service guestright-visit.service || :
    fi
    # What a crash has left in force nobody could take back when the program is gone.
    for role in ap home; do
        if [ -e /etc/guestright/$role.toml ]; then
            guestright $role off --config /etc/guestright/$role.toml || :
        fi
    done
    if [ -e /etc/guestright/visit.toml ]; then
        guestright down || :
    fi
fi
