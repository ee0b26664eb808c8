#pragma once

#include <string>
#include <vector>

namespace hobnob {

// Rows of text in columns as wide as their longest cell; the first column is left-aligned, the
// others right. For terminals.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> head) : rows_{std::move(head)} {}

  // As many cells as the head has.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Three digits and no more zeros than needed: 0.707, 1.2e-06, 12300, "-" for NaN.
std::string short_number(double value);

}  // namespace hobnob
