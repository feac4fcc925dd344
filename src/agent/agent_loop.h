// Being written: AgentLoop, which owns brain, substrate, devices, link, WorkerSockets and LogReader.
// It expects of LogReader: start(LogRead), cancel(request), drop_all(), set_live(key, bool), all safe
// from any thread; chunks go out by a callback Done(const LogChunk&).
