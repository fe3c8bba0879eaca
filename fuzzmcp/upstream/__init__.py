"""The layer below: the same script served as a plain HTTP API, in memory, for the code that calls a real backend.

An `Upstream` plays a script to HTTP clients: `transport()` is a transport for `httpx` and `httpx2`, sync and async, and
`adapter()` one for `requests`. No socket is opened. `run` drives a function in virtual time and tells what happened;
`virtual` does so for a block of synchronous code. Inside of a run of fuzzmcp, as of an agent whose tools call HTTP, the
transports use the clock of that run.

The modules import only downwards: `failures`, `answers`, `record`, `sessions`, `waiting`; `httpx_transport` and
`requests_adapter`, which import their library when they are used; `server`, `in_run`, `sync_code`, `driving`.

>>> try: import httpx2 as httpx
... except ImportError: import httpx
>>> def fetch(upstream):
...     with httpx.Client(transport=upstream.transport(httpx)) as client:
...         return client.get("https://backend.test/orders/7").status_code
>>> happened = run(fetch, "529@3")
>>> happened.value, happened.ended
(529, 3.0)
"""

from fuzzmcp.upstream.driving import run
from fuzzmcp.upstream.record import Exchange, HttpRequest, HttpRun
from fuzzmcp.upstream.server import Upstream
from fuzzmcp.upstream.sessions import BudgetSpent, NoVirtualTime
from fuzzmcp.upstream.sync_code import virtual

Happened = HttpRun
"""The public name of what `run` returns."""

__all__ = ["BudgetSpent", "Exchange", "Happened", "HttpRequest", "NoVirtualTime", "Upstream", "run", "virtual"]
