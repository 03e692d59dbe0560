"""The only room that opens knowledge.db: files, lock, connections, format, integrity."""
