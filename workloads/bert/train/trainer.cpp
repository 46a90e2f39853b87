#include "workloads/bert/train/trainer.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "workloads/bert/comm/gradient_reducer.h"
#include "workloads/bert/core/nvtx.h"
#include "workloads/bert/data/batches.h"
#include "workloads/bert/train/checkpoint.h"
#include "workloads/bert/train/state_exchange.h"

namespace bert {

RankTimes::RankTimes(std::string who, std::int64_t first, std::int64_t last, bool redrawn,
                     std::ostream* out)
    : who_(std::move(who)),
      first_(first),
      last_(last),
      stretch_(std::max<std::int64_t>(1, (last - first + kMostLines) / kMostLines)),
      redrawn_(redrawn),
      out_(out) {}

double RankTimes::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void RankTimes::begin() {
  begin_s_ = now();
  waited_s_ = 0;
}

void RankTimes::step_done(std::int64_t step) {
  const std::int64_t steps = step - first_ + 1;
  if (out_ == nullptr || (steps < stretch_ && step != last_)) return;
  const double own_s = (now() - begin_s_ - waited_s_) / static_cast<double>(steps);
  // One write a line: the ranks share a log.
  *out_ << fmt::format("{}rank_time {} steps={}:{} own_s={:.6g}\n", redrawn_ ? "\n" : "", who_,
                       first_, step, std::max(0.0, own_s))
        << std::flush;
  first_ = step + 1;
  begin();
}

namespace {

/// Asks for a turn and waits for it; false where nobody gives turns any more.
bool take_turn(int socket) {
  char byte = 'n';  // its value means nothing
  ssize_t done = 0;
  do {
    done = ::send(socket, &byte, 1, MSG_NOSIGNAL);
  } while (done < 0 && errno == EINTR);
  if (done != 1) return false;
  do {
    done = ::recv(socket, &byte, 1, 0);
  } while (done < 0 && errno == EINTR);
  return done == 1;
}

}  // namespace

Result<Turns> Turns::over(int socket, double turn_s, Clock& clock) {
  struct stat info {};
  if (::fstat(socket, &info) < 0 || !S_ISSOCK(info.st_mode)) {
    return usage_error(
        "--turn-s: standard input is no socket: bertbench sweep gives turns, by \"turn_s\" of a "
        "configuration with variants; leave it out otherwise");
  }
  return Turns(socket, turn_s, clock);
}

Stamp Turns::now() {
  const Stamp now = clock_.now();
  return {now.seconds - waited_s_, now.unix_seconds - waited_s_};
}

void Turns::next_step() {
  const double start_s = clock_.now().seconds;
  if (socket_ < 0 || start_s < until_s_) return;
  if (!take_turn(socket_)) socket_ = -1;
  const double begin_s = clock_.now().seconds;
  waited_s_ += begin_s - start_s;
  until_s_ = begin_s + turn_s_;
}

namespace {

/// The first batch is left out where there are others: it makes what later ones find made.
Latency latency_of(std::vector<double> seconds) {
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  Latency latency;
  latency.count = static_cast<std::int64_t>(seconds.size());
  if (seconds.empty()) return latency;
  std::sort(seconds.begin(), seconds.end());
  double sum = 0;
  for (const double one : seconds) sum += one;
  latency.mean_s = sum / static_cast<double>(seconds.size());
  latency.most_s = seconds.back();
  for (std::size_t i = 0; i < Latency::kShares.size(); ++i) {
    const double rank =
        std::ceil(Latency::kShares[i] / 100.0 * static_cast<double>(seconds.size()));
    latency.percentile_s[i] = seconds[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
  }
  return latency;
}

/// Harmonic mean of precision and recall over the tokens of two spans, as SQuAD's script has it.
double f1_of(const Prediction& answer, const Prediction& label) {
  const std::int32_t both =
      std::min(answer.last, label.last) - std::max(answer.first, label.first) + 1;
  if (both <= 0) return 0;
  return 2.0 * both / (answer.last - answer.first + 1 + label.last - label.first + 1);
}

/// Of the sequences of a step: how many there are, their tokens without padding, and the sum of the
/// squares of these. Whole numbers, so that no order of adding changes them.
struct LengthSums {
  double sequences = 0, tokens = 0, squares = 0;

  void add(const Batch& batch) {
    sequences += static_cast<double>(batch.lengths.size());
    for (const std::int32_t length : batch.lengths) {
      tokens += length;
      squares += static_cast<double>(length) * length;
    }
  }
};

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
    parts_.next_step();
    const Stamp start = parts_.clock.now();
    if (parts_.log != nullptr) {
      parts_.log->begin(parts_.facts, start);
    }
    last_end_ = start.seconds;
    rank_times_.emplace(name_of_rank(), first, options_.steps, options_.log_style == "tqdm",
                        parts_.rank_out);
    rank_times_->begin();
    RunEnd end;
    while (done_ < options_.steps && end.signal == 0) {
      if (auto stepped = next_step(end); !stepped) {
        return tl::unexpected(stepped.error());
      }
      if (done_ < options_.steps && end.signal == 0) parts_.next_step();
    }
    end.step = done_;
    end.steps_done = done_ - first + 1;
    end.training_s = last_end_ - start.seconds;
    warn_of_starvation(end);
    if (options_.task != "pretraining" && end.signal == 0) end.scores = evaluate();
    end.peak_bytes = backend_.peak_bytes();
    end.predicted_peak_bytes = backend_.predicted_peak_bytes();
    end.measured_peak_bytes = backend_.measured_peak_bytes();
    end.latency = latency_of(std::move(latencies_));
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
    if (auto made = make_folder(); !made) {
      return made;
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
    if (auto begun = begin_schedule(); !begun) {
      return begun;
    }
    warn_of_changes();
    return {};
  }

  Result<void> make_folder() {
    if (options_.checkpoint.empty()) {
      return {};
    }
    Result<void> made;
    if (communicator_.rank() == 0) {
      made = make_checkpoint_folder(options_.checkpoint);
    }
    return agreed_on_rank_0(made ? nullptr : &made.error(),
                            usage_error("rank 0 cannot write to --checkpoint, see its error"));
  }

  // What a training that goes on should have as before, or its curve is that of neither run.
  [[nodiscard]] Settings settings() const {
    const auto text = [](auto value) { return fmt::format("{}", value); };
    const Schedule& schedule = parts_.facts.schedule;
    Settings all = {{"task", options_.task},
                    {"data", options_.data},
                    {"vocabulary", options_.vocabulary},
                    {"lengths", options_.lengths},
                    {"precision", options_.precision},
                    {"dropout", text(options_.dropout)},
                    {"gradient-clipping", text(options_.gradient_clipping)},
                    {"weight-decay", text(options_.optimizer.weight_decay)},
                    {"learning-rate", text(schedule.peak)},
                    {"warmup-steps", text(schedule.warmup_steps)}};
    if (schedule.decay == Schedule::Decay::exponential) {
      all["decay-rate"] = text(schedule.rate);
      all["decay-rate-steps"] = text(schedule.rate_steps);
    } else {
      all["decay-power"] = text(schedule.power);
      all["decay-steps"] = text(schedule.decay_steps);
    }
    return all;
  }

  void warn_of_changes() const {
    const Settings now = settings();
    std::string changes;
    for (const auto& [name, was] : saved_) {
      const auto same = now.find(name);
      const std::string is = same == now.end() ? "not used" : same->second;
      if (is == was) continue;
      changes += fmt::format("{}--{} was \"{}\" and is \"{}\"", changes.empty() ? "" : ", ", name,
                             was, is);
    }
    if (changes.empty()) return;
    parts_.warn(
        fmt::format("--resume {}: goes on with other settings: {}", options_.resume, changes));
  }

  // The steps of a phase are known once the checkpoint before it has been read.
  Result<void> begin_schedule() {
    Schedule& schedule = parts_.facts.schedule;
    schedule = options_.schedule;
    if (!options_.decay_until_last_step) return {};
    schedule.decay_steps = options_.steps - phase_start_;
    if (schedule.warmup_steps <= schedule.decay_steps) return {};
    return usage_error(
        fmt::format("--warmup-steps {}: more than the {} steps of this phase, which begins after "
                    "step {}: lower it, or raise --steps",
                    schedule.warmup_steps, schedule.decay_steps, phase_start_));
  }

  // A step with its log line, its timing and, where one is due, its checkpoint.
  Result<void> next_step(RunEnd& end) {
    StepFacts facts = options_.inference ? inference_step(done_ + 1) : step(done_ + 1);
    const double data_s = batches_.take_seconds();
    if (!options_.inference) facts.parts.data = data_s;
    spin();
    ++done_;
    rank_times_->step_done(done_);
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
    end.data_s += data_s;
    end.data_wait_s +=
        facts.device_s < 0 ? data_s : std::clamp(seconds - facts.device_s, 0.0, data_s);
    if (auto written = write_timing(seconds, now, facts.device_s); !written) {
      return written;
    }
    Result<void> saved;
    rank_times_->wait([&] {
      end.signal = agreed_signal();
      saved = save(end);
    });
    return saved;
  }

  /// "rank=3 node=1:gpu07", the node by its number and the host's name.
  [[nodiscard]] std::string name_of_rank() const {
    const int each = parts_.facts.gpus_per_node;
    const std::string rank = fmt::format("rank={}", communicator_.rank());
    if (each < 1) return rank + (parts_.facts.host.empty() ? "" : " node=" + parts_.facts.host);
    return fmt::format("{} node={}:{}", rank, communicator_.rank() / each, parts_.facts.host);
  }

  void warn_of_starvation(const RunEnd& end) const {
    constexpr double kShareToWarnOf = 0.1;     // of the time of training
    constexpr double kShortestTraining_s = 1;  // a shorter one measures no rate
    if (communicator_.rank() != 0 || end.training_s < kShortestTraining_s ||
        end.data_wait_s < kShareToWarnOf * end.training_s) {
      return;
    }
    parts_.warn(fmt::format(
        "nothing was computed in {:.0f} % of the time, while batches were made: the rate is that "
        "of the data; a token file is read faster than text",
        100 * end.data_wait_s / end.training_s));
  }

  /// Of --handicap: busy for a share of the time since the last step ended.
  void spin() const {
    const bool here =
        options_.handicapped_rank < 0 || options_.handicapped_rank == communicator_.rank();
    if (!(options_.handicap > 0) || !here) {
      return;
    }
    const double now = parts_.clock.now().seconds;
    const double until = now + options_.handicap * (now - last_end_);
    while (parts_.clock.now().seconds < until) {
    }
  }

  [[nodiscard]] CheckpointFacts checkpoint_facts() const {
    return {options_.model,
            options_.optimizer_name(),
            options_.sequence_length,
            parts_.facts.global_batch_size(),
            options_.seed,
            done_,
            skipped_,
            phase_start_,
            settings()};
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
    const bool weights_only = !options_.init_checkpoint.empty();
    const std::string& folder = weights_only ? options_.init_checkpoint : options_.resume;
    if (folder.empty()) {
      return {};
    }
    const TakeUp take_up = weights_only         ? TakeUp::weights
                           : options_.new_phase ? TakeUp::new_phase
                                                : TakeUp::same_run;
    Result<CheckpointReader> reader = run_error("");
    const bool reads = communicator_.rank() == 0;
    ResumePoint point;
    if (reads) {
      reader = CheckpointReader::open(folder, checkpoint_facts(), backend_, take_up);
      point = reader ? reader->point() : ResumePoint{};
      if (take_up == TakeUp::same_run) saved_ = point.settings;
    }
    const Result<void> unread =
        usage_error(fmt::format("--{} {}: rank 0 could not read it, see its error",
                                weights_only ? "init-checkpoint" : "resume", folder));
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
        if (weights_only && array != StateArray::weights) return;
        communicator_.broadcast(part, 0);
        backend_.write_state(array, offset, part);
      });
    }
    if (weights_only) point = {};
    // The scale travels as its bits, which order as numbers do from 0 up: it need not be whole.
    std::int64_t shared[] = {point.step, point.skipped, point.phase_start, point.scalars.good_steps,
                             std::bit_cast<std::int64_t>(std::abs(point.scalars.loss_scale))};
    communicator_.all_reduce_max(shared);
    done_ = shared[0];
    skipped_ = shared[1];
    phase_start_ = shared[2];
    backend_.set_scalar_state({std::bit_cast<double>(shared[4]), shared[3]});
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
    LengthSums lengths;
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
      lengths.add(batch);
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
    if (communicator_.reduces()) facts.parts.reduce = facts.exposed_communication_s;
    if (std::any_of(losses.begin(), losses.end(), [](const Loss& l) { return l.pending; })) {
      losses = backend_.pending_losses();
    }
    finish_losses(facts, losses, scale, lengths);
    return facts;
  }

  void update(StepFacts& facts) {
    const NvtxRange range("update");
    facts.learning_rate = parts_.facts.schedule.learning_rate(facts.step - phase_start_);
    // By the system's clock: tests script parts_.clock.
    const auto begun = std::chrono::steady_clock::now();
    const UpdateResult result =
        backend_.update({options_.optimizer, facts.learning_rate, options_.gradient_clipping,
                         facts.step - skipped_});
    const double update_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    const PartSeconds parts = backend_.part_seconds();
    facts.parts.forward = parts.forward;
    facts.parts.backward = parts.backward;
    // By the host, update() of a device also waits for what was queued before.
    const bool by_host = parts.optimizer < 0 && parts.forward >= 0;
    const double waited_s = std::max(0.0, result.exposed_communication_s);
    facts.parts.optimizer = by_host ? update_s - waited_s : parts.optimizer;
    skipped_ += result.skipped ? 1 : 0;
    facts.gradient_norm = result.gradient_norm;
    facts.skipped = result.skipped;
    facts.loss_scale = result.loss_scale;
    facts.next_loss_scale = backend_.scalar_state().loss_scale;
    facts.device_s = result.device_seconds;
    if (device_reduces_) {
      facts.communication_s = std::max(0.0, result.communication_s);
      facts.exposed_communication_s = std::max(0.0, result.exposed_communication_s);
    } else {
      facts.communication_s += std::max(0.0, result.communication_s);
      facts.exposed_communication_s += std::max(0.0, result.exposed_communication_s);
    }
    rank_times_->waited(facts.exposed_communication_s);
  }

  StepFacts inference_step(std::int64_t number) {
    const NvtxRange range("step");
    const Batch& batch = batches_.of((number - 1) * options_.gradient_accumulation_steps);
    StepFacts facts;
    facts.step = number;
    const double start = parts_.clock.now().seconds;
    const Loss loss = backend_.forward(batch);
    latencies_.push_back(parts_.clock.now().seconds - start);
    ++micro_done_;
    LengthSums lengths;
    lengths.add(batch);
    finish_losses(facts, {&loss, 1}, 1.0 / communicator_.world_size(), lengths);
    return facts;
  }

  // Every rank answers some batches of the held-out sequences.
  Scores evaluate() {
    const std::int64_t size = options_.micro_batch_size;
    const std::int64_t held = parts_.source.held_out();
    const std::int64_t wanted = held > 0 ? std::min(held, options_.evaluate) : options_.evaluate;
    const std::int64_t batches = (wanted + size - 1) / size;
    double sums[4] = {0, 0, 0, 0};  // sequences, exact, f1, right class
    Batch batch;
    for (std::int64_t i = communicator_.rank(); i < batches; i += communicator_.world_size()) {
      const std::int64_t first = i * size;
      fill_batch(parts_.source, parts_.data, kHeldOut + first, std::min(size, wanted - first),
                 batch);
      const std::vector<Prediction> answers = backend_.predict(batch);
      for (std::size_t b = 0; b < answers.size(); ++b) {
        sums[0] += 1;
        if (batch.spans.empty()) {
          sums[3] += answers[b].first == batch.next_sentence[b] ? 1 : 0;
          continue;
        }
        const Prediction label{batch.spans[2 * b], batch.spans[2 * b + 1]};
        sums[1] += answers[b] == label ? 1 : 0;
        sums[2] += f1_of(answers[b], label);
      }
    }
    if (communicator_.reduces()) communicator_.all_reduce_sum(std::span<double>(sums));
    Scores scores;
    scores.sequences = static_cast<std::int64_t>(sums[0]);
    if (scores.sequences == 0) return scores;
    const bool spans = parts_.data.questions;
    if (spans) scores.exact_match = 100 * sums[1] / sums[0];
    if (spans) scores.f1 = 100 * sums[2] / sums[0];
    if (!spans) scores.accuracy = 100 * sums[3] / sums[0];
    return scores;
  }

  // Means over micro-steps and ranks.
  void finish_losses(StepFacts& facts, std::span<const Loss> losses, double scale,
                     const LengthSums& lengths) {
    // masked_lm, next_sentence, last micro-step, lengths
    double sums[6] = {0, 0, 0, lengths.sequences, lengths.tokens, lengths.squares};
    for (const Loss& loss : losses) {
      sums[0] += loss.masked_lm * scale;
      sums[1] += loss.next_sentence * scale;
      sums[2] = loss.total() / static_cast<double>(communicator_.world_size());
    }
    if (communicator_.reduces()) {
      rank_times_->wait([&] { communicator_.all_reduce_sum(std::span<double>(sums)); });
    }
    facts.masked_lm = sums[0];
    facts.next_sentence = sums[1];
    facts.loss = sums[0] + sums[1];
    facts.last_micro_loss = sums[2];
    facts.mean_length = sums[4] / sums[3];
    facts.mean_square_length = sums[5] / sums[3];
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
  std::optional<RankTimes> rank_times_;  ///< from the first step on
  bool device_reduces_ = false;
  BatchesAhead batches_;
  std::int64_t done_ = 0;          ///< optimizer steps, over the whole training
  std::int64_t skipped_ = 0;       ///< of them without an update
  std::int64_t phase_start_ = 0;   ///< of them before this phase, whose schedule begins there
  Settings saved_;                 ///< rank 0: of the run that this one continues
  std::int64_t micro_done_ = 0;    ///< micro-steps of this run
  std::vector<double> latencies_;  ///< inference: seconds of a batch
  double last_end_ = 0;            ///< seconds: of the last step, before the first one the start
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
