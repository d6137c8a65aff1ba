"""Opens the page; also the entry of the Hugging Face Space.

python app.py
python app.py --target Qwen/Qwen2.5-1.5B --draft Qwen/Qwen2.5-0.5B --device cuda
"""

import argparse
import sys
from collections.abc import Sequence

from dsbd.errors import DsbdError
from ui.start import add_flags, serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the page. Returns the exit code: 2 where it cannot be served, with one line that says why."""
    parser = argparse.ArgumentParser(description="Decode with dynamic-width speculative beams, and watch.")
    add_flags(parser)
    try:
        serve(parser.parse_args(arguments))
    except DsbdError as error:
        print(f"app.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
