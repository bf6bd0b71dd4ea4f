// One thread, so the TargetContext needs no lock. A question waits for those before it; each takes milliseconds once
// the target's files were read. Code takes longer (LLVM), 0.1 s, but is asked for only by hand.
#include "gui/model/compiler_service.h"

#include <utility>

namespace kevt::gui {

CompilerService::CompilerService(QObject* parent)
    : QObject(parent), world_(std::make_shared<TargetContext>(WorldSources())), jobs_(this, 1) {}

CompilerService::~CompilerService() { withdraw(); }

void CompilerService::setSources(const WorldSources& sources) {
  world_ = std::make_shared<TargetContext>(sources);
  Q_EMIT worldChanged();
}

void CompilerService::withdraw() {
  for (Cancelled* one : {&checking_, &completing_, &telling_, &coding_, &listing_})
    if (*one) **one = true;
}

template <typename Work, typename Done>
void CompilerService::ask(Cancelled& last, Work work, Done done) {
  if (last) *last = true;
  last = jobs_.start([world = world_, work = std::move(work)](const std::atomic<bool>&) { return work(*world); },
                     std::move(done));
}

void CompilerService::check(const QString& text, std::function<void(CheckedText)> done) {
  ask(
      checking_,
      [text](TargetContext& world) {
        CheckedText checked = checkDefinitions(text, world.env(), &world.parsed(), world.sides());
        checked.trouble = world.trouble();
        return checked;
      },
      [this, done = std::move(done)](CheckedText checked) {
        if (!checked.trouble.isEmpty()) Q_EMIT troubleFound(checked.trouble);
        done(std::move(checked));
      });
}

void CompilerService::complete(const QString& line, int column, std::function<void(const Completion&)> done) {
  ask(
      completing_,
      [line, column](TargetContext& world) { return completeDefinition(line, column, *world.symbols(), world.env()); },
      [done = std::move(done)](const Completion& found) { done(found); });
}

void CompilerService::facts(const QString& line, std::function<void(const std::optional<PlaceFacts>&)> done) {
  ask(
      telling_, [line](TargetContext& world) { return placeFacts(world, line); },
      [done = std::move(done)](const std::optional<PlaceFacts>& facts) { done(facts); });
}

void CompilerService::code(const QString& definition, const QString& filter,
                           std::function<void(const EventCode&)> done) {
  ask(
      coding_, [definition, filter](TargetContext& world) { return eventCode(world, definition, filter); },
      [done = std::move(done)](const EventCode& code) { done(code); });
}

void CompilerService::files(std::function<void(const QMap<QString, QString>&)> done) {
  ask(
      listing_,
      [](TargetContext& world) {
        QMap<QString, QString> out;
        const target::ProcessEnv* process = world.process();
        if (!process) return out;
        for (const target::ProcessModule& module : process->modules()) {
          const QString name = QString::fromStdString(module.name), path = QString::fromStdString(module.path);
          out[name] = out[path] = path;
          out[name.section(QLatin1String(".so"), 0, 0)] = path;
        }
        return out;
      },
      [done = std::move(done)](const QMap<QString, QString>& found) { done(found); });
}

}  // namespace kevt::gui
