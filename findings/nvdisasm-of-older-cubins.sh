#!/usr/bin/env bash
# Machine code of NVRTC 12.9 in nvdisasm 13.5.
# Guess: nvdisasm lists what the toolkit before it made, with all of its options.
# Seen: it lists the instructions of sm_90, but refuses life ranges and the control flow graph
# (`-plr`, `-cfg`): code of 12.9 up to sm_90 is of another form of ELF than that of 13.5, while
# code of 12.9 for sm_100 is of the new form.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install 'nvidia-cuda-nvrtc-cu12==12.9.86' 'nvidia-cuda-nvrtc==13.5.37' 'nvidia-cuda-nvdisasm==13.5.37'
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


import subprocess
import tempfile
from pathlib import Path

(tool,) = glob.glob(sysconfig.get_path("purelib") + "/nvidia/cu13/bin/nvdisasm")
print(subprocess.run([tool, "--version"], capture_output=True, text=True).stdout.splitlines()[-1])
text = 'extern "C" __global__ void k(int *o) { o[threadIdx.x] = o[threadIdx.x + 1] * 3; }'
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "k.cubin"
    for name, arch, wanted in (
        ("cuda_nvrtc/lib/libnvrtc.so.12", "sm_90", [0, 1, 1]),
        ("cuda_nvrtc/lib/libnvrtc.so.12", "sm_100", [0, 0, 0]),
        ("cu13/lib/libnvrtc.so.13", "sm_90", [0, 0, 0]),
    ):
        file.write_bytes(compiled(load(name), text, "CUBIN", f"--gpu-architecture={arch}"))
        found = []
        for options in (["-c"], ["-c", "-plr"], ["-cfg"]):
            done = subprocess.run([tool, *options, file], capture_output=True, text=True)
            found.append(done.returncode)
            said = [line for line in done.stderr.splitlines() if "error" in line]
            print(arch, *options, "-> status", done.returncode, *said)
        assert found == wanted
PY
