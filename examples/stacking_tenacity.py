"""Three layers, none of which knows of the others: a tool loop, tenacity, and urllib3: 2 × 3 × 4 = 24 requests.

`requests` with a mounted `Retry` is how many services call another; a decorator of tenacity is how many make that
robust. Run it: no network, no time (`pip install "fuzzmcp[requests]" tenacity`).

    python examples/stacking_tenacity.py
    fuzzmcp stack examples/stacking_tenacity.py:stacked

The mended one keeps the decorator alone: it stands where the operation is known, so it knows what may be sent again. It
waits as the answer says, and gives up where a rate limit names no moment.
"""

import time
from typing import Any

import requests
import tenacity
import urllib3

from fuzzmcp import upstream
from fuzzmcp.upstream import Upstream

URL = "https://backend.test/orders/A1"
TRANSIENT = (429, 504, 529)


def stacked(backend: Upstream) -> dict[str, Any]:
    """As it is often found: each layer was added on a day of its own."""
    session = requests.Session()
    again = urllib3.Retry(3, status_forcelist=TRANSIENT, backoff_factor=0.5)
    session.mount("https://", backend.adapter(max_retries=again))

    @tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_fixed(1), reraise=True)
    def get_order() -> dict[str, Any]:
        response = session.get(URL, timeout=30)
        response.raise_for_status()
        found: dict[str, Any] = response.json()
        return found

    for _ in range(2):
        try:
            return get_order()
        except requests.RequestException as failure:
            error = failure
            time.sleep(5)
    return {"error": str(error)}


def mended(backend: Upstream) -> dict[str, Any]:
    """One layer: the decorator's."""
    session = requests.Session()
    session.mount("https://", backend.adapter())

    @tenacity.retry(
        stop=tenacity.stop_after_attempt(4), wait=as_told, retry=tenacity.retry_if_exception(may_help), reraise=True
    )
    def get_order() -> dict[str, Any]:
        response = session.get(URL, timeout=30)
        response.raise_for_status()
        found: dict[str, Any] = response.json()
        return found

    try:
        return get_order()
    except requests.RequestException as failure:
        return {"error": str(failure)}


def may_help(error: BaseException) -> bool:
    """Whether sending the request again can help."""
    response = getattr(error, "response", None)
    if response is None:  # nothing came back, and to read an order twice does no harm
        return isinstance(error, requests.RequestException)
    hinted = response.status_code == 429 and "retry-after" in response.headers
    return hinted or response.status_code in (504, 529)


def as_told(state: tenacity.RetryCallState) -> float:
    """Seconds to wait: those that the answer names, or longer each time."""
    error = state.outcome.exception() if state.outcome else None
    response = getattr(error, "response", None)
    hint = None if response is None else response.headers.get("retry-after")
    return float(hint) if hint is not None else 2.0 ** (state.attempt_number - 1)


def main() -> None:
    """Print what one overloaded backend costs."""
    for function in (stacked, mended):
        happened = upstream.run(function, "529*", ok={"order_id": "A1", "status": "shipped"})
        stack = happened.stack_of()
        print(f"{function.__name__}: {stack.requests} requests in {happened.ended:g} s, when each is answered 529")
        for depth, layer in enumerate(stack.layers):
            print(f"  {'  ' * depth}{layer}")


if __name__ == "__main__":
    main()
