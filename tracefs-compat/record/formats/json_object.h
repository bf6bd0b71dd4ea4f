// JsonObject: one JSON text, member by member; commas and closing brackets are its business.
//
//   JsonObject json(out); json.member("v", 1u); json.begin("rows", '['); json.begin('{'); …; json.end(); json.end();
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tracefs-compat/record/formats/json_text.h"

namespace kevt::record {

class JsonObject {
 public:
  // Appends to `out`, which is complete when this ends: an object and a line end.
  explicit JsonObject(std::string& out) : out_(out) { open('{'); }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;
  ~JsonObject() {
    while (!closers_.empty()) end();
    out_ += '\n';
  }

  // '{' or '[', as a member or as an item of an array.
  void begin(std::string_view name, char bracket) {
    put_name(name);
    open(bracket);
  }
  void begin(char bracket) {
    put_comma();
    open(bracket);
  }
  void end() {
    out_ += closers_.back();
    closers_.pop_back();
    is_first_ = false;
  }

  void member(std::string_view name, std::string_view text) {
    put_name(name);
    append_json_string(text, out_);
  }
  template <std::integral Number>
  void member(std::string_view name, Number number) {
    put_name(name);
    if constexpr (std::same_as<Number, bool>)
      out_ += number ? "true" : "false";
    else
      fmt::format_to(std::back_inserter(out_), "{}", number);
  }
  void member(std::string_view name, double number) {
    put_name(name);
    if (std::isfinite(number))
      fmt::format_to(std::back_inserter(out_), "{}", number);
    else
      out_ += "null";
  }
  void member(std::string_view name, std::nullptr_t) {
    put_name(name);
    out_ += "null";
  }
  void item(std::string_view text) {
    put_comma();
    append_json_string(text, out_);
  }

 private:
  void put_comma() {
    if (!is_first_) out_ += ',';
    is_first_ = false;
  }
  void put_name(std::string_view name) {
    put_comma();
    append_json_string(name, out_);
    out_ += ':';
  }
  void open(char bracket) {
    out_ += bracket;
    closers_ += bracket == '{' ? '}' : ']';
    is_first_ = true;
  }

  std::string& out_;
  std::string closers_;
  bool is_first_ = true;
};

}  // namespace kevt::record
