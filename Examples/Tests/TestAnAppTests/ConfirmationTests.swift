import Countersign
import CountersignTestKit
import Foundation
import Testing

@testable import FirstApp

@Suite("The app confirms a payment") struct AppConfirmationTests {
    /// A person who gives one answer. Records the shown lines.
    actor Person {
        private(set) var lines: [String] = []
        private let answer: Bool
        init(answering answer: Bool) { self.answer = answer }
        func ask(_ title: String, _ lines: [String]) -> Bool {
            self.lines += lines
            return self.answer
        }
    }

    @Test("and signs it after a yes alone", arguments: [true, false]) func payment(_ isAgreed: Bool) async throws {
        let server = VirtualServer(baseURL: URL(string: "https://id.example.com")!)
        let phone = try await VirtualPhone(
            configuration: ClientConfiguration(baseURL: server.baseURL), transport: server)
        // The kit's person enrols alice with a PIN.
        phone.person.script.newPins = ["258036"]
        _ = try await phone.enroll(try await server.registration(for: "alice", by: .pin))
        let payment = "Payment\nAmount: EUR 12.50\nTo: Jo\nAccount: 7"
        let code = try await server.authentication(username: "alice", text: payment)
        guard case .authentication(let operation) = try await phone.redeem(code) else {
            Issue.record("the code is for something else")
            return
        }
        let person = Person(answering: isAgreed)
        try await confirm(operation, on: ConfirmationScreen { await person.ask($0, $1) })
        #expect(await person.lines == ["Amount: EUR 12.50", "To: Jo", "Account: 7"])
        #expect(await server.accepted.count == (isAgreed ? 1 : 0))
    }
}
