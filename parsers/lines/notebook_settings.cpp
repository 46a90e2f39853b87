#include "parsers/lines/notebook_settings.h"

#include <algorithm>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

bool is_name(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) && std::all_of(text.begin(), text.end(), is_name_char);
}

constexpr std::string_view kTriple[] = {"'''", "\"\"\""};

// Goes through code outside of strings: `visit` gets each byte and its place, false ends it.
// Returns the place of a string that is not closed, or npos.
template <class Visit>
std::size_t walk(std::string_view text, Visit visit) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\'' || c == '"') {
      const std::size_t begin = at;
      for (++at; at < text.size() && text[at] != c; ++at) {
        if (text[at] == '\\') ++at;
      }
      if (at >= text.size()) return begin;
    } else if (!visit(c, at)) {
      break;
    }
  }
  return std::string_view::npos;
}

std::string_view without_comment(std::string_view line) {
  std::size_t end = line.size();
  walk(line, [&](char c, std::size_t at) {
    if (c != '#') return true;
    end = at;
    return false;
  });
  return line.substr(0, end);
}

// Brackets that are open at the end.
int open_brackets(std::string_view text) {
  int open = 0;
  walk(text, [&](char c, std::size_t) {
    open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    return true;
  });
  return open;
}

// Pieces between commas that stand outside of brackets and strings.
std::vector<std::string_view> arguments_of(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t from = 0;
  int open = 0;
  walk(text, [&](char c, std::size_t at) {
    open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (c == ',' && open == 0) {
      out.push_back(trim(text.substr(from, at - from)));
      from = at + 1;
    }
    return true;
  });
  if (const auto last = trim(text.substr(std::min(from, text.size()))); !last.empty())
    out.push_back(last);
  return out;
}

// The place of the '=' of "name = value", npos where there is none.
std::size_t assignment(std::string_view text) {
  std::size_t found = std::string_view::npos;
  int open = 0;
  walk(text, [&](char c, std::size_t at) {
    open += c == '(' || c == '{' ? 1 : c == ')' || c == '}' ? -1 : 0;
    if (c != '=' || open != 0) return true;
    const bool compared =
        (at + 1 < text.size() && text[at + 1] == '=') ||
        (at > 0 && std::string_view("=!<>+-*/%|&^:").find(text[at - 1]) != std::string_view::npos);
    if (!compared) found = at;
    return false;
  });
  return found;
}

std::optional<PythonValue> literal(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && (text[0] == '\'' || text[0] == '"') && text.back() == text[0]) {
    const std::string_view inner = text.substr(1, text.size() - 2);
    if (inner.find(text[0]) != std::string_view::npos ||
        inner.find('\\') != std::string_view::npos) {
      return std::nullopt;
    }
    return PythonValue{std::string(inner), true};
  }
  if (text == "True" || text == "False" || text == "None")
    return PythonValue{std::string(text), false};
  std::string digits(text);
  std::erase(digits, '_');
  if (digits.empty() || !to_double(digits) ||
      std::isalpha(static_cast<unsigned char>(digits[0])) != 0) {
    return std::nullopt;
  }
  return PythonValue{digits, false};
}

}  // namespace

void NotebookSettings::see(std::string_view line, std::int64_t number) {
  read_options(line);
  if (!quotes_.empty()) {
    const auto end = line.find(quotes_);
    if (end == std::string_view::npos) return;
    line.remove_prefix(end + quotes_.size());
    quotes_ = {};
  }
  for (const std::string_view quotes : kTriple) {
    const auto begin = line.find(quotes);
    if (begin == std::string_view::npos) continue;
    const auto end = line.find(quotes, begin + quotes.size());
    if (end == std::string_view::npos) quotes_ = quotes;
    line = line.substr(0, begin);  // a text over several lines is no setting
  }
  if (trim(line).empty()) statement_.clear();  // prose with a bracket that is never closed
  line = without_comment(line);
  if (statement_.empty()) {
    const bool indented = !line.empty() && (line[0] == ' ' || line[0] == '\t');
    if (trim(line).empty()) return;
    if (!class_.empty() && indented && read_field(line)) return;
    class_.clear();
    begin_ = number;
  }
  if (!statement_.empty()) statement_ += ' ';
  statement_ += trim(line);
  const int open = open_brackets(statement_);
  if (open > 0 && statement_.size() < kMaxStatement) return;
  const std::string whole = std::exchange(statement_, {});
  if (open == 0 && whole.size() < kMaxStatement) read_statement(whole, begin_);
}

std::optional<NotebookRun> NotebookSettings::take_run() {
  return std::exchange(run_, std::nullopt);
}

// "--per_device_train_batch_size {config.batch_size}" of a command's text.
void NotebookSettings::read_options(std::string_view line) {
  for (std::size_t at = 0; (at = line.find("--", at)) != std::string_view::npos;) {
    at += 2;
    std::size_t end = at;
    while (end < line.size() && (is_name_char(line[end]) || line[end] == '-')) ++end;
    const std::string_view option = line.substr(at, end - at);
    std::string_view rest = line.substr(end);
    at = end;
    if (option.empty() || rest.size() < 4 || (rest[0] != ' ' && rest[0] != '=') || rest[1] != '{') {
      continue;
    }
    rest = rest.substr(2, rest.find('}') == std::string_view::npos ? 0 : rest.find('}') - 2);
    const auto dot = rest.find('.');
    const std::string_view field = dot == std::string_view::npos ? rest : rest.substr(dot + 1);
    if (is_name(field) && options_.size() < kMaxNames) options_[std::string(field)] = option;
  }
}

// "bf16: bool = False". False ends the fields: a method, or another class.
bool NotebookSettings::read_field(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view name = trim(line.substr(0, colon));
  if (!is_name(name)) return false;
  Field field{std::string(name), std::nullopt};
  const std::string_view type = line.substr(colon + 1);
  if (const auto at = assignment(type); at != std::string_view::npos) {
    field.value = literal(type.substr(at + 1));
  }
  auto& fields = classes_[class_];
  if (fields.size() < kMaxNames) fields.push_back(std::move(field));
  return true;
}

void NotebookSettings::read_statement(std::string_view text, std::int64_t number) {
  const bool decorated = std::exchange(decorated_, text.starts_with(kMark));
  if (decorated && text.starts_with("class ")) {
    text.remove_prefix(6);
    const std::string_view name = text.substr(0, text.find_first_of("(: "));
    if (!is_name(name) || classes_.size() >= kMaxNames) return;
    class_ = std::string(name);
    classes_[class_].clear();
    return;
  }
  if (const auto at = assignment(text); at != std::string_view::npos) {
    assign(trim(text.substr(0, at)), trim(text.substr(at + 1)));
    return;
  }
  // f(settings) or f(Config(...)).
  const auto open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return;
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  for (const std::string_view argument : arguments_of(inside)) {
    std::string name(argument);
    const auto inner = argument.find('(');
    const auto made = inner == std::string_view::npos
                          ? classes_.end()
                          : classes_.find(std::string(trim(argument.substr(0, inner))));
    if (made != classes_.end() && argument.ends_with(')')) {
      name.clear();  // of no variable
      construct(name, made->second, argument.substr(inner + 1, argument.size() - inner - 2));
    }
    const auto object = objects_.find(name);
    if (object == objects_.end()) continue;
    run_ = NotebookRun{number, name, *object->second, environment_, options_};
    return;
  }
}

bool NotebookSettings::read_environment(std::string_view target, std::string_view value) {
  constexpr std::string_view kEnvironment = "os.environ[";
  if (!target.starts_with(kEnvironment) || !target.ends_with(']')) return false;
  target.remove_prefix(kEnvironment.size());
  const auto name = literal(target.substr(0, target.size() - 1));
  const auto set_to = literal(value);
  if (name && name->quoted && environment_.size() < kMaxNames) {
    if (set_to) {
      environment_[name->text] = set_to->text;
    } else {
      environment_.erase(name->text);
    }
  }
  return true;
}

void NotebookSettings::assign(std::string_view target, std::string_view value) {
  if (read_environment(target, value)) return;
  if (const auto dot = target.find('.'); dot != std::string_view::npos) {
    const auto object = objects_.find(std::string(target.substr(0, dot)));
    const std::string_view field = target.substr(dot + 1);
    if (object != objects_.end() && is_name(field)) {
      set(*object->second, std::string(field), literal(value));
    }
    return;
  }
  if (!is_name(target)) return;
  const std::string variable(target);
  if (const auto same = objects_.find(std::string(value)); same != objects_.end()) {
    const std::shared_ptr<Object> object = same->second;
    if (objects_.size() < kMaxNames) objects_[variable] = object;
    return;
  }
  objects_.erase(variable);
  const auto open = value.find('(');
  if (open == std::string_view::npos || !value.ends_with(')')) return;
  const auto made = classes_.find(std::string(trim(value.substr(0, open))));
  if (made == classes_.end()) return;
  construct(variable, made->second, value.substr(open + 1, value.size() - open - 2));
}

void NotebookSettings::construct(const std::string& variable, const std::vector<Field>& fields,
                                 std::string_view arguments) {
  if (objects_.size() >= kMaxNames) return;
  auto object = std::make_shared<Object>();
  for (const Field& field : fields) {
    if (field.value) object->emplace_back(field.name, *field.value);
  }
  std::size_t position = 0;
  for (const std::string_view argument : arguments_of(arguments)) {
    const auto equals = assignment(argument);
    if (equals != std::string_view::npos) {
      set(*object, std::string(trim(argument.substr(0, equals))),
          literal(argument.substr(equals + 1)));
    } else if (position < fields.size()) {
      set(*object, fields[position++].name, literal(argument));
    }
  }
  // In the order of the fields, whatever had a default.
  const auto place = [&](const std::string& name) {
    return std::find_if(fields.begin(), fields.end(),
                        [&](const Field& field) { return field.name == name; });
  };
  std::stable_sort(object->begin(), object->end(),
                   [&](const auto& a, const auto& b) { return place(a.first) < place(b.first); });
  objects_[variable] = std::move(object);
}

void NotebookSettings::set(Object& object, const std::string& name,
                           const std::optional<PythonValue>& value) {
  const auto at = std::find_if(object.begin(), object.end(),
                               [&](const auto& each) { return each.first == name; });
  if (at != object.end()) {
    if (value) {
      at->second = *value;
    } else {
      object.erase(at);  // no longer what it was
    }
  } else if (value && object.size() < kMaxNames) {
    object.emplace_back(name, *value);
  }
}

}  // namespace bertbench
