"""The folder that keeps what the C compiler made: whose it is, what is in it, and what if not."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agnograd_c._run import cache, compiler
from in_c import needs_compiler

needs_compiler()

SCRIPT = """
import sys
sys.dont_write_bytecode = False
sys.path.insert(0, "tests/helpers")
import numpy as np, agnograd as ag
from agnograd_c._choose import groups
from agnograd_c._run import lowering
from traced import traced
from agnograd_c.kernels import calls
groups.NANOSECONDS = 0
calls.driver = lambda: None  # which takes longer to compile than the function
xp = ag.namespace("numpy")
x = np.linspace(0, 1, 31)
{before}
made = lowering.in_c(traced("numpy", lambda x: xp.exp(x) * 3.25 + x, x))
from agnograd_compile.lowering import straight
(found,) = straight(made)([x])
print(len(made.steps), np.allclose(found, np.exp(x) * 3.25 + x, rtol=1e-15))
"""
IN_C, AS_IT_IS = ["1", "True"], ["3", "True"]
# A library whose constructor says that it was loaded: that is all it takes to run what one likes.
PLANTED = """
#include <stdio.h>
__attribute__((constructor)) static void run(void) { puts("planted"); fflush(stdout); }
"""


def started(cache, before="", **environment):
    environment = os.environ | {"AGNOGRAD_CACHE": str(cache)} | environment
    command = [sys.executable, "-c", SCRIPT.format(before=before)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def run(*given, **options):
    """Return what a process prints that compiles a function and calls it."""
    process = started(*given, **options)
    said = process.communicate()[0].split()
    assert process.returncode == 0
    return said


def libraries(cache):
    return [each for each in (cache / "c").glob("*.so") if "driver" not in each.name]


def planted(cache):
    """Put a library that is not ours in the place of each one."""
    made = cache.parent / "planted.so"
    command = [*compiler.compiler(), "-shared", "-fPIC", "-x", "c", "-", "-o", str(made)]
    subprocess.run(command, input=PLANTED.encode(), check=True)
    for each in libraries(cache):
        each.unlink()
        each.write_bytes(made.read_bytes())
    assert libraries(cache)


def test_what_was_made_is_loaded_again(tmp_path):
    assert run(tmp_path) == IN_C
    first = {each: each.stat().st_mtime_ns for each in libraries(tmp_path)}
    assert first
    assert run(tmp_path) == IN_C
    assert {each: each.stat().st_mtime_ns for each in libraries(tmp_path)} == first
    assert (tmp_path / "c").stat().st_mode & 0o077 == 0


def test_several_processes_at_once(tmp_path):
    running = [started(tmp_path) for _ in range(3)]
    assert [each.communicate()[0].split() for each in running] == [IN_C] * 3
    assert not [each for each in (tmp_path / "c").iterdir() if "-" in each.name]


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data + b"\0", lambda _: b""]
)
def test_a_damaged_library_is_not_loaded(tmp_path, damage):
    run(tmp_path)
    for each in libraries(tmp_path):
        data = each.read_bytes()
        each.unlink()
        each.write_bytes(damage(data))
        assert not cache.is_whole(each)
    assert run(tmp_path) == IN_C
    assert all(map(cache.is_whole, libraries(tmp_path)))


def test_a_planted_library_is_not_loaded(tmp_path):
    run(tmp_path)
    planted(tmp_path)
    assert run(tmp_path) == IN_C


@pytest.mark.parametrize("part", [".", "c"])
@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, part, mode):
    run(tmp_path)
    planted(tmp_path)
    for each in libraries(tmp_path):  # together with its digest
        each.with_suffix(".sha256").write_text(cache._digest(each))
    (tmp_path / part).chmod(mode)
    assert run(tmp_path) == IN_C
    (tmp_path / part).chmod(0o700)


def test_a_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("AGNOGRAD_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert cache.folder() == tmp_path / "c"
    whole = tmp_path / "c" / "whole.so"
    (tmp_path / "made").write_bytes(b"library")
    cache.put(tmp_path / "made", whole)
    assert cache.is_whole(whole)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    if user != 0:  # what the administrator owns nobody else can change
        assert cache.folder() is None
        assert not cache.is_whole(whole)
    else:
        os.chown(whole, 12345, 12345)
        assert not cache.is_whole(whole)
        os.chown(tmp_path / "c", 12345, 12345)
        assert cache.folder() is None


def test_what_is_not_used_any_more_is_removed(tmp_path):
    run(tmp_path)
    (used,) = libraries(tmp_path)[:1]
    old, killed = tmp_path / "c" / "old.so", tmp_path / "c" / "agnograd_1-killed.so"
    young = tmp_path / "c" / "agnograd_2-running.so"
    for each in (old, old.with_suffix(".sha256"), killed, young):
        each.write_bytes(b"")
    now = time.time()
    for each, age in ((old, 100), (old.with_suffix(".sha256"), 100), (killed, 0.1), (used, 2)):
        os.utime(each, (now - age * 86400, now - age * 86400))
    os.utime(used.with_suffix(".sha256"), (now - 100 * 86400, now - 100 * 86400))
    assert run(tmp_path, before="from agnograd_c._run import cache") == IN_C
    assert used.stat().st_mtime > now - 86400  # it was used just now
    cache._prune(tmp_path / "c")
    names = {each.name for each in (tmp_path / "c").iterdir()}
    assert {used.name, used.with_suffix(".sha256").name, young.name} <= names
    assert not {old.name, "old.sha256", killed.name} & names


# -- where the environment lacks something ---------------------------------------------------------


def test_without_a_home_libraries_are_private(monkeypatch):
    def none():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for each in ("AGNOGRAD_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(each, raising=False)
    assert cache.folder() is None
    (only,) = cache.places()
    assert only.stat().st_mode & 0o077 == 0


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    assert run(tmp_path / "file") == IN_C


def test_a_disk_without_execution_or_room(tmp_path):
    run(tmp_path)
    # As on a disk that is mounted without execution: what is loaded from there is refused.
    refusing = """
from pathlib import Path
from agnograd_c._run import library
load = library.Library.__init__
def refused(self, path):
    if {at!r} in str(path):
        raise OSError("failed to map segment from shared object")
    load(self, path)
library.Library.__init__ = refused
"""
    assert run(tmp_path, before=refusing.format(at=str(tmp_path))) == IN_C
    assert run(tmp_path, before=refusing.format(at="/")) == AS_IT_IS
    full = """
import tempfile
from agnograd_c._run import cache
make = tempfile.mkstemp
def made(*args, dir=None, **options):
    if {at!r} in str(dir):
        raise OSError(28, "No space left on device")
    return make(*args, dir=dir, **options)
tempfile.mkstemp = made
"""
    assert run(tmp_path / "new", before=full.format(at=str(tmp_path))) == IN_C
    assert run(tmp_path / "other", before=full.format(at="/")) == AS_IT_IS


@pytest.mark.parametrize("command", ["no-such-program", "cc 'open", "", "/", os.devnull, "false"])
def test_a_compiler_that_is_none(tmp_path, command):
    assert run(tmp_path, AGNOGRAD_CC=command) == AS_IT_IS


def test_without_file_descriptors(tmp_path):
    few = """
import resource
from agnograd_compile.lowering import straight
traced("numpy", lambda x: xp.exp(x) * 3.25 + x, x)  # what is imported for it
resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
"""
    assert run(tmp_path, before=few) == AS_IT_IS
