import Accounts
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import Records
import SQLStore
import Testing
import _Primitives

@Suite("Operators see whether mail leaves, and try it (decision 44)")
struct MailAdministrationTests {
    @Test("a letter goes as a test, by the server's own mail command, and what the command says is told")
    func test() async throws {
        let server = try await ServerFixture()
        let lines = LoggedLines()
        try await server.withSocketClient { client in
            let taken = try await client.send(.post, "/admin/v1/mail/test", ["address": .string("root@post.example")])
            #expect(taken.response.status == .ok && taken.object["taken"] == .bool(true))
            let letter = try #require(server.mail.messages.last)
            #expect(letter.contains("To: <root@post.example>") && !letter.contains("link="))
            server.mail.refuse("the mail command ended with status 75")
            let refused = try await client.send(.post, "/admin/v1/mail/test", ["address": .string("root@post.example")])
            #expect(refused.object["taken"] == .bool(false))
            #expect(refused.object["reason"] == .string("the mail command ended with status 75"))
            #expect(refused.object["said"] == .string("mailer: no way out"))
            for wrong in ["root", "root@post.example\nBcc: all@post.example", ""] {
                let answer = try await client.send(.post, "/admin/v1/mail/test", ["address": .string(wrong)])
                #expect(answer.response.status == .badRequest, "\(wrong)")
            }
            #expect(server.mail.messages.count == 1)
        }
        #expect(lines.all.allSatisfy { !$0.contains("root@post.example") })
    }

    @Test("what waits is told, and the last failure with what the command said, until a letter is taken")
    func waiting() async throws {
        try await PasswordPlace.run { place in
            let server = place.server
            try await server.withSocketClient { client in
                func shown() async throws -> JSONObject { try await client.send(.get, "/admin/v1/mail").object }
                #expect(try await shown() == ["sendsMail": .bool(true), "waiting": .integer(0)])
                try await place.enter()
                _ = try await place.askForReset()
                server.mail.refuse("the mail command ended with status 75")
                #expect(try await server.sendMail() == [.failed])
                server.clock.advance(by: .seconds(30))
                let failed = try await shown()
                #expect(failed["waiting"] == .integer(1) && failed["oldestSeconds"] == .integer(30))
                guard case .object(let failure)? = failed["failure"] else {
                    Issue.record("no failure is told")
                    return
                }
                #expect(failure["reason"] == .string("the mail command ended with status 75"))
                #expect(failure["said"] == .string("mailer: no way out"))
                server.mail.refuse(nil)
                _ = try await client.send(.post, "/admin/v1/mail/test", ["address": .string("root@post.example")])
                #expect(try await shown()["failure"] == nil)
                // So it is by the letter itself, once its turn comes again.
                server.mail.refuse("the mail command ended with status 75")
                server.clock.advance(by: .seconds(60))
                #expect(try await server.sendMail() == [.failed])
                #expect(try await shown()["failure"] != nil)
                server.mail.refuse(nil)
                server.clock.advance(by: .seconds(60))
                let outbox = OutboxService(server.assembly, logger: Logger(label: "test"))
                let running = Task { try await outbox.run() }
                while try await shown()["waiting"] != .integer(0), !Task.isCancelled { await Task.yield() }
                while try await shown()["failure"] != nil, !Task.isCancelled { await Task.yield() }
                running.cancel()
                try await running.value
            }
        }
    }
}
