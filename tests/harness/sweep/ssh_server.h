// SshServer: an sshd on loopback with keys and configuration of its own, for one test.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/harness/sweep/support.h"

namespace bertbench::test {

class SshServer {
 public:
  SshServer();
  ~SshServer();  ///< ends it
  SshServer(const SshServer&) = delete;
  SshServer& operator=(const SshServer&) = delete;

  /// Why there is none; empty when it runs.
  [[nodiscard]] const std::string& missing() const { return missing_; }
  /// Configuration for the client: port, key and host key.
  [[nodiscard]] std::string client_config() const { return folder_.path("ssh_config"); }
  /// Kills every process that serves a connection, as a lost network would look from both sides.
  void cut_connections() const;

 private:
  bool make_key(const std::string& name);
  ScratchFolder folder_;
  pid_t pid_ = 0;
  std::string missing_;
};

}  // namespace bertbench::test
