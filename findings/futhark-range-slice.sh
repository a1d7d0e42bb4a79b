#!/usr/bin/env bash
# What Futhark's C back end gives for a slice of a range whose step is not 1.
# Guess: dropping the first two elements of 0, 10, 20, .. leaves 20, 30, 40, .., as in the
# interpreter of the same package.
# Seen: 2, 12, 22, ..: the slice begins at its own first index, which is not multiplied by the step
# of the range. No warning; a step of 1 hides it.
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
cat >"$work/part.fut" <<'FUT'
entry main (n: i64) (step: i64) : []i64 = copy (0..step..<step * n)[2:]
FUT
futhark c "$work/part.fut" -o "$work/part"
compiled=$(echo "6 10" | "$work/part")
interpreted=$(cd "$work" && echo "6 10" | futhark run part.fut)
echo "compiled:    $compiled"
echo "interpreted: $interpreted"
test "$interpreted" = "[20i64, 30i64, 40i64, 50i64]"
test "$compiled" = "[2i64, 12i64, 22i64, 32i64]"
