"""`python -m knowledge_nb`: the same as `knowledge`."""

from knowledge_nb.cli import main

if __name__ == "__main__":
    main()
