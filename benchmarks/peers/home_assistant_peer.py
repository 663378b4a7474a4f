"""Home Assistant 2024.3.3: one automation, fired in process. Nothing of it is durable; it is the speed that people know.

The unit: an event on the bus -> the automation's event trigger (with `event_data`) -> a state condition -> one action, a service call that appends to a list in
memory. A unit is over when the service was called with its event's track.

Settings: the core with its automation component and what that needs, no recorder, no pages, no entities but the condition's; `mode: parallel` with `max` above
what is asked for at once, so that no event is refused; traces as shipped (five kept per automation); warnings are logged.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from typing import Any

from homeassistant import bootstrap, core, loader
from homeassistant.config_entries import ConfigEntries
from homeassistant.setup import async_setup_component

from benchmarks.peers.worker import Told, serve

LARGEST = 1000
AUTOMATION = {
    "id": "count",
    "alias": "Count",
    "mode": "parallel",
    "max": LARGEST,
    "trigger": [
        {"platform": "event", "event_type": "vehicle_in_zone", "event_data": {"camera": "cam-1", "zone": "apron"}}
    ],
    "condition": [{"condition": "state", "entity_id": "alarm_control_panel.house", "state": "disarmed"}],
    "action": [{"service": "bench.record", "data_template": {"track": "{{ trigger.event.data.track }}"}}],
}


async def prepared(folder: str) -> core.HomeAssistant:
    hass = core.HomeAssistant(folder)
    hass.config.skip_pip = True
    hass.config_entries = ConfigEntries(hass, {})
    loader.async_setup(hass)
    hass.data[loader.DATA_CUSTOM_COMPONENTS] = {}
    await bootstrap.async_load_base_functionality(hass)
    return hass


async def run(folder: str) -> None:
    told = Told()
    logging.basicConfig(level=logging.WARNING)
    hass = await prepared(folder)
    seen: list[str] = []
    waiting: dict[str, asyncio.Future[None]] = {}

    async def record(call: core.ServiceCall) -> None:
        track = str(call.data["track"])
        seen.append(track)
        waiting.pop(track).set_result(None)

    hass.services.async_register("bench", "record", record)
    hass.states.async_set("alarm_control_panel.house", "disarmed")
    if not await async_setup_component(hass, "automation", {"automation": [AUTOMATION]}):
        raise RuntimeError("Home Assistant's automation component could not be set up")
    await hass.async_start()
    await hass.async_block_till_done()

    async def one(number: int) -> None:
        track = f"t{number}"
        waiting[track] = asyncio.get_running_loop().create_future()
        told_of = waiting[track]
        data: dict[str, Any] = {"camera": "cam-1", "zone": "apron", "seconds": 5, "track": track}
        hass.bus.async_fire("vehicle_in_zone", data)
        await told_of

    async def recorded() -> int:
        return len(seen)

    await serve(told, {"mode": "parallel", "max": LARGEST}, one, recorded)
    await hass.async_stop(force=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(folder))


if __name__ == "__main__":
    main()
