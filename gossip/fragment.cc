#include "gossip/fragment.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace hobnob {

std::vector<Fragment> cut_fragments(const std::vector<TensorInfo>& tensors, std::size_t target) {
  HOBNOB_CHECK(target > 0, "fragment target of 0 values");
  std::vector<Fragment> fragments;
  Fragment open;
  const auto close = [&] {
    if (open.count > 0) {
      fragments.push_back(open);
    }
    open = {open.offset + open.count, 0};
  };
  for (const TensorInfo& tensor : tensors) {
    if (open.count > 0 && open.count + tensor.count > target) {
      close();
    }
    if (tensor.count <= 2 * target) {
      open.count += tensor.count;
      continue;
    }
    const std::size_t parts = (tensor.count + target - 1) / target;
    for (std::size_t part = 0; part < parts; ++part) {
      open.count = tensor.count * (part + 1) / parts - tensor.count * part / parts;
      close();
    }
  }
  close();
  return fragments;
}

}  // namespace hobnob
