"""Runs the command in a file with the programs of this environment."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
subprocess.run(shlex.split(Path(sys.argv[1]).read_text()), check=True, env=environment)
