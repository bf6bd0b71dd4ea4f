// The paths come in order, so that nodes are made in one pass: a frame is open as long as the paths have it.
//
//   main;f;g 3      all(5) = main(5)
//   main;h 2                 ├ f(3) = g(3)
//                            └ h(2)
#include "tracefs-compat/record/analysis/call_tree.h"

#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <utility>

#include "tracefs-compat/record/formats/json_text.h"

namespace kevt::record {
namespace {

constexpr std::size_t kDeepest = 512, kMostNodes = 1'000'000;

struct Path {
  std::string_view frames;
  std::uint64_t weight = 0, before = 0;
};

// Frame by frame: as text `a b` stands before `a;c`, and would open `a` twice.
bool is_before(std::string_view a, std::string_view b) {
  const auto rank = [](char c) { return c == ';' ? -1 : static_cast<int>(static_cast<unsigned char>(c)); };
  return std::ranges::lexicographical_compare(a, b, {}, rank, rank);
}

std::string_view take_frame(std::string_view& path) {
  const std::size_t end = std::min(path.find(';'), path.size());
  const std::string_view frame = path.substr(0, end);
  path.remove_prefix(std::min(end + 1, path.size()));
  return frame;
}

}  // namespace

CallTree CallTree::of(const PathWeights& paths, std::string_view counts, const PathWeights* before) {
  CallTree tree;
  tree.counts_ = counts;
  tree.compares_ = before != nullptr;
  std::vector<Path> all;
  for (const auto& [path, weight] : paths) all.push_back({path, weight, 0});
  if (before)
    for (const auto& [path, weight] : *before) all.push_back({path, 0, weight});
  std::ranges::sort(all, is_before, &Path::frames);
  std::vector<Node>& nodes = tree.nodes_;
  nodes.push_back({.name = "all"});
  std::vector<std::size_t> open = {0};  // the node of each depth
  std::uint64_t at = 0;
  const auto close = [&](std::size_t depth) {
    for (std::size_t i = depth; i < open.size(); ++i) nodes[open[i]].end = nodes.size();
    open.resize(depth);
  };
  for (const auto& [frames, weight, earlier] : all) {
    std::size_t depth = 1;
    for (std::string_view left = frames; !left.empty() && depth <= kDeepest; ++depth) {
      const std::string_view frame = take_frame(left);
      if (depth < open.size() && nodes[open[depth]].name == frame) continue;
      close(depth);
      if (nodes.size() >= kMostNodes) break;
      open.push_back(nodes.size());
      nodes.push_back({.name = std::string(frame), .depth = depth, .begin = at});
    }
    close(std::min(depth, open.size()));
    for (const std::size_t node : open) {
      nodes[node].weight += weight;
      nodes[node].before += earlier;
    }
    nodes[open.back()].own += weight;
    at += weight;
  }
  close(0);
  return tree;
}

void CallTree::append_line(std::uint64_t weight, std::uint64_t own, std::uint64_t before, std::size_t depth,
                           std::string_view name, std::string& out) const {
  const double of_all = static_cast<double>(std::max<std::uint64_t>(nodes_.front().weight, 1));
  if (compares_)
    fmt::format_to(std::back_inserter(out), "{:>14} {:>14} {:>+14}  ", before, weight,
                   static_cast<std::int64_t>(weight - before));
  else
    fmt::format_to(std::back_inserter(out), "{:>14} {:>6.2f} {:>14}  ", weight,
                   100 * static_cast<double>(weight) / of_all, own);
  out.append(2 * depth, ' ');
  out += name;
  out += '\n';
}

void CallTree::append_lines(std::size_t index, double least, Controls controls, std::string& out) const {
  const Node& node = nodes_[index];
  std::string name;
  name += node.name;
  escape_from(0, controls, name);
  append_line(node.weight, node.own, node.before, node.depth, name, out);
  std::vector<std::size_t> callees;
  for (std::size_t i = index + 1; i < node.end; i = nodes_[i].end) callees.push_back(i);
  const auto importance = [this](std::size_t callee) {
    const Node& of = nodes_[callee];
    return compares_ ? (of.weight > of.before ? of.weight - of.before : of.before - of.weight) : of.weight;
  };
  std::ranges::stable_sort(callees, std::greater(), importance);
  Node rest{.depth = node.depth + 1};
  std::size_t left_out = 0;
  for (const std::size_t callee : callees) {
    const Node& of = nodes_[callee];
    if (static_cast<double>(std::max(of.weight, of.before)) >= least * static_cast<double>(whole())) {
      append_lines(callee, least, controls, out);
      continue;
    }
    ++left_out;
    rest.weight += of.weight;
    rest.own += of.own;
    rest.before += of.before;
  }
  if (left_out) append_line(rest.weight, rest.own, rest.before, rest.depth, fmt::format("({} more)", left_out), out);
}

std::string CallTree::text(double least, Controls controls) const {
  std::string out = compares_ ? fmt::format("{:>14} {:>14} {:>14}  {}\n", "BEFORE", "AFTER", "CHANGE", counts_)
                              : fmt::format("{:>14} {:>6} {:>14}  {}\n", "WEIGHT", "%", "OWN", counts_);
  append_lines(0, least, controls, out);
  return out;
}

std::string CallTree::json() const {
  std::string out = R"({"v":1,"type":"call_tree","counts":)";
  append_json_string(counts_, out);
  fmt::format_to(std::back_inserter(out), ",\"weight\":{},\"nodes\":[", nodes_.front().weight);
  for (const Node& node : nodes_) {
    out += &node == &nodes_.front() ? "{\"name\":" : ",{\"name\":";
    append_json_string(node.name, out);
    fmt::format_to(std::back_inserter(out), ",\"depth\":{},\"weight\":{},\"own\":{}", node.depth, node.weight,
                   node.own);
    if (compares_) fmt::format_to(std::back_inserter(out), ",\"before\":{}", node.before);
    out += '}';
  }
  return out + "]}\n";
}

std::string folded_lines(const PathWeights& paths, Controls controls) {
  std::string out;
  for (const auto& [path, weight] : paths) {
    const std::size_t begin = out.size();
    out += path;
    escape_from(begin, controls, out);
    fmt::format_to(std::back_inserter(out), " {}\n", weight);
  }
  return out;
}

PathWeights reversed_paths(const PathWeights& paths) {
  PathWeights reversed;
  for (const auto& [path, weight] : paths) {
    std::string turned;
    for (std::string_view left = path; !left.empty();) {
      const std::size_t at = left.rfind(';');
      const std::string_view frame = at == left.npos ? left : left.substr(at + 1);
      turned += turned.empty() ? "" : ";";
      turned += frame;
      left = at == left.npos ? std::string_view() : left.substr(0, at);
    }
    reversed[turned] += weight;
  }
  return reversed;
}

}  // namespace kevt::record
