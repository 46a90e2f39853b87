#include "harness/sweep/config/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "parsers/core/text.h"

namespace bertbench {

Result<void> check_host(const std::string& host) {
  const bool plain = std::all_of(host.begin(), host.end(), [](char c) {
    return is_name_char(c) || std::string_view(".:@[]-%").find(c) != std::string_view::npos;
  });
  if (plain && !host.empty() && host.size() <= 255 && host[0] != '-') return {};
  return fail("", fmt::format("'{}' is no host name", host), "use a name, an address or user@host");
}

Result<void> add_host(std::string_view text, Hostfile& out) {
  constexpr std::string_view kSlots = "slots=";
  const auto word = text.substr(0, text.find_first_of(" \t"));
  std::string host(word), option(trim(text.substr(word.size())));
  // "node1:4" of MPICH; an address of IPv6 has more colons.
  const auto colon = word.find(':');
  if (option.empty() && colon == word.rfind(':') && colon != word.npos) {
    option = std::string(kSlots) + std::string(word.substr(colon + 1));
    host.resize(colon);
  }
  if (auto good = check_host(host); !good) return good;
  out.hosts.push_back(host);
  if (option.empty()) return {};
  const auto slots =
      option.starts_with(kSlots) ? to_int(option.substr(kSlots.size())) : std::nullopt;
  if (!slots || *slots < 1) {
    return fail("", fmt::format("'{}' is not understood", option),
                "write one host a line; slots=N may follow, N ranks at most");
  }
  out.slots[host] += *slots;
  return {};
}

std::vector<std::string> host_texts(const Hostfile& hosts) {
  std::vector<std::string> out;
  auto slots = hosts.slots;
  for (const std::string& host : hosts.hosts) {
    const auto has = slots.extract(host);
    out.push_back(has ? fmt::format("{} slots={}", host, has.mapped()) : host);
  }
  return out;
}

Result<Hostfile> read_hostfile(const std::string& path) {
  std::ifstream in(path);
  if (!in) return fail(path, "cannot read the hostfile", "name a file with one host a line");
  Hostfile out;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const auto text = trim(std::string_view(line).substr(0, line.find('#')));
    if (text.empty()) continue;
    if (auto good = add_host(text, out); !good) {
      return fail(fmt::format("{}:{}", path, number), good.error().what, good.error().hint);
    }
  }
  if (out.hosts.empty()) return fail(path, "holds no host", "write one host a line");
  return out;
}

Result<void> check_slots(const std::vector<std::string>& hosts,
                         const std::map<std::string, std::int64_t>& slots, const Topology& cell) {
  std::map<std::string, std::int64_t> ranks;
  for (std::int64_t node = 0; node < cell.nodes && node < std::ssize(hosts); ++node) {
    const auto& host = hosts[static_cast<std::size_t>(node)];
    ranks[host] += cell.gpus_per_node;
    const auto has = slots.find(host);
    if (has == slots.end() || ranks[host] <= has->second) continue;
    return fail("hosts",
                fmt::format("a cell of {} needs {} slots of {}, the hostfile gives it {}",
                            cell.str(), ranks[host], host, has->second),
                "correct the hostfile, or leave such cells out of the grid");
  }
  return {};
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
