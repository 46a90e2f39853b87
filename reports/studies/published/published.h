// Published values: the tables of configs/published/*.json, which are built into the program.
//
// A file holds one page's figures as they are printed there, with the page's lines, its hardware
// and its versions of software (configs/schema/published.schema.json). The tests hold every value
// against the page's transcription in tests/data/published and against `audit`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parsers/core/error.h"
#include "parsers/core/topology.h"
#include "reports/model/identity.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// One row, as far as it can be compared with a cell.
struct PublishedRow {
  std::int64_t line = 0;                   ///< of the page; 0: the page has none
  Identity identity;                       ///< a fact in doubt as it should be; absent is unknown
  std::optional<std::int64_t> world_size;  ///< where the page states only the product
  std::string task;                        ///< of a fine-tuning; empty: pre-training
  std::string gpu;                         ///< empty: the page does not state it
  std::map<std::string, double> values;    ///< as printed: "sequences_per_second", "speedup" ...
  std::vector<std::string> doubts;         ///< what the page prints and what follows from it

  [[nodiscard]] std::optional<std::int64_t> world() const {
    const auto known = identity.world_size();
    return known ? known : world_size;
  }
  [[nodiscard]] std::optional<double> value(const std::string& key) const;
};

struct PublishedTable {
  std::string title, note;
  WorkKind kind = WorkKind::training;
  std::string flops_formula;     ///< of tflops_per_gpu
  std::optional<Topology> base;  ///< of `speedup`
  std::vector<PublishedRow> rows;
};

struct Published {
  std::string name, title, document, repository, method;
  std::string gpu, machine;
  std::vector<std::pair<std::string, std::string>> software;  ///< name, version
  std::vector<PublishedTable> tables;

  [[nodiscard]] std::size_t rows() const;
};

/// Names of the files in the program, sorted.
[[nodiscard]] std::vector<std::string> published_names();

/// The values of that name, or of a file (a path that ends in ".json"). Errors name file, key and
/// form; an unknown name is an error of `where` with the nearest one.
[[nodiscard]] Result<Published> published_values(const std::string& name, const std::string& where);

/// Of the text of a file.
[[nodiscard]] Result<Published> read_published(std::string_view text, const std::string& path);

// A result next to published values: which rows of a page are about the same work, and the ratios.

/// A figure that both have.
struct ComparedValue {
  std::string what;  ///< key of the result set: "tflops_per_gpu", "memory.peak_bytes"
  std::string unit;  ///< "TFLOPS by notebook", "bytes"
  double published = 0, ours = 0;
  [[nodiscard]] double ratio() const { return ours / published; }
};

/// A fact that differs. One of the system and not of the work ("framework", "gpu") is named, and
/// does not keep the row from being compared.
struct StatedDifference {
  std::string fact;
  std::string published, ours;
};

/// A cell of ours and a row of the page that are of the same work by every fact that both know.
struct ComparedRow {
  std::string key;  ///< of the cell
  WorkKind kind = WorkKind::training;
  bool emulated = false, simulated = false;
  std::size_t table = 0;  ///< index of Published::tables
  PublishedRow row;
  double published = 0;         ///< sequences/s of the whole job
  std::optional<double> ours;   ///< median; absent: no trial of the cell gives one
  int n = 0;                    ///< trials of ours that count
  std::optional<double> ratio;  ///< ours / published
  /// Of the ratio: the interval of ours (ShownInterval) over the published value, which is taken
  /// as exact, as pages state no spread.
  std::optional<Interval> interval;
  /// Over the cell that stands for the page's base: the same work on that many GPUs.
  std::optional<double> speedup_published, speedup_ours;
  std::optional<double> efficiency_published, efficiency_ours;
  std::string speedup_base;                                 ///< "1n1g"
  std::vector<ComparedValue> values;                        ///< further figures
  std::vector<std::string> unknown_to_page, unknown_to_us;  ///< facts that only one side states
  std::vector<StatedDifference> differences;
};

struct PublishedComparison {
  std::vector<ComparedRow> rows;  ///< in the order of our cells, then of the page
  struct Unmatched {
    std::string key, reason;
  };
  std::vector<Unmatched> unmatched;  ///< cells of ours
  /// Rows that are compared with one of ours that has a number.
  [[nodiscard]] std::size_t compared() const;
};

/// Rows are matched by model, precision, sequence length, batch, accumulation, GPUs, and every
/// further axis that both state. Model and GPUs must be known to both. Of several rows that fit a
/// cell those with the most facts in common are taken; all of them, where they are equally near.
/// Framework and GPU are what is compared: they are named where they differ.
[[nodiscard]] PublishedComparison compare_with_published(const ResultSet& ours,
                                                         const Published& page);

}  // namespace bertbench
