#include "drivers/substrate/process/port_reservation.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <set>

#include "base/text.h"
#include "drivers/substrate/process/test_machine.h"

namespace keiko::process {
namespace {

Fd bind_any(int32_t port) {
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return Fd();
  listen(fd.get(), 1);
  return fd;
}

TEST(PortReservation, stays_out_of_the_ephemeral_range) {
  const PortRange wanted{20'000, 29'999};
  EXPECT_EQ(outside_ephemeral(wanted, "32768\t60999\n"), wanted);
  EXPECT_EQ(outside_ephemeral(wanted, "25000\t60999\n"), (PortRange{20'000, 24'999}));
  EXPECT_EQ(outside_ephemeral(wanted, "10000\t22000\n"), (PortRange{22'001, 29'999}));
  EXPECT_EQ(outside_ephemeral(wanted, "1024\t65535\n"), wanted) << "nothing better is left";
  EXPECT_EQ(outside_ephemeral(wanted, "nonsense"), wanted);
}

TEST(PortReservation, skips_a_port_that_somebody_listens_on) {
  TestMachine machine;
  const Fd listener = bind_any(0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int32_t port = ntohs(address.sin_port);
  const auto refused = reserve_free_port(machine.path("p"), {port, port}, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
}

TEST(PortReservation, is_free_again_once_nobody_holds_it) {
  TestMachine machine;
  const PortRange one{20'000, 29'999};
  int32_t port = 0;
  {
    const PortLock lock = MUST(reserve_free_port(machine.path("p"), one, 5));
    port = lock.port;
    EXPECT_NE(MUST(reserve_free_port(machine.path("p"), one, 5)).port, port);
  }
  EXPECT_EQ(MUST(reserve_free_port(machine.path("p"), {port, port}, 0)).port, port);
}

/// Ten agents at a time reserve five ports each, all looking from the same place.
TEST(PortReservation, never_collides_between_processes) {
  TestMachine machine;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::vector<pid_t> agents;
  for (int agent = 0; agent < 10; ++agent) {
    const pid_t pid = fork();
    if (pid == 0) {
      std::vector<PortLock> locks;
      std::string told;
      for (int i = 0; i < 5; ++i) {
        locks.push_back(MUST(reserve_free_port(machine.path("p"), {20'000, 29'999}, 77)));
        told += std::to_string(locks.back().port) + " ";
      }
      write_all(ends[1], told);
      while (true) pause();  // holds them until it is killed
    }
    agents.push_back(pid);
  }
  std::string told;
  while (std::count(told.begin(), told.end(), ' ') < 50) {
    char buffer[256];
    const ssize_t got = read(ends[0], buffer, sizeof buffer);
    ASSERT_GT(got, 0);
    told.append(buffer, static_cast<size_t>(got));
  }
  for (const pid_t pid : agents) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  close(ends[0]);
  close(ends[1]);
  const std::vector<std::string> ports = split(trim(told), ' ');
  EXPECT_EQ(ports.size(), 50u);
  EXPECT_EQ(std::set<std::string>(ports.begin(), ports.end()).size(), 50u);
}

TEST(PortReservation, leaves_the_port_unbound_for_the_worker) {
  TestMachine machine;
  const int32_t port = MUST(machine.substrate().reserve_port(worker_key()));
  EXPECT_TRUE(is_port_free(port));
  EXPECT_TRUE(static_cast<bool>(bind_any(port)));
}

TEST(PortReservation, lives_as_long_as_the_worker_and_not_as_its_agent) {
  TestMachine machine;
  const int32_t port = MUST(machine.substrate().reserve_port(worker_key()));
  WorkerProcess process = shell("exec sleep 1000");
  process.master_port = port;
  ASSERT_TRUE(machine.substrate().start(process).ok());
  machine.wait_for(WorkerStatus::kRunning);
  machine.close();
  const std::string dir = machine.options().port_dir;
  EXPECT_FALSE(reserve_free_port(dir, {port, port}, 0).ok()) << "its worker still has it";
  machine.open();
  ASSERT_TRUE(machine.substrate().signal(worker_key(), SIGKILL).ok());
  machine.wait_for(WorkerStatus::kEnded);
  EXPECT_TRUE(eventually([&] { return reserve_free_port(dir, {port, port}, 0).ok(); }));
}

TEST(PortReservation, dies_with_an_agent_that_never_started_the_worker) {
  TestMachine machine;
  const int32_t port = MUST(machine.substrate().reserve_port(worker_key()));
  machine.close();
  EXPECT_TRUE(reserve_free_port(machine.options().port_dir, {port, port}, 0).ok());
}

}  // namespace
}  // namespace keiko::process
