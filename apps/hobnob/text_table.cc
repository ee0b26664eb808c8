#include "apps/hobnob/text_table.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"
#include "runtime/base/result.h"

namespace hobnob {

std::string TextTable::text() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    HOBNOB_CHECK(row.size() == widths.size(), "a row of another length");
    for (std::size_t k = 0; k < row.size(); ++k) {
      widths[k] = std::max(widths[k], row[k].size());
    }
  }
  std::string out;
  for (std::size_t line = 0; line < rows_.size(); ++line) {
    std::string text;
    for (std::size_t k = 0; k < widths.size(); ++k) {
      const std::string& cell = rows_[line][k];
      const std::string blank(widths[k] - cell.size(), ' ');
      text += k == 0 ? cell + blank : "  " + blank + cell;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
    if (line == 0) {
      std::size_t width = 2 * (widths.size() - 1);
      for (const std::size_t each : widths) {
        width += each;
      }
      out += std::string(width, '-') + "\n";
    }
  }
  return out;
}

std::string short_number(double value) {
  if (std::isnan(value)) {
    return "-";
  }
  const double size = std::abs(value);
  return size >= 1000.0 && size < 1e7 ? format("%.0f", value) : format("%.3g", value);
}

}  // namespace hobnob
