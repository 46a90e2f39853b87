// Facts that trainers and launchers print in the same words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

/// A run of three bars behind `head`.
RunLog run_behind(const std::string& head) {
  auto runs = read_text(head +
                        "Iteration:  10%|#| 1/10 [00:01<00:09,  1.00it/s]\n"
                        "Iteration:  20%|##| 2/10 [00:02<00:08,  1.00it/s]\n");
  EXPECT_EQ(runs.size(), 1u);
  return runs.empty() ? RunLog{} : runs.front();
}

std::string version(const RunLog& run, const char* name) {
  const auto at = run.facts.versions.find(name);
  return at == run.facts.versions.end() ? "" : at->second;
}

TEST(Facts, APrecisionIsASwitchOfItsOwnNameOnly) {
  const std::string head = "Namespace(allreduce_post_accumulation_fp16=True, amp=False, ";
  EXPECT_EQ(run_behind(head + "fp16=False, train_batch_size=4)\n").facts.precision.value, "fp32");
  EXPECT_EQ(run_behind(head + "fp16=True, train_batch_size=4)\n").facts.precision.value, "fp16");
  EXPECT_EQ(run_behind("bf16=True,\nfp16=False,\n").facts.precision.value, "bf16");
  EXPECT_EQ(run_behind("fp16=False,\nbf16=True,\n").facts.precision.value, "bf16");
  EXPECT_EQ(run_behind("use_amp=1, use_pure_fp16=False\n").facts.precision.value, "fp16");
  EXPECT_FALSE(run_behind("use_amp='O1', fp16=False\n").facts.precision.known());
}

// transformers' example scripts print the Trainer's fp16 as "16-bits training": since there is
// bf16, that it is off does not say fp32.
TEST(Facts, SixteenBitsThatAreOffSayFp32OnlyBeforeTheTrainersBf16) {
  const std::string old =
      "05/19/2021 13:54:22 - WARNING - __main__ -   Process rank: -1, device: cuda:0, n_gpu: 1, "
      "distributed training: False, 16-bits training: False\n";
  EXPECT_EQ(run_behind(old).facts.precision.value, "fp32");
  const std::string since =
      "12/18/2025 20:16:31 - WARNING - __main__ - Process rank: 0, device: cuda:0, n_gpu: "
      "1distributed training: True, 16-bits training: False\n";
  EXPECT_FALSE(run_behind(since).facts.precision.known());
  EXPECT_EQ(run_behind(since + "bf16=False,\nfp16=False,\n").facts.precision.value, "fp32");
  EXPECT_EQ(run_behind(since + "bf16=True,\nfp16=False,\n").facts.precision.value, "bf16");
}

// Scripts from 2018 on under torch's DataParallel: the batch is that of all GPUs of the process.
TEST(Facts, OneProcessDividesItsBatchAmongItsGpus) {
  const std::string stamp = "11/20/2018 10:00:00 - INFO - __main__ -   ";
  const std::string batch =
      stamp + "***** Running training *****\n" + stamp + "  Batch size = 24\n";
  const Facts old =
      run_behind(stamp + "device cuda n_gpu 4, distributed training False\n" + batch).facts;
  EXPECT_EQ(old.micro_batch_size.value, 6);
  EXPECT_EQ(old.world(), 4);
  const Facts one =
      run_behind(stamp + "device: cuda n_gpu: 1, distributed training: True\n" + batch).facts;
  EXPECT_EQ(one.micro_batch_size.value, 24);
  EXPECT_FALSE(one.world()) << "one of how many processes is not told";
  const Facts argument =
      run_behind("run.py --train_batch_size=24\n" + stamp +
                 "device: cuda n_gpu: 4, distributed training: False, 16-bits training: False\n")
          .facts;
  EXPECT_EQ(argument.micro_batch_size.value, 6);
  const Facts trainer =
      run_behind(
          "Process rank: -1, device: cuda:0, n_gpu: 4distributed training: False, 16-bits "
          "training: False\n***** Running training *****\n"
          "  Instantaneous batch size per device = 24\n")
          .facts;
  EXPECT_EQ(trainer.micro_batch_size.value, 24) << "the Trainer tells that of one GPU";
}

TEST(Facts, GpusAreCountedAsTheyAreListed) {
  const RunLog torch = run_behind("GPU 0: NVIDIA A100-SXM4-80GB\nGPU 1: NVIDIA A100-SXM4-80GB\n");
  EXPECT_EQ(version(torch, "gpu"), "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(version(torch, "gpu_count"), "2");
  const RunLog mmcv = run_behind("GPU 0,1,2,3: Tesla V100-SXM2-32GB\n");
  EXPECT_EQ(version(mmcv, "gpu_count"), "4");
  const RunLog again = run_behind("GPU 0: A40\nGPU 1: A40\nGPU 0: A40\nGPU 1: A40\n");
  EXPECT_EQ(version(again, "gpu_count"), "2") << "two ranks list the same ones";
}

TEST(Facts, LaunchersTellTheWorld) {
  const RunLog srun = run_behind(
      "+ srun -l --ntasks=8 true\n"
      "+ srun -l --mpi=none --ntasks=64 --ntasks-per-node=8 run.sh\n");
  EXPECT_EQ(srun.facts.nodes.value, 8);
  EXPECT_EQ(srun.facts.gpus_per_node.value, 8);
  EXPECT_EQ(run_behind("[INFO] [launch.py:164:main] dist_world_size=16\n").facts.world(), 16);
}

struct Launch {
  const char* lines;
  std::int64_t nodes, gpus_per_node;  ///< 0 = not told
  std::int64_t world;
  const char* precision;  ///< "" = not told
};

TEST(Facts, CommandLinesOfLaunchersTellWorldAndPrecision) {
  const std::vector<Launch> launches = {
      {"deepspeed --num_gpus=8 --num_nodes 2 train.py --fp16 --lr 1\n", 2, 8, 16, "fp16"},
      {"deepspeed --num_gpus=8 train.py\n", 0, 8, 0, ""},
      {"deepspeed --include localhost:0,1,2,3 train.py\n", 1, 4, 4, ""},
      {"accelerate launch --num_processes 16 --num_machines 2 --mixed_precision bf16 a.py\n", 2, 8,
       16, "bf16"},
      {"mpirun -np 16 -H n1:8,n2:8 -x NCCL_DEBUG=INFO python a.py\n", 0, 0, 16, ""},
      {"+ mpirun --allow-run-as-root -n 16 -npernode 8 python a.py\n", 2, 8, 16, ""},
      {"mpirun -np 1 ./start_all.sh\n", 0, 0, 0, ""},
      {"Running mpiexec.hydra -np 8 -ppn 2 -f hosts -l -genv OMP_NUM_THREADS=24 sh a.sh\n", 4, 2, 8,
       ""},
      {"horovodrun -np 4 -H localhost:4 python a.py --bf16\n", 0, 0, 4, "bf16"},
      {"srun --nodes=4 --ntasks-per-node=8 python a.py\n", 4, 8, 32, ""},
      {"Namespace(lr=0.1, world_size=8)\n", 0, 0, 8, ""},
      {"Namespace(lr=0.1, world_size=1)\n", 0, 0, 0, ""},
      {"Num processes: 8\nProcess index: 0\nMixed precision type: fp16\n", 0, 0, 8, "fp16"},
      {"Using 16bit Automatic Mixed Precision (AMP)\n"
       "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8\n",
       0, 0, 8, "fp16"},
      {"Selected optimization level O1:  Insert automatic casts around functions.\n", 0, 0, 0,
       "fp16"},
      {"Selected optimization level O0:  Pure FP32 training.\n", 0, 0, 0, ""},
      {"usage: a.py [--fp16] [--bf16]\n", 0, 0, 0, ""},
      // A shell function as bash prints it, and torchrun's elastic range.
      {"    torchrun --nproc_per_node=4 --nnodes=\"${NODES:-3}\" --node_rank=\"$RANK\" a.py\n", 0,
       4, 0, ""},
      {"+ torchrun --nproc_per_node 4 --nnodes=$NODES a.py\n", 0, 4, 0, ""},
      {"+ torchrun --nproc-per-node 4 --nnodes 1:6 a.py\n", 0, 4, 0, ""},
      {"+ torchrun --nproc-per-node 4 --nnodes 3:3 a.py\n", 3, 4, 12, ""},
      {"+ torchrun --nproc_per_node 4 --nnode 3 a.py\n", 3, 4, 12, ""},
      // A script that was printed.
      {"torchrun --nproc_per_node=4 \\\n  --nnodes=3 \\\n  a.py\n", 3, 4, 12, ""},
      {"torchrun --nnodes 3 \\\n  --nproc_per_node 4 \\\n  a.py\n", 3, 4, 12, ""},
      {"torchrun --nproc_per_node=4 \\\n  --nnodes=$NODES \\\n  a.py\n", 0, 4, 0, ""},
      {"torchrun --nnodes=$NODES \\\n  --nproc_per_node=4 \\\n  a.py\n", 0, 4, 0, ""},
      {"torchrun --nproc_per_node=4 \\\n  a.py\n", 1, 4, 4, ""},
      {"['torchrun', '--nnodes', '2', '--nproc_per_node', '4', 'a.py']\n", 2, 4, 8, ""},
      {"+ torchrun --nproc_per_node 4 a.py\n", 1, 4, 4, ""},
      {"+ accelerate launch --num_machines $N --num_processes 8 a.py\n", 0, 0, 8, ""},
  };
  for (const Launch& launch : launches) {
    const Facts facts = run_behind(launch.lines).facts;
    EXPECT_EQ(facts.nodes.value.value_or(0), launch.nodes) << launch.lines;
    EXPECT_EQ(facts.gpus_per_node.value.value_or(0), launch.gpus_per_node) << launch.lines;
    EXPECT_EQ(facts.world().value_or(0), launch.world) << launch.lines;
    EXPECT_EQ(facts.precision.value.value_or(""), launch.precision) << launch.lines;
  }
}

TEST(Facts, AWorldOfAnotherSizeThanTheLauncherStartsIsANotice) {
  const RunLog run = run_behind("torchrun --nproc_per_node=8 --nnodes=2 a.py\nWORLD_SIZE=8\n");
  EXPECT_EQ(run.facts.world(), 16);
  ASSERT_EQ(run.notices.size(), 1u);
  EXPECT_THAT(text_of(run.notices[0]), testing::HasSubstr("world size is 8"));
  EXPECT_EQ(run.notices[0].line, 2);
}

TEST(Facts, TheLauncherTellsTheNodesOfAWorldThatTheFormatKnows) {
  const auto facts = [](const std::string& launch) {
    return read_text(launch + "using world size: 12, data-parallel-size: 6 \n" +
                     " iteration        1/       9 | elapsed time per iteration (ms): 250.5 | "
                     "global batch size:    48 | number of skipped iterations:   0 |\n")
        .at(0)
        .facts;
  };
  const Facts told = facts("torchrun --nproc_per_node=4 --nnodes=3 a.py\n");
  EXPECT_EQ(told.nodes.value, 3);
  EXPECT_EQ(told.gpus_per_node.value, 4);
  EXPECT_EQ(told.world(), 12);
  const Facts other = facts("torchrun --nproc_per_node=4 --nnodes=2 a.py\n");
  EXPECT_FALSE(other.nodes.known()) << "of another world than the trainer's";
  EXPECT_EQ(other.world(), 12);
}

TEST(Facts, TheLoadersBatchIsDividedAmongTheContextsOfMxnet) {
  const auto facts = [](const std::string& batch, const std::string& contexts) {
    return run_behind("Namespace(aux=True, batch_size=" + batch + ", ctx=" + contexts +
                      ", lr=0.1, test_batch_size=7)\n")
        .facts;
  };
  const Facts even = facts("18", "[gpu(0), gpu(2), gpu(5)]");
  EXPECT_EQ(even.world(), 3);
  EXPECT_EQ(even.micro_batch_size.value, 6);
  EXPECT_EQ(even.sequences_per_optimizer_step(), 18);
  const Facts uneven = facts("20", "[gpu(0), gpu(1), gpu(2)]");
  EXPECT_FALSE(uneven.micro_batch_size.known());
  EXPECT_EQ(uneven.sequences_per_micro_step(), 20);
  EXPECT_FALSE(facts("18", "cpu(0)").world());
}

TEST(Facts, VersionsOfWhatABuildUsedAreNotThoseOfTheLibrary) {
  const RunLog run = run_behind(
      "CUDA used to build PyTorch: 11.6\nPyTorch version: 1.12.0\n"
      "/usr/lib/libcudnn.so.8.4.0\n"
      "Could not load dynamic library 'libcudnn.so.7'\n");
  EXPECT_EQ(version(run, "torch"), "1.12.0");
  EXPECT_EQ(version(run, "cudnn"), "8.4.0");
}

TEST(Facts, ThePeakOfMemoryIsTheMostThatWasSaid) {
  const RunLog run = run_behind(
      "[Rank 1] memory (MB) | allocated: 10.5 | max allocated: 20.5 | reserved: 30\n"
      "[Rank 0] memory (MB) | allocated: 10.5 | max allocated: 19.5 | reserved: 30\n");
  ASSERT_TRUE(run.memory);
  EXPECT_EQ(run.memory->peak_bytes, static_cast<std::int64_t>(20.5 * (1 << 20)));
}

// alloc_delta + peaked_delta of the training upon what stood before it (memory_rules.h).
TEST(Facts, TheTrainersMemoryIsWhatItBeganWithAndWhatTheTrainingAdded) {
  const std::string keys =
      "'init_mem_cpu_alloc_delta': 7, 'init_mem_gpu_alloc_delta': 1000, "
      "'init_mem_cpu_peaked_delta': 9, 'init_mem_gpu_peaked_delta': 0, "
      "'train_mem_cpu_alloc_delta': 11, 'train_mem_gpu_alloc_delta': 3000, "
      "'train_mem_cpu_peaked_delta': 13, 'train_mem_gpu_peaked_delta': 20000";
  const auto dict = [](const std::string& more) {
    return read_text(
               "{'loss': 1.5, 'learning_rate': 1e-05, 'epoch': 0.5}\n"
               "{'train_runtime': 10.0, 'train_samples_per_second': 8.0, "
               "'train_steps_per_second': 1.0, 'train_loss': 1.5, " +
               more + ", 'epoch': 1.0}\n")
        .front();
  };
  const RunLog run = dict(keys);
  ASSERT_TRUE(run.memory);
  EXPECT_EQ(run.memory->peak_bytes, 24000);
  ASSERT_TRUE(run.summary) << "the dict tells its rate as well";
  EXPECT_EQ(run.summary->value, 8.0);
  EXPECT_EQ(
      dict(keys + ", 'before_init_mem_cpu': 5, 'before_init_mem_gpu': 500").memory->peak_bytes,
      24500);
  EXPECT_EQ(dict("'init_mem_gpu_alloc_delta': '1000', 'init_mem_gpu_peaked_delta': '90000', "
                 "'train_mem_gpu_alloc_delta': '-400', 'train_mem_gpu_peaked_delta': '50'")
                .memory->peak_bytes,
            91000)
      << "transformers 5 quotes, and the model's placing may have needed more";
  EXPECT_FALSE(dict("'train_mem_gpu_alloc_delta': 3000, 'train_mem_gpu_peaked_delta': 1").memory)
      << "what a second training began with is not said";
}

TEST(Facts, TheTableOfTheTrainersMetricsTellsItsMemoryInMiB) {
  const RunLog run = read_text(
                         "{'loss': 1.5, 'learning_rate': 1e-05, 'epoch': 0.5}\n"
                         "***** train metrics *****\n"
                         "  before_init_mem_gpu        =        0MB\n"
                         "  epoch                      =        1.0\n"
                         "  init_mem_cpu_alloc_delta   =      802MB\n"
                         "  init_mem_gpu_alloc_delta   =     1282MB\n"
                         "  init_mem_gpu_peaked_delta  =        0MB\n"
                         "  train_mem_gpu_alloc_delta  =     3870MB\n"
                         "  train_mem_gpu_peaked_delta =    17000MB\n"
                         "  train_runtime              = 0:00:31.51\n"
                         "  train_samples_per_second   =       88.9\n"
                         "  train_steps_per_second     =      1.587\n")
                         .front();
  ASSERT_TRUE(run.memory);
  EXPECT_EQ(run.memory->peak_bytes, std::int64_t{1282 + 3870 + 17000} << 20);
}

TEST(Facts, NvidiaSmiTellsOfARunOnlyWhileItRuns) {
  const std::string bars = "Iteration:  10%|#| 1/10 [00:01<00:09,  1.00it/s]\n";
  const std::string more = "Iteration:  20%|##| 2/10 [00:02<00:08,  1.00it/s]\n";
  const auto table = [](int used) {
    return "| N/A   45C    P0    44W / 300W |  " + std::to_string(used) +
           "MiB / 16160MiB |      0%      Default |\n";
  };
  EXPECT_FALSE(read_text(table(11) + bars + more).front().memory) << "the GPU is still empty";
  const RunLog run = read_text(table(11) + bars + table(10317) + more + table(9000)).front();
  ASSERT_TRUE(run.memory);
  EXPECT_EQ(run.memory->peak_bytes, std::int64_t{10317} << 20);
  EXPECT_EQ(run.memory->capacity_bytes, std::int64_t{16160} << 20);
  const auto says_so = [](const RunLog& log) {
    return std::ranges::any_of(log.notices, [](const Notice& notice) {
      return text_of(notice).find("nvidia-smi showed") != std::string::npos;
    });
  };
  EXPECT_TRUE(says_so(run));
  const RunLog own =
      read_text(bars + "[Rank 0] memory (MB) | allocated: 1 | max allocated: 20.5 | \n" +
                table(10317) + more)
          .front();
  ASSERT_TRUE(own.memory);
  EXPECT_EQ(own.memory->peak_bytes, static_cast<std::int64_t>(20.5 * (1 << 20)))
      << "a trainer's peak goes before a moment's";
  EXPECT_FALSE(says_so(own));
  EXPECT_EQ(own.memory->capacity_bytes, std::int64_t{16160} << 20);
}

TEST(Facts, RecomputedActivationsAreSaidWhereTheyAreOn) {
  const auto axis = [](const std::string& head) {
    const RunLog run = run_behind(head);
    const auto at = run.facts.axes.find("activation_checkpointing");
    return at == run.facts.axes.end() ? std::string("-") : at->second;
  };
  EXPECT_EQ(axis("gradient_accumulation_steps=4,\ngradient_checkpointing=True,\n"), "true");
  EXPECT_EQ(axis("gradient_checkpointing=False,\n"), "-");
  EXPECT_EQ(axis("+ python run_mlm.py --gradient_checkpointing True --max_steps 5\n"), "true");
  EXPECT_EQ(axis("+ python run_mlm.py --gradient_checkpointing --max_steps 5\n"), "true");
  EXPECT_EQ(axis("+ python run_mlm.py --gradient_checkpointing False --max_steps 5\n"), "-");
  EXPECT_EQ(axis("usage: run_mlm.py [--gradient_checkpointing [GRADIENT_CHECKPOINTING]]\n"), "-");
  EXPECT_EQ(axis("+ python x.py --gradient_checkpointing_kwargs {}\n"), "-");
}

TEST(Facts, MegatronBridgeUnderRayTellsWorkersAndMemory) {
  const RunLog run = run_behind(
      "(TrainController pid=9) Started training worker group of size 8:\n"
      "- (ip=10.0.0.1, pid=17) world_rank=0, local_rank=0, node_rank=0\n"
      "[Rank 0] (after 1 iterations) memory (GB) | mem-allocated-gigabytes: 51.072 | "
      "mem-max-allocated-gigabytes: 194.41 | mem-max-active-gigabytes: 195.46\n");
  EXPECT_EQ(run.facts.world_size.value, 8);
  ASSERT_TRUE(run.memory);
  EXPECT_NEAR(static_cast<double>(run.memory->peak_bytes), 194.41e9, 1e4);
}

// DeepSpeed's launcher prints the argument vector of a rank that failed.
TEST(Facts, AnArgumentVectorTellsTheOptionsOfMegatron) {
  const RunLog run = run_behind(
      "['/usr/bin/python3', '-u', 'pretrain_bert.py', '--micro-batch-size', '4', "
      "'--global-batch-size', '64', '--seq-length', '2048', '--clip-grad', '1.0', '--optimizer', "
      "'adam', '--bf16'] exits with return code = 1\n");
  EXPECT_EQ(run.facts.micro_batch_size.value, 4);
  EXPECT_EQ(run.facts.global_batch_size.value, 64);
  EXPECT_EQ(run.facts.sequence_length.value, 2048);
  EXPECT_EQ(run.facts.precision.value, "bf16");
  EXPECT_EQ(run.facts.axes.at("optimizer"), "adam");
  EXPECT_EQ(run.facts.axes.at("gradient_clipping"), "1");
  const RunLog split = run_behind("--tensor-model-parallel-size 4 --micro-batch-size 4\n");
  EXPECT_FALSE(split.facts.micro_batch_size.known()) << "four GPUs share it";
  EXPECT_EQ(run_behind("using torch.float16 for parameters ...\n").facts.precision.value, "fp16");
}

// fairseq advises so on every GPU that could: the run it speaks to is the one without.
TEST(Facts, AnOptionThatIsAdvisedIsNotGiven) {
  for (const char* said : {"| NOTICE: your device may support faster training with --fp16\n",
                           "your device may support faster training with --fp16 or --amp\n",
                           "You may use --fp16 -- it is faster\n"}) {
    EXPECT_FALSE(run_behind(said).facts.precision.known()) << said;
  }
  EXPECT_EQ(run_behind("fairseq-train data --fp16 --lr 1\n").facts.precision.value, "fp16");
}

TEST(Facts, DeepspeedsLauncherTellsNodesAndItsCommandTheBatch) {
  const std::string launcher =
      "[INFO] [runner.py:508:main] cmd = python -u -m deepspeed.launcher.launch train.py "
      "--max_seq_len 512 --batchsize 128\n[INFO] [launch.py:148:main] nnodes=2, "
      "num_local_procs=4, node_rank=0\n[INFO] print train_micro_batch_size_per_gpu  ";
  const RunLog other = run_behind(launcher + "32\n");
  EXPECT_EQ(other.facts.nodes.value, 2);
  EXPECT_EQ(other.facts.gpus_per_node.value, 4);
  EXPECT_EQ(other.facts.sequence_length.value, 512);
  ASSERT_FALSE(other.notices.empty());
  EXPECT_THAT(text_of(other.notices.front()),
              testing::HasSubstr("batch is 128 but DeepSpeed counts 32 per device"));
  EXPECT_TRUE(run_behind(launcher + "128\n").notices.empty());
}

TEST(Facts, TheSquadScriptOfGluonTellsItsGpus) {
  const std::string head =
      "Namespace(accumulate=8, batch_size=4, bert_dataset='book_corpus', epochs=2, gpu='";
  EXPECT_EQ(run_behind(head + "0,2', lr=3e-05)\n").facts.world(), 2);
  EXPECT_FALSE(run_behind("Namespace(batch_size=4, gpu='2', lr=3e-05)\n").facts.world())
      << "other scripts name the device of one process";
  // Without quotes it is which one.
  const std::string which = "Namespace(accumulate=None, batch_size=32, bert_dataset='wiki', gpu=";
  EXPECT_EQ(run_behind(which + "5, lr=3e-05)\n").facts.world(), 1);
  EXPECT_FALSE(run_behind(which + "None, lr=3e-05)\n").facts.world()) << "the CPU";
  EXPECT_FALSE(run_behind("Namespace(accumulate=None, gpu=8, model_name='xlnet')\n").facts.world())
      << "there it is a number of GPUs, of none when 0";
}

// DLLogger's lines beside a bar, or TensorFlow's.
TEST(Facts, TakesTheArgumentsOfDllogger) {
  const std::string line = "DLL 2020-12-17 09:07:06.465419 - PARAMETER ";
  EXPECT_EQ(run_behind(line + "batch_size_per_gpu : 48\n").facts.micro_batch_size.value, 48);
  EXPECT_EQ(run_behind(line + "mode : train  amp : True  xla : True \n").facts.precision.value,
            "fp16");
  EXPECT_FALSE(run_behind(line + "mode : train  amp : False \n").facts.precision.known())
      << "fp32 or tf32";
}

TEST(Facts, OfSeveralLaunchesInOneFileEachHasItsOwn) {
  const std::string run =
      "{'loss': 2.5, 'epoch': 1.0}\n{'loss': 1.5, 'epoch': 2.0}\n"
      "{'train_runtime': 50.5, 'train_samples_per_second': 65.25, 'train_steps_per_second': 2.125, "
      "'epoch': 2.0}\n";
  const std::string eight =
      "python   -m torch.distributed.launch --nproc_per_node=8 run_squad.py --train_batch_size=4\n"
      "device: cuda:0 n_gpu: 1, distributed training: True, 16-bits training: False\n" +
      run;
  const std::string one =
      "python   run_squad.py --train_batch_size=32\n"
      "device: cuda n_gpu: 1, distributed training: False, 16-bits training: True\n" +
      run;
  for (const bool first : {true, false}) {
    const auto runs = read_text(first ? one + eight : eight + one);
    ASSERT_EQ(runs.size(), 2u);
    const Facts& of_one = runs[first ? 0 : 1].facts;
    const Facts& of_eight = runs[first ? 1 : 0].facts;
    EXPECT_EQ(of_one.world(), 1) << first;
    EXPECT_EQ(of_eight.world(), 8) << first;
    EXPECT_EQ(of_one.precision.value, "fp16") << first;
    EXPECT_EQ(of_eight.precision.value, "fp32") << first;
    EXPECT_EQ(of_one.micro_batch_size.value, 32) << first;
    EXPECT_EQ(of_eight.micro_batch_size.value, 4) << first;
  }
}

TEST(Facts, CommunicatorsOfOneSizeTellTheWorld) {
  const std::string line = "[0] NCCL INFO comm 0x7f4c9c0 rank 0 nranks ";
  const RunLog run = run_behind(line + "32 cudaDev 0 nvmlDev 0 - Init COMPLETE\n");
  EXPECT_EQ(run.facts.world(), 32);
  EXPECT_THAT(text_of(run.notices.at(0)), testing::HasSubstr("NCCL's communicators"));
  EXPECT_FALSE(
      run_behind(line + "4 cudaDev 0 - Init COMPLETE\n" + line + "2 cudaDev 0 - Init COMPLETE\n")
          .facts.world());
  EXPECT_FALSE(run_behind(line + "2 cudaDev 3 - Init COMPLETE\n").facts.world())
      << "of some ranks of the node";
}

}  // namespace
}  // namespace bertbench
