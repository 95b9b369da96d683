"""Workers of a DataLoader in a script without a guard, with functions that cannot be pickled."""
import multiprocessing

import torch
from torch.utils.data import DataLoader, Dataset

if multiprocessing.get_start_method() == "fork":
    class Squares(Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            return torch.full((400, 400), float(index)).square().mean()

    weight = torch.rand(400, 400, requires_grad=True)
    (weight @ weight).sum().backward()
    found = list(DataLoader(Squares(), 2, num_workers=2, collate_fn=lambda items: torch.stack(items).sum()))
    assert torch.stack(found).tolist() == [1.0, 13.0, 41.0], found
print("done")
