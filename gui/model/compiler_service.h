// CompilerService: the compiler on a thread of its own, and what it knows of the target. The UI asks and never waits.
#pragma once

#include <QMap>
#include <QObject>
#include <functional>
#include <memory>

#include "gui/model/completion.h"
#include "gui/model/definition_check.h"
#include "gui/model/event_code.h"
#include "gui/model/job.h"
#include "gui/model/site_info.h"
#include "gui/model/target_context.h"

namespace kevt::gui {

class CompilerService : public QObject {
  Q_OBJECT

 public:
  explicit CompilerService(QObject* parent = nullptr);
  ~CompilerService() override;

  // Another target: what is asked from now on is about it.
  void setSources(const WorldSources& sources);

  // Answers come in this thread; of check, complete and facts only that of the last question, unless it was withdrawn.
  void check(const QString& text, std::function<void(CheckedText)> done);
  void complete(const QString& line, int column, std::function<void(const Completion&)> done);
  void facts(const QString& line, std::function<void(const std::optional<PlaceFacts>&)> done);
  void code(const QString& definition, const QString& filter, std::function<void(const EventCode&)> done);
  // Of a process: names that definitions may call its files by, and their paths; of a kernel none.
  void files(std::function<void(const QMap<QString, QString>&)> done);
  void withdraw();  // check, complete and facts: nobody waits any more

 Q_SIGNALS:
  void worldChanged();
  void troubleFound(const QString& text);

 private:
  template <typename Work, typename Done>
  void ask(Cancelled& last, Work work, Done done);

  std::shared_ptr<TargetContext> world_;
  Cancelled checking_, completing_, telling_, coding_, listing_;
  JobQueue jobs_;
};

}  // namespace kevt::gui
