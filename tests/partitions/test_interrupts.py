"""Ctrl-C in a fit on a cluster: the best so far, a usable model, and workers that live on."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import formulakern as fk

pytest.importorskip("distributed", reason="distributed is not installed")
pytest.importorskip("dask.dataframe", reason="dask's data frames are not installed")
pty = pytest.importorskip("pty", reason="terminals are those of POSIX")

SCRIPT = Path(__file__).with_name("interrupted_fits.py")
#: Log nothing of connections that close, with tracebacks, while a cluster ends.
QUIET = {f"DASK_LOGGING__{name}": "critical" for name in ("DISTRIBUTED", "TORNADO", "ASYNCIO")}


class Terminal:
    """A program in a terminal of its own, and its output."""

    def __init__(self, *arguments):
        self.ours, theirs = pty.openpty()
        self.program = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env=os.environ | QUIET | {"COLUMNS": "100", "TERM": "xterm"},
        )
        os.close(theirs)
        self.text, self.seen = "", 0

    def until(self, wanted=""):
        """Read until this is written, or the end; the next call looks at what follows."""
        while not wanted or wanted not in self.text[self.seen :]:
            ready, _, _ = select.select([self.ours], [], [], 600)
            assert ready, self.text
            try:
                more = os.read(self.ours, 1 << 16).decode(errors="replace")
            except OSError:  # on Linux the end
                more = ""
            self.text += more
            if not more:
                assert not wanted, self.text
                return
        self.seen = self.text.index(wanted, self.seen) + len(wanted)

    def close(self):
        if self.program.poll() is None:
            os.killpg(self.program.pid, signal.SIGKILL)
        self.program.wait()
        os.close(self.ours)


@pytest.fixture
def script(tmp_path):
    terminal = Terminal(str(SCRIPT), str(tmp_path))
    yield terminal
    terminal.close()


def test_ctrl_c_ends_fits_and_not_their_workers(script, tmp_path):
    """The terminal signals every process of the program; ``kill`` only the first one."""
    for name, everyone in (("PRL", True), ("HKL", True), ("SVM", False)):
        script.until(f"fitting {name}")
        script.until("gap ")
        if everyone:
            os.write(script.ours, b"\x03")
        else:
            os.kill(script.program.pid, signal.SIGINT)
        script.until(f"fitted {name}")
        found = json.loads((tmp_path / "found").read_text().splitlines()[-1])
        assert found["stopped"] == "interrupted"
        assert found["gap"] > 1e-12
        assert ["interrupted" in text for text in found["said"]] == [True]
        assert found["right"] > 0.5
        assert found["same"]  # the workers are those from before
    script.until()
    assert script.program.wait() == 0, script.text
    assert "KeyboardInterrupt" not in script.text
    assert f'File "{Path(fk.__file__).parent}' not in script.text  # a frame of a traceback
    assert "packing rows" in script.text or "finding propositions" in script.text
