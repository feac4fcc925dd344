#include "drivers/history/sqlite/history_harness.h"
#include "ports/history/history_conformance.h"

namespace keiko {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, HistoryConformance, SqliteHistoryHarness);

}  // namespace
}  // namespace keiko
