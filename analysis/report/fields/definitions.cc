#include "analysis/report/fields/definitions.h"

#include <string_view>

namespace lockstep::report {

void AddDefinitions(const Record& record, const std::string& prefix, std::map<std::string, std::string>& definitions) {
  for (const Field& field : record.fields()) {
    const std::string path = prefix + std::string(field.name);
    definitions[path] = field.definition;
    const Record* const inner = field.type()->Inner();
    if (inner == nullptr) continue;
    const Shape shape = field.type()->shape();
    const std::string_view joint = shape == Shape::kList ? "[]." : shape == Shape::kKeyed ? ".*." : ".";
    AddDefinitions(*inner, path + std::string(joint), definitions);
  }
}

}  // namespace lockstep::report
