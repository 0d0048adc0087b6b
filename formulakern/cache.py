"""Machine code on disk: ``fk.cache.location()``, ``info()``, ``clear()``.

Each compiled function is one file, named by a digest of everything that its machine code depends
on.  The folder is ``$FORMULAKERN_CACHE_DIR``, or ``formulakern`` in the user's cache folder.  It
may be deleted at any time.

Reading an entry runs it, because an entry is a pickle around machine code.  Therefore only files
that no other user can have written are read:

* the folder is created with mode 0700, and entries with mode 0600;
* a folder or an entry is refused, with one :class:`CacheWarning`, if it is a link, belongs to
  another user, or is writable by others;
* an entry starts with a SHA-256 hash of its name and content.  A damaged entry, or one under
  another name, is deleted and compiled again;
* the folder has no index, nothing is imported from it, and at most 64 MB of a file are read.

Several processes may share one folder.  If the folder cannot be used, functions are compiled for
the current process alone; a read-only folder causes no warning.  Do not unpack another person's
files into the folder, because they then belong to this user.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CacheInfo", "CacheWarning", "clear", "info", "location"]

HASH_BYTES = 32
#: Longer machine code is neither written nor read.
MAX_BYTES = 1 << 26
ENTRY = re.compile(r"[0-9a-f]{32}\.code")
#: A file that a process leaves behind if it is killed while it writes an entry.
PARTIAL_ENTRY = re.compile(r"[0-9a-f]{32}\.code\..*\.part")
#: Errors on writing that cause no warning.
QUIET = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENOENT}


class CacheWarning(UserWarning):
    """Machine code on disk is not used or cannot be written; results are not affected."""


@dataclass(frozen=True)
class CacheInfo:
    """The content of the cache.

    Parameters
    ----------
    folder : Path or None
        The folder of :func:`location`, or None if there is no home folder.
    entries : int
        Number of compiled functions.
    size : int
        Their size in bytes.
    problem : str
        A clause that explains why the cache is not read or not written; empty if it is used.
    """

    folder: Path | None
    entries: int
    size: int
    problem: str = ""

    def __str__(self) -> str:
        ending = "" if self.entries == 1 else "s"
        what = f"{self.entries:,} compiled function{ending}, {self.size / 1e6:,.1f} MB"
        text = f"{what}, in {self.folder}" if self.folder else what
        return f"{text}; but {self.problem}" if self.problem else text


def location() -> Path | None:
    """Return the folder of the machine code, which may not exist yet.

    Returns
    -------
    Path or None
        None if there is no home folder.

    Examples
    --------
    >>> import formulakern as fk
    >>> fk.cache.location().is_absolute()
    True
    """
    if chosen := os.environ.get("FORMULAKERN_CACHE_DIR"):
        return Path(chosen).absolute()
    from platformdirs import user_cache_path

    folder = user_cache_path("formulakern", appauthor=False)
    return folder if folder.is_absolute() else None


def info() -> CacheInfo:
    """Return the size of the cache, and the problem that prevents its use, if any.

    Returns
    -------
    CacheInfo

    Examples
    --------
    >>> import formulakern as fk
    >>> fk.cache.info().entries >= 0
    True
    """
    folder = location()
    if folder is None:
        advice = "there is no home folder; name a folder in FORMULAKERN_CACHE_DIR"
        return CacheInfo(None, 0, 0, advice)
    sizes, nearest = [], _nearest(folder)
    problem = _folder_problem(folder)
    if not problem and not nearest.is_dir():
        problem = f"{nearest} is not a directory"
    if not problem and not os.access(nearest, os.W_OK | os.X_OK):
        problem = f"{nearest} may not be written"
    with contextlib.suppress(PermissionError):  # named in ``problem``
        for path in _files(folder, ENTRY):
            with contextlib.suppress(FileNotFoundError):
                sizes.append(path.lstat().st_size)
    return CacheInfo(folder, len(sizes), sum(sizes), problem)


def clear() -> int:
    """Delete all machine code from disk; functions that this process has loaded stay in memory.

    Returns
    -------
    int
        Number of compiled functions that were deleted.  Other files in the folder stay.

    Raises
    ------
    OSError
        If the folder is not writable.

    Examples
    --------
    >>> import os, tempfile, unittest.mock
    >>> import formulakern as fk
    >>> folder = tempfile.mkdtemp()
    >>> with unittest.mock.patch.dict(os.environ, FORMULAKERN_CACHE_DIR=folder):
    ...     fk.cache.clear()
    0
    """
    if (folder := location()) is None:
        return 0
    entries = _files(folder, ENTRY)
    for path in (*entries, *_files(folder, PARTIAL_ENTRY)):
        path.unlink(missing_ok=True)
    return len(entries)


# -- reading and writing for compilation -----------------------------------------------------------


def is_stored(digest: str) -> bool:
    """Return True if the folder holds machine code for a digest and may be read."""
    folder = location()
    return bool(folder and (folder / f"{digest}.code").exists() and not _problem(folder))


def load(digest: str) -> bytes | None:
    """Return the machine code for a digest, or None if there is none."""
    if (folder := location()) is None:
        return None
    path = folder / f"{digest}.code"
    try:
        if not os.path.lexists(path):
            return None
        if problem := _problem(folder) or _problem(path):
            _warn_once("refused", f"{problem}, so machine code is not read from it")
            return None
        flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(path, os.O_RDONLY | flags), "rb") as file:
            content = file.read(HASH_BYTES + MAX_BYTES)
    except OSError:
        return None
    payload = content[HASH_BYTES:]
    if content[:HASH_BYTES] == _hash(digest, payload):
        return payload
    drop(digest)
    return None


def drop(digest: str) -> None:
    """Delete the machine code for a digest, if possible."""
    if (folder := location()) is not None:
        with contextlib.suppress(OSError):
            (folder / f"{digest}.code").unlink()


def save(digest: str, payload: bytes) -> None:
    """Store machine code for a digest."""
    folder = location()
    if folder is None or len(payload) > MAX_BYTES:
        return
    try:
        problem = _folder_problem(folder)
        if not problem:
            for path in reversed((folder, *folder.parents)):
                if not path.exists():
                    path.mkdir(mode=0o700, exist_ok=True)
            problem = _problem(folder)
        if problem:
            _warn_once("refused", f"{problem}, so machine code is not kept in the cache")
            return
        file, part = tempfile.mkstemp(".part", f"{digest}.code.", folder)
        try:
            with open(file, "wb") as opened:
                opened.write(_hash(digest, payload) + payload)
            os.replace(part, folder / f"{digest}.code")
        finally:
            Path(part).unlink(missing_ok=True)
    except OSError as error:
        if error.errno not in QUIET:
            reason = f"the cache in {folder} cannot be written ({error.strerror or error})"
            _warn_once("failed", f"{reason}, so machine code is not kept")


def _hash(digest: str, payload: bytes) -> bytes:
    return hashlib.sha256(digest.encode() + b"\0" + payload).digest()


def _nearest(folder: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    return next(path for path in (folder, *folder.parents) if os.path.lexists(path))


def _folder_problem(folder: Path) -> str:
    """Return why a folder is not used or not created, as a clause; "" if nothing is wrong."""
    nearest = _nearest(folder)
    if nearest == folder:
        return _problem(folder)
    owner = nearest.stat().st_uid  # under sudo, root does not write into a user's home folder
    known = os.name != "posix" or owner in (0, os.geteuid())
    return "" if known else f"{nearest} belongs to another user (number {owner})"


def _problem(path: Path) -> str:
    """Return why another user may have written a path, as a clause; "" if nothing is wrong."""
    found = path.lstat()
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        return f"{path} is a link"
    if not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
        return f"{path} is neither a folder nor a file"
    if os.name == "posix" and found.st_uid != os.geteuid():
        return f"{path} belongs to another user (number {found.st_uid})"
    if os.name == "posix" and mode & 0o022:
        return f"{path} may be written by other users (mode {mode:04o})"
    return ""


def _files(folder: Path, names: re.Pattern[str]) -> list[Path]:
    if not folder.is_dir():
        return []
    return [
        path
        for path in folder.iterdir()
        if names.fullmatch(path.name) and (path.is_symlink() or not path.is_dir())
    ]


_warned: set[str] = set()


def _warn_once(kind: str, problem: str) -> None:
    if kind not in _warned:
        _warned.add(kind)
        warnings.warn(
            f"{problem}. Functions are compiled for this process only; results are the same. "
            "Correct this, or set FORMULAKERN_CACHE_DIR to a folder of your own.",
            CacheWarning,
            stacklevel=3,
        )
