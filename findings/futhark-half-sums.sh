#!/usr/bin/env bash
# How Futhark's C back end rounds sums of f16 on a processor without such arithmetic.
# Guess: each operation rounds to the nearest f16, as in the interpreter of the same package:
# 2048 + 1.001 is 2050, (2048 + 1) - 2048 is 0, since 2049 rounds to 2048.
# Seen: 2048, the result is cut, not rounded; and 1, since values stay f32 until they are stored. In
# between, an array's element is such a store: the sum that went through one gives 0.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Futhark of Debian's unstable release, with the libraries that it was built for, in a folder.
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root"
echo "deb http://deb.debian.org/debian sid main" >"$work/sid.list"
apt=(apt-get --quiet=2 -o "Dir::Etc::SourceList=$work/sid.list" -o Dir::Etc::SourceParts=-
  -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
"${apt[@]}" update
(cd "$work" && "${apt[@]}" download futhark=0.25.32-3+b3 libc6 libffi8 libgcc-s1 libgmp10 libnuma1 \
  libtinfo6 zlib1g libcmark-gfm0.29.0.gfm.13 libcmark-gfm-extensions0.29.0.gfm.13)
for package in "$work"/*.deb; do dpkg-deb --extract "$package" "$work/root"; done
futhark() {
  "$work/root/usr/lib64/ld-linux-x86-64.so.2" \
    --library-path "$work/root/usr/lib/x86_64-linux-gnu" "$work/root/usr/bin/futhark" "$@"
}
futhark --version | head -1
cat >"$work/half.fut" <<'FUT'
entry cut (x: f16) (y: f16) : f16 = x + y
entry wide (x: f16) : f16 = (x + 1) - x
entry stored [n] (xs: *[n]f16) (i: i64) : f16 =
  let xs[i] = xs[i] + 1
  in (opaque xs)[i] - 2048
FUT
cd "$work"
futhark c half.fut -o half
# both ENTRY INPUT COMPILED INTERPRETED
both() {
  local compiled interpreted
  compiled=$(echo "$2" | ./half -e "$1")
  interpreted=$(echo "$2" | futhark run -e "$1" half.fut)
  echo "$1 of $2: compiled $compiled, interpreted $interpreted"
  test "$compiled" = "$3"
  test "$interpreted" = "$4"
}
both cut "2048f16 1.001f16" 2048.000000f16 2050.0f16
both wide "2048f16" 1.000000f16 0.0f16
both stored "[2048f16] 0i64" 0.000000f16 0.0f16
