"""The fake server: no async, no I/O, no clock."""

from fuzzmcp.harness.server.deliveries import Delivery
from fuzzmcp.harness.server.fake import FakeServer

__all__ = ["Delivery", "FakeServer"]
