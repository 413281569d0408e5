"""The log: what was appended is there after any crash, and damage is told."""

import errno
import os

import pytest

from labeltree import eventlog as log_module
from labeltree.data import DataError, load
from labeltree.eventlog import EventLog, LogError, LogFullError, read_records

RECORDS = [f'{{"n":{i},"text":"{"x" * (i % 50)}"}}'.encode() for i in range(40)]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "log"


def written(folder, records=RECORDS, **options):
    with EventLog(folder, **options) as log:
        for i in range(0, len(records), 3):
            log.append(records[i : i + 3])
    return sorted(folder.glob("*.log"))


def test_records_come_back_from_any_number_on(folder):
    written(folder)
    with EventLog(folder) as log:
        assert log.end == len(RECORDS)
        for start in (0, 1, 17, 39, 40):
            assert list(log.read(start)) == RECORDS[start:]
        log.append([b"more"])
        assert list(log.read(39)) == [RECORDS[39], b"more"]
    assert list(read_records(folder, 38)) == [*RECORDS[38:], b"more"]


def test_segments(folder):
    paths = written(folder, segment_bytes=300)
    assert len(paths) > 4
    with EventLog(folder) as log:
        assert list(log.read(0)) == RECORDS
        assert list(log.read(25)) == RECORDS[25:]
        second = int(paths[1].stem)
        log.drop_before(second)
        assert not paths[0].exists()
        assert log.first == second
        assert list(log.read(second)) == RECORDS[second:]
        with pytest.raises(LogError, match="begins with record"):
            list(log.read(0))
        log.drop_before(10**9)
        assert log.end == len(RECORDS)
        assert paths[-1].exists()


@pytest.mark.parametrize("zeros", [False, True])
def test_a_torn_tail_is_cut_wherever_it_is_torn(folder, zeros):
    (path,) = written(folder, RECORDS[:3])
    with EventLog(folder) as log:
        whole = path.stat().st_size
        log.append(RECORDS[3:5])
    content = path.read_bytes()
    for size in range(whole, len(content)):
        torn = content[:size]
        if zeros:
            torn += bytes(len(content) - size)
        path.write_bytes(torn)
        with EventLog(folder) as log:
            kept = list(log.read())
            assert kept == RECORDS[: len(kept)]
            assert len(kept) in (3, 4)
            log.append([b"next"])
            assert list(log.read()) == [*kept, b"next"]


def test_a_flipped_byte_is_told_and_cuts_nothing(folder):
    (path,) = written(folder, RECORDS[:6])
    content = path.read_bytes()
    for at in range(40, len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x20]) + content[at + 1 :])
        with pytest.raises(LogError, match=r"record \d+, at byte"), EventLog(folder):
            pass
        assert path.stat().st_size == len(content)


def test_zeros_behind_a_damaged_record_do_not_make_it_a_torn_one(folder):
    (path,) = written(folder, RECORDS[:6])
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(bytes(content) + bytes(10))
    with pytest.raises(LogError, match="record 0, at byte"):
        EventLog(folder)


def test_damage_in_an_earlier_segment_is_told_when_it_is_read(folder):
    paths = written(folder, segment_bytes=300)
    content = paths[1].read_bytes()
    paths[1].write_bytes(content[:-3])
    with EventLog(folder) as log:
        with pytest.raises(LogError, match="damaged"):
            list(log.read(0))
        assert list(log.read(int(paths[2].stem))) == RECORDS[int(paths[2].stem) :]
    paths[1].unlink()
    with EventLog(folder) as log, pytest.raises(LogError, match="records are missing"):
        list(log.read(0))


def test_a_segment_torn_when_it_was_made_is_made_again(folder):
    paths = written(folder, segment_bytes=300)
    last = folder / f"{len(RECORDS):020d}.log"
    last.write_bytes(b"label")
    with EventLog(folder) as log:
        assert log.end == len(RECORDS)
        assert list(log.read()) == RECORDS
    assert paths[-1].exists()


def test_no_room(folder, monkeypatch):
    written(folder, RECORDS[:3])
    with EventLog(folder) as log:
        pwrite, room = os.pwrite, 20

        def limited(file, data, at):
            nonlocal room
            if room <= 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            taken = pwrite(file, bytes(data[:room]), at)
            room -= taken
            return taken

        monkeypatch.setattr(log_module.os, "pwrite", limited)
        for _ in range(2):
            room = 20
            with pytest.raises(LogFullError):
                log.append(RECORDS[3:6])
        monkeypatch.setattr(log_module.os, "pwrite", pwrite)
        log.append(RECORDS[3:6])
        assert list(log.read()) == RECORDS[:6]


def test_a_disk_that_does_not_tell_is_trusted_no_more(folder, monkeypatch):
    with EventLog(folder) as log:

        def fails(_):
            raise OSError(errno.EIO, "Input/output error")

        monkeypatch.setattr(log_module.os, "fdatasync", fails)
        with pytest.raises(OSError, match="Input/output"):
            log.append([b"a"])
        monkeypatch.undo()
        with pytest.raises(OSError, match="Input/output"):
            log.append([b"a"])


def test_one_process_has_a_log(folder):
    with EventLog(folder), pytest.raises(LogError, match="another process"):
        EventLog(folder)
    EventLog(folder).close()


def test_damage_is_told_where_the_log_is_data(folder):
    texts = [b'{"labels":["a"],"weight":1.0,"text":"number %d"}' % i for i in range(40)]
    with EventLog(folder, segment_bytes=400) as log:
        for text in texts:
            log.append([text])
    first, second, *_, last = sorted(folder.glob("*.log"))
    assert len(load(sorted(folder.glob("*.log"))).y) == 40
    whole = last.read_bytes()
    last.write_bytes(whole[:-5])  # torn by a crash
    assert len(load(last).y) == len(load(last, skip_bad_lines=True).y) > 0
    last.write_bytes(whole[:-3] + b"x" + whole[-2:])
    with pytest.raises(DataError, match="damaged"):
        load(last)
    last.write_bytes(whole)
    content = second.read_bytes()
    for damaged in (content[:-5], content[:32] + bytes(12) + content[44:]):
        second.write_bytes(damaged)
        with pytest.raises(DataError, match="damaged"):
            load(second)
    second.unlink()
    with pytest.raises(DataError, match="the next begins with"):
        load(first)


def test_other_files_are_no_log(folder, tmp_path):
    folder.mkdir()
    (folder / "1.log").write_bytes(b"x" * 100)
    with pytest.raises(LogError, match="not a segment"):
        EventLog(folder)
    (tmp_path / "file").write_text("")
    with pytest.raises(LogError, match="not a folder"):
        EventLog(tmp_path / "file")
