#include "runtime/compute/vector.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace hobnob {

namespace {

constexpr std::size_t kAlignment = 64;

// Calls `use` with a typed span of the view.
template <typename View, typename Use>
void with_type(View view, Use use) {
  if (view.type() == DType::kFloat32) {
    use(view.template as<float>());
  } else {
    use(view.template as<double>());
  }
}

template <typename Span>
using Element = std::remove_const_t<typename Span::element_type>;

class CpuVectorOps final : public VectorOps {
 public:
  Buffer allocate(DType type, std::size_t count) const override {
    const std::size_t bytes = (count * bytes_of(type) + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = std::aligned_alloc(kAlignment, std::max(bytes, kAlignment));
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
    std::fill_n(static_cast<std::byte*>(memory), bytes, std::byte{0});
    return {std::shared_ptr<void>(memory, &std::free), count, type};
  }

  void copy(ConstVec source, Vec target) const override {
    HOBNOB_CHECK(source.count() == target.count(), "copy of unequal lengths");
    with_type(source, [&](auto from) {
      with_type(target, [&](auto to) {
        using To = Element<decltype(to)>;
        std::ranges::transform(from, to.begin(), [](auto v) { return static_cast<To>(v); });
      });
    });
  }

  void fill(double value, Vec target) const override {
    with_type(target,
              [&](auto to) { std::ranges::fill(to, static_cast<Element<decltype(to)>>(value)); });
  }

  void axpy(double alpha, ConstVec x, Vec y) const override {
    HOBNOB_CHECK(x.count() == y.count(), "axpy of unequal lengths");
    with_type(x, [&](auto from) {
      with_type(y, [&](auto to) {
        using To = Element<decltype(to)>;
        const To a = static_cast<To>(alpha);
        for (std::size_t k = 0; k < to.size(); ++k) {
          to[k] += a * static_cast<To>(from[k]);
        }
      });
    });
  }

  void add_difference(double scale, ConstVec a, ConstVec b, Vec into) const override {
    HOBNOB_CHECK(a.count() == into.count() && b.count() == into.count(), "unequal lengths");
    with_type(into, [&](auto to) {
      using T = Element<decltype(to)>;
      const auto left = a.as<T>();
      const auto right = b.as<T>();
      const T s = static_cast<T>(scale);
      for (std::size_t k = 0; k < to.size(); ++k) {
        to[k] += s * (left[k] - right[k]);
      }
    });
  }

  void subtract(ConstVec a, ConstVec b, Vec out) const override {
    HOBNOB_CHECK(a.count() == out.count() && b.count() == out.count(), "unequal lengths");
    HOBNOB_CHECK(a.type() == b.type(), "subtract of unequal types");
    with_type(a, [&](auto left) {
      using T = Element<decltype(left)>;
      const auto right = b.as<T>();
      with_type(out, [&](auto to) {
        for (std::size_t k = 0; k < to.size(); ++k) {
          to[k] = static_cast<Element<decltype(to)>>(left[k] - right[k]);
        }
      });
    });
  }

  double squared_distance(ConstVec a, ConstVec b) const override {
    HOBNOB_CHECK(a.count() == b.count() && a.type() == b.type(), "unequal vectors");
    double sum = 0.0;
    with_type(a, [&](auto left) {
      const auto right = b.as<Element<decltype(left)>>();
      for (std::size_t k = 0; k < left.size(); ++k) {
        const double d = static_cast<double>(left[k]) - static_cast<double>(right[k]);
        sum += d * d;
      }
    });
    return sum;
  }

  double squared_norm(ConstVec a) const override {
    double sum = 0.0;
    with_type(a, [&](auto values) {
      for (const auto v : values) {
        sum += static_cast<double>(v) * static_cast<double>(v);
      }
    });
    return sum;
  }
};

}  // namespace

const VectorOps& cpu_vector_ops() {
  static const CpuVectorOps ops;
  return ops;
}

}  // namespace hobnob
