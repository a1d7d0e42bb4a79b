#!/usr/bin/env bash
# fmin and fmax of zeros whose arguments NVRTC knows.
# Guess: PTX orders -0.0 below +0.0 in min and max, so that fmin gives -0.0 and fmax +0.0,
# whatever the order of arguments; what the compiler computes itself is the same.
# Seen: the compiler gives the first argument: fmin(0.0, -0.0) is +0.0, and fmax(-0.0, 0.0) is
# -0.0.
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


def stored(lib, call):
    """The bits of the constant that a kernel stores."""
    text = f'extern "C" __global__ void k(double *o) {{ o[0] = {call}; }}'
    ptx = compiled(lib, text, "PTX", "--gpu-architecture=compute_90").decode()
    assert not re.search(r"\b(min|max)\.f64", ptx), "it is not computed by the compiler"
    value = re.search(r"st\.global\.\w+ *\t?\[[^]]*\], (\S+);", ptx)[1]
    if value.startswith("%"):
        value = re.search(rf"mov\.\w+ *\t?{value}, (\S+);", ptx)[1]
    return int(value[2:], 16) if value[:2] == "0d" else int(value) % 2**64


lib = load("cu13/lib/libnvrtc.so.13")
minus = 1 << 63
for call, wanted in (
    ("fmin(0.0, -0.0)", 0),
    ("fmin(-0.0, 0.0)", minus),
    ("fmax(-0.0, 0.0)", minus),
    ("fmax(0.0, -0.0)", 0),
):
    found = stored(lib, call)
    print(call, "->", "-0.0" if found == minus else "+0.0" if found == 0 else hex(found))
    assert found == wanted
PY
