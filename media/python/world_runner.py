"""Runs the worlds of published environments: one process for all sessions of a scenario.

Reads requests from standard input and writes answers to standard output, both as JSON lines:

    {"id": 1, "op": "call", "session": "s1", ...}    {"id": 1, "ok": {...}}
                                                     {"id": 1, "error": {"class": ..., "message": ..., "line": ...}}
                                                     {"session": "s1", "log": "out", "text": ...}
                                                     {"session": "s1", "ended": "was killed by SIGKILL"}

`load` imports the scenario's code once, and answers each of its reads once, so that its mappers and caches exist. Each
`open` then forks a session, which shares that memory. The process relays lines between its standard streams and the
pipes of the sessions: a session can neither forge the answers of another one nor block it. Where there is no `fork`, a
process holds a single session.

Needs Python 3.10 or later and nothing but its standard library; the scenario's code needs its own packages.
"""

from __future__ import annotations

import base64
import contextlib
import contextvars
import ctypes
import datetime
import functools
import gc
import hashlib
import importlib.util
import inspect
import json
import linecache
import os
import random
import re
import selectors
import shutil
import signal
import sqlite3
import sqlite3.dbapi2
import sys
import threading
import time
import traceback
import types
import urllib.parse
import uuid
import weakref
import zlib
from typing import Any, Callable, Iterator

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

CAN_FORK = hasattr(os, "fork")
MEGABYTE = 1024 * 1024
MAX_LINE = 64 * MEGABYTE
LOG_CHARS = 64 * 1024
"""Output of user code that is kept for each request."""
LOCK_SECONDS = 1.0
"""How long a statement waits for a lock: only the session's own code can hold it."""
FILE_MB = 256
CPU_SECONDS = 120.0
"""Processor time of a call; its time limit is the host's."""
WARM_SECONDS = 3.0
STOP_SECONDS = 0.3
"""How long a session that is stopped may take to say where it was."""
MAX_CHANGES = 5000
MAX_CHANGE_BYTES = 16 * MEGABYTE
"""Calls that change more are not reported by row: their changes are unknown."""
MAX_STATE_BYTES = 40 * MEGABYTE
MAX_DIFF_BYTES = 256 * MEGABYTE
"""Databases larger than this are not compared: their changes are unknown."""
MAX_MUTANTS = 40
"""Of one final state, with a row more in each of `MAX_FOREIGN` tables at most."""
MAX_FOREIGN = 8
SAFE_INTEGER = 2**53 - 1
SNAPSHOT = b"rollout-world 1\n"
DATABASE = "world.db"
METHODS = ("get", "post", "put", "delete", "patch")
real_time, real_time_ns, real_urandom, real_exit = time.time, time.time_ns, os.urandom, os._exit
real_connect = sqlite3.dbapi2.connect


FAULT = {"blame": "world"}
"""Of a failure of the scenario's code, which did not merely refuse a call."""


class Failure(Exception):
    """A classified error. `kind` is an error class of traces, `load_error`, or `missing_package`."""

    def __init__(self, kind: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.answer: dict[str, Any] = {"class": kind, "message": message, **more}


def place_of(error: BaseException, file: str) -> dict[str, Any]:
    """Returns the last line of the scenario's file in the error's traceback, and the traceback without our frames."""
    while len(inner := getattr(error, "exceptions", ())) == 1:  # groups of one, from task groups
        error = inner[0]
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename == file and error.lineno is not None:
        stack = "".join(traceback.format_exception_only(error))
        return {"file": file, "line": error.lineno, "column": max(1, error.offset or 1), "stack": stack}
    kept = [frame for frame in frames if frame.filename == file]
    text = "".join(traceback.format_list(kept) + traceback.format_exception_only(error))
    last = next((frame for frame in reversed(kept) if frame.lineno is not None), None)
    place = {} if last is None else {"file": file, "line": last.lineno, "column": column_of(last)}
    return {"stack": text[-8000:], **place}


def column_of(frame: traceback.FrameSummary) -> int:
    """Returns the column of a frame from 1; before Python 3.11, that of the first character of its line."""
    line = linecache.getline(frame.filename, frame.lineno or 1)
    at = getattr(frame, "colno", None)  # in bytes
    return len(line) - len(line.lstrip()) + 1 if at is None else len(line.encode()[:at].decode(errors="replace")) + 1


def is_refusal(error: BaseException, file: str) -> bool:
    """Whether a statement of the scenario raises the error, as functions refuse a call. Otherwise, they fail."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or not isinstance(error, Exception) or frames[-1].filename != file:
        return False
    return re.match(r"(raise|assert)\b", frames[-1].line or "") is not None


def described(error: BaseException) -> str:
    """Returns the type of an error and the first lines of its text."""
    while len(inner := getattr(error, "exceptions", ())) == 1:
        error = inner[0]
    if isinstance(error, SystemExit):
        return f"the code exited with {error.code}"
    if isinstance(error, MemoryError):
        return "MemoryError: the session's memory limit (session.memory_mb) was reached"
    if isinstance(error, sqlite3.OperationalError) and str(error) in ("database or disk is full", "disk I/O error"):
        return f"{error}: the database of a session may grow to {FILE_MB} MB, or to four times its initial size"
    return f"{type(error).__name__}: {error}"[:2000]


# ---- clock and randomness ----------------------------------------------------------------------------------------


class Clock:
    """What the scenario's code takes for now: a start, and a step further at each call. Without a start: real time."""

    start_us: int | None = None
    step_us = 0
    calls = 0

    def set(self, clock: dict[str, Any] | None) -> None:
        self.start_us = None if clock is None else int(clock["start_ms"] * 1000)
        self.step_us = 0 if clock is None else int(clock["step_ms"] * 1000)

    def now_us(self) -> int:
        if self.start_us is None:
            return real_time_ns() // 1000
        return self.start_us + self.calls * self.step_us


CLOCK = Clock()


class Entropy:
    """Random bytes that depend on the session's seed and the number of its call only."""

    key = b""
    count = 0
    left = b""

    def reset(self, seed: int, call: int, reads: bool = False) -> None:
        self.key = hashlib.sha256(f"{seed}/{call}{'/read' if reads else ''}".encode()).digest()
        self.count, self.left = 0, b""
        random.seed(int.from_bytes(self.key, "big"))
        uuid._last_timestamp = None  # type: ignore[attr-defined]

    def read(self, size: int) -> bytes:
        if self.key == b"":
            return real_urandom(size)
        while len(self.left) < size:
            self.left += hashlib.sha256(self.key + self.count.to_bytes(8, "big")).digest()
            self.count += 1
        taken, self.left = self.left[:size], self.left[size:]
        return taken


ENTROPY = Entropy()


def replace_clock_and_randomness() -> None:
    """Replaces the sources of time and randomness before any other module takes them."""
    time.time = lambda: CLOCK.now_us() / 1e6
    time.time_ns = lambda: CLOCK.now_us() * 1000
    for name in ("gmtime", "localtime", "ctime"):
        real = getattr(time, name)
        setattr(time, name, lambda seconds=None, real=real: real(time.time() if seconds is None else seconds))
    real_strftime = time.strftime
    time.strftime = lambda form, at=None: real_strftime(form, time.localtime() if at is None else at)

    def now(cls: Any, tz: Any = None) -> Any:
        moment = EPOCH + datetime.timedelta(microseconds=CLOCK.now_us())
        return _as(cls, moment.astimezone().replace(tzinfo=None) if tz is None else moment.astimezone(tz))

    def utcnow(cls: Any) -> Any:
        return _as(cls, (EPOCH + datetime.timedelta(microseconds=CLOCK.now_us())).replace(tzinfo=None))

    # The type itself must stay: annotations, mappers, and encoders compare types. `today` asks time.time.
    methods = gc.get_referents(datetime.datetime.__dict__)[0]
    methods["now"], methods["utcnow"] = classmethod(now), classmethod(utcnow)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))

    os.urandom = ENTROPY.read
    random._urandom = ENTROPY.read  # type: ignore[attr-defined]
    seed = random.Random.seed

    def seeded(self: random.Random, a: Any = None, version: int = 2) -> None:
        seed(self, int.from_bytes(ENTROPY.read(32), "big") if a is None else a, version)

    random.Random.seed = seeded  # type: ignore[method-assign]
    uuid._node = 0x02_00_00_00_00_01  # type: ignore[attr-defined]
    uuid._generate_time_safe = uuid._UuidCreate = None  # type: ignore[attr-defined]
    if hasattr(time, "tzset"):
        os.environ["TZ"] = "UTC"
        time.tzset()


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def _as(cls: Any, moment: datetime.datetime) -> Any:
    """Returns a moment as an instance of a subclass."""
    if type(moment) is cls:
        return moment
    return cls.combine(moment.date(), moment.timetz())


# ---- what the code must not do -----------------------------------------------------------------------------------


class Guard:
    """Refuses what a world's code must not do, with an error at the line that tries. The sandbox is the wall behind."""

    on = False
    own = ""
    """The folder that it may write to."""
    private = ""
    """A folder of which it may read only `own`."""
    database = ""
    writes = True

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        before, self.on = self.on, True
        try:
            yield
        finally:
            self.on = before

    @contextlib.contextmanager
    def resting(self) -> Iterator[None]:
        before, self.on = self.on, False
        try:
            yield
        finally:
            self.on = before


GUARD = Guard()
PROCESS_EVENTS = frozenset(
    "os.fork os.forkpty os.posix_spawn os.exec os.system os.spawn os.startfile subprocess.Popen os.kill os.killpg "
    "pty.spawn signal.pthread_kill".split()
)
NETWORK_EVENTS = frozenset(
    "socket.connect socket.bind socket.sendto socket.sendmsg socket.getaddrinfo socket.gethostbyname".split()
)
FILE_EVENTS = frozenset(
    "os.remove os.rename os.rmdir os.mkdir os.link os.symlink os.truncate os.chmod os.chown os.utime "
    "shutil.rmtree shutil.move".split()
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def audit(event: str, args: tuple[Any, ...]) -> None:
    """The audit hook, which no code can remove."""
    if not GUARD.on:
        return
    if event == "open":
        path, flags = args[0], args[2]
        if isinstance(path, (str, bytes)):
            check_file(os.fsdecode(path), isinstance(flags, int) and flags & WRITING != 0)
    elif event in PROCESS_EVENTS:
        raise PermissionError(f"the code of a world must not start or end processes ({event})")
    elif event in NETWORK_EVENTS:
        raise PermissionError(f"a world has no network ({event})")
    elif event in FILE_EVENTS:
        for path in args[:2] if event in ("os.rename", "os.link", "shutil.move") else args[:1]:
            if isinstance(path, (str, bytes)):
                check_file(os.fsdecode(path), True, event in ("os.remove", "os.rename", "os.truncate"))
    elif event == "sqlite3.enable_load_extension":
        raise PermissionError("a world's database loads no extensions")


def check_file(path: str, writes: bool, removes: bool = False) -> None:
    """Raises PermissionError if the code must not read or write a file."""
    file = os.path.realpath(path)
    is_own = file == GUARD.own or file.startswith(GUARD.own + os.sep)
    if removes and file == GUARD.database:
        raise PermissionError("the code must not remove or replace its own database")
    if writes and file != os.devnull and not (is_own and GUARD.writes):
        raise PermissionError(f"the code of a world must write only to its own folder, not to {path}")
    if not writes and not is_own and GUARD.private != "" and file.startswith(GUARD.private + os.sep):
        raise PermissionError(f"{path} belongs to another session")


def refuse_exit(code: int = 0) -> None:
    raise SystemExit(code)


def limit_session(memory_mb: float, file_mb: float) -> None:
    """Limits memory and files of a session. Lower limits of the system stay in effect."""
    if resource is None:
        return
    used = 0
    with contextlib.suppress(OSError):
        with open("/proc/self/status", encoding="ascii") as status:
            used = next(int(line.split()[1]) for line in status if line.startswith("VmData:")) * 1024
    limits = {resource.RLIMIT_DATA: used + memory_mb * MEGABYTE, resource.RLIMIT_FSIZE: file_mb * MEGABYTE}
    for kind, size in limits.items():
        _soft, hard = resource.getrlimit(kind)
        wanted = int(size) if hard == resource.RLIM_INFINITY else min(int(size), hard)
        resource.setrlimit(kind, (wanted, wanted))


def limit_call(cpu_seconds: float) -> None:
    """Kills this process if the call uses more processor time."""
    if resource is None:
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(usage.ru_utime + usage.ru_stime + cpu_seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


# ---- SQLite --------------------------------------------------------------------------------------------------------


class Connection(sqlite3.Connection):
    """A connection of user code, which weak references can refer to."""


class Databases:
    """Leads every database file that user code opens to the session's own copy."""

    file = ""
    plain: sqlite3.Connection | None = None
    opened: weakref.WeakSet[Connection] = weakref.WeakSet()

    def connect(self, database: Any = "", *args: Any, **options: Any) -> sqlite3.Connection:
        if isinstance(database, int) or self.file == "":
            return real_connect(database, *args, **options)
        name = os.fsdecode(database)
        if name not in ("", ":memory:") and "mode=memory" not in name and not name.startswith("file::memory:"):
            database, options["uri"] = self.file, False
            if not GUARD.writes:
                database, options["uri"] = read_only(name if os.path.isfile(name) else self.file), True
            elif not os.path.exists(self.file):
                raise sqlite3.OperationalError("the world's database file is gone: its code removed it")
        seconds = min(float(args[0] if args else options.get("timeout", LOCK_SECONDS)), LOCK_SECONDS)
        args = (0, *args[1:]) if args else args
        if not args:
            options["timeout"] = 0
        if len(args) < 5:
            options.setdefault("factory", Connection)
        with GUARD.resting():
            connection = real_connect(database, *args, **options)
        if isinstance(connection, Connection):
            self.opened.add(connection)
        with contextlib.suppress(sqlite3.Error):  # it is locked: the code's own statement says so
            connection.execute("PRAGMA synchronous = OFF")  # a session that is lost is restored from its record
        connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
        if hasattr(connection, "setlimit"):
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        if CLOCK.start_us is not None:
            self.replace_functions(connection)
        return connection

    def close(self) -> None:
        """Closes what user code left open: a connection must not be used on both sides of a fork."""
        for connection in list(self.opened):
            connection.close()
        if self.plain is not None:
            self.plain.close()
            self.plain = None

    def replace_functions(self, connection: sqlite3.Connection) -> None:
        """Replaces SQLite's functions that read the clock or its random numbers."""
        for name, at in DATE_FUNCTIONS.items():
            connection.create_function(name, -1, functools.partial(self.date_function, name, at), deterministic=True)
        for name in ("date", "time", "timestamp"):
            function = functools.partial(self.date_function, "datetime" if name == "timestamp" else name, 0)
            connection.create_function(f"current_{name}", 0, function, deterministic=True)
        connection.create_function("random", 0, lambda: int.from_bytes(ENTROPY.read(8), "big", signed=True))
        connection.create_function("randomblob", 1, lambda size: ENTROPY.read(max(1, int(size))))

    def date_function(self, name: str, at: int, *args: Any) -> Any:
        values = list(args)
        if len(values) == at:
            values.append("now")
        if len(values) > at and isinstance(values[at], str) and values[at].strip().lower() == "now":
            moment = EPOCH + datetime.timedelta(microseconds=CLOCK.now_us())
            values[at] = f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}"
        if self.plain is None:
            with GUARD.resting():
                self.plain = real_connect(":memory:", check_same_thread=False)
        return self.plain.execute(f"SELECT {name}({','.join('?' * len(values))})", values).fetchone()[0]


DATE_FUNCTIONS = {"date": 0, "time": 0, "datetime": 0, "julianday": 0, "unixepoch": 0, "strftime": 1}
DATABASES = Databases()


def read_only(path: str, immutable: bool = False) -> str:
    """Returns the URI that opens a database without changing it."""
    return f"file:{urllib.parse.quote(os.path.abspath(path))}?mode=ro" + ("&immutable=1" if immutable else "")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def value_of(value: Any) -> Any:
    """Returns a value of a row as JSON."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, int) and abs(value) > SAFE_INTEGER:
        return str(value)
    return value


def stamp_of(file: str) -> tuple[Any, ...]:
    """Returns what changes with every transaction that writes to a database: its change counter, and its WAL."""
    with open(file, "rb") as database:
        database.seek(24)
        counter = database.read(4)
    try:
        wal = os.stat(file + "-wal")
        return counter, wal.st_size, wal.st_mtime_ns
    except FileNotFoundError:
        return counter, 0, 0


def bytes_of(file: str) -> bytes:
    """Returns the committed contents of a database."""
    if not (os.path.exists(file + "-wal") or os.path.exists(file + "-journal")):
        with open(file, "rb") as database:
            return database.read()
    copy = file + "-copy"
    copy_database(file, copy)
    try:
        with open(copy, "rb") as database:
            return database.read()
    finally:
        os.unlink(copy)


def copy_database(file: str, target: str) -> None:
    """Copies the committed contents of a database."""
    if not (os.path.exists(file + "-wal") or os.path.exists(file + "-journal")):
        shutil.copyfile(file, target)
        return
    with contextlib.closing(real_connect(file, timeout=LOCK_SECONDS)) as source:
        with contextlib.closing(real_connect(target)) as copy:
            source.backup(copy)


class Changes(list[dict[str, Any]]):
    """Changed rows, as many as are reported."""

    left = MAX_CHANGE_BYTES

    def __iadd__(self, more: Any) -> Changes:
        for each in more:
            values = [value for side in ("before", "after") for value in each.get(side, {}).values()]
            self.left -= sum(len(str(value)) for value in values)
            self.append(each)
            if self.are_too_many():
                break
        return self

    def are_too_many(self) -> bool:
        return self.left < 0 or len(self) > MAX_CHANGES


def table_changes(old: str, new: str) -> list[dict[str, Any]] | None:
    """Returns the rows that differ between two files of a database, by primary key; None if there are too many."""
    changes = Changes()
    with contextlib.closing(real_connect(read_only(new), uri=True, timeout=LOCK_SECONDS)) as database:
        database.execute("ATTACH ? AS old", (read_only(old, immutable=True),))
        tables = [layout(database, schema) for schema in ("main", "old")]
        for name, columns in tables[0].items():
            before = tables[1].pop(name, None)
            if before is not None and before != columns:  # the code changed the table itself: all rows differ
                changes += one_sided(database, "old", name, before, "delete")
                before = None
            if before is None:
                changes += one_sided(database, "main", name, columns, "insert")
            else:
                changes += row_changes(database, name, *columns)
            if changes.are_too_many():
                return None
        for name, columns in tables[1].items():
            changes += one_sided(database, "old", name, columns, "delete")
    return None if changes.are_too_many() else changes


Columns = tuple[tuple[str, ...], tuple[str, ...]]


def layout(database: sqlite3.Connection, schema: str) -> dict[str, Columns]:
    """Returns the columns of each table and those of its primary key; without one: rowid."""
    found: dict[str, Columns] = {}
    rows = database.execute(
        f"SELECT m.name, c.name, c.pk FROM {schema}.sqlite_master m JOIN pragma_table_info(m.name, ?) c "
        "WHERE m.type = 'table' AND (m.name NOT LIKE 'sqlite~_%' ESCAPE '~') AND m.sql NOT LIKE 'CREATE VIRTUAL%' "
        "ORDER BY m.rowid, c.cid",
        (schema,),
    )
    keys: dict[str, list[tuple[int, str]]] = {}
    for table, column, key in rows:
        found[table] = ((*found.get(table, ((), ()))[0], column), ())
        if key > 0:
            keys.setdefault(table, []).append((key, column))
    return {
        table: (columns, tuple(name for _at, name in sorted(keys.get(table, [(0, "rowid")]))))
        for table, (columns, _none) in found.items()
    }


def selection(alias: str, columns: tuple[str, ...], key: tuple[str, ...]) -> str:
    return ", ".join(f"{alias}.{quoted(name) if name != 'rowid' else name}" for name in (*key, *columns))


def one_sided(
    database: sqlite3.Connection, schema: str, table: str, of: Columns, op: str
) -> Iterator[dict[str, Any]]:
    columns, key = of
    for row in database.execute(
        f"SELECT {selection('t', columns, key)} FROM {schema}.{quoted(table)} t LIMIT {MAX_CHANGES + 1}"
    ):
        yield change(table, columns, key, op, row)


def row_changes(
    database: sqlite3.Connection, table: str, columns: tuple[str, ...], key: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    name = quoted(table)
    keys = [quoted(column) if column != "rowid" else column for column in key]
    both = " AND ".join(f"n.{column} IS o.{column}" for column in keys)
    differs = " OR ".join(f"n.{quoted(column)} IS NOT o.{quoted(column)}" for column in columns)
    of_new, of_old = selection("n", columns, key), selection("o", columns, key)
    width = len(key) + len(columns)
    missing = f"NOT EXISTS (SELECT 1 FROM {{}} WHERE {both})"
    for row in database.execute(
        f"SELECT {of_old} FROM old.{name} o WHERE {missing.format(f'main.{name} n')} LIMIT {MAX_CHANGES + 1}"
    ):
        yield change(table, columns, key, "delete", row)
    for row in database.execute(
        f"SELECT {of_new}, {of_old} FROM main.{name} n JOIN old.{name} o ON {both} WHERE {differs} "
        f"LIMIT {MAX_CHANGES + 1}"
    ):
        yield change(table, columns, key, "update", row[width:], row[:width])
    for row in database.execute(
        f"SELECT {of_new} FROM main.{name} n WHERE {missing.format(f'old.{name} o')} LIMIT {MAX_CHANGES + 1}"
    ):
        yield change(table, columns, key, "insert", row)


def change(
    table: str, columns: tuple[str, ...], key: tuple[str, ...], op: str, row: Any, after: Any = None
) -> dict[str, Any]:
    def named(values: Any) -> dict[str, Any]:
        return {name: value_of(value) for name, value in zip(columns, values[len(key) :])}

    keys = [value_of(value) for value in row[: len(key)]]
    found: dict[str, Any] = {"table": table, "key": keys[0] if len(keys) == 1 else keys, "op": op}
    if op != "insert":
        found["before"] = named(row)
    if op != "delete":
        found["after"] = named(row if after is None else after)
    return found


# ---- state of a session --------------------------------------------------------------------------------------------


class DatabaseState:
    """The state of a session with a database. Its snapshot holds the pages that differ from the template."""

    def __init__(self, folder: str, template: str) -> None:
        self.file = os.path.join(folder, DATABASE)
        self.template = template
        self.shadow = self.file + "-before"
        self.stamp: tuple[Any, ...] = ()
        self.wrote = False
        """Whether the last call wrote, even if no row is another one."""

    def create(self, start: bytes, saved: bytes | None) -> int:
        """Writes the start, or the saved state. Returns the number of calls that it contains."""
        calls, contents = (0, start) if saved is None else self.restored(saved)
        for file in (self.file, self.shadow):
            with open(file, "wb") as database:
                database.write(contents)
        self.stamp = stamp_of(self.file)
        return calls

    def changes(self) -> list[dict[str, Any]] | None:
        """Returns the rows that changed since the last time; None: unknown."""
        if not os.path.exists(self.file):
            raise Failure("world_error", "The code removed its own database.")
        stamp = stamp_of(self.file)
        self.wrote = stamp != self.stamp
        if not self.wrote:
            return []
        self.stamp = stamp
        if os.path.getsize(self.file) > MAX_DIFF_BYTES:
            return None
        try:
            try:
                found = table_changes(self.shadow, self.file)
            except MemoryError:
                found = None
            copy_database(self.file, self.shadow)
        except sqlite3.Error as error:
            raise Failure(
                "world_error",
                f"The database cannot be read after the call: {error}. The code may hold a lock, or have damaged it.",
            ) from error
        return found

    def snapshot(self) -> bytes:
        with open(self.template, "rb") as file:
            template = file.read()
        contents = bytes_of(self.file)
        size = page_size(template)
        pages = [at for at in range(0, len(contents), size) if contents[at : at + size] != template[at : at + size]]
        head = {
            "template": hashlib.sha256(template).hexdigest(),
            "calls": CLOCK.calls,
            "bytes": len(contents),
            "pages": [at // size for at in pages],
        }
        changed = b"".join(contents[at : at + size] for at in pages)
        return SNAPSHOT + zlib.compress(json.dumps(head).encode() + b"\n" + changed, 6)

    def restored(self, saved: bytes) -> tuple[int, bytes]:
        head, changed = opened_snapshot(saved)
        with open(self.template, "rb") as file:
            template = file.read()
        check_template(head, template)
        size = page_size(template)
        contents = bytearray(template[: head["bytes"]].ljust(head["bytes"], b"\0"))
        for index, page in enumerate(head["pages"]):
            part = changed[index * size : (index + 1) * size]
            contents[page * size : page * size + len(part)] = part
        return int(head["calls"]), bytes(contents)


class CollectionState:
    """The state of a session with JSON collections. Its snapshot holds the collections that differ."""

    def __init__(self, folder: str, template: str) -> None:
        self.folder = os.path.join(folder, "collections")
        self.template = template
        self.seen: dict[str, bytes] = {}
        self.wrote = False

    def start(self) -> dict[str, bytes]:
        with open(self.template, "rb") as file:
            collections = json.loads(file.read())
        return {
            name: json.dumps(records, ensure_ascii=False, indent=2).encode() for name, records in collections.items()
        }

    def create(self, _start: bytes, saved: bytes | None) -> int:
        files = self.start()
        calls = 0
        if saved is not None:
            head, changed = opened_snapshot(saved)
            with open(self.template, "rb") as template:
                check_template(head, template.read())
            calls = int(head["calls"])
            for name, text in json.loads(changed).items():
                if text is None:
                    files.pop(name, None)
                else:
                    files[name] = text.encode("utf-8", "surrogateescape")
        os.makedirs(self.folder, exist_ok=True)
        for name, contents in files.items():
            with open(os.path.join(self.folder, os.path.basename(name)), "wb") as file:
                file.write(contents)
        self.seen = files
        return calls

    def files(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for name in sorted(os.listdir(self.folder)):
            path = os.path.join(self.folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found[name] = file.read()
        return found

    def changes(self) -> list[dict[str, Any]] | None:
        files, before = self.files(), self.seen
        self.seen = files
        self.wrote = files != before
        changes: list[dict[str, Any]] = []
        for name in sorted({*files, *before}):
            if files.get(name) != before.get(name):
                changes += record_changes(name, before.get(name), files.get(name))
        return changes if len(changes) <= MAX_CHANGES else None

    def snapshot(self) -> bytes:
        with open(self.template, "rb") as file:
            sha = hashlib.sha256(file.read()).hexdigest()
        start, files = self.start(), self.files()
        changed = {
            name: None if name not in files else files[name].decode("utf-8", "surrogateescape")
            for name in sorted({*start, *files})
            if start.get(name) != files.get(name)
        }
        head = {"template": sha, "calls": CLOCK.calls, "collections": list(changed)}
        return SNAPSHOT + zlib.compress(json.dumps(head).encode() + b"\n" + json.dumps(changed).encode(), 6)


State = DatabaseState | CollectionState


def record_changes(name: str, before: bytes | None, after: bytes | None) -> list[dict[str, Any]]:
    """Returns the records of a collection that differ, by their ID, or by position if they have none."""
    lists = [records_of(contents) for contents in (before, after)]
    if lists[0] is None or lists[1] is None:
        return [{"table": name, "key": None, "op": "update", "before": text(before), "after": text(after)}]
    key = key_of([*lists[0], *lists[1]], lists)
    old, new = [
        {(json.dumps(record[key]) if key is not None else at): record for at, record in enumerate(records)}
        for records in lists
    ]
    found: list[dict[str, Any]] = []
    for each in [*old, *(one for one in new if one not in old)]:
        if old.get(each) == new.get(each):
            continue
        entry: dict[str, Any] = {"table": name, "key": json.loads(each) if isinstance(each, str) else each}
        entry["op"] = "update" if each in old and each in new else "insert" if each in new else "delete"
        if each in old:
            entry["before"] = old[each]
        if each in new:
            entry["after"] = new[each]
        found.append(entry)
    return found


def records_of(contents: bytes | None) -> list[Any] | None:
    if contents is None:
        return []
    with contextlib.suppress(ValueError):
        parsed = json.loads(contents)
        if isinstance(parsed, list):
            return parsed
    return None


def text(contents: bytes | None) -> str | None:
    return None if contents is None else contents[:LOG_CHARS].decode("utf-8", "replace")


def key_of(records: list[Any], lists: list[Any]) -> str | None:
    """Returns the first field that identifies each record of each list, preferring `id` and names that end in it."""
    if not records or not all(isinstance(record, dict) for record in records):
        return None
    for field in sorted(records[0], key=lambda name: (name != "id", not name.endswith(("_id", "Id")))):
        if all(
            all(isinstance(record.get(field), (str, int)) for record in each)
            and len({record[field] for record in each}) == len(each)
            for each in lists
        ):
            return str(field)
    return None


def page_size(contents: bytes) -> int:
    size = int.from_bytes(contents[16:18], "big")
    return 65536 if size == 1 else max(size, 512)


def opened_snapshot(saved: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        if not saved.startswith(SNAPSHOT):
            raise ValueError("another format")
        head, contents = zlib.decompress(saved[len(SNAPSHOT) :]).split(b"\n", 1)
        return json.loads(head), contents
    except (ValueError, zlib.error) as error:
        raise Failure("world_error", f"The saved state of the world cannot be read: {error}.") from error


def check_template(head: dict[str, Any], template: bytes) -> None:
    if head["template"] != hashlib.sha256(template).hexdigest():
        raise Failure("world_error", "The saved state of the world belongs to another template of its scenario.")


# ---- scenarios -----------------------------------------------------------------------------------------------------


def import_code(path: str, what: str = "code") -> types.ModuleType:
    """Runs the scenario's file as a module of its own path. Throws Failure with the line that failed."""
    name = re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Failure("load_error", f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with GUARD.watching():
            spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise Failure("missing_package", str(error.name), **place_of(error, path)) from error
    except BaseException as error:
        message = f"The {what} cannot be loaded: {described(error)}"
        raise Failure("load_error", message, **place_of(error, path)) from error
    return module


class CollectionScenario:
    """Agent-World: one Python function for each tool, which reads and writes JSON files in MCP_DB_DIR."""

    def __init__(self, code: str, template: str, folder: str) -> None:
        self.code, self.template, self.folder = code, template, folder
        self.functions: dict[str, Callable[..., Any]] = {}

    def load(self) -> bytes:
        self.adopt(self.folder)
        CollectionState(self.folder, self.template).create(b"", None)
        module = import_code(self.code)
        schemas = getattr(module, "TOOL_SCHEMAS", None)
        functions = {
            name: value
            for name, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
        }
        self.tools = [tool_of(function) for function in functions.values()] if schemas is None else schemas
        self.functions = {tool["name"]: functions[tool["name"]] for tool in self.tools if tool["name"] in functions}
        missing = [tool["name"] for tool in self.tools if tool["name"] not in functions]
        if missing or not self.tools:
            named = f"no function named {missing[0]}" if missing else "no functions"
            raise Failure("load_error", f"The code has {named}.", file=self.code, line=1)
        self.tables = sorted(json.loads(open(self.template, "rb").read()))
        return b""

    def adopt(self, folder: str) -> None:
        os.environ["MCP_DB_DIR"] = os.path.join(folder, "collections")

    def warm(self) -> None:
        """There is nothing to build before the first call."""

    def release(self) -> bool:
        return threading.active_count() == 1

    def state(self, folder: str) -> State:
        return CollectionState(folder, self.template)

    def call(self, name: str, args: dict[str, Any]) -> Any:
        function = self.functions.get(name)
        if function is None:
            raise Failure("unknown_tool", f'Unknown tool "{name}".')
        try:
            inspect.signature(function).bind(**args)
        except TypeError as error:
            raise Failure("invalid_arguments", f"{name}: {error}.") from error
        with GUARD.watching():
            result = function(**args)
        return json.loads(json.dumps(result, default=str))


def tool_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Describes a function whose schema is not published."""
    named = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        annotation = getattr(parameter.annotation, "__name__", str(parameter.annotation))
        properties[name] = {"type": named[annotation]} if annotation in named else {}
        if parameter.default is parameter.empty:
            required.append(name)
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return {"name": function.__name__, "description": inspect.getdoc(function) or "", "parameters": schema}


class ApplicationScenario:
    """Agent World Model: a FastAPI application over a SQLite database, called through its ASGI interface."""

    def __init__(self, code: str, template: str, folder: str) -> None:
        self.code, self.template, self.folder = code, template, folder
        self.app: Any = None
        self.shared: dict[str, Any] = {}
        self.loop: Any = None
        self.tools: list[dict[str, Any]] = []
        self.operations: dict[str, dict[str, Any]] = {}
        self.tables: list[str] = []

    def load(self) -> bytes:
        os.environ.update(DATABASE_PATH=f"sqlite:///{DATABASE}", HOST="127.0.0.1", PORT="0")
        self.adopt(self.folder)
        with open(self.template, "rb") as file:
            DatabaseState(self.folder, self.template).create(file.read(), None)
        sqlite3.connect = sqlite3.dbapi2.connect = DATABASES.connect
        sys.modules["uvicorn"] = server_stub()
        run_in_this_thread()
        module = import_code(self.code)
        self.app = application_of(module, self.code)
        try:
            document = self.app.openapi()
            self.start()
        except Failure:
            raise
        except BaseException as error:
            message = f"The application cannot be started: {described(error)}"
            raise Failure("load_error", message, **place_of(error, self.code)) from error
        self.tools, self.operations = tools_of(document)
        if not self.tools:
            raise Failure("load_error", "The application has no endpoints.", file=self.code, line=1)
        DATABASES.close()
        contents = bytes_of(DATABASES.file)
        with contextlib.closing(real_connect(read_only(DATABASES.file), uri=True)) as database:
            self.tables = list(layout(database, "main"))
        return contents

    def adopt(self, folder: str) -> None:
        DATABASES.file = GUARD.database = os.path.join(folder, DATABASE)
        os.chdir(folder)

    def start(self) -> None:
        """Runs the application's start-up code. Its task stays open: the code after it runs when a server ends."""
        import asyncio

        self.loop = asyncio.new_event_loop()
        started = self.loop.create_future()
        received = [{"type": "lifespan.startup"}]

        async def receive() -> dict[str, Any]:
            return received.pop() if received else await self.loop.create_future()

        async def send(message: dict[str, Any]) -> None:
            if not started.done():
                started.set_result(message)

        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": self.shared}
        task = self.loop.create_task(self.app(scope, receive, send))

        async def run() -> None:
            await asyncio.wait([task, started], return_when=asyncio.FIRST_COMPLETED)

        with GUARD.watching():
            self.loop.run_until_complete(run())
        if task.done() and task.exception() is not None:
            raise task.exception()
        if started.done() and started.result()["type"] == "lifespan.startup.failed":
            raise RuntimeError(started.result().get("message", "its start-up code failed"))
        self.unfinished = task
        self.starting = self.loop
        self.loop = None

    def warm(self) -> None:
        """Answers each read once, as far as the time allows, and forgets what it said."""
        until = real_time() + WARM_SECONDS

        def late(*_: Any) -> None:
            raise TimeoutError("this read takes long")

        before = signal.signal(signal.SIGALRM, late) if hasattr(signal, "SIGALRM") else None
        for name, operation in self.operations.items():
            if operation["method"] != "get" or real_time() > until:
                continue
            with contextlib.suppress(BaseException):
                if before is not None:
                    signal.setitimer(signal.ITIMER_REAL, max(0.05, until - real_time()))
                self.call(name, {one: sample_of(schema) for one, schema in operation["needed"].items()})
        if before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def release(self) -> bool:
        """Closes what must not be used on both sides of a fork. Returns whether nothing is left."""
        if self.loop is not None:
            self.loop.close()
            self.loop = None
        engines = [one for one in gc.get_objects() if type(one).__name__ == "Engine" and hasattr(one, "dispose")]
        for engine in engines:
            engine.dispose()
        gc.collect()
        left = len(DATABASES.opened)
        if left == 0:
            DATABASES.close()
        return left == 0 and threading.active_count() == 1

    def state(self, folder: str) -> State:
        return DatabaseState(folder, self.template)

    def call(self, name: str, args: dict[str, Any]) -> Any:
        operation = self.operations.get(name)
        if operation is None:
            raise Failure("unknown_tool", f'Unknown tool "{name}".')
        if self.loop is None:
            import asyncio

            self.loop = asyncio.new_event_loop()
        scope, body = request_of(operation, args)
        scope["state"] = dict(self.shared)
        answer: dict[str, Any] = {"status": 500, "body": b""}
        sent = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            return sent.pop() if sent else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                answer["status"] = message["status"]
            elif message["type"] == "http.response.body":
                answer["body"] += message.get("body", b"")

        refusal: Failure | None = None
        try:
            with GUARD.watching():
                self.loop.run_until_complete(self.app(scope, receive, send))
        except Exception as error:  # the server of the application would answer 500
            message = f"Error calling {name}. Status code: 500. Response: Internal Server Error"
            refusal = Failure("tool_error", message, **place_of(error, self.code), **FAULT, why=described(error))
        if refusal is not None:
            raise refusal
        reply = answer["body"].decode("utf-8", "replace")
        if answer["status"] >= 400:
            kind = "invalid_arguments" if answer["status"] == 422 else "tool_error"
            fault = FAULT if answer["status"] >= 500 else {}
            raise Failure(kind, f"Error calling {name}. Status code: {answer['status']}. Response: {reply}", **fault)
        try:
            return json.loads(reply)
        except ValueError:
            return reply


def server_stub() -> types.ModuleType:
    """Returns what the code imports as `uvicorn`: nothing serves, because calls come without a port."""
    stub = types.ModuleType("uvicorn")

    class Nothing:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.started = False

        def __call__(self, *_: Any, **__: Any) -> None:
            return None

        def __getattr__(self, _name: str) -> Any:
            return Nothing()

    stub.run = lambda *_args, **_options: None  # type: ignore[attr-defined]
    stub.__getattr__ = lambda _name: Nothing  # type: ignore[attr-defined]
    return stub


def run_in_this_thread() -> None:
    """Lets endpoints that are no coroutines run in the main thread: no thread survives a fork."""
    try:
        import anyio.to_thread
    except ImportError:
        return  # the code says what it misses

    async def run_sync(function: Callable[..., Any], *args: Any, **_options: Any) -> Any:
        return contextvars.copy_context().run(function, *args)

    anyio.to_thread.run_sync = run_sync


def application_of(module: types.ModuleType, code: str) -> Any:
    values = [getattr(module, "app", None), *vars(module).values()]
    for value in values:
        if any(kind.__name__ == "FastAPI" for kind in type(value).__mro__):
            return value
    raise Failure("load_error", "The code creates no FastAPI application at its top level.", file=code, line=1)


def sample_of(schema: dict[str, Any]) -> Any:
    """Returns a value with which a read is answered once: its result does not matter."""
    kind = schema.get("type")
    if "enum" in schema:
        return schema["enum"][0]
    return {"integer": 1, "number": 1.0, "boolean": True, "array": []}.get(str(kind), "1")


def request_of(operation: dict[str, Any], args: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Returns the ASGI scope and the body of a call, as an HTTP client would send them."""
    left = dict(args)
    path = operation["path"]
    query: list[tuple[str, str]] = []
    for name, where in operation["places"].items():
        if name not in left:
            continue
        value = left.pop(name)
        if where == "path":
            path = path.replace("{" + name + "}", str(value))
        elif where == "query" and value is not None:
            query += [(name, query_text(one)) for one in (value if isinstance(value, list) else [value])]
    has_body = operation["body"] and operation["method"] in ("post", "put", "patch")
    body = json.dumps(left, ensure_ascii=False, separators=(",", ":")).encode() if has_body else b""
    headers = [(b"host", b"world"), (b"accept", b"*/*")]
    if has_body:
        headers += [(b"content-length", str(len(body)).encode()), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": operation["method"].upper(),
        "scheme": "http",
        "path": path,
        "raw_path": urllib.parse.quote(path, safe="/:@!$&'()*+,;=~").encode(),
        "query_string": urllib.parse.urlencode(query).encode(),
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("world", 80),
    }
    return scope, body


def query_text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, (bool, dict)) else str(value)


# ---- tools from an OpenAPI document --------------------------------------------------------------------------------


def tools_of(document: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Returns the tools as fastapi-mcp 0.4.0 lists them, and how to call each."""
    tools: list[dict[str, Any]] = []
    operations: dict[str, dict[str, Any]] = {}
    schemas = document.get("components", {}).get("schemas", {})
    for path, methods in document.get("paths", {}).items():
        for method, published in methods.items():
            if method not in METHODS or not published.get("operationId"):
                continue
            operation = resolved(published, schemas, ())
            name = operation["operationId"]
            properties: dict[str, Any] = {}
            required: list[str] = []
            places: dict[str, str] = {}
            needed: dict[str, Any] = {}
            for where in ("path", "query"):
                for parameter in operation.get("parameters", []):
                    if parameter.get("in") != where:
                        continue
                    schema = parameter.get("schema", {})
                    add_property(properties, parameter["name"], schema, parameter.get("description", ""), where)
                    places[parameter["name"]] = where
                    if parameter.get("required", where == "path"):
                        required.append(parameter["name"])
                        needed[parameter["name"]] = schema
            body = next(iter(operation.get("requestBody", {}).get("content", {}).values()), {}).get("schema")
            for one, schema in (body or {}).get("properties", {}).items():
                add_property(properties, one, schema, "", "body")
                if one in body.get("required", []):
                    required.append(one)
            parameters = {"type": "object", "properties": properties, "title": f"{name}Arguments"}
            if required:
                parameters["required"] = required
            about = description_of(operation, method, path)
            tools.append({"name": name, "description": about, "parameters": parameters})
            operations[name] = {
                **{"path": path, "method": method, "places": places, "needed": needed, "body": body is not None},
            }
    return tools, operations


def add_property(properties: dict[str, Any], name: str, schema: dict[str, Any], about: str, where: str) -> None:
    found = dict(schema)
    found["title"] = name
    if about:
        found["description"] = about
    if "type" not in found:
        kinds = [] if where == "path" else [one.get("type") for one in schema.get("anyOf", [])]
        found["type"] = next((kind for kind in kinds if kind and kind != "null"), "string")
    properties[name] = found


def resolved(value: Any, schemas: dict[str, Any], inside: tuple[str, ...]) -> Any:
    """Replaces references by what they refer to; one that contains itself ends as any object."""
    if isinstance(value, list):
        return [resolved(one, schemas, inside) for one in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/components/schemas/"):
        name = reference.split("/")[-1]
        if name in inside:
            return {"type": "object"}
        value = {**{key: one for key, one in value.items() if key != "$ref"}, **schemas.get(name, {})}
        inside = (*inside, name)
    return {key: resolved(one, schemas, inside) for key, one in value.items()}


def description_of(operation: dict[str, Any], method: str, path: str) -> str:
    said = operation.get("summary") or f"{method.upper()} {path}"
    if operation.get("description"):
        said += f"\n\n{operation['description']}"
    responses = operation.get("responses", {})
    if not responses:
        return str(said)
    said += "\n\n### Responses:\n"
    success = next((str(code) for code in range(200, 300) if str(code) in responses), None)
    for code, response in responses.items() if success is None else [(success, responses[success])]:
        said += f"\n**{code}**: {response.get('description', '')}"
        if response == responses.get(success):
            said += " (Success Response)"
        for kind, content in response.get("content", {}).items():
            if "schema" not in content:
                continue
            said += f"\nContent-Type: {kind}"
            given = next((one["value"] for one in content.get("examples", {}).values() if "value" in one), None)
            example = given or content.get("example") or example_of(content["schema"])
            if example:
                said += f"\n\n**Example Response:**\n```json\n{json.dumps(example, indent=2)}\n```"
    return str(said)


FORMATS = {
    "date-time": "2023-01-01T00:00:00Z",
    "date": "2023-01-01",
    "email": "user@example.com",
    "uri": "https://example.com",
}


def example_of(schema: Any) -> Any:
    """Returns the example that fastapi-mcp makes of a schema: alternatives have none."""
    if not isinstance(schema, dict):
        return None
    kind = schema.get("type")
    if kind == "object":
        examples = {name: example_of(one) for name, one in schema.get("properties", {}).items()}
        return {name: one for name, one in examples.items() if one is not None}
    if kind == "array":
        item = example_of(schema.get("items"))
        return [] if item is None else [item]
    if kind == "string":
        return FORMATS.get(schema.get("format", ""), schema.get("title", "string"))
    return {"integer": 1, "number": 1.0, "boolean": True}.get(str(kind))


# ---- sessions ------------------------------------------------------------------------------------------------------


class Output:
    """Takes the place of sys.stdout and sys.stderr: what user code prints belongs to its session."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, write: Callable[[dict[str, Any]], None], stream: str) -> None:
        self.write_line, self.stream, self.left = write, stream, LOG_CHARS
        self.line = ""

    def write(self, printed: str) -> int:
        self.line += str(printed)
        if "\n" in self.line or len(self.line) > 4096:
            self.flush()
        return len(printed)

    def flush(self) -> None:
        said, self.line = self.line[: max(0, self.left)], ""
        if said:
            self.left -= len(said)
            with GUARD.resting():
                self.write_line({"log": self.stream, "text": said + ("…\n" if self.left <= 0 else "")})

    def isatty(self) -> bool:
        return False


def end_output() -> None:
    """Sends what is left of the last line; the next request has its own share of output."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, Output):
            stream.flush()
            stream.left = LOG_CHARS


class Session:
    """One session of a loaded scenario, in its own process."""

    def __init__(self, scenario: Any, start: bytes, request: dict[str, Any]) -> None:
        folder = os.path.realpath(request["folder"])
        os.makedirs(folder, exist_ok=True)
        GUARD.own, GUARD.private = folder, os.path.dirname(folder)
        GUARD.database = os.path.join(folder, DATABASE)
        self.scenario, self.seed = scenario, int(request["seed"])
        scenario.adopt(folder)
        self.state: State = scenario.state(folder)
        saved = base64.b64decode(request["state"]) if request.get("state") else None
        CLOCK.calls = self.state.create(start, saved)
        ENTROPY.reset(self.seed, CLOCK.calls)
        size = os.path.getsize(scenario.template)
        limit_session(float(request["memory_mb"]), max(FILE_MB, 4 * size / MEGABYTE))
        self.now: int | None = None

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Makes a call. It counts if it happened: the clock goes on, as it does when it is repeated.

        A call that is known to change nothing (`pure`) is not repeated, so it does not count. If it writes after all,
        it is repeated for its changes, and counts; without known changes, it must not have happened.
        """
        pure = request.get("pure") is True
        CLOCK.calls += 0 if pure else 1
        ENTROPY.reset(self.seed, CLOCK.calls, pure)
        limit_call(CPU_SECONDS)
        began = time.perf_counter()
        failure: Failure | None = None
        response: Any = None
        try:
            response = self.scenario.call(request["name"], request["args"])
        except Failure as error:
            failure = error
        except BaseException as error:
            fault = {} if is_refusal(error, self.scenario.code) else FAULT
            failure = Failure("tool_error", described(error), **place_of(error, self.scenario.code), **fault)
        ms = (time.perf_counter() - began) * 1000
        end_output()
        changes = self.state.changes()
        if pure and self.state.wrote:
            CLOCK.calls += 1
            if not changes:
                raise Failure(
                    "world_error",
                    f"{request['name']} is taken for a tool that never writes, but it wrote, and its changes are "
                    "unknown. Write `lint: off` in the world file, so that no tool is.",
                )
        if failure is None:
            return {"response": response, "changes": changes, "ms": ms}
        if failure.answer["class"] in ("invalid_arguments", "unknown_tool"):
            if changes:
                failure.answer["class"] = "tool_error"  # it refused, but has changed something
            elif not pure:
                CLOCK.calls -= 1
        failure.answer["changes"] = changes
        raise failure

    def snapshot(self) -> dict[str, Any]:
        state = self.state.snapshot()
        if len(state) > MAX_STATE_BYTES:
            size, most = len(state) // MEGABYTE, MAX_STATE_BYTES // MEGABYTE
            raise Failure("world_error", f"The state of the world has {size} MB, compressed: {most} MB can be saved.")
        return {"state": base64.b64encode(state).decode()}


def verify(request: dict[str, Any]) -> dict[str, Any]:
    """Runs a published verifier on the template and a final state, neither of which it can change."""
    folder = os.path.realpath(request["folder"])
    os.makedirs(folder, exist_ok=True)
    final = DatabaseState(folder, request["template"])
    with open(request["template"], "rb") as file:
        template = file.read()
    CLOCK.calls = final.create(template, base64.b64decode(request["state"]) if request.get("state") else None)
    initial = os.path.join(folder, "initial.db")
    with open(initial, "wb") as file:
        file.write(template)
    os.unlink(final.shadow)
    code = os.path.join(folder, "verifier.py")
    with open(code, "w", encoding="utf-8") as file:
        file.write(request["python"])
    ENTROPY.reset(0, 0)
    DATABASES.file = final.file
    GUARD.own, GUARD.private, GUARD.writes = folder, os.path.dirname(folder), False
    sqlite3.connect = sqlite3.dbapi2.connect = DATABASES.connect
    limit_session(float(request["memory_mb"]), 16)
    limit_call(float(request["seconds"]))
    module = import_code(code, "verifier")
    function = getattr(module, request["function"], None)
    if not callable(function):
        raise Failure("load_error", f"The verifier defines no function {request['function']}.", file=code, line=1)
    args = [initial, final.file, *([request.get("answer")] if request["mode"] == "code" else [])]
    try:
        with GUARD.watching():
            result = function(*args)
        return {"result": json.loads(json.dumps(result, default=str))}
    except BaseException as error:
        raise Failure("load_error", f"The verifier failed: {described(error)}", **place_of(error, code)) from error


# ---- mutants of a final state ---------------------------------------------------------------------------------------


def mutants(request: dict[str, Any]) -> dict[str, Any]:
    """Returns states that differ from a final state in one row: a changed row is as before, or there is a row more."""
    folder = os.path.realpath(request["folder"])
    os.makedirs(folder, exist_ok=True)
    final = DatabaseState(folder, request["template"])
    with open(request["template"], "rb") as file:
        template = file.read()
    CLOCK.calls = final.create(template, base64.b64decode(request["state"]))
    initial = os.path.join(folder, "initial.db")
    with open(initial, "wb") as file:
        file.write(template)
    limit_session(float(request["memory_mb"]), max(256, 4 * len(template) / MEGABYTE))
    limit_call(float(request["seconds"]))
    changes = table_changes(initial, final.file)
    if changes is None:
        raise Failure("world_error", f"The final state differs in more than {MAX_CHANGES} rows.")
    contents = bytes_of(final.file)
    found: list[dict[str, Any]] = []
    for about, make in mutations(initial, final.file, changes):
        with open(final.file, "wb") as file:
            file.write(contents)
        with contextlib.closing(real_connect(final.file, uri=True)) as database:
            database.execute("ATTACH ? AS old", (read_only(initial, immutable=True),))
            try:
                made = make(database)
                database.commit()
            except sqlite3.Error:  # the table refuses the row
                continue
        if made:
            found.append({"about": about, "state": base64.b64encode(final.snapshot()).decode()})
    return {"mutants": found}


Mutation = tuple[str, Callable[[sqlite3.Connection], bool]]


def mutations(old: str, new: str, changes: list[dict[str, Any]]) -> list[Mutation]:
    """Returns what to do to a final state, evenly chosen if much has changed. Each says whether it did something."""
    with contextlib.closing(real_connect(read_only(new), uri=True)) as database:
        database.execute("ATTACH ? AS old", (read_only(old, immutable=True),))
        tables = layout(database, "main")
        before = layout(database, "old")
    usable = [one for one in changes if tables.get(one["table"]) == before.get(one["table"])]
    changed = list(dict.fromkeys(one["table"] for one in usable))[:MAX_FOREIGN]
    room = MAX_MUTANTS - len(changed)
    chosen = [usable[at * len(usable) // room] for at in range(room)] if len(usable) > room else usable
    words = {"update": "as before", "insert": "missing", "delete": "still there"}
    return [
        *(
            (f"{named(one)} {words[one['op']]}", functools.partial(revert, of=tables[one["table"]], change=one))
            for one in chosen
        ),
        *((f"a row more in {table}", functools.partial(add_row, table=table, of=tables[table])) for table in changed),
    ]


def named(change: dict[str, Any]) -> str:
    key = change["key"]
    return f"{change['table']} {'/'.join(str(one) for one in key) if isinstance(key, list) else key}"[:80]


def revert(database: sqlite3.Connection, of: Columns, change: dict[str, Any]) -> bool:
    """Makes a changed row as it was before."""
    columns, key = of
    table, names = quoted(change["table"]), ", ".join(quoted(name) for name in columns)
    where = " AND ".join(f"{name if name == 'rowid' else quoted(name)} IS ?" for name in key)
    values = change["key"] if len(key) > 1 else [change["key"]]
    if change["op"] == "insert":
        return database.execute(f"DELETE FROM main.{table} WHERE {where}", values).rowcount == 1
    if change["op"] == "delete":
        insert = f"INSERT INTO main.{table} ({names}) SELECT {names} FROM old.{table} WHERE {where}"
        return database.execute(insert, values).rowcount == 1
    row = f"SELECT {names} FROM old.{table} WHERE {where}"
    update = f"UPDATE main.{table} SET ({names}) = ({row}) WHERE {where}"
    return database.execute(update, [*values, *values]).rowcount == 1


def add_row(database: sqlite3.Connection, table: str, of: Columns) -> bool:
    """Adds a row like one that was there before, or like the last one, under another key."""
    columns, key = of
    name, names = quoted(table), ", ".join(quoted(column) for column in columns)
    last = key[-1] if key[-1] == "rowid" else quoted(key[-1])
    row: Any = None
    for schema in ("old", "main"):
        row = row or database.execute(f"SELECT {names} FROM {schema}.{name} ORDER BY {last} DESC LIMIT 1").fetchone()
    if row is None:
        return False
    values = dict(zip(columns, row))
    fresh = {key[-1]}
    for _at, index, is_unique, *_more in database.execute(f"PRAGMA main.index_list({name})").fetchall():
        if is_unique:
            parts = database.execute(f"PRAGMA main.index_info({quoted(index)})").fetchall()
            fresh.add(parts[-1][2])
    for column in fresh & set(columns):
        value = values[column]
        if isinstance(value, (int, float)):
            largest = database.execute(f"SELECT MAX({quoted(column)}) FROM main.{name}").fetchone()[0]
            values[column] = (largest if isinstance(largest, (int, float)) else value) + 1
        elif isinstance(value, str):
            values[column] = value + "-2"
    holders = ", ".join("?" for _column in columns)
    insert = f"INSERT INTO main.{name} ({names}) VALUES ({holders})"
    return database.execute(insert, list(values.values())).rowcount == 1


JUDGING: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"verify": verify, "mutants": mutants}
"""What runs once, in a process of its own."""


# ---- the process ---------------------------------------------------------------------------------------------------


def write_all(descriptor: int, message: dict[str, Any]) -> None:
    left = memoryview(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n")
    while left:
        left = left[os.write(descriptor, left) :]


def lines_of(descriptor: int) -> Iterator[bytes]:
    """Reads lines until the other side closes the pipe."""
    pieces: list[bytes] = []
    while chunk := os.read(descriptor, 65536):
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield b"".join([*pieces, line])
            pieces = []
        pieces.append(rest)


def answer_to(request: dict[str, Any], run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Returns the answer to a request, whatever happens."""
    try:
        return {"id": request["id"], "ok": run()}
    except Failure as failure:
        return {"id": request["id"], "error": failure.answer}
    except BaseException as error:
        message = f"The world's process failed: {described(error)}"
        return {"id": request["id"], "error": {"class": "world_error", "message": message, **place_of(error, __file__)}}


def print_to(write: Callable[[dict[str, Any]], None]) -> None:
    sys.stdout, sys.stderr = Output(write, "out"), Output(write, "err")  # type: ignore[assignment]
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr  # type: ignore[misc]


class Loaded:
    """The scenario of this process."""

    def __init__(self, request: dict[str, Any]) -> None:
        began = time.perf_counter()
        folder = os.path.realpath(request["folder"])
        os.makedirs(folder, exist_ok=True)
        GUARD.own = folder
        CLOCK.set(request.get("clock"))
        ENTROPY.reset(0, 0)
        kind = CollectionScenario if request["format"] == "agent-world" else ApplicationScenario
        self.scenario = kind(os.path.realpath(request["code"]), os.path.realpath(request["template"]), folder)
        self.start = self.scenario.load()
        self.scenario.warm()
        is_released = self.scenario.release()
        self.forks = CAN_FORK and request.get("fork", True) and is_released
        self.answer = {
            "tools": self.scenario.tools,
            "tables": self.scenario.tables,
            "fork": self.forks,
            "ms": (time.perf_counter() - began) * 1000,
        }


class Child:
    """A forked process, as its parent sees it."""

    def __init__(self, name: str, folder: str, pid: int, to: int, of: int) -> None:
        self.name, self.folder, self.pid, self.to, self.of = name, folder, pid, to, of
        self.unsent = b""
        self.unread: list[bytes] = []
        self.unread_bytes = 0
        self.pending: int | None = None
        self.deadline: float | None = None
        self.late = ""
        """What to say if it is killed at its deadline."""
        self.why: str | None = None


class Runner:
    """Serves the requests of the host, and relays those of sessions."""

    def __init__(self, requests: int, answers: int) -> None:
        self.requests, self.answers = requests, answers
        self.loaded: Loaded | None = None
        self.session: Session | None = None
        self.children: dict[str, Child] = {}
        self.selector = selectors.DefaultSelector() if CAN_FORK else None
        self.unread = b""

    def send(self, message: dict[str, Any]) -> None:
        write_all(self.answers, message)

    # -- without fork: one session in this process

    def serve_here(self) -> None:
        print_to(self.send)
        for line in lines_of(self.requests):
            request = json.loads(line)
            self.send(answer_to(request, lambda request=request: self.here(request)))

    def here(self, request: dict[str, Any]) -> dict[str, Any]:
        op = request["op"]
        if op == "load":
            self.loaded = Loaded({**request, "fork": False})
            return self.loaded.answer
        if op in JUDGING:
            CLOCK.set(request.get("clock"))
            return JUDGING[op](request)
        if op == "open":
            if self.loaded is None or self.session is not None:
                raise Failure("world_error", "This process runs one session of a loaded scenario.")
            # In the folder where it was loaded: connections that the code keeps open lead there.
            here = {**request, "folder": self.loaded.scenario.folder}
            self.session = Session(self.loaded.scenario, self.loaded.start, here)
            return {}
        return session_answer(self.session, request)

    # -- with fork

    def serve(self) -> None:
        assert self.selector is not None
        print_to(self.send)
        os.set_blocking(self.requests, False)
        self.selector.register(self.requests, selectors.EVENT_READ, None)
        while True:
            for key, events in self.selector.select(self.patience()):
                if key.data is None:
                    if not self.receive():
                        return
                elif events & selectors.EVENT_WRITE:
                    self.write_to(key.data)
                elif key.data.name in self.children:
                    self.read_from(key.data)
            self.kill_late()

    def patience(self) -> float | None:
        deadlines = [child.deadline for child in self.children.values() if child.deadline is not None]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def kill_late(self) -> None:
        for child in list(self.children.values()):
            if child.deadline is not None and child.deadline <= time.monotonic():
                child.why = child.late
                self.kill(child)

    def receive(self) -> bool:
        """Handles the requests that have arrived. Returns whether the host is still there."""
        try:
            chunk = os.read(self.requests, MEGABYTE)
        except BlockingIOError:
            return True
        if chunk == b"":
            return False
        *lines, self.unread = (self.unread + chunk).split(b"\n")
        for line in lines:
            request = json.loads(line)
            try:
                answer = self.handle(request, line)
            except Failure as failure:
                answer = {"id": request["id"], "error": failure.answer}
            if answer is not None:
                self.send(answer)
        return True

    def handle(self, request: dict[str, Any], line: bytes) -> dict[str, Any] | None:
        op = request["op"]
        if op == "load":
            return answer_to(request, lambda: self.load(request))
        if op == "open" or op in JUDGING:
            self.fork(request)
            return None
        child = self.children.get(request["session"])
        if child is None:
            raise Failure("world_error", "The world's session has ended.")
        if op == "stop":
            os.kill(child.pid, signal.SIGUSR1)
            child.deadline = time.monotonic() + STOP_SECONDS
            child.late = "was stopped"
            return {"id": request["id"], "ok": {}}
        if child.pending is not None:
            raise Failure("world_error", "The world's session is busy with another call.")
        child.pending = request["id"]
        child.unsent += line + b"\n"
        self.write_to(child)
        return None

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        self.loaded = Loaded(request)
        gc.collect()
        gc.freeze()  # collections in sessions leave the shared objects where they are
        return self.loaded.answer

    def fork(self, request: dict[str, Any]) -> None:
        name = request["session"]
        if request["op"] == "open" and (self.loaded is None or not self.loaded.forks):
            raise Failure("world_error", "No scenario is loaded that can be forked.")
        if name in self.children:
            raise Failure("world_error", f"There is a session {name} already.")
        requests, answers = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self.run_child(request, requests[0], answers[1])
            finally:
                real_exit(1)
        os.close(requests[0])
        os.close(answers[1])
        child = Child(name, request["folder"], pid, requests[1], answers[0])
        child.pending = request["id"]
        if request["op"] in JUDGING:
            child.deadline = time.monotonic() + float(request["seconds"])
            child.late = f"ran longer than {request['seconds']} s"
        os.set_blocking(child.to, False)
        os.set_blocking(child.of, False)
        self.children[name] = child
        assert self.selector is not None
        self.selector.register(child.of, selectors.EVENT_READ, child)

    def run_child(self, request: dict[str, Any], requests: int, answers: int) -> None:
        end_with_parent()
        for other in self.children.values():
            os.close(other.to)
            os.close(other.of)
        assert self.selector is not None
        self.selector.close()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, self.requests, self.answers):
            os.dup2(nothing, descriptor)
        send = functools.partial(write_all, answers)
        print_to(send)
        os._exit = refuse_exit  # type: ignore[assignment]
        if request["op"] in JUDGING:
            CLOCK.set(request.get("clock"))
            send(answer_to(request, lambda: JUDGING[request["op"]](request)))
            real_exit(0)
        assert self.loaded is not None
        loaded = self.loaded
        current = dict(request)

        def stopped(number: int, frame: Any) -> None:
            GUARD.on = False
            end_output()
            why = "was stopped" if number == signal.SIGUSR1 else "used more processor time than a call may"
            send({"id": current["id"], "error": {"class": "timeout", "message": why, **where(frame, loaded.scenario)}})
            real_exit(0)

        signal.signal(signal.SIGUSR1, stopped)
        signal.signal(signal.SIGXCPU, stopped)
        opened: list[Session] = []

        def run() -> dict[str, Any]:
            opened.append(Session(loaded.scenario, loaded.start, request))
            return {}

        send(answer_to(request, run))
        for line in lines_of(requests):
            current = json.loads(line)
            send(answer_to(current, lambda: session_answer(opened[0] if opened else None, current)))
            if current["op"] == "close":
                break
        real_exit(0)

    def write_to(self, child: Child) -> None:
        assert self.selector is not None
        try:
            while child.unsent:
                child.unsent = child.unsent[os.write(child.to, child.unsent) :]
        except BlockingIOError:
            with contextlib.suppress(KeyError):
                self.selector.register(child.to, selectors.EVENT_WRITE, child)
            return
        except BrokenPipeError:
            child.unsent = b""  # its end is read from the other pipe
        with contextlib.suppress(KeyError):
            self.selector.unregister(child.to)

    def read_from(self, child: Child) -> None:
        try:
            chunk = os.read(child.of, MEGABYTE)
        except BlockingIOError:
            return
        if chunk == b"":
            self.ended(child)
            return
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self.relay(child, b"".join([*child.unread, line]))
            child.unread, child.unread_bytes = [], 0
        child.unread.append(rest)
        child.unread_bytes += len(rest)
        if child.unread_bytes > MAX_LINE:
            child.why = f"wrote an answer larger than {MAX_LINE // MEGABYTE} MB"
            self.kill(child)

    def relay(self, child: Child, line: bytes) -> None:
        """Passes on what a session says, as far as it may say it."""
        try:
            message = json.loads(line)
            is_answer = isinstance(message, dict) and ("ok" in message or "error" in message)
        except ValueError:
            return
        if is_answer and message.get("id") == child.pending and child.pending is not None:
            child.pending = None
            self.send({key: message[key] for key in ("id", "ok", "error") if key in message})
        elif isinstance(message, dict) and message.get("log") in ("out", "err"):
            self.send({"session": child.name, "log": message["log"], "text": str(message.get("text", ""))})

    def kill(self, child: Child) -> None:
        child.deadline = None
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)

    def ended(self, child: Child) -> None:
        """The pipe of a session has ended, and so has its process, or it does so now."""
        assert self.selector is not None
        until = time.monotonic() + 0.05
        pid, status = os.waitpid(child.pid, os.WNOHANG)
        while pid == 0 and time.monotonic() < until:
            time.sleep(0.001)
            pid, status = os.waitpid(child.pid, os.WNOHANG)
        if pid == 0:
            self.kill(child)
            _pid, status = os.waitpid(child.pid, 0)
        self.selector.unregister(child.of)
        with contextlib.suppress(KeyError):
            self.selector.unregister(child.to)
        os.close(child.to)
        os.close(child.of)
        del self.children[child.name]
        shutil.rmtree(child.folder, ignore_errors=True)
        why = child.why or ending_of(status)
        # Somebody else killed it: this process says why it does so.
        killed = child.why is None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        self.send({"session": child.name, "ended": why, "killed": killed})
        if child.pending is not None:
            kind = "timeout" if child.why is not None and child.why == child.late else "world_error"
            self.send({"id": child.pending, "error": {"class": kind, "message": why, "killed": killed}})


def session_answer(session: Session | None, request: dict[str, Any]) -> dict[str, Any]:
    if session is None:
        raise Failure("world_error", "The world's session did not open.")
    op = request["op"]
    if op == "call":
        return session.call(request)
    if op == "snapshot":
        return session.snapshot()
    if op == "close":
        return {}
    raise Failure("world_error", f"There is no operation {op}.")


def where(frame: Any, scenario: Any) -> dict[str, Any]:
    """Returns the line of the scenario's file in which a frame runs, or where one of its coroutines waits."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    asyncio = sys.modules.get("asyncio")
    loop = getattr(scenario, "loop", None)
    for task in asyncio.all_tasks(loop) if asyncio is not None and loop is not None else ():
        waiting, awaited = [], task.get_coro()
        while awaited is not None:
            waiting.append(getattr(awaited, "cr_frame", None))
            awaited = getattr(awaited, "cr_await", None)
        frames += waiting[::-1]
    for each in frames:
        if each is not None and each.f_code.co_filename == scenario.code:
            return {"file": scenario.code, "line": each.f_lineno}
    return {}


def ending_of(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGXCPU:
            return "used more processor time than a call may"
        more = ", as when memory runs out" if number == signal.SIGKILL else ""
        return f"was killed by {signal.Signals(number).name}{more}"
    return f"exited with code {os.waitstatus_to_exitcode(status)}"


def end_with_parent() -> None:
    """Ends this process with the one that forked it (Linux; elsewhere, its pipe ends)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def main() -> None:
    if sys.version_info < (3, 10):
        sys.exit("Worlds need Python 3.10 or later.")
    sys.dont_write_bytecode = True
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(2, 1)  # what is written to it directly must not mix with answers
    replace_clock_and_randomness()
    sys.addaudithook(audit)
    runner = Runner(requests, answers)
    if CAN_FORK and "--single" not in sys.argv:
        runner.serve()
    else:
        runner.serve_here()


if __name__ == "__main__":
    main()
