// Secrets: values of a configuration that only the trainer may get. Where the configuration is
// read, a marker takes the place of each; whatever is planned, written, compared or printed holds
// markers, and the values come back where a process is started or a file is written for it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/sweep/process/process.h"

namespace bertbench {

struct SweepConfig;

class Secrets {
 public:
  /// Gives the marker that stands for the value: "<secret:HF_TOKEN>", for further values of that
  /// name "<secret:HF_TOKEN:2>". A value that is a marker already is returned as it is: its secret
  /// is missing.
  std::string conceal(std::string_view name, const std::string& value);
  /// The same of a number in JSON, which becomes a number again.
  std::string conceal_number(std::string_view name, const std::string& value);

  /// The text with the values in place of their markers.
  [[nodiscard]] std::string reveal(std::string text) const;
  /// The same of JSON text, in whose strings the markers stand.
  [[nodiscard]] std::string reveal_json(std::string text) const;
  [[nodiscard]] ProcessSpec reveal(ProcessSpec spec) const;
  /// The text, which a trainer wrote, with markers in place of values and of their lines, also
  /// where they stand as in JSON or with doubled braces. Those of fewer than 6 bytes stay: they
  /// would be found in what has nothing to do with them.
  [[nodiscard]] std::string conceal_values(std::string text) const;
  /// The same of a word of the command line that may have given the values: the short ones too,
  /// where they stand by themselves.
  [[nodiscard]] std::string conceal_word(std::string word) const;

  [[nodiscard]] bool held_by(std::string_view text) const;  ///< it holds a marker
  /// For each marker in the text a line of its name and the SHA-256 of `salt` and its value, by
  /// which a changed value is noticed. A weak password can be guessed from it.
  [[nodiscard]] std::string digests_of(std::string_view text, std::string_view salt) const;
  /// Markers without a value, as a sweep.json has them.
  [[nodiscard]] std::vector<std::string> missing() const;
  [[nodiscard]] bool empty() const { return values_.empty(); }

 private:
  [[nodiscard]] std::string conceal_forms(std::string text, bool short_ones) const;

  std::map<std::string, std::string> values_;  // by marker
  std::set<std::string> numbers_;              // markers of numbers
};

/// The name of a variable, an option or a member shows that its value is a credential: PASSWORD,
/// SECRET, API_KEY and the like is one of its words, or TOKEN the last one (not that of a
/// tokenizer, as in mask_token). `further`: other names.
bool is_secret_name(std::string_view name, const std::vector<std::string>& further);

/// Puts markers into the configuration: for variables, for words NAME=VALUE and --NAME VALUE, and
/// in the files of a command for members and lines of such names.
void conceal_secrets(SweepConfig& config);

}  // namespace bertbench
