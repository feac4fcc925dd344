#include "train/checkpoint/train_state.h"

#include <cstring>
#include <filesystem>

#include "base/log.h"
#include "base/prng.h"
#include "base/text.h"
#include "train/flags.h"

namespace keiko::train {
namespace {

std::vector<DecayRange> decay_ranges(const ParameterArena& arena) {
  std::vector<DecayRange> ranges;
  for (size_t i = 0; i < arena.size(); ++i) {
    ranges.push_back({arena.begin(i), arena.begin(i + 1), arena.spec(i).decays()});
  }
  return ranges;
}

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

Result<std::string_view> find_section(const Sections& sections, const std::string& name) {
  const auto found = sections.find(name);
  if (found == sections.end()) return data_loss("the checkpoint has no section " + name);
  return std::string_view(found->second);
}

Done copy_floats(const Sections& sections, const std::string& name, std::span<float> to) {
  const std::string_view bytes = TRY(find_section(sections, name));
  if (bytes.size() != to.size_bytes()) {
    return data_loss("section " + name + " has " + std::to_string(bytes.size()) +
                     " bytes, the model needs " + std::to_string(to.size_bytes()));
  }
  std::memcpy(to.data(), bytes.data(), bytes.size());
  return done();
}

Result<CheckpointHead> read_head(const Sections& sections) {
  const std::string_view bytes = TRY(find_section(sections, "head"));
  auto head = TRY(decode<CheckpointHead>(bytes));
  if (head.version != CheckpointHead{}.version) {
    return failed_precondition("the checkpoint has format " + std::to_string(head.version) +
                               ", this program reads " +
                               std::to_string(CheckpointHead{}.version));
  }
  return head;
}

/// Collects "width 64 (this run: 128)" for each field that differs.
class Difference {
 public:
  template <class T>
  void compare(const char* name, const T& stored, const T& wanted) {
    if (stored == wanted) return;
    if (!text_.empty()) text_ += ", ";
    text_ += std::string(name) + " " + std::to_string(stored) + " (this run: " +
             std::to_string(wanted) + ")";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// RETURNS: an error for what breaks the run; warns of what only changes the last bits.
Done check_head(const CheckpointHead& stored, const CheckpointHead& wanted,
                const std::string& path) {
  Difference broken;
  broken.compare("vocabulary", stored.vocabulary, wanted.vocabulary);
  broken.compare("layers", stored.layers, wanted.layers);
  broken.compare("heads", stored.heads, wanted.heads);
  broken.compare("width", stored.width, wanted.width);
  broken.compare("context", stored.context, wanted.context);
  broken.compare("batch", stored.batch, wanted.batch);
  broken.compare("seed", stored.seed, wanted.seed);
  broken.compare("data digest", stored.data_digest, wanted.data_digest);
  if (!broken.text().empty()) {
    return failed_precondition(path + " belongs to another run: " + broken.text() +
                               ". Use its flags, another --checkpoint-dir, or --fresh");
  }
  if (stored.cursor != wanted.cursor || stored.rng != wanted.rng) {
    return data_loss(path + ": its data cursor or random stream does not fit its step");
  }
  if (stored.world != wanted.world || stored.libtorch != wanted.libtorch) {
    log_warn("resume_not_bit_exact",
             "written_by_world=" + std::to_string(stored.world) + " libtorch=" + stored.libtorch +
                 " now_world=" + std::to_string(wanted.world) + " now_libtorch=" +
                 wanted.libtorch);
  }
  return done();
}

}  // namespace

uint64_t stream_key(int64_t seed, int64_t step) {
  return splitmix64(splitmix64(static_cast<uint64_t>(seed) ^ 0x6b65696b6f000000ULL) +
                    static_cast<uint64_t>(step));
}

GptShape shape_of(const TrainOptions& options, const Tokenizer& tokenizer) {
  return {tokenizer.vocabulary_size(), options.layers, options.heads, options.width,
          options.context};
}

TrainState::TrainState(const TrainOptions& options, const Corpus& corpus)
    : options_(options),
      tokenizer_record_(corpus.tokenizer().record()),
      data_digest_(corpus.digest().bits),
      shape_(shape_of(options, corpus.tokenizer())),
      arena_(gpt_parameters(shape_), static_cast<uint64_t>(options.seed)),
      optimizer_({options.beta1, options.beta2, 1e-8, options.weight_decay},
                 decay_ranges(arena_), arena_.weights().size()) {}

CheckpointHead TrainState::head(int world) const {
  CheckpointHead head;
  head.step = step_;
  head.cursor = step_ * options_.batch;
  head.rng = stream_key(options_.seed, step_);
  head.data_digest = data_digest_;
  head.vocabulary = shape_.vocabulary;
  head.layers = shape_.layers;
  head.heads = shape_.heads;
  head.width = shape_.width;
  head.context = shape_.context;
  head.batch = options_.batch;
  head.seed = options_.seed;
  head.world = world;
  head.flags = flags_text(options_);
  head.libtorch = torch_version();
  return head;
}

void TrainState::copy_to(CheckpointImage& image, int world) {
  image["head"] = encode(head(world));
  image["tokenizer"] = tokenizer_record_;
  image["layout"] = arena_.layout_text();
  // assign() keeps the memory of the last time, so that no page is touched for the first time.
  image["weights"].assign(bytes_of(arena_.weights()));
  image["moment1"].assign(bytes_of(optimizer_.first_moment()));
  image["moment2"].assign(bytes_of(optimizer_.second_moment()));
}

Done TrainState::restore(const StoredCheckpoint& checkpoint, int world) {
  const CheckpointHead stored = TRY(read_head(checkpoint.sections));
  const int64_t step_before = step_;
  step_ = stored.step;
  const CheckpointHead wanted = head(world);
  step_ = step_before;
  TRY(check_head(stored, wanted, checkpoint.path));
  if (TRY(find_section(checkpoint.sections, "tokenizer")) != tokenizer_record_) {
    return failed_precondition(checkpoint.path + " was written with another --tokenizer");
  }
  if (TRY(find_section(checkpoint.sections, "layout")) != arena_.layout_text()) {
    return failed_precondition(checkpoint.path + " lays its parameters out differently");
  }
  TRY(copy_floats(checkpoint.sections, "weights", arena_.weights()));
  TRY(copy_floats(checkpoint.sections, "moment1", optimizer_.first_moment()));
  TRY(copy_floats(checkpoint.sections, "moment2", optimizer_.second_moment()));
  step_ = stored.step;
  return done();
}

Result<RestoredModel> restore_model(const std::string& path) {
  Sections sections;
  if (std::filesystem::is_directory(path)) {
    const CheckpointStore store = CheckpointStore::at(path);
    auto newest = TRY(store.load_newest());
    if (!newest) return not_found("no checkpoint in " + path + " (step-*.ckpt)");
    sections = std::move(newest->sections);
  } else {
    sections = TRY(read_section_file(path));
  }
  RestoredModel model;
  model.head = TRY(read_head(sections));
  const std::string_view tokenizer_record = TRY(find_section(sections, "tokenizer"));
  model.tokenizer = TRY(Tokenizer::from_record(tokenizer_record));
  model.shape = {model.head.vocabulary, model.head.layers, model.head.heads, model.head.width,
                 model.head.context};
  model.arena = std::make_unique<ParameterArena>(gpt_parameters(model.shape), 0);
  if (TRY(find_section(sections, "layout")) != model.arena->layout_text()) {
    return failed_precondition(path + " lays its parameters out differently");
  }
  TRY(copy_floats(sections, "weights", model.arena->weights()));
  return model;
}

}  // namespace keiko::train
