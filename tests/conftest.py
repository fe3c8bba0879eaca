"""The Hypothesis profile of all tests: the same examples every time, and nothing kept between runs."""

from hypothesis import settings

settings.register_profile("fuzzmcp", derandomize=True, deadline=None, database=None)
settings.load_profile("fuzzmcp")
