#!/usr/bin/env bash
# Does the manual page render without a warning, and does it name every command and option that completion offers?
# Usage: man_test.sh [ROOT]
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd)
page=$root/share/man/man1/quern.1
passed=0
failed=0
check() {  # what, found, expected
    if [[ $2 == "$3" ]]; then
        ((++passed))
    else
        ((++failed))
        printf '%s\n  found:    %s\n  expected: %s\n' "$1" "$2" "$3"
    fi
}

if command -v groff >/dev/null; then
    check 'groff warns' "$(groff -mdoc -Tutf8 -ww "$page" 2>&1 >/dev/null)" ''
    text=$(groff -mdoc -Tascii -P-cbou "$page" 2>/dev/null)
    for word in run check format list emit --dim --type --seed --on --json --check --at --help --version --color \
        --threads --bounds --remarks --verbose --checks --operands --deterministic --schedule --vectors derive bench \
        devices exec --chip --order --devices --timeout --grid --block --shared QUERN_LIBRARY QUERN_CACHE QUERN_COMPILER; do
        check "the page says $word" "$(grep -qw -e "$word" <<<"$text" && echo yes)" yes
    done
else
    echo 'skipped: groff is not installed'
fi
if command -v mandoc >/dev/null; then
    check 'mandoc warns' "$(mandoc -T lint -W warning "$page" 2>&1)" ''
else
    echo 'skipped: mandoc is not installed'
fi

echo "$passed passed, $failed failed"
((failed == 0))
