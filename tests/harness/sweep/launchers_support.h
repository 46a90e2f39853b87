// What the tests of the launchers share: text that must stay text, and a look at what runs.
#pragma once

#include <dirent.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/harness/sweep/support.h"

namespace bertbench::test {

/// Strings that a shell, an option parser or a format would make something else of.
inline std::vector<std::string> hostile_texts() {
  return {"$(touch pwned)",
          "`touch pwned`",
          "; touch pwned",
          "a\nb; touch pwned",
          "-x",
          "--help",
          "'; touch pwned; '",
          "\"",
          "a=b",
          "*",
          "\\",
          "x,y=z",
          "%h %n",
          "~",
          "& touch pwned &"};
}

/// Samplers of nodes run as they do for users: this test program is none.
inline void use_real_sampler() {
#ifdef BB_BERTBENCH
  setenv("BERTBENCH_SAMPLER", BB_BERTBENCH, 1);
#endif
}

/// What fake_trainer wrote to FAKE_DUMP, one entry for each NUL.
inline std::vector<std::string> dumped(const std::string& path) {
  std::vector<std::string> out;
  const auto text = read_file(path);
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\0', at);
    out.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return out;
}

/// Processes of this machine whose environment holds `text`.
inline int processes_with(const std::string& text) {
  int found = 0;
  DIR* folder = opendir("/proc");
  while (const dirent* entry = folder ? readdir(folder) : nullptr) {
    const std::string name = entry->d_name;
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (name == std::to_string(getpid())) continue;
    if (read_file("/proc/" + name + "/environ").find(text) != std::string::npos) ++found;
  }
  if (folder) closedir(folder);
  return found;
}

/// Waits until `condition` holds, at most a minute.
template <typename Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

/// A command of fake_trainer with one further argument a text, each after "--say", and the same
/// texts as variables FAKE_TEXT_<i>. Returns the --set arguments of a config that uses it.
inline std::vector<std::string> hostile_sets(const ScratchFolder& temp) {
  std::string args, env;
  const auto quoted = [](const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return out + "\"";
  };
  const auto texts = hostile_texts();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    args += ", \"--say\", " + quoted(texts[i]);
    env += (i ? ", " : "") + ("\"FAKE_TEXT_" + std::to_string(i) + "\": ") + quoted(texts[i]);
  }
  return {std::string(R"(command=[")") + BB_FAKE_TRAINER +
              R"(", "--model", "{model}", "--micro-batch-size", "{micro_batch_size}",
              "--steps", "{steps}", "--sequence-length", "{sequence_length}",
              "--expect-world-size", "{world_size}")" +
              args + "]",
          "framework=fake",
          "env={" + env + "}",
          "env.FAKE_DUMP=" + temp.path("dump"),
          "grid.model=[\"$(touch pwned)\"]",
          "trials=1"};
}

/// Every hostile text reached the trainer as it was, and nothing ran.
inline void expect_texts_arrived(const ScratchFolder& temp) {
  const auto seen = dumped(temp.path("dump"));
  const auto texts = hostile_texts();
  std::vector<std::string> said;
  for (std::size_t i = 0; i + 1 < seen.size(); ++i) {
    if (seen[i] == "--say") said.push_back(seen[i + 1]);
  }
  EXPECT_EQ(said, texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto entry = "FAKE_TEXT_" + std::to_string(i) + "=" + texts[i];
    EXPECT_NE(std::find(seen.begin(), seen.end(), entry), seen.end()) << entry;
  }
  EXPECT_NE(std::find(seen.begin(), seen.end(), "$(touch pwned)"), seen.end());
  for (const auto& folder : {std::filesystem::current_path().string(), temp.path(),
                             std::string(getenv("HOME") ? getenv("HOME") : "/")}) {
    EXPECT_FALSE(std::filesystem::exists(folder + "/pwned")) << folder;
  }
}

}  // namespace bertbench::test
