#!/usr/bin/env bash
# Where a cubin says which GPU it is for.
# Guess: the low byte of the flags in its ELF header is the number of the architecture, 90 for
# sm_90, as in code of CUDA 12.
# Seen: in code of NVRTC 13.5 the number stands in the second byte, and the low byte is 4; NVRTC
# 12.9 makes that form for sm_100, and the older one for sm_90. The byte of the ABI version, 7 or
# 8, tells them apart.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'nvidia-cuda-nvrtc-cu12==12.9.86' 'nvidia-cuda-nvrtc==13.5.37'
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


def compiled(lib, text, what, *options):
    """The PTX or CUBIN of a text."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"k.cu", 0, None, None)
    given = (ctypes.c_char_p * len(options))(*(one.encode() for one in options))
    assert lib.nvrtcCompileProgram(program, len(options), given) == 0
    getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    getattr(lib, f"nvrtcGet{what}")(program, data)
    return data.raw


text = 'extern "C" __global__ void k(int *o) { o[threadIdx.x] = 3; }'
for name, arch, version, at in (
    ("cuda_nvrtc/lib/libnvrtc.so.12", 90, 7, 0),
    ("cuda_nvrtc/lib/libnvrtc.so.12", 100, 8, 8),
    ("cu13/lib/libnvrtc.so.13", 90, 8, 8),
    ("cu13/lib/libnvrtc.so.13", 110, 8, 8),
):
    data = compiled(load(name), text, "CUBIN", f"--gpu-architecture=sm_{arch}")
    flags = int.from_bytes(data[48:52], "little")
    print(f"sm_{arch}: ABI version {data[8]}, flags {flags:#x}, low byte {flags & 255}")
    assert data[8] == version
    assert flags >> at & 255 == arch
    assert at == 0 or flags & 255 != arch
PY
