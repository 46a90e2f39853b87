# Sourced by scripts/quickstart and scripts/test: installs what is missing, removes nothing.
# Debian 12 is what is tested. Ubuntu 24.04 has the same package names; it is untested.

BB_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# What building and running bertbench and bert_train needs.
BB_PACKAGES_CORE=(g++ cmake ninja-build pkg-config git
  libboost-dev libboost-filesystem-dev nlohmann-json3-dev rapidjson-dev libre2-dev libfmt-dev libcli11-dev
  libexpected-dev libsqlite3-dev zlib1g-dev libzstd-dev libdnnl-dev libgloo-dev libbenchmark-dev libgtest-dev
  libgmock-dev)
# What the whole test suite needs beyond that.
BB_PACKAGES_ALL=(chromium clang-16 libclang-rt-16-dev clang-format openmpi-bin libopenmpi-dev python3
  python3-jsonschema python3-pip python3-yaml mpich munge openssh-client openssh-server slurm-wlm valgrind zstd)

bb_say() { printf '\n\033[1m== %s\033[0m\n' "$*" >&2; }
bb_die() { printf 'error: %s\n' "$*" >&2; exit 2; }

bb_has_package() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

# bb_install PACKAGE...: asks the network for nothing when all packages are there.
bb_install() {
  local missing=() package as_root=()
  for package in "$@"; do
    bb_has_package "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || bb_die "these packages are missing and there is no apt-get here: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || bb_die "these packages are missing; as root run: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  bb_say "Installing ${#missing[@]} packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  # --no-remove: apt ends with an error rather than take anything away from this machine.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-remove \
    --no-install-recommends "${missing[@]}" >/dev/null
}

# Wheels, where there is an nvcc: the disassembler that tests/workloads/cuda/machine_code.py reads kernels with (13.2, as
# there is none of 13.0, whose code it reads), and the headers that --attention cudnn is built with. Without network
# that test is skipped and that option is left out.
bb_install_cuda_tools() {
  local folder=$BB_ROOT/build/cuda_tools path=$PATH:/usr/local/cuda/bin wheels=()
  PATH=$path command -v nvcc >/dev/null || return 0
  if ! { PATH=$path command -v cuobjdump && PATH=$path command -v nvdisasm; } >/dev/null; then
    [ -x "$folder/nvidia/cu13/bin/nvdisasm" ] ||
      wheels+=(nvidia-cuda-cuobjdump==13.2.51 nvidia-cuda-nvdisasm==13.2.51)
  fi
  [ -e "$folder/include/cudnn_frontend.h" ] || wheels+=(nvidia-cudnn-frontend==1.32.0)
  [ ${#wheels[@]} -gt 0 ] || return 0
  bb_say "Installing ${wheels[*]} into $folder"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target "$folder" \
    "${wheels[@]}" >&2 || bb_say "They are not there: the test of machine code and --attention cudnn are left out"
}

# One job a core, and one for every 2 GiB of memory.
bb_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ {print int($2 / 2097152)}' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  echo $((cores < memory ? cores : memory))
}

bb_configure() {  # PRESET [cmake option ...]
  local preset=$1 log
  shift
  log=$(mktemp)
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    bb_die "cmake could not configure preset $preset (its output stands above)"
  fi
  sed -n '/^-- bertbench/,/^$/p' "$log" >&2
  rm -f "$log"
}
