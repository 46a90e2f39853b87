// Secrets of a configuration: the trainer gets their values, everything else holds markers.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "harness/sweep/journal/run_state.h"
#include "reports/model/result_io.h"
#include "tests/harness/sweep/support.h"

namespace bertbench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kCell = "bert-tiny.fp32.s64.b4.a1.1n1g";

/// Files below a folder that hold a text.
std::vector<std::string> files_with(const std::string& folder, const std::string& text) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const auto path = entry.path().string();
    if (test::read_file(path).find(text) != std::string::npos) {
      out.push_back(path.substr(folder.size() + 1));
    }
  }
  return out;
}

/// A command of fake_trainer, which dumps its words and variables to `dump`.
std::string command_config(const std::string& dump, const std::string& password) {
  return R"({"name": "test", "command": [")" BB_FAKE_TRAINER R"(", "--model", "{model}",
  "--micro-batch-size", "{micro_batch_size}", "--steps", "{steps}", "--sequence-length", "64",
  "--expect-world-size", "1", "--hub-password", ")" +
         password + R"(", "+logger.api_key=pq-r7-99", "{file:c.json}", "{file:c.env}"],
 "files": {"c.json": {"hub": {"token": "tt\"t-42-x", "bos_token_id": 3}},
           "c.env": "A=1\nDB_PASSWORD = dd-77-yy\n"},
 "env": {"FAKE_TOKEN": "hf_aB3-x\n2nd", "FAKE_DUMP": ")" +
         dump + R"("},
 "grid": {"topology": ["1n1g"], "model": ["bert-tiny"], "micro_batch_size": [4],
          "sequence_length": [64]},
 "trial_setup": ["sh", "-c", "export MY_SECRET=ss-55-zz; echo $MY_SECRET >)" +
         dump + R"(.hook"],
 "trials": 1, "steps": 20, "window": "steps:10:20", "retries": 0})";
}

TEST(Secrets, ReachTheTrainerAndStandNowhereElse) {
  ScratchFolder temp;
  Recorder seen;
  const auto run = temp.path("run");
  const auto plan = plan_of(command_config(temp.path("dump"), "pw-1234-pw"));
  const auto outcome = value_of(run_sweep(plan, quick(run), seen));
  ASSERT_EQ(outcome.exit_status, 0);
  const auto dump = test::read_file(temp.path("dump"));
  for (const char* value : {"pw-1234-pw", "+logger.api_key=pq-r7-99", "FAKE_TOKEN=hf_aB3-x\n2nd"}) {
    EXPECT_THAT(dump, HasSubstr(value));
  }
  EXPECT_EQ(test::read_file(temp.path("dump.hook")), "ss-55-zz\n");
  const auto attempt = std::string("run/") + plan.cells[0].folder + "/trial_1/";
  const auto json = attempt + "files/c.json", env = attempt + "files/c.env";
  EXPECT_EQ(nlohmann::json::parse(test::read_file(temp.path(json))),
            nlohmann::json::parse(R"({"hub": {"token": "tt\"t-42-x", "bos_token_id": 3}})"));
  EXPECT_EQ(test::read_file(temp.path(env)), "A=1\nDB_PASSWORD = dd-77-yy\n");
  for (const auto& file : {json, env}) {
    struct stat info {};
    ASSERT_EQ(stat(temp.path(file).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << file;
  }
  for (const char* value : {"pw-1234-pw", "pq-r7-99", "hf_aB3-x", "ss-55-zz"}) {
    EXPECT_THAT(files_with(run, value), IsEmpty()) << value;
  }
  EXPECT_THAT(files_with(run, "t-42-x"), ElementsAre(json.substr(4)));
  EXPECT_THAT(files_with(run, "dd-77-yy"), ElementsAre(env.substr(4)));
  EXPECT_THAT(test::read_file(temp.path(attempt + "command.json")),
              ::testing::AllOf(HasSubstr("<secret:hub-password>"), HasSubstr("<secret:FAKE_TOKEN>"),
                               HasSubstr("<secret:DB_PASSWORD>")));
  const auto lines = value_of(dry_run(plan, "out"));
  EXPECT_THAT(lines.at(0), Not(::testing::AnyOf(HasSubstr("1234"), HasSubstr("aB3"))));
}

TEST(Secrets, ThatChangeAreNoticedByResume) {
  ScratchFolder temp;
  const auto runs = [&](const std::string& password) {
    Recorder seen;
    const auto plan = plan_of(command_config(temp.path("dump"), password));
    swept(plan, temp, seen);
    return seen.counts.to_run;
  };
  EXPECT_EQ(runs("pw-1234-pw"), 1);
  EXPECT_EQ(runs("pw-1234-pw"), 0);
  EXPECT_EQ(runs("pw-1235-pw"), 1);
  // The digest is of a SHA-256: a plain hash of the command could be solved for a short value.
  EXPECT_THAT(files_with(temp.path("run"), "pw-1235-pw"), IsEmpty());
}

TEST(Secrets, InTheLastWordsOfATrainerStandInNoReport) {
  ScratchFolder temp;
  Recorder seen;
  const auto plan = plan_of(R"({"name": "test", "trials": 1, "retries": 0,
    "command": ["sh", "-c", "echo 'Traceback (most recent call last):'; echo '  File \"t.py\", line 1, in <module>'; echo \"RuntimeError: token $HF_TOKEN is not valid\"; exit 1"],
    "env": {"HF_TOKEN": "hf_aB3-x2nd"}, "grid": {"topology": ["1n1g"]}})");
  swept(plan, temp, seen, 1);
  EXPECT_THAT(detail_text(seen.finished.at(0).outcome), HasSubstr("token <secret:HF_TOKEN> is"));
  const auto holders = files_with(temp.path("run"), "hf_aB3-x2nd");
  ASSERT_EQ(holders.size(), 1u);
  EXPECT_THAT(holders[0], ::testing::EndsWith("/log.txt")) << "the trainer's own words stay";
  // Read again by another build, which finds no outcome.json of its own.
  for (const auto& entry : std::filesystem::recursive_directory_iterator(temp.path("run"))) {
    if (entry.path().filename() == "outcome.json") std::filesystem::remove(entry.path());
  }
  swept(plan, temp, seen, 1);
  EXPECT_EQ(files_with(temp.path("run"), "hf_aB3-x2nd").size(), 1u + seen.counts.to_run);
}

// The command line of the harness is kept with the results, which are published: here the name of
// this program is the secret that it holds.
TEST(Secrets, OfTheHarnessesOwnCommandLineStandInNoFile) {
  ScratchFolder temp;
  Recorder seen;
  const std::string own = test::read_file("/proc/self/cmdline").c_str();
  swept(plan_of(small_config(), {"trials=1", "env.MY_TOKEN=" + own}), temp, seen);
  EXPECT_THAT(files_with(temp.path("run"), own), IsEmpty());
  EXPECT_THAT(files_with(temp.path("run"), "\"<secret:MY_TOKEN>\""), Contains("environment.json"));
}

TEST(Secrets, OfASweepJsonAreMissing) {
  ScratchFolder temp;
  Recorder seen;
  const auto plan = plan_of(small_config(R"(, "env": {"HF_TOKEN": "hf_aB3-x2nd"})"));
  swept(plan, temp, seen);
  const auto text = test::read_file(temp.path("run/sweep.json"));
  EXPECT_THAT(text, HasSubstr(R"("HF_TOKEN": "<secret:HF_TOKEN>")"));
  const auto outcome = run_sweep(plan_of(text), quick(temp.path("run2")), seen);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(
      outcome.error().message(),
      ::testing::AllOf(HasSubstr("<secret:HF_TOKEN> stands for a value"), HasSubstr("by --set")));
  swept(plan_of(text, {"env.HF_TOKEN=hf_aB3-x2nd"}), temp, seen);
  EXPECT_EQ(seen.counts.to_run, 0) << "the same command as before";
}

TEST(Secrets, AreNoAxes) {
  for (const char* set : {"grid.env.HF_TOKEN=[\"a\",\"b\"]", "grid.env.pin=[\"a\",\"b\"]"}) {
    const auto config = parse_config(small_config(), "c.json", {set, "secret=[\"env.pin\"]"});
    ASSERT_FALSE(config) << set;
    EXPECT_THAT(config.error().message(),
                ::testing::AllOf(HasSubstr("name of a secret"), HasSubstr("env or args")));
  }
}

TEST(Secrets, HaveNamesWithAWordThatSaysSo) {
  for (const char* name : {"HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "--hub-token",
                           "db.password", "+trainer.apiKey", "MYSQL_PASSWD", "private_key"}) {
    EXPECT_TRUE(is_secret_name(name, {})) << name;
  }
  for (const char* name :
       {"--mask-token", "pad_token", "--eos-token-id", "TOKENIZERS_PARALLELISM", "--max-tokens",
        "--tokenizer", "keys", "monkey", "PASSWORDLESS", "", "-", "access", "key"}) {
    EXPECT_FALSE(is_secret_name(name, {})) << name;
  }
  EXPECT_TRUE(is_secret_name("--pin", {"pin"}));
  EXPECT_TRUE(is_secret_name("PIN", {"--pin", "PIN"}));
  EXPECT_FALSE(is_secret_name("pins", {"pin"}));
}

/// The words of a command as the configuration keeps them.
std::vector<std::string> kept(const std::string& words) {
  const auto config =
      parse_config(R"({"command": )" + words + R"(, "secret": ["pin"]})", "c.json", {});
  EXPECT_TRUE(config) << (config ? "" : config.error().message());
  return config ? config->command->launch.front().words : std::vector<std::string>{};
}

TEST(Secrets, StandInWordsOfManyForms) {
  EXPECT_THAT(kept(R"(["t", "--token", "abc", "--pin", "12", "-x"])"),
              ElementsAre("t", "--token", "<secret:token>", "--pin", "<secret:pin>", "-x"));
  EXPECT_THAT(kept(R"(["t", "--use-auth-token", "--lr", "1"])"),
              ElementsAre("t", "--use-auth-token", "--lr", "1"));
  EXPECT_THAT(kept(R"(["t", "--env=A_TOKEN=x y", "A_TOKEN=x y", "A_TOKEN=x y"])"),
              ElementsAre("t", "--env=A_TOKEN=<secret:A_TOKEN> y", "A_TOKEN=<secret:A_TOKEN:2>",
                          "A_TOKEN=<secret:A_TOKEN:2>"));
  EXPECT_THAT(kept(R"(["sh", "-c", "A_TOKEN='x y' B=1 B_TOKEN=z; run --token=\"q r\""])"),
              ElementsAre("sh", "-c",
                          "A_TOKEN='<secret:A_TOKEN>' B=1 B_TOKEN=<secret:B_TOKEN>; run "
                          "--token=\"<secret:token>\""));
  EXPECT_THAT(kept(R"(["t", "--password", "-a1b2c3", "--use-auth-token", "-v"])"),
              ElementsAre("t", "--password", "<secret:password>", "--use-auth-token", "-v"));
  EXPECT_THAT(kept(R"j(["python", "-c", "os.environ[\"A_TOKEN\"] = \"x\\\"y\"; run()"])j"),
              ElementsAre("python", "-c", "os.environ[\"A_TOKEN\"] = \"<secret:A_TOKEN>\"; run()"));
  // What a placeholder makes is known to every report anyway; doubled braces are one.
  EXPECT_THAT(kept(R"(["t", "--token={model}", "--password=a{{b"])"),
              ElementsAre("t", "--token={model}", "--password=<secret:password>"));
}

TEST(Secrets, StandInFilesOfManyForms) {
  const auto config = value_of(parse_config(
      R"({"command": ["t", "{file:c.yaml}", "{file:c.json}"], "files": {
          "c.yaml": "- token: abc\nlogin: {{user: me, password: def}}\n\"hub_token\": ghi\n",
          "c.json": {"password": 123456, "lr": 0.1}}})",
      "c.json", {}));
  EXPECT_EQ(config.command->files.at("c.yaml").text,
            "- token: <secret:token>\nlogin: {{user: me, password: <secret:password:2>}}\n"
            "\"hub_token\": <secret:hub_token>\n");
  EXPECT_THAT(config.command->files.at("c.json").text, HasSubstr("\"<secret:password>\""));
}

TEST(Secrets, AreConcealedWithAnyEscapesOfJson) {
  Secrets secrets;
  secrets.conceal("pass", "p\xc3\xa4ss/w\"<&>\\1");
  secrets.conceal("smile", "\xf0\x9f\x98\x80smile");
  secrets.conceal("pem", "first\tline\nsecond");
  secrets.conceal("pin",
                  "\xc3\xa4"
                  "1");
  for (const char* text : {"[p\xc3\xa4ss/w\"<&>\\1]", R"([p\u00e4ss\/w\"\u003c\u0026\u003E\\1])",
                           R"([\u0070\u00E4ss\u002fw\u0022<&>\u005c1])"}) {
    EXPECT_EQ(secrets.conceal_values(text), "[<secret:pass>]") << text;
  }
  EXPECT_EQ(secrets.conceal_values(R"(\ud83d\ude00smile \uD83D\uDE00smile \ud83d \ude00smile \u)"),
            R"(<secret:smile> <secret:smile> \ud83d \ude00smile \u)");
  EXPECT_EQ(secrets.conceal_values(R"("first\tline\nsecond" first\u0009line)"),
            R"("<secret:pem>" <secret:pem>)");
  EXPECT_EQ(secrets.conceal_word(R"(\u00e41 x\u00e41 \u00e412)"),
            R"(<secret:pin> x\u00e41 \u00e412)");
}

TEST(Secrets, AreRevealedWholeAndAsTheyWere) {
  Secrets secrets;
  const auto first = secrets.conceal("--token", "a\"b");
  const auto second = secrets.conceal("token", "other");
  EXPECT_EQ(first, "<secret:token>");
  EXPECT_EQ(second, "<secret:token:2>");
  EXPECT_EQ(secrets.conceal("token", "a\"b"), first);
  EXPECT_EQ(secrets.conceal("my \"token", "x"), "<secret:my__token>");
  EXPECT_EQ(secrets.reveal(second + "," + first), "other,a\"b");
  EXPECT_EQ(secrets.reveal_json("[\"" + first + "\"]"), R"(["a\"b"])");
  EXPECT_EQ(secrets.conceal_values("an other value"), "an other value") << "5 bytes are too few";
  secrets.conceal("key", "abcdef");
  secrets.conceal("long-key", "abcdefgh");
  secrets.conceal("pem", "first line\nsecond");
  EXPECT_EQ(secrets.conceal_values("abcdefgh, first line"), "<secret:long-key>, <secret:pem>");
  secrets.conceal("code", "471");
  secrets.conceal("quoted", "{\"s-3\"}");
  EXPECT_EQ(secrets.conceal_word("env.PIN=471"), "env.PIN=<secret:code>");
  EXPECT_EQ(secrets.conceal_word("micro_batch_size=4711"), "micro_batch_size=4711");
  EXPECT_EQ(secrets.conceal_word(R"(args=["--quoted","{\"s-3\"}"])"),
            R"(args=["--quoted","<secret:quoted>"])");
  EXPECT_EQ(secrets.conceal_word("{{\"s-3\"}}"), "<secret:quoted>") << "of a word of a command";
  EXPECT_EQ(secrets.conceal_values("exit status 471"), "exit status 471");
  const auto number = secrets.conceal_number("password", "123456");
  EXPECT_EQ(secrets.reveal_json("{\"password\":\"" + number + "\"}"), R"({"password":123456})");
  EXPECT_NE(secrets.digests_of(first, "s"), secrets.digests_of(first, "t"));
  EXPECT_EQ(secrets.digests_of("none", "s"), "");
  EXPECT_THAT(secrets.missing(), IsEmpty());
  EXPECT_EQ(secrets.conceal("token", "<secret:pin>"), "<secret:pin>");
  EXPECT_THAT(secrets.missing(), ElementsAre("<secret:pin>"));
}

}  // namespace
}  // namespace bertbench
