// hyperscan_literals LITERALS LOG: how often any line of LITERALS stands in LOG, by Hyperscan. The
// yardstick of scripts/scan_speed: the search alone, of text read in the same blocks as ours.
#include <fcntl.h>
#include <hs/hs.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

int count_match(unsigned, unsigned long long, unsigned long long, unsigned, void* count) {
  ++*static_cast<unsigned long long*>(count);
  return 0;
}

bool fails(hs_error_t error, const char* what) {
  if (error != HS_SUCCESS) std::fprintf(stderr, "hyperscan_literals: %s: error %d\n", what, error);
  return error != HS_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: hyperscan_literals LITERALS LOG\n", stderr);
    return 2;
  }
  std::ifstream list(argv[1]);
  std::vector<std::string> literals;
  for (std::string line; std::getline(list, line);) {
    if (!line.empty()) literals.push_back(line);
  }
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  std::vector<unsigned> flags(literals.size(), 0), ids(literals.size(), 0);
  for (const std::string& literal : literals) {
    texts.push_back(literal.c_str());
    sizes.push_back(literal.size());
  }
  hs_database_t* database = nullptr;
  hs_compile_error_t* problem = nullptr;
  const auto count = static_cast<unsigned>(literals.size());
  if (hs_compile_lit_multi(texts.data(), flags.data(), ids.data(), sizes.data(), count,
                           HS_MODE_STREAM, nullptr, &database, &problem) != HS_SUCCESS) {
    std::fprintf(stderr, "hyperscan_literals: %s: %s\n", argv[1], problem->message);
    return 2;
  }
  hs_scratch_t* scratch = nullptr;
  hs_stream_t* stream = nullptr;
  const int log = open(argv[2], O_RDONLY | O_CLOEXEC);
  if (log < 0) {
    std::perror(argv[2]);
    return 5;
  }
  if (fails(hs_alloc_scratch(database, &scratch), "scratch") ||
      fails(hs_open_stream(database, 0, &stream), "stream")) {
    return 2;
  }
  unsigned long long matches = 0;
  std::vector<char> block(2U << 20);
  for (ssize_t got = 0; (got = read(log, block.data(), block.size())) > 0;) {
    const auto size = static_cast<unsigned>(got);
    if (fails(hs_scan_stream(stream, block.data(), size, 0, scratch, count_match, &matches),
              "scan")) {
      return 2;
    }
  }
  std::printf("%llu\n", matches);
  return 0;
}
