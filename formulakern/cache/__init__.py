"""Machine code on disk: ``fk.cache.location()``, ``info()``, ``clear()``; who can plant none.

Compiling a loop takes seconds, reading it back takes milliseconds.  So what was compiled is kept,
one file for one function and one signature, named by a digest of all that it comes from (see
``formulakern.compilation``).  The folder is ``$FORMULAKERN_CACHE_DIR``, or
``formulakern`` in the user's cache folder.  All of it may be deleted at any time.

Whatever is read from there runs: it is machine code, and a pickle around it.  Therefore nothing is
unpickled before it is known to have been written by this library, for this user, for this source:

============================================  ====================================================
check                                         stops
============================================  ====================================================
folder of mode 0700, files of mode 0600       others who read, write or replace anything
owner and mode of the folder, of all above    a folder that a stranger made before us, replaced,
it, and of links on the way                   or leads elsewhere, and one that is open to all
owner, mode and kind of each file, looked at  files of a stranger, files that all may write, links,
once it is open, without following a link     pipes that would wait for ever, swaps between look
                                              and use
a message authentication code (HMAC-SHA-256)  files that came with an archive, a repository or a
over name and content, under a key that lies  backup; disks that know no owners (FAT, shares,
in the user's own cache folder with mode      Windows); an entry under another's name; damage of
0600; it is compared before anything is       every kind: a flipped bit, a file cut short or empty
unpickled
no index, no module beside the code           planted ``.nbi``, ``.nbc``, ``.py`` and ``.pyc``
no file of more than 64 MB is read            a huge file
============================================  ====================================================

What no check stops is someone who acts as this user or as root: they may change the library too.

A folder or file of a stranger is not read, and that is said once, as a :class:`CacheWarning`.  An
entry that is damaged, or was written under another key, is dropped and compiled again.  New files
appear whole or not at all, so processes may fill one folder together.  Where nothing can be
written, code is compiled for this process alone: in silence where the folder is read-only or there
is no home folder, with one warning where a write fails, as on a full disk.

The key is made when it is first needed.  It lies in the user's cache folder also when
``FORMULAKERN_CACHE_DIR`` names another one, so that such a folder brings no key along; it lies in
that folder only where the user's own cannot be used.  Where neither home nor key outlast a process
(containers, build services) but the folder of the cache does, set ``FORMULAKERN_CACHE_KEY`` to a
secret text: the key is then derived from that.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import os
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

from formulakern.cache.private_files import (
    RefusedError,
    make_folder,
    read_private,
    refusal,
    write_private,
)

__all__ = ["CacheInfo", "CacheWarning", "clear", "info", "location"]

#: How entries begin; the code that authenticates them follows, and then the content.
MAGIC = b"formulakern machine code 1\n"
MAC_BYTES = 32
#: No function's machine code takes as much.
LIMIT = 1 << 26
KEY_NAME, KEY_BYTES = "key", 32
#: What this library writes: entries, and what a killed process left of them.
ENTRY = re.compile(r"[0-9a-f]{32}\.code")
PART = re.compile(r"([0-9a-f]{32}\.code|key)\.[0-9a-f]{16}\.part")
#: Reasons why there is no writing here, of which nothing is said.
QUIET = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENOENT, errno.EEXIST}


class CacheWarning(UserWarning):
    """Machine code on disk is not used, or could not be written; results are not affected."""


@dataclass(frozen=True)
class CacheInfo:
    """What lies in the cache.

    Parameters
    ----------
    folder : Path or None
        See :func:`location`.
    entries : int
        Compiled functions.
    size : int
        Bytes that they take.
    problem : str
        Why the cache is not read or not written, a clause; empty where it is.
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
    """The folder of machine code, which may not exist yet.

    Returns
    -------
    Path or None
        ``$FORMULAKERN_CACHE_DIR``, or ``formulakern`` in the user's cache folder:
        ``$XDG_CACHE_HOME`` or ``~/.cache``, on macOS ``~/Library/Caches``, on Windows
        ``%LOCALAPPDATA%``.  None where there is no home folder.

    Examples
    --------
    >>> import formulakern as fk
    >>> fk.cache.location().is_absolute()
    True
    """
    chosen = os.environ.get("FORMULAKERN_CACHE_DIR")
    return Path(chosen).absolute() if chosen else _usual_location()


def info() -> CacheInfo:
    """How much lies in the cache, and whether it is used.

    Returns
    -------
    CacheInfo

    Examples
    --------
    >>> import formulakern as fk
    >>> fk.cache.info().entries >= 0
    True
    """
    folder, sizes = location(), []
    with contextlib.suppress(PermissionError):  # the problem says so
        for path in _written(folder, ENTRY):
            with contextlib.suppress(FileNotFoundError):
                sizes.append(path.lstat().st_size)
    problem = _problem(folder)
    if folder is not None and not problem:
        nearest = next(path for path in (folder, *folder.parents) if path.exists())
        if not os.access(nearest, os.W_OK | os.X_OK):
            problem = f"{nearest} may not be written"
    return CacheInfo(folder, len(sizes), sum(sizes), problem)


def clear() -> int:
    """Delete all machine code from disk; what this process has loaded stays in its memory.

    Returns
    -------
    int
        How many compiled functions were deleted.  Other files in the folder stay, and so does the
        key.

    Raises
    ------
    OSError
        Where the folder may not be changed.

    Examples
    --------
    >>> import os, tempfile, unittest.mock
    >>> import formulakern as fk
    >>> folder = tempfile.mkdtemp()
    >>> with unittest.mock.patch.dict(os.environ, FORMULAKERN_CACHE_DIR=folder):
    ...     fk.cache.clear()
    0
    """
    folder = location()
    for path in _written(folder, PART):
        path.unlink(missing_ok=True)
    entries = _written(folder, ENTRY)
    for path in entries:
        path.unlink(missing_ok=True)
    return len(entries)


# -- what compilation reads and writes -------------------------------------------------------------


def is_stored(digest: str) -> bool:
    """Whether there is machine code for this digest in a folder that may be read."""
    folder = location()
    if folder is None or not os.path.lexists(folder / f"{digest}.code"):
        return False
    return not _problem(folder)


def load(digest: str) -> bytes | None:
    """What was kept for this digest; None where there is nothing, or nothing that can be trusted.

    It says once, as a warning, that there is something of a stranger's.
    """
    folder = location()
    if folder is None:
        return None
    path = folder / f"{digest}.code"
    try:
        if not os.path.lexists(path):
            return None
        if reason := refusal(folder):
            _warn("refused", f"{reason}, so machine code is not read from the cache")
            return None
        content = read_private(path, LIMIT)
        key = _key(folder)
    except RefusedError as error:
        _warn("refused", f"{error}, so machine code is not read from it")
        return None
    except OSError:
        return None
    begin = len(MAGIC) + MAC_BYTES
    code, payload = content[len(MAGIC) : begin], content[begin:]
    if content.startswith(MAGIC) and hmac.compare_digest(code, _signature(key, digest, payload)):
        return payload
    drop(digest)
    return None


def drop(digest: str) -> None:
    """Delete what was kept for this digest, where that can be done."""
    if (folder := location()) is not None:
        with contextlib.suppress(OSError):
            (folder / f"{digest}.code").unlink()


def save(digest: str, payload: bytes) -> None:
    """Keep what was compiled for this digest, or say once, as a warning, why that fails."""
    folder = location()
    if folder is None or len(payload) > LIMIT - len(MAGIC) - MAC_BYTES:
        return
    try:
        if reason := _prepared(folder):
            _warn("refused", f"{reason}, so machine code is not kept in the cache")
            return
        code = _signature(_key(folder), digest, payload)
        write_private(folder / f"{digest}.code", MAGIC + code + payload)
    except OSError as error:
        if error.errno not in QUIET:
            reason = f"the cache in {folder} cannot be written ({error.strerror or error})"
            _warn("failed", f"{reason}, so machine code is not kept")


def _signature(key: bytes, digest: str, payload: bytes) -> bytes:
    return hmac.digest(key, MAGIC + digest.encode() + b"\0" + payload, "sha256")


def _prepared(folder: Path) -> str:
    """Make a folder, unless a stranger could change it; if so, why."""
    reason = refusal(folder)
    if not reason and not folder.is_dir():
        make_folder(folder)
        reason = refusal(folder)  # of those who were faster
    return reason


def _key(folder: Path) -> bytes:
    """The key of this user's entries: from the environment, or a file that is made if need be.

    It is in ``folder`` only where there is no private place of the user's own.
    """
    secret = os.environ.get("FORMULAKERN_CACHE_KEY")
    if secret:
        return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
    own = _usual_location()
    if own is not None and own != folder:
        try:
            if not _prepared(own):
                return _key_in(own)
        except OSError as error:
            if error.errno not in QUIET:
                raise
    return _key_in(folder)


def _key_in(folder: Path) -> bytes:
    path = folder / KEY_NAME
    for replace in (False, True, True):
        try:
            key = read_private(path, KEY_BYTES, hidden=0o077)
            if len(key) == KEY_BYTES:
                return key
        except (FileNotFoundError, RefusedError):
            pass
        write_private(path, os.urandom(KEY_BYTES), replace=replace)
    return read_private(path, KEY_BYTES, hidden=0o077)


def _usual_location() -> Path | None:
    try:
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "formulakern"
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "formulakern" / "cache"
        chosen = os.environ.get("XDG_CACHE_HOME")
        return (Path(chosen).absolute() if chosen else Path.home() / ".cache") / "formulakern"
    except RuntimeError:  # there is no home folder
        return None


def _written(folder: Path | None, names: re.Pattern[str]) -> list[Path]:
    if folder is None or not folder.is_dir():
        return []
    with os.scandir(folder) as found:
        return [
            Path(entry.path)
            for entry in found
            if names.fullmatch(entry.name) and not entry.is_dir(follow_symlinks=False)
        ]


def _problem(folder: Path | None) -> str:
    if folder is None:
        return "there is no home folder; name a folder in FORMULAKERN_CACHE_DIR"
    try:
        return refusal(folder)
    except OSError as error:
        return f"{folder} cannot be opened ({error.strerror})"


_said: set[str] = set()


def _warn(kind: str, problem: str) -> None:
    if kind not in _said:
        _said.add(kind)
        warnings.warn(
            f"{problem}. What is needed is compiled for this process; results are the same. "
            "Repair that, or name a folder of your own in FORMULAKERN_CACHE_DIR.",
            CacheWarning,
            stacklevel=3,
        )
