"""The rooms of the house: who may import whom, who owns which library, what nobody does.

The table is the picture in `knowledge_nb/ARCHITECTURE.md`; a new arrow is a decision, made here.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "knowledge_nb"
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
LINES_AT_MOST = 400  # of code: without blank lines, comments and docstrings
# One method a verb, and the verbs are many. It is to be parted; till then this number only falls.
LONGER: dict[str, int] = {}

GROUND = {"errors", "records", "text", "citation", "settings", "refusals"}
ENGINE = {"store", "embedding", "retrieval", "matching", "indexing"}
BEHIND_CORE = GROUND | ENGINE | {"audit", "evaluation", "export", "telemetry"}
# Room -> rooms that it may import, itself aside. Arrows point down only.
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "records": set(),
    "text": set(),
    "citation": {"errors"},
    "settings": {"errors"},
    "refusals": {"errors", "records"},
    "telemetry": GROUND,
    "store": GROUND,
    "embedding": GROUND | {"store", "telemetry"},
    "retrieval": GROUND | {"store", "embedding", "telemetry"},
    "matching": GROUND | {"store", "retrieval", "telemetry"},
    "indexing": GROUND | {"store", "embedding"},
    "audit": GROUND | ENGINE,
    "evaluation": GROUND | ENGINE,
    "export": GROUND | ENGINE | {"audit"},
    "core": BEHIND_CORE,
    "notebook.show": BEHIND_CORE,  # frames and what they are shown with: below the facade
    "knowledge_base": BEHIND_CORE | {"core", "notebook.show"},
    "notebook.forms": BEHIND_CORE | {"core", "notebook.show", "knowledge_base"},
    "agents": BEHIND_CORE | {"core"},
    "cli": BEHIND_CORE | {"core", "agents"},
    "__main__": {"cli"},
    "__init__": GROUND | {"knowledge_base", "notebook.show", "notebook.forms", "embedding"},
}
# Room -> rooms whose names it may use in annotations only: it is handed the object.
FOR_TYPES = {"evaluation": {"core"}, "audit": {"core"}, "export": {"core"}}
# Outside library -> rooms (or modules) that may import it.
OWNERS: dict[str, set[str]] = {
    "apsw": {"store"},  # elsewhere only as the annotation `apsw.Connection`, see below
    "sqlite_vec": {"store"},
    "filelock": {"store"},
    "pyromark": {"indexing"},
    "watchfiles": {"indexing"},
    "httpx": {"embedding"},
    "safetensors": {"embedding"},
    "tokenizers": {"embedding"},
    # The form in which vectors and samples travel.
    "numpy": {"embedding", "retrieval", "store", "evaluation", "notebook.show"},
    "pandas": {"notebook.show", "notebook.forms"},
    "duckdb": {"audit"},
    "duckdb_extensions": {"audit"},
    "datasketch": {"audit"},
    "ipywidgets": {"notebook.forms"},
    "traitlets": {"notebook.forms"},
    "IPython": {"notebook.show", "notebook.forms"},
    "matplotlib": {"notebook.show", "notebook.forms"},
    "tqdm": {"notebook.show", "notebook.forms", "knowledge_base"},
    "ir_measures": {"evaluation"},
    "pytrec_eval": {"evaluation"},
    "scipy": {"evaluation"},
    "click": {"cli"},
    "rich": {"cli"},
    "mcp": {"agents"},
    "anyio": {"agents"},  # these three come with mcp, and are its words for threads, HTTP, schemas
    "uvicorn": {"agents"},
    "pydantic": {"agents"},
    "opentelemetry": {"telemetry"},
}
# Where a file of the store is named in a call that opens files, and why it may be.
OPENS = {"store/files.py": "creates the empty private file before SQLite first touches it"}


@cache
def tree(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text(encoding="utf-8"))


def room(module: str) -> str:
    """The room of a module, given by its path or its dotted name below the package."""
    parts = module.removesuffix(".py").replace("/", ".").split(".")
    if parts[0] == "notebook":
        return "notebook.forms" if parts[1:2] == ["forms"] else "notebook.show"
    if parts[0].startswith("verbs_"):  # verbs that the facade inherits
        return "knowledge_base"
    return parts[0]


def imports(module: str) -> Iterator[tuple[str, int]]:
    """Every module that another imports, anywhere in it and for types too, with the line."""
    package = ["knowledge_nb", *module.split("/")[:-1]]
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            # `from package import module` names a module of it, or an attribute.
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                yield (inner if _is_module(inner) else source), node.lineno
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = re.fullmatch(r"(knowledge_nb(?:\.\w+)+)(?::\w+)?", node.value)
            if found and _is_module(found[1]):
                yield found[1], node.lineno  # a module that is imported by name


def _is_module(name: str) -> bool:
    parts = name.split(".")
    if parts[0] != "knowledge_nb":
        return False
    path = PACKAGE.joinpath(*parts[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


@pytest.mark.parametrize("module", MODULES)
def test_arrows_point_down(module: str) -> None:
    """A room imports only rooms below it, and nothing imports the package root."""
    here = room(module)
    allowed = ARROWS[here] | {here}
    wrong = []
    for name, line in imports(module):
        if name == "knowledge_nb":
            wrong.append(f"{module}:{line} imports the package root")
        elif name.startswith("knowledge_nb."):
            there = room(name.removeprefix("knowledge_nb."))
            for_types = there in FOR_TYPES.get(here, ()) and line in _type_lines(module)
            if there not in allowed and not for_types:
                wrong.append(f"{module}:{line}: {here} -> {there}")
    assert wrong == []


def _type_lines(module: str) -> set[int]:
    """Lines that only a type checker reads."""
    return {
        child.lineno
        for node in ast.walk(tree(module))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for child in ast.walk(statement)
        if hasattr(child, "lineno")
    }


def test_the_table_itself_has_no_cycle() -> None:
    """What may be imported can be laid out from the ground up."""
    laid: set[str] = set()
    while left := {name for name in ARROWS if name not in laid}:
        ready = {name for name in left if ARROWS[name] <= laid}
        assert ready, f"a cycle among {sorted(left)}"
        laid |= ready


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Inside a room too: no module is, through others, imported by what it imports to load."""
    graph = {module: set(_loaded_with(module)) for module in MODULES}
    while graph:
        ready = [module for module, needs in graph.items() if not needs & graph.keys()]
        assert ready, f"a circle among {sorted(graph)}"
        for module in ready:
            del graph[module]


def _loaded_with(module: str) -> Iterator[str]:
    """Modules imported when this one is: neither for types only nor inside a function."""
    later = _type_lines(module)
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            later.update(child.lineno for child in ast.walk(node) if hasattr(child, "lineno"))
    named = {
        node.lineno
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    for name, line in imports(module):
        if name.startswith("knowledge_nb") and line in named - later:
            path = "/".join(name.split(".")[1:])
            target = f"{path}.py" if f"{path}.py" in MODULES else f"{path}/__init__.py".lstrip("/")
            if target != module:
                yield target


@pytest.mark.parametrize("module", MODULES)
def test_each_library_has_one_owner(module: str) -> None:
    """An outside library is imported where the table says, and `sqlite3` nowhere.

    A second SQLite library in the process would drop the locks of the first.
    """
    here = room(module)
    wrong = []
    for name, line in imports(module):
        library = name.partition(".")[0]
        if library == "sqlite3":
            wrong.append(f"{module}:{line} imports sqlite3")
        elif library not in ("knowledge_nb", "__future__", *sys.stdlib_module_names):
            if library not in OWNERS:
                wrong.append(f"{module}:{line} imports {library}, which has no owner")
            elif (
                here not in OWNERS[library]
                and library != "apsw"
                and line not in _type_lines(module)  # an annotation needs no library
            ):
                wrong.append(f"{module}:{line} imports {library} of {OWNERS[library]}")
    assert wrong == []


@pytest.mark.parametrize("module", [name for name in MODULES if room(name) != "store"])
def test_outside_the_store_apsw_is_a_type_and_a_version(module: str) -> None:
    """Other rooms are handed a connection; they neither make one nor know SQLite's errors."""
    wrong = [
        f"{module}:{node.lineno} uses {ast.unparse(node)}"
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "apsw"
        and node.attr not in ("Connection", "sqlite_lib_version", "apsw_version")
    ]
    wrong += [
        f"{module}:{node.lineno} makes a connection"
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Connection")
    ]
    wrong += [
        f"{module}:{node.lineno} imports names of apsw"
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "apsw"
    ]
    assert wrong == []


@pytest.mark.parametrize("module", MODULES)
def test_no_file_of_the_store_is_opened_as_a_file(module: str) -> None:
    """Opening and closing knowledge.db or a side file would drop SQLite's locks on it."""
    wrong = []
    for node in ast.walk(tree(module)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        opens = re.search(
            r"(^|\.)(open|fdopen|read_bytes|read_text|write_bytes|write_text|touch"
            r"|copy|copy2|copyfile|move)$",
            called,
        )
        names_it = re.search(
            r"\bdatabase\b|sidecars|knowledge\.db|\bDATABASE\w*|-wal|-shm", ast.unparse(node)
        )
        if opens and names_it and module not in OPENS:
            wrong.append(f"{module}:{node.lineno} {ast.unparse(node)}")
    assert wrong == []


@pytest.mark.parametrize("module", MODULES)
def test_no_module_grows_past_the_limit(module: str) -> None:
    """A module is read in one sitting."""
    source = (PACKAGE / module).read_text(encoding="utf-8")
    lines: set[int] = set()
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in layout | {tokenize.ENDMARKER}:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree(module)):
        documented = isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        )
        if documented and ast.get_docstring(node) is not None:
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    assert len(lines) <= LONGER.get(module, LINES_AT_MOST)


@pytest.mark.parametrize("module", MODULES)
def test_no_module_is_named_for_nothing(module: str) -> None:
    """There is no `utils`: a module is named for its idea."""
    assert Path(module).stem not in ("utils", "util", "helpers", "common", "misc")


@pytest.mark.parametrize("module", [name for name in MODULES if room(name) != "cli"])
def test_the_library_never_prints(module: str) -> None:
    """What a library has to say is in its results, its errors, its warnings and its log."""
    wrong = [
        f"{module}:{node.lineno}"
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call)
        and re.fullmatch(r"print|sys\.std(out|err)\.write", ast.unparse(node.func))
    ]
    assert wrong == []


def test_every_module_says_what_it_is_for() -> None:
    """A module begins with a docstring."""
    assert [module for module in MODULES if not ast.get_docstring(tree(module))] == []
