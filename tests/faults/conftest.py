"""A test that is tried once more on a shared stage has to name its tasks anew."""

from __future__ import annotations

import pytest

from tests.faults.scene import Scene


@pytest.fixture(autouse=True)
def named_anew(request: pytest.FixtureRequest) -> None:
    tries = getattr(request.node, "execution_count", 1)
    for stage in {"scene", "pair"} & set(request.fixturenames) if tries > 1 else ():
        scene = request.getfixturevalue(stage)
        if isinstance(scene, Scene):
            scene.again = f"-{tries}"
