#!/usr/bin/env bash
# Installs a build into an empty prefix, moves the prefix, and there builds and runs a program that knows Quern only
# through find_package(quern).
# usage: install_test.sh CMAKE BUILD_FOLDER WORK_FOLDER VERSION [option of the consumer's cmake...]
set -euo pipefail
cmake=$1 build=$2 work=$3 version=$4
shift 4
consumer=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/consumer

expect() {
  if [ "$2" != "$3" ]; then
    echo "$1: expected '$2', found '$3'"
    exit 1
  fi
}

rm -rf "$work"
"$cmake" --install "$build" --prefix "$work/installed" >/dev/null
mv "$work/installed" "$work/moved"
"$cmake" -S "$consumer" -B "$work/build" -D CMAKE_PREFIX_PATH="$work/moved" "$@"
"$cmake" --build "$work/build"
expect 'the consumer' "$version 14 14" "$("$work/build/consumer")"
if [ -e "$build/bin/quern" ]; then
  expect 'quern --version' "quern $version" "$("$work/moved/bin/quern" --version)"
  # The compiler is found where it was moved to, and only then where it was built.
  loaded=$(LD_DEBUG=files "$work/moved/bin/quern" devices 2>&1)
  found=$(grep -m 1 -o 'file=[^ ]*libquern_compiler.so' <<<"$loaded")
  expect 'the compiler' "$(realpath "$work/moved")" "$(realpath "$(dirname "$(dirname "${found#file=}")")")"
fi
