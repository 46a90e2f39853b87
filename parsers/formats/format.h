// Format: the interface of one log format. parsers/formats/<name>.cpp, or
// parsers/formats/<family>/<name>.cpp, defines `extern const Format entry;` in namespace
// format_<name>, and parsers/CMakeLists.txt lists its name; help, `bertbench list formats` and the
// tests over all formats follow from that list, its row in docs/formats.md is written by hand.
//
// A format is a table: literal -> handler. A handler gets the lines that hold its literal, reports
// what they state as events (parsers/assemble/events.h) and keeps what it must know later in the
// format's state:
//
//   struct Example {
//     bool step(const Line& line, Emit emit) {...}
//     std::optional<std::int64_t> batch;
//     bool resumed = false;
//     void facts(Facts& facts) const {...}
//   };
//   constexpr Row kRows[] = {on<&Example::step>("step: "), on<&Example::batch>("batch size: "),
//                            on<&Example::resumed>("Resuming from checkpoint")};
//   constexpr Begin kRuns[] = {{.unit = IterationUnit::optimizer_step}};
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "parsers/assemble/assembler.h"
#include "parsers/core/line.h"
#include "parsers/core/run_log.h"
#include "parsers/lines/cursor.h"

namespace bertbench {

/// A row of a format's table. Rows are tried in order; where a line holds literals of several, the
/// first handler that returns true ends it. A handler gets a line once, however many of its rows
/// stand on it, with Line::at where the literal of the first stands.
struct Row {
  std::string_view literal;
  /// True when the line is of this format, not merely like it.
  bool (*handle)(void* state, const Line& line, Emit emit) = nullptr;
};

namespace detail {

template <class T>
struct StateOf : StateOf<decltype(&T::operator())> {};
template <class S, class M>
struct StateOf<M S::*> {
  using type = S;
};
template <class L, class R, class S, class... Rest>
struct StateOf<R (L::*)(S&, Rest...) const> {
  using type = S;
};
template <class R, class S, class... Rest>
struct StateOf<R (*)(S&, Rest...)> {
  using type = S;
};

template <auto handler>
bool handle(void* state, const Line& line, Emit emit) {
  using Handler = decltype(handler);
  using State = typename StateOf<Handler>::type;
  State& of = *static_cast<State*>(state);
  if constexpr (std::is_member_object_pointer_v<Handler>) {
    if constexpr (std::is_same_v<Handler, bool State::*>) {
      of.*handler = true;
    } else if (const auto size = size_here(line)) {
      of.*handler = *size;
    }
    return false;
  } else {
    const auto call = [&]() -> decltype(auto) {
      if constexpr (std::is_invocable_v<Handler, State&, const Line&, Emit>) {
        return std::invoke(handler, of, line, emit);
      } else {
        return std::invoke(handler, of, line);
      }
    };
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      return false;
    } else {
      return call();
    }
  }
}

}  // namespace detail

/// A row of the table. `handler` is a member function of the format's state, or a lambda whose
/// first argument is the state; with a result of bool it reports whether it took the line, with
/// none it leaves the line to others. Or it is a data member of the state: a bool becomes true, a
/// number becomes the number (1 to below 10^9) that stands after the literal.
template <auto handler>
consteval Row on(std::string_view literal) {
  return {literal, detail::handle<handler>};
}

/// A format's state as the reader has it.
struct StateType {
  void* (*make)() = nullptr;
  void (*destroy)(void*) = nullptr;
  /// `void finish(Emit)`: what waited for a line that did not come, and what shows at the end only.
  void (*finish)(void*, Emit) = nullptr;
  /// `bool wants_every_line() const`: the format is in a table whose rows hold no literal (CSV);
  /// then `bool row(const Line&, Emit)` gets the lines that no handler takes. A header counts on
  /// the first line of a log only: chunks of a file are searched without knowing what stands before
  /// them.
  bool (*wants_every_line)(const void*) = nullptr;
  bool (*row)(void*, const Line&, Emit) = nullptr;
  /// `void facts(Facts&) const`: what is known of the launch by now, for the run that goes on.
  void (*facts)(const void*, Facts&) = nullptr;
};
template <class State>
consteval StateType state_type() {
  StateType out;
  out.make = []() -> void* { return new State; };
  out.destroy = [](void* state) { delete static_cast<State*>(state); };
  if constexpr (requires(State s, Emit emit) { s.finish(emit); }) {
    out.finish = [](void* state, Emit emit) { static_cast<State*>(state)->finish(emit); };
  }
  if constexpr (requires(const State s) { s.wants_every_line(); }) {
    out.wants_every_line = [](const void* state) {
      return static_cast<const State*>(state)->wants_every_line();
    };
    out.row = [](void* state, const Line& line, Emit emit) {
      return static_cast<State*>(state)->row(line, emit);
    };
  }
  if constexpr (requires(const State s, Facts& facts) { s.facts(facts); }) {
    out.facts = [](const void* state, Facts& facts) {
      static_cast<const State*>(state)->facts(facts);
    };
  }
  return out;
}
/// The rows of a format, the state that their handlers share, and how the runs of each track are
/// put together.
struct FormatTable {
  std::span<const Row> rows{};
  StateType state{};
  std::span<const Begin> runs{};
};
template <class State>
consteval FormatTable table_of(std::span<const Row> rows, std::span<const Begin> runs = {}) {
  return {rows, state_type<State>(), runs};
}

/// State of a format that writes its runs itself; see docs/design.md for which and why.
class LineParser {
 public:
  virtual ~LineParser() = default;
  /// Looks at a candidate line. Returns true when the line is of this format (not merely like it).
  virtual bool parse(const Line& line, RunBuilder& out) = 0;
  /// True when the line parsed last, were it parsed again at once, would change nothing and match
  /// again. Many ranks redraw one bar: their copies of a redraw are then counted, not parsed.
  [[nodiscard]] virtual bool settled() const { return false; }
  /// In a table whose rows hold no anchor: lines without one are shown, too.
  [[nodiscard]] virtual bool wants_every_line() const { return false; }
  /// End of input: hands over what waits for a line that did not come.
  virtual void finish(RunBuilder&) {}
};

struct Format {
  std::string_view name;
  std::string_view title;                       ///< one line: who prints it
  std::string_view reference;                   ///< where the format is defined
  std::span<const std::string_view> anchors{};  ///< of a LineParser: it gets lines that hold one
  std::unique_ptr<LineParser> (*make)() = nullptr;
  /// Where the last redraw on the line ends, 0 = there is none. A bar leaves the cursor at its end:
  /// what is written next stands on its line and is one of its own for all other formats. Null: the
  /// format draws no bars.
  std::size_t (*redraw_end)(const Line& line) = nullptr;
  std::string_view framework{};  ///< of a log that names none
  FormatTable table{};
  bool yields = false;  ///< a line that another format takes is none of its own

  /// The literals by which the format's lines are found.
  [[nodiscard]] std::vector<std::string_view> literals() const {
    std::vector<std::string_view> out(anchors.begin(), anchors.end());
    for (const Row& row : table.rows) out.push_back(row.literal);
    return out;
  }
};

/// All formats, in list order. Generated from parsers/CMakeLists.txt.
std::span<const Format* const> all_formats();

}  // namespace bertbench
