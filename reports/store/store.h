// Store: the history of results in one SQLite file. Several processes may write at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "parsers/core/error.h"
#include "reports/model/result_set.h"

namespace bertbench {

struct StoredRun {
  std::int64_t id = 0;
  std::string added;    ///< when it was stored, RFC 3339 UTC
  std::string created;  ///< when it was measured
  std::string machine;  ///< machine_text() of its environment
  std::string commit;   ///< what was measured
  std::string label;
  std::int64_t cells = 0;
};

struct AddOptions {
  std::string commit;  ///< empty: that of the tool that measured
  std::string label;
};

struct Added {
  std::int64_t id = 0;
  bool is_new = false;  ///< false: the very same result was there already
};

/// "cpu model, 8 cores, 2 x NVIDIA ..." of an environment; "unknown" where it says nothing.
[[nodiscard]] std::string machine_text(const nlohmann::ordered_json& environment);

/// True for a file that begins as SQLite databases do.
[[nodiscard]] bool is_database(const std::string& path);

class Store {
 public:
  enum class Mode { existing, create };
  [[nodiscard]] static Result<Store> open(const std::string& path, Mode mode);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// One transaction; waits up to 30 s for another writer.
  [[nodiscard]] Result<Added> add(const ResultSet& results, const AddOptions& options = {});
  /// In the order in which they were stored.
  [[nodiscard]] Result<std::vector<StoredRun>> list() const;
  /// The result as it was stored, to the byte of its JSON.
  [[nodiscard]] Result<ResultSet> load(std::int64_t id) const;
  /// The newest `most` runs of the machine of `results` (by the context that a comparison needs)
  /// that hold one of its cells, oldest first. Context keys in `allowed` may differ. Where no run
  /// is of this machine, those of the newest machine, so that the gate can say what differs.
  [[nodiscard]] Result<std::vector<ResultSet>> baseline(const ResultSet& results,
                                                        const std::vector<std::string>& allowed,
                                                        std::size_t most = 5) const;

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace bertbench
