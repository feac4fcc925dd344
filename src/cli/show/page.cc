#include "cli/show/page.h"

#include "base/text.h"
#include "cli/exit_code.h"
#include "cli/show/live_screen.h"

namespace keiko::cli {
namespace {

std::string page_text(const Page& page, const OutputChoice& choice, const Console& console) {
  if (choice.format == "name") return page.name + "\n";
  if (choice.format == "wide") return table_text(page.table, choice.style(), console);
  if (choice.format == "table") return page.text;
  return message_text(*page.message, choice);
}

}  // namespace

Result<int> show_page(const OutputChoice& choice, const Console& console,
                      const std::function<Result<Page>()>& ask) {
  if (!choice.watch) {
    console.out(page_text(TRY(ask()), choice, console));
    return kExitOk;
  }
  catch_interrupts();
  LiveScreen screen(console);
  std::string last;
  do {
    const Page page = TRY(ask());
    const std::string text = page_text(page, choice, console);
    if (console.terminal) screen.draw(split(text, '\n'));
    else if (text != last) console.out(text);
    last = text;
  } while (console.wait(seconds(1)) == 0);
  return kExitCancelled;
}

}  // namespace keiko::cli
