// read_log: files, compression, and input that is no log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "parsers/formats/format.h"
#include "tests/parsers/run_log_text.h"
#include "tests/scratch_folder.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class Input : public testing::Test {
 protected:
  [[nodiscard]] std::string put(const std::string& name, const std::string& bytes) const {
    return folder_.put(name, bytes);
  }
  const test::ScratchFolder folder_;
};

std::string sample() {
  return test::read_file(std::string(BB_SOURCE_DIR) + "/parsers/samples/tqdm/sample.log");
}

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  std::string in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

std::string runs_text(const Result<std::vector<RunLog>>& runs) {
  return runs ? to_test_text(*runs) : "error: " + runs.error().message();
}

TEST_F(Input, IsTheSamePlainOrCompressedWhateverTheNameSays) {
  const std::string plain = runs_text(read_log(put("a.log", sample()), {}));
  EXPECT_THAT(plain, HasSubstr("\"format\": \"tqdm\""));
  EXPECT_EQ(runs_text(read_log(put("b.log", gzip(sample())), {})), plain);
  EXPECT_EQ(runs_text(read_log(put("c.gz", zstd(sample())), {})), plain);
}

TEST_F(Input, ReadsMembersAndFramesOneAfterTheOther) {
  const std::string text = sample();
  const std::string a = text.substr(0, 1000), b = text.substr(1000);
  const std::string plain = runs_text(read_log(put("a.log", text), {}));
  EXPECT_EQ(runs_text(read_log(put("b", gzip(a) + gzip("") + gzip(b)), {})), plain);
  EXPECT_EQ(runs_text(read_log(put("c", gzip(a) + gzip(b) + std::string(512, '\0')), {})), plain);
  EXPECT_EQ(runs_text(read_log(put("d", zstd(a) + zstd("") + zstd(b)), {})), plain);
}

TEST_F(Input, ReadsATruncatedOrDamagedMemberUpToThereAndSaysSo) {
  std::string long_log;  // zstd hands on whole blocks of 128 KiB
  for (int i = 0; i < 60; ++i) long_log += sample();
  for (const std::string& packed : {gzip(sample()), zstd(long_log)}) {
    const auto runs = read_log(put("cut", packed.substr(0, packed.size() - 6)), {});
    ASSERT_TRUE(runs) << runs.error().message();
    ASSERT_FALSE(runs->at(0).notices.empty());
    EXPECT_THAT(text_of(runs->at(0).notices.back()), HasSubstr("truncated"));
  }
  std::string damaged = gzip(sample());
  damaged += "not a member";
  const auto runs = read_log(put("damaged", damaged), {});
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->at(0).records.size(), 29u);
  EXPECT_THAT(text_of(runs->at(0).notices.back()), HasSubstr("damaged"));
}

/// A frame whose reader has to give 2^`log` bytes.
std::string zstd_of_window(const std::string& bytes, int log) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, log);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  while (in.pos < in.size) ZSTD_compressStream2(context, &to, &in, ZSTD_e_continue);
  while (ZSTD_compressStream2(context, &to, &in, ZSTD_e_end) > 0) continue;
  ZSTD_freeCCtx(context);
  out.resize(to.pos);
  return out;
}

TEST_F(Input, GivesAZstdFrameNoMoreThanEightMegabytesAndSaysSo) {
  const std::string plain = runs_text(read_log(put("a.log", sample()), {}));
  EXPECT_EQ(runs_text(read_log(put("fits", zstd_of_window(sample(), 23)), {})), plain);
  const auto refused = read_log(put("long", zstd_of_window(sample(), 24)), {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("zstd -dc"));
  const auto after = read_log(put("later", zstd(sample()) + zstd_of_window(sample(), 24)), {});
  ASSERT_TRUE(after);
  EXPECT_EQ(after->at(0).records.size(), 29u);
  EXPECT_THAT(text_of(after->at(0).notices.back()), HasSubstr("more than 8 MiB"));
}

std::string utf16(std::string_view ascii, bool big) {
  std::string out = big ? "\xfe\xff" : "\xff\xfe";
  for (const char c : ascii) out += big ? std::string{'\0', c} : std::string{c, '\0'};
  return out;
}

TEST_F(Input, ReadsUtf16AsWindowsPowerShellWritesIt) {
  const std::string log =
      "iter 1: loss 4.5, time 260.00ms, mfu 8.92%\r\niter 2: loss 4.4, time "
      "261.00ms, mfu 8.92%\r\n";
  const std::string plain = runs_text(read_log(put("plain", log), {}));
  EXPECT_THAT(plain, HasSubstr("nanogpt"));
  for (const bool big : {false, true}) {
    EXPECT_EQ(runs_text(read_log(put("wide", utf16(log, big)), {})), plain) << big;
  }
  // A bar's blocks, half a surrogate pair, and a byte too many at the end are no obstacle.
  std::string odd = utf16(log, false);
  odd.insert(2, std::string("\x88\x25\x3d\xd8\x0a\0", 6));
  EXPECT_THAT(runs_text(read_log(put("odd", odd + "x"), {})), HasSubstr("\"step\":2"));
}

TEST_F(Input, ReadsAPipe) {
  const auto path = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string text = sample();
  std::thread writer([&] {
    std::ofstream out(path, std::ios::binary);
    for (std::size_t i = 0; i < text.size(); i += 100) out << text.substr(i, 100) << std::flush;
  });
  const auto runs = read_log(path, {});
  writer.join();
  EXPECT_EQ(runs_text(runs), runs_text(read_log(put("a.log", text), {})));
}

TEST_F(Input, IsAnErrorThatSaysWhereAndWhatToDo) {
  const auto missing = read_log(folder_.path("none.log"), {});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("none.log: cannot be opened: No such file"));
  const auto directory = read_log(folder_.path(), {});
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message(), HasSubstr("is a directory"));
  const auto empty = read_log(put("empty.log", ""), {});
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message(), HasSubstr("empty.log: is empty"));
  std::string noise;
  for (unsigned i = 0; i < 300'000; ++i) noise.push_back(static_cast<char>(i * 7919u >> 3));
  const auto binary = read_log(put("noise.bin", noise), {});
  ASSERT_FALSE(binary);
  EXPECT_THAT(binary.error().message(), HasSubstr("is a binary file and no log"));
  const auto packed = read_log(put("log.xz",
                                   "\xFD"
                                   "7zXZ" +
                                       noise),
                               {});
  ASSERT_FALSE(packed);
  EXPECT_THAT(packed.error().message(), HasSubstr("is compressed by xz; let `xz -dc`"));
  const auto prose = read_log(put("prose.txt", "training went well\nloss was low\n"), {});
  ASSERT_FALSE(prose);
  EXPECT_THAT(prose.error().message(), HasSubstr("no line is of any known format"));
  EXPECT_THAT(prose.error().hint, HasSubstr("list formats"));
}

TEST_F(Input, IsNoProgramThatHoldsTheTextOfALog) {
  // The head of an ELF file, whose data hold what a log prints.
  std::string program(
      "\x7f"
      "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0>\0\1\0\0\0",
      24);
  for (int i = 0; i < 400; ++i) program += program.substr(0, 24);
  program += '\n' + sample();
  const auto runs = read_log(put("trainer", program), {});
  ASSERT_FALSE(runs);
  EXPECT_THAT(runs.error().message(), HasSubstr("is a binary file and no log"));
  ReadOptions in_chunks;
  in_chunks.threads = 2;
  in_chunks.chunk = 4'096;
  EXPECT_FALSE(read_log(put("trainer", program), in_chunks));
  // What a machine that went down leaves in a log.
  const std::string damaged = std::string(3'000, '\0') + "\n" + sample();
  const auto log = read_log(put("damaged.log", damaged), {});
  ASSERT_TRUE(log);
  EXPECT_EQ(log->at(0).records.size(),
            read_log(put("whole.log", sample()), {})->at(0).records.size());
}

TEST_F(Input, NeedsReadPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const auto path = put("secret.log", sample());
  fs::permissions(path, fs::perms::none);
  const auto runs = read_log(path, {});
  ASSERT_FALSE(runs);
  EXPECT_THAT(runs.error().message(), HasSubstr("Permission denied"));
}

TEST_F(Input, IsNotTheOutputOfTheProgram) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const int before = ::dup(STDOUT_FILENO);
  ASSERT_GE(::dup2(ends[1], STDOUT_FILENO), 0);
  const auto runs = read_log("/dev/stdout", {});
  ::dup2(before, STDOUT_FILENO);
  for (const int fd : {before, ends[0], ends[1]}) ::close(fd);
  ASSERT_FALSE(runs);
  EXPECT_THAT(runs.error().message(), HasSubstr("is the output of this command"));
}

TEST_F(Input, OfAnotherFormatThanAskedForIsAnError) {
  ReadOptions options;
  options.format = "native";
  const auto runs = read_log(put("a.log", sample()), options);
  ASSERT_FALSE(runs);
  EXPECT_THAT(runs.error().message(), HasSubstr("the format 'native'"));
}

TEST_F(Input, TheGenericReaderMayBeAskedFor) {
  ReadOptions options;
  options.format = "generic";
  const std::string ours = put("a.log", sample()),
                    loop = put("b.log",
                               "step 10 loss 3.1 time 1.0 s\nstep 20 loss 2.9 time 1.1 s\nstep 30 "
                               "loss 2.8 time 1.0 s\n");
  const auto read = read_log(loop, options);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->front().format, "generic");
  // Never the runs of a format that was not asked for.
  const auto other = read_log(ours, options);
  EXPECT_TRUE(!other || other->front().format == "generic");
}

TEST(FormatName, IsCheckedAgainstTheList) {
  EXPECT_TRUE(check_format_name("auto"));
  for (const Format* format : all_formats())
    EXPECT_TRUE(check_format_name(std::string(format->name)));
  const auto wrong = check_format_name("tqmd");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("did you mean 'tqdm'?"));
  EXPECT_THAT(check_format_name("no format at all").error().hint,
              AllOf(HasSubstr("auto, generic"), HasSubstr("native")));
  ReadOptions options;
  options.format = "tqmd";
  EXPECT_FALSE(read_log("-", options));
}

TEST(Formats, HaveATitleAReferenceAndUniqueNames) {
  std::vector<std::string_view> names;
  for (const Format* format : all_formats()) {
    EXPECT_FALSE(format->title.empty());
    EXPECT_FALSE(format->reference.empty());
    EXPECT_FALSE(format->literals().empty());
    EXPECT_EQ(std::ranges::count(names, format->name), 0);
    names.push_back(format->name);
  }
}

}  // namespace
}  // namespace bertbench
