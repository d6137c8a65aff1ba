"""Opens the page; also the entry of the Hugging Face Space. It is the command ``python -m dsbd page``.

python app.py
python app.py --target Qwen/Qwen2.5-1.5B --draft Qwen/Qwen2.5-0.5B --device cuda
"""

import sys

from dsbd.cli import main

if __name__ == "__main__":
    sys.exit(main(["page", *sys.argv[1:]]))
