#include "parsers/core/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace bertbench {

// Not std::tmpfile(): that ignores TMPDIR.
FileHandle open_temporary_file() {
  const char* folder = std::getenv("TMPDIR");
  std::string path = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  path += "/bertbench-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) return {nullptr, std::fclose};
  ::unlink(path.c_str());
  std::FILE* file = ::fdopen(descriptor, "w+b");
  if (file == nullptr) ::close(descriptor);
  return {file, std::fclose};
}

}  // namespace bertbench
