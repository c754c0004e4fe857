import ArgumentParser
import CeremonyEngine
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Synchronization
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("countersign admin: whom secrets are sent to (founding decision, Loopback)")
struct AdminConnectionTests {
    @Test(
        "a server is one by https, or on this machine",
        arguments: [
            ("https://sign-in.example.com", "https://sign-in.example.com"), ("https://a.example:8443/", nil),
            ("http://localhost:8080", "http://localhost:8080"), ("http://127.0.0.1", "http://127.0.0.1"),
            ("http://127.9.8.7:1", "http://127.9.8.7:1"), ("http://[::1]:8080", "http://[::1]:8080"),
        ])
    func accepted(address: String, text: String?) throws {
        let server = try AdminConnection.server(at: address, named: "COUNTERSIGN_ADMIN_URL")
        #expect(server.text == text ?? String(address.dropLast()))
    }

    @Test(
        "no token goes to anywhere else in the clear, nor to what is no server's address",
        arguments: [
            "http://example.com", "http://127.0.0.1.example.com", "http://127.example.com", "http://localhost.example",
            "http://10.0.0.1", "http://[::2]", "http://2130706433", "http://127.1", "ftp://localhost",
            "https://user:pass@a.example", "https://user@a.example", "https://a.example/a//b", "https://a.example?q",
            "https://a.example#f", "a.example", "https://", "",
        ])
    func refused(address: String) {
        let failure = #expect(throws: CommandFailure.self) {
            try AdminConnection.server(at: address, named: "COUNTERSIGN_ADMIN_URL")
        }
        #expect(failure?.status == .usage)
        #expect(failure?.description.contains("pass") == false)
    }

    @Test("a server that shares its host is reached below its path")
    func path() async throws {
        let router = Router()
        router.get("/shared/id/admin/v1/accounts") { _, _ in #"{"accounts":[]}"# }
        try await Application(router: router).test(.live) { client in
            let port = try #require(client.port)
            let server = try AdminConnection.server(at: "http://localhost:\(port)/shared/id/", named: "x")
            let answer = try await AdminConnection(place: .network(server, token: "secret")).call("GET", "/accounts")
            #expect(answer == .object(["accounts": .array([])]))
        }
    }

    @Test("a redirect is not followed: the token goes nowhere else", arguments: [302, 307])
    func redirects(status: Int) async throws {
        let visits = Mutex<[String]>([])
        let router = Router()
        router.get("/admin/v1/accounts") { request, _ in
            visits.withLock { $0.append(request.uri.path) }
            return Response(status: .init(code: status), headers: [.location: "/elsewhere"])
        }
        router.get("/elsewhere") { request, _ in
            visits.withLock { $0.append(request.uri.path) }
            return "{}"
        }
        try await Application(router: router).test(.live) { client in
            let port = try #require(client.port)
            let server = try #require(PublicAddress("http://localhost:\(port)"))
            let failure = await #expect(throws: CommandFailure.self) {
                try await AdminConnection(place: .network(server, token: "secret")).call("GET", "/accounts")
            }
            #expect(failure?.status == .failed)
        }
        #expect(visits.withLock { $0 } == ["/admin/v1/accounts"])
    }
}

@Suite("countersign admin activation create --wait: every end of an enrolment ends it")
struct ActivationWaitTests {
    /// Waits at a server that tells these states one after the other, and the last one from then on.
    private func wait(_ states: [String]) async throws {
        let left = Mutex(states)
        let router = Router()
        router.get("/admin/v1/activations/:id") { _, _ in
            let state = left.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            return #"{"id":"a","state":"\#(state)"}"#
        }
        try await Application(router: router).test(.live) { client in
            let port = try #require(client.port)
            let server = try #require(PublicAddress("http://localhost:\(port)"))
            try await ActivationCommand.Create.parse(["alice", "--json"])
                .finish("a", over: AdminConnection(place: .network(server, token: "t")))
        }
    }

    @Test("an enrolled phone is exit code 0", .timeLimit(.minutes(10)))
    func succeeded() async {
        await #expect(throws: Never.self) { try await self.wait(["created", "claimed", "succeeded"]) }
    }

    @Test(
        "any other end is exit code 1, and says which", .timeLimit(.minutes(10)),
        arguments: [
            (EnrolmentView.State.denied, "declined"), (.cancelled, "gave up"), (.failed, "could not be enrolled"),
            (.expired, "time is over"),
        ])
    func ended(state: EnrolmentView.State, words: String) async throws {
        let failure = await #expect(throws: CommandFailure.self) { try await self.wait(["created", state.rawValue]) }
        #expect(failure?.status == .failed)
        #expect(failure?.description.contains(words) == true)
    }

    @Test("a state that a newer server tells does not keep it waiting", .timeLimit(.minutes(10)))
    func unknown() async throws {
        let failure = await #expect(throws: CommandFailure.self) { try await self.wait(["on-holiday"]) }
        #expect(failure?.status == .failed)
    }
}
