// WriteCommand: an undo step: writes to the tracing directory, and the writes that undo them.
#pragma once

#include <QUndoCommand>
#include <functional>
#include <utility>

#include "gui/model/tracing_service.h"

namespace kevt::gui {

class WriteCommand : public QUndoCommand {
 public:
  enum class Made : std::uint8_t { Not, Already };
  // `answered` gets the results of the writes, after redo and after undo. Already: the writes were made before the step
  // is pushed to its stack.
  WriteCommand(TracingService& service, std::vector<FileWrite> there, std::vector<FileWrite> back, const QString& text,
               std::function<void(const std::vector<FileWrite>&)> answered = {}, Made made = Made::Not)
      : service_(service),
        there_(std::move(there)),
        back_(std::move(back)),
        answered_(std::move(answered)),
        is_made_(made == Made::Already) {
    setText(text);
  }
  void redo() override {
    if (!std::exchange(is_made_, false)) service_.write(there_, answered_);
  }
  void undo() override { service_.write(back_, answered_); }

 private:
  TracingService& service_;
  std::vector<FileWrite> there_, back_;
  std::function<void(const std::vector<FileWrite>&)> answered_;
  bool is_made_;
};

}  // namespace kevt::gui
