# How the scripts beside this one run their steps and report them; `xtask/src/package/verdicts.rs` reads the lines that
# begin with @@. Debian's dash reads it.
# shellcheck shell=sh

# Waits for a condition, at most so many seconds.
within() { # seconds, command…
    within_deadline=$(($(date +%s) + $1 + 1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt $within_deadline ] || { echo "waited in vain for: $*" >&2; return 1; }
        sleep 0.1
    done
}

# What has to fail. A step does not end at a command behind `!`.
fails() {
    if "$@"; then
        echo "should have failed: $*" >&2
        return 1
    fi
}

is() { # what is, what should be
    [ "$1" = "$2" ] || { echo "is '$1', should be '$2'" >&2; return 1; }
}

says() { # what has to be in it, command…
    says_wanted=$1
    shift
    says_text=$("$@" 2>&1) || { echo "failed: $*: $says_text" >&2; return 1; }
    case $says_text in
    *"$says_wanted"*) ;;
    *) echo "'$*' does not say '$says_wanted' but: $says_text" >&2; return 1 ;;
    esac
}

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

note() { echo "@@ note $*"; }

# Runs functions as steps, each in a shell of its own that ends at the first command that fails.
run_steps() { # function…
    echo "@@ plan $(echo "$@" | tr _ -)"
    for one_step in "$@"; do
        step_name=$(echo "$one_step" | tr _ -)
        step_began=$(milliseconds)
        step_log=$(mktemp)
        # Not as a condition: there `set -e` would not hold.
        sh -c "set -eu; . '$SCRIPTS/steps.sh'; . '$SCRIPTS/$SCRIPT'; set -x; $one_step" steps-only 3>&1 >"$step_log" 2>&1 &
        wait $!
        step_result=$?
        if [ $step_result = 0 ]; then
            echo "@@ ok $step_name $(($(milliseconds) - step_began)) ms"
        else
            echo "--- $step_name"
            tail -n 60 "$step_log"
            echo "@@ FAIL $step_name ends with $step_result: $(grep -v '^+' "$step_log" | tail -n 1)"
        fi
        grep '^@@ note' "$step_log" || true
        rm -f "$step_log"
    done
    echo "@@ end"
}
