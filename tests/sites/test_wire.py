from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from widemargin.sites.network.wire import (
    HEADER_BYTES,
    MOST_STUDY_BYTES,
    Frame,
    FrameError,
    Kind,
    bytes_frame,
    decode,
    encode,
    most_bytes,
)

AGREED, DIMENSION, COUNT = 12345, 4, 12


def frame(**changes: object) -> Frame:
    numbers = np.arange(COUNT, dtype=np.float64)
    numbers[-3:] = 2, 7, 5
    fields: dict[str, object] = {
        "kind": Kind.EXCHANGE,
        "agreement": AGREED,
        "sender_epoch": 10,
        "receiver_epoch": 20,
        "number": 7,
        "acknowledged": 5,
        "degree": 3,
        "dimension": DIMENSION,
        "numbers": numbers,
    }
    return Frame(**(fields | changes))  # type: ignore[arg-type]


def read(data: bytes) -> Frame:
    return decode(data, agreement=AGREED, dimension=DIMENSION, count=COUNT)


def test_layout_is_fixed() -> None:
    data = encode(frame())
    assert HEADER_BYTES == 64
    assert data[:8] == b"WMGS\x02\x00\x01\x00"
    assert struct.unpack("<QQQQQ", data[8:48]) == (AGREED, 10, 20, 7, 5)
    assert struct.unpack("<IIII", data[48:64]) == (3, DIMENSION, COUNT, 0)
    # Whole numbers are exact in single precision.
    assert data[64:66] == b"\xff\x0f"
    assert struct.unpack(f"<{COUNT}f", data[66:]) == (*range(COUNT - 3), 2.0, 7.0, 5.0)


def test_numbers_have_the_least_precision_that_is_exact() -> None:
    numbers = frame().numbers.copy()
    numbers[[1, 8]] = 0.1, 1e300
    numbers[2] = float(np.float32(0.1))
    data = encode(frame(numbers=numbers))
    assert data[64:66] == bytes([0xFF - 2, 0x0F - 1])
    assert len(data) == 64 + 2 + 4 * (COUNT - 2) + 8 * 2 < most_bytes(COUNT)
    assert struct.unpack("<dd", data[-16:]) == (0.1, 1e300)
    np.testing.assert_array_equal(read(data).numbers, numbers)


@pytest.mark.parametrize(
    "altered",
    [
        lambda data: data[:65] + b"\x1f" + data[66:],  # a bit for a number that there is not
        lambda data: data[:65] + b"\x07" + data[66:],  # one number less in single precision
        lambda data: data[:65] + b"\x07" + data[66:-4] + struct.pack("<d", 5.0),  # 5 is shorter
        lambda data: data[:66],
        lambda data: data[:65],
    ],
)
def test_numbers_have_one_form_only(altered: Callable[[bytes], bytes]) -> None:
    with pytest.raises(FrameError) as caught:
        read(altered(encode(frame())))
    assert caught.value.reason == "length"


@given(
    numbers=st.lists(
        st.floats(allow_nan=False, allow_infinity=False), min_size=COUNT - 3, max_size=COUNT - 3
    ),
    counter=st.integers(0, 2**30),
    number=st.integers(1, 2**53),
    acknowledged=st.integers(0, 2**53),
    epochs=st.tuples(st.integers(1, 2**62 - 1), st.integers(0, 2**62 - 1)),
    degree=st.integers(0, 2**32 - 1),
)
def test_what_is_sent_is_read(
    numbers: list[float],
    counter: int,
    number: int,
    acknowledged: int,
    epochs: tuple[int, int],
    degree: int,
) -> None:
    whole = np.array([*numbers, counter, number, acknowledged], dtype=np.float64)
    sent = frame(
        numbers=whole,
        number=number,
        acknowledged=acknowledged,
        sender_epoch=epochs[0],
        receiver_epoch=epochs[1],
        degree=degree,
    )
    got = read(encode(sent))
    np.testing.assert_array_equal(got.numbers, whole)
    for name in ("kind", "sender_epoch", "receiver_epoch", "number", "acknowledged", "degree"):
        assert getattr(got, name) == getattr(sent, name)


def test_a_greeting_has_no_numbers() -> None:
    sent = frame(kind=Kind.GREETING, numbers=np.empty(0), number=0, acknowledged=0)
    assert read(encode(sent)).kind is Kind.GREETING
    with pytest.raises(FrameError, match="numbers"):
        read(encode(frame(kind=Kind.GREETING)))


def numbers_with(position: int, value: float) -> np.ndarray:
    numbers = frame().numbers.copy()
    numbers[position] = value
    return numbers


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"agreement": 1}, "agreement"),
        ({"dimension": 5}, "dimension"),
        ({"numbers": np.zeros(COUNT + 1)}, "length"),
        ({"sender_epoch": 0}, "epoch"),
        ({"sender_epoch": 2**62}, "epoch"),
        ({"receiver_epoch": 2**63}, "epoch"),
        ({"number": 2**53 + 1}, "number"),
        ({"number": 0}, "number"),
        ({"number": 8}, "number"),
        ({"acknowledged": 6}, "number"),
        ({"numbers": numbers_with(0, np.nan)}, "finite"),
        ({"numbers": numbers_with(3, -np.inf)}, "finite"),
        ({"numbers": numbers_with(-3, 0.5)}, "number"),
        ({"numbers": numbers_with(-3, -1.0)}, "number"),
        ({"numbers": numbers_with(-3, 2.0**31)}, "number"),
        ({"numbers": numbers_with(-2, 7.5)}, "number"),
    ],
)
def test_what_is_wrong_is_refused(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(FrameError) as caught:
        read(encode(frame(**changes)))
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("position", "value", "reason"),
    [(0, b"X", "magic"), (4, b"\x01", "version"), (6, b"\x09", "kind"), (6, b"\x04", "length")],
)
def test_a_wrong_header_is_refused(position: int, value: bytes, reason: str) -> None:
    data = encode(frame())
    with pytest.raises(FrameError) as caught:
        read(data[:position] + value + data[position + 1 :])
    assert caught.value.reason == reason


@given(data=st.binary(max_size=300))
@example(data=b"")
@example(data=encode(frame())[:-1])
@example(data=encode(frame()) + b"\0")
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(FrameError):
        read(data)


MIXED = frame(numbers=np.array([*(0.1 * k for k in range(COUNT - 3)), 2, 7, 5]))


@given(
    flips=st.lists(
        st.tuples(st.integers(0, len(encode(MIXED)) - 1), st.integers(0, 255)), max_size=6
    )
)
def test_altered_frames_are_refused_or_sound(flips: list[tuple[int, int]]) -> None:
    data = bytearray(encode(MIXED))
    for position, value in flips:
        data[position] = value
    try:
        got = read(bytes(data))
    except FrameError:
        return
    assert np.isfinite(got.numbers).all()
    if got.kind in (Kind.STUDY, Kind.DIFFERENCE):
        assert len(got.payload) > 0
        return
    assert len(got.numbers) == COUNT
    assert 0 < got.sender_epoch < 2**62


@pytest.mark.parametrize("kind", [Kind.STUDY, Kind.DIFFERENCE])
def test_bytes_are_read_whatever_the_settings(kind: Kind) -> None:
    got = decode(bytes_frame(kind, b"{}", study_version=7), agreement=1, dimension=2, count=3)
    assert (got.kind, got.payload, got.study_version) == (kind, b"{}", 7)


@pytest.mark.parametrize("size", [0, MOST_STUDY_BYTES + 1])
def test_bytes_are_bounded(size: int) -> None:
    with pytest.raises(FrameError) as caught:
        read(bytes_frame(Kind.STUDY, b"x" * size))
    assert caught.value.reason == "length"


def test_the_version_of_the_study_travels_with_every_frame() -> None:
    assert read(encode(frame(study_version=9))).study_version == 9
