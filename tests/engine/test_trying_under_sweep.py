"""A try that takes long is not taken over by the sweep that looks for runs without a driver."""

import asyncio

from siteward.core.contract.document import State
from siteward.core.plugins.objects import AiAnswer, AiRequest

from .house import House

FILE = """\
name: Watch
when:
  detect.vehicle_in_zone: { cameras: gate, zone: apron }
then:
  - ai:
      mode: look
      prompt: What stands at the gate?
      decision: [delivery, other]
      delivery: [log: delivery]
      other: [log: other]
      unsure: [log: unsure]
"""


async def test_a_try_that_looks_for_long_is_told_to_its_end(house: House) -> None:
    workflow = await house.save(FILE, State.OFF)
    event = house.vehicle()
    await house.happens(event)
    looking, release = asyncio.Event(), asyncio.Event()
    answer = house.looks.run

    async def slow(request: AiRequest) -> AiAnswer:
        looking.set()
        await release.wait()
        return await answer(request)

    mode = house.skills.ai_modes["look"]
    object.__setattr__(mode, "run", slow)
    trying = asyncio.create_task(house.engine.try_workflow(workflow, [event.id]))
    await looking.wait()
    await house.engine.sweep()
    release.set()
    (row,) = await trying
    await house.engine.drain()
    assert (row["state"], row["decision"]) == ("done", "delivery")
    assert len(house.looks.asked) == 1
