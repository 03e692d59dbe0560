"""Examples for each verb, shown at the end of its help and run by the tests.

They are typed in the folder `data` of the repository, whose `handbook` is indexed first.
"""

from __future__ import annotations

# Verb -> (what it is for, the line as it is typed).
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "index": (
        ("Read a folder, or what changed in it since", "knowledge index handbook"),
        ("What would a pass do?", "knowledge index handbook --dry-run --verbose"),
        ("Also forget documents whose file is gone", "knowledge index --reconcile"),
    ),
    "search": (
        ("The three best passages", "knowledge search 'a sensor drifts' -k 3"),
        (
            "By words alone, below one folder",
            "knowledge search drift --mode lexical --under guides",
        ),
        ("For a program", "knowledge search 'temperature readings' --json"),
    ),
    "match": (
        ("Documents that hold both words", "knowledge match 'retention backup'"),
        ("A phrase, and a word that must not occur", "knowledge match '\"two-person rule\" -loan'"),
        ("The whole set, to a file", "knowledge match backup --csv backup.csv"),
        ("Does any document hold it? (status 0 or 1)", "knowledge match frost --count --exit-code"),
    ),
    "words": (
        ("What is there that begins so?", "knowledge words --prefix calib"),
        ("Every word that a pattern fits, as CSV", "knowledge words '^backup' --csv -"),
    ),
    "show": (
        ("The passage that a citation names", "knowledge show policies/backup.md#0"),
        ("With its neighbours", "knowledge show policies/backup.md#2 --around 1"),
    ),
    "sources": (("Every indexed document", "knowledge sources --json"),),
    "stats": (("How large is it, and what is left out?", "knowledge stats"),),
    "audit": (
        ("What changed on disk since the last pass?", "knowledge audit"),
        ("Every file, for a program", "knowledge audit handbook --json"),
    ),
    "coverage": (
        ("Which terms of a list occur, and where", "knowledge coverage terms.csv"),
        ("Documents that no term hits", "knowledge coverage terms.csv --part uncovered"),
    ),
    "saved": (
        ("Keep a set with its question", "knowledge saved --save 'retention -draft' retention"),
        ("What came and went since?", "knowledge saved retention"),
    ),
    "verify-export": (("Is an exported set still true?", "knowledge verify-export backup.csv"),),
    "watch": (
        ("Follow the folders of earlier passes", "knowledge watch"),
        ("A network drive, looked at file by file", "knowledge watch handbook --poll"),
    ),
    "doctor": (
        ("Is the store sound?", "knowledge doctor"),
        ("Down to the text, for a program", "knowledge doctor --integrity --json"),
    ),
    "rebuild": (("Both text indexes anew", "knowledge rebuild --wait 10"),),
    "backup": (("To one checked file", "knowledge backup ../knowledge-copy.db"),),
    "rm": (("Take one document out", "knowledge rm policies/backup.md"),),
    "reset": (("Empty the store", "knowledge reset --force"),),
    "demo": (("A tour on the sample corpus, in a temporary store", "knowledge demo"),),
    "run": (
        ("A TREC run by words", "knowledge run topics.tsv --mode lexical -k 100 -o lexical.run"),
    ),
    "eval": (
        ("Against judgements", "knowledge eval qrels.txt lexical.run -m nDCG@10 -m AP"),
        ("For a program", "knowledge eval qrels.txt lexical.run --json"),
    ),
    "compare": (
        ("Two saved runs", "knowledge compare topics.tsv --a lexical.run --b lexical.run"),
    ),
    "explain": (
        ("Why does it stand there?", "knowledge explain 'nightly copies' policies/backup.md"),
    ),
    "mcp": (
        ("On stdio, as an MCP client starts it", "knowledge mcp"),
        ("HTTP on this machine", "knowledge mcp --http --port 8848"),
    ),
    "completion": (
        ("Now", 'eval "$(knowledge completion bash)"'),
        (
            "For good, in fish",
            "knowledge completion fish > ~/.config/fish/completions/knowledge.fish",
        ),
    ),
}


def epilog(verb: str) -> str:
    """The examples of a verb as the end of its help; "" where it has none."""
    lines = [f"  # {what}\n  {line}\n" for what, line in EXAMPLES.get(verb, ())]
    return "\b\nExamples:\n" + "".join(lines) if lines else ""
