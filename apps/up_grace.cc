#include "up_grace.h"

#include <algorithm>

#include "model/job.h"
#include "wire/client.h"
#include "wire/convert.h"

namespace keiko::up {

Duration longest_grace(const std::string& grpc) {
  const Duration usual = JobSpec{}.grace;
  if (grpc.empty()) return usual;
  const std::unique_ptr<Client> client = make_client({grpc, seconds(2), seconds(2)});
  v1::ListJobsRequest request;
  for (const char* status : {"STARTING", "RUNNING", "REGROUPING", "PREEMPTING"}) {
    request.add_statuses(status);
  }
  request.set_page_size(1000);
  Duration longest;
  do {
    const Result<v1::ListJobsResponse> page = client->list_jobs(request);
    if (!page.ok()) return std::max(longest, usual);
    for (const v1::Job& job : page->jobs()) {
      const Result<Duration> grace = from_proto(job.spec().grace(), "grace");
      if (grace.ok()) longest = std::max(longest, *grace);
    }
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return longest;
}

std::chrono::seconds agent_patience(const std::string& grpc) {
  const std::chrono::nanoseconds grace(longest_grace(grpc).ns);
  return std::chrono::ceil<std::chrono::seconds>(grace) + std::chrono::seconds(15);
}

}  // namespace keiko::up
