// SPDX-License-Identifier: Apache-2.0
#include "worker/http/http_server.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/worker/http/http_harness.h"

namespace cohost::worker {
namespace {

using ::testing::Test;

std::string Answer(std::string_view body, std::string_view more = "") {
  return "HTTP/1.1 200 OK\r\nDate: D\r\n" + std::string(more) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

void SayHello(std::shared_ptr<Exchange> exchange) {
  EXPECT_EQ(exchange->Respond(200, {}, "hello"), ExchangeResult::kOk);
}

// Answers with the method, the target and the body, once that is whole.
void Echo(const std::shared_ptr<Exchange>& exchange,
          const std::shared_ptr<std::string>& body = std::make_shared<std::string>()) {
  std::array<char, 1000> part;
  size_t read = 0;
  for (;;) {
    switch (exchange->ReadBody(part.data(), part.size(), &read)) {
      case ExchangeResult::kOk:
        body->append(part.data(), read);
        break;
      case ExchangeResult::kWouldBlock:
        exchange->OnReadable([exchange, body] { Echo(exchange, body); });
        return;
      case ExchangeResult::kEnd: {
        std::string text =
            std::string(exchange->method()) + " " + std::string(exchange->target()) + " " + *body;
        for (const HeaderView& trailer : exchange->trailers()) {
          text.append(" ").append(trailer.name).append("=").append(trailer.value);
        }
        exchange->Respond(200, {}, text);
        return;
      }
      case ExchangeResult::kGone:
      case ExchangeResult::kInvalid:
        return;
    }
  }
}

class HttpServerTest : public Test {
 protected:
  ServiceEntry& hello() {
    if (hello_ == nullptr) hello_ = &harness.AddService(Dispatch::kInline, SayHello);
    return *hello_;
  }
  ServiceEntry& echo() {
    if (echo_ == nullptr) {
      echo_ = &harness.AddService(Dispatch::kInline, [](auto exchange) { Echo(exchange); });
    }
    return *echo_;
  }

  HttpHarness harness;

 private:
  ServiceEntry* hello_ = nullptr;
  ServiceEntry* echo_ = nullptr;
};

TEST_F(HttpServerTest, AnswersOnOneConnectionAgainAndAgain) {
  HttpTestClient client(harness, hello());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.Ask(kGet), Answer("hello"));
  EXPECT_FALSE(client.closed());
  EXPECT_EQ(hello().counters().started.load(), 5u);
  EXPECT_EQ(hello().counters().finished.load(), 5u);
  EXPECT_EQ(hello().counters().answered[2].load(), 5u);
  EXPECT_EQ(harness.hosted(hello()).ended.size(), 5u);
  EXPECT_EQ(harness.access_log.at(0), "GET / 200 " + std::to_string(Answer("hello").size() + 28));
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  HttpTestClient client(harness, echo());
  std::string requests;
  std::string answers;
  for (int i = 0; i < 100; ++i) {
    const std::string target = "/" + std::to_string(i);
    requests += "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n";
    answers += Answer("GET " + target + " ");
  }
  EXPECT_EQ(client.Ask(requests), answers);
}

TEST_F(HttpServerTest, KeepsTheOrderWhenServicesAnswerLater) {
  std::vector<std::shared_ptr<Exchange>> waiting;
  ServiceEntry& entry =
      harness.AddService(Dispatch::kInline, [&](auto exchange) { waiting.push_back(exchange); });
  HttpTestClient client(harness, entry);
  client.Send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_EQ(waiting.size(), 1u);
  waiting[0]->Respond(200, {}, "one");
  EXPECT_EQ(client.Receive(), Answer("one"));
  ASSERT_EQ(waiting.size(), 2u);
  EXPECT_EQ(waiting[1]->target(), "/2");
  waiting[1]->Respond(200, {}, "two");
  EXPECT_EQ(client.Receive(), Answer("two"));
}

struct GoodRequest {
  const char* name;
  const char* bytes;
  const char* echoed;
};

const GoodRequest kGoodRequests[] = {
    {"get", "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n", "GET /a?b=c "},
    {"length", "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", "POST /p hello"},
    {"chunked",
     "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
     "3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\n",
     "POST / abc0123456789"},
    {"trailers",
     "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
     "1\r\na\r\n0\r\nSum: 1\r\nHost: evil\r\n\r\n",
     "POST / a Sum=1"},
    {"empty line first", "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / "},
    {"absolute form", "GET http://y:80/p?q HTTP/1.1\r\nHost: x\r\n\r\n", "GET /p?q "},
    {"absolute form without a path", "GET http://y?q HTTP/1.1\r\nHost: x\r\n\r\n", "GET /?q "},
    {"options", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "OPTIONS * "},
    {"upgrade is ignored",
     "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", "GET / "},
    {"odd method", "BREW /pot HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "BREW /pot "},
    {"no space after colon", "GET / HTTP/1.1\r\nHost:x\r\nA:\r\n\r\n", "GET / "},
};

TEST_F(HttpServerTest, ReadsRequestsWhole) {
  for (const GoodRequest& request : kGoodRequests) {
    HttpTestClient client(harness, echo());
    EXPECT_EQ(client.Ask(request.bytes), Answer(request.echoed)) << request.name;
    EXPECT_EQ(client.Ask(request.bytes), Answer(request.echoed)) << request.name;
  }
}

TEST_F(HttpServerTest, ReadsEveryKindOfRequestAfterEveryOther) {
  HttpTestClient client(harness, echo());
  for (const GoodRequest& first : kGoodRequests) {
    for (const GoodRequest& second : kGoodRequests) {
      EXPECT_EQ(client.Ask(std::string(first.bytes) + second.bytes),
                Answer(first.echoed) + Answer(second.echoed))
          << first.name << ", " << second.name;
    }
  }
}

TEST_F(HttpServerTest, ReadsRequestsByteByByte) {
  for (const GoodRequest& request : kGoodRequests) {
    HttpTestClient client(harness, echo());
    for (const char& byte : std::string_view(request.bytes)) client.Send({&byte, 1});
    EXPECT_EQ(client.Receive(), Answer(request.echoed)) << request.name;
  }
}

TEST_F(HttpServerTest, ReadsRequestsCutAnywhere) {
  for (const GoodRequest& request : kGoodRequests) {
    const std::string_view bytes = request.bytes;
    for (size_t cut = 1; cut < bytes.size(); ++cut) {
      HttpTestClient client(harness, echo());
      client.Send(bytes.substr(0, cut));
      EXPECT_EQ(client.Ask(bytes.substr(cut)), Answer(request.echoed)) << request.name << cut;
    }
  }
}

TEST_F(HttpServerTest, AbsoluteFormGivesTheHost) {
  std::string host;
  ServiceEntry& entry = harness.AddService(Dispatch::kInline, [&](auto exchange) {
    host = std::string(exchange->headers()[0].value);
    exchange->Respond(200, {}, "");
  });
  HttpTestClient client(harness, entry);
  client.Send("GET http://real/ HTTP/1.1\r\nHost: other\r\n\r\n");
  EXPECT_EQ(host, "real");
}

struct HostileRequest {
  const char* name;
  std::string bytes;
  int status;
};

std::vector<HostileRequest> HostileRequests() {
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  return {
      {"both lengths", post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"both lengths, turned", post + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
       400},
      {"two lengths", post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"two equal lengths", post + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
      {"list of lengths", post + "Content-Length: 1, 1\r\n\r\n", 400},
      {"signed length", post + "Content-Length: +1\r\n\r\n", 400},
      {"negative length", post + "Content-Length: -1\r\n\r\n", 400},
      {"hex length", post + "Content-Length: 0x1\r\n\r\n", 400},
      {"huge length", post + "Content-Length: 99999999999999999999\r\n\r\n", 400},
      {"empty length", post + "Content-Length: \r\n\r\n", 400},
      {"two codings", post + "Transfer-Encoding: gzip, chunked\r\n\r\n", 400},
      {"coding twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"identity after chunked",
       post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", 400},
      {"quoted coding", post + "Transfer-Encoding: \"chunked\"\r\n\r\n", 400},
      {"tabbed coding",
       post + "Transfer-Encoding: \x0b"
              "chunked\r\n\r\n",
       400},
      {"unknown coding", post + "Transfer-Encoding: gzip\r\n\r\n", 501},
      {"chunked in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"folded line", post + "A: b\r\n c\r\n\r\n", 400},
      {"folded line after nothing", post + "A:\r\n b\r\n\r\n", 400},
      {"folded length", post + "Content-Length:\r\n 5\r\n\r\n", 400},
      {"space before colon", post + "Content-Length : 5\r\n\r\n", 400},
      {"space before name", post + " A: b\r\n\r\n", 400},
      {"no colon", post + "A\r\n\r\n", 400},
      {"empty name", post + ": b\r\n\r\n", 400},
      {"bare LF", "GET / HTTP/1.1\nHost: x\n\n", 400},
      {"bare LF in a field", post + "A: b\nContent-Length: 5\r\n\r\n", 400},
      {"bare CR in a field", post + "A: b\rContent-Length: 5\r\n\r\n", 400},
      {"CR CR LF", post + "A: b\r\r\n\r\n", 400},
      {"NUL in a field", post + std::string("A: b\0c\r\n\r\n", 10), 400},
      {"NUL in the target", std::string("GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n", 28), 400},
      {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400},
      {"list of hosts", "GET / HTTP/1.1\r\nHost: x, y\r\n\r\n", 400},
      {"host with a path", "GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400},
      {"host with a user", "GET / HTTP/1.1\r\nHost: u@x\r\n\r\n", 400},
      {"host with a bad port", "GET / HTTP/1.1\r\nHost: x:y\r\n\r\n", 400},
      {"user in the target", "GET http://u@x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"empty authority", "GET http:///p HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"no slash", "GET x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"fragment", "GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"raw UTF-8", "GET /\xc3\xa4 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"star with GET", "GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"two spaces", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"space in the target", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"no version", "GET /\r\n\r\n", 400},
      {"lower case version", "GET / http/1.1\r\nHost: x\r\n\r\n", 400},
      {"version 2", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"version 0.9", "GET / HTTP/0.9\r\n\r\n", 505},
      {"CONNECT", "CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", 501},
      {"TRACE", "TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", 501},
      {"unknown expectation", post + "Expect: 200-ok\r\n\r\n", 417},
      {"only empty lines", "\r\n\r\n\r\n", 400},
      {"TLS hello", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", 12), 400},
      {"chunk size without digits", chunked + "\r\n", 400},
      {"chunk size garbage", chunked + "xyz\r\n", 400},
      {"chunk size 0x5", chunked + "0x5\r\nhello\r\n", 400},
      {"signed chunk size", chunked + "-5\r\nhello\r\n", 400},
      {"chunk size too large", chunked + "fffffffffffffffff\r\n", 400},
      {"chunk ends with LF", chunked + "5\nhello\r\n", 400},
      {"chunk longer than said", chunked + "5\r\nhelloo\r\n0\r\n\r\n", 400},
      {"long extension", chunked + "5;" + std::string(300, 'x') + "\r\nhello\r\n0\r\n\r\n", 400},
      {"endless extension", chunked + "5;" + std::string(3000, 'x'), 400},
      {"endless chunk size", chunked + std::string(3000, '0'), 400},
      {"folded trailer", chunked + "0\r\nA: b\r\n c\r\n\r\n", 400},
      {"length as trailer", chunked + "0\r\nContent-Length: 5\r\n\r\n", 400},
      {"NUL in a trailer", chunked + std::string("0\r\nA: \0\r\n\r\n", 11), 400},
      {"too large by length", post + "Content-Length: 9000000\r\n\r\n", 413},
      {"too large by chunk", chunked + "900000\r\n", 413},
      {"long target", "GET /" + std::string(17000, 'a') + " HTTP/1.1\r\n\r\n", 414},
      {"long field", post + "A: " + std::string(17000, 'a') + "\r\n\r\n", 431},
  };
}

TEST_F(HttpServerTest, RefusesHostileRequests) {
  for (const HostileRequest& request : HostileRequests()) {
    for (const bool split : {false, true}) {
      bool called = false;
      ServiceEntry& entry = harness.AddService(Dispatch::kInline, [&](auto exchange) {
        called = true;
        Echo(exchange);
      });
      HttpTestClient client(harness, entry);
      if (split) {
        for (const char& byte : request.bytes) client.Send({&byte, 1});
      }
      // What follows must never be taken for a request.
      const std::string answer =
          client.Ask((split ? "" : request.bytes) + "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
      EXPECT_EQ(answer.substr(0, 13), "HTTP/1.1 " + std::to_string(request.status) + " ")
          << request.name << split;
      EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos) << request.name;
      EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << request.name << answer;
      EXPECT_TRUE(client.closed()) << request.name;
      EXPECT_EQ(entry.counters().started.load(), 1u) << request.name;
      EXPECT_EQ(entry.counters().finished.load(), 1u) << request.name;
      // What comes in one piece, fault included, never comes to the service.
      if (!split && request.bytes.size() < 500) {
        EXPECT_FALSE(called) << request.name;
      }
    }
  }
}

TEST_F(HttpServerTest, HeadGetsTheHeadOfTheSameAnswer) {
  HttpTestClient client(harness, hello());
  EXPECT_EQ(client.Ask("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client.Ask(kGet), Answer("hello"));
}

TEST_F(HttpServerTest, ClosesWhenTheClientAsks) {
  HttpTestClient client(harness, hello());
  EXPECT_EQ(client.Ask("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
            Answer("hello", "Connection: close\r\n"));
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(harness.server->connections(), 0u);
}

TEST_F(HttpServerTest, ServesHttp10) {
  HttpTestClient kept(harness, hello());
  EXPECT_EQ(kept.Ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            Answer("hello", "Connection: keep-alive\r\n"));
  EXPECT_FALSE(kept.closed());
  EXPECT_EQ(kept.Ask("GET / HTTP/1.0\r\n\r\n"), Answer("hello", "Connection: close\r\n"));
  EXPECT_TRUE(kept.closed());
}

TEST_F(HttpServerTest, TellsTheClientToContinueWhenTheServiceReads) {
  HttpTestClient client(harness, echo());
  EXPECT_EQ(client.Ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                       "Expect: 100-continue\r\n\r\n"),
            "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(client.Ask("ab"), Answer("POST / ab"));
}

TEST_F(HttpServerTest, ClosesWhenTheClientWasNotToldToContinue) {
  HttpTestClient client(harness, hello());
  EXPECT_EQ(client.Ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                       "Expect: 100-continue\r\n\r\n"),
            Answer("hello", "Connection: close\r\n"));
  EXPECT_TRUE(client.closed());
}

TEST_F(HttpServerTest, AcceptsAHalfClosedClient) {
  std::shared_ptr<Exchange> waiting;
  ServiceEntry& entry =
      harness.AddService(Dispatch::kInline, [&](auto exchange) { waiting = exchange; });
  HttpTestClient client(harness, entry);
  client.Send(kGet);
  client.CloseWrite();
  ASSERT_EQ(waiting->Respond(200, {}, "late"), ExchangeResult::kOk);
  EXPECT_EQ(client.Receive(), Answer("late"));
  EXPECT_TRUE(client.closed());
}

TEST_F(HttpServerTest, TellsTheServiceThatTheClientLeftInItsBody) {
  ServiceEntry& entry = echo();
  HttpTestClient client(harness, entry);
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab");
  client.Close();
  harness.Poll();
  ASSERT_EQ(harness.hosted(entry).ended.size(), 1u);
  EXPECT_EQ(harness.hosted(entry).ended[0], CancelReason::kClientGone);
  EXPECT_EQ(entry.counters().answered[0].load(), 1u);
  EXPECT_EQ(entry.gate()->open(), 0u);
}

TEST_F(HttpServerTest, SurvivesAClientThatLeavesBeforeItsAnswer) {
  std::shared_ptr<Exchange> waiting;
  ServiceEntry& entry =
      harness.AddService(Dispatch::kInline, [&](auto exchange) { waiting = exchange; });
  HttpTestClient client(harness, entry);
  client.Send(kGet);
  client.Close();
  harness.Poll();
  // The end of a stream may be a half close: only the answer finds out.
  waiting->Respond(200, {}, "late");
  harness.Poll();
  EXPECT_EQ(harness.server->connections(), 0u);
  EXPECT_EQ(entry.counters().finished.load(), 1u);
}

TEST_F(HttpServerTest, DiscardsASmallBodyThatNobodyRead) {
  HttpTestClient client(harness, hello());
  EXPECT_EQ(client.Ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab"),
            Answer("hello"));
  EXPECT_EQ(client.Ask("cde" + std::string(kGet)), Answer("hello"));
}

TEST_F(HttpServerTest, DoesNotReadALargeBodyThatNobodyWants) {
  HttpTestClient client(harness, hello());
  const std::string answer = client.Ask(
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n" + std::string(1000, 'x'));
  EXPECT_EQ(answer, Answer("hello", "Connection: close\r\n"));
  client.Send(std::string(4'000'000, 'x'));
  EXPECT_LT(hello().counters().bytes_received.load(), 400'000u);
  EXPECT_TRUE(client.closed());
}

TEST_F(HttpServerTest, StopsReadingWhenTheServiceDoesNot) {
  std::shared_ptr<Exchange> waiting;
  ServiceEntry& entry =
      harness.AddService(Dispatch::kInline, [&](auto exchange) { waiting = exchange; });
  HttpTestClient client(harness, entry);
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n");
  client.Send(std::string(2'000'000, 'x'));
  EXPECT_LT(entry.counters().bytes_received.load(), 200'000u);
  EXPECT_GE(entry.counters().bytes_received.load(), 65'536u);
  // Not counted as the service's time before it has asked; nor is it the client's fault.
  std::array<char, 10000> part;
  size_t total = 0;
  size_t read = 0;
  const uint64_t before = entry.counters().bytes_received.load();
  while (waiting->ReadBody(part.data(), part.size(), &read) == ExchangeResult::kOk) total += read;
  harness.Poll();
  EXPECT_EQ(total, 65'536u);
  EXPECT_GT(entry.counters().bytes_received.load(), before);
}

TEST_F(HttpServerTest, EchoesALargeBodyThroughTheWindow) {
  HttpTestClient client(harness, echo());
  std::string body(3'000'000, 'x');
  for (size_t i = 0; i < body.size(); i += 7) body[i] = static_cast<char>('a' + i % 26);
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n");
  client.Send(body);
  EXPECT_EQ(client.Receive(), Answer("POST / " + body));
}

TEST_F(HttpServerTest, StreamsAnAnswerWithBackPressure) {
  std::shared_ptr<Exchange> waiting;
  ServiceEntry& entry =
      harness.AddService(Dispatch::kInline, [&](auto exchange) { waiting = exchange; });
  HttpTestClient client(harness, entry);
  client.Send(kGet);
  ASSERT_EQ(waiting->SendHead(200, {}, 50'000'000), ExchangeResult::kOk);
  const std::string part(10'000, 'x');
  size_t written = 0;
  while (waiting->WriteBody(part) == ExchangeResult::kOk) {
    written += part.size();
    harness.Poll();
    ASSERT_LT(written, 5'000'000u);
  }
  // Waiting for the client is not the service's time.
  harness.Poll();
  EXPECT_EQ(entry.row().oldest_request_ns.load(), 0u);
  bool writable = false;
  waiting->OnWritable([&] { writable = true; });
  harness.Poll();
  EXPECT_FALSE(writable);
  const std::string received = client.Receive();
  EXPECT_TRUE(writable);
  EXPECT_EQ(received.size(), 54u + written);
  EXPECT_NE(entry.row().oldest_request_ns.load(), 0u);
  EXPECT_EQ(waiting->WriteBody(part), ExchangeResult::kOk);
  EXPECT_EQ(waiting->Finish({}), ExchangeResult::kInvalid) << "shorter than said";
  waiting->Abort();
  harness.Poll();
  EXPECT_TRUE(client.Receive().size() <= part.size());
  EXPECT_TRUE(client.closed());
}

TEST_F(HttpServerTest, ChunksAnAnswerOfUnknownLength) {
  const HeaderView kTrailer{"Sum", "1"};
  ServiceEntry& entry = harness.AddService(Dispatch::kInline, [&](auto exchange) {
    exchange->SendHead(200, {}, std::nullopt);
    exchange->WriteBody("ab");
    exchange->WriteBody("");
    exchange->WriteBody(std::string(17, 'c'));
    EXPECT_EQ(exchange->Finish({&kTrailer, 1}), ExchangeResult::kOk);
    EXPECT_EQ(exchange->WriteBody("x"), ExchangeResult::kGone);
  });
  HttpTestClient client(harness, entry);
  const std::string head = "HTTP/1.1 200 OK\r\nDate: D\r\n";
  EXPECT_EQ(client.Ask(kGet), head + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n11\r\n" +
                                  std::string(17, 'c') + "\r\n0\r\nSum: 1\r\n\r\n");
  EXPECT_EQ(client.Ask("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"),
            head + "Transfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(client.Ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            head + "Connection: close\r\n\r\nab" + std::string(17, 'c'));
  EXPECT_TRUE(client.closed());
}

TEST_F(HttpServerTest, RefusesAnswersThatWouldBreakTheFraming) {
  const std::vector<HeaderView> bad = {
      {"A", "b\r\nC: d"},
      {"A", "b\nc"},
      {"A", std::string_view("b\0c", 3)},
      {"A b", "c"},
      {"", "c"},
      {"A:", "c"},
      {"A\r\n", "c"},
      {"Content-Length", "1"},
      {"transfer-encoding", "chunked"},
      {"CONNECTION", "x"},
      {"Date", "x"},
      {"Upgrade", "x"},
      {"Keep-Alive", "x"},
      {"Trailer", "x"},
      {"A", "b\rc"},
  };
  ServiceEntry& entry = harness.AddService(Dispatch::kInline, [&](auto exchange) {
    for (const HeaderView& header : bad) {
      EXPECT_EQ(exchange->Respond(200, {&header, 1}, ""), ExchangeResult::kInvalid)
          << header.name << "=" << header.value;
    }
    EXPECT_EQ(exchange->Respond(199, {}, ""), ExchangeResult::kInvalid);
    EXPECT_EQ(exchange->Respond(600, {}, ""), ExchangeResult::kInvalid);
    EXPECT_EQ(exchange->Respond(204, {}, "x"), ExchangeResult::kInvalid);
    EXPECT_EQ(exchange->WriteBody("x"), ExchangeResult::kInvalid);
    EXPECT_EQ(exchange->Finish({}), ExchangeResult::kInvalid);
    EXPECT_EQ(exchange->SendHead(200, {}, 2), ExchangeResult::kOk);
    EXPECT_EQ(exchange->Respond(200, {}, ""), ExchangeResult::kInvalid);
    EXPECT_EQ(exchange->SendHead(200, {}, 2), ExchangeResult::kInvalid);
    EXPECT_EQ(exchange->WriteBody("xyz"), ExchangeResult::kInvalid);
    EXPECT_EQ(exchange->WriteBody("xy"), ExchangeResult::kOk);
    EXPECT_EQ(exchange->Finish({}), ExchangeResult::kOk);
    EXPECT_EQ(exchange->Respond(200, {}, ""), ExchangeResult::kGone);
  });
  HttpTestClient client(harness, entry);
  EXPECT_EQ(client.Ask(kGet), Answer("xy"));
}

TEST_F(HttpServerTest, AnswersWithoutABody) {
  ServiceEntry& entry =
      harness.AddService(Dispatch::kInline, [](auto exchange) { exchange->Respond(204, {}, ""); });
  HttpTestClient client(harness, entry);
  EXPECT_EQ(client.Ask(kGet), "HTTP/1.1 204 No Content\r\nDate: D\r\n\r\n");
}

TEST_F(HttpServerTest, AbortBeforeTheHeadIs500) {
  ServiceEntry& entry =
      harness.AddService(Dispatch::kInline, [](auto exchange) { exchange->Abort(); });
  HttpTestClient client(harness, entry);
  EXPECT_EQ(client.Ask(kGet).substr(0, 35), "HTTP/1.1 500 Internal Server Error\r");
  EXPECT_FALSE(client.closed());
  EXPECT_EQ(harness.hosted(entry).ended.at(0), std::nullopt);
}

TEST_F(HttpServerTest, WritesAnAccessLogOfRefusedRequestsToo) {
  HttpTestClient client(harness, hello());
  client.Ask("GET /x?y HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_EQ(harness.access_log.size(), 1u);
  EXPECT_EQ(harness.access_log[0].substr(0, 13), "GET /x?y 200 ");
  const std::string refused = client.Ask("TRACE /t HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_EQ(harness.access_log.size(), 2u);
  EXPECT_EQ(harness.access_log[1].substr(0, 13), "TRACE /t 501 ");
}

}  // namespace
}  // namespace cohost::worker
