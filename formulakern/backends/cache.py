"""Emitted modules on disk, one directory per content, so that a second process starts warm.

The directory's name is a digest of the source, of the loops that it is compiled with, and of
everything else that decides the machine code: Python, numba, and the processor.  Each directory
holds one source file, written once and never changed, and numba's cache of the single function
compiled from it.  So a stale or foreign entry is never read, and two processes that meet a cold
cache can only write the same bytes under the same names (numba's own cache confuses overloads
when several processes fill one index; here an index has one entry).
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import platform
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from types import ModuleType

import llvmlite.binding
import numba

from formulakern.backends import loops

__all__ = ["cache_directory", "load"]

_loaded: dict[str, ModuleType] = {}
_lock = threading.Lock()


def cache_directory() -> Path:
    """Where emitted modules live: ``$FORMULAKERN_CACHE_DIR``, or the user's cache directory."""
    chosen = os.environ.get("FORMULAKERN_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "formulakern"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "formulakern" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "formulakern"


def load(source: str) -> ModuleType:
    """The module with this source, imported once per process and compiled once per machine.

    Parameters
    ----------
    source : str
        Emitted Python; it decides the digest, so equal programs share one module.

    Notes
    -----
    Where the cache directory cannot be written, the module lives in memory only.  Threads that
    ask for one module at once wait for the first.
    """
    with _lock:
        module = _loaded.get(source)
        if module is None:
            module = _loaded[source] = _import(_digest(source), source)
        return module


def _digest(source: str) -> str:
    return hashlib.sha256(f"{source}\0{_machine()}".encode()).hexdigest()[:32]


@cache
def _machine() -> str:
    """Everything beside the source that decides the machine code; the same for a whole process."""
    parts = (
        Path(loops.__file__).read_text(encoding="utf-8"),
        sys.version,
        numba.__version__,
        platform.machine(),
        llvmlite.binding.get_host_cpu_name(),
        llvmlite.binding.get_host_cpu_features().flatten(),
        os.environ.get("NUMBA_CPU_NAME", ""),
        os.environ.get("NUMBA_CPU_FEATURES", ""),
    )
    return "\0".join(parts)


def _import(digest: str, source: str) -> ModuleType:
    name = f"formulakern_emitted_{digest}"
    path = _write(cache_directory() / digest / f"{name}.py", source)
    if path is None:
        module = ModuleType(name)
        uncached = source.replace("cache=True", "cache=False")
        exec(compile(uncached, f"<{name}>", "exec"), module.__dict__)  # our own emitted text
        return module
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba looks a function's module up by name
    spec.loader.exec_module(module)
    return module


def _write(path: Path, source: str) -> Path | None:
    """Write once, completely or not at all; None where the place cannot be written."""
    try:
        if path.exists():
            return path if path.read_text(encoding="utf-8") == source else None
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(source)
        try:
            # A link fails if the file is there, so the first writer's file keeps its time stamp,
            # by which numba tells whether its cache is fresh.
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError:
            os.replace(temporary, path)
            return path
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
    except OSError:
        return None
    return path
