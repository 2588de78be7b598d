"""Start one misbehaving MCP server on stdio: `odd_server.py MODE [key=value ...]`, or `odd_server.py list`.

Options that every mode knows: `log=FILE` (or the environment variable ODD_LOG) and `tools=count,sleep`.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # started as a script, from anywhere

from catalogue import main

if __name__ == "__main__":
    main()
