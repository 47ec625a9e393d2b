"""The peers live in an environment of their own: what they need is none of our business."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.record import RESULTS

HOME = RESULTS / "peers-env"
VERSIONS = {"pytauargus": "0.6.0", "gconfid": "2.0.4"}


def environment() -> Path:
    """The Python of an environment with the peers in it, made if need be."""
    python = HOME / "bin" / "python"
    stamp = HOME / "installed.json"
    if not stamp.exists() or json.loads(stamp.read_text()) != VERSIONS:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(HOME)], check=True)
        wanted = [f"{name}=={version}" for name, version in VERSIONS.items()]
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted], check=True)
        stamp.write_text(json.dumps(VERSIONS))
    return python
