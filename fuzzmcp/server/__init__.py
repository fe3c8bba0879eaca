"""The fake server: no async, no I/O, no clock."""

from fuzzmcp.server.deliveries import Delivery
from fuzzmcp.server.fake import FakeServer

__all__ = ["Delivery", "FakeServer"]
