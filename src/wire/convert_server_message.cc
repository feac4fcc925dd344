// The server's commands to an agent: one branch per body.
#include "wire/convert.h"
#include "wire/words.h"

namespace keiko {
namespace {

struct BodyWriter {
  v1::ServerMessage& out;

  void operator()(const Welcome& m) const {
    out.mutable_welcome()->set_node(m.node.number);
    *out.mutable_welcome()->mutable_lease() = to_proto(m.lease);
  }
  void operator()(const Refused& m) const { out.mutable_refused()->set_why(m.why); }
  void operator()(const ReportAck& m) const {
    out.mutable_report_ack()->set_report_sequence(m.report_sequence);
  }
  void operator()(const StartWorker& m) const {
    *out.mutable_start_worker()->mutable_launch() = to_proto(m.launch);
  }
  void operator()(const StopWorker& m) const {
    v1::StopWorker& stop = *out.mutable_stop_worker();
    *stop.mutable_key() = to_proto(m.key);
    set_proto(*stop.mutable_grace(), m.grace);
    stop.set_why(m.why);
  }
  void operator()(const ForgetWorker& m) const {
    *out.mutable_forget_worker()->mutable_key() = to_proto(m.key);
  }
  void operator()(const HealthOrder& m) const {
    v1::HealthOrder& order = *out.mutable_health_order();
    order.set_kind(to_text(m.subject.kind));
    order.set_name(m.subject.name);
    order.set_action(to_text(m.action));
    order.set_who(m.who);
    order.set_why(m.why);
  }
};

// Fills `body` in place: gcc 12 warns of uninitialized bytes when such a variant is moved.
Done read_body(const v1::ServerMessage& in, ServerBody& body) {
  using In = v1::ServerMessage;
  switch (in.body_case()) {
    case In::kWelcome: {
      const LeaseOptions lease = TRY(from_proto(in.welcome().lease()));
      body.emplace<Welcome>(Welcome{NodeId{in.welcome().node()}, lease});
      return done();
    }
    case In::kRefused: body.emplace<Refused>(Refused{in.refused().why()}); return done();
    case In::kReportAck:
      body.emplace<ReportAck>(ReportAck{in.report_ack().report_sequence()});
      return done();
    case In::kStartWorker:
      body.emplace<StartWorker>().launch = TRY(from_proto(in.start_worker().launch()));
      return done();
    case In::kStopWorker: {
      StopWorker& stop = body.emplace<StopWorker>();
      stop.key = from_proto(in.stop_worker().key());
      stop.grace = TRY(from_proto(in.stop_worker().grace(), "grace"));
      stop.why = in.stop_worker().why();
      return done();
    }
    case In::kForgetWorker:
      body.emplace<ForgetWorker>(ForgetWorker{from_proto(in.forget_worker().key())});
      return done();
    case In::kHealthOrder: {
      HealthOrder& order = body.emplace<HealthOrder>();
      const v1::HealthOrder& told = in.health_order();
      order.subject.kind = TRY(parse_word(told.kind(), kHealthSubjectKinds, "health_order.kind"));
      order.subject.name = told.name();
      order.action = TRY(parse_word(told.action(), kHealthActions, "health_order.action"));
      order.who = told.who();
      order.why = told.why();
      return done();
    }
    default:
      return invalid_argument("the server sent a message that this agent does not know; "
                              "update keiko on this machine", "body");
  }
}

}  // namespace

v1::ServerMessage to_proto(const ServerMessage& message) {
  v1::ServerMessage out;
  out.mutable_session()->set_term(message.session.term);
  out.mutable_session()->set_number(message.session.number);
  out.set_sequence(message.sequence);
  std::visit(BodyWriter{out}, message.body);
  return out;
}

Result<ServerMessage> from_proto(const v1::ServerMessage& in) {
  Result<ServerMessage> result{ServerMessage{}};
  result->session = {in.session().term(), in.session().number()};
  result->sequence = in.sequence();
  TRY(read_body(in, result->body));
  return result;
}

}  // namespace keiko
