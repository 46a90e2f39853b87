// Every way of launching a trainer that the product's source documents name, as a sweep of a
// shipped configuration: it plans, needs nothing more, and starts what the document started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {
using ::testing::HasSubstr;

struct Line {
  const char* what;
  const char* config;  ///< of configs/
  std::vector<std::string> sets, only;
  std::size_t cells;
  std::vector<std::string> words;  ///< of the first trial's line
  const char* launcher = "";       ///< "" as configured
};

// The README's column of seeds: 0 Levinthal 2019, 1 NGC, 2 the notebook, 3 DeepSpeed, 4 DLPerf.
const std::vector<Line>& lines() {
  static const std::vector<Line> kLines{
      {"0 TensorFlow, Adam, 512 tokens, XLA and manual fp16",
       "dgx2-tensorflow",
       {R"(args=["--input_files_dir=/data/512"])"},
       {"sequence_length=512"},
       5,
       {"mpirun", "-np 4", "--bind-to socket", "run_pretraining.py --horovod",
        "--train_batch_size=10", "--use_xla", "--optimizer_type=adam"}},
      {"0 TensorFlow, Adam, 128 tokens",
       "dgx2-tensorflow",
       {R"(args=["--input_files_dir=/data/128"])"},
       {"sequence_length=128", "optimizer=adam"},
       3,
       {"--noamp --manual_fp16", "--nouse_xla", "--max_predictions_per_seq=20"}},
      {"0 TensorFlow, LAMB, 128 micro-steps",
       "dgx2-tensorflow",
       {R"(args=["--input_files_dir=/data/128"])"},
       {"optimizer=lamb"},
       7,
       {"--num_accumulation_steps=128", "--allreduce_post_accumulation=True",
        "--optimizer_type=lamb"}},
      {"0 TensorFlow, release of 2019",
       "dgx2-tensorflow",
       {"workload=nvidia-bert-tensorflow-2019", "zip=[]", "grid.topology=1n4g",
        "grid.micro_batch_size=[10,14]", "grid.gradient_accumulation_steps=1",
        "grid.sequence_length=512", "grid.optimizer=adam", "grid.xla=true",
        "grid.manual_fp16=[false,true]", R"(args=["--input_file=/data/512/*"])"},
       {},
       4,
       {"horovodrun -np 4 -H localhost:4", "--use_fp16", "--use_xla"},
       "local"},
      {"0 PyTorch, LAMB, phase 1",
       "dgx2-pytorch",
       {"workload=nvidia-bert-pytorch-2019", R"(args=["--input_dir=/data/128"])"},
       {"sequence_length=128"},
       5,
       {"torch.distributed.launch --nproc_per_node=4", "--train_batch_size=8192",
        "--gradient_accumulation_steps=128", "--config_file=bert_config.json", "--fp16"}},
      {"0 PyTorch, LAMB, phase 2",
       "dgx2-pytorch",
       {"workload=nvidia-bert-pytorch-2019", "grid.phase=2",
        R"(args=["--input_dir=/data/512", "--output_dir=/checkpoints"])"},
       {"sequence_length=512"},
       7,
       {"--phase2 --resume_from_checkpoint --phase1_end_step=7038",
        "--max_predictions_per_seq=80"}},
      {"0 PyTorch, BERT-base, phase 2 of four checkpoints",
       "dgx2-pytorch",
       {"workload=nvidia-bert-pytorch-2019", "grid.model=bert_base_config.json", "grid.phase=2",
        "grid.phase1_end_step=[4981,5981,6976,7038]",
        R"(args=["--input_dir=/data/512", "--output_dir=/checkpoints"])"},
       {"topology=1n16g", "micro_batch_size=8", "gradient_accumulation_steps=256"},
       4,
       {"--phase1_end_step=4981", "--config_file=bert_base_config.json"}},
      {"0 SQuAD of two checkpoints",
       "ngc-squad",
       {"workload=nvidia-squad-2019", "grid.precision=fp16",
        R"(grid.init_checkpoint=["ckpt_7038.pt","ckpt_8574.pt"])",
        R"(args=["--vocab_file=vocab", "--predict_file=dev-v1.1.json"])"},
       {"mode=eval"},
       2,
       {"run_squad.py", "--do_predict", "--init_checkpoint=ckpt_7038.pt"}},
      {"0 SQuAD, epochs of fine-tuning",
       "ngc-squad",
       {"workload=nvidia-squad-2019", "grid.precision=fp16", "grid.epochs=[1,2,3,4]",
        R"(args=["--vocab_file=v", "--init_checkpoint=c.pt", "--train_file=train-v1.1.json"])"},
       {"mode=train", "topology=1n8g"},
       4,
       {"--num_train_epochs=1", "--train_batch_size=32"}},
      {"1 run_pretraining.sh, phase 1",
       "ngc-weak",
       {"workload=nvidia-bert-pytorch", R"(args=["--input_dir=/data/128", "--vocab_file=v"])"},
       {"sequence_length=128"},
       4,
       {"torch.distributed.run --nnodes=1 --nproc_per_node=1", "--train_batch_size=8192",
        "--gradient_accumulation_steps=64", "--config_file=bert_configs/large.json"}},
      {"1 run_pretraining.sh, phase 2",
       "ngc-weak",
       {"workload=nvidia-bert-pytorch", "grid.phase=2",
        R"(args=["--input_dir=/data/512", "--vocab_file=v", "--output_dir=/checkpoints"])"},
       {"sequence_length=512"},
       4,
       {"--phase2", "--resume_step=7038", "--train_batch_size=4096"}},
      {"1 run_pretraining.sh on 1 to 32 nodes",
       "ngc-strong",
       {"workload=nvidia-bert-pytorch", R"(args=["--input_dir=/data/128", "--vocab_file=v"])"},
       {"sequence_length=128"},
       12,
       {"srun", "--nnodes=1 --nproc_per_node=8"}},
      {"1 run_squad.sh train",
       "ngc-squad",
       {R"(args=["--init_checkpoint=c.pt", "--vocab_file=v", "--train_file=train-v1.1.json"])"},
       {"mode=train"},
       4,
       {"run_squad.py", "--do_train", "--max_seq_length=384"}},
      {"1 run_squad.sh eval",
       "ngc-squad",
       {R"(args=["--init_checkpoint=c.pt", "--vocab_file=v", "--predict_file=d", "--eval_script=e"])"},
       {"mode=eval"},
       2,
       {"--do_predict --predict_batch_size=32 --do_eval"}},
      {"1 run_glue.sh, MRPC and SST-2",
       "ngc-squad",
       {"workload=nvidia-glue", R"(grid.task=["mrpc","sst-2"])", "grid.sequence_length=128",
        "grid.micro_batch_size=16",
        R"(args=["--data_dir=/data/glue", "--init_checkpoint=c.pt", "--vocab_file=v"])"},
       {},
       12,
       {"run_glue.py", "--task_name=mrpc", "--train_batch_size=16"}},
      {"2 run_mlm.py by python",
       "hf-notebook",
       {},
       {"launch=python", "topology=1n1g"},
       6,
       {"CUDA_VISIBLE_DEVICES=0",
        "python3 transformers/examples/pytorch/language-modeling/run_mlm.py",
        "--per_device_train_batch_size 56", "--tf32 False"}},
      {"2 run_mlm.py on two GPUs by DataParallel",
       "hf-notebook",
       {},
       {"launch=python", "topology=1n2g"},
       1,
       {"CUDA_VISIBLE_DEVICES=0,1", "--bf16"}},
      {"2 run_mlm.py by torchrun, P2P on and off",
       "hf-notebook",
       {},
       {"launch=torchrun"},
       2,
       {"NCCL_P2P_DISABLE=0", "torch.distributed.run --nnodes=1 --nproc_per_node=2"}},
      {"2 run_mlm.py by deepspeed, P2P on and off",
       "hf-notebook",
       {},
       {"launch=deepspeed"},
       2,
       {"deepspeed --num_gpus=2", "--deepspeed transformers/tests/deepspeed/ds_config_zero2.json"}},
      {"2 run_clm.py by python",
       "hf-notebook-gpt2",
       {},
       {"launch=python"},
       2,
       {"run_clm.py", "--block_size 512", "--model_name_or_path gpt2-medium",
        "--learning_rate 2e-5"}},
      {"2 run_clm.py by deepspeed, P2P on and off",
       "hf-notebook-gpt2",
       {},
       {"launch=deepspeed"},
       3,
       {"deepspeed --num_gpus=2", "--model_name_or_path gpt2-large"}},
      {"3 train.py, without DeepSpeed",
       "bing-bert",
       {"workload=bing-bert", "grid.delay_allreduce=true",
        R"(args=["--cf=bert_large_adam_seq128.json"])"},
       {"topology=1n1g", "optimizer=adam", "sequence_length=128"},
       1,
       {"train.py --train_batch_size 256", "--max_grad_norm 1.0", "--delay_allreduce",
        "--fp16 --loss_scale 0"}},
      {"3 deepspeed_train.py, 4 nodes of 4 GPUs",
       "bing-bert",
       {R"(args=["--cf=bert_large_adam_seq128.json"])"},
       {"topology=4n4g", "optimizer=adam"},
       1,
       {"deepspeed", "--num_nodes=4", "--num_gpus=4", "deepspeed_train.py", "--deepspeed_config"},
       "ssh"},
      {"3 16K batches with LAMB, 128 and 512 tokens",
       "bing-bert",
       {R"(args=["--cf=bert_large_lamb.json"])"},
       {"topology=4n16g", "optimizer=lamb"},
       2,
       {"--num_nodes=4", "--num_gpus=16"},
       "ssh"},
      {"4 pretrain.sh by horovodrun",
       "dlperf-bert-base",
       {"workload=gluonnlp-bert", R"(args=["--data=/data/*.npz", "--data_eval=/data/e.npz"])"},
       {},
       36,
       {"horovodrun -np 1 -H localhost:1 python3 run_pretraining.py --comm_backend horovod",
        "--total_batch_size 32", "--model bert_12_768_12", "--dtype float32"},
       "local"},
      {"4 pretrain.sh by mpirun",
       "dlperf-bert-base",
       {"workload=gluonnlp-bert", R"(args=["--data=/data/*.npz", "--data_eval=/data/e.npz"])"},
       {"topology=1n8g", "micro_batch_size=48"},
       1,
       {"mpirun", "-np 8", "run_pretraining.py", "--total_batch_size 384"}},
  };
  return kLines;
}

TEST(SeedLines, EachIsASweepOfAShippedConfiguration) {
  for (const auto& line : lines()) {
    SCOPED_TRACE(line.what);
    const auto config = value_of(
        load_config(BB_SOURCE_DIR "/configs/" + std::string(line.config) + ".json", line.sets));
    PlanOptions how;
    how.only = line.only;
    how.trials = 1;
    how.launcher = line.launcher;
    const auto plan = value_of(make_plan(config, how));
    EXPECT_TRUE(plan.missing.empty()) << "needs " << plan.missing.front().option;
    EXPECT_EQ(plan.trials.size(), line.cells);
    const auto shown = value_of(dry_run(plan, "run"));
    for (const auto& word : line.words) EXPECT_THAT(shown.front(), HasSubstr(word));
    if (std::getenv("BB_SHOW_LINES")) std::cout << line.what << "\n  " << shown.front() << "\n";
  }
}

}  // namespace
}  // namespace bertbench
