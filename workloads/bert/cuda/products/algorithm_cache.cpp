#include "workloads/bert/cuda/products/algorithm_cache.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

namespace bert::cuda {

AlgorithmCache::AlgorithmCache(std::string path) : path_(std::move(path)) { load(); }

void AlgorithmCache::load() {
  std::ifstream file(path_);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string key;
    std::string word;
    fields >> key;
    Words words;
    bool good = !key.empty();
    while (fields >> word) {
      std::uint64_t value = 0;
      const char* end = word.data() + word.size();
      good = good && std::from_chars(word.data(), end, value, 16).ptr == end;
      words.push_back(value);
    }
    if (good && !words.empty()) entries_[key] = words;
  }
}

std::optional<AlgorithmCache::Words> AlgorithmCache::find(const std::string& key) const {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return std::nullopt;
  return at->second;
}

bool AlgorithmCache::add(const std::string& key, const Words& words) {
  load();
  entries_[key] = words;
  const std::string temporary = path_ + "." + std::to_string(getpid());
  {
    std::ofstream file(temporary, std::ios::trunc);
    for (const auto& [name, values] : entries_) {
      file << name;
      for (const std::uint64_t value : values) file << ' ' << std::hex << value;
      file << '\n';
    }
    file.flush();
    if (!file) {
      std::remove(temporary.c_str());
      return false;
    }
  }
  return std::rename(temporary.c_str(), path_.c_str()) == 0;
}

}  // namespace bert::cuda
