"""hipgraft-cache: inspects the cache of kernels, checks it, and moves it between machines."""

from __future__ import annotations

import argparse
import io
import json
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hipgraft.ir.command_line import Parser
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.tools import cli, service_flags

if TYPE_CHECKING:
    from hipgraft.service import Cache
    from hipgraft.service.cache import StoredEntry

_SHOWN_DIGITS = 16


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status: 1 also when `verify` finds damage.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    flags = _parser().parse_args(arguments)
    return cli.run_tool(lambda: _COMMANDS[flags.command](_open(flags), flags))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="hipgraft-cache", description=__doc__)
    parser.add_argument(
        "--cache-dir",
        default="",
        metavar="DIR",
        help="directory of the cache; by default the user's",
    )
    parser.add_argument("--version", action=cli.VersionAction)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add = commands.add_parser
    add("list", help="list all entries, most recently used first")
    show = add("show", help="describe an entry")
    show.add_argument("key", help="a name, or the unambiguous start of a key")
    show.add_argument("--extract", default="", metavar="DIR", help="write its files there")
    add("verify", help="read every entry; report and remove damaged ones")
    prune = add("prune", help="evict the least recently used entries")
    prune.add_argument(
        "--max-size", default="0", metavar="SIZE", help="size to prune to, such as 512M"
    )
    export = add("export", help="write entries to an archive")
    export.add_argument("archive", metavar="OUT.tar")
    export.add_argument("key", nargs="*", help="starts of keys; by default all entries")
    add("import", help="add the entries of an archive").add_argument("archive", metavar="IN.tar")
    return parser


def _open(flags: argparse.Namespace) -> Cache:
    # Imported here because `--help` needs no compiler.
    from hipgraft.service import Cache, default_cache_directory

    directory = Path(flags.cache_dir) if flags.cache_dir else default_cache_directory()
    if flags.cache_dir and flags.command != "import" and not directory.is_dir():
        raise HipgraftError(f"cannot open cache '{directory}': no such directory")
    return Cache(directory)


def _list(cache: Cache, flags: argparse.Namespace) -> int:
    entries = cache.entries()
    for stored in reversed(entries):
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(stored.used))
        metadata = _metadata(cache, stored)
        name = f"{metadata.get('name')} for {metadata.get('target')}" if metadata else "damaged"
        print(f"{stored.key[:_SHOWN_DIGITS]}  {stored.size:>9}  {used}  {_printable(name)}")
    total = sum(stored.size for stored in entries)
    print(f"{len(entries)} entries, {total} bytes in '{cache.directory}'")
    return 0


def _show(cache: Cache, flags: argparse.Namespace) -> int:
    from hipgraft.service.entry import DamagedEntryError

    stored = _find(cache, flags.key)
    try:
        entry = cache.load(stored)
    except DamagedEntryError as error:
        raise HipgraftError(f"entry '{stored.key}' is damaged: {error}") from None
    except OSError as error:
        raise HipgraftError(f"cannot read '{stored.path}': {error.strerror}") from None
    files = {name: len(data) for name, data in sorted(entry.outcome.artifacts.items())}
    print(json.dumps({**entry.metadata, "path": str(stored.path), "files": files}, indent=1))
    if flags.extract:
        _extract(entry.outcome.artifacts, Path(flags.extract))
    return 0


def _printable(text: str) -> str:
    """Escapes characters that a terminal would interpret."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _find(cache: Cache, text: str) -> StoredEntry:
    named = [each for each in cache.entries() if _metadata(cache, each).get("name") == text]
    return named[0] if len(named) == 1 else cache.find(text)


def _extract(files: dict[str, bytes], directory: Path) -> None:
    from hipgraft.ir import io as ir_io

    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HipgraftError(f"cannot make directory '{directory}': {error.strerror}") from None
    for name, data in files.items():
        ir_io.write_output(str(directory / name), data)


def _verify(cache: Cache, flags: argparse.Namespace) -> int:
    from hipgraft.service.entry import DamagedEntryError

    entries = cache.entries()
    damaged = 0
    for stored in entries:
        try:
            cache.load(stored)
        except DamagedEntryError as error:
            damaged += 1
            done = "removed" if cache.remove(stored) else "cannot remove"
            print(f"{done} {stored.key}: {error}")
        except FileNotFoundError:
            continue  # another process evicted it
        except OSError as error:
            damaged += 1
            print(f"cannot read {stored.key}: {error.strerror}")
    print(f"{len(entries)} entries, {damaged} damaged")
    return 1 if damaged else 0


def _prune(cache: Cache, flags: argparse.Namespace) -> int:
    evicted = cache.prune(service_flags.parse_size(flags.max_size, "--max-size"))
    print(f"evicted {len(evicted)} entries, {sum(stored.size for stored in evicted)} bytes")
    if cache.problems:
        raise HipgraftError(cache.problems[0])
    return 0


def _export(cache: Cache, flags: argparse.Namespace) -> int:
    from hipgraft.ir import io as ir_io

    chosen = [cache.find(key) for key in flags.key] or cache.entries()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for stored in sorted(chosen, key=lambda stored: stored.key):
            archive.add(stored.path, arcname=stored.path.name)
    ir_io.write_output(flags.archive, buffer.getvalue())
    print(f"exported {len(chosen)} entries")
    return 0


def _import(cache: Cache, flags: argparse.Namespace) -> int:
    from hipgraft.service.entry import DamagedEntryError, Entry

    count = 0
    for key, data in _members(flags.archive):
        try:
            cache.put(Entry.from_bytes(data, key))
        except DamagedEntryError as error:
            reason = f"entry '{key}' is damaged: {error}"
            raise HipgraftError(reason, location=flags.archive) from None
        count += 1
    if cache.problems:
        raise HipgraftError(cache.problems[0])
    print(f"imported {count} entries")
    return 0


def _members(path: str) -> Iterator[tuple[str, bytes]]:
    """Yields keys and entries of an exported archive: plain files named after their keys."""
    from hipgraft.ir.foreign_data import malformed, os_reason

    try:
        # Only uncompressed archives are read, whose size bounds the bytes.
        with (
            Path(path).open("rb") as file,
            malformed("archive", path),
            tarfile.open(fileobj=file, mode="r:") as archive,
        ):
            for member in archive:
                yield _key(member, path), _contents(archive, member)
    except (OSError, ValueError) as error:
        raise HipgraftError(f"cannot open archive '{path}': {os_reason(error)}") from None


def _key(member: tarfile.TarInfo, path: str) -> str:
    from hipgraft.service.entry import MOST_BYTES, is_key

    key = member.name.removesuffix(".zip")
    if not member.isfile() or member.issparse() or member.name != f"{key}.zip" or not is_key(key):
        message = f"expected files called KEY.zip, found {member.name[:200]!r}"
        raise HipgraftError(message, location=path)
    if member.size > MOST_BYTES:
        raise HipgraftError(f"entry '{key}' has {member.size} bytes", location=path)
    return key


def _contents(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return b"" if file is None else file.read()


def _metadata(cache: Cache, stored: StoredEntry) -> dict[str, str]:
    from hipgraft.service.entry import DamagedEntryError

    try:
        return cache.load(stored).metadata
    except (DamagedEntryError, OSError):
        return {}


_COMMANDS: dict[str, Callable[[Cache, argparse.Namespace], int]] = {
    "list": _list,
    "show": _show,
    "verify": _verify,
    "prune": _prune,
    "export": _export,
    "import": _import,
}


if __name__ == "__main__":
    sys.exit(main())
