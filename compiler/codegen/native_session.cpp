// Asking for the symbols of all modules at once makes ORC materialize them, several at a time:
//
//   lookup ─► ExtractorUnit: fetch IR → LLVM IR ─► IRCompileLayer: passes, object ─► ObjectLinkingLayer: closed image
//
// A module has a context, a ResourceTracker and a block of memory of its own. Nothing is ever run in this session:
// there is no executor, an address is a place in an image, and the image is a copy when the session ends.
#include "compiler/codegen/native_session.h"

#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/IRCompileLayer.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <thread>

#include "common/assert.h"
#include "common/error.h"

namespace kevt::codegen {

namespace orc = llvm::orc;

namespace {

constexpr unsigned kPageBytes = 4096;

std::unexpected<Error> failed(llvm::Error error) {
  return std::unexpected(Error("llvm: " + llvm::toString(std::move(error))));
}

llvm::Error to_llvm(const Error& error) { return llvm::createStringError(error.message()); }

struct Job {
  ModuleRequest request;
  ModuleOutput output;
};
using Jobs = std::vector<Job>;

// The name of a module, and of its object, is its number.
Job& job_named(Jobs& jobs, std::string_view name) {
  std::size_t number = jobs.size();
  std::from_chars(name.data(), name.data() + name.size(), number);
  KEVT_ASSERT(number < jobs.size());
  return jobs[number];
}

// Keeps the first error of work that LLVM does on other threads.
class FirstError {
 public:
  void note(llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    const std::scoped_lock lock(mutex_);
    if (text_.empty()) text_ = std::move(text);
  }
  std::string take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(text_, {});
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

class ObjectCompiler final : public orc::IRCompileLayer::IRCompiler {
 public:
  ObjectCompiler(Jobs& jobs, KeepIr keep_ir) : IRCompiler({}), jobs_(jobs), keep_ir_(keep_ir) {}

  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> operator()(llvm::Module& module) override {
    Job& job = job_named(jobs_, module.getModuleIdentifier());
    auto object = compile_object(module, keep_ir_ == KeepIr::Yes ? &job.output.llvm_ir : nullptr);
    if (!object) return to_llvm(object.error());
    return std::move(*object);
  }

 private:
  Jobs& jobs_;
  const KeepIr keep_ir_;
};

// The extractors of a module, and their data blocks, until somebody asks for one of them.
class ExtractorUnit final : public orc::MaterializationUnit {
 public:
  ExtractorUnit(Interface symbols, const ModuleRequest& request, std::string name, orc::IRCompileLayer& layer)
      : MaterializationUnit(std::move(symbols)), request_(request), name_(std::move(name)), layer_(layer) {}

  llvm::StringRef getName() const override { return name_; }

  void materialize(std::unique_ptr<orc::MaterializationResponsibility> work) override {
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = build_module(request_, name_, *context);
    if (module) return layer_.emit(std::move(work), {std::move(*module), std::move(context)});
    work->getExecutionSession().reportError(to_llvm(module.error()));
    work->failMaterialization();
  }

 private:
  void discard(const orc::JITDylib&, const orc::SymbolStringPtr&) override {}

  const ModuleRequest& request_;
  const std::string name_;
  orc::IRCompileLayer& layer_;
};

std::unique_ptr<orc::ExecutorProcessControl> without_executor(std::size_t modules) {
  const std::size_t cpus = std::max(1u, std::thread::hardware_concurrency());
  std::unique_ptr<orc::TaskDispatcher> tasks = std::make_unique<orc::InPlaceTaskDispatcher>();
  if (modules > 1 && cpus > 1) tasks = std::make_unique<orc::DynamicThreadPoolTaskDispatcher>(cpus);
  return std::make_unique<orc::UnsupportedExecutorProcessControl>(nullptr, std::move(tasks), kNativeTriple, kPageBytes);
}

class Session {
 public:
  Session(Jobs& jobs, KeepIr keep_ir)
      : jobs_(jobs),
        session_(without_executor(jobs.size())),
        linking_(session_, memory_),
        compiling_(session_, linking_, std::make_unique<ObjectCompiler>(jobs, keep_ir)) {
    session_.setErrorReporter([this](llvm::Error error) { error_.note(std::move(error)); });
    linking_.addPlugin(std::make_shared<ImageCollector>(
        memory_, [&jobs](const std::string& object) { return &job_named(jobs, object).output.linked; }));
  }
  ~Session() { llvm::consumeError(session_.endSession()); }

  Result<void> compile() {
    orc::SymbolLookupSet wanted;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (llvm::Error error = add(jobs_[i].request, std::to_string(i), wanted)) return failed(std::move(error));
    auto found = session_.lookup(orc::makeJITDylibSearchOrder(&images_), std::move(wanted));
    session_.getExecutorProcessControl().getDispatcher().shutdown();  // after an error others may be under way
    std::string why = error_.take();
    if (found && why.empty()) return {};
    llvm::Error general = found.takeError();
    if (why.empty()) return failed(std::move(general));
    llvm::consumeError(std::move(general));  // it only says that something failed
    return std::unexpected(Error("llvm: " + why));
  }

 private:
  llvm::Error add(const ModuleRequest& request, std::string name, orc::SymbolLookupSet& wanted) {
    orc::SymbolFlagsMap symbols;
    for (const NativeInput& input : request.inputs) {
      symbols[session_.intern(input.name)] = llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable;
      symbols[session_.intern(data_block_of(input.name))] = llvm::JITSymbolFlags::Exported;
    }
    for (const auto& [symbol, flags] : symbols) wanted.add(symbol);
    auto unit = std::make_unique<ExtractorUnit>(orc::MaterializationUnit::Interface(std::move(symbols), nullptr),
                                                request, std::move(name), compiling_);
    return images_.define(std::move(unit), images_.createResourceTracker());
  }

  Jobs& jobs_;
  FirstError error_;
  orc::ExecutionSession session_;
  ImageMemory memory_;
  orc::ObjectLinkingLayer linking_;
  orc::IRCompileLayer compiling_;
  orc::JITDylib& images_ = session_.createBareJITDylib("images");
};

}  // namespace

Result<std::vector<ModuleOutput>> compile_in_session(std::span<const ModuleRequest> requests, KeepIr keep_ir) {
  Jobs jobs;
  for (const ModuleRequest& request : requests) jobs.push_back({.request = request, .output = {}});
  KEVT_TRY(Session(jobs, keep_ir).compile());
  std::vector<ModuleOutput> outputs;
  for (Job& job : jobs) outputs.push_back(std::move(job.output));
  return outputs;
}

}  // namespace kevt::codegen
