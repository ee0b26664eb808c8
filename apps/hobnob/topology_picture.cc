// Pictures of schedules: SVG written directly, and DOT.

#include "apps/hobnob/topology_picture.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "runtime/base/result.h"

namespace hobnob {

namespace {

constexpr double kPanel = 340.0;  // side of a panel, in px
constexpr double kMargin = 24.0;
constexpr double kHeader = 76.0;
constexpr double kRadius = 118.0;         // of the peers' circle
constexpr double kSiteGap = 0.55;         // between sites, in peers
constexpr std::size_t kMostNumbers = 40;  // peers that are still numbered

struct Point {
  double x = 0.0;
  double y = 0.0;
};

// Hues far apart for neighbours in the list (golden angle), all dark enough for white paper;
// saturation and lightness within [0, 1]. #rrggbb, which every program reads.
std::string colour(std::size_t index, double saturation = 0.62, double lightness = 0.42) {
  const double hue = std::fmod(212.0 + 137.508 * static_cast<double>(index), 360.0) / 30.0;
  const auto channel = [&](double shift) {
    const double k = std::fmod(shift + hue, 12.0);
    const double spread = saturation * std::min(lightness, 1.0 - lightness);
    const double value = lightness - spread * std::clamp(std::min(k - 3.0, 9.0 - k), -1.0, 1.0);
    return static_cast<int>(std::lround(255.0 * value));
  };
  return format("#%02x%02x%02x", channel(0.0), channel(8.0), channel(4.0));
}

// Printable ASCII without the five characters that mean something in XML or DOT.
std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = c >= ' ' && c <= '~' && std::strchr("&<>\"\\", c) == nullptr;
    out += is_plain ? c : '?';
  }
  return out;
}

// Where each peer stands: by site, then by rank, with a gap between sites.
struct Circle {
  explicit Circle(const TopologyPicture& picture);

  Point at(std::uint32_t peer, Point centre, double radius) const {
    return {centre.x + radius * std::sin(angles[peer]), centre.y - radius * std::cos(angles[peer])};
  }

  std::vector<double> angles;  // (peers,) clockwise from the top

  struct Arc {
    std::uint32_t site = 0;
    double from = 0.0;
    double to = 0.0;
  };

  std::vector<Arc> arcs;  // none for one site
  double step = 0.0;      // between neighbours
};

Circle::Circle(const TopologyPicture& picture) : angles(picture.peers, 0.0) {
  std::vector<std::uint32_t> order(picture.peers);
  for (std::uint32_t peer = 0; peer < order.size(); ++peer) {
    order[peer] = peer;
  }
  const auto site_of = [&](std::uint32_t peer) {
    return picture.sites.empty() ? 0U : picture.sites[peer];
  };
  std::ranges::stable_sort(order, {}, site_of);
  std::size_t sites = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    sites += k == 0 || site_of(order[k]) != site_of(order[k - 1]) ? 1U : 0U;
  }
  const double gaps = sites > 1 ? kSiteGap * static_cast<double>(sites) : 0.0;
  step = 2.0 * std::numbers::pi / std::max(1.0, static_cast<double>(order.size()) + gaps);
  double angle = 0.0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k > 0) {
      const bool is_same = site_of(order[k]) == site_of(order[k - 1]);
      angle += is_same ? step : step * (1.0 + kSiteGap);
    }
    angles[order[k]] = angle;
    if (sites > 1) {
      if (arcs.empty() || arcs.back().site != site_of(order[k])) {
        arcs.push_back({site_of(order[k]), angle, angle});
      }
      arcs.back().to = angle;
    }
  }
}

class SvgWriter {
 public:
  explicit SvgWriter(const TopologyPicture& picture) : picture_(picture), circle_(picture) {}

  std::string write();

 private:
  void panel(const TopologyPicture::Round& round, std::size_t index, Point corner);
  void site_arcs(Point centre);
  void group(const std::vector<std::uint32_t>& members, Point centre, const std::string& paint);
  void arrow_head(Point tip, Point from, const std::string& paint);
  void link(const TopologyPicture::Link& link, Point centre, const std::string& paint);
  void peers(const TopologyPicture::Round& round, Point centre, const std::string& paint);

  double dot_radius() const { return std::clamp(0.36 * kRadius * circle_.step, 1.6, 11.0); }

  const TopologyPicture& picture_;
  const Circle circle_;
  std::string out_;
};

void SvgWriter::site_arcs(Point centre) {
  const double radius = kRadius + dot_radius() + 9.0;
  for (const Circle::Arc& arc : circle_.arcs) {
    const double from = arc.from - 0.4 * circle_.step;
    const double to = arc.to + 0.4 * circle_.step;
    const int is_long = to - from > std::numbers::pi ? 1 : 0;
    const std::string paint = colour(arc.site + 5, 0.30, 0.62);
    out_ += format(
        "<path d=\"M%.1f %.1fA%.1f %.1f 0 %d 1 %.1f %.1f\" fill=\"none\" stroke=\"%s\" "
        "stroke-width=\"5\" stroke-linecap=\"round\"/>\n",
        centre.x + radius * std::sin(from), centre.y - radius * std::cos(from), radius, radius,
        is_long, centre.x + radius * std::sin(to), centre.y - radius * std::cos(to), paint.c_str());
    const double middle = 0.5 * (from + to);
    const double text = radius + 14.0;
    out_ += format("<text x=\"%.1f\" y=\"%.1f\" class=\"site\">site %u</text>\n",
                   centre.x + text * std::sin(middle), centre.y - text * std::cos(middle) + 4.0,
                   arc.site);
  }
}

// A clique as the area between its members: their order on the circle makes it convex.
void SvgWriter::group(const std::vector<std::uint32_t>& members,
                      Point centre,
                      const std::string& paint) {
  std::vector<std::uint32_t> around = members;
  std::ranges::sort(around, {}, [this](std::uint32_t peer) { return circle_.angles[peer]; });
  std::string points;
  for (const std::uint32_t peer : around) {
    const Point at = circle_.at(peer, centre, kRadius);
    points += format("%.1f,%.1f ", at.x, at.y);
  }
  out_ += format(
      "<polygon points=\"%s\" fill=\"%s\" fill-opacity=\".16\" stroke=\"%s\" "
      "stroke-width=\"1.6\" stroke-linejoin=\"round\"/>\n",
      points.c_str(), paint.c_str(), paint.c_str());
}

// A chord bowed towards the middle, the longer the more, so that long and short ones are told
// apart.
void SvgWriter::link(const TopologyPicture::Link& link, Point centre, const std::string& paint) {
  const Point from = circle_.at(link.from, centre, kRadius);
  Point to = circle_.at(link.to, centre, kRadius);
  const Point middle{0.5 * (from.x + to.x), 0.5 * (from.y + to.y)};
  const double bow = 0.4 * std::hypot(to.x - from.x, to.y - from.y) / (2.0 * kRadius);
  const Point pull{middle.x + bow * (centre.x - middle.x), middle.y + bow * (centre.y - middle.y)};
  if (link.is_directed) {  // up to the rim of the dot, where the arrow head is seen
    const double length = std::hypot(to.x - pull.x, to.y - pull.y);
    const double cut = std::min(1.0, (dot_radius() + 1.0) / std::max(length, 1e-9));
    to = {to.x + cut * (pull.x - to.x), to.y + cut * (pull.y - to.y)};
  }
  out_ += format(
      "<path d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\" stroke=\"%s\"><title>%u %s %u, weight "
      "%s</title></path>\n",
      from.x, from.y, pull.x, pull.y, to.x, to.y, paint.c_str(), link.from,
      link.is_directed ? "to" : "and", link.to, link.weight.c_str());
  if (link.is_directed) {
    arrow_head(to, pull, paint);
  }
}

void SvgWriter::arrow_head(Point tip, Point from, const std::string& paint) {
  const double length = std::max(std::hypot(tip.x - from.x, tip.y - from.y), 1e-9);
  const double size = std::clamp(0.8 * dot_radius(), 2.5, 7.0);
  const Point along{size * (tip.x - from.x) / length, size * (tip.y - from.y) / length};
  out_ +=
      format("<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" fill=\"%s\" stroke=\"none\"/>\n",
             tip.x, tip.y, tip.x - along.x - 0.45 * along.y, tip.y - along.y + 0.45 * along.x,
             tip.x - along.x + 0.45 * along.y, tip.y - along.y - 0.45 * along.x, paint.c_str());
}

void SvgWriter::peers(const TopologyPicture::Round& round, Point centre, const std::string& paint) {
  std::vector<bool> is_busy(picture_.peers, false);
  for (const TopologyPicture::Link& each : round.links) {
    is_busy[each.from] = true;
    is_busy[each.to] = true;
  }
  for (const std::vector<std::uint32_t>& members : round.groups) {
    for (const std::uint32_t peer : members) {
      is_busy[peer] = true;
    }
  }
  const double radius = dot_radius();
  for (std::uint32_t peer = 0; peer < picture_.peers; ++peer) {
    const Point at = circle_.at(peer, centre, kRadius);
    out_ += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" stroke=\"%s\"/>\n", at.x,
                   at.y, radius, is_busy[peer] ? "#fff" : "#e4e4e4", paint.c_str());
    if (picture_.peers <= kMostNumbers) {
      out_ += format("<text x=\"%.1f\" y=\"%.1f\" class=\"peer\" font-size=\"%.1f\">%u</text>\n",
                     at.x, at.y + 0.36 * 1.1 * radius, 1.1 * radius, peer);
    }
  }
}

void SvgWriter::panel(const TopologyPicture::Round& round, std::size_t index, Point corner) {
  const Point centre{corner.x + kPanel / 2.0, corner.y + kPanel / 2.0 + 8.0};
  const std::string paint = colour(index);
  out_ += format("<g>\n<text x=\"%.1f\" y=\"%.1f\" class=\"round\" fill=\"%s\">%s</text>\n",
                 centre.x, corner.y + 14.0, paint.c_str(), escape(round.title).c_str());
  site_arcs(centre);
  for (std::size_t k = 0; k < round.groups.size(); ++k) {
    group(round.groups[k], centre, colour(index, 0.62, k % 2 == 0 ? 0.36 : 0.54));
  }
  const double width = std::clamp(90.0 / static_cast<double>(round.links.size() + 1), 0.5, 2.2);
  out_ += format("<g fill=\"none\" stroke-width=\"%.2f\" stroke-opacity=\".85\">\n", width);
  for (const TopologyPicture::Link& each : round.links) {
    link(each, centre, paint);
  }
  out_ += "</g>\n";
  peers(round, centre, paint);
  out_ += "</g>\n";
}

std::string SvgWriter::write() {
  const std::size_t count = std::max<std::size_t>(picture_.rounds.size(), 1);
  const auto columns = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const std::size_t rows = (count + columns - 1) / columns;
  const double width = 2 * kMargin + kPanel * static_cast<double>(columns);
  const double height = kHeader + kMargin + kPanel * static_cast<double>(rows);
  out_ = format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica,Arial,sans-serif\">\n",
      width, height, width, height);
  out_ +=
      "<style>.peer,.site,.round{text-anchor:middle}.peer{fill:#222}.site{font-size:11px;fill:#666}"
      ".round{font-size:14px;font-weight:600}.title{font-size:22px;font-weight:700;fill:#222}"
      ".subtitle{font-size:13px;fill:#666}</style>\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>\n";
  out_ += format("<text x=\"%.0f\" y=\"36\" class=\"title\">%s</text>\n", kMargin,
                 escape(picture_.title).c_str());
  out_ += format("<text x=\"%.0f\" y=\"57\" class=\"subtitle\">%s</text>\n", kMargin,
                 escape(picture_.subtitle).c_str());
  for (std::size_t k = 0; k < picture_.rounds.size(); ++k) {
    const auto column = static_cast<double>(k % columns);
    const auto row = static_cast<double>(k / columns);
    panel(picture_.rounds[k], k, {kMargin + kPanel * column, kHeader + kPanel * row});
  }
  return out_ + "</svg>\n";
}

}  // namespace

std::string to_svg(const TopologyPicture& picture) {
  return SvgWriter(picture).write();
}

std::string to_dot(const TopologyPicture& picture) {
  std::string out;
  for (const TopologyPicture::Round& round : picture.rounds) {
    const bool is_directed =
        std::ranges::any_of(round.links, [](const auto& each) { return each.is_directed; });
    const char* arrow = is_directed ? "->" : "--";
    out += format("%s \"%s, %s\" {\n  layout=circo;\n", is_directed ? "digraph" : "graph",
                  escape(picture.title).c_str(), escape(round.title).c_str());
    for (std::uint32_t peer = 0; peer < picture.peers; ++peer) {
      out += picture.sites.empty()
                 ? format("  %u;\n", peer)
                 : format("  %u [colorscheme=set312,style=filled,fillcolor=%u];\n", peer,
                          picture.sites[peer] % 12 + 1);
    }
    for (const TopologyPicture::Link& each : round.links) {
      out += format("  %u %s %u [label=\"%s\"];\n", each.from, arrow, each.to, each.weight.c_str());
    }
    for (const std::vector<std::uint32_t>& members : round.groups) {
      for (std::size_t a = 0; a < members.size(); ++a) {
        for (std::size_t b = a + 1; b < members.size(); ++b) {
          out += format("  %u %s %u [label=\"1/%zu\"];\n", members[a], arrow, members[b],
                        members.size());
        }
      }
    }
    out += "}\n";
  }
  return out;
}

}  // namespace hobnob
