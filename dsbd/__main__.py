"""``python -m dsbd``."""

import sys

from dsbd.cli import main

if __name__ == "__main__":
    sys.exit(main())
