"""The fake server: no async, no I/O, no clock."""

from fuzzmcp.server.fake import Delivery, FakeServer

__all__ = ["Delivery", "FakeServer"]
