"""Files that visitors bring, each read by a process of its own, so that no file can hold the page."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import dsbd
from dsbd.errors import DsbdError, TaskError, TraceError

from ..host.limits import Limits
from .upload_reader import REMEDIES


def read_apart(kind: str, path: Path, limits: Limits) -> Any:
    """Read a file.

    Args:
        kind: ``trace`` or ``questions``.
        path: the file.
        limits: bytes and seconds count here.

    Returns:
        The Trace, or the list of Question.

    Raises:
        TraceError, TaskError: the file is not of that kind, is damaged, too large, or takes too long to read.
    """
    error_type: type[DsbdError] = TraceError if kind == "trace" else TaskError
    command = [sys.executable, str(Path(__file__).with_name("upload_reader.py")), kind, str(path)]
    environment = os.environ | {"PYTHONPATH": str(Path(dsbd.__file__).parents[1])}
    try:
        size = path.stat().st_size
        if size > limits.max_upload_bytes:
            raise error_type(f"the file has {size:,} bytes; this page takes {limits.max_upload_bytes:,}")
        done = subprocess.run(command, env=environment, capture_output=True, timeout=limits.upload_seconds, check=True)
    except subprocess.TimeoutExpired:
        seconds = limits.upload_seconds
        raise error_type(f"reading the file takes more than {seconds} seconds; {REMEDIES[kind]}") from None
    except subprocess.CalledProcessError:
        raise error_type(f"the file is too large for this page; {REMEDIES[kind]}") from None
    except OSError as error:
        raise error_type(f"cannot read the file: {error.strerror or error}; try again later") from None
    answer = pickle.loads(done.stdout)  # written by our own reader
    if isinstance(answer, DsbdError):
        raise answer
    return answer
