// What the collected logs state of themselves, checked against what grep finds in each: all of it,
// and nothing that they do not state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "parsers/reader/log_reader.h"

namespace bertbench::corpus {
namespace {

struct Said {
  const char* file;
  const char* facts;  ///< of the first run; axes and versions in order of their names
};

// "world" is what the log calls so; a batch per device is not multiplied with it under model
// parallelism, so Megatron's logs give the global one only. "gpu_count": GPUs that the log lists.
const Said kSaid[] = {
    {"deepspeed/dschat_step1_opt1.3b.log",
     "framework=pytorch; sequence_length=512; micro_batch=8; accumulation=1; memory_MiB=23500"},
    {"deepspeed/dschat_step2_dpo_opt350m.log",
     "framework=pytorch; precision=fp16; sequence_length=512; micro_batch=2; accumulation=2; "
     "nodes=1; gpus_per_node=8; world=8; global_batch=32; gradient_clipping=1; "
     "optimizer=fusedadam; deepspeed=0.16.2; memory_MiB=8816"},
    {"deepspeed/dschat_step3_rlhf.log", "framework=pytorch; accumulation=1"},
    {"fairseq/mlperf_v0.7_dell_c4140_transformer.log",
     "framework=pytorch; precision=fp16; nodes=1; gpus_per_node=4; world=4; gradient_clipping=0; "
     "optimizer=adam"},
    {"fairseq/wav2vec2_hydra_train_json.log",
     "framework=pytorch; precision=fp16; world=8; gradient_clipping=0; optimizer=adam; gpu=Tesla "
     "V100-SXM2-32GB; gpu_count=8"},
    {"huggingface/bigscience_hf_ds_base_n16.log",
     "framework=pytorch; precision=fp16; micro_batch=4; accumulation=1; nodes=16; gpus_per_node=4; "
     "global_batch=256; activation_checkpointing=true; gradient_clipping=1; "
     "optimizer=deepspeedcpuadam; cuda=10.2; cuda_driver=11.2; cudnn=8.0.4.30; "
     "deepspeed=0.3.17+unknown; driver=460.32.03; gpu=Tesla V100-SXM2; gpu_count=4; nccl=2.8.3"},
    {"huggingface/dnabert2_trainer_state.json", "framework=pytorch"},
    {"huggingface/korquad_autotrain_aborted.log", ""},
    {"huggingface/trl_reward_crash_in_eval.log", ""},
    {"huggingface/trl_sge_stderr.log", ""},
    {"huggingface/tunbert_train_results.json", "framework=pytorch; memory_MiB=1618"},
    {"huggingface/tunbert_trainer_state.json", "framework=pytorch"},
    {"keras/keras_terminal_overwrite.log", "framework=keras"},
    {"lightning/slm_metrics_v0.csv", "framework=pytorch"},
    {"megatron/bigscience_meg_base_n4_cancelled.log",
     "framework=pytorch; precision=fp16; sequence_length=1024; accumulation=4; nodes=4; "
     "gpus_per_node=4; world=16; global_batch=4; activation_checkpointing=true; data_parallel=1; "
     "gradient_clipping=1; optimizer=adam; cuda=10.2; cuda_driver=11.2; cudnn=8.0.4.30; "
     "driver=460.32.03; gpu=Tesla V100-SXM2; gpu_count=4; nccl=2.8.3; memory_MiB=26204"},
    {"megatron/bigscience_meg_perf_n16.log",
     "framework=pytorch; precision=fp16; sequence_length=1024; accumulation=256; world=64; "
     "global_batch=1024; "
     "data_parallel=1; gradient_clipping=1; optimizer=adam"},
    {"megatron/bigscience_megds3d_old_nccl_info.log",
     "framework=pytorch; precision=fp16; sequence_length=1024; world=64; global_batch=1024; "
     "gradient_clipping=1; optimizer=fusedadam; deepspeed=0.4.0+unknown; nccl=2.7.8; "
     "memory_MiB=19976"},
    {"megatron/bigscience_megdszero_killed.log",
     "framework=pytorch; precision=fp16; sequence_length=1024; nodes=16; gpus_per_node=4; "
     "world=64; global_batch=768; activation_checkpointing=true; gradient_clipping=1; "
     "optimizer=adamw; cuda=10.2; cuda_driver=11.2; cudnn=8.0.4.30; deepspeed=0.4.0+unknown; "
     "driver=460.32.03; gpu=Tesla V100-SXM2; gpu_count=4; nccl=2.7.8; memory_MiB=26118"},
    {"megatron/bigscience_megdszero_nbs48.log",
     "framework=pytorch; precision=fp16; sequence_length=1024; world=64; global_batch=768; "
     "gradient_clipping=1; optimizer=adamw; deepspeed=0.3.17+unknown; memory_MiB=26118"},
    {"megatron/lockclock_4runs_concatenated.log",
     "framework=pytorch; precision=bf16; sequence_length=2048; accumulation=2; nodes=1; "
     "gpus_per_node=16; world=16; global_batch=16; data_parallel=8; gradient_clipping=1; "
     "optimizer=adam; cuda=12.8; deepspeed=0.18.3; torch=2.9.1+cu128; memory_MiB=20242"},
    {"megatron/lockclock_nccl_watchdog_timeout.log",
     "precision=bf16; sequence_length=2048; nodes=2; gpus_per_node=8; world=16; global_batch=16; "
     "gradient_clipping=1; optimizer=adam; cuda=12.8; deepspeed=0.18.3; nccl=2.27.5; "
     "torch=2.9.1+cu128"},
    {"megatron/lockclock_qwen7b_baseline.log",
     "framework=pytorch; precision=bf16; sequence_length=2048; accumulation=2; nodes=2; "
     "gpus_per_node=4; world=8; global_batch=4; data_parallel=2; gradient_clipping=1; "
     "optimizer=deepspeedcpuadam; cuda=12.8; deepspeed=0.14.0; nccl=2.27.5; torch=2.10.0+cu128; "
     "memory_MiB=11208"},
    {"megatron/lockclock_tp1pp2dp8_oom.log",
     "framework=pytorch; precision=bf16; sequence_length=2048; accumulation=2; nodes=1; "
     "gpus_per_node=16; world=16; global_batch=16; data_parallel=8; gradient_clipping=1; "
     "optimizer=adam; cuda=12.8; deepspeed=0.18.3; torch=2.9.1+cu128; memory_MiB=22573"},
    {"megatron/lumi_srun_barrier_timeout.log",
     "framework=pytorch; precision=bf16; sequence_length=2048; world=256; global_batch=1024; "
     "activation_checkpointing=true; gradient_clipping=1; optimizer=adam; deepspeed=0.8.1; "
     "torch=1.13.1+rocm5.2"},
    {"megatron/megds_gpt3_0.125b_randomltd.log",
     "framework=pytorch; precision=fp16; sequence_length=2048; micro_batch=4; accumulation=8; "
     "nodes=1; gpus_per_node=8; world=8; global_batch=256; gradient_clipping=1; optimizer=adam; "
     "cuda=11.3; deepspeed=0.7.3+d505437d; nccl=2.10.3; torch=1.11.0+cu113; memory_MiB=7321"},
    {"mlperf/v0.7_google_tpu8192_jax_result1.log",
     "model=bert-large; sequence_length=512; global_batch=8192; benchmark=bert"},
    {"mlperf/v0.7_google_v100_tf2_result1.log",
     "model=bert-large; sequence_length=512; accumulation=11; global_batch=440; benchmark=bert"},
    {"mlperf/v0.7_nvidia_dgx2h_aborted.log",
     "model=bert-large; precision=fp16; sequence_length=512; accumulation=1; nodes=1; "
     "gpus_per_node=16; global_batch=432; benchmark=bert"},
    {"mlperf/v0.7_nvidia_dgx2h_n32_result1.log",
     "model=bert-large; precision=fp16; sequence_length=512; accumulation=1; nodes=32; "
     "gpus_per_node=16; global_batch=9216; benchmark=bert"},
    {"mlperf/v1.0_graphcore_pod16_popart_result1.log",
     "model=bert-large; sequence_length=512; accumulation=192; global_batch=3072; benchmark=bert"},
    {"mlperf/v1.0_nvidia_dgxa100_n8_result1.log",
     "model=bert-large; precision=fp16; sequence_length=512; accumulation=1; nodes=8; "
     "gpus_per_node=8; global_batch=3072; benchmark=bert"},
    {"mlperf/v2.0_azure_maskrcnn_tqdm_nonutf8.log",
     "accumulation=1; nodes=1; gpus_per_node=8; global_batch=96; benchmark=maskrcnn; "
     "cuda=11.6.124; cudnn=8.4.0; driver=470.82.01; gpu=NVIDIA A100-SXM4-80GB; gpu_count=8; "
     "nccl=2.12.10; torch=1.12.0a0+bd13bc6"},
    {"mlperf/v2.0_azure_nd96_n8_result1.log",
     "model=bert-large; precision=fp16; sequence_length=512; accumulation=1; nodes=8; "
     "gpus_per_node=8; global_batch=3072; benchmark=bert; nccl=2.12.10"},
    {"mlperf/v2.1_habana_gaudi2_tf_result1.log",
     "model=bert-large; sequence_length=512; accumulation=1; global_batch=448; benchmark=bert"},
    {"mlperf/v2.1_intel_spr16_result1.log",
     "model=bert-large; accumulation=1; global_batch=3072; benchmark=bert"},
    {"mlperf/v2.1_mosaicml_methods_result1.log",
     "model=bert-large; accumulation=1; global_batch=448; benchmark=bert"},
    {"mlperf/v3.1_clemson_16xr750_result1.log",
     "model=bert-large; precision=fp16; sequence_length=512; accumulation=1; world=32; "
     "global_batch=3072; benchmark=bert"},
    {"mlperf/v3.1_nvidia_eos_n434_result1.log",
     "model=bert-large; accumulation=1; global_batch=13888; benchmark=bert"},
    {"mlperf/v5.0_cisco_hpf_n8_result0.log",
     "model=bert-large; precision=fp16; sequence_length=512; accumulation=1; nodes=8; "
     "gpus_per_node=8; global_batch=4608; benchmark=bert"},
    {"mlperf/v5.0_tinycorp_mi300x_result0.log",
     "model=bert-large; sequence_length=512; accumulation=1; global_batch=1024; benchmark=bert"},
    {"mmseg/hrnet_c32_fp16_mpirun.log",
     "framework=pytorch; micro_batch=8; accumulation=1; optimizer=sgd; cuda=11.0; cudnn=8.0.1; "
     "gpu=Tesla V100-SXM2-32GB; gpu_count=8; nccl=2.7.5; torch=1.6.0a0+9907a3e; memory_MiB=11440"},
    {"mxnet/gluoncv_deeplab_nan_restart.log",
     "framework=mxnet; precision=fp32; world=8; optimizer=sgd"},
    {"mxnet/gluoncv_icnet_nan_loss.log",
     "framework=mxnet; precision=fp32; world=16; optimizer=adam"},
    {"mxnet/gluonnlp_bert_base_pretrain.log",
     "framework=mxnet; precision=fp16; micro_batch=16; accumulation=2; world=8"},
    {"mxnet/gluonnlp_mrpc.log",
     "framework=mxnet; model=bert-base; precision=fp32; sequence_length=128; micro_batch=32; "
     "accumulation=1; "
     "world=1; "
     "optimizer=bertadam"},
    {"mxnet/gluonnlp_squad_large.log",
     "framework=mxnet; model=bert-large; sequence_length=384; micro_batch=4; accumulation=6; "
     "world=1; "
     "optimizer=adam"},
    {"mxnet/gluonnlp_transformer_ende.log", "framework=mxnet; world=4; optimizer=adam"},
    {"mxnet/gluonnlp_xlnet_sst.log",
     "framework=mxnet; sequence_length=128; micro_batch=4; accumulation=1; world=8; "
     "global_batch=32"},
    {"nanogpt/bob_llama_stopiteration.log", ""},
    {"nanogpt/llmc_main.log", ""},
    {"nanogpt/modded_adamw.log", ""},
    {"nanogpt/modded_muon.log",
     "framework=pytorch; sequence_length=1024; global_batch=512; cuda_driver=12.2; "
     "driver=535.129.03; gpu=NVIDIA H100 80GB HBM3; gpu_count=8"},
    {"nanogpt/modded_soda_fade.log", ""},
    {"nanogpt/nanogpt_5000iter.log", ""},
    {"nanogpt/paramgolf_naive_baseline.log",
     "sequence_length=1024; world=8; global_batch=512; nccl=2.27.5; memory_MiB=10184"},
    {"nvidia-dle-pytorch/eventbert_dllogger.json.log",
     "framework=pytorch; precision=fp16; sequence_length=512; micro_batch=10; accumulation=512; "
     "world=2"},
    {"nvidia-dle-pytorch/eventbert_nohup_crash.log",
     "framework=pytorch; precision=fp16; sequence_length=512; micro_batch=8; accumulation=512; "
     "nodes=1; gpus_per_node=2; optimizer=lamb"},
    {"nvidia-dle-pytorch/lambda_1080ti_squad_base_fp32.log",
     "precision=fp32; sequence_length=384; micro_batch=10; nodes=1; gpus_per_node=1"},
    {"nvidia-dle-pytorch/lambda_2xa40_gnmt_fp32_oom.log",
     "framework=pytorch; precision=fp32; micro_batch=648; accumulation=1; world=2; optimizer=adam; "
     "cuda=11.2.142; cudnn=8.1.1; driver=460.84; gpu=A40; gpu_count=8; torch=1.9.0a0+df837d0"},
    {"nvidia-dle-pytorch/lambda_2xh100_transformerxl_childfailed.log",
     "framework=pytorch; precision=fp16; sequence_length=192; accumulation=1; world=2; "
     "global_batch=208; optimizer=jitlamb; cuda=12.4.99; cudnn=9.0.0; "
     "driver=535.129.03; gpu=NVIDIA H100 80GB HBM3; gpu_count=8; torch=2.3.0a0+40ec155e58.nv24.03"},
    {"nvidia-dle-pytorch/lambda_4x2080ti_squad_large_fp16.log",
     "precision=fp32; sequence_length=384; micro_batch=2; nodes=1; gpus_per_node=1"},
    {"nvidia-dle-pytorch/lambda_8x2080ti_squad_base_fp16.log",
     "framework=pytorch; precision=fp16; sequence_length=384; micro_batch=20; nodes=1; "
     "gpus_per_node=8"},
    {"nvidia-dle-pytorch/lambda_8xa4000_squad_large_fp32.log",
     "framework=pytorch; precision=fp32; sequence_length=384; micro_batch=4; accumulation=1; "
     "nodes=1; gpus_per_node=8"},
    {"nvidia-dle-pytorch/lambda_a4000_squad_base_fp16.log",
     "precision=fp16; sequence_length=384; micro_batch=32; accumulation=1; nodes=1; "
     "gpus_per_node=1"},
    {"nvidia-dle-pytorch/lambda_gh200_squad_base_fp16_segv.log",
     "framework=pytorch; precision=fp16; sequence_length=384; micro_batch=320; accumulation=1; "
     "nodes=1; gpus_per_node=1"},
    {"nvidia-dle-pytorch/paddleperf_a100_fp16_gpu1.log",
     "framework=pytorch; precision=fp16; sequence_length=128; micro_batch=128; accumulation=528; "
     "nodes=1; gpus_per_node=1; world=1; optimizer=lamb"},
    {"nvidia-dle-pytorch/paddleperf_v100_fp16_gpu32_mpirun.log", ""},
    {"nvidia-dle-pytorch/paddleperf_v100_fp16_gpu8.log",
     "framework=pytorch; precision=fp16; sequence_length=128; micro_batch=96; accumulation=88; "
     "nodes=1; gpus_per_node=8; world=8; optimizer=lamb"},
    {"nvidia-dle-pytorch/paddleperf_v100_fp32_gpu1.log",
     "framework=pytorch; precision=fp32; sequence_length=128; micro_batch=96; accumulation=704; "
     "nodes=1; gpus_per_node=1; world=1; optimizer=lamb"},
    {"nvidia-dle-pytorch/paddleperf_v100_fp32_gpu8.log",
     "framework=pytorch; precision=fp32; sequence_length=128; micro_batch=96; accumulation=88; "
     "nodes=1; gpus_per_node=8; world=8; optimizer=lamb"},
    {"nvidia-dle-pytorch/resnet50_v100_amp_gpu8.log",
     "framework=pytorch; precision=fp16; micro_batch=256; world=8; optimizer=sgd"},
    {"nvidia-dle-pytorch/transformer_v100_fp16_gpu1_nanwarn.log",
     "framework=pytorch; precision=fp16; nodes=1; gpus_per_node=1; world=1; gradient_clipping=0; "
     "optimizer=adam"},
    {"nvidia-dle-tensorflow/paddleperf_a100_fp16_gpu1.log",
     "framework=tensorflow; model=bert-base; precision=fp16; sequence_length=128; micro_batch=128; "
     "accumulation=528; world=1; global_batch=67584; optimizer=lamb; xla=true; cuda=11.0; cudnn=8; "
     "gpu=NVIDIA "
     "A100-SXM4-40GB; gpu_count=8"},
    {"nvidia-dle-tensorflow/paddleperf_v100_fp16_gpu32_mpirun.log",
     "framework=tensorflow; precision=fp16"},
    {"nvidia-dle-tensorflow/paddleperf_v100_fp16_gpu8.log",
     "framework=tensorflow; model=bert-base; precision=fp16; sequence_length=128; micro_batch=96; "
     "accumulation=88; world=8; global_batch=67584; optimizer=lamb; xla=true; cuda=11.0; cudnn=8; "
     "gpu=Tesla "
     "V100-SXM2-32GB; gpu_count=8"},
    {"nvidia-dle-tensorflow/paddleperf_v100_fp32_gpu8.log",
     "framework=tensorflow; model=bert-base; precision=fp32; sequence_length=128; micro_batch=96; "
     "accumulation=88; world=8; global_batch=67584; optimizer=lamb; xla=true; cuda=11.0; cudnn=8; "
     "gpu=Tesla "
     "V100-SXM2-32GB; gpu_count=8"},
    {"nvidia-dle-tensorflow/resnet50_v100_amp_gpu8.log",
     "framework=tensorflow; precision=fp16; micro_batch=256; world=8"},
    {"paddle/bert_a100_fp16_n1c1.log",
     "framework=paddle; precision=fp16; micro_batch=96; accumulation=88; world=1; "
     "gradient_clipping=1; cuda=11.2; cuda_driver=12.0; cudnn=8.1"},
    {"paddle/bert_v100_fp16_gpu32.log",
     "framework=paddle; precision=fp16; micro_batch=96; accumulation=88; gradient_clipping=1; "
     "cuda=11.2; cuda_driver=11.4; cudnn=8.1; nccl=2.8.4"},
    {"paddle/bert_v100_fp16_n1c1.log",
     "framework=paddle; precision=fp16; micro_batch=96; accumulation=88; world=1; "
     "gradient_clipping=1; cuda=11.2; cuda_driver=12.0; cudnn=8.2"},
    {"paddle/bert_v100_fp16_n1c8.log",
     "framework=paddle; precision=fp16; micro_batch=96; accumulation=88; nodes=1; gpus_per_node=8; "
     "gradient_clipping=1; cuda=11.2; cuda_driver=12.0; cudnn=8.2"},
    {"paddle/bert_v100_fp32_n1c1.log",
     "framework=paddle; precision=fp32; micro_batch=96; accumulation=88; world=1; "
     "gradient_clipping=1; cuda=11.2; cuda_driver=12.0; cudnn=8.2"},
    {"paddle/word2vec_32node_nan.log", "framework=paddle"},
    {"pytorch-plain/kaggle_deberta_elapsed_remain.log", "framework=pytorch"},
    {"tensorflow/google_bert_ch_ner_nohup.log",
     "framework=tensorflow; sequence_length=256; micro_batch=32; global_batch=32; cuda=10.0; "
     "cudnn=7; gpu=Tesla V100-SXM2-32GB; gpu_count=1"},
};

std::string folder() {
  const char* given = std::getenv("BB_CORPUS");
  return given != nullptr ? given : std::string(BB_SOURCE_DIR) + "/../shared/corpus";
}

std::string text_of(const RunLog& run) {
  std::string out;
  const auto put = [&](const std::string& name, const std::string& value) {
    out += (out.empty() ? "" : "; ") + name + "=" + value;
  };
  const auto number = [&](const char* name, const Fact<std::int64_t>& fact) {
    if (fact.known()) put(name, std::to_string(*fact.value));
  };
  const Facts& facts = run.facts;
  if (facts.framework.known()) put("framework", *facts.framework.value);
  if (facts.model.known()) put("model", *facts.model.value);
  if (facts.precision.known()) put("precision", *facts.precision.value);
  number("sequence_length", facts.sequence_length);
  number("micro_batch", facts.micro_batch_size);
  number("accumulation", facts.gradient_accumulation_steps);
  number("nodes", facts.nodes);
  number("gpus_per_node", facts.gpus_per_node);
  number("world", facts.world_size);
  number("global_batch", facts.global_batch_size);
  for (const auto& [name, value] : facts.axes) put(name, value);
  for (const auto& [name, value] : facts.versions) put(name, value);
  if (run.memory) put("memory_MiB", std::to_string(run.memory->peak_bytes >> 20));
  return out;
}

TEST(CollectedFacts, AreThoseThatEachLogStatesAndNoOther) {
  if (!std::filesystem::exists(folder())) {
    GTEST_SKIP() << folder() << " is not here: BB_CORPUS names the folder of collected logs";
  }
  for (const Said& said : kSaid) {
    const auto runs = read_log(folder() + "/" + said.file, {});
    ASSERT_TRUE(runs) << runs.error().message();
    EXPECT_EQ(text_of(runs->front()), said.facts) << said.file;
  }
}

}  // namespace
}  // namespace bertbench::corpus
