"""Files that are replaced only when they are complete."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a new file, which replaces ``path`` if the block ends without an error.

    After an error, the old file is unchanged and the new one is deleted.  A symbolic link stays;
    its target is replaced, and keeps its permissions.  A device or pipe is written directly.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.txt")) as new:
    ...         _ = new.write_text("complete")
    ...     Path(folder, "a.txt").read_text(), [file.name for file in Path(folder).iterdir()]
    ('complete', ['a.txt'])
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        yield target
        return
    target = Path(os.path.realpath(target))
    new = target.with_name(f".{os.urandom(8).hex()}.part")
    try:
        yield new
        if target.exists():
            shutil.copymode(target, new)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)
