#include "harness/sweep/config/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "parsers/core/text.h"

namespace bertbench {

Result<void> check_host(const std::string& host) {
  const bool plain = std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("._:@[]-%").find(c) != std::string_view::npos;
  });
  if (plain && !host.empty() && host.size() <= 255 && host[0] != '-') return {};
  return fail("", fmt::format("'{}' is no host name", host), "use a name, an address or user@host");
}

Result<std::vector<std::string>> read_hostfile(const std::string& path) {
  std::ifstream in(path);
  if (!in) return fail(path, "cannot read the hostfile", "name a file with one host a line");
  std::vector<std::string> hosts;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    auto text = trim(std::string_view(line).substr(0, line.find('#')));
    if (text.empty()) continue;
    const std::string host(text.substr(0, text.find_first_of(" \t")));
    if (auto good = check_host(host); !good) {
      return fail(fmt::format("{}:{}", path, number), good.error().what, good.error().hint);
    }
    hosts.push_back(host);
  }
  if (hosts.empty()) return fail(path, "holds no host", "write one host a line");
  return hosts;
}

bool is_loopback(const std::string& host) {
  const auto name = host.substr(host.rfind('@') + 1);
  return name == "localhost" || name == "::1" || name == "[::1]" || name.starts_with("127.");
}

std::vector<HostShare> shares_of(const std::vector<std::string>& hosts, std::int64_t nodes) {
  std::vector<HostShare> shares;
  for (std::int64_t node = 0; node < nodes; ++node) {
    const auto index = static_cast<std::size_t>(node);
    std::string host = index < hosts.size() ? hosts[index] : fmt::format("<host{}>", node + 1);
    if (is_loopback(host) || (hosts.empty() && nodes == 1)) host = "localhost";
    const auto same = std::find_if(shares.begin(), shares.end(),
                                   [&](const auto& share) { return share.host == host; });
    if (same == shares.end()) {
      shares.push_back({host, 1});
    } else {
      ++same->nodes;
    }
  }
  return shares;
}

Result<void> check_enough_hosts(const std::vector<std::string>& hosts, std::int64_t nodes) {
  if (static_cast<std::int64_t>(hosts.size()) >= nodes) return {};
  return fail("hosts",
              fmt::format("the grid has cells of {} nodes, 'hosts' names {}", nodes, hosts.size()),
              "name one host a node; the same host several times emulates nodes and is labelled");
}

}  // namespace bertbench
