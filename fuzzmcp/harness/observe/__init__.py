"""What is seen of a run without the help of its client: stacks, layers that retry, log records, leftovers."""
