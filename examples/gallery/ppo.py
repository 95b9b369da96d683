"""Proximal policy optimization on an environment of our own: python examples/gallery/ppo.py [--steps 60] [--device cpu|gpu]

A boat has to reach a buoy against a current that pushes it sideways; it can push itself in four directions. 64 boats sail at
once, as one tensor. Source: Schulman et al., 2017.
"""
from __future__ import annotations

import argparse
import pathlib

import lucid
from lucid import Tensor, nn
from lucid.distributions import Categorical

BOATS, LENGTH = 64, 40


class Sea:
    """Boats (BOATS, 2) in a square of side 2, with the buoy in the middle of the top; what a policy sees are place and speed."""

    def __init__(self, device: str) -> None:
        self.pushes = lucid.tensor([[0.1, 0.0], [-0.1, 0.0], [0.0, 0.1], [0.0, -0.1]], device=device)
        self.buoy = lucid.tensor([0.0, 0.8], device=device)
        self.device = device

    def reset(self) -> Tensor:
        self.place = lucid.rand(BOATS, 2, device=self.device) * 2 - 1
        self.speed = lucid.zeros(BOATS, 2, device=self.device)
        return lucid.cat([self.place, self.speed], 1)

    def step(self, action: Tensor) -> tuple[Tensor, Tensor]:
        """What is seen next, and the reward: minus the distance from the buoy."""
        current = lucid.stack([0.03 * lucid.cos(3 * self.place[:, 1]), lucid.zeros(BOATS, device=self.device)], 1)
        self.speed = 0.8 * self.speed + 0.5 * self.pushes[action]
        self.place = (self.place + self.speed + current).clamp(-1, 1)
        return lucid.cat([self.place, self.speed], 1), -(self.place - self.buoy).norm(dim=1)


class Agent(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 4))
        self.value = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, seen: Tensor) -> tuple[Categorical, Tensor]:
        return Categorical(logits=self.policy(seen), validate_args=False), self.value(seen).squeeze(-1)


@lucid.no_grad()
def sail(agent: Agent, sea: Sea, gamma: float = 0.95, smooth: float = 0.9) -> tuple[list[Tensor], float]:
    """A voyage of all boats: what was seen, actions, their log-probabilities, advantages and returns; and the last reward."""
    seen = sea.reset()
    steps = []
    for _ in range(LENGTH):
        policy, value = agent(seen)
        action = policy.sample()
        after, reward = sea.step(action)
        steps.append((seen, action, policy.log_prob(action), value, reward))
        seen = after
    following, advantage = agent(seen)[1], lucid.zeros(BOATS, device=sea.device)
    advantages = []
    for _, _, _, value, reward in reversed(steps):  # generalized advantage estimation
        advantage = reward + gamma * following - value + gamma * smooth * advantage
        following = value
        advantages.append(advantage)
    found = lucid.stack(advantages[::-1]).flatten()
    columns = [lucid.cat([step[k] for step in steps]) for k in range(4)]
    return [*columns[:3], found, found + columns[3]], steps[-1][-1].mean().item()


def main(steps: int = 60, device: str = "cpu", output: pathlib.Path | None = None) -> float:
    """Train, and return the mean distance from the buoy at the end of the last voyages."""
    from tqdm import trange

    lucid.manual_seed(0)
    agent, sea = Agent().to(device), Sea(device)
    optimizer = lucid.optim.Adam(agent.parameters(), lr=3e-3)

    @lucid.compile
    def update(seen: Tensor, action: Tensor, before: Tensor, advantage: Tensor, returned: Tensor) -> Tensor:
        optimizer.zero_grad()
        policy, value = agent(seen)
        ratio = (policy.log_prob(action) - before).exp()
        scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        gain = lucid.minimum(ratio * scaled, ratio.clamp(0.8, 1.2) * scaled).mean()
        loss: Tensor = (value - returned).square().mean() * 0.5 - gain - 0.01 * policy.entropy().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
        return loss

    distances = []
    for _ in trange(steps, disable=None):
        data, last = sail(agent, sea)
        distances.append(-last)
        for _ in range(4):
            for part in lucid.randperm(BOATS * LENGTH, device=device).chunk(4):
                update(*[column[part] for column in data])
    tail = distances[-max(steps // 10, 1):]
    print(f"boats end {sum(tail) / len(tail):.3f} from the buoy, {distances[0]:.3f} at first")
    if output:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 3))
        left.plot(distances)
        left.set(xlabel="update", ylabel="distance at the end")
        path = sail(agent, sea)[0][0].reshape(LENGTH, BOATS, 4)[:, :12, :2].cpu()
        for boat in range(12):
            right.plot(*path[:, boat].T.numpy(), lw=0.8)
        right.plot(0, 0.8, "r*", ms=12)
        right.set(title="voyages", xlim=(-1, 1), ylim=(-1, 1))
        figure.tight_layout()
        figure.savefig(output, dpi=70)
    return float(sum(tail) / len(tail))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("ppo.png"))
    options = parser.parse_args()
    main(options.steps, options.device, options.output)
