#include "drivers/journal/sqlite/journal_harness.h"
#include "ports/journal_conformance.h"
#include "ports/journal_loss_conformance.h"

namespace keiko {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, JournalConformance, SqliteJournalHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, JournalLossConformance, SqliteJournalHarness);

}  // namespace
}  // namespace keiko
