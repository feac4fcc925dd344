// Collective: what the ranks of one gang do together to buffers, in our own types.
//
// A Collective belongs to one rank of one generation of a gang. Every rank issues the same calls in
// the same order, from one thread at a time. The first error (a peer died, a deadline passed, a
// rank asked for another operation) ends the generation: every later call returns an Error, and
// a new group must be made. abort() may be called from any thread and wakes whoever waits.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace keiko {

enum class ElementType : int { kF32, kBf16, kF64, kI64, kI32, kU8 };
enum class ReduceOp : int { kSum, kMax, kMin };

/// RETURNS: the bytes of one element.
size_t element_size(ElementType type);
std::string_view to_text(ElementType type);  ///< "f32", "bf16", ...
std::string_view to_text(ReduceOp op);       ///< "sum", "max", "min"

/// `count` elements at `address`; whoever calls owns the memory until the call returns.
struct CollectiveBuffer {
  void* address = nullptr;
  size_t count = 0;
  ElementType type = ElementType::kF32;

  size_t size_bytes() const { return count * element_size(type); }
};

class Collective {
 public:
  virtual ~Collective() = default;

  virtual int rank() const = 0;
  virtual int world() const = 0;

  /// Replaces every rank's buffer by the reduction of all of them, combined in rank order (bf16 in
  /// fp32, rounded once), so that the result has the same bits on every rank and in every driver.
  virtual Done all_reduce(const CollectiveBuffer& buffer, ReduceOp op) = 0;

  /// Copies rank `root`'s buffer into everyone's. REQUIRES: 0 <= root < world().
  virtual Done broadcast(const CollectiveBuffer& buffer, int root) = 0;

  /// Writes rank r's `mine` at element r * mine.count of `all` (world() * mine.count elements).
  virtual Done all_gather(const CollectiveBuffer& mine, void* all) = 0;

  /// RETURNS: success once every rank has called it.
  virtual Done barrier() = 0;

  /// Ends the generation for `reason`: waiting calls return an Error on this rank at once and on
  /// the others as soon as they hear of it. Thread-safe; only the first reason counts.
  virtual void abort(std::string_view reason) = 0;
};

/// Reduces `parts` (one address per rank, in rank order, `count` elements each) into `out`, which
/// may be one of them. Sums of bf16 are held in fp32; a NaN wins over any number.
void reduce_parts(void* out, std::span<const void* const> parts, size_t count, ElementType type,
                  ReduceOp op);

/// bf16 is the upper half of a float; rounding is to nearest, ties to even.
float bf16_to_float(uint16_t bits);
uint16_t float_to_bf16(float value);

/// Says in one line what a rank asked for, to compare ranks and to explain a mismatch.
std::string describe_all_reduce(const CollectiveBuffer& buffer, ReduceOp op);
std::string describe_broadcast(const CollectiveBuffer& buffer, int root);
std::string describe_all_gather(const CollectiveBuffer& buffer);

}  // namespace keiko
