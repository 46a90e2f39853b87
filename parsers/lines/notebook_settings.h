// NotebookSettings: with which settings a notebook of Python started what it prints next.
//
//   @dataclass
//   class Config:
//       model: str
//       seq_len: int
//       batch_size: int
//       bf16: bool = False
//
//   bert_2 = Config('bert-large-uncased', 128, 56, bf16=True)
//   bert_2.batch_size = 64
//   os.environ["NCCL_P2P_DISABLE"] = "1"
//   run_bert(bert_2)
//
// Names of the settings are the fields of the class; nothing is computed: a value that is not a
// literal is unknown. Read line by line, as the page or the exported script has them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bertbench {

/// A literal of Python.
struct PythonValue {
  std::string text;     ///< without quotes: "bert-large-uncased", "128", "True"
  bool quoted = false;  ///< a string
};

/// A call with an object of settings, or with settings of its own.
struct NotebookRun {
  std::int64_t line = 0;
  std::string name;                                           ///< of the variable: "bert_2"
  std::vector<std::pair<std::string, PythonValue>> settings;  ///< in the order of the fields
  std::map<std::string, std::string> environment;             ///< os.environ, set so far
  /// Field -> option of the command that the page puts it into: "--block_size {config.seq_len}".
  std::map<std::string, std::string> options;
};

class NotebookSettings {
 public:
  /// The line that declares a class whose fields are settings: what a page must hold.
  static constexpr std::string_view kMark = "@dataclass";

  void see(std::string_view line, std::int64_t number);

  /// The newest call with settings, once: what it prints is printed once. Nothing when there was no
  /// call since the last time.
  [[nodiscard]] std::optional<NotebookRun> take_run();

 private:
  using Object = std::vector<std::pair<std::string, PythonValue>>;
  struct Field {
    std::string name;
    std::optional<PythonValue> value;  ///< its default, if it is a literal
  };

  void read_statement(std::string_view text, std::int64_t number);
  bool read_field(std::string_view line);
  void read_options(std::string_view line);
  bool read_environment(std::string_view target, std::string_view value);
  void assign(std::string_view target, std::string_view value);
  void construct(const std::string& variable, const std::vector<Field>& fields,
                 std::string_view arguments);
  static void set(Object& object, const std::string& name, const std::optional<PythonValue>& value);

  static constexpr std::size_t kMaxNames = 1000, kMaxStatement = 4096;

  bool decorated_ = false;   ///< the line before was the decorator
  std::string class_;        ///< whose body is read
  std::string statement_;    ///< whose brackets are open
  std::int64_t begin_ = 0;   ///< its first line
  std::string_view quotes_;  ///< of a string over several lines that is open
  std::map<std::string, std::vector<Field>> classes_;
  /// Two variables may be one object: `b = a`.
  std::map<std::string, std::shared_ptr<Object>> objects_;
  std::map<std::string, std::string> environment_, options_;
  std::optional<NotebookRun> run_;
};

}  // namespace bertbench
