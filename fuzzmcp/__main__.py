"""`python -m fuzzmcp`: the same as the `fuzzmcp` command."""

from fuzzmcp.cli import main

main(prog_name="fuzzmcp")
