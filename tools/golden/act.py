"""Golden values of activations: tests/golden/data/act.txt.

For each activation, named as a config names it, its values y at x and the gradient dx of sum(c y),
by torch in float64. RReLU, which is random in training, is taken in evaluation mode, and its
gradient where both ends of its range are equal.
Run with a python that has torch: python3 tools/golden/act.py
"""

import numpy as np
import torch
from torch import nn

from common import Writer

ROWS, WIDTH = 37, 3
SPECS = """
nn.ReLU nn.ReLU(inplace=True) nn.LeakyReLU nn.LeakyReLU(negative_slope=0.2) nn.PReLU nn.PReLU(num_parameters=3,init=0.4)
nn.RReLU nn.RReLU(lower=0.3,upper=0.3) nn.ReLU6 nn.Sigmoid nn.Tanh nn.GELU nn.GELU(approximate='none')
nn.GELU(approximate='tanh') nn.GELU(approximate="tanh") nn.SiLU nn.Mish nn.ELU nn.ELU(alpha=0.5) nn.SELU nn.CELU
nn.CELU(alpha=0.3) nn.CELU(alpha=2.5) nn.Softplus nn.Softplus(beta=2) nn.Softplus(beta=0.5,threshold=1) nn.LogSigmoid
nn.Softsign nn.Hardsigmoid nn.Hardswish nn.Hardtanh nn.Hardtanh(min_val=-2,max_val=0.5) nn.Threshold(threshold=0.1,value=20)
nn.Threshold(threshold=-1.5,value=-1.5) nn.Softshrink nn.Softshrink(lambd=1.2) nn.Hardshrink nn.Hardshrink(lambd=0.7)
nn.Tanhshrink nn.Softmax(dim=-1) nn.Softmax(dim=1) nn.Softmin(dim=-1) nn.LogSoftmax(dim=-1)
torch.nn.Mish torch.nn.modules.activation.SELU nn.Identity
""".split()

gen = torch.Generator().manual_seed(11)
x = torch.randn(ROWS, WIDTH, generator=gen) * 2.5
x[:2] = torch.tensor([[0.0, -30.0, 1e-4], [30.0, -8.0, 8.0]])
c = torch.randn(ROWS, WIDTH, generator=gen)
c = torch.where(c.abs() < 0.1, torch.full_like(c, 0.1), c)
out = Writer("act.txt", "activations")
out.add("x", x.numpy())
out.add("c", c.numpy())
for spec in SPECS:
    module = eval(spec if "(" in spec else spec + "()").double()
    if "RReLU" in spec:
        module.eval()
    leaf = x.double().requires_grad_()
    y = module(leaf + 0)
    out.add(spec + "/y", y.detach().numpy().astype(np.float32))
    if spec != "nn.RReLU":
        (y * c.double()).sum().backward()
        out.add(spec + "/dx", leaf.grad.numpy().astype(np.float32))
out.close()
