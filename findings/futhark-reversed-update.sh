#!/usr/bin/env bash
# What Futhark's C back end gives where an array is written backwards to where it is read backwards.
# Guess: `v with [::-1] = copy (xs[::-1])` puts each element where it was: the result is `xs`, as in
# the interpreter of the same package.
# Seen: `xs` in reverse. Of the two reversals one is lost when the copy is made in its place. With
# `[::2]` on both sides, or an expression in between, the result is right.
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
cat >"$work/twice.fut" <<'FUT'
entry main [n] (xs: [n]i64) : [n]i64 =
  let v = map (* 2) xs
  in v with [::-1] = copy (xs[::-1])
FUT
futhark c "$work/twice.fut" -o "$work/twice"
compiled=$(echo "[4i64, 5i64, 6i64]" | "$work/twice")
interpreted=$(cd "$work" && echo "[4i64, 5i64, 6i64]" | futhark run twice.fut)
echo "compiled:    $compiled"
echo "interpreted: $interpreted"
test "$interpreted" = "[4i64, 5i64, 6i64]"
test "$compiled" = "[6i64, 5i64, 4i64]"
