# A package's life in a root of Debian without network, compilers and a running systemd: installed, upgraded twice,
# downgraded, upgraded on a full disk, removed, purged. /packages has before.deb, now.deb, next.deb, and lab.deb; the
# packages that they depend on are in apt's cache.
# shellcheck shell=sh
SCRIPTS=${SCRIPTS:-/scripts}
SCRIPT=lifecycle.sh
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
# What is compared later.
mkdir -p /var/kept

install_package() { apt-get install --yes --quiet --allow-downgrades "$@"; }

state_of() { dpkg-query --show --showformat '${db:Status-Abbrev}${Version}' "$1" 2>/dev/null || true; }

runs() { guestright --version && guestright-lab --version; }

installs_from_nothing() {
    fails command -v gcc
    install_package /packages/now.deb /packages/lab.deb
    runs
    # Nothing is enabled, and a user is there.
    fails ls /etc/systemd/system/multi-user.target.wants/guestright-ap.service
    getent passwd guestright
    [ -e /etc/guestright/ap.toml.example ]
    man_page=/usr/share/man/man1/guestright.1.gz
    [ -e $man_page ] || ls /etc/dpkg/dpkg.cfg.d # where documents are left out, as in containers
}

# What a household has made. It has to be there after everything that follows, but for the state after a purge.
makes_keys_and_state() {
    mkdir -p /etc/guestright/team /var/lib/guestright/home
    guestright team init --dir /etc/guestright/team
    echo 'founded = "by hand"' >>/etc/guestright/ap.toml.example
    echo receipts >/var/lib/guestright/home/receipts.sqlite
    find /etc/guestright -type f -exec sha256sum {} + >/var/kept/kept
}

keeps_everything() {
    sha256sum --check --quiet /var/kept/kept
    is "$(cat /var/lib/guestright/home/receipts.sqlite)" receipts
}

is_upgraded_twice() {
    install_package /packages/before.deb
    case $(state_of guestright) in "ii 0.0.9-1") ;; *) state_of guestright; exit 1 ;; esac
    keeps_everything
    install_package /packages/now.deb
    keeps_everything
    install_package /packages/next.deb
    keeps_everything
    is "$(state_of guestright)" "ii 9.0.0-1"
    runs
}

is_downgraded() {
    install_package /packages/now.deb
    fails [ "$(state_of guestright)" = "ii 9.0.0-1" ]
    keeps_everything
    runs
}

# The folder of programs is full: nothing can be written beside the old program.
survives_a_full_disk() {
    before=$(state_of guestright)
    cp -a /usr/bin /var/kept/bin
    size=$(du --summarize --block-size=1K /usr/bin | cut -f 1)
    mount -t tmpfs -o size=$((size + 2048))k,mode=755 full /usr/bin
    /var/kept/bin/cp -a /var/kept/bin/. /usr/bin/
    text=$(fails install_package /packages/next.deb 2>&1)
    echo "$text"
    case $text in *"No space left on device"*) ;; *) exit 1 ;; esac
    # The program that was there still runs, and dpkg knows which one it is.
    runs
    is "$(state_of guestright)" "$before"
    keeps_everything
    # There is room again: the same command goes through.
    mount -o "remount,size=$((size + 1048576))k" /usr/bin
    install_package /packages/next.deb
    is "$(state_of guestright)" "ii 9.0.0-1"
    runs
    keeps_everything
    cp -a /usr/bin/. /var/kept/bin/
    umount --lazy /usr/bin
    cp -a --remove-destination /var/kept/bin/. /usr/bin/
    rm -rf /var/kept/bin
    runs
}

# The database of packages is full.
survives_a_full_database() {
    cp -a /var/lib/dpkg /var/kept/dpkg
    size=$(du --summarize --block-size=1K /var/lib/dpkg | cut -f 1)
    mount -t tmpfs -o size=$((size + 64))k,mode=755 full /var/lib/dpkg
    cp -a /var/kept/dpkg/. /var/lib/dpkg/
    text=$(fails install_package /packages/now.deb 2>&1)
    echo "$text"
    case $text in *"No space left on device"*) ;; *) exit 1 ;; esac
    runs
    keeps_everything
    mount -o "remount,size=$((size + 65536))k" /var/lib/dpkg
    dpkg --configure --pending
    install_package /packages/now.deb
    runs
    keeps_everything
    rm -rf /var/kept/dpkg
    cp -a /var/lib/dpkg /var/kept/dpkg
    umount --lazy /var/lib/dpkg
    cp -a /var/kept/dpkg/. /var/lib/dpkg/
    rm -rf /var/kept/dpkg
}

is_removed() {
    apt-get remove --yes --quiet guestright guestright-lab
    fails command -v guestright
    keeps_everything
    # Settings stay until the package is purged.
    is "$(state_of guestright | cut -c 1-2)" rc
}

comes_back() {
    install_package /packages/now.deb
    keeps_everything
    runs_alone=$(guestright --version)
    echo "$runs_alone"
}

is_purged() {
    text=$(apt-get purge --yes --quiet guestright guestright-lab 2>&1)
    echo "$text"
    case $text in *"keys and settings are left in /etc/guestright"*) ;; *) exit 1 ;; esac
    fails [ -e /var/lib/guestright ]
    [ -e /etc/guestright/team/team.key ]
    is "$(state_of guestright)" ""
    getent passwd guestright
}

# Without keys nothing at all is left but the user.
leaves_nothing_without_keys() {
    rm -r /etc/guestright
    install_package /packages/now.deb
    text=$(apt-get purge --yes --quiet guestright 2>&1)
    case $text in *"left in /etc/guestright"*) exit 1 ;; esac
    fails ls -d /etc/guestright /var/lib/guestright
}

if [ "${0##*/}" = $SCRIPT ]; then
    # shellcheck source-path=SCRIPTDIR source=steps.sh
    . "$SCRIPTS/steps.sh"
    run_steps installs_from_nothing makes_keys_and_state is_upgraded_twice is_downgraded survives_a_full_disk \
        survives_a_full_database is_removed comes_back is_purged leaves_nothing_without_keys
fi
