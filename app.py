"""Opens the page; also the entry of the Hugging Face Space.

python app.py
python app.py --target Qwen/Qwen2.5-1.5B --draft Qwen/Qwen2.5-0.5B --device cuda
"""

import argparse
import os
import sys
from collections.abc import Sequence

from dsbd import PairError, load_pair
from ui import Engine, build_page, launch_options


def main(arguments: Sequence[str] | None = None) -> int:
    """Load the pair and serve the page. Returns the exit code: 2 where the pair cannot be loaded."""
    options = _parser().parse_args(arguments)
    try:
        pair = load_pair(options.target, options.draft, device=options.device, dtype=options.dtype)
    except PairError as error:
        print(f"app.py: {error}", file=sys.stderr)
        return 2
    page = build_page(Engine(pair))
    page.launch(server_name=options.host, server_port=options.port, share=options.share, **launch_options())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Decode with dynamic-width speculative beams, and watch.")
    parser.add_argument(
        "--target", default=os.environ.get("DSBD_TARGET") or None, help="folder or hub id; default: the bundled pair"
    )
    parser.add_argument(
        "--draft", default=os.environ.get("DSBD_DRAFT") or None, help="a smaller model of the same vocabulary"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, …")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16")
    parser.add_argument(
        "--host", default=None, help="address to listen on; default: GRADIO_SERVER_NAME, else this machine"
    )
    parser.add_argument(
        "--port", type=int, default=None, help="default: GRADIO_SERVER_PORT, else the first free from 7860"
    )
    parser.add_argument("--share", action="store_true", help="a public link through Gradio's relay")
    return parser


if __name__ == "__main__":
    sys.exit(main())
