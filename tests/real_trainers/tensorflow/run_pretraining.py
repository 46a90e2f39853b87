"""BERT pre-training on TensorFlow's Estimator, on the CPU, with random token numbers as data.

It takes the options of the script of this name in NVIDIA's DeepLearningExamples that the launch
template passes, and prints as that one does: a session hook writes one DLL line to stdout per display
of the loss, TensorFlow its own to stderr, and closing lines state the rate of the whole run.
--train_batch_size is of one GPU and one micro-step. With --horovod its gradients are reduced.
"""
import datetime
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

import tensorflow as tf2
import tensorflow.compat.v1 as tf
from absl import app, flags
from update_clock import UpdateClock

flags.DEFINE_string("bert_config_file", None, "JSON of the model")
flags.DEFINE_string("input_files_dir", None, "any word: the data are random")
flags.DEFINE_string("output_dir", None, "checkpoints and clock")
flags.DEFINE_string("dllog_path", None, "JSON lines of what the hook prints")
flags.DEFINE_string("optimizer_type", "adam", "adam")
flags.DEFINE_integer("max_seq_length", 128, "tokens of a sequence")
flags.DEFINE_integer("max_predictions_per_seq", 20, "masked tokens of a sequence")
flags.DEFINE_bool("do_train", False, "train")
flags.DEFINE_bool("do_eval", False, "must be false")
flags.DEFINE_integer("train_batch_size", 8, "sequences of a worker and micro-step")
flags.DEFINE_float("learning_rate", 1e-4, "")
flags.DEFINE_integer("num_train_steps", 60, "updates")
flags.DEFINE_integer("num_warmup_steps", 10, "of the learning rate")
flags.DEFINE_integer("save_checkpoints_steps", 1000, "")
flags.DEFINE_integer("display_loss_steps", 1, "updates between two lines")
flags.DEFINE_integer("num_accumulation_steps", 1, "must be 1")
flags.DEFINE_bool("allreduce_post_accumulation", False, "")
flags.DEFINE_bool("report_loss", True, "")
flags.DEFINE_bool("horovod", False, "several workers")
flags.DEFINE_bool("amp", False, "must be false")
flags.DEFINE_bool("use_xla", False, "must be false")
FLAGS = flags.FLAGS

SKIPPED = 5  # updates that the closing rate leaves out


class Log:
    """What NVIDIA's logger writes: a text line to stdout, a JSON line to the file."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8") if path else None

    def write(self, step, data):
        now = datetime.datetime.now()
        words = "  ".join(f"{name} : {value}{unit}" for name, (value, unit) in data.items())
        at = f"Iteration: {step} " if step is not None else ""
        print(f"DLL {now} - {at} {words} ")
        if self.file:
            print("DLLL " + json.dumps({
                "timestamp": str(time.time()), "datetime": str(now), "elapsedtime": "0",
                "type": "LOG", "step": {"Iteration": step} if step is not None else [],
                "data": {name: value for name, (value, _) in data.items()}}), file=self.file)


class PrintRate(tf.train.SessionRunHook):
    """The rate of each interval by the time inside session.run, as NVIDIA's hook prints it."""

    def __init__(self, sequences, log, clock):
        self.sequences, self.log, self.clock = sequences, log, clock
        self.seconds, self.updates, self.measured_s, self.measured = 0.0, 0, 0.0, 0

    def after_create_session(self, session, coord):
        self.clock.start()

    def before_run(self, run_context):
        self.begin = time.time()
        return tf.train.SessionRunArgs(["step_update:0", "mlm_loss:0", "nsp_loss:0", "total_loss:0"])

    def after_run(self, run_context, run_values):
        seconds = time.time() - self.begin
        self.clock.update_ended()
        _, mlm, nsp, total = run_values.results
        # The real hook counts from 1 before the first update: its first line says 2.
        step = self.clock.update + 1
        if step - 1 <= SKIPPED:
            print("Skipping time record for ", step - 1, " due to checkpoint-saving/warmup overhead")
        else:
            self.measured_s, self.measured = self.measured_s + seconds, self.measured + 1
        self.seconds, self.updates = self.seconds + seconds, self.updates + 1
        if self.updates < FLAGS.display_loss_steps:
            return
        rate = self.sequences * self.updates / self.seconds
        if self.log:
            self.log.write(step, {
                "throughput_train": (f"{rate:.3f}", " sequences/s"), "mlm_loss": (f"{mlm:.4f}", ""),
                "nsp_loss": (f"{nsp:.4f}", ""), "total_loss": (f"{total:.4f}", ""),
                "avg_loss_step": (f"{total:.4f}", ""), "learning_rate": (FLAGS.learning_rate, "")})
        self.seconds, self.updates = 0.0, 0


def dense(x, units, name, activation=None):
    return tf.layers.dense(x, units, activation, name=name,
                           kernel_initializer=tf.truncated_normal_initializer(stddev=0.02))


def normed(x, name):
    with tf.variable_scope(name):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        gain = tf.get_variable("gamma", [x.shape[-1]], initializer=tf.ones_initializer())
        shift = tf.get_variable("beta", [x.shape[-1]], initializer=tf.zeros_initializer())
        return (x - mean) * tf.math.rsqrt(variance + 1e-12) * gain + shift


def encode(words, config, length):
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    table = tf.get_variable("words", [config["vocab_size"], hidden],
                            initializer=tf.truncated_normal_initializer(stddev=0.02))
    places = tf.get_variable("places", [length, hidden],
                             initializer=tf.truncated_normal_initializer(stddev=0.02))
    x = normed(tf.gather(table, words) + places, "embedded")
    for i in range(config["num_hidden_layers"]):
        def split(name, x=x, i=i):
            y = tf.reshape(dense(x, hidden, f"{name}_{i}"), [-1, length, heads, hidden // heads])
            return tf.transpose(y, [0, 2, 1, 3])
        q, k, v = split("query"), split("key"), split("value")
        scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * (hidden // heads) ** -0.5)
        mixed = tf.reshape(tf.transpose(tf.matmul(scores, v), [0, 2, 1, 3]), [-1, length, hidden])
        x = normed(x + dense(mixed, hidden, f"output_{i}"), f"attended_{i}")
        inner = dense(x, config["intermediate_size"], f"inner_{i}", tf2.nn.gelu)
        x = normed(x + dense(inner, hidden, f"outer_{i}"), f"layer_{i}")
    return x, table


def model_fn(features, labels, mode, params):
    config, workers = params["config"], params["workers"]
    x, table = encode(features["words"], config, FLAGS.max_seq_length)
    masked = tf.gather(x, features["masked"], batch_dims=1)
    logits = tf.matmul(tf.reshape(masked, [-1, config["hidden_size"]]), table, transpose_b=True)
    mlm = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(features["masked_words"], [-1]), logits=logits))
    nsp = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=features["is_next"], logits=dense(x[:, 0], 2, "next")))
    optimizer = tf.train.AdamOptimizer(FLAGS.learning_rate)
    if workers > 1:
        import horovod.tensorflow as hvd
        optimizer = hvd.DistributedOptimizer(optimizer)
    total = tf.identity(mlm + nsp, "total_loss")
    tf.identity(mlm, "mlm_loss")
    tf.identity(nsp, "nsp_loss")
    step = tf.train.get_or_create_global_step()
    update = optimizer.minimize(total, global_step=step)
    with tf.control_dependencies([update]):
        tf.identity(step, "step_update")
    return tf.estimator.EstimatorSpec(mode, loss=total, train_op=update)


def input_fn(params):
    length, masked = FLAGS.max_seq_length, FLAGS.max_predictions_per_seq
    vocabulary = params["config"]["vocab_size"]

    def example(number):
        def whole(shape, low, high, salt):
            return tf.random.stateless_uniform(shape, [number, salt], low, high, tf.int64)
        return {"words": whole([length], 5, vocabulary, 1), "masked": whole([masked], 0, length, 2),
                "masked_words": whole([masked], 5, vocabulary, 3), "is_next": whole([], 0, 2, 4)}
    numbers = tf.data.Dataset.range(1 << 40).shard(params["workers"], params["rank"])
    return numbers.map(example).batch(FLAGS.train_batch_size, drop_remainder=True).prefetch(4)


def main(_):
    if FLAGS.amp or FLAGS.use_xla or FLAGS.do_eval or FLAGS.num_accumulation_steps != 1:
        sys.exit("run_pretraining.py: trains in fp32, without XLA, accumulation and evaluation")
    workers, rank, hooks = 1, 0, []
    if FLAGS.horovod:
        import horovod.tensorflow as hvd
        hvd.init()
        workers, rank = hvd.size(), hvd.rank()
        hooks.append(hvd.BroadcastGlobalVariablesHook(0))
    if rank == 0 and FLAGS.horovod:
        tf.logging.info("***** Configuaration *****")
        for name in FLAGS:
            tf.logging.info("  %s: %s", name, getattr(FLAGS, name))
        tf.logging.info("**************************")
    with open(FLAGS.bert_config_file, encoding="utf-8") as text:
        config = json.load(text)
    sequences = FLAGS.train_batch_size * workers
    log = Log(FLAGS.dllog_path) if rank == 0 else None
    hook = PrintRate(sequences, log, UpdateClock(FLAGS.output_dir, sequences, rank))
    threads = int(os.environ.get("OMP_NUM_THREADS", "0"))
    run = tf.estimator.RunConfig(
        model_dir=FLAGS.output_dir if rank == 0 else None, log_step_count_steps=10000,
        save_checkpoints_steps=FLAGS.save_checkpoints_steps if rank == 0 else None,
        session_config=tf.ConfigProto(intra_op_parallelism_threads=threads))
    estimator = tf.estimator.Estimator(
        model_fn, config=run, params={"config": config, "workers": workers, "rank": rank})
    begin = time.time()
    estimator.train(input_fn, hooks=hooks + [hook], max_steps=FLAGS.num_train_steps)
    seconds = time.time() - begin
    if rank != 0:
        return
    measured, all_sequences = hook.measured * sequences, FLAGS.num_train_steps * sequences
    tf.logging.info("-----------------------------")
    tf.logging.info("Total Training Time = %0.2f for Sentences = %d", seconds, all_sequences)
    tf.logging.info("Total Training Time W/O Overhead = %0.2f for Sentences = %d",
                    hook.measured_s, measured)
    tf.logging.info("Throughput Average (sentences/sec) with overhead = %0.2f",
                    all_sequences / seconds)
    tf.logging.info("Throughput Average (sentences/sec) = %0.2f", measured / hook.measured_s)
    log.write(None, {"throughput_train": (f"{measured / hook.measured_s:.3f}", " sequences/s")})
    tf.logging.info("-----------------------------")


if __name__ == "__main__":
    tf.disable_eager_execution()
    tf.logging.set_verbosity(tf.logging.INFO)
    app.run(main)
