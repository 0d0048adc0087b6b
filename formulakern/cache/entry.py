"""One function's machine code on disk, as numba asks for it."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

from formulakern import cache

__all__ = ["Entry"]


@dataclass
class Entry:
    """What numba asks for machine code before it compiles, and tells when it has compiled.

    It stands for ``numba.core.caching.FunctionCache``, which unpickles whatever it finds.
    """

    digest: str
    #: numba's own name for a folder; it has none here.
    cache_path: str | None = None

    def load_overload(self, _signature: Any, target: Any) -> Any:
        """What was compiled before, or None."""
        from numba.core.compiler import CompileResult

        payload = cache.load(self.digest)
        if payload is None:
            return None
        target.refresh()
        try:
            return CompileResult._rebuild(target, *pickle.loads(payload))
        except Exception:  # ours, but of no use here: compiled again
            cache.drop(self.digest)
            return None

    def save_overload(self, _signature: Any, result: Any) -> None:
        """Keep what was compiled, unless it names things of this process alone."""
        from numba.core.serialize import dumps

        if not result.lifted and not result.library.has_dynamic_globals:
            cache.save(self.digest, dumps(result._reduce()))
