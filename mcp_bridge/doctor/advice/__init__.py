"""What can be wrong with a server, and how to fix it."""
