"""Adam as one kernel that writes the parameter and both moments in place, as an optimizer: LUCID_GPU=simulated python adam.py"""
import numpy as np

import lucid
from lucid import extension as ext

CUDA = r"""
template <typename T>
__global__ void adam(T* p, const T* g, T* m, T* v, long long size, T lr, T beta1, T beta2, T eps, T correction1, T correction2) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= size) return;
    m[i] += (g[i] - m[i]) * (1 - beta1);
    v[i] += (g[i] * g[i] - v[i]) * (1 - beta2);
    p[i] -= lr * m[i] / correction1 / (sqrt(v[i] / correction2) + eps);
}
"""


@ext.jit
def adam_on_cpu(p, g, m, v, lr, beta1, beta2, eps, correction1, correction2):
    p, g, m, v = p.reshape(-1), g.reshape(-1), m.reshape(-1), v.reshape(-1)
    for i in range(p.size):
        m[i] += (g[i] - m[i]) * (1 - beta1)
        v[i] += (g[i] * g[i] - v[i]) * (1 - beta2)
        p[i] -= lr * m[i] / correction1 / (np.sqrt(v[i] / correction2) + eps)


adam = ext.op("my_adam(p!, g, m!, v!, *, lr, beta1, beta2, eps, correction1, correction2) -> ()", cpu=adam_on_cpu,
              gpu=ext.cuda(CUDA, "adam"))


class Adam(lucid.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @lucid.no_grad()
    def step(self, closure=None):
        loss = None if closure is None else lucid.enable_grad()(closure)()
        for group, p in [(each, p) for each in self.param_groups for p in each["params"]]:
            state, (beta1, beta2) = self.state[p], group["betas"]
            if not state:
                state.update(step=0, m=lucid.zeros_like(p), v=lucid.zeros_like(p))
            state["step"] += 1
            adam(p, p.grad, state["m"], state["v"], lr=group["lr"], beta1=beta1, beta2=beta2, eps=group["eps"],
                 correction1=1 - beta1 ** state["step"], correction2=1 - beta2 ** state["step"])
        return loss


def test_adam():
    for device in ("cpu", "gpu") if lucid.cuda.is_available() else ("cpu",):
        mine, other = (lucid.ones(3, 5, device=device).requires_grad_() for _ in range(2))
        for p, optimizer in ((mine, Adam([mine], lr=0.1)), (other, lucid.optim.Adam([other], lr=0.1))):
            for _ in range(3):
                p.grad = p.detach().sin()
                optimizer.step()
        assert lucid.allclose(mine, other, atol=1e-5), device


if __name__ == "__main__":
    test_adam()
