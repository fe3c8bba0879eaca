"""The Hypothesis profile of all tests: the same examples every time, nothing kept between runs. And Ctrl-C works.

`make test-all` draws more: `--hypothesis-profile=long`.

While tests are collected nothing becomes garbage, and afterwards the modules of ten frameworks are alive for good: the
collector looks at neither. It would take every tenth second of the suite.
"""

import gc
import signal

import pytest
from hypothesis import settings

settings.register_profile("fuzzmcp", derandomize=True, deadline=None, database=None, max_examples=50)
settings.register_profile("long", settings.get_profile("fuzzmcp"), max_examples=100)
settings.load_profile("fuzzmcp")

# A shell that starts a command in the background lets it ignore SIGINT, and tests of Ctrl-C would wait in vain.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
