"""How long a visitor of the page waits for a short decode: alone, and while another visitor decodes 512 tokens.

    DSBD_MAX_NEW_TOKENS=512 python app.py --port 7860
    python -m benchmarks.visitors http://127.0.0.1:7860 --pair bundled:sql --bar 0.5

Both visit as programs do (``/decode``). Exit code 1: beside the other one, the median was above the bar, in seconds.
"""

import argparse
import statistics
import sys
import time

from gradio_client import Client

LONG = {"max_new_tokens": 512, "temperature": 20.0, "top_k": 0}
"""So hot that the text does not end early; its joint distributions are the largest, too."""


def main() -> int:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    for name, default in (("pair", ""), ("prompt", "Once upon a time"), ("tokens", 16), ("bar", 0.5)):
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parsed = parser.parse_args()
    first, second = (Client(parsed.address, verbose=False) for _ in range(2))
    options = {"pair": parsed.pair, "api_name": "/decode"}
    first.predict(parsed.prompt, {"max_new_tokens": 8}, **options)  # it loads the pair
    for case in ("alone", "beside 512 tokens"):
        long, seconds = first.submit(parsed.prompt, LONG, **options) if case != "alone" else None, list[float]()
        while len(seconds) < 20 if long is None else not long.done():
            start = time.perf_counter()
            second.predict(parsed.prompt, {"max_new_tokens": parsed.tokens}, **options)
            seconds.append(time.perf_counter() - start)
        written = f", beside {len(long.result()['token_ids'])} tokens" if long else ""
        median, most = statistics.median(seconds), max(seconds)
        print(f"{len(seconds)} decodes of {parsed.tokens} tokens{written}: {median:.3f} s, at most {most:.3f} s")
    return int(median > parsed.bar)


if __name__ == "__main__":
    sys.exit(main())
