// What all analyses share: where the answer goes, its form, and how outside text is shown in it.
//
// Tables of counts are maps with limits, by their number and by their bytes: what comes first is kept, the rest counts
// as "(others)".
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tracefs-compat/record/analysis/analysis.h"
#include "tracefs-compat/record/analysis/answer_parts.h"
#include "tracefs-compat/record/analysis/columns.h"

namespace kevt::record {

class AnswerTable : public RecordWriter {
 public:
  AnswerTable(OutputFile out, const Metadata& metadata) : out_(std::move(out)), metadata_(metadata) {}
  Result<void> flush() override { return {}; }
  bool is_known_only_at_end() const override { return true; }
  std::uint64_t bytes() const override { return out_.written(); }
  Result<void> finish() override {
    append_answer();
    return out_.flush();
  }
  void set_form(AnswerForm form) { form_ = form; }

 protected:
  virtual void print(std::string& out) = 0;
  // As an answer can have it: `table_text` of the text's begin; JSON has escapes of its own.
  std::string shown(std::string_view text) const {
    const std::string_view front = text.substr(0, kMaxShown);
    return form_ == AnswerForm::Json ? std::string(front) : table_text(front, out_.controls());
  }
  std::string shown_name(const EventFormat& event) const { return shown(event.system + ":" + event.name); }
  std::string shown_task(const TypedRecord& record) const {
    return fmt::format("{}-{}", shown(record.comm), record.pid);
  }
  // Members of the answer behind "v".
  virtual void print_json(JsonObject& json) = 0;
  void append_answer() {
    if (form_ == AnswerForm::Text) return print(out_.buffer());
    JsonObject json(out_.buffer());
    json.member("v", 1);
    print_json(json);
  }

  OutputFile out_;
  const Metadata& metadata_;

 private:
  static constexpr std::size_t kMaxShown = 120;  // bytes of a text
  AnswerForm form_ = AnswerForm::Text;
};

inline Analysis in_form(std::unique_ptr<AnswerTable> table, AnswerForm form) {
  table->set_form(form);
  return table;
}

// What is said when no event has a value of that name.
inline Error no_field(const ValueName& name) {
  return Error(name.event.empty() ? fmt::format("no event has a field `{}`", name.field)
                                  : fmt::format("no event `{}` with a field `{}`", name.event, name.field));
}

}  // namespace kevt::record
