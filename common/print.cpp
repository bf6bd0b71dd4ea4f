#include "common/print.h"

namespace kevt {

namespace {
std::FILE* elsewhere = nullptr;  // lives as long as the program
}  // namespace

std::FILE* messages() { return elsewhere ? elsewhere : stderr; }

bool send_messages_to(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "ae");
  if (file == nullptr) return false;
  std::setvbuf(file, nullptr, _IONBF, 0);
  elsewhere = file;
  return true;
}

}  // namespace kevt
