// Every notice that bertbench gives: its code, its text and what it means. The build makes
// NoticeCode of these rows, in their order (notice_codes.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "parsers/core/notice.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

// A code and its name in JSON, which is the same word.
#define BB_CODE(word) NoticeCode::word, #word

constexpr auto kKinds = std::to_array<NoticeKind>({
    {BB_CODE(foreign), "{text}",
     "A text without a code: of a result that an older release wrote, or of another program."},
    {BB_CODE(format_note), "{text}",
     "A statement of the format's description on the numbers that it takes."},
    {BB_CODE(generic_shape), "no format knows these lines: read by their shape, as in \"{line}\"",
     "The log is of no known program: the lines that repeat, with a counter, are its records.",
     "`bertbench describe LOG` prints what was taken, as a format file to correct."},
    {BB_CODE(generic_time_unclear),
     "a time on these lines is of one iteration or of all since the line before: not taken",
     "Nothing in the log shows which of the two the printed time is.",
     "State it in a format file: `bertbench describe LOG` writes one to start from."},
    {BB_CODE(commas_unclear),
     "numbers with a comma were not taken: nothing in the log shows whether it parts thousands or "
     "begins the fraction",
     "A log whose numbers are all like 320,672 could mean either.",
     "State it as \"commas\" in a format file, such as `bertbench describe LOG` writes."},
    {BB_CODE(iterations_without_line),
     "{missing} iterations have no line that was taken, the first of them before this line: the "
     "times of the others do not hold theirs",
     "The counter jumps further than from line to line elsewhere, and no clock covers the jump.",
     "Look at the lines between: if they are of slow iterations, the rate is too high."},
    {BB_CODE(iterations_are_epochs), "the lines count epochs: an iteration is an epoch",
     "The log has no finer counter than that of epochs: its rate is in epochs/s."},

    // Facts.
    {BB_CODE(facts_disagree),
     "{fact} is {used} by {source} but {other} by {other_source}; used {used}",
     "Two sources give different values for one fact.",
     "Give the fact on the command line: that wins."},
    {BB_CODE(global_batch_contradicted),
     "the global batch is stated as {stated}, but {micro_batch} sequences x {accumulation} "
     "micro-steps x {replicas} {of} are {product}; used {product}",
     "The log states a global batch that its parts do not multiply to.",
     "Check --micro-batch-size, --gradient-accumulation-steps and the number of GPUs."},
    {BB_CODE(world_size_of_communicators),
     "the world size, {world}, is that of NCCL's communicators: no other line states it",
     "The number of GPUs was taken from NCCL's own lines.",
     "Give --nodes and --gpus-per-node if it is another."},
    {BB_CODE(world_size_of_launcher),
     "the world size is {stated} but the launcher starts {ranks} ranks on each of {nodes} nodes; "
     "used the latter",
     "The log states a world size other than its launcher's."},
    {BB_CODE(world_size_without_horovod),
     "the world size, 1, follows from what is missing: the script prints its options and the GPU "
     "of each process where Horovod starts it",
     "The script prints its processes only under Horovod, and this log has none of these lines.",
     "Give --gpus-per-node if there were more."},
    {BB_CODE(precision_left_out),
     "mixed precision was asked for, but TensorFlow found no GPU for it and left it out: the "
     "precision is fp32",
     "TensorFlow printed that it does not use the mixed precision that was asked for."},
    {BB_CODE(batch_of_device_line),
     "train_batch_size is {stated} but another line gives {per_device} per device; used the latter",
     "Two lines of the log give different batches of one device.", "Give --micro-batch-size."},
    {BB_CODE(batch_of_loader_differs),
     "the command line's batch is {loader} but DeepSpeed counts {engine} per device: if the script "
     "loads its own batches, all rates in samples/s are of another batch",
     "DeepSpeed's train_micro_batch_size_per_gpu differs from the batch of the command line.",
     "Give --micro-batch-size: the one that the script really loads."},
    {BB_CODE(world_size_of_estimator),
     "the world size, 1, is that of the Estimator's configuration: of several processes that "
     "Horovod started it would be the same",
     "The Estimator's own number of workers is 1 in each process under Horovod as well.",
     "Give --gpus-per-node if Horovod started several."},
    {BB_CODE(world_size_from_tokens),
     "the world size, {world}, follows from the tokens/s of one worker and the batch of all, as "
     "synthetic data has no padding",
     "gluon-nlp prints a rate of one worker next to the batch of all.",
     "Give --gpus-per-node if it is another."},
    {BB_CODE(global_batch_from_rates),
     "the global batch, {batch}, is what the printed rates make of the time between their lines",
     "No line states the batch: it follows from printed samples/s and the clock.",
     "Give the batch if it is another."},
    {BB_CODE(global_batch_from_totals),
     "the global batch, {batch}, is what the log closes with: {sentences} sentences of {updates} "
     "updates",
     "No line states the batch: it follows from the closing totals.",
     "Give the batch if it is another."},
    {BB_CODE(global_batch_changes),
     "the global batch changes from {before} to {after}: one number of sequences per iteration "
     "would be wrong",
     "The batch grows or shrinks during the run, so no rate in sequences is given."},
    {BB_CODE(replica_of_several_gpus),
     "one replica of the model takes several GPUs ({gpus} GPUs, {replicas} replicas): the batch of "
     "one GPU is unknown",
     "Tensor or pipeline parallelism splits a replica over GPUs."},
    {BB_CODE(batch_from_source),
     "the batch is that of the source that is printed before the lines: no other line states it",
     "The log begins with the trainer's own source.",
     "Give --micro-batch-size if it was changed later."},
    {BB_CODE(batch_in_tokens),
     "the batch of the benchmark {benchmark}, {batch:.0f}, is counted in tokens: it is not taken "
     "as sequences",
     "The benchmark counts its batch in tokens."},
    {BB_CODE(input_batch_scope),
     "input_batch_size is the whole job's with most submitters, that of one process with some",
     "An MLPerf key whose meaning depends on the submitter.",
     "Compare it with the submission's global_batch_size."},
    {BB_CODE(unit_of_sequences), "sequences are {unit}", "What this log counts as a sequence."},
    {BB_CODE(memory_of_nvidia_smi),
     "the peak memory is the most that nvidia-smi showed while the run went on: of a moment, and "
     "of all that used the GPU",
     "No allocator's peak is in the log, but nvidia-smi's table is."},

    // Whose work a rate counts.
    {BB_CODE(rate_of_one_gpu),
     "{rate} is of one GPU and the log does not print how many there are: --nodes and "
     "--gpus-per-node give the rate of the job",
     "The log prints the rate of one GPU and not their number.",
     "Give --nodes and --gpus-per-node."},
    {BB_CODE(rate_of_one_process),
     "{rate} is of one process: if the job has several, it is the share of one of them",
     "The rate counts what the process that prints it trains.",
     "Multiply by the number of processes, if there are several."},
    {BB_CODE(rate_of_one_process_left_out),
     "{rate} is of one process of a job of several: it is not taken",
     "The rate of one process is not the rate of the job."},
    {BB_CODE(rate_scope_unknown),
     "{rate} is of one process or of the whole job, depending on {on}: it is not taken",
     "Whose work the rate counts is unknown.",
     "Give --nodes and --gpus-per-node and use an estimator of times."},
    {BB_CODE(rate_taken_for_all_workers),
     "Speed is taken as the rate of all workers: by the stamps a batch holds {workers:.0f} times "
     "batch_size",
     "Speedometer's rate times its clock fits the batch of all workers."},
    {BB_CODE(rate_multiplied_by_nodes),
     "on several nodes some revisions of this script multiply steps/s by the number of nodes",
     "A known fault of ERNIE's script.", "Check the rate against the clock (counter_clock)."},
    {BB_CODE(bar_of_several_ranks),
     "the bars of several ranks count examples, their own or those of the job: no rate is taken",
     "Whether a bar counts the work of its rank or of all is unknown."},
    {BB_CODE(bar_of_one_process),
     "the bar counts examples, not iterations: its rate is that of the process that draws it",
     "A bar in a unit other than iterations."},
    {BB_CODE(same_batch_size_assumed),
     "bsz is of one GPU, as the examples of an epoch show: it is taken {times} times, as if the "
     "batches of the others were alike; by bsz as printed the rates would be 1/{times} of these",
     "Old fairseq prints the batch of one GPU."},

    // What a printed time or rate covers.
    {BB_CODE(rate_of_single_iterations),
     "{printed} is of one iteration, not of all since the previous line: printed rates are a "
     "sample",
     "What lies between the lines is in no printed rate.",
     "Where the log has a clock, --estimator counter_clock covers all of it."},
    {BB_CODE(rate_is_mean_of_window),
     "{printed} is a mean over {span}, not over the iterations since the previous line",
     "Printed numbers overlap or leave out iterations.",
     "Where the log has a clock, --estimator counter_clock covers all of it."},
    {BB_CODE(rate_is_median),
     "the printed time is the median of {iterations} iterations: its rate is not work over time",
     "A median leaves out slow iterations."},
    {BB_CODE(rounded_times), "{printed} is rounded: the rate is good to {percent:.0f} % at worst",
     "The digits of the log limit what can be had from it."},
    {BB_CODE(times_too_coarse),
     "{printed} has too few digits for steps this short: it is not taken",
     "A rate from so few digits would be worse than another one that the log has, or than none."},
    {BB_CODE(time_shown_as_zero), "the time is shown as 0 of its unit: there is no rate",
     "The unit of the table is too coarse.", "Run the benchmark with --benchmark_time_unit=ns."},
    {BB_CODE(counter_rounded),
     "the bar rounds its counter to three digits (unit_scale), and steps are no better",
     "tqdm's unit_scale prints 1.23k for 1,234."},
    {BB_CODE(no_rate_in_log), "the log prints {what}: no throughput can be had from it",
     "Neither a rate nor a time is in the log.",
     "Give the total with `reconcile --total-seconds`."},
    {BB_CODE(no_known_key),
     "no key of the JSON lines is known as a time or a rate; they have {keys}",
     "What a member of a JSON object is of is known by its name alone.",
     "Name the key in a format file: see docs/formats.md."},
    {BB_CODE(no_step_times), "the Trainer's lines have no clock: there are no step times",
     "The Hugging Face Trainer prints losses without a time."},
    {BB_CODE(no_clock_of_means),
     "the means do not begin with their epoch: there is no clock, the rates are of single "
     "iterations",
     "Without its first line, an epoch's running means give no clock."},
    {BB_CODE(steps_counted), "the log does not print the step of its losses: they are counted",
     "Losses without a step are numbered in order."},
    {BB_CODE(times_of_epochs),
     "the log prints {what} of whole epochs: an iteration is an epoch here",
     "There are no lines within epochs."},
    {BB_CODE(rate_of_epochs),
     "the table has no clock but epoch_time: the rate is that of whole epochs, without the first "
     "of several",
     "Lightning's CSV has one time an epoch."},
    {BB_CODE(epoch_of_cifar),
     "an epoch is taken as the 50,000 images of CIFAR-10, as the model's name suggests; its time "
     "includes the validation: the rate is no more",
     "The log names a CIFAR model and prints times of epochs only."},
    {BB_CODE(epoch_of_images),
     "the time of an epoch, where it is printed, is of {images} images, {source}",
     "The rate of an epoch is its images over its time."},
    {BB_CODE(epochs_give_batches), "the epochs' own times give {least:.3g} to {most:.3g} batches/s",
     "The times of whole epochs cover what lies between the printed lines."},
    {BB_CODE(epoch_without_length),
     "the log prints times of whole epochs, validation included, and not how many batches they "
     "have: no throughput can be had from it",
     "An epoch of unknown length gives no rate."},
    {BB_CODE(iterations_in_no_line), "{iterations} are in no line and are not counted",
     "Counters do not reach the end of an epoch whose length is not printed."},
    {BB_CODE(evaluations_off_the_clock),
     "the time of evaluations and other work between lines is taken off the clock: an interval "
     "that holds some counts with the time of its iterations",
     "Evaluations and other work between two lines are left out of the rate."},
    {BB_CODE(evaluations_between_all_lines),
     "evaluations are between all lines with a time: the clock shows no time of a step alone",
     "Printed rates count; without them there is no rate."},
    {BB_CODE(time_includes), "{time} includes {what}: the training itself is faster",
     "The printed time covers more than training steps."},
    {BB_CODE(notebook_bar),
     "a notebook's bar: whole seconds since step 1 of the session, evaluations included; too fast "
     "if the session began at a checkpoint, which the bar does not show",
     "What a notebook keeps of the Trainer's bar."},
    {BB_CODE(bar_of_whole_seconds), "a bar counts batches, and its seconds are whole",
     "The clock of the bar limits the rate of short runs."},
    {BB_CODE(clocks_disagree),
     "the time of the epoch over that of a step gives fewer steps than the loss line counted: one "
     "of the two times is wrong, and the rate with it may be",
     "MindSpore's two monitors contradict each other."},
    {BB_CODE(epochs_without_counter),
     "the epoch times have no epoch and step: if several ranks wrote this log, their lines are "
     "counted as epochs of their own",
     "TimeMonitor's lines alone do not show which rank wrote them."},
    {BB_CODE(window_of_records_merged),
     "the window holds more records than are kept: neighbours were merged",
     "Very long logs are kept at lower detail.", "Choose a shorter window."},
    {BB_CODE(records_merged),
     "the file holds more records than are kept: the {seen} of this run were merged to {kept}, so "
     "that its window and its estimates may be others than those of the run in a file of its own",
     "All runs of one file share the memory of 262,144 records; beyond it neighbours are merged.",
     "Split the file."},
    {BB_CODE(too_many_runs),
     "here begins run {run} of this file: it and all that follow are left out; split the file to "
     "have them read",
     "A file with more runs than are read.", "Split the file."},
    {BB_CODE(outcome_not_in_table), "a table of metrics does not show how the run ended",
     "CSV files of metrics have no ending.", "Read the console log as well."},
    {BB_CODE(several_measures),
     "the log holds several measures of one job (engines, steps from end to end): their rates are "
     "of different work and do not add up",
     "DeepSpeed-Chat prints engines' rates and end-to-end steps."},
    {BB_CODE(end_to_end_steps),
     "steps of reinforcement learning from end to end, generation included: not the engines' "
     "CurrSamplesPerSec",
     "What DeepSpeed-Chat's step 3 prints."},

    // Units other than sequences.
    {BB_CODE(counts_tokens), "{rate} counts {tokens}: {then}",
     "The log's rate is in tokens or words.",
     "Give --sequence-length where sequences have a fixed length."},
    {BB_CODE(ups_of_one_update),
     "ups and wps count one update a line, as fairseq does on TPUs, though the counter shows more: "
     "no rate is taken from them",
     "fairseq on TPUs prints rates of one update."},
    {BB_CODE(samples_vary),
     "avg_samples is {mean:.4g} in the mean of its lines: counted with the batch of the first one, "
     "the sequences are {percent:.0f} % too {direction}",
     "Lines of the log have batches of different sizes."},
    {BB_CODE(old_interval_rate),
     "interval_samples_per_second is not batch x steps / time: old releases divided the samples of "
     "one step by the time of the whole interval; not used",
     "A fault of old releases of PaddleNLP."},
    {BB_CODE(interval_rate_unclear),
     "interval_samples_per_second counts the samples of one step or of all, by release, and the "
     "log does not print the batch: rates stay in steps/s",
     "The unit of PaddleNLP's rate depends on its release.",
     "Give --micro-batch-size, --nodes and --gpus-per-node."},
    {BB_CODE(intervals_hold_evaluations),
     "{held} of {all} interval lines include an evaluation: {then}",
     "Evaluations lie within the intervals of PaddleNLP's lines."},
    {BB_CODE(rate_of_epochs_own_lines),
     "the epochs' own lines give {rate:.4g} samples/sec from their first batch to their last",
     "MXNet prints a rate an epoch as well."},

    // Closing statements, total times, official times.
    {BB_CODE(closing_rate_contradicted),
     "the log's closing statement, {stated:.6g} sequences/s, is {percent:.1f} % {direction} {by} "
     "({rate:.6g} sequences/s over all records)",
     "The log's own closing rate differs from what its steps and times give.",
     "Look which of the two covers the stretch that you mean: `--estimator log_summary` takes the "
     "statement."},
    {BB_CODE(closing_rate_of_best_epoch),
     "the log's closing statement, {stated:.10g} sequences/s, is the rate of its best epoch, not "
     "the run's",
     "Some DLLogger scripts close with the best epoch."},
    {BB_CODE(closing_rate_without_warmup),
     "the closing rate is of all micro-steps but the first {steps}",
     "NVIDIA's BERT leaves its warm-up out of the closing rate."},
    {BB_CODE(closing_rate_of_last_quarter),
     "the log's closing rate is that of the last quarter of global_step/sec; sequences are images",
     "What a TensorFlow script for images closes with."},
    {BB_CODE(closing_rate_counts_resumed),
     "the log's own closing rate, {printed:.6g} sequences/s, counts the {updates} updates that "
     "were done before this run resumed: over its own work it is {own:.6g}",
     "The rate of a resumed run divides all updates by the time of the last session."},
    {BB_CODE(closing_rate_counts_resumed_left_out),
     "the log's own closing rate, {printed:.6g} sequences/s, counts the {updates} updates that "
     "were done before this run resumed: it is left out",
     "The rate of a resumed run divides all updates by the time of the last session."},
    {BB_CODE(steps_one_above_updates),
     "the log prints a step's number one above the updates done: step {step} is update {update}",
     "How TensorFlow counts after a restart."},
    {BB_CODE(old_release_counts_steps),
     "train_samples_per_second of this old release of transformers counts steps, not samples, and "
     "after a resume divides all of them by the time of the last session",
     "A fault of transformers before 4.2.", "Use an estimator of times."},
    {BB_CODE(warmup_left_out_by_evaluator),
     "the evaluator's throughput leaves out its warm-up steps (ignore_steps)",
     "How ColossalAI's PerformanceEvaluator counts."},
    {BB_CODE(summaries_of_other_processes),
     "{statements} statements of nearly the same train_runtime: the first is taken, the others as "
     "those of other processes",
     "Several processes print the Trainer's summary."},
    {BB_CODE(closing_rate_holds_evaluations),
     "evaluations took {evaluations_s:.0f} of the {runtime_s:.0f} s of train_runtime "
     "({percent:.0f} %): the closing rate includes them, without them it is {without:.4g}",
     "The Trainer's runtime covers evaluations."},
    {BB_CODE(closing_rate_above_samples),
     "train_samples_per_second = {stated} is {percent:.0f} % above train_samples x epoch / "
     "train_runtime ({rate:.4g}): it counts every batch as a full one, or steps that were not "
     "done, or leaves the first ones out (optimum-habana)",
     "The Trainer's closing rate contradicts its own samples and time."},
    {BB_CODE(closing_rate_of_planned_steps),
     "train_samples_per_second = {stated} is that of all {planned:.0f} planned steps, of which "
     "this session did about {done:.0f} (it began at a checkpoint or stopped early): {then}",
     "The Trainer divides planned samples by the time of the session."},
    {BB_CODE(closing_rate_of_all_sessions),
     "train_samples_per_second = {stated} divides all steps by the runtime of the last session, "
     "which began at a checkpoint: the evaluations of the history took {evaluations_s:.0f} s, "
     "longer than its {runtime_s:.0f} s. It is not taken",
     "The rate of a resumed Trainer is too high."},
    {BB_CODE(closing_rate_may_be_resumed),
     "train_samples_per_second divides all planned steps by the runtime of the last session: it is "
     "too high if that began at a checkpoint, which this file does not show",
     "trainer_state.json does not show where its session began.", "Read the console log."},
    {BB_CODE(closing_rate_is_of_steps),
     "train_samples_per_second = {stated} is no rate of samples: this old release of transformers "
     "divided steps ({how}), and after a resume the runtime is that of the last session only, "
     "while the steps are all",
     "A fault of transformers before 4.2.", "Use an estimator of times."},
    {BB_CODE(evaluations_between_steps),
     "the times between the steps include {evaluations}, whose times are not printed",
     "Step times of a progress bar cover what happened between the steps."},
    {BB_CODE(other_formats_records),
     "the log also has training records of {formats}; --format takes those",
     "Two formats claim training records: one is chosen.", "Use --format NAME for the other."},
    {BB_CODE(input_damaged), "{problem}",
     "The compressed input ended early or is damaged: what came before is read.",
     "Get the file again."},
    {BB_CODE(lines_unreadable),
     "{count} could not be read, this one the first: the JSON there is broken",
     "A format of JSON lines has lines that are cut, or that ranks wrote into each other.",
     "Look at the line; give each rank a file of its own."},
    {BB_CODE(rate_over_official_time),
     "the rate is the samples {origin} over run_stop minus run_start, evaluations included",
     "How MLPerf's official time makes a rate."},
    {BB_CODE(rate_of_median_epoch),
     "the run has no run_stop: the rate is train_samples over the median time of an epoch after "
     "the first, from epoch_start to eval_start or epoch_stop",
     "An MLPerf log that was cut, or is still being written, with whole epochs."},
    {BB_CODE(samples_unknown),
     "the samples trained are not printed (the evaluation's epoch_num counts something else): no "
     "throughput can be had from this log",
     "MLPerf's log lacks its samples."},
    {BB_CODE(tracked_rate_of_interval),
     "the last throughput tracked before run_stop is that of some interval or of the run so far, "
     "by submitter: the samples of the whole run are unknown",
     "MLPerf's tracked_stats without a number of samples."},
    {BB_CODE(tracked_rate_odd),
     "the last throughput tracked before run_stop is far from the others, the median of which is "
     "taken: the samples of the whole run are unknown",
     "MLPerf's tracked_stats without a number of samples."},
    {BB_CODE(closing_rate_off_official),
     "{rate_name}, {stated:.6g}/s, is {percent:.1f} % {direction} {by}",
     "A rate that the submission prints differs from samples over official time."},
    {BB_CODE(record_is_epoch_of_ncf),
     "a record is an epoch of NCF, from train_epoch to eval_start: its samples are input_size "
     "times 1 + input_hp_num_neg",
     "How samples of MLPerf's NCF are counted."},
    {BB_CODE(official_start_missing),
     "run_start is not in this log: the official time is unknown, and no rate is taken",
     "The log begins after MLPerf's run_start.", "Give the whole log."},
    {BB_CODE(target_not_reached),
     "the run did not reach its target: its time is no result, and no rate is taken from it",
     "MLPerf's run_stop has a status other than success."},

    // Progress bars.
    {BB_CODE(bar_leaps),
     "the bar leaps from 0 to {step} as that of a resumed run does: rates that the bar and the "
     "trainer print include the leap and were not taken",
     "A resumed Trainer draws the skipped steps at once."},
    {BB_CODE(bars_one_after_other),
     "of {bars} bars, one after the other, only the ends are kept: the steps are those of all",
     "A loop draws a new bar each epoch or chunk."},
    {BB_CODE(bar_may_count_epochs),
     "the bar counts few steps, of {seconds} s each: it may count epochs",
     "A bar with few long steps."},
    {BB_CODE(bars_of_ranks),
     "the same bar is there {bars} times, at the same counters and seconds: taken as one run that "
     "many ranks print",
     "Each rank draws the bar of the job."},
    {BB_CODE(no_bar_of_training),
     "no bar is named as one of training: none was taken, not even the longest, named '{name}'; "
     "--format tqdm takes it",
     "Only bars of other work, or under a name of its own.", "--format tqdm takes it."},
    {BB_CODE(unnamed_bar_written_over),
     "the bar has no name: that something was written over it every {steps} steps, as the Trainer "
     "does when it logs, was taken as a sign of training",
     "An unnamed bar was taken as training.", "--format tqdm or another format overrules it."},
    {BB_CODE(unnamed_bar_before_first_step),
     "the bar has no name: that what the first step of a training writes follows it at 0 was taken "
     "as a sign of training{more}",
     "An unnamed bar was taken as training.", "--format tqdm or another format overrules it."},
    {BB_CODE(items_per_second),
     "as the log counts them: {rate:.10g} items/s in the last epoch; items are frames (Tacotron 2) "
     "or audio samples (WaveGlow), no sequences",
     "A rate of something else than sequences."},
    {BB_CODE(saving_off_the_clock),
     "the time of evaluations, and of saving after them, is taken off the clock",
     "gluon-nlp's evaluations lie between its lines."},
    {BB_CODE(saving_on_the_clock),
     "the time of evaluations is taken off the clock, that of saving is not",
     "gluon-nlp's evaluations lie between its lines."},
    {BB_CODE(epoch_not_ended),
     "the epoch did not end: the time of its steps is taken from the time left at its end",
     "Keras' bar of the last epoch was cut."},
    {BB_CODE(bar_counts_samples), "the bar counts samples, not steps", "Old Keras counts samples."},
    {BB_CODE(counter_unit_unknown),
     "this old bar counts samples or steps: which of them it does not show",
     "Old Keras prints no unit.", "Give --micro-batch-size."},
    {BB_CODE(rate_of_one_trainer_multiplied),
     "ips is of one trainer, {rate:.6g} in this epoch, and is taken {times} times, for all of them",
     "Paddle prints the rate of one trainer."},
    {BB_CODE(rate_of_one_trainer_left_out),
     "ips is of one trainer, {rate:.6g} in this epoch, and their number is unknown: no rate of the "
     "job is taken from it",
     "Paddle prints the rate of one trainer."},
    {BB_CODE(rate_taken_as_of_job),
     "{printed} is taken as that of all cards, as {program} prints it",
     "Whose rate it is follows from the program."},
    {BB_CODE(no_unnamed_bar_taken),
     "the bars have no name and nothing shows which of them, if any, is training: none was taken; "
     "--format tqdm takes the longest",
     "Bars without names may be any loop.", "--format tqdm takes the longest."},
    {BB_CODE(longest_unnamed_bar_taken),
     "the longest of {bars} unnamed bars was taken as training, others as other loops",
     "Several unnamed bars, one much longer."},
    {BB_CODE(unproven_bar_taken),
     "nothing names a bar of training: this one was taken (bars: {bars}), as {why}",
     "A bar was taken for training that may be another loop.",
     "Another format with --format overrules it."},

    // Benchmarks of kernels and collectives.
    {BB_CODE(kernel_benchmark),
     "a kernel benchmark: iterations/s of one function by its real time, no training",
     "Google Benchmark's output."},
    {BB_CODE(threads_by_release),
     "with several threads real_time is that of one thread from release 1.9 on, and was divided by "
     "their number before: iterations/s are of one thread or of all, by release",
     "Google Benchmark changed what real_time means."},
    {BB_CODE(mean_of_repetitions),
     "where only aggregates are printed, the mean of the repetitions is taken",
     "Google Benchmark's --benchmark_report_aggregates_only."},
    {BB_CODE(debug_build),
     "the benchmark library is a debug build: its own overhead may show in short times",
     "Google Benchmark warns of it.", "Build the library with -O2."},
    {BB_CODE(collective_bandwidth),
     "{largest} of {sizes} messages: {bytes:.0f} bytes in {time_us:.6g} us, {algbw:.6g} GB/s, "
     "bus {busbw:.6g} GB/s{in_place}",
     "What nccl-tests measured."},
    {BB_CODE(table_head_missing),
     "the head of the table is missing: columns are taken as nccl-tests prints them, and smaller "
     "messages before may be missing",
     "The log of nccl-tests begins within its table."},
    {BB_CODE(mean_bus_bandwidth),
     "mean bus bandwidth over all sizes, small ones included: {busbw:.6g} GB/s",
     "nccl-tests' closing line."},

    // Window and estimators.
    {BB_CODE(warmup_in_window),
     "the warm-up is in the window: an iteration of the first record takes {times}, {percent:.0f} "
     "% of the window's time; {remedy}",
     "All records are used and the first is much slower.", "Choose a window that leaves it out."},
    {BB_CODE(warmup_taken_off),
     "{records}; the first holds the start of the run, an iteration of it takes {times}: --window "
     "all takes it as well",
     "With few records, the first is left out where it is slow.", "--window all."},
    {BB_CODE(records_after_break_left_out), "{break}: of {records} the first {used} are used",
     "After a NaN or a failure the records do not count."},
    {BB_CODE(few_records), "only {records}, all used, warm-up included{more}",
     "Too few records for a rule that looks for the steady state.",
     "Run longer, or choose a window."},
    {BB_CODE(short_end_left_out),
     "only {records}: all but the last are used, warm-up included; the last takes less than a "
     "third of the time of each other",
     "The last of few records is of a part of the work.", "--window all."},
    {BB_CODE(fast_start_in_window),
     "the start of the run is faster than the rest, as no warm-up is: an iteration after the first "
     "{records} takes {times:.2f} times as long as one of them; all records are used",
     "MSER-5 would leave out the start of the run, but that is its faster part.",
     "Choose a window where the run holds its pace."},
    {BB_CODE(no_steady_state_in_first_half),
     "no steady state in the first half of the run (MSER-5): all records are used",
     "The rule for the warm-up would leave out more than half.", "Run longer, or choose a window."},
    {BB_CODE(too_few_records), "the log has {records}, too few for the window {window}",
     "The window asks for more records than there are.", "Choose a shorter window."},
    {BB_CODE(no_step_in_window), "the log {has}: none inside the window {window}",
     "The window's steps are not in the log.", "Choose steps of the log."},
    {BB_CODE(window_not_covered), "the log covers steps {first} to {last} of the window {window}",
     "The log lacks a part of the window: no rate is given.", "Choose steps of the log."},
    {BB_CODE(ended_too_early),
     "ended at step {step} of {steps}: `auto` takes no rate from less than half of a trial",
     "Steps of a start stand for no trial: a steady part may not have come yet.",
     "Run it again; a window by number (A:B) takes what it covers."},
    {BB_CODE(window_moved_to_counters),
     "the nearest printed counters inside {window} are used: steps {first} < n <= {last}",
     "The window's ends are no printed steps."},
    {BB_CODE(window_broken),
     "{break}: of the window {window} only the records up to {records} hold",
     "A NaN or a failure lies inside the window: no rate is given."},
    {BB_CODE(rates_in_tokens), "as the log counts them: {rates}",
     "Rates in tokens/s of which no fact makes sequences.", "Give --sequence-length."},
    {BB_CODE(sequences_unknown_left_out),
     "left out, as the sequences per iteration are unknown: {estimators}{remedy}",
     "These estimators count iterations.", "Give the facts that are named."},
    {BB_CODE(tokens_unknown_left_out),
     "left out, as the tokens of a sequence are unknown: {rates}; give --sequence-length",
     "These estimators count tokens.", "Give --sequence-length."},
    {BB_CODE(rates_in_iterations), "the sequences of an iteration are unknown{remedy}",
     "The log does not print its batch.", "Give the facts that are named."},
    {BB_CODE(rates_need_sequence_length),
     "rates stay in tokens/s, as the tokens of a sequence are unknown; give --sequence-length",
     "The log prints tokens/s and not the length of a sequence.", "Give --sequence-length."},
    {BB_CODE(total_time_left_out),
     "total_time is left out: all work over all time, {rate:.6g} {unit}, is more than twice off "
     "every other estimate, so the two are not of the same stretch of the run",
     "Work and time of the whole log do not belong together."},
    {BB_CODE(steps_over_run_time),
     "total_time is {steps} steps, as the sweep asked for, over the {seconds:.1f} s that the "
     "trainer ran, start-up included: its log counts no steps",
     "No line of the log has a counter, a time or a rate.",
     "Let the trainer print its step; `bertbench list formats --explain LOG` lists the formats "
     "that come near."},
    {BB_CODE(no_rate), "the log gives no rate{but}", "No estimator of the window has a rate."},
    {BB_CODE(counter_clock_uncertain),
     "counter_clock is uncertain by {percent:.1f} %: the clock shows whole seconds and the window "
     "is short",
     "A coarse clock over a short window.", "Run longer."},
    {BB_CODE(estimator_not_allowed),
     "the log does not allow the estimator {estimator}; it allows {allowed}",
     "The log lacks what the estimator needs.", "Choose one that is named."},
    {BB_CODE(stated_rate_apart),
     "{times:.3g} times as {direction} sequences/s by the log's times and the facts as it states "
     "in the same lines: a batch, the world size or the accumulation differs from the facts, or "
     "the stated rate is not the whole job's; check the facts, or choose by --estimator",
     "Printed rates and times of the same lines are off by a factor.",
     "Check the facts, or choose by --estimator."},
    {BB_CODE(rate_implausible),
     "{rate} is more than any machine does: a time, the batch or the counter of the log is wrong",
     "A rate above 1e11 a second, of whatever it is.", "Look at the lines; choose by --estimator."},
    {BB_CODE(mean_of_rates_misleads),
     "the printed rates differ: their mean, {mean:.6g} {unit}, is {percent:.0f} % above all work "
     "over the time that they add up to ({rate:.6g})",
     "The mean of rates is above work over time.", "--estimator printed is work over time."},
    {BB_CODE(closing_rate_of_run),
     "log_summary is the log's own statement of its run, not of the window",
     "The only rate of the log covers the whole run."},
    {BB_CODE(skipped_steps),
     "{skipped} skipped after fp16 overflows: time and sequences of these count, their updates "
     "were not applied",
     "Loss scaling skipped updates."},
    {BB_CODE(only_closing_rate),
     "the log has one rate and no lines of steps with their own: it stands for the whole run",
     "There are no records: the closing statement stands for the run."},
    {BB_CODE(bar_clock_differs),
     "the counter over the log's clock is {percent:.0f} % {direction} than the printed "
     "rates ({clock})",
     "A bar's smoothed rates differ from work over time."},
    {BB_CODE(bar_rates_differ),
     "the bar's printed rates, smoothed over its newest steps, are {percent:.0f} % {direction} "
     "than the counter over its clock ({printed}): more than the clock leaves open",
     "A bar's smoothed rates differ from work over time."},
    {BB_CODE(arrival_differs),
     "by {estimator} the rate is {percent:.0f} % {direction} than by the arrival of the lines "
     "({arrival}), which the trainer cannot state wrongly",
     "The rate by what the log prints and that by the times at which its lines came are more than "
     "5 % apart.",
     "Compare the estimators in the JSON form: a timer may leave out what lies between the steps."},
    {BB_CODE(arrival_in_bursts),
     "{percent:.0f} % of the window's steps came in bursts of several lines after a silence, as "
     "from a program that keeps its output back: their arrival gives no rate of the window by "
     "default; PYTHONUNBUFFERED=1 in the trainer's environment lets each line out at once",
     "The trainer's output was buffered, so the arrival of its lines gives no rate by default.",
     "Set PYTHONUNBUFFERED=1 in the trainer's environment (\"env\" of the configuration), give "
     "it a terminal (\"pty\": true), or let it flush its output with each line."},
    {BB_CODE(ranks_share_step_time),
     "the ranks cannot be distinguished: they print step times, in which each waits for the "
     "slowest",
     "The log has step times of several ranks, and nothing of what each needed by itself.",
     "Let each rank print its own time before the collective, in lines as docs/ranks.md has them."},
    {BB_CODE(straggler),
     "rank {rank}{node} stays slow: {percent:.0f} % above the median of the others, in {slow} of "
     "{windows} stretches of the window more than 10 %",
     "One rank keeps the others waiting: its own time before the collectives is longer throughout.",
     "Look at its node: clocks, other programs, memory (bertbench doctor --launcher NAME)."},
    {BB_CODE(slowest_rank_unnamed),
     "before they wait, the slowest rank takes up to {percent:.0f} % longer than the fastest: the "
     "log does not name it, as --timing-log-option all does",
     "Megatron-LM's timers print the least and the greatest time over the ranks.",
     "Run with --timing-log-level 2 --timing-log-option all: the times of each rank are read."},
    {BB_CODE(joined_ranks),
     "the logs of {ranks} ranks are read as one job, the steps of this one; --no-join keeps them "
     "apart",
     "Each rank wrote a log of its own, as the names of the files or their lines show.",
     "--no-join keeps them apart."},
    {BB_CODE(outcome_of_rank), "the outcome is that of the rank of {log}",
     "Of several ranks with a log each, that of another one shows how the job ended."},
    {BB_CODE(closing_rate_differs),
     "the log's own closing rate, not of the window alone, is {percent:.0f} % {direction} than the "
     "printed rates ({closing})",
     "The closing rate covers another stretch, or counts otherwise."},
    {BB_CODE(closing_rate_far_off),
     "the log's own closing rate, not of the window alone, is {closing}, {times:.3g} times as "
     "{direction} as {estimator} gives: the batch, the world size or the accumulation may differ "
     "from the facts, or much of the run was not training",
     "The closing rate is off by a factor.", "Check the facts against the log."},
    {BB_CODE(clock_differs_from_steps),
     "by the log's clock the rate is {times:.2g} times as {direction} as by the times of its "
     "steps: counter_clock is {clock:.6g}; {cause}, or times that are not those of the steps",
     "Printed times of steps and the log's clock contradict each other.",
     "Compare the estimators in the JSON form."},
    {BB_CODE(printed_rates_above_clock),
     "the printed rates are {percent:.0f} % higher than the counter over the clock ({printed}): it "
     "covers what lies between them, such as evaluation, saving or loading",
     "Printed rates leave out what lies between the lines."},
    {BB_CODE(clock_jumped),
     "between two steps the log's clock goes on by {seconds:.6g} s, {times:.3g} times what steps "
     "take: the clock was set or the job stood still; counter_clock leaves that gap out",
     "One gap outweighs all others together; total_time holds it."},
    {BB_CODE(printed_rates_far_off),
     "the mean of the printed rates, {printed}, is {times:.3g} times as {direction} as the times "
     "of the steps give: single steps differ much, or the counter jumped",
     "Printed rates and times of steps contradict each other."},
    {BB_CODE(steps_done_again),
     "{steps} steps were lost and done again by {log}: their time counts, their work once",
     "A restart repeated steps."},
    {BB_CODE(joined_restarts), "joined with its restarts: {logs}; --no-join keeps them apart",
     "Several logs are of one training.", "--no-join keeps them apart."},
    {BB_CODE(steps_in_no_log),
     "no log has the steps {first} to {last}, before {log}: the clock lacks their time",
     "A log of the training is missing.", "Add the missing log."},
    {BB_CODE(closing_rates_of_parts),
     "closing rates are of one part each and are left out; `bertbench reconcile` shows them",
     "Logs of one training were joined."},
    {BB_CODE(rate_changes_late),
     "no steady state: the iteration times change by {change} after step {step}, and the last "
     "quarter "
     "of the run is not of one speed",
     "The end of the run differs from the rest, or the run drifts.", "Run longer."},
    {BB_CODE(run_slows_down),
     "the run slows down: iterations take {change} longer after step {step} than at their fastest "
     "before",
     "Throttling, a leak or a neighbour.", "Look at clocks and temperature in the telemetry."},
    {BB_CODE(window_begins_in_warmup),
     "the window begins in the warm-up: its iterations take {change} longer than those after step "
     "{step}",
     "The window's first iterations are slow.", "Choose a later window."},
    {BB_CODE(periodic_slow_iteration),
     "an iteration in {period} takes {extra_s:.3g} s longer, {percent:.1f} % of the window's time "
     "(checkpoint, evaluation?); {without}",
     "Regular work between the steps."},
    {BB_CODE(marked_work_in_window),
     "an evaluation or a checkpoint is within {records} of the window's {all} records, "
     "{percent:.1f} % of its time; {without}",
     "Marked work lies inside the window."},
    {BB_CODE(gradient_not_finite),
     "the gradient norm is NaN in {lines} lines, the first of step {step}",
     "A printed gradient norm is NaN; a loss scaler skips such a step.",
     "Does the loss still fall afterwards?"},
    {BB_CODE(evaluation_not_finite),
     "evaluations print NaN in {lines} lines, the first at step {step}",
     "A result of an evaluation is NaN."},
    {BB_CODE(memory_above_capacity),
     "the log states {peak_gib:.2f} GiB of memory on a device of {capacity_gib:.2f} GiB: left out",
     "Peak and capacity are not of one device."},

    {BB_CODE(window_of_tool),
     "{tool} would give {seconds:.4f} s an iteration (sd {deviation:.4f}, {values} values, "
     "iterations {first} to {last}){off}",
     "--window-of asked for the window of another tool."},
    {BB_CODE(window_of_tool_empty), "the window of {tool} is unknown: {reason}",
     "--window-of asked for the window of another tool.",
     "Does the log go so far, do its lines have times, and are they no more than are kept?"},

    // How a run ended: the details of an outcome.
    {BB_CODE(log_line), "{text}",
     "The line of the log that names what happened, as the log prints it."},
    {BB_CODE(loss_not_finite), "the loss is not finite", "A printed loss is NaN or infinite.",
     "Look at the learning rate, the loss scale and the data of that step."},
    {BB_CODE(no_closing_statement), "the log ends without a closing statement",
     "No line after the last step shows that the run ended.",
     "Was the log copied while the run went on, or the process killed?"},
    {BB_CODE(no_step), "no step was read from the log",
     "Lines of the format are there, but none of a step that is read."},
    {BB_CODE(no_known_line), "no line of a known log format",
     "The log holds nothing that a format reads.",
     "See `bertbench list formats`, or describe the log with --format-file."},
    {BB_CODE(near_to_a_rate), "not read: the line {lack}: \"{text}\"",
     "Of a training of which no step was read, a line that comes near to a rate.",
     "Write a format file for it; `bertbench list formats --explain` shows how."},
    {BB_CODE(cut_after_banner), "the log ends after the Trainer's banner, before its first step",
     "A training began and printed no step."},
    {BB_CODE(cut_before_run_stop), "the log ends before run_stop",
     "An MLPerf run began and did not end."},
    {BB_CODE(mlperf_status), "MLPerf run_stop: status {status}",
     "The run's own end is not a success."},
    {BB_CODE(ended_by_signal), "signal {signal}", "The trainer printed that a signal ended it."},
    {BB_CODE(interrupted), "interrupted", "The trainer printed that it was interrupted."},
    {BB_CODE(results_out_of_bounds), "results out of bounds", "nccl-tests found wrong results."},
    {BB_CODE(bus_bandwidth_low), "bus bandwidth below the demanded one",
     "nccl-tests was given a bandwidth to reach."},
    {BB_CODE(collective_timeout_followed), "then NCCL: collective operation timeout (line {at})",
     "A rank that dies leaves the others waiting until NCCL gives up."},
    {BB_CODE(launch_before_failed), "a launch before this one: {status} (line {at}): {text}",
     "The log holds several launches; an earlier one failed of another cause."},
    {BB_CODE(failed_after_end), "after its end: {status} (line {at}): {text}",
     "What failed after the run's official end is not the run's."},
    {BB_CODE(stopped_by_user), "stopped by the user",
     "The sweep was interrupted while the trial ran.", "The same command again goes on with it."},
    {BB_CODE(ran_too_long), "ran longer than {seconds} s", "The trial reached timeout_s.",
     "Raise timeout_s, or lower steps."},
    {BB_CODE(no_output), "no output for {time}", "The trial printed nothing for stall_timeout_s.",
     "Raise stall_timeout_s if the trainer may be silent for longer."},
    {BB_CODE(log_too_long),
     "its log grew beyond the {bytes} bytes allowed (log_limit_bytes) and was cut there",
     "A trainer that prints without end would fill the disk.",
     "Raise log_limit_bytes, or let the trainer print less."},
    {BB_CODE(not_started), "{text}", "The trainer could not be started."},
    {BB_CODE(lost), "{text}",
     "A batch system or a lost node ended the job, not the trainer itself."},
    {BB_CODE(exit_status), "{text}", "The exit status or signal of the trainer, in words."},
    {BB_CODE(kernel_out_of_memory), "ended by the kernel's out-of-memory killer",
     "The kernel ended processes while the trial ran.",
     "Use a smaller batch or fewer ranks on the machine."},
    {BB_CODE(harness_ended_first), "the sweep ended before the trainer",
     "The sweep was interrupted, or its process died, while the trainer ran.",
     "None is needed: the same command runs the trial again."},
    {BB_CODE(printed_in_log_txt), "log.txt:{at}",
     "The failure is in what the trainer printed, not in the log that it wrote itself."},

    // Cells.
    {BB_CODE(earlier_attempt), "attempt {attempt} ended as {status}{detail}",
     "A trial was repeated: the last attempt counts."},
    {BB_CODE(figures_lost), "its figures could not be read back from the temporary file",
     "The disk of temporary files failed.", "Free space in TMPDIR and repeat."},
    {BB_CODE(keys_repeated),
     "the key of {cells} is that of an earlier one, such as {key}: numbered, and all figures are "
     "computed again",
     "Cells of two results were put into one file.",
     "Name both files to bertbench report, which keeps them apart."},
    {BB_CODE(figures_contradict_trials),
     "n, rate or spread of {cells} does not follow from the trials, such as {key}: all figures are "
     "computed again",
     "Trials or their figures were changed after the result was written."},
    {BB_CODE(base_unusable), "the base {base} {why}; no speedup is given",
     "--base names no cell with a rate.", "Choose a cell that the table shows."},
    {BB_CODE(base_ambiguous),
     "no speedup of {cells}: more than one log fits as the base ({first}, {second}); extract "
     "--base KEY chooses",
     "Several cells could be the base of a speedup.", "Use --base KEY."},
    {BB_CODE(trials_without_number), "{without} of {trials} trials give no number ({why})",
     "Some trials failed or cover no window.", "Look at their outcomes."},
    {BB_CODE(trials_equal),
     "{equal} of {trials} trials {verb} another in every digit of rate, steps and losses: is a run "
     "counted twice? Its spread means nothing then",
     "Two logs of one run were given as two trials.", "Give each run once."},
    {BB_CODE(estimators_differ), "trials were measured by different estimators: {estimators}",
     "Trials of a cell are not of one kind.", "Choose one by --estimator."},
    {BB_CODE(lengths_not_constant),
     "{tokens:.0f} tokens/s per GPU at length {length} are no fewer than {shorter_tokens:.0f} at "
     "{shorter}: lengths are probably not constant",
     "Longer sequences cost more per token; here they do not.", "Check the sequence length."},
    {BB_CODE(gpus_differ),
     "trials ran on different GPUs: {gpus}; no peak is taken from these names",
     "The logs of a cell name more than one GPU.", "Extract the logs of each GPU by themselves."},
    {BB_CODE(mfu_above_one),
     "MFU {percent:.0f} % is above 100 % of {peak}: the rate, the sequence length, the model or "
     "the precision is not what it is given as",
     "More work per second than the hardware can do.", "Check the facts, or give --peak-tflops."},

    // The gate.
    {BB_CODE(held_against_itself),
     "the baseline holds this very result, of {created}: held against itself it shows no loss",
     "Time and rates of the result are those of a run of the baseline.",
     "Name the baseline of before; store a result after its check."},
    {BB_CODE(context_one_sided), "{key} is known only for the {side}",
     "A key of the context is absent on one side."},
    {BB_CODE(context_differs), "{key} differs: \"{now}\" now, \"{before}\" in the baseline",
     "A key of the context differs and does not forbid the comparison."},
    {BB_CODE(tool_version_differs), "the result is by bertbench {now}, the baseline by {before}",
     "The two sides were written by different releases."},
    {BB_CODE(stored_runs_left_out), "{runs} of another machine or system left out",
     "The store holds runs of other machines."},
    {BB_CODE(stored_failed_trials),
     "{failed} of {trials} trials failed ({outcomes}; {cells}): held against this run, trials may "
     "fail as often and pass",
     "`store add` keeps a run of which trials failed. It is a baseline like any other: `check` "
     "reports only a clearly larger share of failed trials.",
     "Mend the trainer, measure again and add that run: the gate pools the last five."},
    {BB_CODE(nothing_compared), "nothing was compared: {why}", "No cell has a twin with a number.",
     "Check that both sides come from the same configuration."},

    // Why a cell has its verdict.
    {BB_CODE(slower_beyond_tolerance),
     "{change}: {now:rate} against {reference:rate} {unit}{interval}, n = {n} against {n_base}, "
     "p = {p:.2g}, {p_holm:.2g} after Holm, {tolerance}",
     "The loss exceeds the tolerance and is significant."},
    {BB_CODE(faster_beyond_tolerance),
     "{change}: {now:rate} against {reference:rate} {unit}{interval}, n = {n} against {n_base}, "
     "p = {p:.2g}, {p_holm:.2g} after Holm, {tolerance}",
     "The gain exceeds the tolerance and is significant."},
    {BB_CODE(within_tolerance),
     "{change}: {now:rate} against {reference:rate} {unit}{interval}, n = {n} against {n_base}, "
     "p = {p:.2g}, {p_holm:.2g} after Holm, within the {tolerance}",
     "The change does not exceed the tolerance."},
    {BB_CODE(not_significant),
     "{change}: {now:rate} against {reference:rate} {unit}{interval}, n = {n} against {n_base}, "
     "p = {p:.2g}, {p_holm:.2g} after Holm, but not significant, beyond the {tolerance}",
     "The change exceeds the tolerance, but chance makes such a one too often."},
    {BB_CODE(too_few_trials),
     "{n} against {n_base} trials cannot decide {cells}: the smallest p is {least:.2g}, the level "
     "{level:.2g}; {need}",
     "No measured values could be significant with so few trials.",
     "Measure the trials that the text names."},
    {BB_CODE(no_loss_could_fail), "nothing is decided: {tolerance}",
     "The baseline is so noisy that its tolerance exceeds 100 %, the largest loss there is.",
     "Make the baseline anew where its trials agree, of one program, or compare in pairs."},
    {BB_CODE(measured_so_far),
     "so far {change}: {now:rate} against {reference:rate} {unit}{interval}, n = {n} against "
     "{n_base}",
     "The numbers of a cell that is not decided."},
    {BB_CODE(pairs_left_out),
     "{hit} left out: one half is more than 3.5 sd below its variant's median",
     "Something slowed one half of a pair, so that its ratio is not that of the variants."},
    {BB_CODE(halves_without_partner), "{trials} without a partner of the same number and session",
     "One half of a pair failed or was not measured yet.", "Run the same sweep again."},
    {BB_CODE(number_lost),
     "no trial gives a number any more ({outcomes}); {reference:rate} {unit} in the baseline",
     "The baseline has a number for the cell, the result has none.", "See how its trials ended."},
    {BB_CODE(more_trials_failed),
     "{failed} of {n} trials failed ({outcomes}), {failed_base} of {n_base} in the baseline; the "
     "first is trial {trial}: see {log}",
     "More trials of the cell ended badly than the baseline's do, whatever rate they had until "
     "then.",
     "Read the log that is named, mend the trainer or its machine and measure again; no waiver "
     "and no rerun lets it pass."},
    {BB_CODE(trials_failed_as_before),
     "{failed} of {n} trials failed ({outcomes}), {failed_base} of {n_base} in the baseline: no "
     "clearly larger share",
     "Trials ended badly on both sides, so the gate has no news of it.",
     "Mend the trainer, and add a run to the store whose trials end well."},
    {BB_CODE(baseline_without_number), "the baseline has no number for it ({outcomes})",
     "Only the result has a number."},
    {BB_CODE(number_on_neither_side), "no number on either side ({outcomes})",
     "Neither side has a number."},
    {BB_CODE(not_in_baseline), "the baseline has no such cell", "The cell is new."},
    {BB_CODE(not_in_result), "in the baseline, but not in the result",
     "A cell of the baseline was not measured.", "--allow-missing where that is meant."},
    {BB_CODE(context_forbids),
     "{key} differs: {now} now, {before} in the baseline (--allow-context {key})",
     "What the numbers rest on differs.", "--allow-context KEY where it does not matter."},
    {BB_CODE(unit_differs), "unit differs: {now} now, {before} in the baseline",
     "One side counts iterations, the other sequences."},
    {BB_CODE(simulated_against_measured),
     "{now} now, {before} in the baseline ({key}): a simulation is never compared with a "
     "measurement",
     "One side was simulated."},
    {BB_CODE(rerun_confirms), "confirmed by a rerun{place}: {reason}",
     "A regression that was measured again is one again."},
    {BB_CODE(rerun_clears), "not confirmed by a rerun{place} ({reason})",
     "A regression that was measured again is none; on other nodes, only the first ones show it.",
     "Where the nodes differ, look at those of the first measurement (bertbench doctor)."},
    {BB_CODE(rerun_undecided), "the rerun is {verdict}: {reason}",
     "A regression was measured again without an answer."},
    {BB_CODE(rerun_missing), "not measured again", "The rerun holds no such cell."},
    {BB_CODE(at_first), "at first {reason}", "What a cell that a rerun cleared was flagged for."},

    // Audit of published tables.
    {BB_CODE(rule_rarely_holds),
     "'{rule}' holds in {holds} of {checked} cells: {column} is taken as another quantity and not "
     "checked by it",
     "A column seems to be something else than its heading.", "--column assigns headings."},
    {BB_CODE(nothing_to_check), "nothing to check: {why}",
     "No rule applies to the table's columns.", "--column assigns headings."},
    {BB_CODE(heading_unknown), "no column is headed '{heading}'",
     "--column names a heading that the table lacks.", "Use a heading of the table."},
    {BB_CODE(cells_not_under_headings), "cells are not under their headings; read in order instead",
     "A table of text is not aligned."},
    {BB_CODE(table_unreadable), "{text}", "A line that looks like a table could not be read."},

    // Convergence and reconciliation.
    {BB_CODE(no_score), "{source}: no exact match and no F1", "A row of the study has no score."},
    {BB_CODE(scores_are_fractions), "{source}: scores up to 1 are fractions: multiplied by 100",
     "Scores of a study are in percent."},
    {BB_CODE(exact_match_above_f1),
     "{source}: the exact match, {exact_match:.6g}, is above F1, {f1:.6g}, which it cannot be",
     "An exact answer counts whole in F1 too.", "Are the columns exchanged?"},
    {BB_CODE(seed_stands_twice),
     "{source}: a row before has this checkpoint and seed {seed}: their mean counts once",
     "Two rows of a study are of one fine-tuning.", "Take one out, or give it a seed of its own."},
    {BB_CODE(hours_not_calculated), "{source}: --seconds-per-step gives no hours, as {why}",
     "Hours are those of the phase-1 checkpoint and of the steps since.",
     "Give the column from_step, and steps that count all phases."},
    {BB_CODE(optimizer_steps_useless),
     "the given optimizer steps do not help: the sequences of one are unknown; give "
     "--gradient-accumulation-steps",
     "reconcile needs the sequences of a step.", "Give --gradient-accumulation-steps."},
    {BB_CODE(steps_missing), "no log has the steps {first} to {last}",
     "A log of the training is missing.", "Add the missing log."},
    {BB_CODE(jobs_overlap),
     "{log} begins {seconds:.6g} s before the job before it ends: that time counts for both",
     "The times of a training's jobs sum to more than it took."},
    {BB_CODE(work_unknown),
     "the logs do not print the whole work; give --optimizer-steps or --sequences",
     "reconcile needs the work of the run.", "Give --optimizer-steps or --sequences."},
    {BB_CODE(steps_not_numbered),
     "the logs do not number optimizer steps: work that a restart did again cannot be found and is "
     "counted",
     "Restarts may count work twice."},
    {BB_CODE(earlier_work_not_counted),
     "the log begins after step {step}: earlier work is not counted, though its time may be; give "
     "--optimizer-steps",
     "The log is of a resumed run.", "Give --optimizer-steps."},
    {BB_CODE(part_without_time), "{log} has no time; give the whole with --total-seconds",
     "reconcile needs the time of the run.", "Give --total-seconds."},
    {BB_CODE(clock_of_records),
     "no log states a total time: the clock is that of the records, without start-up and end",
     "The time of the run is taken from its records.", "Give --total-seconds."},
    {BB_CODE(total_off_every_estimate),
     "the total of {rate:.6g} {unit} is more than 2 times off every estimate: work and time are "
     "not of the same stretch of the run, so there is no gap; give --optimizer-steps and "
     "--total-seconds",
     "Work and time do not belong together.", "Give --optimizer-steps and --total-seconds."},
    {BB_CODE(other_kinds_left_out), "{runs} of another kind (evaluation, inference) left out",
     "reconcile is of training."},

    // The original scripts of DLPerf.
    {BB_CODE(dlperf_script), "DLPerf {script}: {text}",
     "What the original DLPerf script does with this log."},
    {BB_CODE(dlperf_not_applied), "{why}: the number is this tool's own",
     "--compat dlperf does not apply to this log."},
    {BB_CODE(dlperf_differs),
     "DLPerf {script} takes {dlperf:.2f} sequences/s; without --compat it is {own:.2f}",
     "The original script and this tool give different rates."},

    // The sweep.
    {BB_CODE(last_run_of_log_counts), "the log holds {runs} training runs; the last one counts",
     "A trial's log with several runs.",
     "Where several processes print the same steps, let one of them print."},
    {BB_CODE(log_cut_while_running),
     "its log was cut while it ran; what was written after that counts",
     "Something truncated the log of a running trial."},
    {BB_CODE(log_replaced_while_running),
     "its log was removed or replaced while it ran; it is written again",
     "Something replaced the log of a running trial."},
    {BB_CODE(own_log_missing), "no file matches {patterns}: its log is what the program printed",
     "The key \"logs\" names a file that the trial did not write.",
     "Check its path, which is below the folder of the attempt: begin it with {dir} or "
     "{output}, and give the program that folder."},
    {BB_CODE(processes_left_behind), "{processes} that the trainer left running {were} ended",
     "The trainer left processes.", "Let the trainer wait for its children."},
    {BB_CODE(trainer_build_changed),
     "measured with another build of the trainer than the one there now",
     "A kept trial was measured with an older build.", "Measure again in another folder."},
    {BB_CODE(machine_mark), "{kind}: {text}",
     "What the harness saw of the machine during the trial."},
    {BB_CODE(simulated_cluster),
     "simulated: {cluster} of {ranks}, whose communication lasts as a model of the cluster "
     "computes",
     "The cell ran on a simulated cluster."},
    {BB_CODE(nodes_emulated), "nodes are emulated: {nodes} nodes are ranks of {machines}",
     "Several nodes of the cell are one machine."},
    {BB_CODE(precision_emulated),
     "{precision} is emulated by {computes}: its losses are real, its times and rates are not",
     "The log's header states that the precision is one of values alone.",
     "Compare no rates of it."},
    {BB_CODE(cpu_stands_in), "one CPU rank stands in for a GPU", "The cell ran without GPUs."},
    {BB_CODE(ranks_outnumber_cores), "ranks outnumber cores: {ranks} ranks on {cores}",
     "Ranks of the cell share cores.", "Use fewer ranks or more cores."},
    {BB_CODE(batch_found), "{text}", "The batch of the cell was found by a search."},
    {BB_CODE(queued_again), "{launcher} queued the job again {times}",
     "The batch system started the job of the trial more than once.",
     "Look into the batch system's log for the nodes that failed."},
    {BB_CODE(machine_shared), "shared the machine {host} with another trial of this sweep",
     "Two trials ran on one machine at the same time.", "Ask for whole nodes."},
    {BB_CODE(attempt_before), "attempt {attempt} ended with {outcome}",
     "An earlier attempt of the trial failed and was repeated."},
    {BB_CODE(not_rerun), "{config} has no cell {cell}; it is not rerun",
     "The configuration of --confirm does not hold a flagged cell.",
     "Give the configuration that the result was measured with."},
    {BB_CODE(restart_ambiguous),
     "begins after step {step}, as if it continued another log, but more than one log fits "
     "(of{logs}): not joined; `bertbench reconcile` takes the logs of one run",
     "A log could be the restart of several others.",
     "Name the logs of one run to `bertbench reconcile`."},
    {BB_CODE(other_environment),
     "was measured in another environment than {first}; the report shows that of the first",
     "A report of several results shows one environment."},
    {BB_CODE(more_notices), "{notices} more, all in the JSON form",
     "One code has notices of more than three wordings: the terminal shows the first three.",
     "Use --json."},
    {BB_CODE(two_rates_of_images),
     "the log states two rates: train.total_ips, used here, includes the loading of data; "
     "train.compute_ips does not; both count images",
     "DLLogger's summary of an image classifier."},

    // The gate: what cells share, memory and loss.
    {BB_CODE(cells_slower_together),
     "{slower} of {cells} cells are slower at once, by {shared} in the median; the machine's own "
     "speed {probe}: what they share is the machine or the program, not one cell",
     "What half of the cells lost is at least half the floor.",
     "--confirm measures again later; variants measured in turn (--paired) share what the machine "
     "does."},
    {BB_CODE(slower_with_the_machine),
     "all cells lost {shared} in the median and the machine's own speed {probe}: beyond what both "
     "show this cell lost {own}, within its tolerance of {tolerance}",
     "A loss that the machine explains; the cell's numbers are left as they were measured.",
     "Measure again: --confirm, or variants in turn (--paired)."},
    {BB_CODE(memory_grew),
     "peak memory grew by {change}: {now:.1f} MiB against {before:.1f} MiB ({source}), floor "
     "{floor}",
     "The median of the trials' peaks exceeds the baseline's by more than --memory-floor.",
     "--memory-floor where that much is meant."},
    {BB_CODE(memory_fell),
     "peak memory fell by {change}: {now:.1f} MiB against {before:.1f} MiB ({source}), floor "
     "{floor}",
     "The trials need less memory than the baseline's."},
    {BB_CODE(memory_within_floor),
     "peak memory changed by {change}: {now:.1f} MiB against {before:.1f} MiB ({source}), within "
     "the floor of {floor} or the 32 MiB by which samples of a process may miss its peak",
     "The change of memory does not exceed --memory-floor."},
    {BB_CODE(memory_sources_differ),
     "peak memory is from {now} now, from {before} in the baseline: not compared",
     "A trainer's own statement and what a GPU or the system shows are not the same quantity."},
    {BB_CODE(loss_became_not_finite),
     "the loss is NaN or infinite in {trials} of {n} trials, first at step {step}; in "
     "{trials_base} of {n_base} of the baseline",
     "More of the trials lose their training than in the baseline."},
    {BB_CODE(loss_curves_apart),
     "the loss curves part at step {step}: {now:.6g} against {before:.6g}, tolerance {tolerance}",
     "At equal seed and data a trial's losses leave those of the baseline.",
     "--allow-context loss where the training was meant to change."},
    {BB_CODE(loss_curves_agree),
     "the loss curves agree in all {steps} losses compared, tolerance {tolerance}",
     "At equal seed and data the losses are those of the baseline."},
    {BB_CODE(loss_curves_not_compared), "losses are finite; curves are not compared: {why}",
     "Curves can be compared only where seed and work are the same."},
    {BB_CODE(part_longer),
     "{part}: {change} longer, {now:.4g} ms of a step against {before:.4g} ms, n = {n} against "
     "{n_base}, p = {p_holm:.2g} after Holm over all parts, beyond the tolerance of {tolerance} at "
     "{level:.2g}",
     "A part of the step takes longer than in the baseline, whatever the whole step does.",
     "Set --part-floor where such a change is intended."},
    {BB_CODE(part_slower_with_the_machine),
     "{part}: {change} longer, {now:.4g} ms of a step against {before:.4g} ms, and the machine "
     "became slower: beyond what it lost the part takes {own} longer, within its tolerance of "
     "{tolerance}",
     "A part that takes longer by no more than the machine explains; its numbers are left as they "
     "were measured.",
     "Measure again: --confirm, or variants in turn (--paired)."},
    {BB_CODE(part_shorter),
     "{part}: {change} shorter, {now:.4g} ms of a step against {before:.4g} ms, n = {n} against "
     "{n_base}, p = {p_holm:.2g} after Holm over all parts, beyond the tolerance of {tolerance} at "
     "{level:.2g}",
     "A part of the step takes less time than in the baseline."},
    {BB_CODE(part_unchanged),
     "{part}: {change} apart, {now:.4g} ms of a step against {before:.4g} ms, n = {n} against "
     "{n_base}, p = {p_holm:.2g} after Holm over all parts, within the tolerance of {tolerance}, "
     "or not significant at {level:.2g}",
     "The part may have changed by chance alone."},
    {BB_CODE(part_undecided),
     "{part}: {change} apart, {now:.4g} ms of a step against {before:.4g} ms, n = {n} against "
     "{n_base}, p = {p_holm:.2g} after Holm over all parts, which so few trials cannot decide "
     "(tolerance {tolerance}, level {level:.2g})",
     "All parts of all cells share a fifth of alpha, and need more trials than the cells do.",
     "More trials."},

    // Waivers.
    {BB_CODE(waived),
     "waived until {expiry}: {what} is worse by {loss}, and {limit} is allowed ({reason})",
     "A waiver allows this loss, so it does not fail the gate."},
    {BB_CODE(waiver_not_enough),
     "the waiver until {expiry} allows {limit}, and {what} is worse by {loss} ({reason})",
     "The loss exceeds what its waiver allows, or its size is not known.",
     "Mend the loss, or agree on a larger limit."},
    {BB_CODE(waiver_expired), "the waiver of {what} of {cell} expired after {expiry} ({reason})",
     "The day until which a loss was accepted has passed: it fails the gate again.",
     "Mend the loss, or remove the waiver."},
    {BB_CODE(waiver_without_cell),
     "the waiver of {what} of {cell} matches no cell of the result or the baseline",
     "A waiver names a cell that is not there: waivers go by the whole key of a cell.",
     "Remove it, or write the key as `bertbench check` prints it."},
});

// The name and the format of the field that begins at `at`, where a '{' is; ":rate" stands for
// rate_text().
struct Field {
  std::string_view name, format;
};
Field field_at(std::string_view text, std::size_t at) {
  const std::string_view inside = text.substr(at + 1, text.find('}', at) - at - 1);
  const std::size_t colon = inside.find(':');
  return {inside.substr(0, colon), colon == std::string_view::npos ? "" : inside.substr(colon)};
}

}  // namespace

std::span<const NoticeKind> notice_kinds() { return kKinds; }

const NoticeKind& kind_of(NoticeCode code) { return kKinds.at(static_cast<std::size_t>(code)); }

std::string_view name(NoticeCode code) { return kind_of(code).name; }

std::optional<NoticeCode> parse_notice_code(std::string_view name) {
  const auto at = std::ranges::find(kKinds, name, &NoticeKind::name);
  return at == kKinds.end() ? std::nullopt : std::optional(at->code);
}

std::vector<std::string_view> value_names(std::string_view text) {
  std::vector<std::string_view> out;
  for (auto at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const Field field = field_at(text, at);
    if (std::ranges::count(out, field.name) == 0) out.push_back(field.name);
  }
  return out;
}

std::string text_of(const Notice& notice) {
  const std::string_view text = kind_of(notice.code).text;
  const std::vector<std::string_view> names = value_names(text);
  std::string out = notice.log.empty() ? std::string() : notice.log + ": ";
  std::size_t from = 0;
  for (auto at = text.find('{'); at != std::string_view::npos; at = text.find('{', from)) {
    out += text.substr(from, at - from);
    from = text.find('}', at) + 1;
    const Field field = field_at(text, at);
    const auto which =
        static_cast<std::size_t>(std::ranges::find(names, field.name) - names.begin());
    if (which >= notice.values.size()) continue;  // a result of another release
    const NoticeValue& value = notice.values[which];
    const std::string format = fmt::format("{{{}}}", field.format);
    if (const auto* text_value = std::get_if<std::string>(&value)) {
      out += *text_value;
    } else if (const auto* count = std::get_if<std::int64_t>(&value);
               count && field.format.empty()) {
      out += std::to_string(*count);
    } else {
      const double number = count ? static_cast<double>(*count) : std::get<double>(value);
      out +=
          field.format == ":rate" ? rate_text(number) : fmt::format(fmt::runtime(format), number);
    }
  }
  out += text.substr(from);
  return out;
}

std::vector<std::string> texts_of(std::span<const Notice> notices) {
  std::vector<std::string> out;
  for (const Notice& notice : notices) out.push_back(text_of(notice));
  return out;
}

Notice of_log(std::string path, Notice notice) {
  notice.log = std::move(path);
  return notice;
}

Notice foreign_notice(std::int64_t line, std::string text) {
  return make_notice(NoticeCode::foreign, line, std::move(text));
}

}  // namespace bertbench
