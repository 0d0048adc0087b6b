"""Compilation of Python functions to machine code.

Loops are plain functions in modules that linters and type checkers read.  ``@compiled(signature)``
makes a function that Python calls; ``@compiled()`` makes a helper for other compiled functions.
Nothing is compiled, and numba is not imported, before the first call.

:mod:`formulakern.cache` keeps machine code on disk, one file for each content.  The file name is a
digest of everything that the code depends on: the bytecode and constants of the function and of
every function that it calls; the signature and the options; the versions of Python, numba and LLVM;
the processor.  A stale entry is therefore never read, and processes that start with an empty cache
write the same content under the same name.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import pickle
import platform
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial, update_wrapper
from types import CodeType, FunctionType, ModuleType
from typing import Any, Generic, ParamSpec, TypeVar, get_type_hints

import numpy as np

from formulakern import cache as code_cache
from formulakern.deadline import Deadline
from formulakern.errors import FormulaKernError
from formulakern.interrupts import held

#: Printed once per process on standard error, after NOTICE_SECONDS seconds of compiling in all.
NOTICE = "formulakern: compiling once, a few seconds …"
NOTICE_SECONDS = 2.0
#: NumPy computes this many numbers in milliseconds, faster than machine code is loaded.
MAX_NUMPY_NUMBERS = 1 << 21
#: Seconds to read machine code from disk, without and with the import of numba.
READ_SECONDS, IMPORT_SECONDS = 0.012, 0.4

#: The number of the format of files on disk.
FORMAT = 2
#: Settings of numba that change machine code.
SETTINGS = (
    *("CPU_NAME", "CPU_FEATURES", "ENABLE_AVX", "USING_SVML"),
    *("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE"),
    *("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS"),
)

P = ParamSpec("P")
R = TypeVar("R")


def compiled(
    *signatures: str, state: type | None = None, **options: Any
) -> Callable[[Callable[P, R]], CompiledFunction[P, R]]:
    """Return a decorator that compiles a function; its code runs without the interpreter's lock.

    >>> @compiled("float64(float64)")
    ... def double(x):
    ...     return x + x
    >>> double(1)
    2.0
    """
    return lambda function: CompiledFunction(function, signatures, options, state)


def compiled_text(source: str, name: str, **names: object) -> CompiledFunction[..., Any]:
    """Return a helper from source text, which may use ``names`` and Python's own functions.

    >>> compiled_text("def twice(x): return factor * x", "twice", factor=2)(3)
    6
    """
    namespace: dict[str, Any] = {"__name__": __name__, **names}
    exec(compile(source, "<emitted by formulakern>", "exec"), namespace)
    return CompiledFunction(namespace[name], (), {"forceinline": True})


@dataclass(eq=False)
class CompiledFunction(Generic[P, R]):
    """A function that is compiled, or loaded from disk, at its first call."""

    function: Callable[P, R]
    signatures: Sequence[str]
    options: Mapping[str, Any]
    state: type | None = None
    parts: Mapping[str, CompiledFunction[..., Any]] = field(default_factory=dict)
    _code: dict[str, Callable[P, R]] = field(default_factory=dict, init=False)
    #: Numbers computed in another way before the function was compiled, about 1 ns each.
    numbers_requested: float = field(default=0.0, init=False)
    _maker: threading.Thread | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        update_wrapper(self, self.function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the machine code."""
        signature = self.signatures[0] if self.signatures else ""
        if len(self.signatures) > 1:
            first: Any = args[0]
            signature = self._by_dtype.get(first.dtype, signature)
        return (self._code.get(signature) or self._compile(signature))(*args, **kwargs)

    def _compile(self, signature: str) -> Callable[P, R]:
        with _lock:
            code = self._code.get(signature) or _machine_code(self, signature)
            self._code[signature] = code
        return code

    @cached_property
    def address(self) -> int:
        """The address of the machine code, which takes and returns numbers as a C function does."""
        signature = self.signatures[0]
        made: Any = self._code.get(signature) or self._compile(signature)
        (found,) = made.overloads.values()
        name = found.fndesc.llvm_cfunc_wrapper_name
        return int(found.library.get_pointer_to_function(name))

    @property
    def is_compiled(self) -> bool:
        """True if the machine code is in this process already."""
        return bool(self._code)

    def ready(self, deadline: Deadline, *, wait: bool = True) -> bool:
        """Return True if the machine code is loaded, waiting for it until the deadline if ``wait``.

        Under a time limit a thread loads or compiles it, unless too little time is left to begin.
        The thread continues after the deadline; a program that ends then waits for it.
        """
        if self.is_compiled or not deadline.limited:
            return True
        moment = READ_SECONDS if "numba" in sys.modules else IMPORT_SECONDS
        if self._maker is None and not deadline.over(moment):
            self._maker = threading.Thread(target=self._compile, args=(self.signatures[0],))
            self._maker.start()
        if self._maker is not None and wait:
            self._maker.join(deadline.left())
            # if it failed, this raises the error
            if not self._maker.is_alive() and not self.is_compiled:
                self._compile(self.signatures[0])
        return self.is_compiled

    @cached_property
    def stored(self) -> bool:
        """True if the machine code is on disk at the first access, which imports numba."""
        return code_cache.is_stored(_place(self, _linked(self, {})[1], self.signatures[0]))

    def with_helpers(self, **parts: CompiledFunction[..., Any]) -> CompiledFunction[P, R]:
        """Return the function with other functions under these names, in itself and its helpers."""
        return replace(self, parts={**self.parts, **parts})

    def pays(self, n_numbers: int) -> bool:
        """Return True if machine code is faster than NumPy for all numbers requested so far."""
        self.numbers_requested += n_numbers
        return self.is_compiled or self.numbers_requested > MAX_NUMPY_NUMBERS

    @cached_property
    def _by_dtype(self) -> dict[Any, str]:
        types = {text: _parsed(text, self.state).args[0] for text in self.signatures}
        return {np.dtype(str(kind.dtype)): text for text, kind in types.items()}


def intrinsic(function: Callable[..., Any]) -> Intrinsic:
    """Decorate a function that writes LLVM code, as ``numba.extending.intrinsic`` does."""
    return Intrinsic(function)


class Intrinsic:
    """A function that writes LLVM code, registered with numba at its first use."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        update_wrapper(self, function)

    def __call__(self, *_: Any) -> Any:
        """Raise TypeError; only compiled functions call an intrinsic."""
        raise TypeError(f"{self.function.__name__} can be called by compiled functions only.")

    @cached_property
    def registered(self) -> Any:
        """The numba intrinsic of this function."""
        from numba.extending import intrinsic

        return intrinsic(self.function)


# -- compiling -----------------------------------------------------------------------------------

_lock = threading.RLock()
_helpers: dict[str, Any] = {}
#: Seconds that this process has spent compiling.
_seconds = 0.0


# Interrupts are held while these functions import numba or compile: one inside a callback of LLVM
# is lost, one during the creation of a class becomes a RuntimeError, one during an import leaves
# half a module, and others can leave numba's lock held.


@held()
def _machine_code(loop: CompiledFunction[P, R], signature: str) -> Callable[P, R]:
    """Compile a function, or read its machine code."""
    from numba import config, njit

    if config.DISABLE_JIT:
        raise FormulaKernError(
            "numba's compiler is disabled (NUMBA_DISABLE_JIT), but formulakern needs it. Unset "
            "that variable."
        )
    function, content = _linked(loop, {})
    made: Any = njit(nogil=True, **loop.options)(function)
    if signature:  # else a helper, called from Python
        made._cache = _Entry(_place(loop, content, signature))
        with made._cache.notice, _no_collection():
            made.compile(_parsed(signature, loop.state))
        made.disable_compile()
    return made  # type: ignore[no-any-return]


def _place(loop: CompiledFunction[..., Any], content: str, signature: str) -> str:
    """Return the name on disk of the machine code of a function with digest ``content``."""
    return _hash(content, signature, _text(_fields(loop.state)), _processor())


@dataclass
class _Entry:
    """The cache entry of a function, for numba; its own ``FunctionCache`` unpickles any file."""

    digest: str
    #: numba's name for the cache folder.
    cache_path: str | None = None
    #: Entered if there is nothing to load, and left when numba has compiled.
    notice: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def load_overload(self, _signature: Any, target: Any) -> Any:
        """Return the compiled function from disk, or None.

        ``refresh`` imports what numba needs to compile, in a third of a second.  Machine code needs
        it only for symbols that are not there without it.
        """
        import llvmlite.binding as llvm
        from numba.core.compiler import CompileResult
        from numba.core.runtime import rtsys

        if (payload := code_cache.load(self.digest)) is not None:
            rtsys.initialize(target)
            try:
                symbols, parts = pickle.loads(payload)
                if not all(map(llvm.address_of_symbol, symbols)):
                    target.refresh()
                return CompileResult._rebuild(target, *parts)
            except Exception:  # unusable, so it is compiled again
                code_cache.drop(self.digest)
        self.notice.enter_context(_announced())
        return None

    def save_overload(self, _signature: Any, result: Any) -> None:
        """Store the compiled function, unless it refers to objects of this process."""
        from numba.core.serialize import dumps

        if not result.lifted and not result.library.has_dynamic_globals:
            module = result.library._final_module
            names = [
                one.name
                for one in (*module.functions, *module.global_variables)
                if one.is_declaration and not one.name.startswith("llvm.")
            ]
            code_cache.save(self.digest, dumps((names, result._reduce())))


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Do not collect garbage: numba makes millions of objects, and most of them are used again."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@cache
def _announce() -> None:
    """Print the notice once."""
    print(NOTICE, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _announced() -> Iterator[None]:
    """Print the notice if compiling takes more than ``NOTICE_SECONDS`` seconds in all."""
    global _seconds  # noqa: PLW0603
    begin = time.monotonic()
    timer = threading.Timer(max(NOTICE_SECONDS - _seconds, 0.0), _announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        _seconds += time.monotonic() - begin
        if _seconds > NOTICE_SECONDS:
            _announce()


@held()
def _parsed(signature: str, state: type | None = None) -> Any:
    """Return numba's type of a signature."""
    from numba import types

    names = dict(vars(types))
    if state is not None:
        members = _parsed(f"void({', '.join(_fields(state).values())})").args
        names["state"] = types.NamedTuple(members, state)
    return eval(signature, {}, names)  # as numba reads signatures; all are in our own modules


def _fields(state: type | None) -> dict[str, str]:
    """Return the type of every field of a ``NamedTuple``, in numba's notation."""
    hints = get_type_hints(state, include_extras=True) if state is not None else {}
    return {name: hint.__metadata__[0] for name, hint in hints.items()}


def _linked(
    loop: CompiledFunction[..., Any], parts: Mapping[str, CompiledFunction[..., Any]]
) -> tuple[FunctionType, str]:
    """Return a copy of the function that refers to numba's objects, and a digest of all it uses."""
    function: Any = loop.function
    digest, known = _digested(function, {**loop.parts, **parts}, loop.options)
    # two processes may give functions of one name equal numbers: the digest separates their symbols
    code = function.__code__.replace(co_firstlineno=1, co_filename="<formulakern>")
    copy = FunctionType(code, {**function.__globals__, **known}, function.__name__)
    copy.__qualname__ = f"{function.__name__}_{digest[:16]}"
    copy.__defaults__ = function.__defaults__
    return copy, digest


@held()
def _digested(
    function: Any, parts: Mapping[str, CompiledFunction[..., Any]], options: object = None
) -> tuple[str, dict[str, Any]]:
    """Return a digest of a function and all that it uses, and numba's objects by their names."""
    if function.__closure__:
        raise TypeError(f"{function.__name__} has a closure; compiled functions name globals only.")
    code = function.__code__
    texts = [_text(code), _text(function.__defaults__), _text(options)]
    known: dict[str, Any] = {}
    for name in sorted(_names(code)):
        value = parts.get(name) or function.__globals__.get(name, _names)
        if isinstance(value, CompiledFunction):
            from numba import njit

            helper, digest = _linked(value, parts)
            if digest not in _helpers:
                short = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
                made = njit(nogil=True, **short, **value.options)(helper)
                made.get_call_template = partial(_call_template, type(made).get_call_template, made)
                _helpers[digest] = made
            known[name] = _helpers[digest]
            texts.append(digest)
        elif isinstance(value, Intrinsic):
            known[name] = value.registered
            texts.append(_digested(value.function, {})[0])
        elif value is not _names:  # else an attribute, or one of Python's own functions
            texts.append(f"{name} {_text(value)}")
    return _hash(*texts), known


def _call_template(usual: Any, helper: Any, args: Any, kws: Any) -> Any:
    """Return numba's template for a call of a helper, with literals as their types."""
    from numba.types import unliteral

    return usual(helper, tuple(map(unliteral, args)), {k: unliteral(v) for k, v in kws.items()})


def _names(code: CodeType) -> set[str]:
    """Return the names that code uses, with attributes and the names of inner functions."""
    inside = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inside)


def _text(value: Any) -> str:
    """Return a text of all properties of a constant that affect machine code, for every process."""
    match value:
        case CodeType():
            parts = (value.co_code, value.co_varnames, value.co_names, value.co_consts)
            return f"code({_text(parts)})"
        case tuple() | list():
            return f"({','.join(map(_text, value))})"
        case set() | frozenset():
            return f"{{{','.join(sorted(map(_text, value)))}}}"
        case dict():
            return _text(tuple(value.items()))
        case ModuleType():
            return f"module {value.__name__}"
        case FunctionType():
            return _digested(value, {})[0]
    if hasattr(value, "py_func"):  # compiled by numba itself
        return _text((value.py_func, value.targetoptions))
    if isinstance(getattr(value, "__wrapped__", None), FunctionType):  # numba's own intrinsic
        return _text(value.__wrapped__)
    if isinstance(value, type) or callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', repr(value))}"
    return repr(value)


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]


@cache
@held()
def _processor() -> str:
    """Return a text of the versions, the processor and the settings that affect machine code."""
    import llvmlite.binding as llvm
    import numba
    import numpy

    versions = (FORMAT, sys.version, numba.__version__, llvm.llvm_version_info, numpy.__version__)
    here = (platform.machine(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    settings = (str(getattr(numba.config, name, None)) for name in SETTINGS)
    return _text((*versions, *here, *settings))
