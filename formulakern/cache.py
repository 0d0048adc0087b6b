"""Machine code on disk: ``fk.cache.location()``, ``info()``, ``clear()``.

Each compiled function is one file, named by a digest of everything that its machine code depends
on.  The folder is ``$FORMULAKERN_CACHE_DIR``, or ``formulakern`` in the user's cache folder.  It
may be deleted at any time.

An entry is a pickle around machine code: reading it runs it.  Therefore only files that nobody but
this user can have written are read:

* the folder is created with mode 0700, and entries with mode 0600;
* a folder or an entry is refused, with one :class:`CacheWarning`, if it is a link, belongs to
  another user, or may be written by others;
* an entry starts with a SHA-256 hash of its name and content.  A damaged entry, or one under
  another name, is deleted and compiled again;
* there is no index, nothing is imported from the folder, and at most 64 MB of a file are read.

Processes may fill one folder together.  If it cannot be used, functions are compiled for the
current process alone; a read-only folder causes no warning.  Do not unpack somebody else's files
into the folder: they become files of this user.
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
#: What a process leaves behind if it is killed while it writes an entry.
PART = re.compile(r"[0-9a-f]{32}\.code\..*\.part")
#: Reasons for not writing that cause no warning.
QUIET = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENOENT}


class CacheWarning(UserWarning):
    """Machine code on disk is not used, or could not be written; results are not affected."""


@dataclass(frozen=True)
class CacheInfo:
    """The content of the cache.

    Parameters
    ----------
    folder : Path or None
        See :func:`location`.
    entries : int
        Number of compiled functions.
    size : int
        Their size in bytes.
    problem : str
        Why the cache is not read or not written, a clause; empty if it is used.
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
    """Return the folder of machine code, which may not exist yet.

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
    """Return how much is in the cache, and whether it is used.

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
    with contextlib.suppress(PermissionError):  # the problem says so
        for path in _files(folder, ENTRY):
            with contextlib.suppress(FileNotFoundError):
                sizes.append(path.lstat().st_size)
    return CacheInfo(folder, len(sizes), sum(sizes), problem)


def clear() -> int:
    """Delete all machine code from disk; loaded functions stay in the memory of this process.

    Returns
    -------
    int
        Number of compiled functions that were deleted.  Other files in the folder stay.

    Raises
    ------
    OSError
        If the folder may not be changed.

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
    for path in (*entries, *_files(folder, PART)):
        path.unlink(missing_ok=True)
    return len(entries)


# -- what compilation reads and writes -------------------------------------------------------------


def is_stored(digest: str) -> bool:
    """Return whether there is machine code for a digest in a folder that may be read."""
    folder = location()
    return bool(folder and (folder / f"{digest}.code").exists() and not _problem(folder))


def load(digest: str) -> bytes | None:
    """Return the machine code for a digest, or None."""
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
    """Return the folder, or the first of those above it that exists."""
    return next(path for path in (folder, *folder.parents) if os.path.lexists(path))


def _folder_problem(folder: Path) -> str:
    """Return why a folder is not used, or why it is not created: a clause, or an empty string."""
    nearest = _nearest(folder)
    if nearest == folder:
        return _problem(folder)
    owner = nearest.stat().st_uid  # with sudo, root leaves the home folder of a user alone
    known = os.name != "posix" or owner in (0, os.geteuid())
    return "" if known else f"{nearest} belongs to another user (number {owner})"


def _problem(path: Path) -> str:
    """Return why another user may have written a folder or file: a clause, or an empty string."""
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
            f"{problem}. Functions are compiled for this process; results are the same. "
            "Repair that, or name a folder of your own in FORMULAKERN_CACHE_DIR.",
            CacheWarning,
            stacklevel=3,
        )
