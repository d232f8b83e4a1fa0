// SPDX-License-Identifier: Apache-2.0
//
// A service in a module of some 31 MB: 6,400 generated classes (generate_classes.py), all of whose
// functions run once when the service is created, as a warm application's have.
#include "worker/sdk/cohost.hpp"

// As the generated files declare it.
struct Shape {
  virtual ~Shape() = default;
  virtual unsigned V0(unsigned x) const = 0;
  virtual unsigned V1(unsigned x) const = 0;
  virtual unsigned V2(unsigned x) const = 0;
  virtual unsigned V3(unsigned x) const = 0;
  virtual unsigned V4(unsigned x) const = 0;
  virtual unsigned V5(unsigned x) const = 0;
  virtual unsigned V6(unsigned x) const = 0;
  virtual unsigned V7(unsigned x) const = 0;
};
const Shape* const* Shapes0(int* count);
const Shape* const* Shapes1(int* count);
const Shape* const* Shapes2(int* count);
const Shape* const* Shapes3(int* count);
const Shape* const* Shapes4(int* count);
const Shape* const* Shapes5(int* count);
const Shape* const* Shapes6(int* count);
const Shape* const* Shapes7(int* count);

namespace {

unsigned RunAll() {
  unsigned x = 1;
  for (const auto shapes :
       {Shapes0, Shapes1, Shapes2, Shapes3, Shapes4, Shapes5, Shapes6, Shapes7}) {
    int count = 0;
    const Shape* const* list = shapes(&count);
    for (int i = 0; i < count; ++i) {
      const Shape& shape = *list[i];
      x = shape.V0(x) + shape.V1(x) + shape.V2(x) + shape.V3(x);
      x += shape.V4(x) + shape.V5(x) + shape.V6(x) + shape.V7(x);
    }
  }
  return x;
}

class Large final : public cohost::Service {
 public:
  explicit Large(cohost::Context context) : Service(context), sum_(RunAll()) {}
  void Handle(cohost::Request request) override {
    request.Text(sum_ == 0 ? "0\n" : "Hello, World!\n");
  }

 private:
  const unsigned sum_;
};

}  // namespace

COHOST_MODULE(Large, COHOST_INLINE)
