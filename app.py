"""Opens the page; also the entry of the Hugging Face Space.

python app.py
python app.py --target Qwen/Qwen2.5-1.5B --draft Qwen/Qwen2.5-0.5B --device cuda
"""

import argparse
import sys
from collections.abc import Sequence

from dsbd.commands.page import add_flags
from dsbd.commands.parser import BAD_INPUT, OK, STOPPED
from dsbd.errors import DsbdError
from ui.start import serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the page. Returns the exit code: 2 if it cannot be served, and one line says why; 130 if it was stopped."""
    parser = argparse.ArgumentParser(description="Decode with dynamic-width speculative beams, and watch.")
    add_flags(parser)
    try:
        serve(parser.parse_args(arguments))
    except DsbdError as error:
        print(f"app.py: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("app.py: stopped", file=sys.stderr)
        return STOPPED
    return OK


if __name__ == "__main__":
    sys.exit(main())
