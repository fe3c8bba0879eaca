"""What the clients of `fuzzmcp.clients` do under faults: `make clients` runs this and writes `examples/clients`.

`rows` says what is run where, `environments` installs it, `driving` runs it, `reactions` is what runs inside the
environment, `results` keeps what came of it, `verdicts` what people say of it, and `page` turns both into Markdown.
"""
