"""Bugs in what is sent again, when, and how often."""

from fuzzmcp.examples.zoo.bugs import bug
from fuzzmcp.examples.zoo.reference import Client


@bug(check="spend_cap", script="429cap", seen="netclaw-dev/netclaw #2056")
class RetriesSpendCap(Client):
    """Takes a reached spend cap for a rate limit, and comes back."""

    def code_of(self, words: str) -> str:
        return super().code_of(words).replace("spend cap", "rate limit")


@bug(check="retry_after", script="429", seen="basicmachines-co/basic-memory #1378")
class IgnoresRetryAfter(Client):
    """Waits as long as it would for any other error."""

    def hint_of(self, said: str) -> float | None:
        return None


@bug(check="request_budget", script="429*4", seen="danny-avila/LibreChat #12162")
class NeverStopsRetrying(Client):
    """Tries again for as long as the deadline lasts."""

    attempts = 1_000
