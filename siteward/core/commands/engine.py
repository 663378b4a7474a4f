"""A larger site: several engines beside one web process, on one PostgreSQL (docs/large-site.md)."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

import click
from rich.markup import escape

from siteward.core.commands.output import Exit, errors_end_the_command, existing_site, out, stop
from siteward.core.commands.site import greet
from siteward.core.host import Host, open_host
from siteward.core.logs import LogFormat, write_logs
from siteward.core.site.configuration import SiteConfiguration, read_configuration
from siteward.core.site.configuration_yaml import secrets_of
from siteward.core.site_folder import CONFIGURATION
from siteward.core.web import serving

WEB = "web"
_ONE_PROCESS = (
    "The database of this site is a file, which one process serves: start it with `siteward run`. Several processes need PostgreSQL: "
    "`database: postgresql://user:password@server/name` in configuration.yaml."
)
log_format_option = click.option(
    "--log-format",
    type=click.Choice([style.value for style in LogFormat]),
    envvar="SITEWARD_LOG_FORMAT",
    default=LogFormat.TEXT.value,
    show_default=True,
    help="How the log is written (to standard error).",
)


@click.command("engine")
@click.option(
    "--name",
    default=socket.gethostname,
    help="The name of this engine, the same at each start. Default: the machine's.",
)
@click.option(
    "--drain",
    metavar="NAME",
    help="Instead: give up the places that the engine NAME, which is no more, has at brokers.",
)
@log_format_option
@click.pass_context
def engine_command(context: click.Context, name: str, drain: str | None, log_format: str) -> None:
    """Run one of several engines of a site on PostgreSQL, beside `siteward web`, until it is stopped (Ctrl-C)."""
    folder = existing_site(context)
    with errors_end_the_command():
        configuration = _several(folder)
        write_logs(LogFormat(log_format), secrets=secrets_of(folder))
        asyncio.run(_engine(folder, configuration, name) if drain is None else _drain(folder, configuration, drain))


@click.command("web")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Another port than configuration.yaml says (0: a free one)."
)
@log_format_option
@click.pass_context
def web_command(context: click.Context, port: int | None, log_format: str) -> None:
    """Serve the pages of a site on PostgreSQL whose runs `siteward engine` drives. Brings the database up to date."""
    folder = existing_site(context)
    with errors_end_the_command():
        configuration = _several(folder)
        write_logs(LogFormat(log_format), secrets=secrets_of(folder))
        asyncio.run(_web(folder, configuration, port))


def _several(folder: Path) -> SiteConfiguration:
    configuration = read_configuration(folder / CONFIGURATION)
    if not configuration.database:
        stop(_ONE_PROCESS, Exit.REFUSED)
    return configuration


async def _engine(folder: Path, configuration: SiteConfiguration, name: str) -> None:
    stopped = _until_stopped()
    async with open_host(folder, configuration=configuration, replica=name, applies=False, migrates=False) as host:
        await host.start()
        out.print(f"The engine {escape(name)} is at work.")
        await _stopped_or_replaced(host, stopped)
        out.print("Stopping ...")
    if _is_replaced(host):
        stop(f"Another engine was started as {name}: give each its own --name.", Exit.COULD_NOT)


async def _web(folder: Path, configuration: SiteConfiguration, port: int | None) -> None:
    stopped = _until_stopped()
    async with open_host(folder, configuration=configuration, replica=WEB, drives=False) as host:
        await host.start()
        async with serving(host, configuration.host, configuration.port if port is None else port) as address:
            await greet(host, address)
            await _stopped_or_replaced(host, stopped)
            out.print("Stopping ...")
    if _is_replaced(host):
        stop("Another `siteward web` was started for this site.", Exit.COULD_NOT)


async def _drain(folder: Path, configuration: SiteConfiguration, name: str) -> None:
    opened = open_host(folder, configuration=configuration, replica=name, drives=False, applies=False, migrates=False)
    async with opened as host:
        if name in [one["name"] for one in await host.living()]:
            stop(f"The engine {name} is at work. Stop it first, and wait for 15 s where it was killed.", Exit.REFUSED)
        await host.drain()
    out.print(f"The engine {escape(name)} has no place at any broker any more.")


def _until_stopped() -> asyncio.Event:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    return stopped


def _is_replaced(host: Host) -> bool:
    return host.engine.leases is not None and host.engine.leases.replaced.is_set()


async def _stopped_or_replaced(host: Host, stopped: asyncio.Event) -> None:
    assert host.engine.leases is not None
    ends = [asyncio.ensure_future(event.wait()) for event in (stopped, host.engine.leases.replaced)]
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    for end in ends:
        end.cancel()
