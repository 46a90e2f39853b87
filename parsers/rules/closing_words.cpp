#include <algorithm>
#include <functional>
#include <string>

#include "parsers/core/text.h"
#include "parsers/lines/decoration.h"
#include "parsers/lines/evaluation_words.h"
#include "parsers/rules/outcome_rules.h"

namespace bertbench {
namespace {

using Kind = ClosingWords::Kind;

/// What a line that holds a literal must be to close a training.
enum class Reading : std::uint8_t {
  whole,    ///< the literal alone states it
  printed,  ///< the literal alone implies it: printed whatever happened
  phrase,   ///< a word of ending: next to a word of training, or the line's only word
  saved,    ///< a model is saved that is no checkpoint of an epoch or step
  score,    ///< scikit-learn's report: a name, and nothing else but numbers
  report,   ///< a result that is printed once: a test, the best value, the final one
  time,     ///< how long it took
  cell,     ///< of a notebook: a cell that has run, after that of the training
  event,    ///< of a line of JSON: the event that the literal names is the end
  script,   ///< of a script without blanks: an ending in one clause with a training
  reason,   ///< a training stops, with the reason of its own
  limit,    ///< a limit of the training is reached, or its budget used up
  exit,     ///< a program leaves without an error
  frame,    ///< the lower border of a table, and nothing else
  begin,    ///< another epoch begins
};

struct ClosingRule {
  std::string_view literal;
  Reading reading;
  std::string_view with{};  ///< must stand on the line as well: spares a look at common words
};

// Each place of a literal in a log costs a look at its line: of words that are common in any text
// ("test ", "omplete") the longer forms are listed.
constexpr ClosingRule kRules[] = {
    // Endings in Chinese, Japanese, Korean and Russian
    // (quoted/closing_words.end_a_training_in_other_languages).
    {"完成", Reading::script},
    {"结束", Reading::script},
    {"結束", Reading::script},
    {"完毕", Reading::script},
    {"完了", Reading::script},
    {"終了", Reading::script},
    {"완료", Reading::script},
    {"종료", Reading::script},
    {"заверш", Reading::script},
    {"законч", Reading::script},
    {"оконч", Reading::script},
    {"完畢", Reading::script},
    {"끝났", Reading::script},
    {"отово", Reading::script},
    // Early stopping in other languages, in words that no setting has
    // (quoted/closing_words.early_stop_in_other_languages).
    {"学習を打ち切", Reading::whole},
    {"学習を早期終了", Reading::whole},
    {"早期終了しま", Reading::whole},
    {"触发早停", Reading::whole},
    {"早停触发", Reading::whole},
    {"提前停止训练", Reading::whole},
    {"提前终止训练", Reading::whole},
    {"조기 종료합니다", Reading::whole},
    {"조기 종료되었", Reading::whole},
    {"анняя остановка на", Reading::whole},
    {"rrêt anticipé à l", Reading::whole},
    {"arada temprana en", Reading::whole},
    {"arada antecipada na", Reading::whole},
    {"raining vorzeitig beendet", Reading::whole},
    // Programs that watched the process, launched it or gave it its machines.
    {"wandb: Find logs at: ", Reading::printed},
    {"wandb: Program ended successfully", Reading::whole},
    {" exits successfully.", Reading::whole},               // DeepSpeed
    {"] Local processes completed.", Reading::whole},       // Paddle's launcher
    {"State: COMPLETED", Reading::whole},                   // Slurm's seff
    {"Successfully completed.", Reading::whole},            // LSF
    {"Finished: SUCCESS", Reading::whole},                  // Jenkins
    {"Job succeeded", Reading::whole},                      // GitLab
    {"Process finished with exit code 0", Reading::whole},  // PyCharm
    {"BUILD SUCCESS", Reading::whole},                      // Maven, Gradle
    {" passed in ", Reading::whole},                        // pytest
    {"-Finish: step: ", Reading::whole},                    // FastEstimator
    {"ngine run finished. Time taken", Reading::whole},     // Ignite
    {"ngine run complete. Time taken", Reading::whole},     // Ignite, older releases
    {"callbacks.History ", Reading::whole},                 // what Keras' fit returns, in a shell
    {"callbacks.history.History ", Reading::whole},         // of Keras 3
    // "global_step = 26, average loss = 9.35" of transformers' first scripts
    // (quoted/closing_words.the_average_loss_of_a_whole_training).
    {", average loss = ", Reading::whole},
    // Scripts: "Training finished.", "Finished Training", "training Res18 done in 31.79 seconds"
    // (quoted/closing_words.end_a_run_of_any_format), and in Indonesian, German, Spanish,
    // Portuguese, French, Italian and Turkish.
    {"inish", Reading::phrase},
    {"INISH", Reading::phrase},
    {"ompleted", Reading::phrase},
    {"ompletes", Reading::phrase},
    {"OMPLETE", Reading::phrase},
    {"ing complete", Reading::phrase},
    {"ion complete", Reading::phrase},
    {"Complete", Reading::phrase},
    {"Done", Reading::phrase},
    {"done", Reading::phrase},
    {"DONE", Reading::phrase},
    {" ended", Reading::phrase},
    {"nd of train", Reading::phrase},
    {"nd of Train", Reading::phrase},
    {"nd of the train", Reading::phrase},
    {"is over", Reading::phrase},
    {"selesai", Reading::phrase},
    {"abgeschlossen", Reading::phrase},
    {"beendet", Reading::phrase},
    {"ompletad", Reading::phrase},
    {"OMPLETAD", Reading::phrase},
    {"inalizad", Reading::phrase},
    {"erminad", Reading::phrase},
    {"erminé", Reading::phrase},
    {"onclu", Reading::phrase},
    {"erminato", Reading::phrase},
    {"ompletato", Reading::phrase},
    {"tamamland", Reading::phrase},
    {"ertig", Reading::phrase},
    {"in de l", Reading::phrase},
    {"in del ent", Reading::phrase},
    {"im do tre", Reading::phrase},
    {"nde des Train", Reading::phrase},
    // "max_steps_reached", "budget (384k imgs) used up"; "exit code=0", "Exiting main."
    // (quoted/closing_words.a_limit_of_the_training_is_reached and
    // .a_program_exits_without_an_error).
    {"eached", Reading::limit},
    {"used up", Reading::limit},
    {"xhausted", Reading::limit},
    {"xit code", Reading::exit},
    {"xit status", Reading::exit},
    {"xit Status", Reading::exit},  // PBS
    {"exitcode", Reading::exit},
    {"with code 0", Reading::exit},
    {"code=0", Reading::exit},
    {"Exiting", Reading::exit},
    {"Stop training", Reading::phrase},  // Ignite
    // "Patience exhausted, stopping.", "Time budget exhausted, exiting training loop"
    // (quoted/closing_words.a_training_stops_for_its_own_reason).
    {"topping", Reading::reason},
    {"xiting", Reading::reason},
    {"xhausted", Reading::reason},
    {"eached", Reading::reason},
    {"not improve", Reading::reason},
    {"mprovement", Reading::reason},
    {"onverged after ", Reading::reason},
    {"tarting testing", Reading::phrase},  // the template lightning-hydra-template
    {"arly stop", Reading::phrase},        // Keras' callback and scripts
    {"topping early", Reading::phrase},    // "Stopping early after 10 epochs (no improvement)"
    {"topped early", Reading::phrase},
    // What scripts print at their end without such a word
    // (quoted/closing_words.a_result_or_a_saved_model_after_the_last_record_implies_an_end and
    // .what_comes_of_a_training_implies_its_end).
    {"aved ", Reading::saved},
    {"Saving ", Reading::saved},
    {" saving ", Reading::saved},
    {"aved: ", Reading::saved},
    {"ritten to ", Reading::saved},
    {"xported to ", Reading::saved},
    {"xported model", Reading::saved},
    {" pushed to ", Reading::saved},
    {"Final ", Reading::report},
    {"final ", Reading::report},
    {"Best ", Reading::report},
    {"best val", Reading::report},
    {"best acc", Reading::report},
    {"best test", Reading::report},
    {"Test ", Reading::report},
    {"TEST ", Reading::report},
    {"best_", Reading::report},
    {"test: ", Reading::report},
    {"Test: ", Reading::report},
    {"test acc", Reading::report},
    {"test loss", Reading::report},
    {"test f1", Reading::report},
    {"test Acc", Reading::report},
    {"test Loss", Reading::report},
    {"test F1", Reading::report},
    {"esting acc", Reading::report},
    {"esting Acc", Reading::report},
    {"macro avg", Reading::score},  // scikit-learn's report
    {"raining time", Reading::time},
    {"raining took", Reading::time},
    {"otal time", Reading::time},
    {"lapsed time", Reading::time},
    {"ime elapsed", Reading::time},
    {"总时间", Reading::time},
    {"总用时", Reading::time},
    {"总耗时", Reading::time},
    {"合計時間", Reading::time},
    {"総時間", Reading::time},
    {"총 시간", Reading::time},
    {"бщее время", Reading::time},
    {"esamtzeit", Reading::time},
    {"esamtdauer", Reading::time},
    {"emps total", Reading::time},
    {"empo total", Reading::time},
    // The lower border of a table that is drawn once (quoted/closing_words.a_table_is_closed).
    {"└─", Reading::frame},
    {"╰─", Reading::frame},
    {"╚═", Reading::frame},
    // "Epoch 4 started at 19:29:48" as the last line
    // (quoted/closing_words.an_epoch_that_begins_undoes_an_implied_end).
    {"tart of epoch ", Reading::begin},
    {"tart of Epoch ", Reading::begin},
    {"tarting epoch ", Reading::begin},
    {"tarting Epoch ", Reading::begin},
    {" started", Reading::begin, "poch "},
    {" begins", Reading::begin, "poch "},
    // A notebook runs the next cell once the one before it is done
    // (quoted/closing_words.a_later_cell_of_a_notebook_has_run).
    {"\"execution_count\": ", Reading::cell},
    // {"event": "end", "step": 500}
    {"\"end\"", Reading::event},
    {"\"done\"", Reading::event},
    {"\"finished\"", Reading::event},
    {"\"completed\"", Reading::event},
    {"\"train_end\"", Reading::event},
    {"\"training_end\"", Reading::event},
    {"\"run_end\"", Reading::event},
};

constexpr auto kLiterals = literals_of(kRules, &ClosingRule::literal);

using Words = std::span<const std::string_view>;

// A training, or the program that has it.
constexpr std::string_view kTraining[] = {
    "entrenamiento", "treinamento",  "treino", "entraînement", "addestramento", "pelatihan",
    "eğitim",        "training",     "train",  "pretraining",  "pretrain",      "finetuning",
    "trainings",     "entrainement", "tuning", "learning",     "fitting",       "optimization",
    "optimisation",  "experiment",   "script", "job",          "program"};
constexpr std::string_view kEnding[] = {
    "finished",   "finish",     "finishes",   "complete",   "completed",     "completes",
    "done",       "ended",      "over",       "selesai",    "abgeschlossen", "beendet",
    "completado", "completada", "finalizado", "finalizada", "terminado",     "terminada",
    "terminé",    "concluido",  "concluído",  "concluida",  "concluída",     "terminato",
    "completato", "tamamlandi", "tamamlandı", "fertig"};
// Words that may stand between an ending and its training: "end of the training", "Finished model
// training".
constexpr std::string_view kFillers[] = {"of",  "the", "all", "with", "model", "this", "fine",
                                         "pre", "de",  "l",   "del",  "do",    "des",  "der"};
// "End of training", "Fin de l'entraînement", "Fim do treinamento", "Ende des Trainings".
constexpr std::string_view kEndsOf[] = {"end", "fin", "fim", "ende"};
constexpr std::string_view kOf[] = {"of", "de", "del", "do", "des"};
// A part of a training, or what belongs to a training but is none
// (quoted/closing_words.are_none_of_an_epoch_or_a_part).
constexpr std::string_view kParts[] = {
    "epoch",  "epochs",  "step",     "steps",   "iteration", "iterations", "iter",     "it",
    "batch",  "batches", "stage",    "phase",   "warmup",    "data",       "dataset",  "datasets",
    "set",    "split",   "examples", "samples", "images",    "files",      "features", "loading",
    "loader", "loaded",  "setup",    "cache",   "config",    "round",      "cycle"};
// Words that make it a condition, a plan or advice: "When training is finished, run eval.py".
// "hasn't" and "isn't" are cut to "hasn", "isn", "t"
// (quoted/closing_words.a_training_that_has_not_finished_is_none).
constexpr std::string_view kUnreal[] = {
    "not",  "if",      "when",  "once",  "until",  "before", "after",    "while",  "will",
    "can",  "should",  "must",  "may",   "be",     "to",     "for",      "never",  "t",
    "load", "loading", "start", "begin", "resume", "skip",   "skipping", "already"};
// What is measured at the end: "Test accuracy: 88.1 %".
constexpr std::string_view kMeasured[] = {
    "accuracy",   "acc",    "loss",       "error",       "f1",         "auc",
    "score",      "scores", "result",     "results",     "bleu",       "metric",
    "metrics",    "epoch",  "perplexity", "ppl",         "map",        "miou",
    "iou",        "rmse",   "mae",        "mse",         "dice",       "reward",
    "wer",        "model",  "psnr",       "precision",   "recall",     "val",
    "validation", "test",   "macro",      "performance", "evaluation", "valid"};

bool is_in(Words list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool any_in(Words words, Words list) {
  return std::ranges::any_of(words, [&](auto word) { return is_in(list, word); });
}

/// The words of a text in lower case, cut into clauses. A word that holds a digit is one, too.
struct Sentence {
  std::string text;  ///< in lower case
  std::vector<std::string_view> words;
  std::vector<std::size_t> clauses;  ///< where each begins in `words`

  Sentence(const Sentence&) = delete;  // its words lie in its text
  Sentence& operator=(const Sentence&) = delete;
  explicit Sentence(std::string_view line) : text(lower(line)) {
    constexpr std::size_t kBytesOfAWord = 6;  // with the blank after it, as most have
    words.reserve(text.size() / kBytesOfAWord + 1);
    bool ends = true;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at;
      while (const std::size_t letter = letter_at(end)) end += letter;
      if (end > at) {
        if (ends) clauses.push_back(words.size());
        ends = false;
        words.push_back(std::string_view(text).substr(at, end - at));
        at = end;
        continue;
      }
      // "train.py", "v1.2": a point within a word ends nothing.
      const bool inner = at + 1 < text.size() && text[at + 1] != ' ' && text[at] == '.';
      constexpr std::string_view kBreaks = ".,;:!?|()[]{}=/\\";
      ends = ends || (!inner && kBreaks.find(text[at]) != std::string_view::npos);
      ++at;
    }
    clauses.push_back(words.size());
  }

  /// Bytes of the letter or digit at `at`, accents included; 0: none.
  [[nodiscard]] std::size_t letter_at(std::size_t at) const {
    if (at >= text.size()) return 0;
    if (is_letter(text[at]) || is_digit(text[at])) return 1;
    const auto lead = static_cast<unsigned char>(text[at]);
    return lead >= 0xC3 && lead <= 0xC5 && at + 1 < text.size() ? 2 : 0;
  }
  [[nodiscard]] bool has(std::string_view word) const { return is_in(words, word); }
  [[nodiscard]] Words clause(std::size_t c) const {
    return Words(words).subspan(clauses[c], clauses[c + 1] - clauses[c]);
  }
};

bool has_digit(std::string_view word) { return std::ranges::any_of(word, is_digit); }

// "epoch 3", "step 500", "iter 7" anywhere: of that epoch or step only.
bool names_a_part(Words words) {
  constexpr std::string_view kCounters[] = {"epoch", "step", "iteration", "iter", "batch", "round"};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (is_in(kCounters, words[i]) && is_digit(words[i + 1].front())) return true;
  }
  return false;
}

// In scripts without blanks words stand anywhere in a text.
bool holds_any(std::string_view text, Words words) {
  return std::ranges::any_of(words, [&](auto word) { return has_text(text, word); });
}

// Nothing but a reason, a time or a result may follow, unlike "Finished training it 640/128028 of
// epoch 0, 68.9 ms/it" of DLRM, "training complete for epoch 3".
bool ends_there(Words rest) {
  constexpr std::size_t kWordsOfTheClause = 3;  // words
  if (rest.empty()) return true;
  if (has_digit(rest.front()) || rest.front() == "is" || rest.front() == "are") return false;
  if (is_in(kParts, rest.front())) return false;
  return !names_a_part(rest.first(std::min(rest.size(), kWordsOfTheClause)));
}

// "Training finished", "Fine-tuning completed", "The training of tiny-bert is done!"
// (quoted/closing_words.end_a_run_of_any_format.20), which has four words in between. Words with
// digits are those of a name: "training tsm_16_256_aug0.1 finished".
bool ending_after_training(Words clause, std::size_t ending) {
  constexpr std::size_t kReach = 4;  // words between the training and its end
  std::size_t between = 0;
  for (std::size_t at = ending; at-- > 0 && between <= kReach;) {
    if (!is_in(kTraining, clause[at])) {
      if (!has_digit(clause[at])) ++between;
      if (is_in(kParts, clause[at]) || is_in(kUnreal, clause[at])) return false;
      continue;
    }
    return !any_in(clause.first(at), kUnreal) && ends_there(clause.subspan(ending + 1));
  }
  return false;
}

// "Finished training", "Done with training", "End of training".
bool training_after_ending(Words clause, std::size_t ending) {
  if (any_in(clause.first(ending), kUnreal)) return false;
  std::size_t at = ending + 1;
  while (at < clause.size() && is_in(kFillers, clause[at])) ++at;
  return at < clause.size() && is_in(kTraining, clause[at]) && ends_there(clause.subspan(at + 1));
}

// "early stop after 28 epochs (no improvement for 6)" of a script
// (quoted/closing_words.early_stop_with_its_reason), "Early stopping, best iteration is:" of
// LightGBM, but no value of a setting: "True", "10".
bool says_why_it_stopped(Words rest) {
  constexpr std::string_view kNo[] = {"no", "not", "without"};
  constexpr std::string_view kImproves[] = {"improvement", "improved", "improve", "improving"};
  constexpr std::string_view kPlaces[] = {"iteration", "epoch", "step", "round"};
  const bool result = rest.size() > 1 && rest[0] == "best" && is_in(kPlaces, rest[1]);
  return result || (any_in(rest, kNo) && any_in(rest, kImproves));
}

// "Early stopping at epoch 12", "Stopped early", but no patience that counts, and no setting:
// "Early stopping: True", "Early stopping = 10", "Early stopping (patience=10)"
// (quoted/closing_words.early_stop_as_a_setting_ends_nothing). The counter that is left out is that
// of the class EarlyStopping that many scripts copy: "EarlyStopping counter: 3 out of 5".
bool stops_early(const Sentence& line) {
  constexpr std::string_view kWaits[] = {"counter", "patience", "enabled", "not", "no", "callback",
                                         "monitor", "wait",     "out",     "of",  "if", "will"};
  constexpr std::string_view kHappens[] = {"triggered", "at",      "after", "activated", "now",
                                           "reached",   "stopped", "epoch", "in",        "due"};
  constexpr std::string_view kSettings[] = {"patience", "counter", "monitor", "enabled"};
  constexpr std::string_view kIgnite[] = {"earlystopping", "stop", "training"};
  if (!std::ranges::search(line.words, kIgnite).empty()) return true;
  for (std::size_t c = 0; c + 1 < line.clauses.size(); ++c) {
    const Words clause = line.clause(c);
    for (std::size_t i = 0; i + 1 < clause.size(); ++i) {
      const bool reversed = clause[i + 1] == "early" && clause[i].starts_with("stopp");
      if (!reversed && (clause[i] != "early" || !clause[i + 1].starts_with("stop"))) continue;
      const Words after = Words(line.words).subspan(line.clauses[c + 1]);
      // "Early stopping at epoch 13 of 20"
      // (quoted/closing_words.early_stop_at_an_epoch_of_the_plan).
      constexpr std::string_view kCounters[] = {"epoch", "step", "iteration"};
      if (i + 3 < clause.size() && clause[i + 2] == "at" && is_in(kCounters, clause[i + 3])) {
        return !any_in(clause.first(i), kUnreal);
      }
      // "Early stopping triggered. patience=20": it has happened, whatever follows
      // (quoted/closing_words.early_stop_that_was_triggered).
      constexpr std::string_view kTriggered[] = {"triggered", "activated"};
      constexpr std::string_view kNo[] = {"false", "no", "none", "0"};
      const bool whole = i + 3 == clause.size() && is_in(kTriggered, clause[i + 2]);
      if (whole && !any_in(clause.first(i), kUnreal)) return after.empty() || !is_in(kNo, after[0]);
      const auto bracket = line.text.find('(');
      const bool in_brackets = !after.empty() && bracket != std::string::npos &&
                               line.text.data() + bracket > clause.back().data();
      if (any_in(in_brackets ? clause : Words(line.words), kWaits)) return false;
      if (any_in(after, kSettings)) return false;
      const bool stopped = clause[i] == "stopped" || clause[i + 1] == "stopped";
      if (i + 2 == clause.size() && !stopped) {
        return after.empty() || says_why_it_stopped(after);
      }
      return stopped || is_in(kHappens, clause[i + 2]);
    }
  }
  return false;
}

// "No improvement for 10 epochs, stopping training.", "Patience exhausted, stopping.", "Time limit
// of 3600 s reached, stopping training", "Converged after 3 epochs.": a stop and its reason, but
// none of an epoch's or of a search's.
bool gives_its_reason(const Sentence& line) {
  constexpr std::size_t kLongest = 24;  // words
  constexpr std::string_view kStops[] = {"stopping", "stop", "stopped", "exiting"};
  constexpr std::string_view kOver[] = {"exhausted", "exceeded", "reached", "out", "over", "ran"};
  constexpr std::string_view kTimes[] = {"time", "wall", "clock", "walltime", "budget"};
  constexpr std::string_view kLimits[] = {"limit", "budget", "max", "maximum"};
  constexpr std::string_view kOthers[] = {"search", "counter", "lr",   "rate",      "if",
                                          "will",   "would",   "when", "evaluation"};
  constexpr std::string_view kUnits[] = {"epochs", "steps", "iterations"};
  const Words words = line.words;
  if (words.empty() || words.size() > kLongest || any_in(words, kOthers)) return false;
  if (words.front() == "converged" && words.size() > 3 && words[1] == "after") {
    return is_digit(words[2].front()) && is_in(kUnits, words[3]) && words.size() == 4;
  }
  if (!any_in(words, kStops)) return false;
  if (line.has("patience")) return any_in(words, kOver);
  if (says_why_it_stopped(words)) return true;
  if (!any_in(words, kOver)) return false;
  return line.has("target") || (any_in(words, kTimes) && any_in(words, kLimits));
}

// Whether the word at `at` is a number of percent: "12%", "12.5%".
bool is_percent(const Sentence& line, std::size_t at) {
  if (at >= line.words.size() || !is_digit(line.words[at].front())) return false;
  const char* end = line.words[at].data() + line.words[at].size();
  const std::string_view rest(end, line.text.data() + line.text.size());
  return rest.substr(0, rest.find(' ')).find('%') != std::string_view::npos;
}

// What a training counts, in the plural.
constexpr std::string_view kCounted[] = {"steps",   "epochs",  "iterations", "iters",
                                         "batches", "updates", "timesteps",  "episodes"};

// "49 epochs completed in 1.486 hours" of YOLOv5 and Ultralytics: of several epochs, with the time
// that they took.
bool all_epochs_done(Words clause) {
  return clause.size() > 4 && has_digit(clause[0]) && clause[0] != "1" && clause[1] == "epochs" &&
         is_in(kEnding, clause[2]) && clause[3] == "in" && has_digit(clause[4]);
}

// "finished 4400 steps", "finished, 2500 steps", "finished at step 1200": of all of them, but not
// "finished step 1200", nor "Finished 1 epochs"
// (quoted/closing_words.the_number_of_steps_that_finished).
bool all_steps_done(const Sentence& line) {
  constexpr std::string_view kEndings[] = {"finished", "done", "completed"};
  constexpr std::string_view kPlaces[] = {"step", "iteration", "iter", "epoch", "update"};
  const Words words = line.words;
  if (words.size() < 3 || !is_in(kEndings, words[0])) return false;
  std::size_t at = 1;
  const bool placed = words[at] == "at" || words[at] == "after";
  if (placed || words[at] == "all") ++at;
  if (placed && is_in(kPlaces, words[at])) {
    return at + 1 < words.size() && has_digit(words[at + 1]);
  }
  if (!is_digit(words[at].front()) || words[at] == "1") return false;
  while (at < words.size() && is_digit(words[at].front())) ++at;  // "4.4k", "4,400"
  return at < words.size() && is_in(kCounted, words[at]);
}

// "pass done: 4800 batches, 563.1 s total", "Run finished." of a loop with one of them.
bool whole_run_done(Words clause, const Sentence& line) {
  constexpr std::string_view kWholes[] = {"run", "session", "loop"};
  if (clause.size() != 2 || !is_in(kEnding, clause[1])) return false;
  return is_in(kWholes, clause[0]) ||
         (clause[0] == "pass" && line.has("total") && any_in(line.words, kCounted));
}

std::optional<Kind> read_phrase(const Sentence& line) {
  constexpr std::string_view kAlone[] = {
      "done",       "finished",   "finish",  "complete",  "completed", "all",
      "everything", "is",         "terminé", "fertig",    "beendet",   "abgeschlossen",
      "terminado",  "finalizado", "bye",     "concluído", "selesai",   "terminato"};
  if (line.words.empty()) return std::nullopt;
  if (std::ranges::all_of(line.words, [&](auto word) { return is_in(kAlone, word); })) {
    return line.words.size() <= 3 ? std::optional(Kind::implied) : std::nullopt;
  }
  if (stops_early(line)) return Kind::stated;
  if (line.words.size() == 2 && line.has("starting") && line.has("testing")) return Kind::implied;
  // "Done. Checkpoint saved to out.pt" of a script
  // (quoted/generic.done_and_a_saved_checkpoint), "Done. Best val loss: 0.10": a clause by itself
  // at the front, and then what came of it.
  constexpr std::string_view kOutcomes[] = {"saved",   "model", "checkpoint", "weights",
                                            "results", "total", "time"};
  const bool measured = any_in(line.words, kMeasured) && std::ranges::any_of(line.words, has_digit);
  // "DONE: seed=9 steps=5000": values by their names.
  const bool named =
      line.text.find('=') != std::string::npos && std::ranges::any_of(line.words, has_digit);
  constexpr std::string_view kFronts[] = {"done", "finished", "completed"};
  if (is_in(kFronts, line.words.front()) && line.clauses[1] == 1 &&
      (measured || named || any_in(line.words, kOutcomes))) {
    return names_a_part(line.words) ? std::nullopt : std::optional(Kind::implied);
  }
  if (all_steps_done(line)) return Kind::implied;
  for (std::size_t c = 0; c + 1 < line.clauses.size(); ++c) {
    const Words clause = line.clause(c);
    if (all_epochs_done(clause) || whole_run_done(clause, line)) return Kind::implied;
    for (std::size_t i = 0; i < clause.size(); ++i) {
      const bool end_of =
          is_in(kEndsOf, clause[i]) && i + 1 < clause.size() && is_in(kOf, clause[i + 1]);
      if (!end_of && !is_in(kEnding, clause[i])) continue;
      const bool holds =
          training_after_ending(clause, i) || (!end_of && ending_after_training(clause, i));
      if (!holds) continue;
      // "Epoch 3: training complete" is of an epoch, "Training complete: 12%" of a part.
      const bool of_a_part = names_a_part(Words(line.words).first(line.clauses[c])) ||
                             (i + 1 == clause.size() && is_percent(line, line.clauses[c + 1]));
      if (of_a_part) return std::nullopt;
      // "Job finished at Sun Mar  1 11:00:00 UTC 2026" of a job's script, whatever happened before
      // (quoted/closing_words.the_echo_of_a_job_only_implies_an_end).
      const bool echo =
          line.words.front() == "job" && i + 1 < clause.size() && clause[i + 1] == "at";
      return echo ? Kind::implied : Kind::stated;
    }
  }
  return std::nullopt;
}

// The words of a part of a training, or of another work, in other languages.
constexpr std::string_view kPartsOfScripts[] = {
    "轮",   "輪",   "第",   "步",       "批",   "未",     "没",   "等待",  "即将",  "如果",
    "是否", "数据", "阶段", "エポック", "에폭", "에포크", "эпох", "epoch", "Epoch", "step"};

// "全部完成", "完了しました。", "Готово!": an ending that is all that the line has.
bool is_ending_alone(std::string_view line) {
  constexpr std::string_view kAlone[] = {"完成",
                                         "完成了",
                                         "全部完成",
                                         "已完成",
                                         "完毕",
                                         "结束",
                                         "完了",
                                         "完了しました",
                                         "終了",
                                         "終了しました",
                                         "全て完了しました",
                                         "すべて完了しました",
                                         "処理が完了しました",
                                         "완료",
                                         "완료되었습니다",
                                         "종료",
                                         "Готово",
                                         "готово",
                                         "завершено"};
  std::string rest(line);
  for (const std::string_view mark : {"。", "！", "…"}) {
    for (auto at = rest.find(mark); at != std::string::npos; at = rest.find(mark)) {
      rest.erase(at, mark.size());
    }
  }
  std::erase_if(rest, [](char c) { return !is_any_letter(c); });
  return is_in(kAlone, rest);
}

// "训练完成！", "所有任务完成", "学習が完了しました", "Обучение завершено", but not "第 3
// 轮训练完成" of one epoch, "等待训练完成" or "训练完成后"
// (quoted/closing_words.of_other_languages_may_be_of_a_part): each is a clause between marks.
bool read_script(std::string_view line, std::string_view ending) {
  constexpr std::string_view kOfTraining[] = {"训练",    "訓練",     "实验",     "任务",
                                              "程序",    "学習",     "학습",     "훈련",
                                              "бучение", "ренировк", "프로세스", "작업"};
  constexpr std::string_view kAfter[] = {"后", "後", "时",     "前",   "之",
                                         "率", "度", "したら", "する", "후"};
  constexpr std::string_view kMarks[] = {"。", "，", "！", "：", "；", "（", "）", "、", ":", ",",
                                         ".",  "!",  "|",  "(",  ")",  "[",  "]",  "=",  "-"};
  // In its own clause alone: "数据加载完成，训练完成" ends the training in its second.
  const auto ends_training = [&](std::size_t at) {
    std::string_view before = line.substr(0, at), rest = line.substr(at + ending.size());
    for (const std::string_view mark : kMarks) {
      if (const auto end = before.rfind(mark); end != std::string_view::npos) {
        before.remove_prefix(end + mark.size());
      }
      rest = rest.substr(0, rest.find(mark));
    }
    if (holds_any(before, kPartsOfScripts) || holds_any(rest, kPartsOfScripts)) return false;
    const bool when = !rest.starts_with("时间") && !rest.starts_with("時間");
    const auto begins_rest = [&](std::string_view word) { return rest.starts_with(word); };
    if (when && std::ranges::any_of(kAfter, begins_rest)) return false;
    return std::ranges::any_of(kOfTraining, begins_rest) || holds_any(before, kOfTraining);
  };
  for (auto at = line.find(ending); at != std::string_view::npos;
       at = line.find(ending, at + ending.size())) {
    if (ends_training(at)) return true;
  }
  return false;
}

// "Saved model to out.pt", "Final weights saved", "Training curves saved to curves.png", but not
// "Saved best model (loss 8.4)" or "Saving model checkpoint to out/checkpoint-20" of the Hugging
// Face Trainer.
bool read_saved(const Sentence& line) {
  constexpr std::string_view kVerbs[] = {"saved", "saving", "written", "exported", "pushed"};
  constexpr std::string_view kModels[] = {"model",      "weights", "network", "pipeline",
                                          "policy",     "pt",      "pth",  // of a file's name
                                          "safetensors"};
  constexpr std::string_view kOfTheWhole[] = {"curve",  "curves",  "history", "plot",   "plots",
                                              "matrix", "metrics", "results", "summary"};
  constexpr std::string_view kOnTheWay[] = {"best", "checkpoint", "checkpoints"};
  if (names_a_part(line.words) || line.has("will")) return false;
  for (std::size_t c = 0; c + 1 < line.clauses.size(); ++c) {
    const Words clause = line.clause(c);  // the folders of a path are others
    if (!any_in(clause, kVerbs)) continue;
    if (line.has("final")) return true;
    const bool done = !is_in(clause, "saving") && any_in(clause, kOfTheWhole);
    return (done || any_in(line.words, kModels)) && !any_in(clause, kOnTheWay);
  }
  return false;
}

// "   macro avg       0.90      0.80" of scikit-learn.
bool read_score(const Sentence& line) {
  constexpr std::string_view kName[] = {"macro", "avg"};
  const auto is_number = [](std::string_view word) { return is_digit(word.front()); };
  const Words words = line.words;
  return words.size() > 2 && std::ranges::equal(words.first(2), kName) &&
         std::ranges::all_of(words.subspan(2), is_number);
}

// "Best val acc: 0.91", "Test accuracy 88.1 %", "final loss = 0.2" of scripts, and the last two
// lines of corpus mxnet/gluonnlp_transformer_ende.log: a name with a number.
bool read_report(const Sentence& line, std::string_view of) {
  constexpr std::size_t kReach = 3;     // words between what it is of and what is measured
  constexpr std::size_t kLongest = 30;  // words: a report, and no row of a table
  if (line.words.size() > kLongest || !std::ranges::any_of(line.words, has_digit)) return false;
  // "[Eval] Best model at epoch 1:   2%|" names a bar of work that goes on
  // (quoted/closing_words.the_name_of_a_bar_is_no_result).
  if (has_text(line.text, "%|")) return false;
  // "New best model, saved" is of this epoch.
  if (line.has("new") || line.has("saved") || line.has("saving") || line.has("improved")) {
    return false;
  }
  // It begins with its name: a record that ends in its best value so far is none.
  const auto at = std::ranges::find(line.words, of);
  constexpr std::ptrdiff_t kFront = 3;  // words before it
  if (at == line.words.end() || at - line.words.begin() >= kFront) return false;
  const Words rest(at + 1, line.words.end());
  return any_in(rest.first(std::min(rest.size(), kReach)), kMeasured);
}

bool read_time(const Sentence& line) {
  constexpr std::size_t kLongest = 16;  // words
  constexpr std::string_view kOthers[] = {"remaining", "eta",  "epoch", "step",     "iter",
                                          "it",        "loss", "per",   "timestep", "timesteps"};
  // "Total training time: 4:49:16 (0.8678s / it)" of Mask R-CNN and the scripts after it: what
  // stands in brackets is another value
  // (quoted/closing_words.a_model_saved_once_ends_a_log_without_steps.2).
  const auto bracket = line.text.find('(');
  const auto before =
      static_cast<std::size_t>(std::ranges::count_if(line.words, [&](std::string_view word) {
        return bracket == std::string::npos || word.data() < line.text.data() + bracket;
      }));
  const Words words = Words(line.words).first(before);
  if (std::ranges::any_of(line.text, is_beyond_ascii) && holds_any(line.text, kPartsOfScripts)) {
    return false;
  }
  return line.words.size() <= kLongest && std::ranges::any_of(words, has_digit) &&
         !any_in(words, kOthers) && !std::ranges::any_of(words, is_evaluation_word);
}

// {"event": "end", "step": 500} of scripts that log objects, but no member of another name and none
// of a part: {"event": "end", "epoch": 3} ends that epoch
// (quoted/closing_words.an_event_ends_a_training).
bool read_event(const Sentence& line, std::string_view literal) {
  constexpr std::string_view kNames[] = {"event", "type", "status", "state", "kind", "phase"};
  constexpr std::string_view kSmaller[] = {"epoch", "batch"};
  const std::string_view text = line.text;
  if (!text.starts_with('{') || any_in(line.words, kSmaller) ||
      std::ranges::any_of(line.words, is_evaluation_word)) {
    return false;
  }
  const std::string_view before = trim(text.substr(0, text.find(literal)));
  if (!before.ends_with(':')) return false;
  return std::ranges::any_of(kNames, [&](std::string_view name) {
    return trim(before.substr(0, before.size() - 1)).ends_with('"' + std::string(name) + '"');
  });
}

// "max_steps_reached", "maxEpoch reached, done", "Reached the maximum number of steps", "100M tok
// reached target", "training budget (384k imgs) used up": nothing but what a training counts may
// stand with the limit, unlike in "memory limit reached"
// (quoted/closing_words.a_limit_of_something_else_ends_nothing).
bool read_limit(const Sentence& line) {
  constexpr std::string_view kEnds[] = {"reached", "used", "exhausted"};
  constexpr std::string_view kLimits[] = {"budget", "limit", "target", "planned"};
  constexpr std::string_view kItsWords[] = {
      "number", "of",     "the",       "all",      "total",     "its",     "training", "train",
      "step",   "epoch",  "epochs",    "iter",     "iteration", "iters",   "update",   "iterations",
      "steps",  "tokens", "samples",   "tok",      "images",    "imgs",    "updates",  "is",
      "has",    "been",   "timesteps", "examples", "count",     "reached", "global"};
  const Words words = line.words;
  const auto at = std::ranges::find_first_of(words, kEnds);
  if (at == words.end()) return false;
  const auto is_limit = [&](std::string_view word) {
    return word.starts_with("max") || is_in(kLimits, word);
  };
  const auto belongs = [&](std::string_view word) {
    return is_digit(word.front()) || is_limit(word) || is_in(kItsWords, word);
  };
  // "target reached" of nothing is of an episode.
  const auto names_limit = [&](Words part) {
    const bool counts = std::ranges::any_of(part, [&](std::string_view word) {
      return word.starts_with("max") || word == "budget" || word == "training" ||
             is_in(kCounted, word) || (is_in(kItsWords, word) && word.starts_with("tok"));
    });
    return counts && std::ranges::any_of(part, is_limit);
  };
  const auto index = static_cast<std::size_t>(at - words.begin());
  const Words before = words.first(index);
  if (!std::ranges::all_of(before, belongs)) return false;
  if (*at == "used") {
    return line.text.find("used up") != std::string::npos && is_in(before, "budget");
  }
  if (names_limit(before)) {
    constexpr std::string_view kOfAPart[] = {"in", "of", "for", "by", "per"};
    return index + 1 == words.size() || !is_in(kOfAPart, words[index + 1]);
  }
  if (*at != "reached") return false;
  std::size_t end = index + 1;
  while (end < words.size() && belongs(words[end])) ++end;
  return names_limit(words.first(end));
}

// "exit code=0", "run.sh: exit status 0", "Process exited with code 0", but not a worker's that
// loads data or one rank's, nor a condition; "Exiting main." of a program.
bool read_exit(const Sentence& line) {
  constexpr std::string_view kExits[] = {"exit", "exited", "exits", "exiting"};
  constexpr std::string_view kCodes[] = {"code", "status", "exitcode"};
  constexpr std::string_view kOthers[] = {"worker", "workers", "loader", "dataloader",
                                          "data",   "rank",    "pid"};
  constexpr std::string_view kOfAll[] = {
      "main", "program",  "script",  "training", "process",    "loop",         "now",
      "the",  "normally", "cleanly", "bye",      "gracefully", "successfully", "exiting"};
  const Words words = line.words;
  if (words.empty() || any_in(words, kUnreal) || any_in(words, kOthers) ||
      std::ranges::any_of(words, is_evaluation_word)) {
    return false;
  }
  const Words last = line.clause(line.clauses.size() - 2);
  const auto of_all = [&](std::string_view word) { return is_in(kOfAll, word); };
  if (last.front() == "exiting" && std::ranges::all_of(last, of_all)) return true;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (!is_in(kCodes, words[i]) || words[i + 1] != "0") continue;
    if (words[i] == "exitcode" || any_in(words.first(i), kExits)) return true;
  }
  return false;
}

// "└──────┴──────┘" alone: of the table whose last row is the line before it.
bool is_lower_border(std::string_view text) {
  constexpr std::size_t kShortestBorder = 12;  // bytes: four signs
  // The signs of which frames are drawn are E2 94 80 to E2 95 BF in UTF-8.
  std::size_t signs = 0;
  for (std::size_t i = 0; i + 2 < text.size(); i += 3) {
    const auto second = static_cast<unsigned char>(text[i + 1]);
    if (static_cast<unsigned char>(text[i]) != 0xE2 || (second != 0x94 && second != 0x95)) {
      return false;
    }
    signs += 3;
  }
  return signs == text.size() && signs >= kShortestBorder;
}

// "Start of epoch 7", "Starting epoch 7/10", "Epoch 4 started at 19:29:48"
bool begins_epoch(const Sentence& line) {
  constexpr std::string_view kBegins[] = {"start", "starting", "started", "begins"};
  const Words words = line.words;
  const auto epoch = std::ranges::find(words, std::string_view("epoch"));
  if (words.end() - epoch < 2 || !is_digit((epoch + 1)->front())) return false;
  const Words before(words.begin(), epoch), after(epoch + 2, words.end());
  if (before.size() > 2) return false;
  return any_in(before, kBegins) || (!after.empty() && is_in(kBegins, after.front()));
}

/// Its count is a number: that of a cell which did not run is null.
bool has_run(const Sentence& line, std::string_view literal) {
  const std::size_t at = line.text.find(literal);
  return at != std::string::npos && at + literal.size() < line.text.size() &&
         is_digit(line.text[at + literal.size()]);
}

std::optional<Kind> read(Reading reading, const Sentence& line, std::string_view literal) {
  const auto implied = [](bool holds) {
    return holds ? std::optional(Kind::implied) : std::nullopt;
  };
  switch (reading) {
    case Reading::whole:
      return Kind::stated;
    case Reading::printed:
      return Kind::implied;  // as see() takes it
    case Reading::phrase:
      return read_phrase(line);
    case Reading::reason:
      return gives_its_reason(line) ? std::optional(Kind::stated) : std::nullopt;
    case Reading::saved:
      return implied(read_saved(line));
    case Reading::score:
      return implied(read_score(line));
    case Reading::report:
      if (read_report(line, "test") || read_report(line, "testing"))
        return names_a_part(line.words) ? std::nullopt : std::optional(Kind::tested);
      return implied(read_report(line, "best") || read_report(line, "final"));
    case Reading::time:
      return implied(read_time(line));
    case Reading::cell:
      return implied(has_run(line, literal));
    case Reading::event:
      return implied(read_event(line, literal));
    case Reading::limit:
      return read_limit(line) ? std::optional(Kind::stated) : std::nullopt;
    case Reading::exit:
      return implied(read_exit(line));
    case Reading::begin:
      return begins_epoch(line) ? std::optional(Kind::begins) : std::nullopt;
    case Reading::frame:
      return implied(is_lower_border(trim(line.text)));
    case Reading::script:
      if (read_script(line.text, literal)) return Kind::stated;
      return implied(is_ending_alone(line.text));
  }
  return std::nullopt;
}

/// The hash of a line of a script without blanks, without its numbers.
std::size_t shape_of_script(std::string_view line) {
  std::string shape(line);
  std::erase_if(shape, std::not_fn(is_beyond_ascii));
  return std::hash<std::string>()(shape);
}

/// The hash of the first words without digits: lines that differ in numbers, names of files or
/// results have the same.
std::size_t shape_of(const Sentence& line) {
  constexpr std::size_t kWords = 5;  // names of files and results come after them
  std::string shape;
  std::size_t n = 0;
  for (const std::string_view word : line.words) {
    if (has_digit(word)) continue;
    if (++n > kWords) break;
    shape.append(word).push_back(' ');
  }
  return std::hash<std::string>()(shape);
}

}  // namespace

std::span<const std::string_view> ClosingWords::anchors() { return kLiterals; }

bool ClosingWords::see(const Line& line, std::size_t row) {
  constexpr std::size_t kLinesHeld = 512;  // lines
  constexpr std::size_t kLongest = 400;    // bytes: no dump of a configuration
  const auto& [literal, reading, with] = kRules[row];
  if (!with.empty() && line.text.find(with) == std::string_view::npos) return false;
  Closing closing{line.number, row, Kind::stated};
  if (reading == Reading::printed) {
    closing.kind = Kind::implied;
  } else if (reading != Reading::whole) {
    if (line.text.size() > kLongest) return false;
    const Sentence sentence(without_front(line.text));
    const auto kind = read(reading, sentence, literal);
    if (!kind) return false;
    // Cells ran before that of the training as well: each is another closing.
    const bool of_cell = reading == Reading::cell;
    const bool of_script = is_beyond_ascii(literal.front());
    closing = {line.number,
               of_cell     ? static_cast<std::size_t>(line.number)
               : of_script ? shape_of_script(sentence.text)
                           : shape_of(sentence),
               *kind,
               (reading == Reading::saved && sentence.has("saved") &&
                (sentence.has("model") || sentence.has("weights"))) ||
                   (reading == Reading::time && any_in(sentence.words, kTraining)),
               reading == Reading::frame};
  }
  // The newest lines show whether words come again and again.
  if (closings_.size() == kLinesHeld) {
    closings_.erase(closings_.begin(), closings_.begin() + kLinesHeld / 2);
  }
  closings_.push_back(closing);
  return true;
}

std::optional<std::int64_t> ClosingWords::after(std::int64_t first, std::int64_t last_record,
                                                std::int64_t end, Kind weakest) const {
  const auto closes = [&](const Closing& closing, Kind kind) {
    if (closing.kind != kind || closing.line <= last_record || closing.line >= end) return false;
    if (kind != Kind::stated && goes_on(closing.line, end)) return false;
    // A table of something else may stand further down.
    if (closing.of_table && closing.line > last_record + 1) return false;
    return std::ranges::none_of(closings_, [&](const Closing& other) {
      return other.words == closing.words && other.line >= first && other.line < last_record;
    });
  };
  for (const Kind kind : {Kind::stated, Kind::tested, Kind::implied}) {
    if (kind > weakest) break;
    const auto at =
        std::ranges::find_if(closings_, [&](const Closing& it) { return closes(it, kind); });
    if (at != closings_.end()) return at->line;
  }
  return std::nullopt;
}

bool ClosingWords::goes_on(std::int64_t last_record, std::int64_t end) const {
  return std::ranges::any_of(closings_, [&](const Closing& it) {
    return it.kind == Kind::begins && it.line > last_record && it.line < end;
  });
}

std::optional<std::int64_t> ClosingWords::last_stated(std::int64_t begin, std::int64_t end) const {
  for (auto it = closings_.rbegin(); it != closings_.rend(); ++it) {
    if (it->kind == Kind::stated && it->line >= begin && it->line < end) return it->line;
  }
  for (auto it = closings_.rbegin(); it != closings_.rend(); ++it) {
    const bool once = std::ranges::count(closings_, it->words, &Closing::words) == 1;
    if (it->of_training && once && it->line >= begin && it->line < end) return it->line;
  }
  return std::nullopt;
}

}  // namespace bertbench
