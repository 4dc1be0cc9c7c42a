"""Lines of files: the same as from reading the whole file, for any content."""

import gzip
import random
from itertools import product
from pathlib import Path

import pytest

from minigrad_models.text import corpus as module
from minigrad_models.text.corpus import read_lines

MARK = b"\xef\xbb\xbf"
HARD = (
    "plain",
    "",
    "form\x0cfeed, \x0b, \x1c and \x85",
    "line\u2028separator, paragraph\u2029separator",
    "carriage\rreturn within",
    "naïve 猫 🙂 e\u0301",
    "  spaces stay  ",
    "\ufeffa mark elsewhere is text",
)


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def whole(data: bytes) -> list[str]:
    """The lines, by the simplest code."""
    text = data.removeprefix(MARK).decode()
    lines = text.split("\n")
    return [line.rstrip("\r") for line in (lines if lines[-1] else lines[:-1])]


@pytest.mark.parametrize("ending", [".txt", ".gz"])
def test_hard_lines(ending: str, tmp_path: Path) -> None:
    for number, (head, end, closed) in enumerate(product((b"", MARK), ("\n", "\r\n"), (False, True))):
        data = head + (end.join(HARD) + end * closed).encode()
        assert list(read_lines(write(tmp_path / f"{number}{ending}", data))) == list(HARD)


def test_random_lines(tmp_path: Path) -> None:
    draw = random.Random(0)
    for number in range(100):
        text = "".join(draw.choices("ab\n\r\u2028ß🙂", k=draw.randrange(40)))
        data = text.replace("\n", "\r\n" * (number % 2) or "\n").encode()
        assert list(read_lines(write(tmp_path / str(number), data))) == whole(data)
    for data in (b"", MARK):
        assert "".join(read_lines(write(tmp_path / "empty", data))) == ""


NOT_TEXT = [
    (b"ok\ncaf\xe9\n", r"x, line 2: not UTF-8 \(byte 0xe9 at 3\).*Save it as UTF-8"),
    (b"\xff\xfeo\x00n\x00e\x00", r"x, line 1: not UTF-8 \(byte 0xff at 0\).*Save it as UTF-8"),
    (b"ok\nok\ncut \xe2\x80", r"x, line 3: not UTF-8 \(byte 0xe2 at 4\)"),
    (b"one\tuno\ntwo\t\0due\n", r"x, line 2: not text \(NUL, the byte 0x00, at 4\)"),
    (b"one\0\0\0\tuno\n", r"x, line 1: not text \(NUL, the byte 0x00, at 3\)"),
    (b"caf\xe9\t\0\n", r"x, line 1: not UTF-8 \(byte 0xe9 at 3\)"),
    (b"a surrogate: \xed\xa0\x80\n", r"x, line 1: not UTF-8 \(byte 0xed at 13\)"),
]


def test_not_utf8(tmp_path: Path) -> None:
    for data, message in NOT_TEXT:
        with pytest.raises(ValueError, match=message):
            list(read_lines(write(tmp_path / "x", data)))
    for encoding in ("UTF-16LE", "UTF-16BE"):
        for text in ("one\tuno\ntwo\tdue\n", "caffè\té\n", "я\tio\r\n", "猫が好き\t我喜欢猫\n犬\t狗\n", "\ta"):
            path = write(tmp_path / "x.gz", text.encode(encoding))
            with pytest.raises(ValueError, match=r"x\.gz, line 1: not (UTF-8|text) .* Save it as UTF-8"):
                list(read_lines(path))


def test_damaged_archives(tmp_path: Path) -> None:
    archive = gzip.compress(random.Random(0).randbytes(5000).hex().encode())
    spoiled = bytearray(archive)
    spoiled[len(archive) // 2] ^= 0xFF
    for name, data in (("cut", archive[:-100]), ("plain", b"text\n"), ("spoiled", bytes(spoiled))):
        path = tmp_path / f"{name}.gz"
        path.write_bytes(data)
        with pytest.raises(ValueError, match=rf"{name}.gz: not a complete gzip file"):
            list(read_lines(path))


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_UNPACKED", 1 << 20)
    bomb = write(tmp_path / "bomb.gz", b"\0" * (20 << 20))
    with pytest.raises(ValueError, match=r"bomb\.gz unpacks to more than 1 MiB: if you trust it, gunzip it"):
        next(read_lines(bomb))
    text = write(tmp_path / "text.gz", b"yes\n" * (1 << 18))  # small files may be highly compressed
    assert sum(1 for _ in read_lines(text)) == 1 << 18
