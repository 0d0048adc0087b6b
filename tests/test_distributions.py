"""Wheel and source distribution: their content, and that the wheel works."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import formulakern

ROOT = Path(__file__).parent.parent
#: The kinds of files that belong to the package.
KINDS = {".py", ".pyi", ".typed", ".lark", ".md", ".css", ".html", ".js"}
BUILD = """
import sys
from setuptools import build_meta
folder = sys.argv[1]  # each step writes its own arguments
build_meta.build_sdist(folder)
build_meta.build_wheel(folder)
"""


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """Both, built from a copy of the sources in which other files lie about."""
    copy = tmp_path_factory.mktemp("sources")
    useless = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("formulakern", "grammar", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=useless)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    for stray in ("formulakern/table.csv", "formulakern/kernels/notes.txt", "grammar/old.lark~"):
        (copy / stray).write_text("left behind")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=copy, check=True, capture_output=True
    )
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return wheel, sdist


def sources() -> set[str]:
    """The files of the package, by their names in a wheel."""
    places = {"formulakern": ROOT / "formulakern", "formulakern/grammar": ROOT / "grammar"}
    return {
        f"{name}/{path.relative_to(folder).as_posix()}"
        for name, folder in places.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_wheel_holds_the_package_and_no_more(distributions):
    with zipfile.ZipFile(distributions[0]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == sources()
    assert {Path(name).suffix or Path(name).name for name in names} <= KINDS
    assert {"formulakern/py.typed", "formulakern/__init__.pyi"} <= names
    assert {"formulakern/grammar/formula.lark", "formulakern/grammar/README.md"} <= names


def test_wheel_says_what_it_is(distributions):
    with zipfile.ZipFile(distributions[0]) as wheel:
        folder = f"formulakern-{formulakern.__version__}.dist-info"
        metadata = Parser().parsestr(wheel.read(f"{folder}/METADATA").decode())
        scripts = wheel.read(f"{folder}/entry_points.txt").decode()
        assert f"{folder}/licenses/LICENSE" in wheel.namelist()
    assert metadata["Version"] == formulakern.__version__
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert {"tables", "plot", "docs"} <= set(metadata.get_all("Provides-Extra"))
    needed = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert not any(name in line for line in needed for name in ("pandas", "matplotlib", "sphinx"))
    assert any("polars" in line for line in needed)
    assert "formulakern = formulakern.cli:run" in scripts


def test_wheel_works(distributions, tmp_path):
    """Unpacked, as pip does it: the stub and the grammar are found."""
    shutil.unpack_archive(distributions[0], tmp_path, "zip")
    program = """
import sys
sys.path.insert(0, sys.argv[1])
import formulakern as fk
assert fk.__file__.startswith(sys.argv[1]), fk.__file__
print(fk.kernel("(a & ~b) | c")([[1, 1, 0]], [[1, 1, 1]]).item())
"""
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", program, str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert float(done.stdout) == 20


def test_source_distribution_holds_what_a_wheel_is_made_of(distributions):
    with tarfile.open(distributions[1]) as sdist:
        names = {Path(member.name) for member in sdist.getmembers() if member.isfile()}
    inside = {Path(*name.parts[1:]).as_posix() for name in names}
    package = {name.replace("formulakern/grammar/", "grammar/") for name in sources()}
    others = {name for name in inside - package if not name.startswith("formulakern.egg-info/")}
    # setuptools takes the tests on the highest level along by itself
    tests = {name for name in others if name.startswith("tests/test_")}
    assert package <= inside
    assert others - tests == {"LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg"}


def test_the_lowest_versions_are_those_that_are_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = [project["dependencies"], *(extras[name] for name in extras if name != "lint")]
    lowest = {
        re.sub(r"\[.*\]", "", requirement).replace(">=", "==")
        for requirements in declared
        for requirement in requirements
        if not requirement.startswith("formulakern[")
    }
    lines = (ROOT / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    assert {line for line in lines if not line.startswith("#")} == lowest
