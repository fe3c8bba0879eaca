"""How one run is made: a case and a client in, a record of what happened out. Nothing here judges."""
