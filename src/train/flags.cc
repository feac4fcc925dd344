#include "train/flags.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace keiko::train {
namespace {

using O = TrainOptions;
constexpr double kBig = 1e15;
constexpr double kAnyInt = 9e15;

const std::array<FlagRow, 31> kRows = {{
    {"The text", "data", "FILE", &O::data, 0, 0, "one text file; its last tenth is held out"},
    {"", "tokenizer", "KIND", &O::tokenizer, 0, 0, "byte or char"},
    {"The model", "layers", "N", &O::layers, 1, 1000, "transformer blocks"},
    {"", "heads", "N", &O::heads, 1, 1000, "attention heads per block"},
    {"", "width", "N", &O::width, 1, 100'000, "size of the residual stream, a multiple of heads"},
    {"", "context", "N", &O::context, 1, 1'000'000, "tokens seen at once"},
    {"", "dropout", "P", &O::dropout, 0, 0.99, "probability"},
    {"The run", "batch", "N", &O::batch, 1, 1'000'000, "samples per step over all ranks together"},
    {"", "steps", "N", &O::steps, 1, kBig, "steps of the whole run"},
    {"", "lr", "X", &O::lr, 0, 10, "peak learning rate"},
    {"", "min-lr", "X", &O::min_lr, 0, 10, "learning rate at the last step"},
    {"", "warmup", "N", &O::warmup, 0, kBig, "steps of linear warm-up"},
    {"", "weight-decay", "X", &O::weight_decay, 0, 10, "on matrices"},
    {"", "beta1", "X", &O::beta1, 0, 0.999999, "AdamW's first moment"},
    {"", "beta2", "X", &O::beta2, 0, 0.999999, "AdamW's second moment"},
    {"", "clip", "X", &O::clip, 0, kBig, "greatest gradient norm; 0 clips nothing"},
    {"", "seed", "N", &O::seed, 0, kAnyInt, "of weights, batches and dropout"},
    {"", "dtype", "KIND", &O::dtype, 0, 0, "f32, or bf16 for matrix products"},
    {"", "bucket-kib", "N", &O::bucket_kib, 1, kBig, "least KiB of one gradient all-reduce"},
    {"Checkpoints", "checkpoint-dir", "DIR", &O::checkpoint_dir, 0, 0,
     "where they go and where a run resumes from (default: $KEIKO_CHECKPOINT_DIR, or none)"},
    {"", "checkpoint-every", "N", &O::checkpoint_every, 0, kBig,
     "steps between them; 0: only at the end and on notice"},
    {"", "keep", "N", &O::keep, 1, 1'000'000, "newest checkpoints that stay"},
    {"", "fresh", "", &O::fresh, 0, 0, "start at step 0 whatever the folder holds"},
    {"", "resume-from", "FILE", &O::resume_from, 0, 0,
     "resume from this checkpoint, not from the newest (default: $KEIKO_RESUME_FROM, or none)"},
    {"What is told", "eval-every", "N", &O::eval_every, 0, kBig,
     "steps between estimates on the held-out tenth; 0: never"},
    {"", "eval-batches", "N", &O::eval_batches, 1, 1'000'000, "random batches per estimate"},
    {"", "eval-full", "", &O::eval_full, 0, 0, "loss over the whole held-out tenth at the end"},
    {"", "sample", "N", &O::sample, 0, 1'000'000, "tokens to generate at the end"},
    {"", "prompt", "TEXT", &O::prompt, 0, 0, "what the generated text begins with"},
    {"", "temperature", "X", &O::temperature, 0, 100, "0 takes the likeliest token each time"},
    {"", "log-every", "N", &O::log_every, 1, kBig, "steps between progress lines"},
}};

template <class T>
bool parse_number(const std::string& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string number_text(double value) {
  std::array<char, 32> text;
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), result.ptr};
}

Error bad_value(const std::string& name, const std::string& text, const std::string& wanted) {
  return invalid_argument("--" + name + " " + quote_text(text) + ": " + wanted);
}

struct NumberRange {
  double least = 0;
  double most = 0;
};

template <class T>
Done read_number(const std::string& name, const std::string& text, NumberRange range, T& number) {
  T value{};
  const std::string kind = std::is_integral_v<T> ? "a whole number" : "a number";
  const std::string wanted =
      kind + " from " + number_text(range.least) + " to " + number_text(range.most);
  if (!parse_number(text, value)) return bad_value(name, text, "expected " + wanted);
  const auto wide = static_cast<double>(value);
  if (!std::isfinite(wide) || wide < range.least || wide > range.most) {
    return bad_value(name, text, "out of range, expected " + wanted);
  }
  number = value;
  return done();
}

struct StoreValue {
  TrainOptions& options;
  const FlagRow& row;
  const std::string& text;

  Done operator()(std::string TrainOptions::* field) const {
    options.*field = text;
    return done();
  }
  Done operator()(bool TrainOptions::* field) const {
    if (text != "true" && text != "false") return bad_value(row.name, text, "true or false");
    options.*field = text == "true";
    return done();
  }
  template <class T>
  Done operator()(T TrainOptions::* field) const {
    return read_number(row.name, text, {row.least, row.most}, options.*field);
  }
};

std::string value_text(const TrainOptions& options, const FlagRow& row) {
  return std::visit(
      [&](auto field) -> std::string {
        using T = std::remove_cvref_t<decltype(options.*field)>;
        if constexpr (std::is_same_v<T, std::string>) return options.*field;
        else if constexpr (std::is_same_v<T, bool>) return options.*field ? "true" : "false";
        else if constexpr (std::is_same_v<T, double>) return number_text(options.*field);
        else return std::to_string(options.*field);
      },
      row.field);
}

/// What `sample` takes beside --prompt, --temperature and --seed.
const std::vector<std::string> kSampleFlags = {"checkpoint", "tokens", "prompt", "temperature",
                                               "seed"};

const FlagRow* find_row(const std::string& name) {
  for (const FlagRow& row : flag_rows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::vector<std::string> names_for(Verb verb) {
  if (verb == Verb::kSample) return kSampleFlags;
  std::vector<std::string> names;
  for (const FlagRow& row : flag_rows()) names.emplace_back(row.name);
  return names;
}

Done store_flag(CommandLine& line, const std::string& name, const std::string& text) {
  if (name == "checkpoint") {
    line.checkpoint = text;
    return done();
  }
  if (name == "tokens") return read_number(name, text, {1, 1e6}, line.tokens);
  const FlagRow& row = *find_row(name);
  return std::visit(StoreValue{line.options, row, text}, row.field);
}

Error unknown_word(const std::string& kind, const std::string& word,
                   const std::vector<std::string>& known, const std::string& prefix) {
  const std::string nearest = nearest_word(word, known);
  std::string message = "unknown " + kind + " " + prefix + word;
  if (!nearest.empty()) message += ". Did you mean " + prefix + nearest + "?";
  return invalid_argument(message + " (keiko-train --help lists them)");
}

Done read_flags(CommandLine& line, const std::vector<std::string>& arguments) {
  const std::vector<std::string> known = names_for(line.verb);
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--help" || word == "-h") {
      line.verb = Verb::kHelp;
      return done();
    }
    if (!word.starts_with("--")) {
      return invalid_argument("unexpected " + quote_text(word) +
                              ": everything after the verb is --flag value");
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (std::find(known.begin(), known.end(), name) == known.end() || name.empty()) {
      return unknown_word("flag", name, known, "--");
    }
    const FlagRow* row = find_row(name);
    if (equals != std::string::npos) {
      TRY(store_flag(line, name, word.substr(equals + 1)));
    } else if (row != nullptr && row->value[0] == '\0') {
      TRY(store_flag(line, name, "true"));
    } else if (i + 1 < arguments.size()) {
      TRY(store_flag(line, name, arguments[++i]));
    } else {
      return invalid_argument("--" + name + " needs a value");
    }
  }
  return done();
}

}  // namespace

std::span<const FlagRow> flag_rows() { return kRows; }

Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments) {
  CommandLine line;
  if (arguments.empty()) return invalid_argument("no verb: gpt or sample (see --help)");
  const std::string& verb = arguments[0];
  if (verb == "--help" || verb == "-h" || verb == "help") return line;
  if (verb == "--version" || verb == "version") {
    line.verb = Verb::kVersion;
    return line;
  }
  if (verb == "gpt") line.verb = Verb::kGpt;
  else if (verb == "sample") line.verb = Verb::kSample;
  else return unknown_word("verb", verb, {"gpt", "sample", "help", "version"}, "");
  TRY(read_flags(line, arguments));
  if (line.verb == Verb::kSample && line.checkpoint.empty()) {
    return invalid_argument("--checkpoint is missing: a checkpoint file, or a run's folder");
  }
  return line;
}

std::string flags_text(const TrainOptions& options) {
  std::string text;
  for (const FlagRow& row : flag_rows()) {
    if (!text.empty()) text += ' ';
    text += "--" + std::string(row.name) + "=" + value_text(options, row);
  }
  return text;
}

std::string help_text() {
  std::string text =
      "keiko-train: trains a GPT on one text file, on one rank or as one of a gang.\n\n"
      "  keiko-train gpt --data FILE [flags]\n"
      "  keiko-train sample --checkpoint DIR|FILE [--tokens N] [--prompt TEXT] [--temperature X]\n"
      "                     [--seed N]\n"
      "  keiko-train version\n";
  const TrainOptions defaults;
  for (const FlagRow& row : flag_rows()) {
    if (row.group[0] != '\0') text += "\n" + std::string(row.group) + ":\n";
    std::string left = "  --" + std::string(row.name) + " " + row.value;
    left.resize(std::max<size_t>(left.size() + 1, 25), ' ');
    text += left + row.help;
    const std::string value = value_text(defaults, row);
    if (row.value[0] != '\0' && !value.empty() && value != "\n") text += " (" + value + ")";
    text += '\n';
  }
  text +=
      "\nRanks and their meeting place come from the environment, as torchrun sets it: RANK,\n"
      "WORLD_SIZE, MASTER_ADDR, MASTER_PORT. KEIKO_SOCKET connects to an agent, if there is one.\n"
      "A run with a checkpoint folder resumes from its newest whole checkpoint, bit for bit; "
      "under\n"
      "an agent from the one that the server committed last (KEIKO_RESUME_FROM).\n"
      "\nExit codes: 0 trained, or stopped after a checkpoint on the agent's notice; 1 failed;\n"
      "2 wrong usage; 75 a peer was lost, another attempt may do; 143 SIGTERM and 130 SIGINT,\n"
      "after a checkpoint.\n";
  return text;
}

}  // namespace keiko::train
