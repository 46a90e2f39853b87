#include "workloads/bert/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ostream>
#include <stdexcept>

#include "workloads/bert/comm/gradient_reducer.h"
#include "workloads/bert/core/nvtx.h"
#include "workloads/bert/data/batches.h"
#include "workloads/bert/train/checkpoint.h"
#include "workloads/bert/train/state_exchange.h"

namespace bert {
namespace {

class Trainer {
 public:
  explicit Trainer(TrainerParts parts)
      : parts_(std::move(parts)),
        options_(parts_.options),
        backend_(parts_.backend),
        communicator_(parts_.communicator),
        batches_(parts_.source, parts_.data, options_.micro_batch_size, communicator_.rank(),
                 communicator_.world_size()) {}

  Result<RunEnd> run() {
    if (auto prepared = prepare(); !prepared) {
      return tl::unexpected(prepared.error());
    }
    const std::int64_t first = done_ + 1;
    parts_.facts.first_step = first;
    communicator_.barrier();
    const Stamp start = parts_.clock.now();
    if (parts_.log != nullptr) {
      parts_.log->begin(parts_.facts, start);
    }
    last_end_ = start.seconds;
    RunEnd end;
    while (done_ < options_.steps && end.signal == 0) {
      if (auto stepped = next_step(end); !stepped) {
        return tl::unexpected(stepped.error());
      }
    }
    end.step = done_;
    end.steps_done = done_ - first + 1;
    end.training_s = last_end_ - start.seconds;
    end.peak_bytes = backend_.peak_bytes();
    end.predicted_peak_bytes = backend_.predicted_peak_bytes();
    end.measured_peak_bytes = backend_.measured_peak_bytes();
    if (parts_.log != nullptr) {
      parts_.log->end(end, parts_.clock.now());
    }
    communicator_.finish();
    return end;
  }

 private:
  // What all ranks must agree on before the first step.
  Result<void> prepare() {
    if (auto same = same_options(); !same) {
      return same;
    }
    if (auto chosen = choose_reduction(); !chosen) {
      return chosen;
    }
    if (auto resumed = resume(); !resumed) {
      return resumed;
    }
    equal_weights();
    if (done_ >= options_.steps) {
      return usage_error(
          fmt::format("--resume {}: {} steps are done already, --steps {} is not "
                      "beyond them",
                      options_.resume, done_, options_.steps));
    }
    return {};
  }

  // A step with its log line, its timing and, where one is due, its checkpoint.
  Result<void> next_step(RunEnd& end) {
    const StepFacts facts = options_.inference ? inference_step(done_ + 1) : step(done_ + 1);
    ++done_;
    end.skipped_steps += facts.skipped ? 1 : 0;
    end.loss_scaling |= facts.loss_scale > 0;
    if (!std::isfinite(facts.loss) && end.first_nan_step == 0) {
      end.first_nan_step = done_;
      if (communicator_.rank() == 0) {
        parts_.warn(
            fmt::format("the loss is {} at step {}: training goes on, but learns nothing; "
                        "lower --learning-rate or clip gradients",
                        facts.loss, done_));
      }
    }
    log_step(facts);
    const double now = parts_.clock.now().seconds;
    const double seconds = now - last_end_;
    last_end_ = now;
    if (auto written = write_timing(seconds, now, facts.device_s); !written) {
      return written;
    }
    end.signal = agreed_signal();
    return save(end);
  }

  [[nodiscard]] CheckpointFacts checkpoint_facts() const {
    return {options_.model,
            options_.optimizer_name(),
            options_.sequence_length,
            parts_.facts.global_batch_size(),
            options_.seed,
            done_,
            skipped_};
  }

  // Who sums gradients: the backend on its device, a thread next to backward, or the trainer after
  // backward through host memory.
  Result<void> choose_reduction() {
    if (!communicator_.reduces() || options_.inference) {
      return {};
    }
    try {
      device_reduces_ =
          backend_.reduce_with(communicator_, {options_.bucket_bytes(), options_.zero_stage});
    } catch (const std::invalid_argument& error) {
      return usage_error(error.what());
    }
    if (!device_reduces_ && !backend_.gradients().empty()) {
      reducer_.emplace(communicator_, options_.bucket_bytes());
    }
    return {};
  }

  // Ranks with different options would wait for each other in different collectives.
  Result<void> same_options() {
    if (!same_everywhere(communicator_, command_fingerprint(options_.command))) {
      return usage_error(
          "the ranks were started with different options: give every rank the same "
          "command line (only --timings, --threads and --log-* may differ)");
    }
    return {};
  }

  // Rank 0 reads; the others get it over the network, so only rank 0 needs the file.
  Result<void> resume() {
    if (options_.resume.empty()) {
      return {};
    }
    Result<CheckpointReader> reader = run_error("");
    const bool reads = communicator_.rank() == 0;
    ResumePoint point;
    if (reads) {
      reader = CheckpointReader::open(options_.resume, checkpoint_facts(), backend_);
      point = reader ? reader->point() : ResumePoint{};
    }
    const Result<void> unread = usage_error(
        fmt::format("--resume {}: rank 0 could not read it, see its error", options_.resume));
    if (auto opened = agreed_on_rank_0(reads && !reader ? &reader.error() : nullptr, unread);
        !opened) {
      return opened;
    }
    for (const StateArray array :
         {StateArray::weights, StateArray::first_moments, StateArray::second_moments}) {
      for_each_part(backend_, [&](std::int64_t offset, std::span<float> part) {
        if (reads) {
          reader->read(part);
        }
        communicator_.broadcast(part, 0);
        backend_.write_state(array, offset, part);
      });
    }
    // The scale travels as its bits, which order as numbers do from 0 up: it need not be whole.
    std::int64_t shared[] = {point.step, point.skipped, point.scalars.good_steps,
                             std::bit_cast<std::int64_t>(std::abs(point.scalars.loss_scale))};
    communicator_.all_reduce_max(shared);
    done_ = shared[0];
    skipped_ = shared[1];
    backend_.set_scalar_state({std::bit_cast<double>(shared[3]), shared[2]});
    const Result<void> whole = reads ? reader->finish() : Result<void>();
    return agreed_on_rank_0(whole ? nullptr : &whole.error(), unread);
  }

  // What went wrong on rank 0 on all ranks: there as it is, elsewhere as `message_elsewhere`.
  Result<void> agreed_on_rank_0(const Failure* failure, const Result<void>& message_elsewhere) {
    std::int64_t failed[1] = {failure != nullptr ? 1 : 0};
    communicator_.all_reduce_max(failed);
    if (failure != nullptr) {
      return tl::unexpected(*failure);
    }
    return failed[0] != 0 ? message_elsewhere : Result<void>();
  }

  // The seed makes weights equal; different builds or machines may still differ in a bit.
  void equal_weights() {
    Hash64 hash;
    for_each_part(backend_, [&](std::int64_t offset, std::span<float> part) {
      backend_.read_state(StateArray::weights, offset, part);
      hash.add(part);
    });
    if (same_everywhere(communicator_, hash.value())) {
      return;
    }
    if (communicator_.rank() == 0) {
      parts_.warn("initial weights differ between ranks; those of rank 0 are used");
    }
    broadcast_state(backend_, communicator_, StateArray::weights);
  }

  StepFacts step(std::int64_t number) {
    const NvtxRange range("step");
    const std::int64_t accumulate = options_.gradient_accumulation_steps;
    const double scale =
        1.0 /
        static_cast<double>(accumulate * static_cast<std::int64_t>(communicator_.world_size()));
    std::vector<Loss> losses;
    backend_.zero_gradients();
    for (std::int64_t k = 0; k < accumulate; ++k) {
      const std::int64_t micro = (number - 1) * accumulate + k;
      const Batch& batch = batches_.of(micro);
      const bool last = k + 1 == accumulate;
      GradientReady ready;
      if (last && reducer_) {
        reducer_->begin(backend_.gradients());
        ready = [this](std::int64_t offset, std::int64_t size) { reducer_->ready(offset, size); };
      } else if (last && device_reduces_) {
        backend_.begin_reduction();
      }
      {
        const NvtxRange compute("forward_backward");
        losses.push_back(backend_.forward_backward(batch, scale, true, number, ready));
      }
      if (micro + 1 < options_.steps * accumulate) {
        batches_.make_ahead(micro + 1, backend_);
      }
      ++micro_done_;
      if (!last && parts_.log != nullptr) {
        parts_.log->micro_step(micro_done_, parts_.clock.now());
      }
    }
    StepFacts facts;
    facts.step = number;
    if (reducer_) {
      const NvtxRange wait("wait for gradients");
      reducer_->wait();
      facts.communication_s = reducer_->busy_seconds();
      facts.exposed_communication_s = reducer_->exposed_seconds();
    } else if (communicator_.reduces() && !device_reduces_) {
      facts.communication_s = all_reduce_through_host(backend_, communicator_);
      facts.exposed_communication_s = facts.communication_s;
    }
    update(facts);
    if (std::any_of(losses.begin(), losses.end(), [](const Loss& l) { return l.pending; })) {
      losses = backend_.pending_losses();
    }
    finish_losses(facts, losses, scale);
    return facts;
  }

  void update(StepFacts& facts) {
    const NvtxRange range("update");
    facts.learning_rate = options_.schedule.learning_rate(facts.step);
    const UpdateResult result =
        backend_.update({options_.optimizer, facts.learning_rate, options_.gradient_clipping,
                         facts.step - skipped_});
    skipped_ += result.skipped ? 1 : 0;
    facts.gradient_norm = result.gradient_norm;
    facts.skipped = result.skipped;
    facts.loss_scale = result.loss_scale;
    facts.next_loss_scale = backend_.scalar_state().loss_scale;
    facts.device_s = result.device_seconds;
    if (device_reduces_) {
      facts.communication_s = std::max(0.0, result.communication_s);
      facts.exposed_communication_s = std::max(0.0, result.exposed_communication_s);
    }
  }

  StepFacts inference_step(std::int64_t number) {
    const NvtxRange range("step");
    const Batch& batch = batches_.of((number - 1) * options_.gradient_accumulation_steps);
    StepFacts facts;
    facts.step = number;
    const Loss loss = backend_.forward(batch);
    ++micro_done_;
    finish_losses(facts, {&loss, 1}, 1.0 / communicator_.world_size());
    return facts;
  }

  // Means over micro-steps and ranks.
  void finish_losses(StepFacts& facts, std::span<const Loss> losses, double scale) {
    double sums[3] = {0, 0, 0};  // masked_lm, next_sentence, last micro-step
    for (const Loss& loss : losses) {
      sums[0] += loss.masked_lm * scale;
      sums[1] += loss.next_sentence * scale;
      sums[2] = loss.total() / static_cast<double>(communicator_.world_size());
    }
    if (communicator_.reduces()) {
      communicator_.all_reduce_sum(std::span<double>(sums));
    }
    facts.masked_lm = sums[0];
    facts.next_sentence = sums[1];
    facts.loss = sums[0] + sums[1];
    facts.last_micro_loss = sums[2];
  }

  void log_step(const StepFacts& facts) {
    if (parts_.log == nullptr) {
      return;
    }
    parts_.log->step(facts, parts_.clock.now());
    parts_.log->micro_step(micro_done_, parts_.clock.now());
  }

  Result<void> write_timing(double seconds, double now, double device_seconds) {
    if (parts_.log_out != nullptr && !*parts_.log_out) {
      return run_error("the log cannot be written to standard output: closed pipe or full disk");
    }
    if (parts_.timings != nullptr &&
        !parts_.timings->write(done_, seconds, parts_.facts.global_batch_size(), now,
                               device_seconds)) {
      return run_error(
          fmt::format("--timings {}: cannot be written: full disk?", options_.timings));
    }
    return {};
  }

  int agreed_signal() {
    std::int64_t signal[1] = {parts_.stop_signal()};
    communicator_.all_reduce_max(signal);
    return static_cast<int>(signal[0]);
  }

  Result<void> save(RunEnd& end) {
    if (options_.checkpoint.empty()) {
      return {};
    }
    const bool last = done_ == options_.steps || end.signal != 0;
    const bool due = options_.checkpoint_every > 0 && done_ % options_.checkpoint_every == 0;
    if (!last && !due) {
      return {};
    }
    const NvtxRange range("checkpoint");
    Result<std::string> path = std::string();
    if (communicator_.rank() == 0) {
      path = write_checkpoint(options_.checkpoint, checkpoint_facts(), backend_);
      if (path) {
        end.checkpoint = *path;
        if (parts_.log != nullptr) parts_.log->checkpoint(done_, *path, parts_.clock.now());
      }
    } else if (options_.zero_stage != 0) {
      take_part_in_checkpoint(backend_);
    }
    return agreed_on_rank_0(path ? nullptr : &path.error(),
                            run_error("rank 0 could not write the checkpoint, see its error"));
  }

  TrainerParts parts_;
  const TrainOptions& options_;
  Backend& backend_;
  Communicator& communicator_;
  std::optional<GradientReducer> reducer_;
  bool device_reduces_ = false;
  BatchesAhead batches_;
  std::int64_t done_ = 0;        ///< optimizer steps, over the whole training
  std::int64_t skipped_ = 0;     ///< of them without an update
  std::int64_t micro_done_ = 0;  ///< micro-steps of this run
  double last_end_ = 0;          ///< seconds: of the last step, before the first one the start
};

}  // namespace

Result<RunEnd> train(TrainerParts parts) {
  Communicator& communicator = parts.communicator;
  // Whatever ends this rank early, no memory of the device is freed before its collectives are
  // given up: that would wait for the others, who wait for this rank.
  try {
    auto end = Trainer(std::move(parts)).run();
    if (!end) {
      communicator.abort();
    }
    return end;
  } catch (const std::bad_alloc&) {
    communicator.abort();
    throw;
  } catch (const std::exception& error) {
    communicator.abort();
    return run_error(error.what());
  }
}

}  // namespace bert
