"""Local servers: the process, its pipes, and the end of everything it has started."""
