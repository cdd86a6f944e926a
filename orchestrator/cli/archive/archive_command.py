"""The command `plates archive`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

from orchestrator.cli.chosen_server import SERVER_PANEL, AddressOptions, check_unused, fitting_calls
from orchestrator.cli.flags import CallOptions, Device, VerboseOption, show_errors
from orchestrator.errors import SettingsError
from orchestrator.host.option_fields import declared, expand
from orchestrator.networks.options import MAX_THREADS, NetworkOptions

# Heavy modules are imported when the command runs, so that --help is quick.

SPREAD = partial(typer.Option, rich_help_panel="How the work is spread")
IN_FLIGHT_HERE = 2
"""Pictures that an actor with its own networks processes at once. One is unpacked or read while the
other is in the detector."""
EXAMPLES = """
Recognise the number plates of a whole archive, to Parquet files.

SOURCE: a folder, s3://bucket/folder or gs://bucket/folder, with the folders in it.

The networks run in processes of Ray on this machine, or on a cluster with
--address; with --url a server is asked. The same command goes on where it was
stopped or killed.

Examples:

  plates archive photos/ --out plates/

  plates archive s3://cameras/2026 --out s3://tables/2026 --actors 4

  plates archive gs://cameras/gate --out plates/ --url plates.example.com:8000

  plates archive s3://cameras --out s3://tables --address auto --actors 40

Exit codes: 0 all done, 1 some pictures failed, 2 nothing could be done, 130 stopped by Ctrl-C.
"""


@dataclass(frozen=True)
class SpreadOptions:
    """How the work is spread."""

    actors: Annotated[
        int,
        SPREAD(
            min=0,
            max=10_000,
            help="Processes that recognise; 0: what fits the machine or the cluster.",
        ),
    ] = 0
    threads: Annotated[
        int,
        SPREAD(
            min=0,
            max=MAX_THREADS,
            help="Cores of each process; 0: equal parts of this machine, or one on a cluster.",
        ),
    ] = 0
    in_flight: Annotated[
        int,
        SPREAD(
            min=0,
            max=64,
            help="Pictures in work in each process; 0: two, or as many as keep the server busy.",
        ),
    ] = 0
    address: Annotated[
        str,
        SPREAD(
            metavar="HOST:PORT",
            help="A running cluster of Ray; auto: the cluster of this machine. Its machines "
            "need this package, and must reach both folders.",
        ),
    ] = ""


@dataclass(frozen=True)
class ArchiveServer(AddressOptions):
    """A server that runs, in place of networks."""

    url: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=SERVER_PANEL,
            metavar="HOST:PORT",
            help="A server that runs, in place of networks in each process; grpc://host:port for "
            "gRPC, with TLS https:// or grpcs://.",
        ),
    ] = None


@expand
def archive(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SOURCE", show_default=False)],
    *,
    out: Annotated[
        str,
        typer.Option(
            metavar="FOLDER",
            help="Folder of the Parquet files, on any of these storages; one for each archive.",
        ),
    ],
    partition: Annotated[
        int,
        typer.Option(min=1, max=100_000, help="Average number of pictures in a file of results."),
    ] = 500,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="In the end, remove files of pictures that have changed, moved or gone since.",
        ),
    ] = False,
    spread: SpreadOptions,
    call: CallOptions,
    server: ArchiveServer,
    networks: NetworkOptions,
    verbose: VerboseOption = False,
) -> None:
    with show_errors(verbose=verbose):
        from orchestrator.cli.archive.actor import Job
        from orchestrator.cli.archive.archive_run import ArchiveRun
        from orchestrator.cli.archive.executor import ActorPlan
        from orchestrator.cli.archive.recognizers import OwnNetworks, RunningServer
        from orchestrator.cli.archive.storage import StorageFolder, check_packages
        from orchestrator.settings import Settings, check_parameters

        check_unused(context, server.url, declared(NetworkOptions))
        check_packages()
        check_parameters(call.parameters)
        actors, threads, in_flight = spread.actors, spread.threads, spread.in_flight
        if url := server.url:
            plan = ActorPlan(actors or 1, threads or 1, 0.0, spread.address, verbose)
            calls = in_flight or max(
                1, fitting_calls(url, server.key, server.timeout) // plan.actors
            )
            recognizer: OwnNetworks | RunningServer = RunningServer(
                url, server.key, server.timeout, server.retries
            )
        else:
            Settings().updated(call.parameters)  # the limits of the networks in this process
            gpus = _count_gpus(networks.device, spread.address)
            plan = ActorPlan.of_networks(actors, threads, gpus, spread.address, is_verbose=verbose)
            calls = in_flight or IN_FLIGHT_HERE
            recognizer = OwnNetworks(
                networks.weights, networks.formats, networks.engine, bool(plan.gpus), plan.cpus
            )
        places = StorageFolder.parse(source), StorageFolder.parse(out)
        job = Job(*places, recognizer, call.parameters, calls)
        status = ArchiveRun(job, plan, partition, prune).run()
    raise typer.Exit(status)


archive.__doc__ = EXAMPLES


def _count_gpus(device: str, address: str) -> int:
    """Return the number of GPUs to use on this machine; on a cluster, one for each actor.

    Raises:
        SettingsError: A GPU was required, and this machine has none.
    """
    if device == Device.CPU or (address and device == Device.AUTO):
        return 0
    if address:
        return 1
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == Device.GPU and not count:
        raise SettingsError("device: wanted a GPU, got none that PyTorch can use")
    return count
