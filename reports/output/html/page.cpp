#include "reports/output/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "reports/model/version.h"
#include "reports/output/markup.h"
#include "reports/output/plot/svg.h"

namespace bertbench {

extern const char* const kReportStyle;
extern const char* const kFigureStyle;
extern const char* const kPlotsScript;
extern const char* const kPlotsScriptSha256;
extern const char* const kTablesScript;
extern const char* const kTablesScriptSha256;

namespace html {
namespace {

/// A policy wants base64 where CMake gives hexadecimal digits.
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto nibble = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  };
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 6) {  // 3 bytes, 4 digits of base 64
    unsigned bits = 0;
    for (std::size_t k = i; k < i + 6; ++k)
      bits = bits << 4U | (k < hex.size() ? nibble(hex[k]) : 0);
    const std::size_t bytes = std::min<std::size_t>(3, (hex.size() - i) / 2);
    for (std::size_t d = 0; d < 4; ++d) {
      out += d <= bytes ? kDigits[bits >> (18 - 6 * d) & 63U] : '=';
    }
  }
  return out;
}

struct Script {
  const char* text;
  std::string_view sha256;
};

}  // namespace

std::string figure_element(const plot::Figure& figure) {
  return fmt::format(
      "<figure class=\"plot\" id=\"plot-{}\"><div class=\"map\">{}</div><figcaption>{}</figcaption>"
      "</figure>\n",
      escape_markup(figure.id), plot::inline_svg(figure), escape_markup(figure.title));
}

std::string section(std::string_view title, const std::string& body) {
  if (body.empty()) return {};
  return fmt::format("<section><h2>{}</h2>\n{}</section>\n", escape_markup(title), body);
}

std::string small(std::string_view text) {
  return "<p class=\"small\">" + escape_markup(text) + "</p>\n";
}

std::string first_of(std::size_t shown, std::size_t all, std::string_view what) {
  return shown < all ? small(fmt::format("The first {} of {} {}.", shown, all, what)) : "";
}

void write_page(const PageText& text, std::ostream& out) {
  const std::array<Script, 2> all{
      {{kPlotsScript, kPlotsScriptSha256}, {kTablesScript, kTablesScriptSha256}}};
  std::string hashes;
  for (const Script& script : all) hashes += " 'sha256-" + base64_of_hex(script.sha256) + "'";
  out << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"generator\" content=\"bertbench\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'; script-src"
      << hashes
      << "; base-uri 'none'; form-action 'none'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>"
      << escape_markup(text.title) << "</title>\n<style>\n"
      << kFigureStyle << kReportStyle << "</style></head><body>\n<header><h1>"
      << escape_markup(text.title) << "</h1>\n"
      << text.header << "</header>\n<main>\n"
      << text.body << "</main>\n<footer>" << escape_markup(text.footer) << "</footer>\n";
  for (const Script& script : all) out << "<script>" << script.text << "</script>\n";
  out << "</body></html>\n";
}

std::string page_of(const std::string& title, const std::string& body) {
  std::ostringstream out;
  write_page({title, "", body, fmt::format("bertbench {} ({})", tool_version(), tool_commit())},
             out);
  return std::move(out).str();
}

}  // namespace html
}  // namespace bertbench
