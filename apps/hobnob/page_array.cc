#include "apps/hobnob/page_array.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "runtime/base/check.h"

namespace hobnob {

PageArray::PageArray(std::size_t count) : count_(count) {
  constexpr std::size_t kPage = std::size_t{2} << 20U;
  const std::size_t bytes = (count * sizeof(float) + kPage) / kPage * kPage;
  void* memory = std::aligned_alloc(kPage, bytes);
  HOBNOB_CHECK(memory != nullptr, "out of memory");
  madvise(memory, bytes, MADV_HUGEPAGE);  // advice: without it the numbers are a little lower
  std::memset(memory, 0, bytes);
  memory_.reset(static_cast<float*>(memory));
}

void PageArray::Free::operator()(float* memory) const {
  std::free(memory);
}

}  // namespace hobnob
