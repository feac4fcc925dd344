// From text to tokens to batches: tokenizers, the corpus and where samples come from.
#include <gtest/gtest.h>

#include <set>

#include "train/loop/evaluate.h"
#include "train/text/corpus.h"
#include "train/text/tokenizer.h"

namespace keiko::train {
namespace {

TEST(TrainTokenizer, gives_text_back_byte_for_byte) {
  const std::string text = "Thou art — naïve.\n\x01\xff end";
  const Tokenizer bytes = Tokenizer::bytes();
  const Tokenizer characters = Tokenizer::characters(text);
  EXPECT_EQ(bytes.decode(MUST(bytes.encode(text))), text);
  EXPECT_EQ(characters.decode(MUST(characters.encode(text))), text);
  EXPECT_EQ(bytes.vocabulary_size(), 256);
}

TEST(TrainTokenizer, numbers_the_characters_of_the_text_in_order) {
  const Tokenizer tokenizer = Tokenizer::characters("hello é");
  EXPECT_EQ(tokenizer.vocabulary_size(), 6);  // space e h l o é
  EXPECT_EQ(MUST(tokenizer.encode(" ehloé")), (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
}

TEST(TrainTokenizer, survives_its_record) {
  for (const Tokenizer& tokenizer : {Tokenizer::bytes(), Tokenizer::characters("añb€")}) {
    const Tokenizer again = MUST(Tokenizer::from_record(tokenizer.record()));
    EXPECT_EQ(again.record(), tokenizer.record());
    EXPECT_EQ(again.vocabulary_size(), tokenizer.vocabulary_size());
  }
  EXPECT_EQ(Tokenizer::from_record("char\x05").error().code, Code::kDataLoss);
  EXPECT_EQ(Tokenizer::from_record("bpe").error().code, Code::kDataLoss);
}

TEST(TrainTokenizer, names_the_character_it_does_not_know) {
  const auto outcome = Tokenizer::characters("abc").encode("abz");
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("\"z\" at byte 2"), std::string::npos)
      << outcome.error().message;
}

TEST(TrainCorpus, holds_the_last_tenth_out) {
  const std::string text(1000, 'x');
  const Corpus corpus = MUST(Corpus::from_text(text, TokenizerKind::kByte, 8));
  EXPECT_EQ(corpus.train().size(), 900U);
  EXPECT_EQ(corpus.held_out().size(), 100U);
}

TEST(TrainCorpus, refuses_a_text_shorter_than_its_context) {
  const auto outcome = Corpus::from_text("short", TokenizerKind::kByte, 64);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::kInvalidArgument);
  EXPECT_NE(outcome.error().message.find("--context"), std::string::npos);
  EXPECT_FALSE(Corpus::from_text("", TokenizerKind::kChar, 1).ok());
}

TEST(TrainCorpus, names_the_file_it_cannot_read) {
  const auto outcome = read_text("/no/such/file");
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("/no/such/file"), std::string::npos);
}

TEST(TrainBatches, depend_on_seed_step_and_index_alone_and_cover_the_text) {
  EXPECT_EQ(sample_offset(1, 2, 3, 1000), sample_offset(1, 2, 3, 1000));
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 2000; ++i) {
    const int64_t at = sample_offset(7, i / 10, i % 10, 50);
    ASSERT_GE(at, 0);
    ASSERT_LT(at, 50);
    seen.insert(at);
  }
  EXPECT_EQ(seen.size(), 50U);
}

TEST(TrainBatches, are_the_same_however_many_ranks_share_them) {
  std::vector<int32_t> text;
  for (int32_t i = 0; i < 500; ++i) text.push_back(i);
  const TokenBatch whole = make_batch(text, {5, 9, 0, 7}, 16);
  for (const int world : {2, 3, 7}) {
    std::vector<at::Tensor> parts;
    for (int rank = 0; rank < world; ++rank) {
      const SampleRange share{5, 9, shard_begin(7, world, rank), shard_begin(7, world, rank + 1)};
      parts.push_back(make_batch(text, share, 16).tokens);
    }
    EXPECT_TRUE(at::cat(parts).equal(whole.tokens)) << world;
  }
  EXPECT_TRUE((whole.tokens + 1).equal(whole.targets));
}

}  // namespace
}  // namespace keiko::train
