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
  std::string gpu;                         ///< empty: the page does not say
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

}  // namespace bertbench
