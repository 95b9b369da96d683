"""One step of optimizers in float64."""
import numpy as np


def sgd_reference(p, g, b, *, lr, momentum, dampening, weight_decay, nesterov, maximize):
    d = (-g if maximize else g) + weight_decay * p
    if momentum:
        b = d if b is None else momentum * b + (1 - dampening) * d
        d = d + momentum * b if nesterov else b
    return p - lr * d, b


def adam_reference(
    p, g, m, v, largest, *, lr, beta1, beta2, eps, weight_decay, step, decoupled_weight_decay, amsgrad, maximize
):
    g = -g if maximize else g
    if decoupled_weight_decay:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    largest = np.maximum(largest, v) if amsgrad else largest
    root = np.sqrt((largest if amsgrad else v) / (1 - beta2**step))
    return p - lr * m / (1 - beta1**step) / (root + eps), m, v, largest
