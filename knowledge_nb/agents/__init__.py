"""Two read-only tools for agents, over the Model Context Protocol: a leaf, like the CLI.

`tools` asks the core, `budget` cuts what an answer may hold, `schemas` is its shape, `wording` its
text, `server` speaks the protocol. Only `knowledge mcp` imports this room: the SDK takes a second.
"""
