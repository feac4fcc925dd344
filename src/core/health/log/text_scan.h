// A cursor over one line of text, for readers of formats that other people defined.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace keiko::health {

class TextScan {
 public:
  explicit TextScan(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  /// Takes `word` if the rest begins with it.
  bool take(std::string_view word);
  void skip_blanks();
  /// Takes decimal digits. RETURNS: false, and nothing is taken, if there are none or too many.
  bool take_number(int64_t& number);
  /// Takes "0x" and hexadecimal digits, or decimal ones.
  bool take_code(int64_t& number);
  /// Takes a PCI address with or without domain and function, "0000:c1:00.0", "00000000:C1:00",
  /// "c1:00", and gives it as the kernel writes it, function 0 where none is named.
  bool take_pci(std::string& address);

 private:
  std::string_view rest_;
};

/// RETURNS: the place behind the next `word` in `text` from `from` on, npos if there is none.
size_t find_behind(std::string_view text, std::string_view word, size_t from = 0);

bool contains(std::string_view text, std::string_view word);

/// RETURNS: the word that ends where `text` ends, made of letters, digits and "-_.@".
std::string_view last_name(std::string_view text);

}  // namespace keiko::health
