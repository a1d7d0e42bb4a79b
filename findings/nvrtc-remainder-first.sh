#!/usr/bin/env bash
# Where NVRTC puts the odd rounds of a loop that it unrolls.
# Guess: a loop whose threads take every 32nd element is unrolled by four from its first round on,
# and the one to three rounds that are left over come last, so that in each round the lanes of a
# warp read neighbours.
# Seen: the odd rounds come first, one by one, then the others by four. Lanes whose numbers of rounds
# differ by one have a different number of odd rounds: from there on they read rounds apart.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'nvidia-cuda-nvrtc==13.5.37'
"$work/venv/bin/python" - <<'PY'
import ctypes
import glob
import re
import sysconfig


def load(pattern):
    (path,) = glob.glob(sysconfig.get_path("purelib") + "/nvidia/" + pattern)
    lib = ctypes.CDLL(path)
    major, minor = ctypes.c_int(), ctypes.c_int()
    lib.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    print(f"NVRTC {major.value}.{minor.value}")
    return lib


def ptx_of(lib, text, *options):
    """The PTX of a text."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"k.cu", 0, None, None)
    given = (ctypes.c_char_p * len(options))(*(one.encode() for one in options))
    assert lib.nvrtcCompileProgram(program, len(options), given) == 0
    lib.nvrtcGetPTXSize(program, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetPTX(program, data)
    return data.value.decode()


lib = load("cu13/lib/libnvrtc.so.13")
text = """extern "C" __global__ void k(const float *a, float *o, int n) {
    float s = 0;
    for (int i = threadIdx.x; i < n; i += 32) s += a[i];
    o[threadIdx.x] = s;
}"""
ptx = ptx_of(lib, text, "--gpu-architecture=compute_90")
loops = []
for label, body in re.findall(r"^(\$L\w+):\n(.*?)(?=^\$L\w+:|\Z)", ptx, re.M | re.S):
    if re.search(r"bra\s+" + re.escape(label) + ";", body):
        loops.append(len(re.findall(r"ld\.global", body)))
print("loads in each round of the loops, in order:", loops)
(rounds,) = re.findall(r"and\.b32\s+(%r\d+), %r\d+, 3;", ptx)
counted = re.search(r"add\.s32\s+" + rounds + ", " + rounds + r", -1;", ptx)
print("the first runs as often as what is left of the number of rounds by 4:", bool(counted))
assert loops == [1, 4]
assert counted
n = 32 * 4 + 1
odd = [len(range(lane, n, 32)) % 4 for lane in (0, 1)]
first = [lane + 32 * rounds for lane, rounds in zip((0, 1), odd)]
print(f"n = {n}: lanes 0 and 1 have {odd} odd rounds, and begin to go by four at elements {first}")
assert first == [32, 1]
PY
