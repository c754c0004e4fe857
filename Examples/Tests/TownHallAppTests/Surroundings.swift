import Countersign
import CountersignBackend
import CountersignTestKit
import Foundation
import PersonalInformation
import UAFClient
import _Primitives

@testable import TownHallApp

/// A person in front of the app: what they say, and what they were shown.
actor Screen: TownHallScreen {
    private let clock: FakeClock
    private var pins: [String] = []
    private var lines: [String] = []
    private var choices: [Int] = []
    private var refused: String?
    private var agreements = 0
    private(set) var said: [String] = []
    private(set) var asked: [String] = []
    private(set) var opened: [URL] = []
    private(set) var waits: [Duration] = []

    init(clock: FakeClock) { self.clock = clock }

    func type(pins: String...) { self.pins += pins }
    func type(lines: String...) { self.lines += lines }
    func choose(_ numbers: Int...) { self.choices += numbers }
    /// Answers no from now on, or once it has said yes so often, to a question that begins so; `nil`: to none.
    func refuse(_ beginning: String?, after agreements: Int = 0) {
        (self.refused, self.agreements) = (beginning, agreements)
    }
    func forget() { (self.said, self.asked) = ([], []) }

    private func next<Answer>(_ answers: inout [Answer], _ question: String) throws -> Answer {
        self.asked.append(question)
        guard !answers.isEmpty else { throw GivenUp() }
        return answers.removeFirst()
    }

    func say(_ sentence: String) { self.said.append(sentence) }
    func pin(_ question: String) throws -> String { try self.next(&self.pins, question) }
    func line(_ question: String) throws -> String { try self.next(&self.lines, question) }
    func choice(_ question: String, among names: [String]) throws -> Int {
        try self.next(&self.choices, ([question] + names).joined(separator: " | "))
    }
    func agrees(to question: String) -> Bool {
        self.asked.append(question)
        // Somebody who is asked for ever goes away.
        guard self.asked.count < 100 else { return false }
        guard let refused, question.hasPrefix(refused) else { return true }
        self.agreements -= 1
        return self.agreements >= 0
    }
    func openInBrowser(_ address: URL) { self.opened.append(address) }
    func wait(for duration: Duration) {
        self.waits.append(duration)
        self.clock.advance(by: duration)
    }
}

/// The app's back end, behind the addresses that `Examples/BackEnd` has: the real `CountersignBackend`, and no HTTP server.
actor TownHall: Transport {
    private let identities: IdentityBackend
    private var begun: [String: InAppSignIn] = [:]
    private var mixesUp = false
    private(set) var people: [SignedInPerson] = []

    init(server: VirtualIdentityServer) {
        self.identities = IdentityBackend(
            BackendConfiguration(
                issuer: server.identifier, clientID: "town-app", clientSecret: SecretBytes(utf8: "s3cret"),
                redirectURI: "https://town.example/app"),
            transport: server, time: server.clockSource)
    }

    /// Gives the app the state of another sign-in from now on.
    func mixUp() { self.mixesUp = true }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard request.method == "POST" else { return try self.answer(["error": "Nothing is here."], status: 404) }
        switch request.url.path() {
        case "/sign-in":
            let signIn = self.identities.begin()
            self.begun[signIn.offer.state] = signIn
            let offer = signIn.offer
            return try self.answer([
                "handle": offer.state, "clientID": offer.clientID, "redirectURI": offer.redirectURI,
                "scope": offer.scope, "state": self.mixesUp ? "another" : offer.state, "nonce": offer.nonce,
                "codeChallenge": offer.codeChallenge,
            ])
        case "/sign-in/finish":
            let brought = try JSONDecoder().decode([String: String].self, from: Data(request.body))
            guard let signIn = self.begun.removeValue(forKey: brought["handle"] ?? "") else {
                return try self.answer(["error": "This sign-in is over. Begin again."], status: 403)
            }
            do {
                let person = try await self.identities.finish(
                    signIn, code: brought["code"] ?? "", state: brought["state"], issuer: brought["issuer"] ?? "")
                self.people.append(person)
                return try self.answer([
                    "token": "token-\(self.people.count)", "greeting": "Hello, \(person.attributes[.givenName] ?? "")!",
                ])
            } catch {
                return try self.answer(["error": "This sign-in is over. Begin again."], status: 403)
            }
        default: return try self.answer(["error": "Nothing is here."], status: 404)
        }
    }

    private func answer(_ body: [String: String], status: Int = 200) throws -> TransportResponse {
        TransportResponse(status: status, headers: [], body: Array(try JSONEncoder().encode(body)))
    }
}

/// No network.
struct NobodyAnswers: Transport {
    func send(_ request: TransportRequest) async throws -> TransportResponse {
        throw TransportError(.unreachable, "nobody")
    }
}

extension VirtualIdentityServer {
    nonisolated var clockSource: TimeSource { TimeSource { self.now } }
}
