// Data of people's own: vocabularies, text, labelled sequences, whole-word masking.
#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "tests/workloads/driver/process.h"
#include "workloads/bert/data/batches.h"
#include "workloads/bert/data/examples.h"
#include "workloads/bert/data/sequence_source.h"
#include "workloads/bert/data/word_piece.h"

namespace bert {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

std::string scratch(const std::string& name) {
  return testing::temporary_folder("text_" + name) + "/" + name;
}

std::string put(const std::string& name, const std::string& text) {
  const std::string path = scratch(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

DataOptions options_of(const std::string& path, std::int64_t length = 32) {
  DataOptions data;
  data.source = path;
  data.sequence_length = length;
  data.masked_per_sequence = masked_positions(length);
  return data;
}

/// A vocabulary file of the special tokens and these.
std::string vocabulary_of(const std::vector<std::string>& tokens) {
  std::string text;
  for (int i = 0; i < 999; ++i) {
    const char* special = i == 0     ? "[PAD]"
                          : i == 100 ? "[UNK]"
                          : i == 101 ? "[CLS]"
                          : i == 102 ? "[SEP]"
                          : i == 103 ? "[MASK]"
                                     : nullptr;
    text += special ? special : "[unused" + std::to_string(i) + "]";
    text += '\n';
  }
  for (const auto& token : tokens) text += token + '\n';
  return put("vocab.txt", text);
}

std::vector<std::string> words_of(const WordPiece& words, const std::string& text) {
  std::vector<std::string> out;
  for (const Piece& piece : words.pieces(text)) {
    out.push_back(words.tokens()[static_cast<std::size_t>(piece.token)]);
  }
  return out;
}

TEST(WordPieces, TheLongestPieceComesFirst) {
  const auto words =
      WordPiece::read(vocabulary_of({"un", "##aff", "##able", "##a", "aff", ",", "über"}), 30522);
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_THAT(words_of(*words, "Unaffable, über unknown"),
              ElementsAre("un", "##aff", "##able", ",", "über", "[UNK]"));
  const auto pieces = words->pieces("  unaffable");
  EXPECT_EQ(pieces[1].begin, 4u);
  EXPECT_EQ(pieces[1].end, 7u);
  EXPECT_TRUE(words->continues(pieces[1].token));
  EXPECT_FALSE(words->continues(pieces[0].token));
}

TEST(WordPieces, CapitalsStayWhereTheVocabularyHasSome) {
  const auto words = WordPiece::read(vocabulary_of({"Anna", "anna"}), 30522);
  ASSERT_TRUE(words);
  EXPECT_THAT(words_of(*words, "Anna anna ANNA"), ElementsAre("Anna", "anna", "[UNK]"));
}

TEST(WordPieces, AnyBytesAreRead) {
  const auto words = WordPiece::read(vocabulary_of({"a", "b", "日", "本"}), 30522);
  ASSERT_TRUE(words);
  EXPECT_THAT(words_of(*words,
                       "a\xff"
                       "b\x01"
                       "b\xe2\x80\xa8"
                       "a日本\xf0\x9f"),
              ElementsAre("a", "b", "b", "a", "日", "本"));
  EXPECT_THAT(words_of(*words, std::string(5000, 'a')), ElementsAre("[UNK]"));
  EXPECT_THAT(words_of(*words, ""), ElementsAre());
}

TEST(WordPieces, AVocabularyIsLearntOfWhatComesTogetherMostOften) {
  const std::string text = "lower lower lower low low newest newest newest newest widest widest";
  const WordPiece words = WordPiece::learn(text, 1100);
  EXPECT_THAT(words.tokens(), IsSupersetOf({"l", "##o", "##st", "low", "lower", "newest"}));
  EXPECT_THAT(words_of(words, "Lowest low"), ElementsAre("low", "##e", "##st", "low"));
  EXPECT_EQ(WordPiece::learn(text, 1100).tokens(), words.tokens());
  const WordPiece few = WordPiece::learn(text, 1003);
  EXPECT_EQ(few.size(), 1003) << "no more than the model has room for";
  EXPECT_EQ(WordPiece::learn("", 1100).size(), 999);
}

TEST(WordPieces, WhatIsWrittenIsReadBack) {
  const WordPiece words = WordPiece::learn("to be or not to be", 2000);
  const std::string path = scratch("learnt.txt");
  ASSERT_TRUE(words.write(path));
  const auto again = WordPiece::read(path, 2000);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->tokens(), words.tokens());
  EXPECT_FALSE(words.write("/nonexistent/vocab.txt").has_value());
}

TEST(WordPieces, AFileThatIsNoVocabularyIsNamed) {
  const auto why = [](const std::string& path, std::int64_t most = 30522) {
    const auto words = WordPiece::read(path, most);
    return words ? "" : words.error().message;
  };
  EXPECT_THAT(why("/nonexistent/v.txt"), HasSubstr("No such file"));
  EXPECT_THAT(why(put("odd.txt", "a\nb\n")), HasSubstr("[PAD] must be its token 0, on line 1"));
  EXPECT_THAT(why(vocabulary_of({"a", "b"}), 1000), HasSubstr("more tokens than the model's 1000"));
  EXPECT_THAT(why(put("long.txt", std::string(5000, 'x'))), HasSubstr("longer than 1000 bytes"));
}

TEST(TextData, BlankLinesEndDocumentsAndSequencesStayInside) {
  DataOptions data = options_of(put("text.txt", "alpha beta\ngamma\n\n\ndelta epsilon\n"));
  const auto source = open_source(data);
  ASSERT_TRUE(source) << source.error().message;
  const WordPiece words = WordPiece::learn("alpha beta gamma delta epsilon", 30522);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto tokens = (*source)->text(i, 20);
    std::set<std::int32_t> seen(tokens.begin(), tokens.end());
    std::set<std::int32_t> first, second;
    for (const auto& piece : words.pieces("alpha beta gamma")) first.insert(piece.token);
    for (const auto& piece : words.pieces("delta epsilon")) second.insert(piece.token);
    const bool of_first = std::ranges::includes(first, seen);
    EXPECT_TRUE(of_first || std::ranges::includes(second, seen));
  }
  EXPECT_THAT((*source)->description(), HasSubstr("WordPiece vocabulary of"));
}

TEST(TextData, AVocabularyThatIsNotThereIsLearntAndWrittenByOneRank) {
  DataOptions data = options_of(put("learn.txt", "some words and some more words"));
  data.vocabulary_file = scratch("made.txt");
  std::remove(data.vocabulary_file.c_str());
  data.writes_vocabulary = false;
  ASSERT_TRUE(open_source(data));
  EXPECT_FALSE(std::ifstream(data.vocabulary_file).good());
  data.writes_vocabulary = true;
  ASSERT_TRUE(open_source(data));
  ASSERT_TRUE(std::ifstream(data.vocabulary_file).good());
  const auto again = open_source(data);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->text(7, 9), (*open_source(data))->text(7, 9));
}

TEST(TextData, WhatIsNoTextIsNamed) {
  const auto why = [](const std::string& text) {
    const auto source = open_source(options_of(put("bad", text)));
    return source ? "" : source.error().message;
  };
  EXPECT_THAT(why(" \n \n"), HasSubstr("holds no words"));
  EXPECT_THAT(why(""), HasSubstr("holds no words"));
  EXPECT_THAT(why(std::string("ELF\0\1", 5)), HasSubstr("neither a token file"));
}

TEST(WholeWordMasking, MasksAllPiecesOfAWordButOfOneAtMost) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += i % 3 == 0 ? "abcabcabc " : i % 3 == 1 ? "xy " : "q ";
  DataOptions data = options_of(put("whole.txt", text), 64);
  data.vocabulary_file = vocabulary_of({"abc", "##abc", "x", "##y", "q"});
  DataOptions plain = data;
  data.whole_words = true;
  const auto source = open_source(data);
  ASSERT_TRUE(source) << source.error().message;
  int cut = 0, words = 0, cut_without = 0;
  for (const bool whole : {true, false}) {
    Batch batch, clean;
    fill_batch(**source, whole ? data : plain, 0, 16, batch);
    DataOptions none = plain;
    none.masked_per_sequence = 0;
    fill_batch(**source, none, 0, 16, clean);
    const std::int64_t masked = data.masked_per_sequence;
    for (std::int64_t row = 0; row < 16; ++row) {
      std::set<std::int32_t> chosen;
      for (std::int64_t i = 0; i < masked; ++i) {
        chosen.insert(batch.masked[static_cast<std::size_t>(row * masked + i)]);
      }
      ASSERT_EQ(std::ssize(chosen), masked) << "as many as ever, each once";
      for (std::int64_t at = row * 64; at < row * 64 + 64;) {
        std::int64_t end = at + 1;
        while (end < row * 64 + 64 &&
               (*source)->continues_word(clean.tokens[static_cast<std::size_t>(end)])) {
          ++end;
        }
        std::int64_t in = 0;
        for (auto i = at; i < end; ++i) in += chosen.contains(static_cast<std::int32_t>(i)) ? 1 : 0;
        const bool part = in > 0 && in < end - at;
        (whole ? cut : cut_without) += part ? 1 : 0;
        words += whole && in > 1 ? 1 : 0;
        at = end;
      }
    }
  }
  EXPECT_LE(cut, 16) << "one of a sequence at most";
  EXPECT_GT(words, 16);
  EXPECT_GT(cut_without, 16);
}

TEST(WholeWordMasking, ATokenFileNeedsItsVocabulary) {
  std::string bytes =
      token_file_of("a b c", *WordPiece::read(vocabulary_of({"a", "b", "c"}), 30522));
  DataOptions data = options_of(put("some.tok", bytes));
  data.whole_words = true;
  EXPECT_THAT(open_source(data).error().message, HasSubstr("give its --vocabulary"));
  data.vocabulary_file = vocabulary_of({"a", "b", "c"});
  EXPECT_TRUE(open_source(data));
}

constexpr const char* kSquad = R"({"version": "1.1", "data": [{"title": "t", "paragraphs": [
  {"context": "Zoë lives in Paris, France. She likes tea.", "qas": [
    {"id": "1", "question": "Where does she live?", "answers": [{"text": "Paris, France", "answer_start": 13}]},
    {"id": "2", "question": "What does she like?", "answers": [{"text": "tea", "answer_start": 38}]},
    {"id": "3", "question": "No answer?", "answers": []}]}]}]})";

TEST(Squad, AnswersAreSpansOfTheirTokens) {
  DataOptions data = options_of(put("squad.json", kSquad), 48);
  data.questions = true;
  data.masked_per_sequence = 0;
  const auto source = open_source(data);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->held_out(), 1);
  EXPECT_THAT((*source)->description(), HasSubstr("2 questions"));
  const WordPiece words = WordPiece::learn(read_squad(kSquad)->all_text(), 30522);
  Batch batch;
  fill_batch(**source, data, kHeldOut, 1, batch);
  EXPECT_EQ(batch.tokens[0], SpecialTokens::kCls);
  EXPECT_EQ(batch.tokens[static_cast<std::size_t>(batch.lengths[0]) - 1], SpecialTokens::kSep);
  EXPECT_LT(batch.lengths[0], 48);
  const auto answer = [&](const Batch& of) {
    std::string text;
    for (auto i = of.spans[0]; i <= of.spans[1]; ++i) {
      text +=
          words.tokens()[static_cast<std::size_t>(of.tokens[static_cast<std::size_t>(i)])] + " ";
    }
    return text;
  };
  std::string tea;
  for (const auto& piece : words.pieces("tea")) {
    tea += words.tokens()[static_cast<std::size_t>(piece.token)] + " ";
  }
  EXPECT_EQ(answer(batch), tea);
  fill_batch(**source, data, 3, 1, batch);
  std::string paris;
  for (const auto& piece : words.pieces("Paris, France")) {
    paris += words.tokens()[static_cast<std::size_t>(piece.token)] + " ";
  }
  EXPECT_EQ(answer(batch), paris);
}

TEST(Squad, ALongContextIsAWindowThatHoldsTheAnswer) {
  std::string context;
  for (int i = 0; i < 300; ++i) context += "filler ";
  const auto start = std::to_string(context.size());
  context += "answer";
  for (int i = 0; i < 300; ++i) context += " filler";
  const std::string json = R"({"data": [{"paragraphs": [{"context": ")" + context +
                           R"(", "qas": [{"id": "a", "question": "what", "answers":
      [{"text": "answer", "answer_start": )" +
                           start + R"(}]}, {"id": "b", "question": "which",
      "answers": [{"text": "answer", "answer_start": )" +
                           start + "}]}]}]}]}";
  DataOptions data = options_of(put("long.json", json), 32);
  data.questions = true;
  data.masked_per_sequence = 0;
  data.vocabulary_file = vocabulary_of({"filler", "answer", "what", "which"});
  const auto source = open_source(data);
  ASSERT_TRUE(source) << source.error().message;
  std::set<std::int32_t> places;
  for (std::int64_t i = 0; i < 40; ++i) {
    Batch batch;
    fill_batch(**source, data, i, 1, batch);
    ASSERT_EQ(batch.lengths[0], 32);
    ASSERT_EQ(batch.tokens[static_cast<std::size_t>(batch.spans[0])], 1000);
    ASSERT_EQ(batch.spans[0], batch.spans[1]);
    places.insert(batch.spans[0]);
  }
  EXPECT_GT(places.size(), 10u);
}

TEST(Squad, WhatIsWrongIsNamed) {
  const auto why = [](const std::string& json) {
    DataOptions data = options_of(put("bad.json", json));
    data.questions = true;
    const auto source = open_source(data);
    return source ? "" : source.error().message;
  };
  EXPECT_THAT(why("[]"), HasSubstr("no JSON of SQuAD 1.1"));
  EXPECT_THAT(why("{\"data\": [3, {}, {\"paragraphs\": [4]}]}"), HasSubstr("0 usable of its 0"));
  const std::string text = kSquad;
  std::string moved = text;
  moved.replace(moved.find("13}"), 2, "14");
  EXPECT_THAT(why(moved), HasSubstr("the answer of question 1 does not stand in its context"));
}

TEST(LabelledTables, ColumnsAreFoundByTheirNames) {
  DataOptions data =
      options_of(put("sst.tsv", "sentence\tlabel\ngood film\t1\r\nbad film\t0\n\nso so\t1\n"));
  data.hold_out = true;
  data.masked_per_sequence = 0;
  const auto source = open_source(data);
  ASSERT_TRUE(source) << source.error().message;
  Batch batch;
  fill_batch(**source, data, kHeldOut, 1, batch);
  EXPECT_EQ(batch.next_sentence[0], 1);
  EXPECT_EQ(std::ranges::count(batch.tokens, SpecialTokens::kSep), 1) << "one sentence";
  DataOptions pairs = options_of(
      put("mrpc.tsv",
          "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t2\t3\ta b c\ta b\n0\t4\t5\tx\ty\n"));
  pairs.hold_out = true;
  pairs.masked_per_sequence = 0;
  const auto two = open_source(pairs);
  ASSERT_TRUE(two) << two.error().message;
  fill_batch(**two, pairs, 0, 1, batch);
  EXPECT_EQ(batch.next_sentence[0], 1);
  EXPECT_EQ(std::ranges::count(batch.tokens, SpecialTokens::kSep), 2);
}

TEST(LabelledTables, WhatIsWrongIsNamed) {
  const auto why = [](const std::string& text) {
    DataOptions data = options_of(put("bad.tsv", text));
    data.hold_out = true;
    const auto source = open_source(data);
    return source ? "" : source.error().message;
  };
  EXPECT_THAT(why("sentence\tlabel\na\t1\nb\n"), HasSubstr("line 3 has 1 columns, line 1 names 2"));
  EXPECT_THAT(why("sentence\tlabel\na\t2\n"), HasSubstr("line 2: the label must be 0 or 1"));
  EXPECT_THAT(why("text\tlabel\na\t1\n"), HasSubstr("line 1 must name the columns"));
  EXPECT_THAT(why("sentence\tlabel\na\t1\n"), HasSubstr("1 usable of its 1"));
}

}  // namespace
}  // namespace bert
