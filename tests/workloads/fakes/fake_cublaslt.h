// Stands in for libcublasLt in tests on an emulated device: what the descriptors say is checked
// against the rules of cublasLt.h and computed, by columns, by plain loops.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace bert::fakes {

/// Values of cublasLtEpilogue_t.
enum Epilogue : int {
  kDefault = 1,
  kBias = 4,
  kGeluAuxBias = 164,
  kDGelu = 192,
  kDGeluBgrad = 208,
  kBgradB = 512,
};

struct FakeCublasLt {
  std::set<int> refused_late;       ///< the heuristic finds one, which then refuses to run
  std::set<int> refused;            ///< epilogues that the heuristic finds no algorithm for
  std::map<int, int> products;      ///< run, by epilogue
  int heuristics = 0, checks = 0;   ///< calls of the two
  int in_place = 0;                 ///< products by an algorithm with in-place reduction
  int eight_bits = 0;               ///< products of operands of 8 bits
  int alive = 0;                    ///< handles, descriptors, layouts and preferences
  std::vector<std::string> faults;  ///< rules that a caller broke
};
FakeCublasLt& fake_cublaslt();

}  // namespace bert::fakes
