"""Adapters for the MCP clients that people use: `fuzzmcp run fuzzmcp.clients.fastmcp:connect`.

Each module connects one framework to the fake server, by the seam that its users have, and has the `contract` that says
how the framework tells of errors. They are small and meant to be copied. Nothing is imported before it is used: the
frameworks are not installed with fuzzmcp, and cannot all live in one environment.
"""
