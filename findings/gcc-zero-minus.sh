#!/usr/bin/env bash
# What GCC makes of 0.0 minus a number that cannot be below zero, or that comes from an integer.
# Guess: without -ffast-math, 0.0 - x is 0.0 for x = 0.0, at each level of optimisation, and surely
# without any: only -x is -0.0. GCC keeps it for an x of which nothing is known.
# Seen: GCC 12.5 and 16.2 negate where x is converted from an integer or is fabs: 0.0 - (double)i is
# -0.0 for i = 0, at -O0 as well, if both stand in one expression of the text; behind a call that is
# inlined it stays. -frounding-math keeps the difference, clang did in each case seen. What divides by
# the result gets the other infinity.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The C compilers alone, of Debian's unstable release, with the libraries that they were built for;
# clang of ziglang assembles and links what they write, and is the one to compare with.
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root"
echo "deb http://deb.debian.org/debian sid main" >"$work/sid.list"
apt=(apt-get --quiet=2 -o "Dir::Etc::SourceList=$work/sid.list" -o Dir::Etc::SourceParts=-
  -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
"${apt[@]}" update
(cd "$work" && "${apt[@]}" download cpp-12=12.5.0-11 cpp-16-x86-64-linux-gnu=16.2.0-4 libc6 \
  libgcc-s1 libgmp10 libisl23 libjansson4 libmpc3 libmpfr6 libstdc++6 libzstd1 zlib1g)
for package in "$work"/*.deb; do dpkg-deb --extract "$package" "$work/root"; done
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install ziglang==0.13.0
export ZIG_GLOBAL_CACHE_DIR="$work/zig" ZIG_LOCAL_CACHE_DIR="$work/zig"
clang=("$work/venv/bin/python" -m ziglang cc -target x86_64-linux-musl)
"${clang[@]}" --version 2>/dev/null | head -1
cd "$work"
cat >differences.c <<'C'
double whole(int i) { return 0.0 - (double)i; }
double absolute(double x) { return 0.0 - __builtin_fabs(x); }
double any(double x) { return 0.0 - x; }
C
cat >main.c <<'C'
#include <stdio.h>
double whole(int), absolute(double), any(double);
int main(void) {
  printf("%g %g %g, %g\n", whole(0), absolute(0), any(0), 1 / whole(0));
  return 0;
}
C
# gcc VERSION ARGUMENTS..: the compiler proper, from C to assembly
gcc() {
  local version=$1
  shift
  "$work/root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$work/root/usr/lib/x86_64-linux-gnu" \
    "$(find "$work/root/usr" -path "*/$version/cc1")" -quiet "$@"
}
# expect WHAT RESULT
expect() {
  "${clang[@]}" main.c "$3" -o main
  local seen
  seen=$(./main)
  echo "$1: 0.0 - (double)i, 0.0 - fabs(x), 0.0 - x for zeros; 1 by the first: $seen"
  test "$seen" = "$2"
}
for version in 12 16; do
  for level in -O0 -O2 "-O2 -frounding-math"; do
    # shellcheck disable=SC2086  # the level may be two flags
    gcc "$version" $level differences.c -o gcc.s
    case $level in
      *rounding*) expect "GCC $version $level" "0 0 0, inf" gcc.s ;;
      *) expect "GCC $version $level" "-0 -0 0, -inf" gcc.s ;;
    esac
  done
done
"${clang[@]}" -O2 -S differences.c -o clang.s
expect "clang -O2" "0 0 0, inf" clang.s
