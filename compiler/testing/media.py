"""Convert values to images, animations and sounds, and back: PNG, GIF, WAV.

Images are arrays of two dimensions: of bool; of u8 or floats from 0 to 1, in grey; of u32 or i32,
whose bytes are alpha, red, green and blue.
"""

from __future__ import annotations

import importlib
import io
import wave
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.base.errors import InputError
from compiler.ir.values import Value

LARGEST = 1 << 26
"""Pixels of an image, or of all images of an animation."""
Array = npt.NDArray[Any]


def _pillow() -> Any:
    """Import the image library on first use."""
    return importlib.import_module("PIL.Image")


def png(value: Value) -> bytes:
    """Encode an image as PNG. Raises InputError for other values."""
    out = io.BytesIO()
    _picture(value).save(out, "PNG")
    return out.getvalue()


def moving(frames: Sequence[Value], per_second: int, repeat: bool, form: str) -> bytes:
    """Encode images as an animation, APNG or GIF. Raises InputError."""
    if not frames:
        raise InputError("A video has at least one picture.")
    if sum(frame.size for frame in frames) > LARGEST:
        raise InputError(f"A video has at most {LARGEST} pixels in all of its pictures.")
    first, *others = [_picture(frame) for frame in frames]
    if any(one.size != first.size for one in others):
        raise InputError("The pictures of a video are of one size.")
    out = io.BytesIO()
    first.save(
        out,
        "GIF" if form == "gif" else "PNG",
        save_all=True,
        append_images=others,
        duration=1000 / per_second,
        **({"loop": 0} if repeat else {} if form == "gif" else {"loop": 1}),
    )
    return out.getvalue()


def _picture(value: Value) -> Any:
    if value.ndim != 2 or not value.size or value.size > LARGEST:
        shape = "".join(f"[{size}]" for size in value.shape)
        raise InputError(f"A picture has two dimensions and some pixels; this is {shape or 'one'}.")
    return _pillow().fromarray(np.ascontiguousarray(_bytes(np.asarray(value))))


def _bytes(value: Array) -> npt.NDArray[np.uint8]:
    """Convert an image to rows of grey or RGB bytes."""
    match value.dtype.kind, value.dtype.itemsize:
        case "b", _:
            return value.astype(np.uint8) * np.uint8(255)
        case "u", 1:
            return value.astype(np.uint8)
        case "f", _:
            scaled = np.nan_to_num(np.clip(value.astype(np.float64), 0, 1)) * 255
            return np.rint(scaled).astype(np.uint8)
        case (("u" | "i"), 4):
            word = value.astype(np.uint32)
            parts = [(word >> shift & 255).astype(np.uint8) for shift in (16, 8, 0)]
            return np.stack(parts, axis=-1)
    raise InputError("The elements of a picture are bool, u8, u32, i32 or floats from 0 to 1.")


def pixels(data: bytes) -> Value:
    """Decode an image file to `[][]u32`. Raises InputError."""
    library = _pillow()
    try:
        with library.open(io.BytesIO(data), formats=("PNG", "JPEG", "GIF", "BMP", "PPM")) as found:
            if found.width * found.height > LARGEST:
                raise InputError(f"The picture has more than {LARGEST} pixels.")
            rows = np.asarray(found.convert("RGBA")).astype(np.uint32)
    except (OSError, ValueError, SyntaxError) as error:
        raise InputError(f"This is no picture: {error}.") from None
    red, green, blue, alpha = (rows[:, :, part] for part in range(4))
    return alpha << 24 | red << 16 | green << 8 | blue


def wav(value: Value, rate: int) -> bytes:
    """Encode samples, or an array of samples for each channel, as WAV. Raises InputError."""
    if value.ndim not in (1, 2) or not value.size or value.size > LARGEST:
        raise InputError("A sound is an array of samples, or one for each channel.")
    channels = np.atleast_2d(value)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        data = _samples(channels)
        file.setnchannels(channels.shape[0])
        file.setsampwidth(data.dtype.itemsize)
        file.setframerate(rate)
        file.writeframes(np.ascontiguousarray(data.T).tobytes())
    return out.getvalue()


def _samples(value: Array) -> Array:
    match value.dtype.kind, value.dtype.itemsize:
        case "f", _:
            scaled = np.nan_to_num(np.clip(value.astype(np.float64), -1, 1)) * 32767
            return np.rint(scaled).astype("<i2")
        case "i", 1:
            return (value.astype(np.int16) + 128).astype(np.uint8)
        case ("u", 1) | ("i", 2 | 4):
            return value.astype(value.dtype.newbyteorder("<"))
    raise InputError("Samples are i8, u8, i16, i32, or floats from -1 to 1.")


def samples(data: bytes) -> Value:
    """Decode a WAV file to `[channels][]f64`. Raises InputError."""
    try:
        with wave.open(io.BytesIO(data), "rb") as file:
            width, channels = file.getsampwidth(), file.getnchannels()
            raw = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise InputError(f"This is no sound that can be read: {error}.") from None
    if width not in (1, 2, 4):
        raise InputError(f"Samples of {width} bytes are not read.")
    found = np.frombuffer(raw, {1: "u1", 2: "<i2", 4: "<i4"}[width]).astype(np.float64)
    found = (found - 128) / 128 if width == 1 else found / float(1 << (8 * width - 1))
    return np.ascontiguousarray(found.reshape(-1, channels).T)
