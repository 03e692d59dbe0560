"""From a folder to the index: walk, classify, chunk, embed, replace; and watching."""
