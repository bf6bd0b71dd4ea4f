// The paths come in order, so that boxes are made in one pass: a frame is open as long as the paths have it.
//
//   main;f;g 3      all(5) = main(5)
//   main;h 2                 ├ f(3) = g(3)
//                            └ h(2)
//
// What is narrower than a tenth of a pixel is left out; so a file is as large as a picture, not as its recording.
// Names come from files that others wrote: they are text here, never markup.
#include "tracefs-compat/record/formats/flame_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace kevt::record {

namespace {

constexpr double kWidth = 1200, kRow = 17, kTop = 46, kBottom = 30, kLetter = 6.6, kNarrowest = 0.1;
constexpr std::size_t kDeepest = 512;

struct Box {
  std::string name;
  std::size_t depth = 0;
  std::uint64_t begin = 0, weight = 0;
};

std::vector<std::string_view> frames_of(std::string_view path) {
  std::vector<std::string_view> frames;
  while (!path.empty() && frames.size() < kDeepest) {
    const std::size_t end = std::min(path.find(';'), path.size());
    frames.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return frames;
}

// Depth first; the first one is the sum of all.
std::vector<Box> boxes_of(const std::map<std::string, std::uint64_t>& folded) {
  std::vector<Box> boxes = {{"all", 0, 0, 0}};
  std::vector<std::size_t> open = {0};  // the box of each depth
  std::uint64_t at = 0;
  // Sorted frame by frame: as text `a b` stands before `a;c`, and would open `a` twice.
  std::vector<std::pair<std::vector<std::string_view>, std::uint64_t>> paths;
  for (const auto& [path, weight] : folded) paths.emplace_back(frames_of(path), weight);
  std::ranges::sort(paths);
  for (const auto& [frames, weight] : paths) {
    std::size_t same = 0;
    while (same < frames.size() && same + 1 < open.size() && boxes[open[same + 1]].name == frames[same]) ++same;
    open.resize(same + 1);
    for (std::size_t depth = same; depth < frames.size(); ++depth) {
      open.push_back(boxes.size());
      boxes.push_back({std::string(frames[depth]), depth + 1, at, 0});
    }
    for (const std::size_t box : open) boxes[box].weight += weight;
    at += weight;
  }
  return boxes;
}

std::string as_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out;
}

// Warm, and the same for the same name.
std::string colour_of(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return fmt::format("rgb({},{},{})", 205 + hash % 50, 90 + (hash >> 8) % 120, 40 + (hash >> 16) % 50);
}

std::string label_of(std::string_view name, double width) {
  const auto letters = static_cast<std::size_t>(std::max(0.0, (width - 4) / kLetter));
  if (letters < 3) return "";
  std::string text(name.substr(0, letters));
  if (text.size() < name.size()) {
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();  // of UTF-8
    text.replace(text.size() - std::min<std::size_t>(2, text.size()), 2, "..");
  }
  return text;
}

// Zooms by the numbers of the boxes themselves: data-x and data-w, as parts of the whole.
constexpr const char* kScript = R"(<script><![CDATA[
var svg = document.documentElement, boxes = [].slice.call(svg.querySelectorAll('g.box')), status = svg.getElementById('status');
function num(box, name) { return parseFloat(box.getAttribute(name)); }
function zoom(to) {
  var x = to ? num(to, 'data-x') : 0, w = to ? num(to, 'data-w') : 1, depth = to ? num(to, 'data-d') : 0;
  boxes.forEach(function (box) {
    var bx = num(box, 'data-x'), bw = num(box, 'data-w'), below = num(box, 'data-d') < depth;
    var from = below ? 0 : (bx - x) / w, width = below ? 1 : bw / w;
    var shown = below ? bx <= x + 1e-9 && bx + bw >= x + w - 1e-9 : bx >= x - 1e-9 && bx + bw <= x + w + 1e-9;
    box.style.display = shown ? '' : 'none';
    if (!shown) return;
    box.style.opacity = below ? 0.5 : 1;
    var rect = box.querySelector('rect'), text = box.querySelector('text'), px = width * WIDTH;
    rect.setAttribute('x', from * WIDTH);
    rect.setAttribute('width', Math.max(px - 0.5, 0.1));
    text.setAttribute('x', from * WIDTH + 3);
    var name = box.getAttribute('data-n'), letters = Math.floor((px - 4) / LETTER);
    text.textContent = letters < 3 ? '' : name.length <= letters ? name : name.slice(0, letters - 2) + '..';
  });
}
function search(word) {
  var found = 0, upto = -1;
  boxes.forEach(function (box) {
    var hit = word && box.getAttribute('data-n').indexOf(word) >= 0;
    box.querySelector('rect').style.fill = hit ? '#e600e6' : '';
    if (hit && num(box, 'data-x') >= upto - 1e-9) { found += num(box, 'data-w'); upto = num(box, 'data-x') + num(box, 'data-w'); }
  });
  status.textContent = word ? '"' + word + '": ' + (100 * found).toFixed(2) + ' %' : '';
}
boxes.forEach(function (box) { box.addEventListener('click', function () { zoom(box === boxes[0] ? null : box); }); });
svg.getElementById('reset').addEventListener('click', function () { zoom(null); search(''); });
window.addEventListener('keydown', function (event) {
  if (event.key === 'f' && event.ctrlKey) { event.preventDefault(); search(prompt('part of a name') || ''); }
  if (event.key === 'Escape') { zoom(null); search(''); }
});
]]></script>
)";

}  // namespace

std::string flame_graph_svg(const std::map<std::string, std::uint64_t>& folded, std::string_view unit) {
  const std::vector<Box> boxes = boxes_of(folded);
  const auto whole = static_cast<double>(std::max<std::uint64_t>(boxes.front().weight, 1));
  std::size_t deepest = 0;
  for (const Box& box : boxes)
    if (kWidth * static_cast<double>(box.weight) / whole >= kNarrowest) deepest = std::max(deepest, box.depth);
  const double height = kTop + kBottom + kRow * static_cast<double>(deepest + 1);
  std::string script(kScript);
  for (const auto& [name, value] : {std::pair("WIDTH", kWidth), std::pair("LETTER", kLetter)})
    for (std::size_t at = 0; (at = script.find(name, at)) != std::string::npos;)
      script.replace(at, std::string_view(name).size(), fmt::format("{}", value));
  std::string out = fmt::format(
      R"(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="monospace" font-size="11">
<rect width="100%" height="100%" fill="#fdfbf5"/>
<text x="{2}" y="20" text-anchor="middle" font-size="15">{3} {4} in {5} places</text>
<text id="reset" x="8" y="20" style="cursor:pointer">reset zoom</text>
<text id="status" x="{6}" y="20" text-anchor="end"></text>
)",
      kWidth, height, kWidth / 2, boxes.front().weight, as_xml(unit), boxes.size() - 1, kWidth - 8);
  for (const Box& box : boxes) {
    const double x = static_cast<double>(box.begin) / whole, part = static_cast<double>(box.weight) / whole;
    if (kWidth * part < kNarrowest) continue;
    const double y = height - kBottom - kRow * static_cast<double>(box.depth + 1);
    const std::string name = as_xml(box.name);
    out += fmt::format(
        R"(<g class="box" data-n="{}" data-x="{:.9f}" data-w="{:.9f}" data-d="{}"><title>{}: {} {}, {:.2f} %</title>)"
        R"(<rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{}" fill="{}" rx="2"/><text x="{:.2f}" y="{:.1f}">{}</text></g>)"
        "\n",
        name, x, part, box.depth, name, box.weight, as_xml(unit), 100 * part, kWidth * x, y,
        std::max(kWidth * part - 0.5, kNarrowest), kRow - 1, colour_of(box.name), kWidth * x + 3, y + 12,
        as_xml(label_of(box.name, kWidth * part)));
  }
  return out + script + "</svg>\n";
}

}  // namespace kevt::record
