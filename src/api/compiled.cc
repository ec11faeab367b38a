#include "api/compiled.h"

#include <algorithm>

#include "backend/open.h"

namespace quern::internal {
namespace {

std::string key_of(const expr::Program& program, const expr::Binding& binding) {
  std::string out;
  for (const expr::Dimension& d : program.dimensions) out += std::to_string(binding.sizes.at(d.name)) + " ";
  for (const expr::TypeVariable& t : program.types) out += std::string(name(binding.types.at(t.name))) + " ";
  return out;
}

}  // namespace

Result<std::shared_ptr<const backend::Compiled>> CompiledForms::get(const expr::Program& program,
                                                                    const expr::Binding& binding) {
  std::shared_ptr<Form> form;
  {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Form>& slot = forms_[key_of(program, binding)];
    if (!slot) {
      slot = std::make_shared<Form>();
      slot->made = ++count_;
    }
    form = slot;
    if (forms_.size() > kLimit) {
      forms_.erase(std::ranges::min_element(forms_, {}, [](const auto& f) { return f.second->made; }));
    }
  }
  std::lock_guard lock(form->mutex);
  if (form->code) return form->code;
  auto backend = backend::open();
  if (!backend) return fail(std::move(backend.error()));
  auto made = (*backend)->compile({program, binding, options_});
  if (!made) return fail(std::move(made.error()));
  form->code = std::make_shared<const backend::Compiled>(*std::move(made));
  return form->code;
}

}  // namespace quern::internal
