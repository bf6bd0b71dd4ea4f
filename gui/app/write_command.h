// WriteCommand: an undo step: writes to the tracing directory, and the writes that undo them.
#pragma once

#include <QUndoCommand>
#include <functional>

#include "gui/model/tracing_service.h"

namespace kevt::gui {

class WriteCommand : public QUndoCommand {
 public:
  // `answered` gets the results of the writes, after redo and after undo.
  WriteCommand(TracingService& service, std::vector<FileWrite> there, std::vector<FileWrite> back, const QString& text,
               std::function<void(const std::vector<FileWrite>&)> answered = {})
      : service_(service), there_(std::move(there)), back_(std::move(back)), answered_(std::move(answered)) {
    setText(text);
  }
  void redo() override { service_.write(there_, answered_); }
  void undo() override { service_.write(back_, answered_); }

 private:
  TracingService& service_;
  std::vector<FileWrite> there_, back_;
  std::function<void(const std::vector<FileWrite>&)> answered_;
};

}  // namespace kevt::gui
