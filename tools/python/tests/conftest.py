# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

import numpy
import pytest


@pytest.fixture
def random():
    return numpy.random.default_rng(20253)


@pytest.fixture
def run_python():
    """Runs a script in a Python of its own and returns what it printed."""

    def run(script, **environment):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
