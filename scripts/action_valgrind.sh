#!/usr/bin/env bash
# A step of action.yml: installs Valgrind, with which the gate counts instructions (`--decide-by
# instructions`, gungraun), if apt-get can. A failure changes nothing else.
set -euo pipefail

if command -v valgrind >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    exit 0
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
apt_get() {
    ${as_root[@]+"${as_root[@]}"} apt-get -qq "$@" >&2
}
install=(install --yes --no-install-recommends valgrind)
# The lists of packages on the runner may be current.
if ! apt_get "${install[@]}" && ! { apt_get update && apt_get "${install[@]}"; }; then
    echo "::notice::apt-get cannot install Valgrind, which --decide-by instructions and gungraun need; install it on the runner"
fi
