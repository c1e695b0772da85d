#!/bin/sh
# Installs what this computer lacks to build, show and test the project. Run with --help for the rest.
# POSIX shell, because it has to work before there is anything else.
set -u

usage() {
    cat <<'EOF'
usage: sh scripts/setup.sh [--check] [program|lab|demo|test|all|page|acceptance|package|router|libraries|release|bench]

  program   what building and running guestright needs (the default)
  lab       that, and what experiments on this computer's kernel need
  demo      what building and running the demo needs
  test      that, and what the tests need
  all       that, and what the lints need
  page      what building the household's page and looking at it needs: Node in target/node if there is none, Chromium
  acceptance
            what building the program and its virtual machines needs (Debian on x86-64)
  package   what making and testing packages needs (the tests: Debian)
  router    what building routers' programs needs, and running them here: Zig in target/zig, QEMU, nightly Rust
  release   both of these, and what else a release is made with
  libraries what comparing the libraries' interfaces with those of the last release needs
  bench     what the tests need, and the tunnels and simulators of others that ours are compared with;
            one that cannot be had is left out of the comparison
  --check   only say what is missing; exit code 1 if anything is

Installs Debian packages with apt-get (through sudo unless root) and Rust with rustup.
Asks first, unless root, YES=1 or CI=true. Does nothing where nothing is missing.

exit codes: 0 everything is here, 1 something is missing or could not be installed,
            2 wrong usage, 3 nobody to ask (no terminal, not root, no YES=1)
EOF
}

# --- What is needed -------------------------------------------------------------------------------------------------

root=$(cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
rust_min=$(sed -n 's/^rust-version = "\([0-9.]*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
# rustup may have come a moment ago, and Debian keeps nft, ip and tc where ordinary users do not look.
PATH=${CARGO_HOME:-${HOME:-/root}/.cargo}/bin:$PATH:/usr/sbin:/sbin
export PATH

has() { command -v "$1" >/dev/null 2>&1; }
has_c_compiler() { has cc && has make && { [ -e /usr/include/stdio.h ] || ! has dpkg; }; }
has_openssl() { has pkg-config && pkg-config --exists openssl; }
has_alsa() { has pkg-config && pkg-config --exists alsa; }
has_library() { ldconfig -p 2>/dev/null | grep -q "[[:space:]]$1 "; }
has_faketime() {
    set -- /usr/lib/*/faketime/libfaketime.so.1
    [ -e "$1" ]
}

has_scapy() { /usr/bin/python3 -c 'import scapy.layers.ipsec, cryptography' >/dev/null 2>&1; }
has_certificates() {
    [ -e /etc/ssl/certs/ca-certificates.crt ] || [ -e /etc/pki/tls/certs/ca-bundle.crt ] || [ -e /etc/ssl/cert.pem ]
}

# The cargo-deny that deny.toml is written for, and what the packages' manifests are.
deny_version=0.20.2
deb_version=3.8.0
rpm_version=0.21.1
cyclonedx_version=0.5.9
semver_version=0.51.0
zig_version=0.17.1
zigbuild_version=0.24.1
node_min=20

packages= # Debian's names of what is missing.
tools=    # What Cargo has to install, as name@version.
jobs=     # The same in words, one per line.
lacks() { # package, job
    packages="$packages $1"
    jobs="$jobs
  - $2"
}
needs_tool() { # name, version, job
    have=$(cargo "${1#cargo-}" --version 2>/dev/null) || have=
    [ "${have##* }" = "$2" ] && return
    tools="$tools $1@$2"
    jobs="$jobs
  - $1 $2 ($3)"
}

find_missing_packages() {
    packages=
    tools=
    jobs=
    # To build the program, and to run it.
    has_c_compiler || lacks build-essential "a C compiler, its headers and make (SQLite is built from source)"
    has curl || lacks curl "curl (downloads)"
    has_certificates || lacks ca-certificates "root certificates (TLS downloads)"
    has nft || lacks nftables "nft (nftables: the access points' firewall)"
    { has ip && has tc; } || lacks iproute2 "ip and tc (iproute2: network namespaces and links)"
    has wg || lacks wireguard-tools "wg (configures the kernel's WireGuard)"
    has cmake || lacks cmake "cmake (Opus is built from source)"
    has pkg-config || lacks pkg-config "pkg-config (finds ALSA and OpenSSL)"
    has_alsa || lacks libasound2-dev "ALSA with headers (the sound card)"
    [ "$group" = program ] && return
    case $group in
    page) find_missing_browser && return ;;
    acceptance) find_missing_machines && return ;;
    package) find_missing_packaging && return ;;
    router) find_missing_processors && return ;;
    release) find_missing_packaging && find_missing_processors && find_missing_releasing && return ;;
    libraries)
        needs_tool cargo-semver-checks $semver_version "what a new version of a library breaks"
        return
        ;;
    esac
    has ethtool || lacks ethtool "ethtool (offloads of virtual links)"
    [ "$group" = demo ] ||
        has_openssl || lacks libssl-dev "OpenSSL with headers (the paper's old signature suites)"
    [ "$group" = lab ] && return
    has wireguard-go || lacks wireguard-go "wireguard-go (the reference WireGuard, a stock client)"
    [ "$group" = demo ] && return
    has wg-quick || lacks wireguard-tools "wg-quick (stock clients)"
    has_library libgsm.so.1 || lacks libgsm1 "libgsm (calls in GSM 06.10)"
    has_library libspandsp.so.2 || lacks libspandsp2 "spandsp (calls in LPC-10; an outside judge of our codecs)"
    has tshark || lacks tshark "tshark (an outside judge of our packets)"
    has rsvg-convert || lacks librsvg2-bin "rsvg-convert (an outside judge of our figures)"
    has miniupnpd || lacks miniupnpd-nftables "miniupnpd (a household's router that maps ports)"
    has python3 || lacks python3 "python3 (sends what Rust's standard library cannot)"
    has tcpdump || lacks tcpdump "tcpdump (catches packets)"
    has_scapy || lacks "python3-scapy python3-cryptography" "Scapy with ciphers (another outside judge of our packets)"
    has ping || lacks iputils-ping "ping (the tunnels' tests)"
    has_faketime || lacks libfaketime "libfaketime (a clock that somebody sets)"
    has_library libopus.so.0 || lacks libopus0 "libopus (another version of it than ours, to judge ours)"
    has_library libopencore-amrnb.so.0 || lacks libopencore-amrnb0 "opencore-amrnb (calls in AMR)"
    has_library libbcg729.so.0 || lacks libbcg729-0 "bcg729 (calls in G.729)"
    has zbarimg || lacks zbar-tools "zbarimg (scans QR codes)"
    has baresip || lacks baresip-core "baresip (a softphone of somebody else)"
    has sipp || lacks sip-tester "sipp (many calls at once)"
    has promtool || lacks prometheus "promtool (an outside judge of our metrics)"
    has gst-launch-1.0 ||
        lacks "gstreamer1.0-tools gstreamer1.0-plugins-good gstreamer1.0-plugins-bad" "GStreamer (an outside judge of our SRTP)"
    has strace || lacks strace "strace (a disk that is slow)"
    has dnsmasq || lacks dnsmasq-base "dnsmasq (guests' addresses and names)"
    has hostapd || lacks hostapd "hostapd (reads the guests' Wi-Fi that setup writes)"
    has wpa_supplicant || lacks wpasupplicant "wpa_supplicant (reads what phones and computers join with)"
    has eapol_test || lacks eapoltest "eapol_test (joins by 802.1X without a radio, and asks our RADIUS server as hostapd does)"
    has xmllint || lacks libxml2-utils "xmllint (an outside judge of our XML)"
    has radsecproxy || lacks radsecproxy "radsecproxy (asks our RADIUS server inside TLS)"
    has freeradius || lacks freeradius "FreeRADIUS (the same, as another proxy)"
    has radclient || lacks freeradius-utils "radclient (another client of our RADIUS server)"
    { has busybox && busybox --list 2>/dev/null | grep -qx udhcpc; } ||
        lacks busybox-static "busybox with udhcpc (a stock DHCP client)"
    has named || lacks bind9 "BIND (a DNS server that takes updates)"
    has dig || lacks bind9-dnsutils "dig (an outside judge of what is in the DNS)"
    find_missing_strongswan
    case $group in test | bench) return ;; esac
    { has python3 && python3 -c 'import ensurepip' 2>/dev/null; } || lacks python3-venv "python3 (builds and tries the package for Python)"
    has shellcheck || lacks shellcheck "shellcheck (checks the shell scripts)"
    has valgrind || lacks valgrind "valgrind (counts the instructions of hot paths)"
    needs_tool cargo-deny $deny_version "licences, versions and origins of dependencies"
}

# What builds the household's page, and what it is looked at with. Debian 12's Node is too old: npm has a newer one.
has_node() {
    major=$(node --version 2>/dev/null) || return 1
    major=${major#v}
    [ "${major%%.*}" -ge "$node_min" ]
}
find_missing_browser() {
    PATH=$root/target/node/bin:$PATH
    has chromium || lacks chromium "chromium (shows the household's page)"
    has npm || lacks npm "npm (builds the household's page)"
}
install_node() {
    [ "$group" = page ] && ! has_node || return 0
    printf 'setup: Node %s or newer goes to target/node\n' "$node_min"
    twice npm install --silent --no-audit --no-fund --global --prefix "$root/target/node" "node@$node_min" ||
        fail 1 "npm could not install Node $node_min (its message is above)."
    has_node || fail 1 "there is no Node $node_min in target/node after it was installed."
}

# What makes packages, looks into them, and tries them in roots and containers of Debian.
find_missing_packaging() {
    has dpkg-shlibdeps || lacks dpkg-dev "dpkg-shlibdeps (which libraries a program needs)"
    has strip || lacks binutils "strip (programs without their symbols)"
    has rpm || lacks rpm "rpm (looks into packages)"
    has lintian || lacks lintian "lintian (an outside judge of Debian's packages)"
    has debootstrap || lacks debootstrap "debootstrap (a fresh Debian in a folder)"
    has systemd-nspawn || lacks systemd-container "systemd-nspawn (containers that boot)"
    needs_tool cargo-deb $deb_version "makes packages for Debian"
    needs_tool cargo-generate-rpm $rpm_version "makes RPM packages"
}

find_missing_releasing() {
    has umoci || lacks umoci "umoci (images of containers)"
    needs_tool cargo-cyclonedx $cyclonedx_version "what programs are made of"
}

# What compiles for other processors, and what stands for them.
find_missing_processors() {
    has qemu-mipsel-static || lacks qemu-user-static "qemu-mipsel-static (other processors in software)"
    has readelf || lacks binutils "readelf (looks into programs)"
    { has python3 && python3 -c 'import ensurepip' 2>/dev/null; } || lacks python3-venv "python3 (installs Zig)"
}

# strongSwan, on both ends of a tunnel.
find_missing_strongswan() {
    [ -x /usr/lib/ipsec/charon ] || lacks strongswan-charon "charon (strongSwan: IKEv2 clients)"
    has swanctl || lacks strongswan-swanctl "swanctl and strongSwan's control plugin"
    has openssl || lacks openssl "openssl (certificates for IKEv2 clients)"
    for part in libstrongswan-standard-plugins:openssl libstrongswan-extra-plugins:chapoly \
        libcharon-extra-plugins:kernel-libipsec libcharon-extauth-plugins:eap-mschapv2; do
        [ -e "/usr/lib/ipsec/plugins/libstrongswan-${part#*:}.so" ] ||
            lacks "${part%:*}" "strongSwan's plugin ${part#*:}"
    done
}

# Programs of others that the program meets in the virtual machines, and the machines.
find_missing_machines() {
    has linux.uml || lacks user-mode-linux "linux.uml (a kernel that is an ordinary program)"
    has qemu-system-x86_64 || lacks qemu-system-x86 "qemu (a computer in software, for Debian's stock kernel)"
    { has modprobe && has depmod; } || lacks kmod "modprobe and depmod (kernel modules)"
    { has busybox && ! ldd "$(command -v busybox)" >/dev/null 2>&1; } ||
        lacks busybox-static "busybox without libraries (the first program in the machine)"
    [ -x /usr/lib/ipsec/charon ] || lacks strongswan-charon "charon (strongSwan: IKE)"
    has swanctl || lacks strongswan-swanctl "swanctl (speaks to charon)"
    [ -e /usr/lib/ipsec/plugins/libstrongswan-openssl.so ] ||
        lacks libstrongswan-standard-plugins "strongSwan's OpenSSL plugin (triple DES)"
    has xl2tpd || lacks xl2tpd "xl2tpd (L2TP)"
    has pppd || lacks ppp "pppd (PPP)"
    has iptables-legacy || lacks iptables "iptables (NAT where the kernel has no nftables)"
    has ping || lacks iputils-ping "ping"
    has tcpdump || lacks tcpdump "tcpdump (catches packets)"
    has hostapd || lacks hostapd "hostapd (a radio as an access point)"
    has wpa_supplicant || lacks wpasupplicant "wpa_supplicant (a radio as a client)"
    has iw || lacks iw "iw (sets up radios)"
    has dnsmasq || lacks dnsmasq-base "dnsmasq (DHCP)"
    has jq || lacks jq "jq (reads JSON)"
}

at_least() { # have, want: two versions, compared by their first two numbers
    have_major=${1%%.*} have_rest=${1#*.}
    want_major=${2%%.*} want_rest=${2#*.}
    have_minor=${have_rest%%.*} want_minor=${want_rest%%.*}
    [ "$have_major" -gt "$want_major" ] ||
        { [ "$have_major" -eq "$want_major" ] && [ "$have_minor" -ge "$want_minor" ]; }
}

rust= # What is wrong with Rust here; empty if nothing.
find_rust() {
    rust=
    version=$(cd "$root" && rustc --version 2>/dev/null) || version=
    version=${version#rustc }
    version=${version%%[ -]*}
    if [ -z "$version" ] || ! has cargo; then
        rust="Rust $rust_min or newer (there is none)"
    elif ! at_least "$version" "$rust_min"; then
        rust="Rust $rust_min or newer (there is $version)"
    elif [ "$group" = all ]; then
        sysroot=$(cd "$root" && rustc --print sysroot)
        { [ -x "$sysroot/bin/cargo-clippy" ] && [ -x "$sysroot/bin/rustfmt" ]; } ||
            rust="clippy and rustfmt for Rust $version"
    fi
}

find_missing() {
    find_missing_packages
    find_rust
}

is_complete() { [ -z "$packages" ] && [ -z "$rust" ] && [ -z "$tools" ]; }

print_missing() {
    printf 'missing on this computer:%s' "$jobs"
    [ -z "$rust" ] || printf '\n  - %s' "$rust"
    printf '\n'
}

fail() { # exit code, sentence
    printf 'setup: %s\n' "$2" >&2
    exit "$1"
}

# --- May we install it? ---------------------------------------------------------------------------------------------

is_root() { [ "$(id -u)" -eq 0 ]; }

is_debian_family() {
    [ -r /etc/os-release ] || return 1
    # shellcheck source=/dev/null
    family=$(. /etc/os-release && echo " ${ID:-} ${ID_LIKE:-} ")
    case $family in *" debian "* | *" ubuntu "*) has apt-get ;; *) return 1 ;; esac
}

refuse_where_we_cannot_install() {
    [ "$(uname -s)" = Linux ] || fail 1 "this project needs Linux: network namespaces and nftables are its kernel's."
    [ -z "$packages" ] && return
    is_debian_family ||
        fail 1 "packages are installed on Debian and Ubuntu only; install the above with your package manager, then run this again."
    is_root || has sudo ||
        fail 1 "there is no sudo here. As root: apt-get update && apt-get install$packages"
}

ask() {
    sudo="sudo "
    is_root && sudo=
    printf 'this will:\n'
    [ -z "$packages" ] || printf '  %sapt-get update\n  %sapt-get install%s\n' "$sudo" "$sudo" "$packages"
    [ -z "$rust" ] || printf '  install Rust with rustup (packaged if it is, else from sh.rustup.rs), below %s\n' "${CARGO_HOME:-${HOME:-/root}/.cargo}"
    [ -z "$tools" ] || printf '  cargo install --locked%s\n' "$tools"
    if is_root || [ "${YES:-}" = 1 ] || [ "${CI:-}" = true ]; then
        return
    fi
    [ -t 0 ] || fail 3 "there is no terminal to ask on. Say YES=1 to agree: YES=1 sh scripts/setup.sh $group"
    printf 'go on? [y/N] '
    read -r answer || answer=
    case $answer in [yY] | [yY][eE][sS]) ;; *) fail 1 "nothing was installed." ;; esac
}

# --- Installing -----------------------------------------------------------------------------------------------------

twice() { # command: mirrors fail now and then, seldom twice
    "$@" && return
    printf 'setup: that failed; once more in 5 s\n' >&2
    sleep 5
    "$@"
}

as_root() { if is_root; then "$@"; else sudo "$@"; fi; }

apt() { # `--no-remove`: never at the cost of something that is here
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 \
        -qq -y --no-remove "$@" </dev/null
}

# A source of somebody else's may be broken without harm to ours: the install decides.
updated=no
apt_install() {
    updated=yes
    apt update || printf 'setup: apt-get update had errors; going on\n' >&2
    apt install --no-install-recommends "$@"
}

install_packages() {
    [ -z "$packages" ] && return
    case $packages in
    *tshark*) # The question is whether ordinary users may capture. No; and do not touch an earlier answer.
        [ -e /var/lib/dpkg/info/wireshark-common.list ] ||
            echo "wireshark-common wireshark-common/install-setuid boolean false" |
                as_root debconf-set-selections
        ;;
    esac
    # shellcheck disable=SC2086 # A list of names without spaces.
    twice apt_install $packages || fail 1 "apt-get could not install$packages (its message is above)."
}

# Debian's rustup takes the place of Debian's rustc and cargo; whoever has those keeps them.
is_rustup_packaged() {
    is_debian_family && { is_root || has sudo; } && ! dpkg -s rustc >/dev/null 2>&1 || return 1
    [ "$updated" = yes ] || apt update || return 1
    LC_ALL=C apt-cache policy rustup | grep -q 'Candidate: [0-9]'
}

install_rustup() {
    has rustup && return
    is_rustup_packaged && twice apt_install rustup && return
    script=$(mktemp) || return 1
    twice curl --proto '=https' --tlsv1.2 -sSf --retry 3 -o "$script" https://sh.rustup.rs &&
        RUSTUP_INIT_SKIP_PATH_CHECK=yes twice sh "$script" -y --profile minimal -c clippy -c rustfmt </dev/null
    result=$?
    rm -f "$script"
    return $result
}

install_rust() {
    find_rust # It may be here by now.
    [ -z "$rust" ] && return
    install_rustup || fail 1 "rustup could not be installed; see https://rustup.rs, then run this again."
    find_rust
    [ -z "$rust" ] && return
    if [ "$rust" != "${rust#clippy}" ] && (cd "$root" && rustup component add clippy rustfmt); then
        return
    fi
    twice rustup toolchain install stable --profile minimal -c clippy -c rustfmt ||
        fail 1 "rustup could not install the stable toolchain (its message is above)."
    rustup default >/dev/null 2>&1 || rustup default stable
    find_rust
    # Whoever chose an older default keeps it: only this checkout uses the newer one.
    [ -z "$rust" ] || rustup override set stable --path "$root"
}

install_tools() {
    [ -z "$tools" ] && return
    # Little optimised: it is built in half the time. Not at all would have packages compressed for minutes.
    # shellcheck disable=SC2086 # A list of names without spaces.
    twice env CARGO_PROFILE_DEV_OPT_LEVEL=1 cargo install --quiet --locked --debug $tools ||
        fail 1 "cargo could not install$tools (its message is above)."
}

# Zig is a C compiler and a linker for every processor; its makers publish it among Python's packages too.
install_processors() {
    zig=$root/target/zig
    "$zig/bin/cargo-zigbuild" --version >/dev/null 2>&1 || {
        python3 -m venv "$zig" && twice "$zig/bin/pip" install --quiet "ziglang==$zig_version" "cargo-zigbuild==$zigbuild_version"
    } || fail 1 "Zig could not be installed (its message is above)."
    twice rustup toolchain install nightly --profile minimal -c rust-src ||
        fail 1 "rustup could not install what other processors need (its message is above)."
}

# --- The tunnels of others ------------------------------------------------------------------------------------------

has_libipsec() {
    has swanctl && [ -e /usr/lib/ipsec/charon ] && [ -e /usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so ]
}

wish() { # packages, job: wanted, but nothing fails without
    if [ "$check" = yes ] || ! is_debian_family || ! { is_root || has sudo; }; then
        printf 'absent: %s\n' "$2"
        return
    fi
    # shellcheck disable=SC2086 # A list of names without spaces.
    twice apt_install $1 || printf 'setup: going on without %s\n' "$2" >&2
}

wish_for_peers() {
    has wg || wish wireguard-tools "wg (configures WireGuard)"
    has wireguard-go || wish wireguard-go "wireguard-go, the distribution's"
    has openvpn || wish openvpn "OpenVPN"
    has rtpengine || wish rtpengine-daemon "rtpengine (a media relay)"
    { [ -e /usr/include/ns3/wifi-module.h ] && has g++; } || wish "libns3-dev g++" "ns-3 (a network simulator)"
    has ns || wish ns2 "ns-2 (the network simulator of paper C)"
    has openssl || wish openssl "openssl (OpenVPN's certificates, the speed of ciphers)"
    has_libipsec ||
        wish "strongswan-charon strongswan-swanctl libcharon-extra-plugins libstrongswan-standard-plugins" "strongSwan with libipsec"
    has opennds || wish opennds "openNDS (a captive portal)"
    has go || printf 'absent: go (1.21 or newer builds the current wireguard-go; https://go.dev/dl)\n'
}

# --- Main -----------------------------------------------------------------------------------------------------------

group=program
check=no
for argument in "$@"; do
    case $argument in
    program | lab | demo | test | all | page | acceptance | package | router | libraries | release | bench) group=$argument ;;
    --check) check=yes ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
    esac
done

find_missing
if ! is_complete; then
    print_missing
    [ "$check" = no ] || exit 1
    refuse_where_we_cannot_install
    ask
    install_packages
    install_rust
    install_tools
    find_missing
    if ! is_complete; then
        print_missing
        fail 1 "still missing after the installation, see above."
    fi
fi
[ "$group" != bench ] || wish_for_peers
case $group in router | release) [ "$check" = yes ] || install_processors ;; esac
[ "$check" = yes ] || install_node
echo "everything needed is here"
