# SPDX-License-Identifier: Apache-2.0
"""Producers of DLPack as frameworks are: each around a fake tensor, with its own manners."""
import ctypes

import fake_tensor
import numpy

CODES = {"i": 0, "u": 1, "f": 2}


def fake(array):
    """A fake tensor on the CPU with the contents of a NumPy array."""
    array = numpy.ascontiguousarray(array)
    tensor = fake_tensor.Tensor(array.shape, CODES[array.dtype.kind], array.itemsize * 8)
    ctypes.memmove(tensor.address, array.ctypes.data, array.nbytes)
    return tensor


def contents(tensor, dtype):
    """What is in a fake tensor on the CPU."""
    count = int(numpy.prod(tensor.shape))
    data = (ctypes.c_char * (count * numpy.dtype(dtype).itemsize)).from_address(tensor.address)
    return numpy.frombuffer(bytes(data), dtype).reshape(tensor.shape)


class Producer:
    """Versioned capsules when they are asked for, as NumPy and JAX have them."""

    flags, major = 0, 1

    def __init__(self, tensor, device=(1, 0)):
        self.tensor, self.place, self.asked = tensor, device, []

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, *, stream=None, max_version=None):
        self.asked.append({"stream": stream, "max_version": max_version})
        return fake_tensor.capsule(self.tensor, self.major if max_version else 0, self.flags)


class OldProducer(Producer):
    """From before DLPack 1.0, as CuPy 13 on a GPU."""

    def __dlpack__(self, stream=None):
        self.asked.append({"stream": stream})
        return fake_tensor.capsule(self.tensor, 0, 0)


class ReadOnlyProducer(Producer):
    flags = 1


class FutureProducer(Producer):
    major = 2
