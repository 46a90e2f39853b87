// A run with a scripted clock and scripted losses, printed in any log style.
#pragma once

#include <cmath>
#include <sstream>
#include <string>

#include "workloads/bert/log/log_style.h"

namespace bert::testing {

inline RunFacts scripted_facts() {
  RunFacts f;
  f.optimizer.kind = OptimizerOptions::Kind::lamb;
  f.backend_description = "cpu, test";
  f.communicator = "tcp, test";
  f.data_description = "synthetic";
  f.gradient_accumulation_steps = 3;
  f.threads = 1;
  f.masked_per_sequence = 20;
  f.world_size = 4;
  f.nodes = 2;
  f.gpus_per_node = 2;
  f.parameters = 4433468;
  f.steps = 6;
  f.log_every = 2;
  f.schedule.peak = 0.006;
  f.schedule.decay_steps = 6;
  f.planned_bytes = 1000000;
  f.launcher = "torchrun";
  f.host = "node1";
  f.version = "0.1.0";
  f.commit = "0123456789ab";
  f.compiler = "GNU 12.2.0";
  f.command = {"bert_train", "--model", "bert-tiny", "--steps", "6"};
  return f;
}

// 2026-01-31 23:59:58.5 UTC when the program is two seconds old.
inline Stamp stamp_at(double seconds) { return {seconds, 1769903996.5 + seconds}; }

struct LogScript {
  int signal = 0;     ///< ends the run after its fourth step
  int nan_step = 5;   ///< from here on the loss is NaN; 0 = never
  bool fp16 = false;  ///< with steps 1 and 4 skipped; a NaN loss skips its step as well
};

/// Six optimizer steps of three micro-steps each, 0.33 s a micro-step, in the style named.
inline std::string log_of(const std::string& style, const LogScript& script = {}) {
  std::ostringstream out;
  const auto log = find_log_style(style)->make(out);
  RunFacts f = scripted_facts();
  if (script.fp16) f.precision = "fp16";
  double scale = script.fp16 ? 65536 : 0;
  std::int64_t skipped = 0;
  double now = 2;
  log->begin(f, stamp_at(now));
  std::int64_t micro = 0;
  const int last = script.signal == 0 ? 6 : 4;
  for (int step = 1; step <= last; ++step) {
    for (int k = 1; k <= 3; ++k) {
      now += 0.33;
      if (k == 3) {
        StepFacts s;
        s.step = step;
        s.masked_lm =
            script.nan_step > 0 && step >= script.nan_step ? std::nan("") : 10.25 - 0.1 * step;
        s.next_sentence = 0.6931471805599453;
        s.loss = s.masked_lm + s.next_sentence;
        s.last_micro_loss = s.loss + 0.015625;
        s.learning_rate = 0.006 / step;
        s.gradient_norm = 3.5;
        s.communication_s = 0.02;
        s.exposed_communication_s = 0.005;
        s.loss_scale = scale;
        s.skipped = script.fp16 && (step == 1 || step == 4 || std::isnan(s.loss));
        if (s.skipped) {
          ++skipped;
          scale /= 2;
          s.gradient_norm = HUGE_VAL;
        }
        s.next_loss_scale = scale;
        log->step(s, stamp_at(now));
      }
      log->micro_step(++micro, stamp_at(now));
    }
  }
  RunEnd end;
  end.step = end.steps_done = last;
  end.training_s = now - 2;
  end.signal = script.signal;
  end.first_nan_step = script.nan_step <= last ? script.nan_step : 0;
  end.peak_bytes = 1234567;
  end.loss_scaling = script.fp16;
  end.skipped_steps = skipped;
  end.checkpoint = script.signal == 0 ? "" : "ckpt/step_00000004.ckpt";
  log->end(end, stamp_at(now));
  return out.str();
}

}  // namespace bert::testing
