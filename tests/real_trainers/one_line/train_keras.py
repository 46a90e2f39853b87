"""A tiny BERT with Keras' fit() on TensorFlow as it comes: its own progress bar.

--devices of this one process share each batch (MirroredStrategy); Keras 3 knows no strategy of several
processes on TensorFlow.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

import tensorflow
import keras
import numpy
from update_clock import UpdateClock

VOCABULARY, HIDDEN, LAYERS = 2000, 128, 2


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, required=True, help="sequences of a device and step")
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--length", type=int, required=True, help="words of a sequence")
    parser.add_argument("--output", required=True, help="folder of the clock")
    return parser.parse_args()


def tiny_bert(length):
    layers = keras.layers
    words = keras.Input((length,), dtype="int32")
    position = layers.Embedding(length, HIDDEN)(keras.ops.arange(length))
    hidden = layers.LayerNormalization()(layers.Embedding(VOCABULARY, HIDDEN)(words) + position)
    for _ in range(LAYERS):
        attended = layers.MultiHeadAttention(2, HIDDEN // 2)(hidden, hidden)
        hidden = layers.LayerNormalization()(hidden + attended)
        wide = layers.Dense(4 * HIDDEN, activation="gelu")(hidden)
        hidden = layers.LayerNormalization()(hidden + layers.Dense(HIDDEN)(wide))
    return keras.Model(words, layers.Dense(VOCABULARY)(hidden))


class Watch(keras.callbacks.Callback):
    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def on_train_begin(self, logs=None):
        self.clock.start()

    def on_train_batch_end(self, batch, logs=None):
        self.clock.update_ended()


def main():
    a = options()
    tensorflow.config.set_logical_device_configuration(
        tensorflow.config.list_physical_devices("CPU")[0],
        [tensorflow.config.LogicalDeviceConfiguration()] * a.devices)
    devices = [f"/cpu:{n}" for n in range(a.devices)]
    strategy = tensorflow.distribute.MirroredStrategy(
        devices, cross_device_ops=tensorflow.distribute.ReductionToOneDevice())
    with strategy.scope():
        model = tiny_bert(a.length)
        model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    sequences = a.batch * a.devices
    words = numpy.random.randint(5, VOCABULARY, (sequences, a.length)).astype("int32")
    data = tensorflow.data.Dataset.from_tensors((words, words)).repeat()
    model.fit(data, steps_per_epoch=a.steps,
              callbacks=[Watch(UpdateClock(a.output, sequences))])


if __name__ == "__main__":
    main()
