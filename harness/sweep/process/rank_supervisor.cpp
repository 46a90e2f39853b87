#include "harness/sweep/process/rank_supervisor.h"

namespace bertbench {
namespace {

// Descriptor 3 is the connection: its end is the order to stop. `end` kills what carries the
// marker, so that children which left the session go as well. One may be forked between the look
// and the kill: it looks until nothing was left twice.
constexpr std::string_view kSupervisor = R"sh(
marker=$1 count=$2; shift 2
end() {
  kill -KILL "-$1" 2>/dev/null
  looks=50 empty=0
  while [ "$looks" -gt 0 ] && [ "$empty" -lt 2 ]; do
    looks=$((looks - 1)) empty=$((empty + 1))
    for pid in $(grep -lszxF -e "BERTBENCH_TRIAL=$marker" /proc/[0-9]*/environ 2>/dev/null); do
      pid=${pid#/proc/} empty=0
      kill -KILL "${pid%/environ}" 2>/dev/null
    done
  done
}
# To the session, or to the process that is about to begin it.
signal() { kill "-$1" "-$job" 2>/dev/null || kill "-$1" "$job" 2>/dev/null; }
exec 3<&0 </dev/null
(
  exec 3<&-
  while [ "$count" -gt 0 ]; do export "$1"; shift; count=$((count - 1)); done
  exec setsid -- "$@"
) & job=$!
(
  exec >/dev/null 2>&1
  while read -r _ <&3; do :; done  # no child of its own: it would outlive this one
  signal TERM; signal CONT
  left=50
  while [ "$left" -gt 0 ] && signal 0; do sleep 0.1; left=$((left - 1)); done
  end "$job"
) & watch=$!
exec 3<&-
trap 'signal TERM' HUP INT TERM
while :; do
  wait "$job"; status=$?
  kill -0 "$job" 2>/dev/null || break
done
trap '' HUP INT TERM
end "$job"
kill "$watch" 2>/dev/null
# The sampler (see launcher slurm) writes what it measured before the task is over. dash reports one
# that the signal killed before it could handle it: that line would be one of the trainer's log.
if [ -n "${sampler-}" ]; then { kill "$sampler"; wait "$sampler"; } 2>/dev/null; fi
exit "$status"
)sh";

}  // namespace

std::string_view rank_supervisor() { return kSupervisor; }

}  // namespace bertbench
