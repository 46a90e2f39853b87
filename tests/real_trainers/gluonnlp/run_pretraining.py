"""BERT pre-training on gluonnlp and MXNet, on the CPU, with random token numbers as data.

It takes the options of gluon-nlp's script of this name that the launch template passes, and logs as
that script does: to CKPT_DIR/phase1_log.RANK (phase2_log. with --phase2), nothing to stdout.
The batch is that of all workers and all micro-steps together. --model bert_L_U_H: layers, units, heads.
"""
import argparse
import logging
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

import gluonnlp as nlp
import mxnet as mx
import numpy as np
from update_clock import UpdateClock

VOCABULARY = 2000


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="any word: the data are random")
    parser.add_argument("--data_eval", required=True, help="any word, as --data")
    parser.add_argument("--model", default="bert_2_128_2")
    parser.add_argument("--total_batch_size", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--total_batch_size_eval", type=int, default=8)
    parser.add_argument("--num_steps", type=int, default=20)
    parser.add_argument("--eval_interval", type=int, default=50000)
    parser.add_argument("--ckpt_interval", type=int, default=25000)
    parser.add_argument("--no_compute_acc", action="store_true", help="of the masked words")
    parser.add_argument("--log_interval", type=int, default=10)
    parser.add_argument("--max_seq_length", type=int, default=128)
    parser.add_argument("--max_predictions_per_seq", type=int, default=20)
    parser.add_argument("--optimizer", default="bertadam")
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--dtype", default="float32", choices=["float32"])
    parser.add_argument("--phase2", action="store_true")
    parser.add_argument("--ckpt_dir", default="./ckpt_dir")
    parser.add_argument("--comm_backend", default="device", choices=["device", "horovod"])
    return parser.parse_args()


class PretrainingLoss(mx.gluon.HybridBlock):
    """Both of BERT's losses over one model, and what the metrics need."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.mlm_loss = mx.gluon.loss.SoftmaxCELoss()
        self.nsp_loss = mx.gluon.loss.SoftmaxCELoss()

    def forward(self, tokens, types, lengths, positions, masked, weights, is_next):
        _, _, classified, decoded = self.model(tokens, types, lengths, positions)
        decoded = decoded.reshape((-3, 0))
        mlm = self.mlm_loss(decoded, masked.reshape(-1), weights.reshape((-1, 1)))
        mlm = mlm.sum() / (weights.sum() + 1e-8)
        nsp = self.nsp_loss(classified, is_next).mean()
        return mlm, nsp, decoded, classified


def random_batch(random, sequences, a):
    def whole(low, high, shape):
        return mx.nd.array(random.randint(low, high, shape), dtype="float32")
    shape, masked = (sequences, a.max_seq_length), (sequences, a.max_predictions_per_seq)
    lengths = whole(a.max_seq_length // 2, a.max_seq_length + 1, (sequences,))
    return (whole(5, VOCABULARY, shape), whole(0, 2, shape), lengths,
            whole(0, a.max_seq_length // 2, masked), whole(5, VOCABULARY, masked),
            mx.nd.ones(masked), whole(0, 2, (sequences,)))


def make_model(name):
    layers, units, heads = (int(word) for word in name.split("_")[1:])
    vocabulary = nlp.vocab.BERTVocab(nlp.data.count_tokens(f"w{i}" for i in range(VOCABULARY - 5)))
    model, _ = nlp.model.get_model(
        "bert_12_768_12", vocab=vocabulary, pretrained=False, hparam_allow_override=True,
        num_layers=layers, units=units, embed_size=units, hidden_size=4 * units, num_heads=heads)
    model.initialize(init=mx.init.Normal(0.02))
    model.hybridize(static_alloc=True)
    return model


class Interval:
    """What one line of the log states: sums since the line before."""

    def __init__(self):
        self.begin = time.time()
        self.tokens, self.mlm, self.nsp, self.micro_steps = 0.0, 0.0, 0.0, 0
        self.mlm_metric = nlp.metric.MaskedAccuracy()
        self.nsp_metric = mx.metric.Accuracy()

    def add(self, batch, mlm, nsp, decoded, classified, masked_accuracy=True):
        self.micro_steps += 1
        self.tokens += float(batch[2].sum().asscalar())
        self.mlm += float(mlm.asscalar())
        self.nsp += float(nsp.asscalar())
        if masked_accuracy:
            self.mlm_metric.update([batch[4].reshape(-1)], [decoded], [batch[5].reshape(-1)])
        self.nsp_metric.update([batch[6]], [classified])

    def line(self, step, steps, rate):
        seconds = time.time() - self.begin
        return ("[step {}]\tmlm_loss={:7.5f}\tmlm_acc={:4.2f}\tnsp_loss={:5.2f}\tnsp_acc={:5.2f}\t"
                "throughput={:.1f}K tks/s\tlr={:.7f} time={:.2f}, latency={:.1f} ms/step").format(
                    step, self.mlm / self.micro_steps, self.mlm_metric.get()[1] * 100,
                    self.nsp / self.micro_steps, self.nsp_metric.get()[1] * 100,
                    self.tokens / seconds / 1000, rate, seconds, seconds * 1000 / steps)


def evaluate(loss, random, a, workers):
    logging.info("Running evaluation ... ")
    begin = time.time()
    total = Interval()
    for step in range(1, 4):
        interval = Interval()
        batch = random_batch(random, a.total_batch_size_eval // workers, a)
        results = loss(*batch)
        interval.add(batch, *results)
        total.add(batch, *results)
        logging.info(interval.line(step, 1, 0))
    logging.info("Eval mlm_loss={:.3f}\tmlm_acc={:.1f}\tnsp_loss={:.3f}\tnsp_acc={:.1f}\t".format(
        total.mlm / 3, total.mlm_metric.get()[1] * 100, total.nsp / 3,
        total.nsp_metric.get()[1] * 100))
    logging.info("Eval cost={:.1f}s".format(time.time() - begin))


def main():
    a = options()
    workers, rank = 1, 0
    if a.comm_backend == "horovod":
        import horovod.mxnet as hvd
        hvd.init()
        workers, rank = hvd.size(), hvd.rank()
    os.makedirs(a.ckpt_dir, exist_ok=True)
    logging.basicConfig(level=logging.INFO, filename=os.path.join(
        a.ckpt_dir, f"phase{2 if a.phase2 else 1}_log.{rank}"), filemode="w")
    logging.info(a)
    random = np.random.RandomState(rank)
    mx.random.seed(1)
    model = make_model(a.model)
    loss = PretrainingLoss(model)
    logging.info("Model created")

    micro_batch = a.total_batch_size // workers // a.accumulate
    loss(*random_batch(random, micro_batch, a))  # gives all parameters their shapes
    parameters = model.collect_params()
    if a.accumulate > 1:
        for parameter in parameters.values():
            parameter.grad_req = "add" if parameter.grad_req != "null" else "null"
    logging.info("Creating distributed trainer...")
    rates = {"learning_rate": a.lr}
    if workers > 1:
        hvd.broadcast_parameters(parameters, root_rank=0)
        trainer = hvd.DistributedTrainer(parameters, a.optimizer, rates)
    else:
        trainer = mx.gluon.Trainer(parameters, a.optimizer, rates, kvstore=None)

    clock = UpdateClock(a.ckpt_dir, micro_batch * a.accumulate * workers, rank)
    logging.info("Training started")
    began = time.time()
    clock.start()
    interval, logged = Interval(), 0
    for step in range(1, a.num_steps + 1):
        for _ in range(a.accumulate):
            batch = random_batch(random, micro_batch, a)
            with mx.autograd.record():
                mlm, nsp, decoded, classified = loss(*batch)
                total = (mlm + nsp) / a.accumulate
            total.backward()
            interval.add(batch, mlm, nsp, decoded, classified, not a.no_compute_acc)
        rate = a.lr * (1 - (step - 1) / a.num_steps)
        trainer.set_learning_rate(rate)
        trainer.step(1)
        if a.accumulate > 1:
            parameters.zero_grad()
        mx.nd.waitall()
        clock.update_ended()
        if step % a.log_interval == 0:
            logging.info(interval.line(step, step - logged, rate))
            interval, logged = Interval(), step
        if step % a.ckpt_interval == 0 and rank == 0:
            model.save_parameters(os.path.join(a.ckpt_dir, f"{step:07d}.params"))
        if step % a.eval_interval == 0:
            evaluate(loss, random, a, workers)
    if rank == 0:
        path = os.path.join(a.ckpt_dir, f"{a.num_steps:07d}.params")
        logging.info(f"[step {a.num_steps}] Saving model params to {path}.")
        model.save_parameters(path)
    logging.info("Train cost={:.1f}s".format(time.time() - began))


if __name__ == "__main__":
    main()
