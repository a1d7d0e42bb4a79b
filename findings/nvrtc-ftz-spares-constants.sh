#!/usr/bin/env bash
# Numbers below the normal ones under `--ftz=true`, where NVRTC knows them.
# Guess: with --ftz=true a product whose result is below the normal numbers is 0, as on the
# device.
# Seen: the compiler computes the product of constants as IEEE has it, 1e-40, with `--ftz=true` as
# with `--ftz=false`; the same product of numbers that come from memory is a `mul.ftz`, which
# gives 0.
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


lib = load("cu13/lib/libnvrtc.so.13")
known = 'extern "C" __global__ void k(float *o) { o[0] = 1e-38f * 0.01f; }'
read = 'extern "C" __global__ void k(float *o) { o[0] = o[1] * o[2]; }'
bits = []
for ftz in ("true", "false"):
    given = ("--gpu-architecture=compute_90", f"--ftz={ftz}")
    ptx = compiled(lib, known, "PTX", *given).decode()
    assert "mul" not in ptx
    value = re.search(r"mov\.\w+ *\t?%\w+, (0f[0-9A-Fa-f]{8}|[0-9]+);|\], (0f[0-9A-Fa-f]{8}|[0-9]+);", ptx)
    word = value[1] or value[2]
    bits.append(int(word[2:], 16) if word[:2] == "0f" else int(word))
    of_memory = re.search(r"mul\.\S+", compiled(lib, read, "PTX", *given).decode())[0]
    print(f"--ftz={ftz}: constant {ctypes.c_float.from_buffer(ctypes.c_uint(bits[-1])).value}, "
          f"of memory {of_memory}")
    assert ("ftz" in of_memory) == (ftz == "true")
assert bits[0] == bits[1]
assert 0 < bits[0] < 0x00800000
PY
