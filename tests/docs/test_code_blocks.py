"""Code blocks of the pages, each checked as far as possible without a server.

Blocks that need a server are run in tests/integration/shared_server/test_docs.py.
"""

import ast
import importlib
import importlib.util
import json
import re
from functools import cache
from pathlib import Path

import click
import pytest
import typer
import yaml

from orchestrator.cli.app import app
from orchestrator.host.toml_files import tomllib
from tests.docs.blocks import FENCE, PAGES, CodeBlock, blocks, blocks_of, command_lines, commands
from tests.samples import PROJECT

CHECKED = {"python", "sh", "toml", "yaml", "json"}
NOT_RUN = {
    "text": "what a command prints, or a drawing",
    "js": "run by tests/integration/shared_server/client/test_docs.py, where there is Node",
    "html": "run by tests/browser/test_page_of_another_site.py",
    "go": "run by tests/integration/shared_server/client/test_docs.py, where there is Go",
    "dockerfile": "needs Docker",
    "protobuf": "parts of a config.pbtxt, which a part alone is not",
}
"""Languages whose blocks are not checked here, with the reason."""
PROGRAMS = {
    "apt": "changes the system",
    "apt-get": "changes the system",
    "base64": "of the system",
    "cat": "of the system",
    "cd": "of the shell",
    "chmod": "of the system",
    "chown": "of the system",
    "cp": "of the system",
    "curl": "run by tests/integration/shared_server/test_docs.py where it asks localhost:8000",
    "docker": "needs Docker",
    "export": "of the shell",
    "git": "of the system",
    "helm": "needs a cluster",
    "install": "of the system",
    "install.sh": "of the bundle: docs/offline.md",
    "jq": "of the system",
    "kill": "of the shell",
    "kubectl": "needs a cluster",
    "mkdir": "of the system",
    "mv": "of the system",
    "openssl": "of the system",
    "pip": "changes the environment",
    "printf": "of the shell",
    "promtool": "needs Prometheus",
    "rm": "of the system",
    "sha256sum": "run by tests/integration/shared_server/test_docs.py for the weights",
    "sudo": "changes the system",
    "systemctl": "changes the system",
    "tar": "of the system",
    "useradd": "changes the system",
}
"""Third-party programs, whose options are not checked, with the reason."""
OURS = {"plates", "make", "python", "python3"}


def every(*languages: str) -> list[object]:
    return [pytest.param(block, id=block.name) for block in blocks(*languages)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_fence_is_a_block(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(FENCE.findall(text)) == 2 * len(list(blocks_of(page)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_names_a_language_that_is_known(page: Path) -> None:
    strange = [
        block.name for block in blocks_of(page) if block.language not in CHECKED | NOT_RUN.keys()
    ]
    assert strange == []


@pytest.mark.parametrize("block", every("python"))
def test_python_compiles_and_imports_what_there_is(block: CodeBlock) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("orchestrator"):
            assert [alias.name for alias in node.names if not has(node.module, alias.name)] == []


def has(module: str, name: str) -> bool:
    """Tell whether a module defines a name.

    Modules that only workers can import are read as text.
    """
    if module.startswith("orchestrator.triton"):
        text = Path(importlib.util.find_spec(module).origin).read_text(encoding="utf-8")
        return re.search(rf"^(?:async )?(?:def|class) {name}\b|^{name}\b", text, re.M) is not None
    return hasattr(importlib.import_module(module), name)


PARSERS = {
    "json": lambda text: [
        json.loads(part) for part in ([text] if text.startswith("{\n") else text.splitlines())
    ],
    "toml": tomllib.loads,
    "yaml": lambda text: all(yaml.safe_load_all(text)),
}


@pytest.mark.parametrize("block", every(*PARSERS))
def test_data_parse(block: CodeBlock) -> None:
    assert PARSERS[block.language](block.text)


@pytest.mark.parametrize("block", every("sh"))
def test_commands_are_there_with_their_options(block: CodeBlock) -> None:
    for line in command_lines(block.text):
        for words in commands(line):
            if words == ["..."]:
                continue  # and so on
            program = Path(words[0]).name
            assert program in PROGRAMS.keys() | OURS, f"{program}: name it in PROGRAMS"
            {"plates": understand, "make": make, "python": run_module, "python3": run_module}.get(
                program, lambda words: None
            )(words[1:])


@cache
def plates() -> click.Command:
    return typer.main.get_command(app)


def understand(words: list[str]) -> None:
    """Parse the arguments of a command without running it; the named files need not exist."""
    context = click.Context(plates(), info_name="plates")
    command: click.Command = context.command
    while isinstance(command, click.Group):
        if not words or words[0].startswith("-"):
            break
        _, subcommand, words = command.resolve_command(context, words)
        assert subcommand is not None
        command, context = subcommand, click.Context(subcommand, parent=context)
    command.make_parser(context).parse_args(args=list(words))


def test_an_option_that_is_not_there_is_found_out() -> None:
    with pytest.raises(click.NoSuchOption):
        understand(["recognize", "car.jpg", "--colour"])


@cache
def targets() -> str:
    return (PROJECT / "Makefile").read_text(encoding="utf-8")


def make(words: list[str]) -> None:
    for word in words:
        if "=" not in word and not word.startswith("-"):
            pattern = re.sub(r"^example-\w+$", "example-%", word)
            assert re.search(rf"^{re.escape(pattern)}:", targets(), re.M), f"make {word}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_targets_that_a_sentence_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for span in re.findall(r"(?<!`)`(make [^`\n]+)`(?!`| of commit)", text):
        for words in commands(span):
            if words[0] == "make":
                make(words[1:])


def test_a_target_that_is_not_there_is_found_out() -> None:
    with pytest.raises(AssertionError, match="make setup"):
        make(["setup"])


FOR_CAMERAS = re.compile(r"\bplates (?:watch|passes|people)\b|\bserve .*--cameras\b")
FIRST_PAGES = ["README.md", "docs/first-camera.md", "docs/cameras.md", "docs/control-room.md"]


@pytest.mark.parametrize("name", FIRST_PAGES)
def test_a_page_installs_the_cameras_before_it_uses_them(name: str) -> None:
    lines = [
        line
        for block in blocks_of(PROJECT / name)
        if block.language == "sh"
        for line in command_lines(block.text)
    ]
    first = next(number for number, line in enumerate(lines) if FOR_CAMERAS.search(line))
    assert any(line.startswith("make cameras") for line in lines[:first])


@pytest.mark.parametrize("block", every("sh"))
def test_files_of_the_project_that_a_command_reads_exist(block: CodeBlock) -> None:
    words = [
        word for line in command_lines(block.text) for words in commands(line) for word in words
    ]
    files = [
        word for word in words if re.fullmatch(r"(?:deploy|tests|scripts|examples)/[\w./-]+", word)
    ]
    built_files = {"deploy/keys.toml", "deploy/data", "deploy/plates"}  # the last one in Kubernetes
    missing = [file for file in files if not (PROJECT / file).exists()]
    assert [file for file in missing if file.rstrip("/") not in built_files] == []


def run_module(words: list[str]) -> None:
    """Check that the module or script exists."""
    if words[:1] == ["-m"]:
        assert importlib.util.find_spec(words[1]) is not None
    elif words and (PROJECT / words[0].split("/")[0]).exists():
        assert (PROJECT / words[0]).is_file()
