"""Files of API keys."""

from pathlib import Path

from orchestrator.serving.gateway.policy.api_keys import hash_of


def write_keys(folder: Path, **keys: str) -> Path:
    """Write a file of keys by their names; a key that is named as a priority has it.

    Each may have 64 calls at once, be the service as small as it may.
    """
    tables = (
        f'[{name}]\nsha256 = "{hash_of(key)}"\npriority = "{name}"\ncalls = 64\n'
        for name, key in keys.items()
    )
    file = folder / "keys.toml"
    file.write_text("".join(tables))
    return file


def write_expiring_key(folder: Path) -> Path:
    """Write a file with one key, `guest`, that expires in 2100."""
    file = folder / "keys.toml"
    file.write_text(f'[guest]\nsha256 = "{hash_of("guest")}"\nexpires = 2100-01-01\n')
    return file
