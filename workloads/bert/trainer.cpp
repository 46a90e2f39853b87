#include "workloads/bert/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <stdexcept>

#include "workloads/bert/checkpoint.h"
#include "workloads/bert/comm/gradient_reducer.h"

namespace bert {
namespace {

class Trainer {
 public:
  explicit Trainer(TrainerParts parts)
      : parts_(std::move(parts)),
        options_(parts_.options),
        backend_(parts_.backend),
        communicator_(parts_.communicator) {
    if (communicator_.reduces()) {
      reducer_.emplace(communicator_, bucket_bytes());
    }
  }

  Result<RunEnd> run() {
    if (auto same = same_options(); !same) {
      return tl::unexpected(same.error());
    }
    if (auto resumed = resume(); !resumed) {
      return tl::unexpected(resumed.error());
    }
    equal_weights();
    const std::int64_t first = done_ + 1;
    if (first > options_.steps) {
      return usage_error(
          fmt::format("--resume {}: {} steps are done already, --steps {} is not "
                      "beyond them",
                      options_.resume, done_, options_.steps));
    }
    parts_.facts.first_step = first;
    parts_.facts.last_step = options_.steps;
    communicator_.barrier();
    const Stamp start = parts_.clock.now();
    if (parts_.log != nullptr) {
      parts_.log->begin(parts_.facts, start);
    }
    double last_end = start.seconds;
    RunEnd end;
    while (done_ < options_.steps && end.signal == 0) {
      const StepFacts facts = step(done_ + 1);
      ++done_;
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
      const double seconds = now - last_end;
      last_end = now;
      if (auto written = write_timing(seconds, now); !written) {
        return tl::unexpected(written.error());
      }
      end.signal = agreed_signal();
      if (auto saved = save(end); !saved) {
        return tl::unexpected(saved.error());
      }
    }
    end.step = done_;
    end.steps_done = done_ - first + 1;
    end.training_s = last_end - start.seconds;
    end.peak_bytes = backend_.peak_bytes();
    if (parts_.log != nullptr) {
      parts_.log->end(end, parts_.clock.now());
    }
    communicator_.finish();
    return end;
  }

 private:
  [[nodiscard]] std::int64_t bucket_bytes() const {
    return static_cast<std::int64_t>(options_.bucket_mb * 1048576);
  }

  [[nodiscard]] CheckpointFacts checkpoint_facts() const {
    return {options_.model,
            parts_.facts.optimizer,
            options_.sequence_length,
            parts_.facts.global_batch_size(),
            options_.seed,
            done_};
  }

  // Ranks with different options would wait for each other in different collectives.
  Result<void> same_options() {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (std::size_t i = 1; i < options_.command.size(); ++i) {
      const std::string& word = options_.command[i];
      const std::string name = word.substr(0, word.find('='));
      if (name == "--timings" || name == "--threads" || name.starts_with("--log-")) {
        i += name == word ? 1 : 0;  // free to differ: only this rank's own affair
        continue;
      }
      for (const char c : word + '\n') {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
      }
    }
    if (!same_everywhere(hash)) {
      return usage_error(
          "the ranks were started with different options: give every rank the same "
          "command line (only --timings, --threads and --log-* may differ)");
    }
    return {};
  }

  bool same_everywhere(std::uint64_t hash) {
    const auto bits = static_cast<std::int64_t>(hash >> 2);
    std::int64_t extremes[2] = {bits, -bits};
    communicator_.all_reduce_max(extremes);
    return extremes[0] == -extremes[1];
  }

  // Rank 0 reads; the others get it over the network, so only rank 0 needs the file.
  Result<void> resume() {
    if (options_.resume.empty()) {
      return {};
    }
    Result<std::int64_t> step = 0;
    if (communicator_.rank() == 0) {
      step = read_newest_checkpoint(options_.resume, checkpoint_facts(), backend_);
    }
    // Shifted by one: 0 says "this rank has nothing to tell".
    std::int64_t shared[2] = {step ? *step + 1 : 0, step ? 0 : 1};
    communicator_.all_reduce_max(shared);
    if (!step) {
      return tl::unexpected(step.error());
    }
    if (shared[1] != 0) {
      return usage_error(
          fmt::format("--resume {}: rank 0 could not read it, see its error", options_.resume));
    }
    done_ = shared[0] - 1;
    for (auto array : {backend_.weights(), backend_.first_moments(), backend_.second_moments()}) {
      communicator_.broadcast(array, 0);
    }
    return {};
  }

  // The seed makes weights equal; different builds or machines may still differ in a bit.
  void equal_weights() {
    Hash64 hash;
    hash.add(backend_.weights());
    if (same_everywhere(hash.value())) {
      return;
    }
    if (communicator_.rank() == 0) {
      parts_.warn("initial weights differ between ranks; those of rank 0 are used");
    }
    communicator_.broadcast(backend_.weights(), 0);
  }

  StepFacts step(std::int64_t number) {
    const std::int64_t accumulate = options_.gradient_accumulation_steps;
    const auto world = static_cast<std::int64_t>(communicator_.world_size());
    const double scale = 1.0 / static_cast<double>(accumulate * world);
    double losses[3] = {0, 0, 0};  // masked_lm, next_sentence, last micro-step
    backend_.zero_gradients();
    for (std::int64_t k = 0; k < accumulate; ++k) {
      const std::int64_t micro = ((number - 1) * accumulate + k) * world + communicator_.rank();
      fill_batch(parts_.source, parts_.data, micro * options_.micro_batch_size,
                 options_.micro_batch_size, batch_);
      const bool last = k + 1 == accumulate;
      GradientReady ready;
      if (last && reducer_) {
        reducer_->begin(backend_.gradients());
        ready = [this](std::int64_t offset, std::int64_t size) { reducer_->ready(offset, size); };
      }
      const Loss loss = backend_.forward_backward(batch_, scale, true, number, ready);
      losses[0] += loss.masked_lm * scale;
      losses[1] += loss.next_sentence * scale;
      losses[2] = loss.total() / static_cast<double>(world);
      ++micro_done_;
      if (!last && parts_.log != nullptr) {
        parts_.log->micro_step(micro_done_, parts_.clock.now());
      }
    }
    StepFacts facts;
    if (reducer_) {
      reducer_->wait();
      facts.communication_s = reducer_->busy_seconds();
      facts.exposed_communication_s = reducer_->exposed_seconds();
      communicator_.all_reduce_sum(std::span<double>(losses));
    }
    facts.step = number;
    facts.masked_lm = losses[0];
    facts.next_sentence = losses[1];
    facts.loss = losses[0] + losses[1];
    facts.last_micro_loss = losses[2];
    facts.learning_rate = options_.schedule.learning_rate(number);
    facts.gradient_norm = backend_.gradient_norm();
    const double bound = options_.gradient_clipping;
    // As torch.nn.utils.clip_grad_norm_, whose divisor has 1e-6 added.
    const double factor = bound > 0 ? std::min(1.0, bound / (facts.gradient_norm + 1e-6)) : 1.0;
    backend_.optimizer_step(options_.optimizer, facts.learning_rate, factor, facts.gradient_norm,
                            number);
    return facts;
  }

  void log_step(const StepFacts& facts) {
    if (parts_.log == nullptr) {
      return;
    }
    parts_.log->step(facts, parts_.clock.now());
    parts_.log->micro_step(micro_done_, parts_.clock.now());
  }

  Result<void> write_timing(double seconds, double now) {
    if (parts_.log_out != nullptr && !*parts_.log_out) {
      return run_error("the log cannot be written to standard output: closed pipe or full disk");
    }
    if (parts_.timings != nullptr &&
        !parts_.timings->write(done_, seconds, parts_.facts.global_batch_size(), now)) {
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
    Result<std::string> path = std::string();
    if (communicator_.rank() == 0) {
      path = write_checkpoint(options_.checkpoint, checkpoint_facts(), backend_);
      if (path) {
        end.checkpoint = *path;
      }
    }
    std::int64_t failed[1] = {path ? 0 : 1};
    communicator_.all_reduce_max(failed);
    if (!path) {
      return tl::unexpected(path.error());
    }
    if (failed[0] != 0) {
      return run_error("rank 0 could not write the checkpoint, see its error");
    }
    return {};
  }

  TrainerParts parts_;
  const TrainOptions& options_;
  Backend& backend_;
  Communicator& communicator_;
  std::optional<GradientReducer> reducer_;
  Batch batch_;
  std::int64_t done_ = 0;        ///< optimizer steps, over the whole training
  std::int64_t micro_done_ = 0;  ///< micro-steps of this run
};

}  // namespace

Result<RunEnd> train(TrainerParts parts) {
  try {
    return Trainer(std::move(parts)).run();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return run_error(error.what());
  }
}

}  // namespace bert
