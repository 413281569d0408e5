"""Model files: one safetensors file with a header in JSON and named arrays; never pickle."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import stat
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from labeltree import modelheader, packedtables
from labeltree._version import __version__
from labeltree.disk import sync

FORMAT = 3  # 1: tables with their zeros; 2: and text; 3: packed tables, small compiled models
_PARTIAL = ".labeltree-partial"  # how the names of files end that are being written
_LONGEST_STEM = 255 - len("..") - 32 - len(_PARTIAL)  # bytes: a file's name may have 255
_ATTACHED = "attached."  # how the names of arrays begin that are no part of the estimator

Arrays = Mapping[str, NDArray[Any]]

_DTYPES = {
    "U8": "<u1",
    "U16": "<u2",
    "U32": "<u4",
    "U64": "<u8",
    "I64": "<i8",
    "F32": "<f4",
    "F64": "<f8",
}
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}


class ModelFileError(ValueError):
    """A file cannot be read as a model."""


class ForeignModelFileError(ModelFileError):
    """The file was not written by labeltree."""


class CorruptModelFileError(ModelFileError):
    """The file was written by labeltree, but is cut short or changed."""


class FutureModelFileError(ModelFileError):
    """The file was written by a later version of labeltree, in a format unknown to this one."""


class Contents(NamedTuple):
    """What a model file is to hold: a copy, which learning on does not change."""

    header: dict[str, Any]
    arrays: Arrays
    attached: Arrays

    def write(self, path: str | os.PathLike[str], *, exact: bool = True) -> None:
        """Write a model file so that, whatever happens, `path` holds the old file or the new.

        If not `exact`, weights are rounded.
        """
        write(path, self.header, self.arrays, self.attached, exact=exact)


def write(
    path: str | os.PathLike[str],
    header: dict[str, Any],
    arrays: Arrays,
    attached: Arrays | None = None,
    *,
    exact: bool = True,
) -> None:
    """Write a model file so that, whatever happens, `path` holds the old file or the new one."""
    arrays = packedtables.pack(arrays, exact=exact)
    arrays = {**arrays, **{_ATTACHED + name: array for name, array in (attached or {}).items()}}
    text = json.dumps({"version": __version__, **header}, ensure_ascii=True, allow_nan=False)
    metadata = {
        "labeltree": str(FORMAT),
        "header": text,
        "checksum": _checksum(text, arrays),
    }
    with replacing(path) as beside:
        _write_safetensors(beside, arrays, metadata)


def _write_safetensors(path: Path, arrays: Arrays, metadata: dict[str, str]) -> None:
    """Write a safetensors file into one that exists.

    The library that reads them back makes a file of its own, which a killed process would leave
    behind, and has the metadata in an order that differs from run to run.
    """
    for name, array in arrays.items():
        if array.dtype not in _NAMES:  # what is not read back is not written
            raise ValueError(
                f"the array {name.removeprefix(_ATTACHED)!r} is of type {array.dtype}, which a "
                f"model file cannot hold; expected one of {', '.join(map(str, _NAMES))}"
            )
    # Large items first, so that all of them are aligned.
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    entries: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in order:
        begin, end = end, end + arrays[name].nbytes
        entries[name] = {
            "dtype": _NAMES[arrays[name].dtype],
            "shape": list(arrays[name].shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            file.write(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the name of a file beside `path`, which replaces it if all goes well.

    The new file is synced to the disk and renamed, so that `path` is never half written. It gets
    the old one's permissions, or those of any new file. A link is followed; what is neither a
    file nor missing is refused. What killed processes have left beside `path` is removed.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise OSError(f"{path}: this is not a file, and cannot be replaced by one")
    remove_leftovers(target)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    beside, locked = _new_beside(target, 0o666 if mode is None else mode)
    try:
        yield beside
        if mode is not None:
            beside.chmod(mode)
        sync(beside)
        os.replace(beside, target)
    except OSError as error:
        if error.errno is not None and error.filename is None:  # a write, as to a full disk
            error.filename = os.fspath(path)
        raise
    finally:
        beside.unlink(missing_ok=True)
        locked.close()
    sync(target.parent)


def _new_beside(target: Path, mode: int) -> tuple[Path, BinaryIO]:
    """Make a file beside `target` under a name of its own, and lock it.

    The lock goes with the file object, also where Ctrl-C arrives before that is returned.
    """
    while True:
        beside = target.with_name(f".{_stem(target)}.{secrets.token_hex(16)}{_PARTIAL}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        file = os.fdopen(os.open(beside, flags, mode), "rb")
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(file, fcntl.LOCK_EX)  # tells `remove_leftovers` that it is in use
        if os.fstat(file.fileno()).st_nlink:  # else it was taken for a leftover before the lock
            return beside, file
        file.close()


def _stem(target: Path) -> str:
    """Return what tells the files beside `target` from those of others, in few enough bytes."""
    name = os.fsencode(target.name)
    return target.name if len(name) <= _LONGEST_STEM else hashlib.sha256(name).hexdigest()


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what processes that were killed while they wrote `path` have left beside it.

    Only files that `replacing` has named, for this path, and that no process has locked.
    """
    target = Path(path).resolve()
    ours = re.compile(rf"\.{re.escape(_stem(target))}\.[0-9a-f]{{32}}{re.escape(_PARTIAL)}")
    try:
        names = [name for name in os.listdir(target.parent) if ours.fullmatch(name)]
    except PermissionError:  # a folder that can be written to, but not looked into
        names = []
    for name in names:
        beside = target.with_name(name)
        try:
            file = os.fdopen(os.open(beside, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
        except OSError:  # gone by now, or not ours
            continue
        with file, contextlib.suppress(OSError):  # still in use
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                beside.unlink()


def read(
    path: str | os.PathLike[str], *, mmap: bool = False
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a model file back: its header and its arrays.

    With `mmap` the arrays are views of the file, mapped into memory, and the checksum is not
    verified: that would read all of it.

    Raises
    ------
    ForeignModelFileError, CorruptModelFileError, FutureModelFileError
        All are `ModelFileError`; each says what is wrong with which file.
    """
    path = Path(path)
    with _open(path) as file:
        metadata = file.metadata()
        if mmap:
            return _header(path, metadata), _mapped(path)
        arrays = {name: _tensor(path, file, name) for name in file.keys()}  # noqa: SIM118
    text = metadata.get("header", "")
    if metadata.get("checksum") != _checksum(text, arrays):
        raise CorruptModelFileError(
            f"{path}: the model file is damaged: its checksum does not match; "
            "copy it again from where it was made"
        )
    header = _header(path, metadata)
    try:
        own = {name: array for name, array in arrays.items() if not is_attached(name)}
        return header, {**arrays, **packedtables.unpack(own)}
    except ValueError as error:
        raise CorruptModelFileError(f"{path}: the model file is not consistent: {error}") from error


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the header alone, without checking that the arrays are intact."""
    with _open(Path(path)) as file:
        return _header(Path(path), file.metadata())


def read_checksum(path: str | os.PathLike[str]) -> str:
    """Read what tells a file from others, without checking that the arrays are intact."""
    with _open(Path(path)) as file:
        return str(file.metadata().get("checksum", ""))


def _header(path: Path, metadata: Mapping[str, str]) -> modelheader.Header:
    try:
        header = modelheader.parse(metadata.get("header", ""))
    except ValueError as error:
        raise CorruptModelFileError(f"{path}: the model file is not consistent: {error}") from error
    if header["compiled"] and int(metadata["labeltree"]) < FORMAT:
        raise ModelFileError(
            f"{path}: the model was compiled by an earlier version of labeltree, in a form that "
            "this one does not read; compile the model it was made from again"
        )
    return header


def _tensor(path: Path, file: Any, name: str) -> NDArray[Any]:
    """Read an array of a file that safetensors has opened: it has checked offsets and shapes."""
    part = file.get_slice(name)
    _check_array(path, name, part.get_dtype(), part.get_shape())
    array: NDArray[Any] = file.get_tensor(name)
    return array


def _check_array(path: Path, name: str, dtype: str, shape: Sequence[int]) -> None:
    if dtype not in _DTYPES:
        raise CorruptModelFileError(
            f"{path}: the model file is damaged: its array {name!r} is of the type {dtype}"
        )
    if len(shape) > 8 or any(length >= 2**48 for length in shape):  # of an empty one, too
        raise CorruptModelFileError(
            f"{path}: the model file is damaged: its array {name!r} has an impossible shape"
        )


def _mapped(path: Path) -> dict[str, NDArray[Any]]:
    """Map the arrays of a file that safetensors can open."""
    try:
        content = np.memmap(path, np.uint8, mode="r")
        start = 8 + int.from_bytes(content[:8].tobytes(), "little")
        entries = json.loads(content[8:start].tobytes())
        arrays = {}
        for name, entry in entries.items():
            if name == "__metadata__":
                continue
            _check_array(path, name, entry["dtype"], entry["shape"])
            begin, end = entry["data_offsets"]
            array = content[start + begin : start + end].view(_DTYPES[entry["dtype"]])
            array = array.view(np.ndarray).reshape(entry["shape"])
            arrays[name] = array if array.flags.aligned else array.copy()
        return arrays
    except (KeyError, TypeError, ValueError) as error:  # it has changed since it was opened
        raise CorruptModelFileError(f"{path}: the model file is damaged: {error}") from error


def is_attached(name: str) -> bool:
    """Tell whether an array of a model file was attached to the model."""
    return name.startswith(_ATTACHED)


def read_attached(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Read the arrays that were attached to a model, without checking that all is intact."""
    with _open(Path(path)) as file:
        names = [name for name in file.keys() if is_attached(name)]  # noqa: SIM118
        return {name.removeprefix(_ATTACHED): _tensor(Path(path), file, name) for name in names}


@contextlib.contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Open a model file of a format known to this version."""
    _check_signature(path)
    try:
        with safe_open(path, framework="numpy") as file:
            _check_format(path, file.metadata() or {})
            yield file
    except SafetensorError as error:
        raise CorruptModelFileError(
            f"{path}: the model file is cut short or damaged; copy it again from where it was made"
        ) from error


def _check_signature(path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(8 + 64)
    if not start[8:].startswith(b'{"__metadata__":'):
        raise ForeignModelFileError(
            f"{path}: this is not a labeltree model file; give one that labeltree has saved"
        )


def _check_format(path: Path, metadata: Mapping[str, str]) -> None:
    number = metadata.get("labeltree")
    if number is None:
        raise ForeignModelFileError(
            f"{path}: this safetensors file is not a labeltree model; give one that labeltree "
            "has saved"
        )
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        raise CorruptModelFileError(f"{path}: the model file is damaged: its format is {number!r}")
    if int(number) > FORMAT:
        raise FutureModelFileError(
            f"{path}: the model file has format {number}, this is labeltree {__version__}, which "
            f"reads up to format {FORMAT}; install a later labeltree"
        )


def _checksum(text: str, arrays: Arrays) -> str:
    value = zlib.crc32(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        value = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), value)
        value = zlib.crc32(array.reshape(-1).view(np.uint8).data, value)
    return f"crc32:{value:08x}"
