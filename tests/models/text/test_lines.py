"""Lines that stay on disk: the same as those of a file read whole, in little memory, whatever is in them."""

import gzip
import random
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from minigrad_models.text import lines as module
from minigrad_models.text.lines import Lines

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
    """The lines, by the plainest code there is."""
    text = data.removeprefix(MARK).decode()
    lines = text.split("\n")
    return [line.rstrip("\r") for line in (lines if lines[-1] else lines[:-1])]


@pytest.mark.parametrize(("block", "ending"), [(1, ".txt"), (2, ".gz"), (7, ".txt"), (module.BLOCK, ".gz")])
def test_hard_lines(ending: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    for number, (head, end, closed) in enumerate(product((b"", MARK), ("\n", "\r\n"), (False, True))):
        data = head + (end.join(HARD) + end * closed).encode()
        result = Lines(write(tmp_path / f"{number}{ending}", data))
        assert list(result) == list(HARD)
        assert [result[i] for i in range(len(result))] == list(HARD)


def test_random_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(0)
    for number in range(100):
        monkeypatch.setattr(module, "BLOCK", (1, 2, 3, 11)[number % 4])
        text = "".join(draw.choices("ab\n\r\u2028ß🙂", k=draw.randrange(40)))
        data = text.replace("\n", "\r\n" * (number % 2) or "\n").encode()
        lines = Lines(write(tmp_path / str(number), data))
        assert list(lines) == lines[:] == whole(data)
        assert lines == whole(data)
    for data in (b"", MARK):
        lines = Lines(write(tmp_path / "empty", data))
        assert len(lines) == 0 and list(lines) == [] and lines == []


def test_it_is_a_sequence(tmp_path: Path) -> None:
    lines = Lines(write(tmp_path / "a", b"one\ntwo\nthree\nfour"))
    assert lines[-1] == "four" and lines[1:3] == ["two", "three"] and lines[::-2] == ["four", "two"]
    assert "two" in lines and lines.index("three") == 2
    for outside in (4, -5):
        with pytest.raises(IndexError, match=rf"no text {outside} of 4"):
            lines[outside]
    for other in (["one", "two", "three"], ["one", "two", "three", "five"], 4):
        assert lines != other


def test_the_digest_is_of_what_the_file_says(tmp_path: Path) -> None:
    lines = Lines(write(tmp_path / "a.gz", b"one\ntwo\n"))
    assert lines.digest == Lines(write(tmp_path / "b", b"one\ntwo\n")).digest
    assert lines.digest != Lines(write(tmp_path / "c", b"one\ntwa\n")).digest


NOT_TEXT = [
    (b"ok\ncaf\xe9\n", r"x, line 2: not UTF-8 \(byte 0xe9 at 3\).*Save it as UTF-8"),
    (b"\xff\xfeo\x00n\x00e\x00", r"x, line 1: not UTF-8 \(byte 0xff at 0\).*Save it as UTF-8"),
    (b"ok\nok\ncut \xe2\x80", r"x, line 3: not UTF-8 \(byte 0xe2 at 4\)"),
    (b"one\tuno\ntwo\t\0due\n", r"x, line 2: not text \(NUL, the byte 0x00, at 4\)"),
    (b"one\0\0\0\tuno\n", r"x, line 1: not text \(NUL, the byte 0x00, at 3\)"),
    (b"caf\xe9\t\0\n", r"x, line 1: not UTF-8 \(byte 0xe9 at 3\)"),
    (b"a surrogate: \xed\xa0\x80\n", r"x, line 1: not UTF-8 \(byte 0xed at 13\)"),
]


def test_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for block in (2, module.BLOCK):
        monkeypatch.setattr(module, "BLOCK", block)
        for data, message in NOT_TEXT:
            with pytest.raises(ValueError, match=message):
                Lines(write(tmp_path / "x", data))
    for encoding in ("UTF-16LE", "UTF-16BE"):
        for text in ("one\tuno\ntwo\tdue\n", "caffè\té\n", "я\tio\r\n", "猫が好き\t我喜欢猫\n犬\t狗\n", "\ta"):
            path = write(tmp_path / "x.gz", text.encode(encoding))
            with pytest.raises(ValueError, match=r"x\.gz, line 1: not (UTF-8|text) .* Save it as UTF-8"):
                Lines(path)


def test_damaged_archives(tmp_path: Path) -> None:
    archive = gzip.compress(random.Random(0).randbytes(5000).hex().encode())
    spoiled = bytearray(archive)
    spoiled[len(archive) // 2] ^= 0xFF
    for name, data in (("cut", archive[:-100]), ("plain", b"text\n"), ("spoiled", bytes(spoiled))):
        path = tmp_path / f"{name}.gz"
        path.write_bytes(data)
        with pytest.raises(ValueError, match=rf"{name}.gz: not a whole gzip file"):
            Lines(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[Any] = []
    opened = module.tempfile.TemporaryFile
    monkeypatch.setattr(module.tempfile, "TemporaryFile", lambda: files.append(opened()) or files[-1])
    monkeypatch.setattr(module, "_MOST_UNPACKED", 1 << 20)
    bomb = write(tmp_path / "bomb.gz", b"\0" * (20 << 20))
    with pytest.raises(ValueError, match=r"bomb\.gz unpacks to more than 1 MiB: if it is no bomb, gunzip it"):
        Lines(bomb)
    assert files[0].closed
    assert len(Lines(write(tmp_path / "text.gz", b"yes\n" * (1 << 18)))) == 1 << 18  # a small file may repeat itself


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_no_room_for_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.gz", b"one\n" * 100_000)
    with open("/dev/full", "wb", buffering=0) as full:
        monkeypatch.setattr(module.tempfile, "TemporaryFile", lambda: full)
        with pytest.raises(OSError, match=r"a\.gz cannot be unpacked into .*No space left"):
            Lines(path)


def test_a_file_that_is_cut_while_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"one\ntwo\nthree\n")
    lines = Lines(path)
    path.write_bytes(b"one\n")
    assert lines[0] == "one"
    with pytest.raises(ValueError, match="a has become shorter"):
        lines[2]


def test_threads_read_side_by_side(tmp_path: Path) -> None:
    expected = [f"{i} " * (i % 9 + 1) for i in range(2000)]
    lines = Lines(write(tmp_path / "a", "\n".join(expected).encode()))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lines.__getitem__, range(2000), chunksize=50)) == expected


def test_memory_holds_only_where_lines_begin(tmp_path: Path) -> None:
    count = 100_000
    data = b"".join(b"%d %s\n" % (i, b"x" * 190) for i in range(count))
    for name in ("a", "a.gz"):
        path = write(tmp_path / name, data)
        Lines(path)  # what the first use imports does not count
        tracemalloc.start()
        lines = Lines(path)
        assert sum(map(len, lines)) == len(data) - count
        assert lines[count - 1].startswith("99999 x")
        _, peak = tracemalloc.get_traced_memory()
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert held < 10 * count
        assert peak < 0.3 * len(data)
