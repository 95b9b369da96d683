"""Policy gradients, learning to learn, optimizers in Python and differential equations: each function returns a training step."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from bench.library import Library

Step = Callable[[], Any]


def _pole(lib: Any, state: Any, push: float) -> Any:
    """A pole that falls over, roughly."""
    x, speed, angle, turn = state.tolist()
    turn, speed = turn + 0.02 * (9.8 * angle - 3 * push), speed + 0.02 * push
    return lib.tensor([x + 0.02 * speed, speed, angle + 0.02 * turn, turn])


def reinforce(library: Library) -> Step:
    """An episode of 25 moves, discounted returns, and the gradient of the log probabilities."""
    lib, nn, F = library.lib, library.nn, library.F
    policy = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = library.optim.Adam(policy.parameters(), lr=1e-3)

    def step() -> Any:
        state, chosen, rewards = lib.tensor([0.0, 0.1, 0.05, 0.0]), [], []
        for _ in range(25):
            probabilities = F.softmax(policy(state.unsqueeze(0)), dim=1)
            action = probabilities.multinomial(1)
            chosen.append(probabilities.gather(1, action).log().squeeze())
            state = _pole(lib, state, 2.0 * action.item() - 1)
            rewards.append(1.0 - abs(state[2].item()))
        value, returns = 0.0, []
        for reward in reversed(rewards):
            value = reward + 0.99 * value
            returns.insert(0, value)
        advantage = lib.tensor(returns)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        loss = lib.stack([-log * a for log, a in zip(chosen, advantage, strict=True)]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def actor_critic(library: Library) -> Step:
    """20 moves of a policy and a value that share a layer, with entropy and bootstrapped targets."""
    lib, nn, F = library.lib, library.nn, library.F
    shared, actor, critic = nn.Linear(4, 64), nn.Linear(64, 2), nn.Linear(64, 1)
    optimizer = library.optim.RMSprop([p for module in (shared, actor, critic) for p in module.parameters()], lr=1e-3)

    def step() -> Any:
        state, logs, values, entropies, rewards = lib.tensor([0.0, 0.1, 0.05, 0.0]), [], [], [], []
        for _ in range(20):
            hidden = lib.tanh(shared(state))
            choice = lib.distributions.Categorical(logits=actor(hidden))
            action = choice.sample()
            logs.append(choice.log_prob(action))
            values.append(critic(hidden))
            entropies.append(choice.entropy())
            state = _pole(lib, state, 2.0 * action.item() - 1)
            rewards.append(1.0 - abs(float(state[2])))
        with lib.no_grad():
            value, targets = critic(lib.tanh(shared(state))).item(), []
            for reward in reversed(rewards):
                value = reward + 0.99 * value
                targets.insert(0, value)
        wanted, value = lib.tensor(targets), lib.cat(values)
        advantage = wanted - value
        loss = -(lib.stack(logs) * advantage.detach()).mean() + F.smooth_l1_loss(value, wanted)
        loss = loss - 0.01 * lib.stack(entropies).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def ode_adjoint(library: Library) -> Step:
    """Runge-Kutta steps forward without a graph, then the adjoint equation backward in time."""
    lib, nn, steps = library.lib, library.nn, 10
    field = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
    parameters, dt = list(field.parameters()), 0.1
    optimizer, start, end = library.optim.Adam(parameters, lr=1e-3), lib.randn(16, 2), lib.randn(16, 2)

    def advance(f: Any, state: tuple[Any, ...], h: float) -> tuple[Any, ...]:
        def moved(by: tuple[Any, ...], factor: float) -> tuple[Any, ...]:
            return tuple([s + factor * d for s, d in zip(state, by, strict=True)])

        a = f(state)
        b = f(moved(a, h / 2))
        c = f(moved(b, h / 2))
        d = f(moved(c, h))
        return tuple([s + h / 6 * (p + 2 * q + 2 * r + t) for s, p, q, r, t in zip(state, a, b, c, d, strict=True)])

    def augmented(state: tuple[Any, ...]) -> tuple[Any, ...]:
        with lib.enable_grad():
            y = state[0].detach().requires_grad_()
            change = field(y)
            found = lib.autograd.grad(change, [y, *parameters], -state[1])
        return change.detach(), *found

    def step() -> Any:
        with lib.no_grad():
            y = start
            for _ in range(steps):
                (y,) = advance(lambda state: (field(state[0]),), (y,), dt)
            loss, state = ((y - end) ** 2).mean(), (y, 2 * (y - end) / y.numel(), *map(lib.zeros_like, parameters))
            for _ in range(steps):
                state = advance(augmented, state, -dt)
        for parameter, gradient in zip(parameters, state[2:], strict=True):
            parameter.grad = gradient
        optimizer.step()
        return loss.item()

    return step


def maml(library: Library, create_graph: bool) -> Step:
    """Four tasks of sine waves, two inner steps each, and the gradient through them, of the second order or the first."""
    lib, F = library.lib, library.F
    weights = [(lib.randn(*shape) * 0.3).requires_grad_() for shape in ((40, 1), (40,), (40, 40), (40,), (1, 40), (1,))]
    optimizer = library.optim.Adam(weights, lr=1e-3)
    tasks = [(lib.randn(10, 1), lib.randn(1), lib.randn(10, 1)) for _ in range(4)]

    def predict(x: Any, w: list[Any]) -> Any:
        return F.linear(F.relu(F.linear(F.relu(F.linear(x, w[0], w[1])), w[2], w[3])), w[4], w[5])

    def step() -> Any:
        total = 0
        for x, phase, test in tasks:
            fast = weights
            for _ in range(2):
                loss = F.mse_loss(predict(x, fast), lib.sin(x + phase))
                gradients = lib.autograd.grad(loss, fast, create_graph=create_graph)
                fast = [w - 0.01 * g for w, g in zip(fast, gradients, strict=True)]
            total = total + F.mse_loss(predict(test, fast), lib.sin(test + phase))
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        return total.item()

    return step


def own_optimizer(library: Library) -> Step:
    """AdamW by a class of one's own, tensor by tensor and in place, on a perceptron."""
    lib, nn, F = library.lib, library.nn, library.F
    model = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5))
    x, labels = lib.randn(32, 20), lib.randint(0, 5, (32,))

    class Own(library.optim.Optimizer):  # type: ignore[misc]
        def __init__(self, parameters: Any, lr: float) -> None:
            super().__init__(parameters, {"lr": lr, "decay": 0.01})

        def step(self, closure: Any = None) -> None:
            with lib.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        self.move(p, self.state[p], group["lr"], group["decay"])

        def move(self, p: Any, state: Any, lr: float, decay: float) -> None:
            if not state:
                state["step"], state["m"], state["v"] = 0, lib.zeros_like(p), lib.zeros_like(p)
            state["step"] += 1
            m, v, g = state["m"], state["v"], p.grad
            m.mul_(0.9).add_(g, alpha=0.1)
            v.mul_(0.999).addcmul_(g, g, value=0.001)
            scale = (1 - 0.999 ** state["step"]) ** 0.5
            p.mul_(1 - lr * decay)
            p.addcdiv_(m, v.sqrt().div_(scale).add_(1e-8), value=-lr / (1 - 0.9 ** state["step"]))

    optimizer = Own(model.parameters(), 1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def newton_schulz(library: Library) -> Step:
    """Momentum made orthogonal by five iterations of a polynomial, for the matrices of a perceptron."""
    lib, nn, F = library.lib, library.nn, library.F
    model = nn.Sequential(nn.Linear(16, 48, bias=False), nn.ReLU(), nn.Linear(48, 32, bias=False), nn.ReLU(), nn.Linear(32, 1))
    x, y = lib.randn(24, 16), lib.randn(24, 1)
    momenta = {p: lib.zeros_like(p) for p in model.parameters()}

    def orthogonal(matrix: Any) -> Any:
        z = matrix / (matrix.norm() + 1e-7)
        if z.size(0) > z.size(1):
            z = z.T
        for _ in range(5):
            square = z @ z.T
            z = 3.4445 * z + (-4.775 * square + 2.0315 * square @ square) @ z
        return z.T if matrix.size(0) > matrix.size(1) else z

    def step() -> Any:
        loss = F.mse_loss(model(x), y)
        model.zero_grad()
        loss.backward()
        with lib.no_grad():
            for p, momentum in momenta.items():
                momentum.mul_(0.95).add_(p.grad)
                p.sub_(1e-3 * (orthogonal(momentum) if p.ndim == 2 else momentum))
        return loss.item()

    return step


def physics_informed(library: Library) -> Step:
    """Burgers' equation: a perceptron's first and second derivatives in its loss."""
    lib, nn = library.lib, library.nn
    net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
    optimizer = library.optim.Adam(net.parameters(), lr=1e-3)
    x, t = lib.rand(50, 1).requires_grad_(), lib.rand(50, 1).requires_grad_()
    edge, wave = lib.rand(20, 2), lib.rand(20, 1)

    def derivative(y: Any, by: Any) -> Any:
        return lib.autograd.grad(y, by, grad_outputs=lib.ones_like(y), create_graph=True)[0]

    def step() -> Any:
        optimizer.zero_grad()
        u = net(lib.cat([x, t], dim=1))
        u_x, u_t = derivative(u, x), derivative(u, t)
        residual = u_t + u * u_x - 0.01 * derivative(u_x, x)
        loss = lib.mean(residual ** 2) + lib.mean((net(edge) - wave) ** 2)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


PROGRAMS = {"REINFORCE": reinforce, "actor-critic": actor_critic, "ODE with its adjoint": ode_adjoint,
            "MAML, second order": functools.partial(maml, create_graph=True),
            "MAML, first order": functools.partial(maml, create_graph=False),
            "optimizer in Python": own_optimizer, "Newton-Schulz": newton_schulz, "physics-informed network": physics_informed}
