// The program's standard streams: full, closed, gone.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/e2e/programs.h"

namespace bertbench::e2e {
namespace {

using testing::HasSubstr;

TEST(Streams, AFullStdoutIsStatusTwo) {
  const Folder folder;
  Process process({kBertbench, "list", "models"}, "/dev/full", folder / "err");
  EXPECT_EQ(process.wait(), 2);
  EXPECT_THAT(read_file(folder / "err"), HasSubstr("standard output: No space left on device"));
}

TEST(Streams, AReaderThatLeftIsNoErrorAndDoesNotChangeAVerdict) {
  const Folder folder;
  const Ran shell = folder.run(
      {"/bin/bash", "-c", kBertbench + " list models,hardware | true; echo ${PIPESTATUS[0]}"});
  EXPECT_EQ(shell.out, "0\n");
  EXPECT_EQ(shell.err, "");
  const Ran failing = folder.run(
      {"/bin/bash", "-c", kBertbench + " extract /nonexistent.log | true; echo ${PIPESTATUS[0]}"});
  EXPECT_EQ(failing.out, "5\n");
}

TEST(Streams, AClosedStdoutIsAnErrorAndNoFileIsDamaged) {
  const Folder folder;
  const Ran shell = folder.run({"/bin/bash", "-c",
                                kBertbench + " flops --model bert-base --sequence-length 128 -o " +
                                    folder / "f.json" + " >&-; echo $? >&2"});
  EXPECT_THAT(shell.err, HasSubstr("standard output: "));
  EXPECT_THAT(shell.err, testing::EndsWith("2\n"));
  EXPECT_EQ(json::parse(read_file(folder / "f.json"))["model"], "bert-base");
}

TEST(Streams, ClosedStderrIsSurvived) {
  const Folder folder;
  const Ran shell =
      folder.run({"/bin/bash", "-c", kBertbench + " extract /nonexistent.log 2>&-; echo $?"});
  EXPECT_EQ(shell.out, "5\n");
}

TEST(Streams, StdinIsALog) {
  const Folder folder;
  const Ran shell = folder.run(
      {"/bin/bash", "-c",
       kBertTrain +
           " --model bert-tiny --micro-batch-size 2 --sequence-length 16 --threads 1 --steps 12 "
           "2>/dev/null | " +
           kBertbench + " extract - --window all --json"});
  ASSERT_EQ(shell.status, 0) << shell.err;
  EXPECT_EQ(json::parse(shell.out)["cells"][0]["trials"][0]["format"], "native");
}

}  // namespace
}  // namespace bertbench::e2e
