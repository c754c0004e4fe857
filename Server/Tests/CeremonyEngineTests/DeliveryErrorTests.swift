import CeremonyEngine
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import UAF
import _Primitives

/// A dispatcher whose deliveries fail with the errors of a test.
private final class FailingDispatcher: TargetedDispatcher {
    let name = "failing"
    private let errors: Mutex<[DeliveryError]>

    init(_ errors: [DeliveryError]) { self.errors = Mutex(errors) }

    func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation { DispatcherInformation() }

    func delivery(of operation: DispatchedOperation, to target: String) -> DispatchDelivery {
        .message(DispatchMessage(target: target, content: [1]))
    }

    func deliver(_ message: DispatchMessage) throws {
        let error = self.errors.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if let error { throw error }
    }
}

@Suite("Decisions 112 and 116: an error of a delivery says when to try again")
struct DeliveryErrorTests {
    /// A server with one dispatched message, and the outbox of the message.
    private struct Stage {
        let server: TestServer
        let outbox: Outbox
        let failures = Failures()

        init(_ errors: DeliveryError...) async throws {
            let server = try TestServer(dispatchers: Dispatchers.standard.adding(FailingDispatcher(errors)))
            let account = try await server.enrol().account
            let failures = self.failures
            self.server = server
            self.outbox = Outbox(
                server.engine.dispatches.outboxEntry(report: failures.note), store: server.database,
                time: server.clock.source)
            let answer = try await server.engine.dispatches.dispatch(
                DispatchRequest(
                    dispatcher: "failing", target: "one", operation: .authentication,
                    context: ["subject": .string("\(server.bank.id)|\(account.id)")]), client: server.bank)
            #expect(answer.result == .dispatched)
        }

        /// Tries the messages that are due.
        func deliver() async throws -> [OutboxResult] {
            var results: [OutboxResult] = []
            for message in try await self.outbox.takeDue() { results.append(try await self.outbox.deliver(message)) }
            return results
        }
    }

    private final class Failures: Sendable {
        private let noted = Mutex<[DispatchFailure]>([])
        var all: [DispatchFailure] { self.noted.withLock { $0 } }
        @Sendable func note(_ failure: DispatchFailure) { self.noted.withLock { $0.append(failure) } }
    }

    @Test("a message waits until the moment of the error, and goes then")
    func notBefore() async throws {
        let moment = TestClock().now + .seconds(30)
        let stage = try await Stage(DeliveryError("the service asks to wait", nextTry: .notBefore(moment)))
        #expect(try await stage.deliver() == [.failed])
        #expect(stage.failures.all.first?.reason == "the service asks to wait")
        stage.server.clock.advance(.milliseconds(29_999))
        #expect(try await stage.deliver() == [])
        stage.server.clock.advance(.milliseconds(1))
        #expect(try await stage.deliver() == [.delivered])
    }

    @Test("a moment in the past shortens no pause of the outbox")
    func past() async throws {
        let stage = try await Stage(
            DeliveryError("the service asks to wait", nextTry: .notBefore(Timestamp(milliseconds: 0))))
        #expect(try await stage.deliver() == [.failed])
        #expect(try await stage.deliver() == [])
        stage.server.clock.advance(Limits().deviceMessageRetryPause)
        #expect(try await stage.deliver() == [.delivered])
    }

    @Test("a message that is over by the moment, and a message without a further try, are given up at once")
    func givenUp() async throws {
        for nextTry in [DeliveryError.NextTry.never, .notBefore(Timestamp(seconds: 4_000_000_000))] {
            let stage = try await Stage(DeliveryError("the target has ended", nextTry: nextTry))
            #expect(try await stage.deliver() == [.givenUp])
            #expect(stage.failures.all.map(\.isGivenUp) == [true])
            #expect(try await stage.server.database.waitingMessages(to: .device).count == 0)
        }
    }

    @Test("an error as usual is tried again after the usual pause")
    func asUsual() async throws {
        let stage = try await Stage(DeliveryError("no answer", nextTry: .asUsual))
        #expect(try await stage.deliver() == [.failed])
        stage.server.clock.advance(Limits().deviceMessageRetryPause)
        #expect(try await stage.deliver() == [.delivered])
    }
}
