import bz2
import gzip
import io
import lzma
import subprocess
import sys
import threading

import pytest

from labeltree.data import DataError, load, stream

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}
CONTENT = b"".join(b"%d %d:1\n" % (i % 7, i) for i in range(5000))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_files_read_like_plain_ones(tmp_path, suffix):
    path = tmp_path / f"a.svm{suffix}"
    half = len(CONTENT) // 2
    # Files of several members are what `cat a.gz b.gz` and parallel compressors make.
    path.write_bytes(COMPRESS[suffix](CONTENT[:half]) + COMPRESS[suffix](CONTENT[half:]))
    data = load(path)
    assert data.X.shape == (5000, 5000)
    assert data.y.tolist() == [i % 7 for i in range(5000)]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compression_is_known_by_its_first_bytes(tmp_path, suffix):
    path = tmp_path / "a.svm"
    path.write_bytes(COMPRESS[suffix](CONTENT))
    assert len(load(path)) == 5000
    empty = tmp_path / f"empty.svm{suffix}"
    empty.write_bytes(COMPRESS[suffix](b""))
    assert len(load(empty)) == 0


def test_text_that_looks_like_a_magic_number_is_text():
    assert load(io.BytesIO(b"BZh9 1:1\n"), format="svmlight").y.tolist() == ["BZh9"]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_truncated_file_is_an_error_that_names_it(tmp_path, suffix):
    path = tmp_path / f"a.svm{suffix}"
    whole = COMPRESS[suffix](CONTENT)
    for size in (len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match="data is truncated or corrupt") as caught:
            load(path)
        assert caught.value.path == str(path)
        assert caught.value.line is None


@pytest.mark.parametrize("suffix", COMPRESS)
def test_corrupt_file_is_an_error_that_names_it(tmp_path, suffix):
    path = tmp_path / f"a.svm{suffix}"
    whole = bytearray(COMPRESS[suffix](CONTENT))
    for at in range(len(whole) // 2, len(whole) // 2 + 40):
        whole[at] ^= 0x55
    path.write_bytes(whole)
    with pytest.raises(DataError) as caught:
        load(path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("content", [b"", b"1 1:1\n"])
def test_name_that_promises_compression_is_held_to_it(tmp_path, content):
    path = tmp_path / "a.svm.gz"
    path.write_bytes(content)
    with pytest.raises(
        DataError, match=r"expected gzip data, as the name ends in \.gz, received \""
    ):
        load(path)


def test_missing_file_and_directory_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.svm"):
        stream(tmp_path / "none.svm")
    folder = tmp_path / "folder.svm"
    folder.mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder\.svm"):
        stream(folder)


SCRIPT = """
import sys
from labeltree.data import DataError, load
try:
    data = load("-", format="svmlight")
    print(data.X.shape, data.y[:3].tolist())
except DataError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("content", "output"),
    [
        (CONTENT, "(5000, 5000) [0, 1, 2]"),
        (gzip.compress(CONTENT), "(5000, 5000) [0, 1, 2]"),
        (b"1 1:1\n1 1:x\n", '-:2: feature value "x" is not a number'),
    ],
)
def test_standard_input(content, output):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=content, capture_output=True, check=True, timeout=60
    )
    assert done.stdout.decode().strip() == output


def test_rows_come_as_soon_as_a_pipe_has_them():
    script = (
        "from labeltree.data import stream\n"
        "for rows in stream('-', format='svmlight', batch_size=1):\n"
        "    print(rows.y[0], flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        for label in (b"first", b"second"):
            process.stdin.write(label + b" 1:1 2:1 3:1\n")
            process.stdin.flush()
            assert process.stdout.readline().strip() == label
        process.stdin.close()
        assert process.wait(timeout=60) == 0
        watchdog.cancel()


class Endless(io.RawIOBase):
    """So many bytes of one line, then a good one."""

    def __init__(self, size):
        self._left = size

    def readable(self):
        return True

    def readinto(self, buffer):
        if self._left is None:
            return 0
        count = min(len(buffer), self._left)
        if count == 0:
            end = b"\n7 7:7\n"
            buffer[: len(end)] = end
            self._left = None
            return len(end)
        buffer[:count] = b"1" * count
        self._left -= count
        return count


@pytest.mark.parametrize("format_", ["svmlight", "vw", "tsv", "xmc", "fasttext", "annif", "jsonl"])
def test_line_of_100_megabytes_is_an_error(format_):
    with pytest.raises(DataError, match="is too long: expected at most max_line=16777216 bytes"):
        load(Endless(100 * 2**20), format=format_)


def test_line_of_100_megabytes_can_be_skipped():
    data = load(Endless(100 * 2**20), format="svmlight", skip_bad_lines=True)
    assert data.y.tolist() == [7]
    assert data.bad_lines.count == 1
    data = load(Endless(100 * 2**20), format="fasttext", skip_bad_lines=True)
    assert list(data.X) == ["7 7:7"]
    assert data.bad_lines.count == 1


def test_small_file_that_expands_to_one_long_line_takes_little_memory(tmp_path):
    path = tmp_path / "bomb.svm.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(100):
            file.write(b"0" * 2**20)
        file.write(b"\n7 7:7\n")
    script = (
        "import resource, sys\n"
        "from labeltree.data import load\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak()\n"
        "data = load(sys.argv[1], skip_bad_lines=True)\n"
        "print(data.y[0], data.bad_lines.count, peak() - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, check=True, timeout=60
    )
    label, bad, kibibytes = map(int, done.stdout.split())
    assert (label, bad) == (7, 1)
    assert kibibytes < 48 * 1024  # the buffer for the longest line, doubled as it grew


def test_line_within_the_limit_is_read_however_long(tmp_path):
    path = tmp_path / "long.svm"
    path.write_bytes(b"1 " + b" ".join(b"%d:1" % i for i in range(1_500_000)) + b"\n")
    assert load(path).X.nnz == 1_500_000
