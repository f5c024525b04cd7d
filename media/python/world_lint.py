"""Finds what is wrong with a scenario of a published world, without running any of its code.

Reads one request from standard input and writes one answer to standard output, both as JSON. Python is parsed with
`ast`, and SQL is run in a database in memory that holds nothing else. Needs Python 3.10 or later and nothing but its
standard library.

A finding says where it is by `at`: the part of the scenario, the path of a text in the published JSON, and the line and
column in that text.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
import sqlite3
import sys
import time
import warnings
from typing import Any, Iterator

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SQL_SECONDS = 20.0
STATEMENT_SECONDS = 2.0
MEMORY = 1024 * 1024 * 1024
EXCERPT = 160
MOST_FAILING_INSERTS = 0.1
"""The share of inserts that may fail: the pipeline that makes such worlds allows as many."""
METHODS = ("get", "post", "put", "delete", "patch")
DENIED = {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA}
COMMITS = frozenset(
    "commit begin begin_nested executescript executemany write writelines write_text write_bytes".split()
)
CHANGES = frozenset("append extend insert add update setdefault pop popitem remove clear discard sort".split())
FILE_WRITERS = frozenset("dump write writelines write_text write_bytes remove unlink rename replace mkdir".split())
NO_VALUE = object()

Findings = list[dict[str, Any]]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def finding(kind: str, severity: str, message: str, hint: str, at: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": kind, "severity": severity, "message": message, "hint": hint, "at": at, **more}


def short(text: str) -> str:
    one_line = re.sub(r"\s+", " ", text).strip()
    return one_line if len(one_line) <= EXCERPT else one_line[: EXCERPT - 1] + "…"


def singular(table: str) -> str:
    for end, by in (
        ("ies", "y"),
        ("sses", "ss"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("xes", "x"),
        ("ss", "ss"),
        ("s", ""),
    ):
        if table.endswith(end):
            return table[: -len(end)] + by
    return table


# ---- the database --------------------------------------------------------------------------------------------------


class Template:
    """The scenario's initial database, in memory."""

    def __init__(self) -> None:
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        self.until = self.last = time.monotonic() + SQL_SECONDS
        self.reads: set[tuple[str, str]] | None = None
        self.is_guarded = False
        self.database.set_authorizer(self.authorize)
        self.database.set_progress_handler(lambda: int(time.monotonic() > self.until), 100_000)

    def authorize(self, action: int, first: str | None, second: str | None, _name: str | None, _by: str | None) -> int:
        if self.is_guarded and action in DENIED and first not in ("table_info", "foreign_keys"):
            return sqlite3.SQLITE_DENY
        if self.reads is not None and action == sqlite3.SQLITE_READ and first is not None:
            self.reads.add((first.lower(), (second or "").lower()))
        return sqlite3.SQLITE_OK

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """Lets statements of the scenario reach nothing but this database."""
        self.is_guarded = True
        self.until = min(self.last, time.monotonic() + STATEMENT_SECONDS)
        try:
            yield
        finally:
            self.is_guarded, self.until = False, self.last

    def run(self, statement: str) -> str | None:
        """Runs a statement of the scenario. Returns why it failed."""
        try:
            with self.guarded():
                self.database.execute(statement)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            return str(error)
        return None

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.database.execute(sql, values).fetchall()

    def tables(self) -> dict[str, list[str]]:
        """Returns the columns of each table, all in lower case."""
        names = self.rows("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%'")
        return {
            name.lower(): [row[1].lower() for row in self.rows(f"PRAGMA table_info({quoted(name)})")]
            for (name,) in names
        }

    def read_by(self, sql: str) -> tuple[set[tuple[str, str]], str | None]:
        """Returns the tables and columns that a query reads, and why it cannot be prepared."""
        self.reads = set()
        try:
            values: Any = {name: None for name in re.findall(r"[:@$](\w+)", sql)} or [None] * sql.count("?")
            with self.guarded():
                self.database.execute(f"EXPLAIN {sql}", values)
            return self.reads, None
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            return self.reads, str(error)
        finally:
            self.reads = None

    def first_rows(self, sql: str, values: list[Any]) -> list[tuple[Any, ...]] | None:
        try:
            with self.guarded():
                return self.database.execute(sql, values).fetchmany(2)
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError):
            return None

    def has(self, table: str, column: str, value: Any) -> bool:
        sql = f"SELECT 1 FROM {quoted(table)} WHERE CAST({quoted(column)} AS TEXT) = ? COLLATE NOCASE LIMIT 1"
        return bool(self.first_rows(sql, [str(value)]))

    def values(self) -> dict[str, Any]:
        """Returns a value that some row has, by the name of its column, and by that of its table for IDs."""
        found: dict[str, Any] = {}
        for table, columns in self.tables().items():
            rows = self.rows(f"SELECT * FROM {quoted(table)} ORDER BY 1 LIMIT 1")
            for column, value in zip(columns, rows[0] if rows else (), strict=False):
                if isinstance(value, (str, int, float)):
                    found.setdefault(column, value)
        for table, columns in self.tables().items():
            rows = self.rows(f"SELECT * FROM {quoted(table)} ORDER BY 1 LIMIT 1")
            for column, value in zip(columns, rows[0] if rows else (), strict=False):
                if column in ("id", "code", "name", "slug", "key") and isinstance(value, (str, int)):
                    found[f"{singular(table)}_{column}"] = value
        return found

    def path_values(self, path: str) -> dict[str, Any]:
        """Returns values for the parameters of a path, from a row of the table before each: `/plots/{id}`."""
        found: dict[str, Any] = {}
        segments = path.split("/")
        tables = {singular(table): (table, columns) for table, columns in self.tables().items()}
        for before, segment in zip(segments, segments[1:], strict=False):
            parameter = segment[1:-1].split(":")[0] if segment.startswith("{") else ""
            table, columns = tables.get(singular(before.replace("-", "_")), ("", []))
            for column in (parameter, re.sub(r"^.*_", "", parameter)):
                if column in columns:
                    rows = self.rows(f"SELECT {quoted(column)} FROM {quoted(table)} ORDER BY 1 LIMIT 1")
                    if rows and isinstance(rows[0][0], (str, int)):
                        found[parameter] = rows[0][0]
                    break
        return found


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def build(request: dict[str, Any], found: Findings) -> Template:
    """Builds the database, and reports every statement that fails."""
    template = Template()
    lost: dict[str, dict[str, Any]] = {}
    seen: set[str] = set()
    for index, table in enumerate(request["tables"]):
        name = table["name"]
        path = ["db_schema", "tables", index]
        at = {"part": "schema", "path": [*path, "ddl"]}
        if name.lower() in seen:
            found.append(
                finding(
                    "duplicate",
                    "warning",
                    f"the table {name} is created twice; the first one counts",
                    "Remove one of the two.",
                    at,
                    table=name,
                    excerpt=short(table["ddl"]),
                )
            )
            continue
        seen.add(name.lower())
        why = template.run(table["ddl"])
        if why is not None:
            lost[name.lower()] = finding(
                "ddl_fails",
                "error",
                f"the table {name} cannot be created: {why}",
                "Correct the statement.",
                at,
                table=name,
                excerpt=short(table["ddl"]),
            )
            found.append(lost[name.lower()])
            continue
        for place, statement in enumerate(table["indexes"]):
            why = template.run(statement)
            if why is not None and "already exists" not in why:
                found.append(
                    finding(
                        "ddl_fails",
                        "warning",
                        f"an index of {name} cannot be created: {why}",
                        "Correct the statement, or remove it.",
                        {"part": "schema", "path": [*path, "indexes", place]},
                        table=name,
                        excerpt=short(statement),
                    )
                )
    wrong_keys(template, request, found, lost)
    insert(template, request, found, lost)
    return template


def wrong_keys(template: Template, request: dict[str, Any], found: Findings, lost: dict[str, dict[str, Any]]) -> None:
    """Reports foreign keys to tables and columns that cannot be referred to: no row can be written then."""
    tables = template.tables()
    for index, table in enumerate(request["tables"]):
        name = table["name"].lower()
        if name not in tables:
            continue
        for row in template.rows(f"PRAGMA foreign_key_list({quoted(name)})"):
            parent, column, to = str(row[2]), str(row[3]), row[4]
            if parent.lower() in lost:
                continue  # reported there
            if parent.lower() not in tables:
                what = f"refers to the table {parent}, which does not exist"
            elif to is not None and to.lower() not in tables[parent.lower()]:
                what = f"refers to the column {to} of {parent}, which does not exist"
            elif row[1] == 0 and not is_key(template, parent, to) and not is_composite(template, name, row[0]):
                what = f"refers to {parent}.{to}, which is neither a primary key nor unique"
            else:
                continue
            entry = finding(
                "foreign_key",
                "error",
                f"{table['name']}.{column} {what}",
                "Correct the foreign key, or add what it names.",
                {"part": "schema", "path": ["db_schema", "tables", index, "ddl"]},
                table=table["name"],
                excerpt=short(table["ddl"]),
            )
            lost[name] = entry
            found.append(entry)


def is_composite(template: Template, table: str, key: int) -> bool:
    return sum(row[0] == key for row in template.rows(f"PRAGMA foreign_key_list({quoted(table)})")) > 1


def is_key(template: Template, table: str, column: str | None) -> bool:
    keys = [row[1].lower() for row in template.rows(f"PRAGMA table_info({quoted(table)})") if row[5] > 0]
    if column is None or keys == [column.lower()]:
        return True
    for row in template.rows(f"PRAGMA index_list({quoted(table)})"):
        columns = [one[2] for one in template.rows(f"PRAGMA index_info({quoted(row[1])})")]
        if row[2] and [str(one).lower() for one in columns] == [column.lower()]:
            return True
    return False


def insert(template: Template, request: dict[str, Any], found: Findings, lost: dict[str, dict[str, Any]]) -> None:
    """Inserts the rows as they are published, with foreign keys checked, and reports those that are lost."""
    template.database.execute("PRAGMA foreign_keys = ON")
    failing: Findings = []
    lost_rows: dict[str, int] = {}
    total = 0
    for index, group in enumerate(request["rows"]):
        for place, statement in enumerate(group["statements"]):
            total += 1
            why = template.run(statement)
            if why is None:
                continue
            target = re.match(
                r"\s*(?:INSERT|REPLACE)\b.*?\bINTO\s+[\"'`\[]?(\w+)", statement, re.IGNORECASE | re.DOTALL
            )
            table = target[1] if target else group["table"]
            named = re.search(r"no such table: (?:main\.)?(\w+)", why)
            cause = named[1].lower() if named is not None and named[1].lower() in lost else table.lower()
            if cause in lost:
                lost_rows[cause] = lost_rows.get(cause, 0) + 1
                continue
            at = {"part": "rows", "path": ["sample_data", "tables", index, "insert_statements", place]}
            more = {"table": table, "excerpt": short(statement)}
            broken = dangling(template, statement) if "FOREIGN KEY" in why else None
            if broken is None:
                failing.append(
                    finding(
                        "insert_fails",
                        "warning",
                        f"a row of {table} cannot be inserted: {why}",
                        "Correct the statement: without it, the row is missing.",
                        at,
                        **more,
                    )
                )
                continue
            column, value, parent, to = broken
            entry = finding(
                "foreign_key",
                "warning",
                f"{table}.{column} = {value!r} matches no row of {parent}",
                f"Insert that row of {parent} first, or correct the value.",
                at,
                **more,
            )
            failing.append({**entry, "parent": (parent, to, value)})
    severity = "error" if len(failing) > total * MOST_FAILING_INSERTS else "warning"
    for entry in failing:
        parent = entry.pop("parent", None)
        if parent is not None and template.has(*parent):
            entry["message"] += " at this point: it is inserted later"
        found.append({**entry, "severity": severity})
    for table, rows in lost_rows.items():
        lost[table]["message"] += f", so {rows} {'row is' if rows == 1 else 'rows are'} lost"


def dangling(template: Template, statement: str) -> tuple[str, Any, str, str] | None:
    """Returns the column, the value, and the table and column in which a row to be inserted matches nothing."""
    database = template.database
    database.execute("SAVEPOINT tried")
    database.execute("PRAGMA defer_foreign_keys = ON")
    try:
        if template.run(statement) is not None:
            return None
        for table, row, parent, key in template.rows("PRAGMA foreign_key_check"):
            keys = [one for one in template.rows(f"PRAGMA foreign_key_list({quoted(table)})") if one[0] == key]
            column = str(keys[0][3])
            values = template.rows(f"SELECT {quoted(column)} FROM {quoted(table)} WHERE rowid = ?", row) if row else []
            primary = [one[1] for one in template.rows(f"PRAGMA table_info({quoted(parent)})") if one[5] > 0]
            return column, values[0][0] if values else None, parent, keys[0][4] or (primary[0] if primary else "rowid")
        return None
    finally:
        database.execute("ROLLBACK TO tried")
        database.execute("RELEASE tried")
        database.execute("PRAGMA defer_foreign_keys = OFF")


# ---- Python --------------------------------------------------------------------------------------------------------


class Source:
    """A text with Python, and where it is published."""

    def __init__(self, text: str, at: dict[str, Any], what: str, found: Findings, **more: Any) -> None:
        self.text, self.at, self.more = text, at, more
        self.lines = text.split("\n")
        self.tree: ast.Module | None = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(text)
        except SyntaxError as error:
            line = min(max(error.lineno or 1, 1), len(self.lines))
            place = {**at, "line": line, "column": max(error.offset or 1, 1)}
            found.append(
                finding(
                    "syntax",
                    "error",
                    f"{what} is not Python: {error.msg}",
                    "Correct the line.",
                    place,
                    excerpt=short(self.lines[line - 1]),
                    **more,
                )
            )
        except (ValueError, RecursionError, MemoryError) as error:
            found.append(
                finding(
                    "syntax",
                    "error",
                    f"{what} is not Python: {error}",
                    "Correct it.",
                    {**at, "line": 1, "column": 1},
                    **more,
                )
            )

    def place(self, node: ast.AST) -> dict[str, Any]:
        line = getattr(node, "lineno", 1)
        before = self.lines[line - 1].encode()[: getattr(node, "col_offset", 0)].decode("utf-8", "replace")
        return {**self.at, "line": line, "column": len(before.encode("utf-16-le")) // 2 + 1}

    def excerpt(self, node: ast.AST) -> str:
        return short(self.lines[getattr(node, "lineno", 1) - 1])

    def report(
        self, found: Findings, node: ast.AST, kind: str, severity: str, message: str, hint: str, **more: Any
    ) -> None:
        entry = finding(
            kind, severity, message, hint, self.place(node), excerpt=self.excerpt(node), **self.more, **more
        )
        if entry not in found:
            found.append(entry)


def constant(node: ast.AST | None, names: dict[str, Any] | None = None) -> Any:
    """Returns the value of a constant expression, with parts of it joined; NO_VALUE for any other."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and names is not None:
        return names.get(node.id, NO_VALUE)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = constant(node.left, names), constant(node.right, names)
        if isinstance(left, str) and isinstance(right, str):
            return left + right
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = constant(node.operand)
        return -value if isinstance(value, (int, float)) else NO_VALUE
    return NO_VALUE


def name_of(node: ast.AST | None) -> str:
    """Returns the last name of `a`, `a.b`, or a call or subscript of one."""
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == name), None)


def functions_of(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


class Model:
    """A class that is mapped to a table."""

    def __init__(self, node: ast.ClassDef, table: str) -> None:
        self.node, self.table = node, table
        self.columns: dict[str, str] = {}
        """Names of columns by attribute."""
        self.places: dict[str, ast.AST] = {}
        for one in node.body:
            target = (
                one.targets[0]
                if isinstance(one, ast.Assign)
                else one.target
                if isinstance(one, ast.AnnAssign)
                else None
            )
            if not isinstance(target, ast.Name) or target.id.startswith("__"):
                continue
            value = one.value  # type: ignore[union-attr]
            is_mapped = isinstance(one, ast.AnnAssign) and name_of(one.annotation) == "Mapped"
            if value is None and is_mapped:
                self.add(target.id, target.id, one)
            elif isinstance(value, ast.Call) and name_of(value) in ("Column", "mapped_column"):
                named = constant(value.args[0]) if value.args else None
                self.add(target.id, named if isinstance(named, str) else target.id, one)

    def add(self, attribute: str, column: str, node: ast.AST) -> None:
        self.columns[attribute] = column.lower()
        self.places[attribute] = node


class Route:
    def __init__(self, method: str, path: str, function: Function, operation: str) -> None:
        self.method, self.path, self.function, self.operation = method, path, function, operation
        self.segments = [None if "{" in one else one for one in path.split("/")]

    def takes(self, other: Route) -> bool:
        """Whether every call of the other route fits this one."""
        return (
            self.method == other.method
            and len(self.segments) == len(other.segments)
            and all(own is None or own == one for own, one in zip(self.segments, other.segments))
        )


class Application:
    """What the code of a scenario declares: mapped tables, routes, and what each handler writes."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tree = source.tree or ast.Module(body=[], type_ignores=[])
        self.classes = {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}
        self.functions = {node.name: node for node in functions_of(self.tree)}
        self.models = dict(self.find_models())
        self.aliases = {
            one.targets[0].id: one.value
            for one in self.tree.body
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
        }
        self.globals = {name for name in self.aliases if name not in self.classes}
        self.routes = list(self.find_routes())
        self.reached = {route.operation: self.reachable(route.function) for route in self.routes}

    def find_models(self) -> Iterator[tuple[str, Model]]:
        for name, node in self.classes.items():
            for one in node.body:
                if isinstance(one, ast.Assign) and name_of(one.targets[0]) == "__tablename__":
                    table = constant(one.value)
                    if isinstance(table, str):
                        yield name, Model(node, table.lower())

    def find_routes(self) -> Iterator[Route]:
        prefixes = {name: "" for name in self.aliases}
        for name, value in self.aliases.items():
            if isinstance(value, ast.Call) and isinstance(prefix := constant(keyword(value, "prefix")), str):
                prefixes[name] = prefix
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and name_of(node.func) == "include_router" and node.args:
                if isinstance(prefix := constant(keyword(node, "prefix")), str):
                    router = name_of(node.args[0])
                    prefixes[router] = prefix + prefixes.get(router, "")
        for function in self.functions.values():
            for call in function.decorator_list:
                if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                    continue
                if not isinstance(call.func.value, ast.Name) or call.func.value.id not in prefixes:
                    continue
                path = constant(call.args[0] if call.args else keyword(call, "path"))
                if not isinstance(path, str):
                    continue
                methods = [call.func.attr]
                if call.func.attr == "api_route" and isinstance(
                    listed := keyword(call, "methods"), (ast.List, ast.Tuple)
                ):
                    methods = [str(constant(one)).lower() for one in listed.elts]
                path = prefixes[call.func.value.id] + path
                for method in methods:
                    if method in METHODS:
                        operation = constant(keyword(call, "operation_id"))
                        default = re.sub(r"\W", "_", f"{function.name}{path}") + f"_{method}"
                        yield Route(method, path, function, operation if isinstance(operation, str) else default)

    def tools(self) -> dict[str, Route]:
        """Returns the routes by name that the application's OpenAPI document lists: the last of a method and path."""
        listed = {(route.method, route.path): route for route in self.routes}
        return {route.operation: route for route in listed.values()}

    def reachable(self, function: Function) -> list[Function]:
        """Returns a function and those that it may call, by name, also as dependencies."""
        found = {function.name: function}
        left = [function]
        while left:
            for node in ast.walk(left.pop()):
                name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
                called = self.functions.get(name)
                if called is not None and name not in found and not any(r.function is called for r in self.routes):
                    found[name] = called
                    left.append(called)
        return list(found.values())

    def pure(self) -> list[str]:
        """Returns the tools that never write: they neither commit nor change what outlives a call."""
        if re.search(
            r"AUTOCOMMIT|autocommit\s*=\s*True|sqlite3\.connect|\.middleware\(|add_middleware", self.source.text
        ):
            return []
        return sorted(
            name
            for name, route in self.tools().items()
            if route.method == "get" and not any(map(self.may_write, self.reached[route.operation]))
        )

    def may_write(self, function: Function) -> bool:
        for node in ast.walk(function):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                return True
            if isinstance(node, ast.Call):
                name = name_of(node.func)
                owner = node.func.value if isinstance(node.func, ast.Attribute) else None
                if name in COMMITS or (name in CHANGES and isinstance(owner, ast.Name) and owner.id in self.globals):
                    return True
                if name == "open" and any(
                    isinstance(m := constant(one), str) and set(m) & set("wax+") for one in node.args[1:]
                ):
                    return True
            targets = (
                node.targets
                if isinstance(node, (ast.Assign, ast.Delete))
                else ([node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else [])
            )
            for target in targets:
                while isinstance(target, (ast.Subscript, ast.Attribute)):
                    target = target.value
                    if isinstance(target, ast.Name) and target.id in self.globals:
                        return True
        return False

    def writes(self) -> set[tuple[str, str]]:
        """Returns the tables and columns that some tool may write: at most too many."""
        found: set[tuple[str, str]] = set()
        functions = {one.name: one for route in self.routes for one in self.reached[route.operation]}
        for function in functions.values():
            nodes = list(ast.walk(function))
            used = [self.models[node.id] for node in nodes if isinstance(node, ast.Name) and node.id in self.models]
            everything = {(model.table, column) for model in used for column in (*model.columns.values(), "*")}
            for node in nodes:
                if isinstance(node, ast.Call):
                    name = name_of(node.func)
                    if name in self.models and isinstance(node.func, ast.Name):
                        model = self.models[name]
                        found.add((model.table, "*"))
                        given = {one.arg for one in node.keywords}
                        found |= {(model.table, c) for a, c in model.columns.items() if a in given or None in given}
                    elif name in (
                        "setattr",
                        "delete",
                        "update",
                        "insert",
                        "merge",
                        "values",
                        "execute",
                        "append",
                        "remove",
                    ) or (name.startswith("bulk_")):
                        is_read = name == "execute" and not any(
                            isinstance(one, ast.Name) and one.id in ("insert", "update", "delete", "text")
                            for one in nodes
                        )
                        if not is_read:
                            found |= everything
                elif isinstance(node, (ast.Assign, ast.AugAssign)):
                    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                        for one in ast.walk(target):
                            if isinstance(one, ast.Attribute):
                                found |= {
                                    (model.table, column)
                                    for model in self.models.values()
                                    for attribute, column in model.columns.items()
                                    if attribute == one.attr
                                }
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    for table in re.findall(
                        r"(?:INTO|UPDATE|DELETE\s+FROM)\s+[\"`\[]?(\w+)", node.value, re.IGNORECASE
                    ):
                        found |= {(table.lower(), "*"), (table.lower(), "?")}
        found |= {(model.table, column) for model in self.models.values() for column in self.updated(model)}
        return found

    def updated(self, model: Model) -> Iterator[str]:
        """Yields the columns that get a value by themselves."""
        for attribute, node in model.places.items():
            call = getattr(node, "value", None)
            if isinstance(call, ast.Call) and (keyword(call, "onupdate") or keyword(call, "default")):
                yield model.columns[attribute]

    # -- findings

    def check(self, tables: dict[str, list[str]], spec: list[dict[str, Any]], found: Findings) -> None:
        self.check_models(tables, found)
        shadowed = self.check_routes(found)
        self.check_spec(spec, shadowed, found)
        self.check_nulls(found)

    def check_models(self, tables: dict[str, list[str]], found: Findings) -> None:
        creates = any(
            name_of(node.func) == "create_all"
            for one in self.tree.body
            if not isinstance(one, ast.If)
            for node in ast.walk(one)
            if isinstance(node, ast.Call)
        )
        for name, model in self.models.items():
            columns = tables.get(model.table)
            if columns is None:
                if not creates and tables:
                    self.source.report(
                        found,
                        model.node,
                        "unknown_name",
                        "error",
                        f"{name} is stored in the table {model.table}, which does not exist",
                        "Correct the name, or add the table to the schema.",
                        table=model.table,
                    )
                continue
            for attribute, column in model.columns.items():
                if column not in columns:
                    self.source.report(
                        found,
                        model.places[attribute],
                        "unknown_name",
                        "error",
                        f"{name}.{attribute} is stored in the column {column}, which {model.table} does not have",
                        "Correct the name, or add the column to the schema.",
                        table=model.table,
                    )

    def check_routes(self, found: Findings) -> set[str]:
        """Reports routes whose calls another one takes. Returns the names of those that no call reaches or lists."""
        hidden: set[str] = set()
        named: dict[str, Route] = {}
        for at, route in enumerate(self.routes):
            first = next((one for one in self.routes[:at] if one.takes(route)), None)
            request = f"{route.method.upper()} {route.path}"
            if first is not None:
                is_same = first.path == route.path
                hidden |= {route.operation, first.operation} if is_same else {route.operation}
                message = (
                    f"{first.operation} and {route.operation} both handle {request}: agents see {route.operation}, and "
                    f"their calls run {first.operation}"
                    if is_same
                    else f"calls of {route.operation} ({request}) run {first.operation} ({first.path}), which is "
                    "declared earlier"
                )
                hint = (
                    "Give one of them another path." if is_same else f"Move {route.operation} above {first.operation}."
                )
                self.source.report(
                    found, route.function, "duplicate_route", "error", message, hint, tool=route.operation
                )
            elif route.operation in named:
                self.source.report(
                    found,
                    route.function,
                    "duplicate",
                    "error",
                    f"two tools are named {route.operation}",
                    "Give one of them another operation_id.",
                    tool=route.operation,
                )
            named.setdefault(route.operation, route)
        return hidden

    def check_spec(self, spec: list[dict[str, Any]], hidden: set[str], found: Findings) -> None:
        known = {route.operation for route in self.routes} | hidden
        requests = {(route.method, tuple(route.segments)) for route in self.routes}
        for endpoint in spec:
            segments = tuple(None if "{" in one else one for one in endpoint["path"].split("/"))
            if endpoint["operation_id"] in known or (endpoint["method"].lower(), segments) in requests:
                continue
            what = f"{endpoint['method'].upper()} {endpoint['path']}"
            found.append(
                finding(
                    "endpoint_without_tool",
                    "warning",
                    f"the code has no tool {endpoint['operation_id']} ({what})",
                    "Add it to the code, or remove it from the specification.",
                    {"part": "spec", "path": endpoint["at"]},
                    tool=endpoint["operation_id"],
                )
            )

    def check_nulls(self, found: Findings) -> None:
        reported: set[str] = set()
        for name, route in self.tools().items():
            arguments = route.function.args
            plain = [*arguments.posonlyargs, *arguments.args]
            defaults = [*[None] * (len(plain) - len(arguments.defaults)), *arguments.defaults]
            for one, default in [*zip(plain, defaults), *zip(arguments.kwonlyargs, arguments.kw_defaults)]:
                if is_none(default) and not self.admits_none(one.annotation):
                    self.null_trap(found, one, one.arg, name, one.annotation)
                for model in self.bodies(one.annotation, set()):
                    for field in model.body:
                        if not isinstance(field, ast.AnnAssign) or f"{model.name}.{field.target}" in reported:
                            continue
                        if is_none(field.value) and not self.admits_none(field.annotation):
                            reported.add(f"{model.name}.{field.target}")
                            self.null_trap(found, field, name_of(field.target), name, field.annotation)

    def null_trap(self, found: Findings, node: ast.AST, parameter: str, tool: str, annotation: ast.expr | None) -> None:
        kind = ast.unparse(annotation) if annotation is not None else "it"
        self.source.report(
            found,
            node,
            "optional_null",
            "warning",
            f"`{parameter}` of {tool} may be left out, but null is refused: its type is {kind}",
            f"Declare it as Optional[{kind}].",
            tool=tool,
        )

    def bodies(self, annotation: ast.expr | None, seen: set[str]) -> Iterator[ast.ClassDef]:
        """Yields the classes that an argument consists of."""
        if annotation is None:
            return
        for node in ast.walk(annotation):
            model = self.classes.get(node.id) if isinstance(node, ast.Name) else None
            if model is None or model.name in seen or model.name in self.models:
                continue
            seen.add(model.name)
            yield model
            for base in model.bases:
                yield from self.bodies(base, seen)
            for field in model.body:
                if isinstance(field, ast.AnnAssign):
                    yield from self.bodies(field.annotation, seen)

    def admits_none(self, annotation: ast.expr | None) -> bool:
        match annotation:
            case None:
                return True
            case ast.Constant(value=str() as text):
                with contextlib.suppress(SyntaxError):
                    return self.admits_none(ast.parse(text, mode="eval").body)
                return True
            case ast.Constant(value=value):
                return value is None
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self.admits_none(left) or self.admits_none(right)
            case ast.Subscript(value=value, slice=inner):
                kind = name_of(value)
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                if kind == "Annotated":
                    return self.admits_none(parts[0])
                return kind == "Optional" or (kind == "Union" and any(map(self.admits_none, parts)))
            case ast.Name(id=name):
                if name in self.aliases:
                    return self.admits_none(self.aliases[name])
                return name in ("Any", "object", "None", "Request", "Response", "BackgroundTasks")
            case ast.Attribute(attr=name):
                return name in ("Any", "NoneType")
        return True


def is_none(default: ast.expr | None) -> bool:
    """Whether a default is None, also as `Query(None)` or `Field(default=None)`."""
    if isinstance(default, ast.Call) and name_of(default) in ("Query", "Body", "Path", "Header", "Form", "Field"):
        default = default.args[0] if default.args else keyword(default, "default")
    return isinstance(default, ast.Constant) and default.value is None


# ---- verifiers -----------------------------------------------------------------------------------------------------


class Query:
    """A query in a verifier, with the values of its parameters as far as they are known."""

    def __init__(self, sql: str, node: ast.AST, values: list[Any] | None, is_tried: bool) -> None:
        self.sql, self.node, self.values, self.is_tried = sql, node, values, is_tried


def queries_of(tree: ast.Module) -> Iterator[Query]:
    names: dict[str, Any] = {}
    texts: dict[str, ast.expr] = {}
    changed: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, constant(node.value)
            if name in names or value is NO_VALUE:
                changed.add(name)
            names[name] = value
            texts[name] = node.value
    names = {name: value for name, value in names.items() if name not in changed}
    tried = {
        id(one)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try)
        for child in node.body
        for one in ast.walk(child)
    }
    with_values: dict[int, list[Any] | None] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for at, one in enumerate(node.args):
            if not is_query(sql := constant(one, names)):
                continue
            given = node.args[at + 1] if at + 1 < len(node.args) else None
            values = (
                [constant(each, names) for each in given.elts] if isinstance(given, (ast.Tuple, ast.List)) else None
            )
            known = values if values is not None and NO_VALUE not in values else [] if "?" not in sql else None
            written = texts[one.id] if isinstance(one, ast.Name) else one
            yield Query(sql, written, known, id(node) in tried)
            with_values[id(one)] = known
            if isinstance(one, ast.Name):
                with_values.update({id(each): known for each in ast.walk(tree) if constant(each) == sql})
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(one) for one in node.values}
        sql = constant(node)
        if is_query(sql) and id(node) not in with_values and id(node) not in inside:
            inside |= {id(one) for one in ast.walk(node)}
            yield Query(sql, node, [] if "?" not in sql and not re.search(r"[:@]\w", sql) else None, id(node) in tried)


def is_query(value: Any) -> bool:
    return isinstance(value, str) and re.match(r"\s*(SELECT|WITH)\b", value, re.IGNORECASE) is not None


MISSING = re.compile(r"no such (table|column): (?:\w+\.)?(\w+)$")
EQUAL = re.compile(r"(?:(\w+)\.)?(\w+)\s*(?:=|==|\bIS\b)\s*(?:'((?:[^']|'')*)'|(\?))", re.IGNORECASE)


def check_verifier(
    verifier: dict[str, Any], template: Template, writes: set[tuple[str, str]] | None, found: Findings
) -> dict[str, Any] | None:
    """Reports what a verifier names that does not exist, and what it waits for in vain. Returns what it looks at."""
    part = f"{verifier['mode']}Verifier"
    task = verifier["task"]
    source = Source(
        verifier["python"],
        {"part": part, "path": ["verification", "code"], "task": task},
        f"the {verifier['mode']} verifier of task {task}",
        found,
        task=task,
    )
    if source.tree is None:
        return None
    defined = {
        node.name: node for node in source.tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    name = verifier["function"]
    if name not in defined:
        source.report(
            found,
            source.tree,
            "syntax",
            "error",
            f"the verifier of task {task} defines no function {name}",
            "Add its function, or rename the one that is there.",
        )
        return None
    tables = template.tables()
    written = None if writes is None else {table for table, _column in writes}
    looked: set[str] = set()
    for query in queries_of(source.tree):
        reads, why = template.read_by(query.sql)
        missing = MISSING.search(why or "")
        if missing is not None:
            source.report(
                found,
                query.node,
                "unknown_name",
                "warning" if query.is_tried else "error",
                f"the verifier of task {task} reads the {missing[1]} {missing[2]}, which does not exist",
                "Correct the name: the verifier fails here, or sees no rows.",
            )
        if why is not None:
            continue
        looked |= {table for table, _column in reads if not table.startswith("sqlite_")}
        if writes is not None and written is not None:
            check_reachable(source, query, reads, template, tables, writes, written, found, task)
    arguments = [one.arg for one in defined[name].args.args]
    answered = len(arguments) > 2 and any(
        isinstance(node, ast.Name) and node.id == arguments[2] for node in ast.walk(defined[name])
    )
    return {"task": task, "mode": verifier["mode"], "tables": sorted(looked), "answer": answered}


def check_reachable(
    source: Source,
    query: Query,
    reads: set[tuple[str, str]],
    template: Template,
    tables: dict[str, list[str]],
    writes: set[tuple[str, str]],
    written: set[str],
    found: Findings,
    task: int,
) -> None:
    """Reports a condition that no row meets at the start and that no tool can bring about."""
    looked = {table for table, _column in reads if table in tables}
    if query.values is not None and looked and not looked & written:
        rows = template.first_rows(query.sql, query.values)
        if rows is not None and all(not any(row) for row in rows):
            source.report(
                found,
                query.node,
                "unreachable",
                "warning",
                f"the verifier of task {task} looks for rows of {', '.join(sorted(looked))}: there are none, and no "
                "tool writes them",
                "Correct the condition, or add a tool that writes them.",
            )
            return
    known = list(query.values or [])
    for found_one in EQUAL.finditer(query.sql):
        if found_one[4]:
            at = query.sql[: found_one.start(4)].count("?")
            value = known[at] if at < len(known) else NO_VALUE
        else:
            value = found_one[3].replace("''", "'")
        column = found_one[2].lower()
        owners = [table for table in looked if column in tables[table] and (table, column) in reads]
        if not isinstance(value, str) or len(owners) != 1 or (query.values is None and found_one[4]):
            continue
        table = owners[0]
        if (table, column) in writes or (table, "?") in writes or template.has(table, column, value):
            continue
        source.report(
            found,
            query.node,
            "unreachable",
            "warning",
            f"the verifier of task {task} looks for {table}.{column} = {value!r}: no row has it, and no tool writes "
            f"{column}",
            "Correct the value, or add a tool that writes it.",
            table=table,
        )


# ---- tasks ---------------------------------------------------------------------------------------------------------

KNOWN = r"\b(?:(?:(?:of|for|to|from|in)\s+)?(?:the|my)\s+(?:existing\s+)?|(?:of|for|to|from|in)\s+)"
NAMED = r"\s+(?:(?:named|called)\s+)?(?:[\"“']([^\"”']{2,60})[\"”']|#?(\d+)\b)"
MOST_WORDS = 6
"""Longer quotations are texts, not names."""


def check_tasks(request: dict[str, Any], template: Template, found: Findings) -> None:
    """Reports tasks that are there twice, that nothing judges, and that speak of rows that do not exist."""
    tables = template.tables()
    texts: dict[str, int] = {}
    judged = {(one["task"], one["mode"]) for one in (*request["verifiers"], *request["unreadable"])}
    for task, text in enumerate(request["tasks"]):
        at = {"part": "tasks", "path": ["tasks", task]}
        more = {"task": task, "excerpt": short(text)}
        key = re.sub(r"\W+", " ", text.lower()).strip()
        if key in texts:
            found.append(
                finding(
                    "duplicate",
                    "warning",
                    f"task {task} is the same as task {texts[key]}",
                    "Remove one of the two.",
                    at,
                    **more,
                )
            )
            continue
        texts[key] = task
        missing = [mode for mode in request["modes"] if (task, mode) not in judged]
        if missing:
            found.append(
                finding(
                    "no_verifier",
                    "warning",
                    f"task {task} has no {' and no '.join(missing)} verifier",
                    "Write one: nothing else judges the task.",
                    at,
                    **more,
                )
            )
        for name, value, table in named_rows(text, tables, template):
            maker = next(
                (at for at, other in enumerate(request["tasks"][:task]) if value.lower() in other.lower()), None
            )
            why = (
                "" if maker is None else f"; task {maker} speaks of it, too, but each task begins with the initial rows"
            )
            found.append(
                finding(
                    "unknown_name",
                    "warning",
                    f"task {task} speaks of the {name} {value!r}, but no row has it{why}",
                    "Correct the name in the task, or add the row.",
                    at,
                    table=table,
                    **more,
                )
            )


def named_rows(text: str, tables: dict[str, list[str]], template: Template) -> Iterator[tuple[str, str, str]]:
    """Yields what a text speaks of as existing, like `the plot "B7"` or `plot 7`, that no row has."""
    for table, columns in tables.items():
        name = singular(table).replace("_", " ")
        if len(name) < 3:
            continue
        for match in re.finditer(KNOWN + re.escape(name) + NAMED, text, re.IGNORECASE):
            value = match[1] or match[2]
            if text.lower().index(value.lower()) < match.start() or len(value.split()) > MOST_WORDS:
                continue  # made in the same task, or a text
            places = (
                [(table, one) for one in columns]
                if match[1] is None
                else ([(other, one) for other, all_columns in tables.items() for one in all_columns])
            )
            if not any(has_value(template, *place, value) for place in places):
                yield name, value, table


def has_value(template: Template, table: str, column: str, value: str) -> bool:
    if value.isdigit():
        return template.has(table, column, value)
    sql = f"SELECT 1 FROM {quoted(table)} WHERE instr(lower(CAST({quoted(column)} AS TEXT)), lower(?)) > 0 LIMIT 1"
    return bool(template.first_rows(sql, [value]))


# ---- scenarios -----------------------------------------------------------------------------------------------------


def lint_application(request: dict[str, Any]) -> dict[str, Any]:
    """Agent World Model: an application, its schema, its rows, and verifiers in two modes."""
    found: Findings = []
    template = build(request, found)
    answer: dict[str, Any] = {"findings": found}
    writes: set[tuple[str, str]] | None = None
    if request.get("code") is not None:
        source = Source(request["code"], {"part": "code", "path": ["full_code"]}, "the code", found)
        if source.tree is not None:
            application = Application(source)
            application.check(template.tables(), request["spec"], found)
            writes = application.writes()
            answer["pure"] = application.pure()
            examples = {
                endpoint["operation_id"]: {
                    name: value for name, value in endpoint["examples"].items() if isinstance(value, (str, int, float))
                }
                for endpoint in request["spec"]
            }
            answer["tools"] = {
                name: {
                    "method": route.method,
                    "path": route.path,
                    "line": route.function.lineno,
                    "values": template.path_values(route.path),
                    "examples": examples.get(name, {}),
                }
                for name, route in application.tools().items()
            }
            answer["values"] = template.values()
            answer["written"] = sorted({table for table, _column in writes})
    check_tasks(request, template, found)
    looked = [check_verifier(one, template, writes, found) for one in request["verifiers"]]
    answer["verifiers"] = [one for one in looked if one is not None]
    return answer


def lint_functions(request: dict[str, Any]) -> dict[str, Any]:
    """Agent-World: one function for each tool, and collections of records."""
    found: Findings = []
    pure: list[str] = []
    names: set[str] = set()
    for index, tool in enumerate(request["tools"]):
        path = ["data", "ToolDesignAgent", "tool_schemas", index]
        name = tool["name"]
        if name in names:
            found.append(
                finding(
                    "duplicate",
                    "error",
                    f"two tools are named {name}",
                    "Rename or remove one of them.",
                    {"part": "tool", "path": [*path, "name"], "tool": index},
                    tool=name,
                )
            )
        names.add(name)
        at = {"part": "tool", "path": [*path, "implementation"], "tool": index}
        source = Source(tool["implementation"], at, f"the tool {name}", found, tool=name)
        if source.tree is None:
            continue
        functions = {
            one.name: one for one in source.tree.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
        }
        function = functions.get(name)
        if function is None:
            source.report(
                found,
                source.tree,
                "syntax",
                "error",
                f"the tool {name} defines no function {name}",
                "Rename its function.",
            )
            continue
        check_parameters(tool, function, source, found)
        if not any(writes_files(one) for one in functions_of(source.tree)):
            pure.append(name)
    check_records(request, found)
    for task, question in enumerate(request["questions"]):
        at = {"part": "questions", "path": ["tasks", task]}
        if not question["judged"]:
            found.append(
                finding(
                    "no_verifier",
                    "warning",
                    f"task {task} has no rubric",
                    "Write one: nothing else judges the task.",
                    at,
                    task=task,
                    excerpt=short(question["task"]),
                )
            )
        for step, tool in enumerate(question["chain"]):
            if tool not in names:
                found.append(
                    finding(
                        "unknown_name",
                        "error",
                        f"the solution of task {task} calls {tool}, which is no tool",
                        "Correct the name, or add the tool.",
                        {"part": "questions", "path": ["tasks", task, "grading_rubric", "verified_tool_chain", step]},
                        task=task,
                        tool=tool,
                    )
                )
        if any(one["task"].strip().lower() == question["task"].strip().lower() for one in request["questions"][:task]):
            found.append(
                finding(
                    "duplicate",
                    "warning",
                    f"task {task} is there twice",
                    "Remove one of the two.",
                    at,
                    task=task,
                    excerpt=short(question["task"]),
                )
            )
    values: dict[str, Any] = {}
    for records in request["collections"].values():
        for name, value in records[0].items() if records and isinstance(records[0], dict) else ():
            if isinstance(value, (str, int, float)):
                values.setdefault(name, value)
    return {"findings": found, "pure": sorted(pure), "values": values}


def check_parameters(tool: dict[str, Any], function: Function, source: Source, found: Findings) -> None:
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(zip([one.arg for one in plain][len(plain) - len(arguments.defaults) :], arguments.defaults))
    defaults |= {one.arg: value for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults) if value is not None}
    taken = {one.arg: one for one in (*plain, *arguments.kwonlyargs)}
    name = tool["name"]
    parameters = tool.get("parameters") or {}
    for parameter, schema in parameters.get("properties", {}).items():
        argument = taken.get(parameter)
        if argument is None:
            if arguments.kwarg is None:
                source.report(
                    found,
                    function,
                    "unknown_name",
                    "error",
                    f"{name} gets `{parameter}`, which its function does not take",
                    "Add the argument, or remove it from the schema.",
                )
        elif parameter not in parameters.get("required", []):
            if parameter not in defaults:
                source.report(
                    found,
                    argument,
                    "optional_null",
                    "warning",
                    f"`{parameter}` of {name} may be left out, but its function needs it",
                    "Give the argument a default, or list it in `required`.",
                )
            elif is_none(defaults[parameter]) and not admits_null(schema):
                source.report(
                    found,
                    argument,
                    "optional_null",
                    "warning",
                    f"`{parameter}` of {name} may be left out, but null is refused by its schema",
                    "Allow null in the schema.",
                )


def admits_null(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return True
    kinds = schema.get("type")
    if "anyOf" in schema or "oneOf" in schema:
        return any(admits_null(one) for one in [*schema.get("anyOf", []), *schema.get("oneOf", [])])
    return kinds is None or kinds == "null" or (isinstance(kinds, list) and "null" in kinds)


def writes_files(function: Function) -> bool:
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        name = name_of(node.func)
        modes = [
            constant(one) for one in [*node.args[1:], *(each.value for each in node.keywords if each.arg == "mode")]
        ]
        if name == "open" and any(
            mode is NO_VALUE or (isinstance(mode, str) and set(mode) & set("wax+")) for mode in modes
        ):
            return True
        if name in FILE_WRITERS and not (name == "replace" and not is_file_call(node)):
            return True
    return False


def is_file_call(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "os"


def check_records(request: dict[str, Any], found: Findings) -> None:
    """Reports records with the same ID, and IDs of other collections that none of their records has."""
    collections = request["collections"]
    ids: dict[str, tuple[str, set[Any]]] = {}
    for name, records in collections.items():
        base = singular(re.sub(r"\.json$", "", name))
        for field in ("id", f"{base}_id"):
            values = [one[field] for one in records if isinstance(one, dict) and isinstance(one.get(field), (str, int))]
            if not values or len(values) < len(records):
                continue
            ids[base] = (name, set(values))
            for at, value in enumerate(values):
                if value in values[:at]:
                    found.append(
                        finding(
                            "duplicate",
                            "warning",
                            f"two records of {name} have {field} = {value!r}",
                            "Give one of them another ID.",
                            {"part": "collection", "collection": name, "path": [at, field]},
                            table=name,
                        )
                    )
            break
    for name, records in collections.items():
        for at, record in enumerate(records):
            for field, value in record.items() if isinstance(record, dict) else ():
                target = ids.get(field[:-3]) if field.endswith("_id") else None
                if target is None or target[0] == name or not isinstance(value, (str, int)) or value in target[1]:
                    continue
                found.append(
                    finding(
                        "foreign_key",
                        "warning",
                        f"{field} = {value!r} of {name} matches no record of {target[0]}",
                        f"Add that record to {target[0]}, or correct the value.",
                        {"part": "collection", "collection": name, "path": [at, field]},
                        table=name,
                    )
                )


def main() -> None:
    if resource is not None:
        _soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    request = json.loads(sys.stdin.buffer.read())
    answer = lint_application(request) if request["format"] == "awm" else lint_functions(request)
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=True, default=str).encode())


if __name__ == "__main__":
    main()
