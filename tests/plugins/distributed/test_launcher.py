"""The launcher of the communicator ``local``: strangers at its socket, and its end."""

import os
import signal
import subprocess
import sys
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Listener
from pathlib import Path

import pytest

from agnograd_distributed._hub import Hub

KEY = b"what ranks know"


def silent(address):
    return Client(address)


def garbage(address):
    stranger = Client(address)
    stranger.send_bytes(b"GET / HTTP/1.1")
    return stranger


def half_a_message(address):
    stranger = Client(address)
    os.write(stranger.fileno(), b"\0\0")
    return stranger


def wrong_key(address):
    with pytest.raises(AuthenticationError):
        Client(address, authkey=b"another one")


def gone(address):
    Client(address).close()


@pytest.mark.parametrize("stranger", [silent, garbage, half_a_message, wrong_key, gone])
def test_a_stranger_keeps_no_rank_from_connecting(stranger):
    hub = Hub(listener := Listener(), 2, KEY)
    strangers = [stranger(listener.address) for _ in range(3)]
    ranks = [Client(listener.address, authkey=KEY) for _ in range(2)]
    for rank, each in enumerate(ranks):
        each.send((rank, "0"))
        each.send(("round", "mean", f"of {rank}"))
    for each in ranks:
        assert each.poll(10.0)
        assert each.recv() == ("ok", ["of 0", "of 1"])
        each.send(("bye",))
        assert each.recv() == ("gone",)
    assert hub.failure is None
    hub.close()
    del strangers


PROGRAM = """
import time
from pathlib import Path
import numpy as np
from agnograd_distributed import communicator, mean
comm = communicator()
mean([np.ones(1_000_000)], comm)
Path({path!r}, str(comm.rank)).write_text(comm._told["folder"])
time.sleep(60.0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_signal_to_end_leaves_no_process_and_no_shared_memory(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(path=str(tmp_path)))
    command = [sys.executable, "-m", "agnograd_distributed", "-n", "2", str(program)]
    launcher = subprocess.Popen(command)
    deadline = time.monotonic() + 60.0
    while not all((tmp_path / rank).exists() and (tmp_path / rank).read_text() for rank in "01"):
        assert time.monotonic() < deadline
        assert launcher.poll() is None
        time.sleep(0.05)
    folder = Path((tmp_path / "0").read_text())
    assert any(folder.iterdir())
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(30.0) == 128 + signal.SIGTERM
    assert not folder.exists()
