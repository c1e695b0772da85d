"""The environment for gymnasium."""

from __future__ import annotations

from typing import Callable

import pytest

gymnasium = pytest.importorskip("gymnasium")

from guestright.gym import FACTORS, CongestionEnv  # noqa: E402


def episode(policy: Callable[[list[float]], int], loss: float = 0.0, seed: int = 1) -> list[float]:
    env = CongestionEnv(loss=loss, steps=100)
    observation, _ = env.reset(seed=seed)
    rewards, is_over = [], False
    while not is_over:
        observation, reward, _, is_over, _ = env.step(policy([float(number) for number in observation]))
        rewards.append(reward)
    return rewards


def keep_the_pipe_full(observation: list[float]) -> int:
    window, queueing, lost, _ = observation
    if window == 0.0:
        return FACTORS.index(2.0)
    return FACTORS.index(0.9 if lost or queueing > 0.1 else 1.1 if window < 1.0 else 1.0)


def test_it_keeps_gymnasiums_rules() -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(CongestionEnv(steps=20), skip_render_check=True)


def test_the_same_seed_gives_the_same_episode() -> None:
    assert episode(keep_the_pipe_full, loss=0.02) == episode(keep_the_pipe_full, loss=0.02)
    assert episode(keep_the_pipe_full, loss=0.02) != episode(keep_the_pipe_full, loss=0.02, seed=2)


def test_who_keeps_the_pipe_full_beats_who_floods_it_and_who_starves_it() -> None:
    good = sum(episode(keep_the_pipe_full))
    assert good > sum(episode(lambda _: FACTORS.index(2.0)))
    assert good > sum(episode(lambda _: FACTORS.index(0.5)))
    # 100 round trips at the full rate give 100.
    assert 80 < good <= 101
