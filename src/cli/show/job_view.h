// How jobs look: rows of `keiko jobs`, the page of `keiko job ID`, the answer of `keiko why ID`.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/show/table.h"
#include "keiko/v1/cluster.pb.h"

namespace keiko::cli {

/// "5s", "3m", "2h", "4d": one unit, as kubectl's users read it; "" for a negative span.
std::string age_text(Duration span);

/// The time that passed from `then` until `now`; "" if `then` is absent.
std::string age_of(const google::protobuf::Timestamp& then, Time now);

/// "0.4s", "12s", "1m 32s": a running time; a negative one is "0s".
std::string span_text(Duration span);

/// RETURNS: "2026-12-02 07:06:53" in UTC, "" if absent.
std::string clock_text(const google::protobuf::Timestamp& time);

Colour colour_of_status(const std::string& status);

/// "node1,node2" or "node[1-4,7]" when the names share a stem.
std::string nodes_text(const std::vector<std::string>& nodes);

Table jobs_table(const google::protobuf::RepeatedPtrField<v1::Job>& jobs, Time now);

/// All about one job, for a person.
std::string job_page(const v1::Job& job, const Console& console);

/// Why it waits, what would help.
std::string verdict_page(const v1::Job& job, const v1::Verdict& verdict, const Console& console);

/// "██████▌   63%": a bar `width` columns wide, without the number. `part` is 0 to 1.
std::string bar_text(double part, size_t width);

/// "1,234,567"
std::string grouped(int64_t number);

/// "12.3k", "4.56M": three digits and a letter.
std::string short_number(double number);

}  // namespace keiko::cli
