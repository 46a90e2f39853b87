#!/bin/bash
# Makes the sample logs of this folder anew, some with their --timings: real runs, about two minutes.
#   tests/data/samples/make_samples.sh BUILD_FOLDER
# Run it under `unshare --uts` with a host name of your choice: the native header names the host.
set -u
export PATH=$(realpath "$1"):$PATH
cd "$(dirname "$0")" && mkdir -p native tqdm tf
small="--threads 1 --micro-batch-size 4 --sequence-length 64"
one() { out=$1; shift; bert_train "$@" > "$out.log" 2> /dev/null; }
timed() { one "$@" --timings "$1.timings.jsonl"; }
two() {  # HOW OUT OPTIONS
  export WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_PORT=29611
  RANK=1 LOCAL_RANK=1 bert_train "${@:3}" > /dev/null 2>&1 &
  RANK=0 LOCAL_RANK=0 "$@"
  wait
  unset WORLD_SIZE LOCAL_WORLD_SIZE MASTER_PORT
}
stopped() {
  out=$1; shift
  bert_train "$@" > "$out.log" & pid=$!
  sleep 4; kill $pid; wait $pid
}
timed native/tiny_1n1g $small --steps 60
two timed native/tiny_1n2g_a2_lamb $small --steps 30 --gradient-accumulation-steps 2 --optimizer lamb
timed native/tiny_every10 $small --steps 60 --log-every 10
timed tf/tiny_1n1g $small --log-style tf --steps 60
two timed tf/tiny_1n2g_every10 $small --log-style tf --log-every 10 --steps 60
one tqdm/tiny_1n1g_a4 $small --log-style tqdm --steps 30 --gradient-accumulation-steps 4
two one tqdm/tiny_1n2g $small --log-style tqdm --log-every 5 --steps 60
one tqdm/small_1n1g_slow --threads 1 --log-style tqdm --steps 40 --model bert-small --micro-batch-size 8
stopped tqdm/tiny_sigterm $small --log-style tqdm --steps 100000
stopped native/tiny_sigterm $small --steps 100000 --log-every 20
bert_train $small --steps 40 --learning-rate 1e30 --gradient-clipping 0 > native/tiny_nan.log 2> /dev/null
bert_train --threads 1 --model bert-large --micro-batch-size 100000 > native/large_oom.log 2>&1
