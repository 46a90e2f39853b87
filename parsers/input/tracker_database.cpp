// The SQLite files of MLflow (mlflow.db) and Trackio (<project>.db): one line a step, runs one
// after the other. What still lies in a -wal file is not there. A file has no checksums: damage is
// what SQLite finds.
#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "parsers/input/tracker_source.h"

namespace bertbench {
namespace {

constexpr std::size_t kLargestFile = std::size_t{256} << 20;
/// Virtual machine operations that a hostile file may cost: their product, tens of seconds of one
/// core.
constexpr int kProgressOps = 1'000'000, kMostProgress = 1'000;

constexpr const char* kTrackio =
    "SELECT run_name, NULL, step, timestamp, metrics, "
    "(SELECT config FROM configs c WHERE c.run_name = m.run_name) FROM metrics m "
    "ORDER BY run_name, id";
constexpr const char* kMlflow =
    "SELECT m.run_uuid, r.status, m.step, m.timestamp, NULL, "
    "(SELECT json_group_object(p.key, p.value) FROM params p WHERE p.run_uuid = m.run_uuid), "
    "m.key, m.value, m.is_nan "
    "FROM metrics m JOIN runs r ON r.run_uuid = m.run_uuid WHERE m.key NOT LIKE 'system/%' "
    "ORDER BY r.start_time, m.run_uuid, m.timestamp, m.step";
enum Column { kRun, kStatus, kStep, kTime, kMetrics, kConfig, kKey, kValue, kIsNan };

class DatabaseSource final : public DecodedSource {
 public:
  using DecodedSource::DecodedSource;
  DatabaseSource(const DatabaseSource&) = delete;
  DatabaseSource& operator=(const DatabaseSource&) = delete;
  ~DatabaseSource() override {
    sqlite3_finalize(query_);
    sqlite3_close_v2(db_);
  }

 private:
  Result<bool> decode(std::string& out) override {
    if (query_ == nullptr) {
      const auto opened = open();
      if (!opened) return tl::unexpected(opened.error());
      if (!*opened) return false;
    }
    const int status = sqlite3_step(query_);
    if (status == SQLITE_ROW) {
      take_row(out);
      return true;
    }
    if (status == SQLITE_INTERRUPT) {
      set_problem("the database takes too long to read: read up to there");
    } else if (status != SQLITE_DONE) {
      set_problem(
          fmt::format("the database is damaged ({}): read up to there", sqlite3_errmsg(db_)));
    }
    end_run(out);
    return false;
  }

  /// False with a problem where nothing can be read.
  Result<bool> open() {
    const auto bytes = next(kLargestFile + 1);
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->size() > kLargestFile) {
      set_problem(fmt::format("the database has more than {} MiB", kLargestFile >> 20));
      return false;
    }
    auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes->size()));
    if (sqlite3_open_v2(":memory:", &db_, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK ||
        copy == nullptr) {
      sqlite3_free(copy);
      set_problem("no memory is left to read the database");
      return false;
    }
    std::memcpy(copy, bytes->data(), bytes->size());
    // Bytes 18 and 19 (sqlite.org/fileformat2.html): 2 asks for a -wal file next to it, which
    // memory lacks; 1 does not.
    if (bytes->size() > 19 && copy[18] == 2 && copy[19] == 2) copy[18] = copy[19] = 1;
    const auto size = static_cast<sqlite3_int64>(bytes->size());
    sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, 16 << 20);
    // Else a cell of a damaged page may reach into memory after it.
    sqlite3_exec(db_, "PRAGMA cell_size_check = ON", nullptr, nullptr, nullptr);
    sqlite3_progress_handler(db_, kProgressOps, too_long, this);
    const int status =
        sqlite3_deserialize(db_, "main", copy, size, size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
    if (status == SQLITE_OK && has_metrics_and_no_views() &&
        (prepare(kTrackio) || prepare(kMlflow)))
      return true;
    set_problem("is a database, but none of MLflow or Trackio");
    return false;
  }

  /// A view is refused: it could be any query, of any cost.
  bool has_metrics_and_no_views() {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(
        db_,
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'metrics' "
        "AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'view' AND name IN "
        "('runs', 'params', 'configs'))",
        -1, &statement, nullptr);
    const bool has = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == 1;
    sqlite3_finalize(statement);
    return has;
  }

  bool prepare(const char* query) {
    return sqlite3_prepare_v2(db_, query, -1, &query_, nullptr) == SQLITE_OK;
  }

  static int too_long(void* self) {
    return ++static_cast<DatabaseSource*>(self)->progress_ > kMostProgress ? 1 : 0;
  }

  [[nodiscard]] std::string text(Column column) const {
    const void* bytes = sqlite3_column_blob(query_, column);
    const int size = sqlite3_column_bytes(query_, column);
    return bytes != nullptr
               ? std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size))
               : "";
  }

  void take_row(std::string& out) {
    if (std::string run = text(kRun); out_of_run_ || run != run_) {
      end_run(out);
      out_of_run_ = false;
      run_ = std::move(run);
      status_ = text(kStatus);
      out += fmt::format("{{\"run\": {}}}\n", json_string(run_));
      const std::string config = scalars_of(text(kConfig));
      if (!config.empty()) out += fmt::format("{{\"config\": {{{}}}}}\n", config);
    }
    const std::int64_t step = sqlite3_column_int64(query_, kStep);
    if (sqlite3_column_type(query_, kMetrics) != SQLITE_NULL) {
      take_trackio(step, out);
    } else if (step >= 0) {
      const bool is_nan = sqlite3_column_int(query_, kIsNan) != 0;
      const double value = sqlite3_column_double(query_, kValue);
      const double seconds = static_cast<double>(sqlite3_column_int64(query_, kTime)) / 1000;
      lines_.add(text(kKey), step, seconds, is_nan ? "\"nan\"" : json_number(value), out);
    }
  }

  /// Steps that were sent together have one time, which is that of the last of them.
  void take_trackio(std::int64_t step, std::string& out) {
    std::string time = text(kTime);
    if (!newest_members_.empty()) end_step(time == time_, out);
    time_ = std::move(time);
    newest_members_ = scalars_of(text(kMetrics));
    step_ = step;
  }

  void end_step(bool more_of_its_time, std::string& out) {
    // It sends every half second, so that finer digits of the stamp mean nothing.
    const std::string time = json_string(std::string_view(time_).substr(0, kTenths));
    add_row(step_, newest_members_ + (more_of_its_time ? "" : ", \"_timestamp\": " + time), out);
    newest_members_.clear();
  }

  void end_run(std::string& out) {
    lines_.flush(out);
    lines_ = LoggedSteps(kDecimals);
    if (!newest_members_.empty()) end_step(false, out);
    if (!status_.empty()) out += fmt::format("{{\"status\": {}}}\n", json_string(status_));
    status_.clear();
    out_of_run_ = true;
  }

  static std::string scalars_of(const std::string& json) {
    std::string out;
    const auto object = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object()) return out;
    for (const auto& [key, value] : object.items()) {
      if (!value.is_primitive() || value.is_null()) continue;
      out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", json_string(key),
                         value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    return out;
  }

  static constexpr std::size_t kTenths = std::string_view("2026-01-01T00:00:00.0").size();

  static constexpr int kDecimals = 3;  // MLflow's milliseconds

  sqlite3* db_ = nullptr;
  sqlite3_stmt* query_ = nullptr;
  int progress_ = 0;
  bool out_of_run_ = true;
  std::string run_, status_;
  LoggedSteps lines_{kDecimals};
  std::int64_t step_ = 0;
  std::string newest_members_, time_;  ///< Trackio's newest step, and when it was sent
};

}  // namespace

std::unique_ptr<ByteSource> open_database(std::unique_ptr<ByteSource> raw) {
  return std::make_unique<DatabaseSource>(std::move(raw));
}

}  // namespace bertbench
