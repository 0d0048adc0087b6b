"""Machine code on disk: read only if this library wrote it for this user and this source."""

import errno
import os
import pickle
import random
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import formulakern as fk
from formulakern import cache
from formulakern.cache import private_files
from formulakern.cache.private_files import RefusedError, read_private, refusal, write_private
from formulakern.cli import main
from formulakern.compilation import compiled

DIGEST, OTHER = "0123456789abcdef" * 2, "fedcba9876543210" * 2
CODE = b"machine code" * 100
STRANGER = 12_345

posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")
root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root may give files away"
)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where the cache is, beside a home folder; neither is made yet."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "home"))
    monkeypatch.setenv("FORMULAKERN_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("XDG_CACHE_HOME", "FORMULAKERN_CACHE_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache, "_said", set())
    return tmp_path / "cache"


def kept(folder: Path, digest: str = DIGEST) -> Path:
    cache.save(digest, CODE)
    assert cache.load(digest) == CODE
    return folder / f"{digest}.code"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def plus_two(number):
    return number + 2


def called(n_read: int) -> None:
    """Call a new function, which is compiled or read from disk."""
    function = compiled("int64(int64)")(plus_two)
    assert function(3) == 5
    (made,) = function._code.values()
    assert sum(made.stats.cache_hits.values()) == n_read


# -- what is kept ----------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
def test_folders_and_files_are_of_this_user_alone(folder, mask):
    usual = os.umask(mask)
    try:
        entry = kept(folder)
    finally:
        os.umask(usual)
    home = folder.parent / "home"
    files = [path for path in folder.parent.rglob("*") if path.is_file()]
    assert entry in files
    assert [mode(path) for path in files] == [0o600, 0o600]
    assert {mode(path) for path in [folder, home, *home.rglob("*")] if path.is_dir()} == {0o700}


def test_a_function_is_read_back(folder):
    called(n_read=0)
    called(n_read=1)
    (entry,) = folder.iterdir()
    assert entry.suffix == ".code"
    assert cache.is_stored(entry.stem)


def test_what_lies_there_is_told_and_cleared(folder):
    assert (fk.cache.location(), fk.cache.clear()) == (folder, 0)
    assert fk.cache.info() == fk.cache.CacheInfo(folder, 0, 0)
    entry = kept(folder)
    kept(folder, OTHER)
    (folder / f"{OTHER}.code.{'0' * 16}.part").write_bytes(b"of a killed process")
    (folder / "mine.txt").write_text("not of this library")
    (folder / f"{'7' * 32}.code").mkdir()
    size = 2 * entry.stat().st_size
    assert fk.cache.info() == fk.cache.CacheInfo(folder, 2, size)
    assert str(fk.cache.info()) == f"2 compiled functions, 0.0 MB, in {folder}"
    assert fk.cache.clear() == 2
    assert sorted(path.name for path in folder.iterdir()) == [f"{'7' * 32}.code", "mine.txt"]
    kept(folder)


def test_without_a_home_there_is_no_place(folder, monkeypatch):
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", homeless)
    kept(folder)  # the key lies beside the code
    assert (folder / "key").is_file()
    monkeypatch.delenv("FORMULAKERN_CACHE_DIR")
    assert fk.cache.location() is None
    assert "no home folder" in fk.cache.info().problem
    cache.save(OTHER, CODE)
    assert cache.load(OTHER) is None
    assert not cache.is_stored(OTHER)
    assert fk.cache.clear() == 0


# -- damage ----------------------------------------------------------------------------------------


def test_damage_is_found_and_dropped(folder):
    """Cut short anywhere, with any bit changed, or longer."""
    random.seed(0)
    entry = kept(folder)
    whole = entry.read_bytes()
    cuts = {0, 1, len(cache.MAGIC), len(cache.MAGIC) + cache.MAC_BYTES, len(whole) - 1}
    for size in cuts | set(random.sample(range(len(whole)), 20)):
        entry.write_bytes(whole[:size])
        assert cache.load(DIGEST) is None
        assert not entry.exists()
    for bit in random.sample(range(8 * len(whole)), 100):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        entry.write_bytes(changed)
        assert cache.load(DIGEST) is None
        assert not entry.exists()
    entry.write_bytes(whole + b"\0")
    assert cache.load(DIGEST) is None
    entry.write_bytes(whole)
    assert cache.load(DIGEST) == CODE


def test_a_damaged_function_is_compiled_again(folder):
    called(n_read=0)
    (entry,) = folder.iterdir()
    whole = entry.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2]):
        entry.write_bytes(damaged)
        called(n_read=0)
        called(n_read=1)
        assert len(entry.read_bytes()) == len(whole)


def test_what_is_of_no_use_is_compiled_again(folder):
    """An entry of this library's own that cannot be unpickled, or holds something else."""
    called(n_read=0)
    (entry,) = folder.iterdir()
    for content in (b"no pickle", pickle.dumps(("too", "few"))):
        cache.save(entry.stem, content)
        called(n_read=0)
        called(n_read=1)


def test_a_huge_file_is_not_read_whole(folder, monkeypatch):
    entry = kept(folder)
    monkeypatch.setattr(cache, "LIMIT", entry.stat().st_size - 1)
    assert cache.load(DIGEST) is None
    cache.save(DIGEST, CODE)
    assert not entry.exists()


# -- what a stranger plants ------------------------------------------------------------------------


class Planted:
    """Unpickled, it makes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def test_nothing_planted_runs(folder, tmp_path, monkeypatch):
    mark = tmp_path / "mark"
    planted = pickle.dumps(Planted(mark))
    pickle.loads(planted)
    assert mark.exists()
    mark.unlink()
    called(n_read=0)
    (entry,) = folder.iterdir()
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("FORMULAKERN_CACHE_KEY", "a stranger's")
        cache.save(entry.stem, planted)
    signed = entry.read_bytes()
    mine = cache._signature(cache._key(folder), OTHER, planted)
    zeros = bytes(cache.MAC_BYTES)
    for content in (
        planted,
        signed,
        cache.MAGIC + zeros + planted,
        cache.MAGIC + mine + planted,  # of another name
        cache.MAGIC + planted,
    ):
        entry.write_bytes(content)
        called(n_read=0)
        assert not mark.exists()
    for name in ("nbi", "1.nbc", "py", "pyc"):
        for place in (folder, folder / "__pycache__", folder / entry.stem / "__pycache__"):
            place.mkdir(parents=True, exist_ok=True)
            (place / f"formulakern_plus_two.{name}").write_bytes(planted)
    called(n_read=1)
    assert not mark.exists()


def test_a_folder_that_brings_its_key_along_is_not_believed(folder, tmp_path, monkeypatch):
    """Such as one in an archive or a repository: its entries are signed by whoever made it."""
    stranger = tmp_path / "stranger"
    with monkeypatch.context() as there:
        there.setenv("HOME", "/dev/null")
        there.setenv("LOCALAPPDATA", os.devnull)
        there.setenv("FORMULAKERN_CACHE_DIR", str(stranger))
        kept(stranger)
        assert (stranger / "key").is_file()
    shutil.copytree(stranger, folder)
    folder.chmod(0o700)
    assert cache.load(DIGEST) is None
    kept(folder)


def test_a_secret_can_stand_for_the_key(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("FORMULAKERN_CACHE_KEY", "secret")
    kept(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "another"))
    assert cache.load(DIGEST) == CODE
    assert not list(tmp_path.rglob("key"))
    monkeypatch.setenv("FORMULAKERN_CACHE_KEY", "another")
    assert cache.load(DIGEST) is None


@pytest.mark.parametrize("damage", ["empty", "short", "long", "open", "a link"])
def test_a_bad_key_is_replaced(folder, tmp_path, damage):
    kept(folder)
    (key,) = tmp_path.rglob("key")
    good = key.read_bytes()
    if damage == "a link":
        key.rename(tmp_path / "moved")
        key.symlink_to(tmp_path / "moved")
    else:
        if damage == "open" and os.name != "posix":
            pytest.skip("there are no modes")
        key.write_bytes({"empty": b"", "short": good[:5], "long": good * 2, "open": good}[damage])
        key.chmod(0o644 if damage == "open" else 0o600)
    kept(folder, OTHER)
    assert cache.load(DIGEST) is None, "the old key is not used again"
    assert key.read_bytes() != good
    assert (len(key.read_bytes()), mode(key)) == (cache.KEY_BYTES, 0o600)


@posix
@pytest.mark.parametrize("kind", ["group writes", "all write", "link", "pipe", "stranger's"])
def test_files_that_are_not_ours_alone_are_refused_once(folder, tmp_path, kind):
    if kind == "stranger's" and os.geteuid() != 0:
        pytest.skip("only root may give files away")
    entry = kept(folder)
    if kind in ("link", "pipe"):
        entry.rename(tmp_path / "moved")
        entry.symlink_to(tmp_path / "moved") if kind == "link" else os.mkfifo(entry)
    elif kind == "stranger's":
        os.chown(entry, STRANGER, STRANGER)
    else:
        entry.chmod(0o620 if kind == "group writes" else 0o602)
    with pytest.warns(cache.CacheWarning, match=entry.name):
        assert cache.load(DIGEST) is None
    assert cache.load(DIGEST) is None  # without a second warning
    kept(folder)
    assert mode(entry) == 0o600


def open_folder(path: Path) -> None:
    path.chmod(0o777)


def given_away(path: Path) -> None:
    os.chown(path, STRANGER, STRANGER)


def linked(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to("real")
    os.lchown(path, STRANGER, STRANGER)


FOLDERS = [
    ("cache", open_folder),
    ("cache", lambda path: path.chmod(0o1777)),
    ("cache", lambda path: path.chmod(0o702)),
    ("", open_folder),
    pytest.param("cache", given_away, marks=root),
    pytest.param("", given_away, marks=root),
    pytest.param("cache", linked, marks=root),
]


@posix
@pytest.mark.parametrize(("which", "change"), FOLDERS)
def test_folders_that_are_not_ours_alone_are_refused_once(folder, tmp_path, which, change):
    """Neither read nor written; the code works all the same."""
    (tmp_path / "above").mkdir()
    os.environ["FORMULAKERN_CACHE_DIR"] = str(tmp_path / "above" / "cache")
    kept(tmp_path / "above" / "cache")
    change(tmp_path / "above" / which)
    before = sorted(tmp_path.rglob("*"))
    with pytest.warns(cache.CacheWarning, match="FORMULAKERN_CACHE_DIR") as said:
        assert cache.load(DIGEST) is None
    assert fk.cache.info().problem in str(said[0].message)
    cache.save(OTHER, CODE)  # without a second warning
    assert cache.load(DIGEST) is None
    assert not cache.is_stored(DIGEST)
    assert sorted(tmp_path.rglob("*")) == before


@posix
@root
def test_root_leaves_a_users_home_alone(folder, tmp_path):
    """As with ``sudo``: nothing of that user's is run by root, nothing of root's stays there."""
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, STRANGER, STRANGER)
    os.environ.pop("FORMULAKERN_CACHE_DIR")
    with pytest.warns(cache.CacheWarning, match="belongs to another user"):
        cache.save(DIGEST, CODE)
    assert list(home.iterdir()) == []


@posix
def test_usual_folders_are_used(folder, tmp_path):
    """Below a folder that all may write and nobody may rename in; by way of links of one's own."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    (tmp_path / "a").symlink_to("b/../tmp")
    (tmp_path / "b").symlink_to(tmp_path / "c")
    (tmp_path / "c").mkdir(mode=0o755)
    os.environ["FORMULAKERN_CACHE_DIR"] = str(tmp_path / "a" / "new" / "cache")
    kept(tmp_path / "tmp" / "new" / "cache")
    assert refusal(tmp_path / "a" / "new" / ".." / "new") == ""
    (tmp_path / "b").unlink()
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(OSError, match="link"):
        refusal(tmp_path / "a")
    with pytest.warns(cache.CacheWarning, match="cannot be written"):
        cache.save(OTHER, CODE)
    assert fk.cache.info().problem


@posix
def test_a_group_of_one_may_write(tmp_path, monkeypatch):
    import grp
    import pwd

    me, group = os.geteuid(), tmp_path.stat().st_gid
    users = [(0, 0), (me, group)]

    class User:
        def __init__(self, ids: tuple[int, int]) -> None:
            self.pw_uid, self.pw_gid = ids

    class Group:
        gr_mem: tuple[str, ...] = ()

    def named(name: str) -> User:
        return {"me": User((me, group)), "other": User((STRANGER, STRANGER))}[name]

    monkeypatch.setattr(pwd, "getpwall", lambda: list(map(User, users)))
    monkeypatch.setattr(pwd, "getpwnam", named)
    monkeypatch.setattr(grp, "getgrgid", lambda group: Group)
    tmp_path.chmod(0o770)
    assert refusal(tmp_path) == ""
    for members in (("other",), ("nobody knows",)):
        Group.gr_mem = members
        assert "may be written by other users (mode 0770)" in refusal(tmp_path)
    Group.gr_mem = ("me",)
    assert refusal(tmp_path) == ""
    monkeypatch.setattr(os, "listxattr", lambda path: ["system.posix_acl_access"], raising=False)
    assert refusal(tmp_path)
    monkeypatch.setattr(os, "listxattr", lambda path: [], raising=False)
    users.append((STRANGER, group))
    assert refusal(tmp_path)
    users.clear()
    Group.gr_mem = ()
    assert refusal(tmp_path)  # a group that is not listed may have anybody in it


# -- where nothing can be written ------------------------------------------------------------------


@posix
def test_a_full_disk_is_said_once_and_leaves_nothing(folder):
    """Here a limit on the size of files; the errors are those of a full disk."""
    import resource

    kept(folder, OTHER)
    (entry,) = folder.iterdir()
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, usual[1]))
    try:
        with pytest.warns(cache.CacheWarning, match="cannot be written"):
            called(n_read=0)
        called(n_read=0)  # without a second warning
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert list(folder.iterdir()) == [entry]
    called(n_read=0)
    called(n_read=1)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("failing", ["open", "replace", "mkdir"])
def test_whatever_fails_in_writing_costs_nothing_else(folder, monkeypatch, number, failing):
    def fail(*arguments: object, **options: object) -> None:
        raise OSError(number, os.strerror(number))

    if failing != "mkdir":
        kept(folder, OTHER)
    before = sorted(folder.parent.rglob("*"))
    with monkeypatch.context() as there:
        there.setattr(os, failing, fail)
        if number == errno.EROFS:
            cache.save(DIGEST, CODE)  # in silence
        else:
            with pytest.warns(cache.CacheWarning, match=os.strerror(number)):
                cache.save(DIGEST, CODE)
        assert cache.load(DIGEST) is None
    assert sorted(folder.parent.rglob("*")) == before
    kept(folder)


def test_a_file_in_place_of_the_folder_is_done_without(folder):
    folder.write_text("not a directory")
    called(n_read=0)
    assert folder.read_text() == "not a directory"
    assert "directory" in fk.cache.info().problem


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_only_be_read_is_read(folder):
    entry = kept(folder)
    folder.chmod(0o500)
    assert cache.load(DIGEST) == CODE
    assert cache.is_stored(DIGEST)
    assert fk.cache.info().problem == f"{folder} may not be written"
    entry.write_bytes(b"damaged")
    assert cache.load(DIGEST) is None
    cache.save(DIGEST, CODE)
    folder.chmod(0o000)
    assert cache.load(DIGEST) is None
    assert str(fk.cache.info()).endswith(f"; but {folder} may not be written")
    folder.chmod(0o700)


def test_parts_are_never_read_as_wholes(folder):
    """Many write and read one entry and the key at once; each finds all of it, or nothing."""
    wrong: list[object] = []

    def work(seed: int) -> None:
        for turn in range(30):
            cache.save(DIGEST, CODE)
            if (found := cache.load(DIGEST)) not in (None, CODE):
                wrong.append(found)
            if turn % 10 == seed:
                fk.cache.clear()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    kept(folder)
    assert [path.name for path in folder.iterdir()] == [f"{DIGEST}.code"]


# -- files -----------------------------------------------------------------------------------------


def test_files_are_written_whole(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_private(path, b"one")
    write_private(path, b"two", replace=False)
    assert (read_private(path, 2), read_private(path, 3)) == (b"", b"one")
    write_private(path, b"two")
    assert read_private(path, 100) == b"two"

    def refuse(*arguments: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)  # as on file systems that have no links
    write_private(path, b"three", replace=False)
    write_private(tmp_path / "new", b"new", replace=False)
    assert (path.read_bytes(), (tmp_path / "new").read_bytes()) == (b"two", b"new")
    with pytest.raises((RefusedError, PermissionError)):
        read_private(tmp_path, 1)


@posix
def test_nobody_of_a_sandbox_is_no_stranger(tmp_path, monkeypatch):
    """In a sandbox that knows one user, the folders of all others belong to a number of theirs."""
    texts = {"/proc/self/uid_map": "1000 0 1\n", "/proc/sys/kernel/overflowuid": "65534\n"}
    monkeypatch.setattr(Path, "read_text", lambda path, **_: texts[str(path)])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert private_files._is_ours(65534)
    assert not private_files._is_ours(STRANGER)
    texts["/proc/self/uid_map"] = "0 0 4294967295\n"
    assert not private_files._is_ours(65534)


# -- the command line ------------------------------------------------------------------------------


def test_the_command_line_tells_and_clears(folder, capsys):
    kept(folder)
    assert main(["cache"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"1 compiled function, 0.0 MB, in {folder}\n", "")
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr() == (f"{out}deleted\n", "")
    assert fk.cache.info().entries == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_output_that_cannot_be_written_is_said():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "formulakern", "cache"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        )
    assert done.stderr == "formulakern: no space left on device.\n"
    assert done.returncode == 1


def test_an_error_without_a_file_names_none(monkeypatch, capsys):
    def fail(options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("formulakern.cli.formulas._inspect", fail)
    assert main(["inspect", "a"]) == 1
    assert capsys.readouterr().err == "formulakern: no space left on device.\n"
