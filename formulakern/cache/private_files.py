"""Files of this user alone: what a stranger owns, may write or may put in their place is told.

The rules are those of OpenSSH's ``StrictModes``, on the whole way from the root to the folder:

* a folder or link on the way belongs to this user or to root, and nobody else may write it.  A
  folder with the sticky bit, such as ``/tmp``, may be written by all, since nobody can rename there
  what another user owns;
* the last folder belongs to this user, and nobody else may write it, sticky or not;
* a group may write if it has no other members than this user and root, as groups of one user have
  (Debian's OpenSSH has the same rule);
* links are followed here, one by one, so that each is looked at;
* a file is opened without following a link and without waiting for a pipe, and its owner and mode
  are those of what was opened.

Where a folder passes, no stranger can change what its path leads to, so nothing can be swapped
between the look and the use.  On Windows nothing is looked at: folders in the user's profile are
private there by its own rules.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

__all__ = ["RefusedError", "make_folder", "read_private", "refusal", "write_private"]

#: More links than this on one way are taken for a circle, as by Linux.
MAX_LINKS = 40


class RefusedError(OSError):
    """A file that a stranger owns or may write, or that is no plain file."""


def refusal(folder: Path) -> str:
    """Why a folder, whether it is there or not, is no private one: a clause, or nothing.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    str
        Such as ``"/srv/all may be written by other users (mode 0777)"``; empty where all is well.

    Raises
    ------
    OSError
        Where the way cannot be looked at.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as name:
    ...     print(refusal(Path(name)) or "private")
    private
    """
    if os.name != "posix":
        return ""
    whole = folder.absolute()
    here, pending, links = Path(whole.root), list(reversed(whole.parts[1:])), 0
    while True:
        try:
            found = os.lstat(here)
        except FileNotFoundError:  # and what is below is not there either
            return ""
        if stat.S_ISLNK(found.st_mode):
            links += 1
            if links > MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))
            if not _is_ours(found.st_uid):
                return f"the link {here} belongs to {_named(found.st_uid)}"
            pending.extend(reversed(Path(os.readlink(here)).parts))
            here = here.parent
        elif reason := _folder_refusal(here, found, last=not pending):
            return reason
        if not pending:
            return ""
        step = pending.pop()
        here = here.parent if step == ".." else here / step


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for this user alone (mode 0700)."""
    if not folder.is_dir():
        if folder.parent != folder:
            make_folder(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)


def read_private(path: Path, limit: int, hidden: int = 0o022) -> bytes:
    """The bytes of a plain file that is this user's; none where it is longer than a limit.

    Parameters
    ----------
    path : Path
        In a folder that :func:`refusal` has nothing against.
    limit : int
        A longer file is not read at all.
    hidden : int
        The permissions that nobody else may have: to write, or also to read (0o077).

    Raises
    ------
    RefusedError
        Where the file is not this user's alone.
    OSError
        Where it cannot be opened or read.
    """
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK) and path.is_symlink():
            raise RefusedError(f"{path} is a link") from None
        if error.errno == errno.ENXIO:
            raise RefusedError(f"{path} is no plain file") from None
        raise
    with contextlib.ExitStack() as opened:
        opened.callback(os.close, descriptor)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise RefusedError(f"{path} is no plain file")
        if os.name == "posix":
            if found.st_uid != os.geteuid():
                raise RefusedError(f"{path} belongs to {_named(found.st_uid)}")
            if found.st_mode & hidden:
                mode = stat.S_IMODE(found.st_mode)
                raise RefusedError(f"{path} is open to other users (mode {mode:04o})")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(limit) if found.st_size <= limit else b""


def write_private(path: Path, data: bytes, *, replace: bool = True) -> None:
    """Write a file for this user alone (mode 0600): all of it appears at once, or nothing does.

    Parameters
    ----------
    path : Path
    data : bytes
    replace : bool
        Whether a file that is there is replaced; otherwise it stays as it is.

    Raises
    ------
    OSError
        Where it cannot be written, such as on a full disk; then nothing is left behind.
    """
    part = path.with_name(f"{path.name}.{os.urandom(8).hex()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    try:
        with open(os.open(part, flags, 0o600), "wb", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
        if replace:
            os.replace(part, path)
        else:
            with contextlib.suppress(FileExistsError):
                _linked(part, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()


def _linked(part: Path, path: Path) -> None:
    """Give a file its name, unless that is taken."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if path.exists():
            raise FileExistsError from None
        os.replace(part, path)


def _folder_refusal(folder: Path, found: os.stat_result, *, last: bool) -> str:
    if last and not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if found.st_uid != os.geteuid() if last else not _is_ours(found.st_uid):
        return f"{folder} belongs to {_named(found.st_uid)}"
    mode = stat.S_IMODE(found.st_mode)
    if mode & stat.S_ISVTX and not last:
        return ""
    if mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_of_one(folder, found.st_gid)):
        return f"{folder} may be written by other users (mode {mode:04o})"
    return ""


def _is_ours(user: int) -> bool:
    """Whether a folder on the way may be this user's: ours, root's, or that of nobody in here.

    In a sandbox that knows few users all others look like one: no stranger can act as it.
    """
    if user in (0, os.geteuid()):
        return True
    try:
        lines = Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()
        known = [tuple(map(int, line.split())) for line in lines]
        unknown = int(Path("/proc/sys/kernel/overflowuid").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return False
    return user == unknown and not any(first <= user < first + n for first, _, n in known)


def _is_of_one(folder: Path, group: int) -> bool:
    """Whether this user and root alone are members of a group, and nobody else is let in."""
    import grp
    import pwd

    try:
        if "system.posix_acl_access" in os.listxattr(folder):
            return False
    except (AttributeError, OSError):  # there are no such lists here
        pass
    try:
        members = {entry.pw_uid for entry in pwd.getpwall() if entry.pw_gid == group}
        members |= {pwd.getpwnam(name).pw_uid for name in grp.getgrgid(group).gr_mem}
    except KeyError:  # a member whom nobody knows
        return False
    return bool(members) and members <= {0, os.geteuid()}


def _named(user: int) -> str:
    import pwd

    try:
        return f"another user ({pwd.getpwuid(user).pw_name})"
    except KeyError:
        return f"another user (number {user})"
