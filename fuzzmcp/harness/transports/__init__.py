"""How client and fake server are joined.

A new transport is a row of `fuzzmcp.core.protocol.TRANSPORT_TABLE`, a row of `server.CONNECT`, and a module here whose
connections are attached to the `wire.Wire` of the run. What clients need of it besides `connect()` is a method of
`server.Server`, as `process()` is.
"""
