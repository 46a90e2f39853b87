#include "tests/harness/sweep/ssh_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "harness/sweep/config/workload.h"
#include "harness/sweep/execute/open_attempt.h"
#include "harness/sweep/process/proc_fs.h"
#include "harness/sweep/process/process.h"
#include "harness/sweep/process/program.h"

namespace bertbench::test {
namespace {

bool answers(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool good = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return good;
}

}  // namespace

bool SshServer::make_key(const std::string& name) {
  return capture_output({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder_.path(name)},
                        std::chrono::seconds(30))
      .has_value();
}

SshServer::SshServer() {
  prepare_to_run_processes();
  const std::string program = "/usr/sbin/sshd";
  if (find_program("ssh").empty() || find_program("ssh-keygen").empty() ||
      find_program(program).empty()) {
    missing_ = "ssh or sshd is not installed (Debian: openssh-client, openssh-server)";
    return;
  }
  if (geteuid() == 0) mkdir("/run/sshd", 0755);  // where sshd of root looks for it
  const int port = free_port();
  if (!make_key("host") || !make_key("client")) {
    missing_ = "ssh-keygen made no key";
    return;
  }
  folder_.put("authorized_keys", read_file(folder_.path("client.pub")));
  const std::string at = std::to_string(port);
  // A home without start-up files: a user's own, which bash reads for each connection, may take
  // longer than the trial and print into its log. Keys are agreed on in the quickest of ways:
  // OpenSSH's first choice took two thirds of the CPU time of these tests.
  folder_.put("sshd_config",
              "Port " + at + "\nListenAddress 127.0.0.1\nListenAddress 127.0.0.2\nHostKey " +
                  folder_.path("host") + "\nAuthorizedKeysFile " + folder_.path("authorized_keys") +
                  "\nSetEnv HOME=" + folder_.path() +
                  "\nKexAlgorithms ecdh-sha2-nistp256\nPidFile none\nStrictModes no\nUsePAM "
                  "no\nPasswordAuthentication no\n"
                  "KbdInteractiveAuthentication no\nPermitRootLogin yes\nMaxStartups 200\n");
  folder_.put("ssh_config", "Port " + at + "\nIdentityFile " + folder_.path("client") +
                                "\nIdentitiesOnly yes\nIdentityAgent none\n"
                                "StrictHostKeyChecking no\nUserKnownHostsFile " +
                                folder_.path("known_hosts") + "\nLogLevel ERROR\n");
  pid_ = fork();
  if (pid_ == 0) {
    // What remains of its sessions must not come to the harness under test to be cleaned up.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    const std::string config = folder_.path("sshd_config"), log = folder_.path("sshd.log");
    execl(program.c_str(), program.c_str(), "-D", "-f", config.c_str(), "-E", log.c_str(),
          static_cast<char*>(nullptr));
    _exit(127);
  }
  for (int i = 0; i < 500 && !answers(port); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!capture_output({"ssh", "-F", client_config(), "-o", "BatchMode=yes", "127.0.0.1", "true"},
                      std::chrono::seconds(20))) {
    missing_ = "sshd takes no connection here: " + read_file(folder_.path("sshd.log"));
  }
}

SshServer::~SshServer() {
  if (pid_ <= 0) return;
  cut_connections();
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

void SshServer::cut_connections() const {
  // sshd forks a monitor a connection, which forks the session.
  for (const auto& monitor : proc::children_of(pid_)) {
    const auto sessions = proc::children_of(monitor.pid);
    const auto command = proc::read_file("/proc/" + std::to_string(monitor.pid) + "/comm");
    if (command != "sshd\n") continue;
    kill(monitor.pid, SIGKILL);
    for (const auto& session : sessions) {
      if (proc::read_file("/proc/" + std::to_string(session.pid) + "/comm") == "sshd\n") {
        kill(session.pid, SIGKILL);
      }
    }
  }
}

}  // namespace bertbench::test
