"""The Hypothesis profile of all tests: the same examples every time, nothing kept between runs. And Ctrl-C works."""

import signal

from hypothesis import settings

settings.register_profile("fuzzmcp", derandomize=True, deadline=None, database=None)
settings.load_profile("fuzzmcp")

# A shell that starts a command in the background lets it ignore SIGINT, and tests of Ctrl-C would wait in vain.
signal.signal(signal.SIGINT, signal.default_int_handler)
