// CompilerService: the compiler and its knowledge of the target, on a thread of its own. The UI asks and never waits.
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

  // Sets another target; later questions are about it.
  void setSources(const WorldSources& sources);

  // `done` is called in this object's thread. check, complete and facts answer only the last question of their kind,
  // and none after withdraw().
  void check(const QString& text, std::function<void(CheckedText)> done);
  void complete(const QString& line, int column, std::function<void(const Completion&)> done);
  void facts(const QString& line, std::function<void(const std::optional<PlaceFacts>&)> done);
  void code(const QString& definition, const QString& filter, std::function<void(const EventCode&)> done);
  // For a process: the names by which definitions may call its files, with the files' paths. Empty for a kernel.
  void files(std::function<void(const QMap<QString, QString>&)> done);
  void withdraw();  // drops open questions of check, complete, facts

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
