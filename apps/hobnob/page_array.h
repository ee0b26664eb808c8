#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace hobnob {

// Zeroed memory for measurements: in large pages where the system has them, every page touched.
class PageArray {
 public:
  explicit PageArray(std::size_t count);

  std::span<float> values() { return {memory_.get(), count_}; }

  std::span<const float> values() const { return {memory_.get(), count_}; }

 private:
  struct Free {
    void operator()(float* memory) const;
  };

  std::unique_ptr<float, Free> memory_;
  std::size_t count_;
};

}  // namespace hobnob
