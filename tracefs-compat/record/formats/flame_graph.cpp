// What is narrower than a tenth of a pixel is left out; so a file is as large as a picture, not as its recording.
// Names come from files that others wrote: they are text here, never markup.
#include "tracefs-compat/record/formats/flame_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "tracefs-compat/record/formats/xml_text.h"

namespace kevt::record {

namespace {

constexpr double kWidth = 1200, kRow = 17, kTop = 46, kBottom = 30, kLetter = 6.6, kNarrowest = 0.1;
// Warm, and the same for the same name.
std::string colour_of(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return fmt::format("rgb({},{},{})", 205 + hash % 50, 90 + (hash >> 8) % 120, 40 + (hash >> 16) % 50);
}

// From white to red and to blue, by how much of the whole the box has become heavier or lighter. `most`: of all boxes.
std::string colour_of(double change, double most) {
  const auto other = static_cast<int>(235 - 185 * (most > 0 ? std::min(std::abs(change) / most, 1.0) : 0));
  return change >= 0 ? fmt::format("rgb(245,{0},{0})", other) : fmt::format("rgb({0},{0},245)", other);
}

// What a pointer on the box shows.
std::string title_of(const CallTree::Node& node, const CallTree& tree) {
  const auto part = [](std::uint64_t weight, std::uint64_t whole) {
    return 100 * static_cast<double>(weight) / static_cast<double>(std::max<std::uint64_t>(whole, 1));
  };
  const CallTree::Node& all = tree.nodes().front();
  std::string text =
      fmt::format("{}: {} {}, {:.2f} %", node.name, node.weight, tree.counts(), part(node.weight, all.weight));
  if (tree.compares()) text += fmt::format("; before {}, {:.2f} %", node.before, part(node.before, all.before));
  return text;
}

// As much of the name as the box has room for, as XML; empty: less than three characters.
std::string label_of(std::string_view name, double width) {
  const auto room = static_cast<std::size_t>(std::max(0.0, (width - 4) / kLetter));
  if (room < 3) return "";
  std::vector<std::string> characters;
  while (!name.empty() && characters.size() <= room) characters.push_back(take_xml_character(name));
  const bool is_cut = characters.size() > room;
  if (is_cut) characters.resize(room - 2);
  return fmt::format("{}{}", fmt::join(characters, ""), is_cut ? ".." : "");
}

// Zooms by the numbers of the boxes themselves: data-x and data-w, as parts of the whole.
constexpr const char* kScript = R"(<script><![CDATA[
var svg = document.querySelector('svg'), boxes = [].slice.call(svg.querySelectorAll('g.box')), told = svg.getElementById('status');
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
  told.textContent = word ? '"' + word + '": ' + (100 * found).toFixed(2) + ' %' : '';
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

std::string flame_graph_svg(const CallTree& tree) {
  const std::vector<CallTree::Node>& boxes = tree.nodes();
  const auto whole = static_cast<double>(std::max<std::uint64_t>(boxes.front().weight, 1));
  const auto whole_before = static_cast<double>(std::max<std::uint64_t>(boxes.front().before, 1));
  const auto change_of = [&](const CallTree::Node& box) {
    return static_cast<double>(box.weight) / whole - static_cast<double>(box.before) / whole_before;
  };
  std::size_t deepest = 0;
  double most_changed = 0;
  for (const CallTree::Node& box : boxes) {
    if (kWidth * static_cast<double>(box.weight) / whole < kNarrowest) continue;
    deepest = std::max(deepest, box.depth);
    most_changed = std::max(most_changed, std::abs(change_of(box)));
  }
  const double height = kTop + kBottom + kRow * static_cast<double>(deepest + 1);
  std::string script(kScript);
  for (const auto& [name, value] : {std::pair("WIDTH", kWidth), std::pair("LETTER", kLetter)})
    for (std::size_t at = 0; (at = script.find(name, at)) != std::string::npos;)
      script.replace(at, std::string_view(name).size(), fmt::format("{}", value));
  const std::string before = tree.compares() ? fmt::format(" ({} before)", boxes.front().before) : "";
  std::string out = fmt::format(
      R"(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="monospace" font-size="11">
<rect width="100%" height="100%" fill="#fdfbf5"/>
<text x="{2}" y="20" text-anchor="middle" font-size="15">{3} {4} in {5} places{6}</text>
<text id="reset" x="8" y="20" style="cursor:pointer">reset zoom</text>
<text id="status" x="{7}" y="20" text-anchor="end"></text>
)",
      kWidth, height, kWidth / 2, boxes.front().weight, as_xml(tree.counts()), boxes.size() - 1, before, kWidth - 8);
  for (const CallTree::Node& box : boxes) {
    const double x = static_cast<double>(box.begin) / whole, part = static_cast<double>(box.weight) / whole;
    if (kWidth * part < kNarrowest) continue;
    const double y = height - kBottom - kRow * static_cast<double>(box.depth + 1);
    out += fmt::format(
        R"(<g class="box" data-n="{}" data-x="{:.9f}" data-w="{:.9f}" data-d="{}"><title>{}</title>)"
        R"(<rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{}" fill="{}" rx="2"/><text x="{:.2f}" y="{:.1f}">{}</text></g>)"
        "\n",
        as_xml(box.name), x, part, box.depth, as_xml(title_of(box, tree)), kWidth * x, y,
        std::max(kWidth * part - 0.5, kNarrowest), kRow - 1,
        tree.compares() ? colour_of(change_of(box), most_changed) : colour_of(box.name), kWidth * x + 3, y + 12,
        label_of(box.name, kWidth * part));
  }
  return out + script + "</svg>\n";
}

}  // namespace kevt::record
