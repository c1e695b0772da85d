#!/bin/sh
# shellcheck shell=dash
# Installs guestright from the files of a release. POSIX shell and busybox. Run with --help for the rest.
set -u
umask 022

usage() {
    cat <<'EOF'
usage: sh install.sh [--from FOLDER|ADDRESS] [--sums SHA256] [--router] [--into FOLDER]
       sh install.sh --back [--into FOLDER]
       sh install.sh --remove [--into FOLDER]

  --from FOLDER|ADDRESS  where the release is: a folder, or what its files' addresses begin with (https://...)
                         (otherwise: the folder that this script is in)
  --sums SHA256          what the SHA-256 of SHA256SUMS has to be, from a place that you trust more than ADDRESS
  --router               the small program of a router, without visits, calls and the demo
  --into FOLDER          below which everything goes (otherwise /usr/local)
  --back                 the version that was here before the last installation, and back again
  --remove               everything that this script installed; keys, settings and receipts stay

Every file is compared with SHA256SUMS, and the new program is tried, before the old one is touched. The old one
stays as guestright.previous. If the new one does not start in its place, the old one is put back.

example: sh install.sh --from https://mirror.example.org/guestright/0.1.0

exit codes: 0 done, 1 not done, and everything is as it was (or a sentence says what is not), 2 wrong usage
EOF
}

programs="guestright guestright-lab"

fail() { # sentence
    printf 'install: %s\n' "$1" >&2
    exit 1
}
wrong() { # sentence
    printf 'install: %s (see --help)\n' "$1" >&2
    exit 2
}
has() { command -v "$1" >/dev/null 2>&1; }

# --- What is wanted -------------------------------------------------------------------------------------------------

task=install
from=
sums=
kind=
into=/usr/local
value() { [ -n "${2:-}" ] || wrong "$1 needs a value"; }
while [ $# -gt 0 ]; do
    case $1 in
    --from) value "$@" && from=$2 && shift ;;
    --sums) value "$@" && sums=$2 && shift ;;
    --into) value "$@" && into=$2 && shift ;;
    --router) kind=router- ;;
    --back) task=back ;;
    --remove) task=remove ;;
    -h | --help) usage && exit 0 ;;
    *) wrong "\`$1\` is none of its options" ;;
    esac
    shift
done
case $into in /*) ;; *) into=$PWD/$into ;; esac
bin=$into/bin
own=$into/share/guestright
list=$own/installed # What was installed besides the programs, relative to $into.

# --- One at a time, and nothing left behind -------------------------------------------------------------------------

work=$into/.guestright-install
holds=no
begin() {
    for tool in tar gzip sha256sum sed; do
        has $tool || fail "$tool is missing; install it, and run this again."
    done
    mkdir -p "$into" 2>/dev/null || :
    [ -w "$into" ] || fail "you may not write to $into; run this as root, or name another folder with --into."
    if ! mkdir "$work" 2>/dev/null; then
        holder=$(cat "$work/holder" 2>/dev/null) || holder=
        if [ -n "$holder" ] && kill -0 "$holder" 2>/dev/null; then
            fail "another installation into $into is at work (process $holder); wait for it."
        fi
        # One that was killed: what it had in place is whole, and what it had not is in here.
        rm -rf "$work"
        mkdir "$work" || fail "$work cannot be made: is there room on the disk?"
    fi
    holds=yes
    echo $$ 2>/dev/null >"$work/holder" || fail "there is no room in $into; make some, and run this again. Nothing was changed."
}
end() { [ $holds = no ] || rm -rf "$work"; }
trap end EXIT
trap 'exit 1' HUP INT TERM

# --- The release ----------------------------------------------------------------------------------------------------

processor() {
    case $(uname -m) in
    x86_64 | amd64) echo x86_64 ;;
    aarch64 | arm64) echo aarch64 ;;
    armv7* | armv8l) echo arm ;;
    riscv64) echo riscv64 ;;
    mips | mips64)
        # The sixth byte of any program says which end of a number comes first (ELF, EI_DATA).
        case $(dd if=/proc/self/exe bs=1 skip=5 count=1 2>/dev/null | od -An -tu1 | tr -d ' ') in
        1) echo mipsel ;;
        *) echo mips ;;
        esac
        ;;
    *) uname -m ;;
    esac
}

fetch() { # name: from the release into $work
    case $from in
    http://* | https://*)
        if has curl; then
            curl --fail --silent --show-error --location --retry 3 --output "$work/$1" "$from/$1"
        elif has wget; then
            wget -q -O "$work/$1" "$from/$1"
        else
            fail "neither curl nor wget is here; download the release yourself, and name its folder with --from."
        fi || fail "$from/$1 could not be downloaded (the message is above); is the address right? Nothing was changed."
        ;;
    *)
        [ -e "$from/$1" ] || fail "there is no $1 in $from: is that the folder of a release? Nothing was changed."
        cp "$from/$1" "$work/$1" 2>/dev/null || fail "$1 could not be copied to $work: is there room? Nothing was changed."
        ;;
    esac
}

sum_of() { sha256sum "$1" | sed 's/[^0-9a-f].*//'; }

unpack() { # sets $version, and unpacks the archive to $work/new
    if [ -z "$from" ]; then
        from=$(cd -- "$(dirname -- "$0")" 2>/dev/null && pwd) || from=$PWD
    fi
    from=${from%/}
    fetch SHA256SUMS
    if [ -n "$sums" ] && [ "$(sum_of "$work/SHA256SUMS")" != "$sums" ]; then
        fail "SHA256SUMS of $from has another sum than $sums: it is not the release that you mean. Nothing was changed."
    fi
    wanted=$(processor)
    # A line is a sum, two spaces, and a name without folders.
    line=$(sed -n "s/^\([0-9a-f]\{64\}\)  guestright-$kind\([0-9][0-9A-Za-z.+~-]*\)-$wanted-linux\.tar\.gz\$/\1 \2/p" "$work/SHA256SUMS" | head -n 1)
    [ -n "$line" ] || fail "this release has nothing ${kind:+for routers }for processors of the kind $wanted. Nothing was changed."
    sum=${line% *}
    version=${line#* }
    name=guestright-$kind$version-$wanted-linux
    fetch "$name.tar.gz"
    [ "$(sum_of "$work/$name.tar.gz")" = "$sum" ] ||
        fail "$name.tar.gz is damaged, or is not what SHA256SUMS says. Download it again; nothing was changed."
    mkdir "$work/new"
    tar -xzf "$work/$name.tar.gz" -C "$work/new" 2>/dev/null ||
        fail "$name.tar.gz could not be unpacked in $work: is there room? Nothing was changed."
    new=$work/new/$name
    [ -x "$new/bin/guestright" ] || fail "there is no program in $name.tar.gz. Nothing was changed."
}

# --- Programs -------------------------------------------------------------------------------------------------------

version_of() { # path: what the program says it is; nothing if it does not start
    text=$("$1" --version 2>/dev/null) || text=
    printf '%s' "${text##* }"
}

put() { # from, to: in one step, so that there is always a whole program
    if cp -p "$1" "$2.new" 2>/dev/null && mv -f "$2.new" "$2" 2>/dev/null; then
        return
    fi
    rm -f "$2.new"
    return 1
}

keep() { # program: what is here now, without needing room for it where the disk knows links
    ln "$bin/$1" "$work/old-$1" 2>/dev/null || cp -p "$bin/$1" "$work/old-$1" 2>/dev/null
}

# Whoever runs goes on with the program that it was started with.
tell_running() {
    has systemctl || return 0
    for unit in guestright-home guestright-ap guestright-visit; do
        ! systemctl --quiet is-active "$unit" 2>/dev/null ||
            printf 'the old version still runs: systemctl restart %s\n' "$unit"
    done
}

install() {
    begin
    unpack
    for program in $programs; do
        [ -e "$new/bin/$program" ] || continue
        [ "$(version_of "$new/bin/$program")" = "$version" ] ||
            fail "$program $version does not start on this computer. Nothing was changed."
    done
    mkdir -p "$bin" "$own" || fail "$bin cannot be made. Nothing was changed."
    before=$(version_of "$bin/guestright")
    for program in $programs; do
        [ ! -e "$bin/$program" ] || keep "$program" || fail "there is no room for the old $program beside the new one. Nothing was changed."
    done
    for program in $programs; do
        [ -e "$new/bin/$program" ] || continue
        put "$new/bin/$program" "$bin/$program" || undo "there is no room for $program."
        [ "$(version_of "$bin/$program")" = "$version" ] || undo "$program $version does not start in $bin."
    done
    if [ -n "$before" ] && [ "$before" != "$version" ]; then
        for program in $programs; do
            [ ! -e "$work/old-$program" ] || mv -f "$work/old-$program" "$bin/$program.previous"
        done
    fi
    install_rest || fail "the programs are in place, and there is no room for manual pages and completions; make some, and run this again."
    printf 'guestright %s is in %s%s\n' "$version" "$bin" "${before:+ (before: $before)}"
    tell_running
}

undo() { # sentence: puts back what install has replaced
    for program in $programs; do
        if [ -e "$work/old-$program" ]; then
            mv -f "$work/old-$program" "$bin/$program"
        elif [ -e "$new/bin/$program" ]; then
            rm -f "$bin/$program"
        fi
    done
    fail "$1 What was here before is here again."
}

# Manual pages, completions, licences: whatever else the archive has.
install_rest() {
    (cd "$new" && find . -type f ! -path './bin/*') | sed 's|^\./||' >"$work/installed" || return 1
    while read -r file; do
        mkdir -p "$into/$(dirname "$file")" && put "$new/$file" "$into/$file" || return 1
    done <"$work/installed"
    # What the version before had and this one has not.
    if [ -e "$list" ]; then
        while read -r file; do
            grep -qxF -- "$file" "$work/installed" || is_outside "$file" || rm -f "${into:?}/$file"
        done <"$list"
    fi
    put "$work/installed" "$list"
}

is_outside() { case /$1/ in */../*) ;; *) return 1 ;; esac }

back() {
    begin
    [ -e "$bin/guestright.previous" ] || fail "there is no version before this one in $bin."
    older=$(version_of "$bin/guestright.previous")
    [ -n "$older" ] || fail "$bin/guestright.previous does not start. Nothing was changed."
    for program in $programs; do
        [ -e "$bin/$program.previous" ] || continue
        [ ! -e "$bin/$program" ] || keep "$program" || fail "there is no room to change places; $bin/guestright is $(version_of "$bin/guestright")."
        mv -f "$bin/$program.previous" "$bin/$program"
        [ ! -e "$work/old-$program" ] || mv -f "$work/old-$program" "$bin/$program.previous"
    done
    printf 'guestright %s is in %s again\n' "$older" "$bin"
    tell_running
}

remove() {
    begin
    [ -e "$bin/guestright" ] || [ -e "$list" ] || fail "nothing of guestright's is in $into."
    if [ -e "$list" ]; then
        while read -r file; do
            is_outside "$file" || rm -f "${into:?}/$file"
        done <"$list"
    fi
    for program in $programs; do
        rm -f "$bin/$program" "$bin/$program.previous"
    done
    rm -f "$list"
    rmdir "$own" 2>/dev/null || :
    printf 'removed from %s; keys and settings in /etc/guestright and receipts in /var/lib/guestright stay\n' "$into"
}

$task
