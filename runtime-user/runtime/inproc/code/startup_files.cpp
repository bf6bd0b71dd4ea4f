#include "runtime-user/runtime/inproc/code/startup_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace kevt::inproc {

namespace {

bool is_named(const ProbedObject& object, std::string_view name) {
  return object.image->soname() == name || std::filesystem::path(object.loaded.path).filename() == name;
}

}  // namespace

std::vector<ProbedObject*> loaded_at_start(const std::vector<ProbedObject*>& objects, RemoteAddr entry) {
  std::vector<ProbedObject*> found;
  const auto program =
      std::ranges::find_if(objects, [entry](const ProbedObject* object) { return object->loaded.contains(entry); });
  if (program != objects.end()) found.push_back(*program);
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const std::string_view name : found[i]->image->needed())
      for (ProbedObject* object : objects)
        if (is_named(*object, name) && std::ranges::find(found, object) == found.end()) found.push_back(object);
  return found;
}

}  // namespace kevt::inproc
