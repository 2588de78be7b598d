"""Local servers: start the process, read and write its pipes, and end everything that it has started."""
