"""Many visitors at once, each with a prompt and a seed of its own."""

from concurrent.futures import ThreadPoolExecutor

from gradio_client import Client

import dsbd
from tests.toy_pair import toy_pair

AT_ONCE = 12
"""Visitors that ask at the same time; more than may wait would be refused."""


def many_clients(address: str, clients: int) -> dict[str, int]:
    """Visitors at once, each with a prompt and a seed of its own. Returns: answers that are, and are not, its own."""
    asked = [(f"Visitor {place}", {"max_new_tokens": 6, "seed": place}) for place in range(clients)]
    alone = [dsbd.decode(toy_pair(), prompt, dsbd.DecodingSettings(**chosen)) for prompt, chosen in asked]

    def visit(place: int) -> bool:
        answer = Client(address, verbose=False).predict(*asked[place], api_name="/decode")
        return answer["token_ids"] == list(alone[place].token_ids)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        right = sum(pool.map(visit, range(clients)))
    return {"their own": right, "not their own": clients - right}
