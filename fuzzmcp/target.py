"""Loading a client by its name, as exported tests do: `fuzzmcp.target.load("my_client.py:connect")`."""

from fuzzmcp.harness.target import Target, TargetError, load

__all__ = ["Target", "TargetError", "load"]
