"""Machine code and its cache: processes, threads and workers agree, and none needs the cache."""

import contextlib
import hashlib
import importlib
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import types
from pathlib import Path

import numpy as np
import pytest

import formulakern as fk
from formulakern import compilation
from formulakern.backends.evaluation import loop_of
from formulakern.backends.loops import vectorized, whole
from formulakern.compilation import NOTICE, _linked, _processor, compiled
from formulakern.errors import FormulaKernError

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

CODE = """
import hashlib, numpy as np, formulakern as fk
from formulakern.compilation import CompiledFunction
CompiledFunction.pays = lambda loop, n_numbers: True
X = np.random.default_rng(0).integers(0, 2, (150, 70), dtype=np.uint8)
for backend in ("numba", "lookup"):
    K = fk.kernel("(a & ~b) | c", backend=backend)(X)
    print(hashlib.sha256(K.tobytes()).hexdigest())
"""


def start(directory: Path) -> subprocess.Popen:
    environment = {**os.environ, "FORMULAKERN_CACHE_DIR": str(directory)}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", CODE],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def expected() -> list[str]:
    X = np.random.default_rng(0).integers(0, 2, (150, 70), dtype=np.uint8)
    K = fk.kernel("(a & ~b) | c", backend="interpreter")(X)
    return [hashlib.sha256(K.tobytes()).hexdigest()] * 2


def check(processes: list[subprocess.Popen]) -> None:
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert out.split() == expected()
        assert not err.removeprefix(f"{NOTICE}\n")


def python(code: str, directory: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "FORMULAKERN_CACHE_DIR": str(directory)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )


def forked(code: str, directory: Path) -> tuple[str, str]:
    """Return the output of a fork of this process, which has numba and reads this cache."""
    if not hasattr(os, "fork"):
        done = python(code, directory)
        return done.stdout, done.stderr
    directory.mkdir(exist_ok=True)
    texts = [directory / "stdout", directory / "stderr"]

    def run() -> None:
        os.environ["FORMULAKERN_CACHE_DIR"] = str(directory)
        out, err = (path.open("w", buffering=1) for path in texts)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            exec(code, {"__name__": "__main__"})

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join()
    assert process.exitcode == 0, texts[1].read_text()
    return tuple(path.read_text() for path in texts)


def entries(directory: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in directory.rglob("*") if path.is_file()}


def test_processes_that_meet_an_empty_cache_agree_and_leave_it_warm(tmp_path):
    check([start(tmp_path) for _ in range(2)])
    before = entries(tmp_path)
    assert any(path.suffix == ".code" for path in before)
    assert not [path for path in before if path.suffix == ".part"]
    check([start(tmp_path)])
    assert entries(tmp_path) == before, "a second process compiled again"


HELPERS = """
from formulakern.compilation import compiled

TENTH = 10

@compiled()
def scaled(x):
    return inner(x) / TENTH

@compiled()
def inner(x):
    return 2 * x
"""
LOOPS = """
from formulakern.compilation import compiled
from helpers import scaled

FACTOR = 100

@compiled("float64(float64)")
def total(x):
    return FACTOR + scaled(x)

@compiled("float64(float64)")
def other(x):
    return FACTOR - scaled(x)
"""
CALL = """
import sys
from formulakern import compilation
compilation.NOTICE_SECONDS = {patience}
sys.dont_write_bytecode = True  # the files change within a second
sys.path.insert(0, {folder!r})
import loops
print(loops.total(5.0), loops.other(5.0))
"""


def call(folder: Path, patience: float = 1e6, helpers: str = HELPERS, loops: str = LOOPS):
    """Return the output of a process that runs these files, and the number of cached functions."""
    folder.mkdir(exist_ok=True)
    (folder / "helpers.py").write_text(helpers)
    (folder / "loops.py").write_text(loops)
    code = CALL.format(folder=str(folder), patience=patience)
    return *forked(code, folder / "cache"), len(list(folder.rglob("*.code")))


def test_it_is_known_what_is_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMULAKERN_CACHE_DIR", str(tmp_path))

    def new():
        return compiled("int64(int64)")(abs_plus_two)

    first = new()
    assert not new().stored
    assert first(-3) == 5
    assert new().stored


def abs_plus_two(number):
    return abs(number) + 2


def test_whatever_is_inlined_decides_what_is_read_from_the_cache(tmp_path):
    """A function in another file, two calls away; other lines and comments change nothing."""
    assert call(tmp_path) == ("101.0 99.0\n", "", 2)
    changed = HELPERS.replace("2 * x", "4 * x")
    assert call(tmp_path, helpers=changed) == ("102.0 98.0\n", "", 4)
    commented = "# more\n\n" + HELPERS, "# more\n\n" + LOOPS
    assert call(tmp_path, 0, *commented) == ("101.0 99.0\n", "", 4)


def test_a_digest_covers_constants_options_and_parts():
    def digest(helpers: str, loops: str, name: str = "total", **parts) -> str:
        modules = {}
        for file, text in (("helpers", helpers), ("loops", loops)):
            names = {"__name__": file}
            exec(text.replace("from helpers", "from test_helpers"), names)
            modules[file] = sys.modules[f"test_{file}"] = type(sys)(f"test_{file}")
            modules[file].__dict__.update(names)
        return _linked(getattr(modules["loops"], name).with_helpers(**parts), {})[1]

    first = digest(HELPERS, LOOPS)
    assert digest("\n\n" + HELPERS, "# a comment\n" + LOOPS) == first
    others = [
        digest(HELPERS, LOOPS, "other"),
        digest(HELPERS.replace("TENTH = 10", "TENTH = 10.0"), LOOPS),
        digest(HELPERS, LOOPS.replace("FACTOR = 100", "FACTOR = 50")),
        digest(HELPERS.replace("inner(x) /", "inner(x) //"), LOOPS),
        digest(HELPERS.replace("compiled()", "compiled(fastmath={'reassoc'})"), LOOPS),
        digest(HELPERS, LOOPS, inner=whole),
    ]
    assert len({first, *others}) == 7


@pytest.mark.parametrize(("name", "value"), [("OPT", 0), ("BOUNDSCHECK", 1), ("CPU_NAME", "core2")])
def test_settings_of_numba_decide_what_is_read(monkeypatch, name, value):
    """Slow code of a process that looks for an error is not read by all later ones."""
    config = importlib.import_module("numba").config
    usual = _processor.__wrapped__()
    assert _processor.__wrapped__() == usual
    monkeypatch.setattr(config, name, value)
    assert _processor.__wrapped__() != usual


def test_without_a_compiler_there_is_a_sentence(monkeypatch):
    monkeypatch.setattr(importlib.import_module("numba").config, "DISABLE_JIT", 1)
    with pytest.raises(FormulaKernError, match="NUMBA_DISABLE_JIT"):
        compiled("int64(int64)")(abs_plus_two)(1)


def test_a_long_compilation_is_announced_once_and_reading_the_cache_never(tmp_path):
    assert call(tmp_path, 0) == ("101.0 99.0\n", f"{NOTICE}\n", 2)
    assert call(tmp_path, 0) == ("101.0 99.0\n", "", 2)


def test_small_work_compiles_nothing(tmp_path):
    code = """
import sys, numpy as np, formulakern as fk
X = np.random.default_rng(0).integers(0, 2, (40, 20))
fk.kernel("(a & ~b) | c")(X), fk.boolean.tanimoto()(X), fk.boolean.all_subsets()(X)
assert "numba" not in sys.modules
"""
    python(code, tmp_path)
    assert not list(tmp_path.iterdir())


def test_equal_programs_share_their_code():
    one, other = (fk.kernel(text, backend="numba").source for text in ("a & ~b", "~y & x"))
    assert loop_of(one) is loop_of(other)
    assert loop_of(one) is not loop_of(fk.kernel("a | b").source)


def test_what_cannot_be_digested_is_refused():
    def outer(n: int):
        @compiled("int64(int64)")
        def inner(x):
            return x + n

        return inner

    with pytest.raises(TypeError, match="closure"):
        outer(1)(2)


def test_intrinsics_are_not_called_from_python():
    with pytest.raises(TypeError, match="compiled functions only"):
        vectorized()


def gram(seed: int) -> np.ndarray:
    X = np.random.default_rng(seed).integers(0, 2, (300, 70), dtype=np.uint8)
    return np.asarray(fk.kernel("(a & b) | (~a & c)", backend="numba")(X))


def test_threads_agree():
    found: dict[int, np.ndarray] = {}

    def work(seed: int) -> None:
        found[seed] = gram(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(8):
        assert np.array_equal(found[seed], gram(seed))


def test_joblib_workers_agree():
    joblib = pytest.importorskip("joblib")
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(gram)(seed) for seed in range(4))
    assert all(np.array_equal(K, gram(seed)) for seed, K in enumerate(found))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_agrees():
    here = gram(3)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for there in pool.map(gram, [3, 3]):
            assert np.array_equal(here, there)


INTERRUPTED = """
import os, signal
import formulakern.compilation as c

@c.compiled("int64(int64)")
def one_more(x):
    return x + 1

parsed = c._parsed

def interrupting(*arguments):  # in the midst of compiling
    for _ in range({times}):
        os.kill(os.getpid(), signal.SIGINT)
    return parsed(*arguments)

c._parsed = interrupting
try:
    one_more(1)
except KeyboardInterrupt:
    c._parsed = parsed
    print(bool(one_more._code), one_more(1), signal.getsignal(signal.SIGINT).__name__)
"""


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_waits_until_the_compiler_is_done(tmp_path, times):
    """The second one does not."""
    out, err = forked(INTERRUPTED.format(times=times), tmp_path)
    assert out == "False 2 default_int_handler\n", err
    cached = list(tmp_path.rglob("*.code"))
    assert len(cached) == 1


INTERRUPTED_IMPORT = """
import importlib.abc, signal, sys
import numpy as np
import formulakern.compilation as c

@c.compiled("float64(float64[::1])", "float64(float32[::1])")
def first(x):
    return x[0]

class Press(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "numba.core.datamodel":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Press())
try:
    first(np.ones(1))
except KeyboardInterrupt:
    print(first(np.ones(1)), first(np.ones(1, np.float32)))
"""


def test_an_interrupt_waits_until_the_compiler_is_imported(tmp_path):
    done = python(INTERRUPTED_IMPORT, tmp_path)
    assert done.stdout == "1.0 1.0\n", done.stderr


@pytest.mark.parametrize("symbol", ["NRT_Free", "no such symbol"])
def test_numba_is_prepared_to_compile_only_if_machine_code_needs_a_symbol(symbol, monkeypatch):
    gram(0)  # numba is there
    asked, dropped = [], []
    target = types.SimpleNamespace(refresh=lambda: asked.append(symbol))
    payload = pickle.dumps(([symbol], ()))
    monkeypatch.setattr(compilation.code_cache, "load", lambda digest: payload)
    monkeypatch.setattr(compilation.code_cache, "drop", dropped.append)
    entry = compilation._Entry("0")
    with entry.notice:
        assert entry.load_overload(None, target) is None  # it has no code
    assert dropped == ["0"]
    assert bool(asked) == (symbol != "NRT_Free")
