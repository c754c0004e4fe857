import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

@Suite("Operations parity 71: each code of the UAF client, with its cause", .overEachKeyAbility)
struct FidoErrorCodeTests {
    /// An operation that ends with a code.
    struct Cause: Sendable, CustomTestStringConvertible {
        let code: FidoErrorCode
        /// Brings the cause about, and returns the operation's payload.
        let prepare: @Sendable (World) async throws -> OutOfBandPayload
        /// Happens while the operation waits for the person.
        var meanwhile: (@Sendable (World) async -> Void)?

        var testDescription: String { self.code.description }
    }

    /// A cause of each code that an operation can end with.
    static let causes: [Cause] = [
        Cause(code: .insecureTransport) { _ in
            let address = URL(string: "http://id.example.com/token/redeem/authentication")!
            return try OutOfBandPayload(redeemData: OutOfBandPayload.RedeemData(token: "t", redeemURL: address))
        },
        Cause(code: .userCanceled) { world in
            try await world.enroll()
            world.phone.person.script.reactions[.pin] = .cancels
            return try await world.server.authentication()
        },
        Cause(code: .unsupportedVersion) { world in
            try await world.enroll()
            await world.server.offer([Version(major: 1, minor: 2)])
            return try await world.server.authentication()
        },
        Cause(code: .noSuitableAuthenticator) { world in
            try await world.enroll()
            return try await world.server.authentication(policy: World.policy([[World.face]]))
        },
        Cause(code: .protocolError) { world in
            try await world.enroll()
            await world.server.judge(ServerResponse(statusCode: .unacceptableAuthenticator))
            return try await world.server.authentication()
        },
        Cause(code: .untrustedFacetID) { world in
            try await world.enroll()
            await world.server.use(appID: "https://id.example.com/uaf/1.1/facets")
            return try await world.server.authentication()
        },
        Cause(code: .keyDisappearedPermanently) { world in
            try await world.enroll("alice", [World.fingerprint])
            world.phone.sensor.enroll(Array("another".utf8))
            return try await world.server.authentication()
        },
        Cause(code: .authenticatorAccessDenied) { world in
            try await world.enroll("alice", [World.face])
            world.phone.camera.enroll(nil)
            return try await world.server.authentication()
        },
        Cause(code: .invalidTransactionContent) { world in
            try await world.enroll()
            return try await world.server.authentication(transaction: [text("Pay \u{202E}05")])
        },
        Cause(
            code: .userNotResponsive,
            prepare: { world in
                try await world.enroll()
                world.phone.person.script.reactions[.pin] = .ignores
                return try await world.server.authentication()
            },
            meanwhile: { world in
                while world.phone.person.asked.last?.question != .pin { await Task.yield() }
                await world.phone.clock.untilSleeping()
                world.phone.clock.advance(by: .seconds(240))
            }),
        Cause(code: .insufficientAuthenticatorResources) { world in
            let models = [World.possession, World.pin]
            for number in 0..<128 { try await world.enroll("person-\(number)", models) }
            return try await world.server.registration(for: "zoe", policy: World.policy([models]))
        },
        Cause(code: .userLockout) { world in
            try await world.enroll("alice", [World.passcode])
            world.phone.passcode.answer(.lockedOut)
            return try await world.server.authentication()
        },
        Cause(code: .userNotEnrolled) { world in
            world.phone.camera.enroll(nil)
            return try await world.server.registration(for: "alice", policy: World.policy([[World.face]]))
        },
        Cause(code: .unknown) { world in
            try await world.enroll("alice", [World.fingerprint])
            world.phone.sensor.fail(.timedOut, .timedOut, .timedOut)
            return try await world.server.authentication()
        },
    ]

    @Test("A real cause ends an operation with its code", arguments: Self.causes)
    func ends(cause: Cause) async throws {
        let world = try await World()
        let payload = try await cause.prepare(world)
        let ended = Task {
            await operationError {
                switch try await world.phone.redeem(payload) {
                case .registration(let operation): _ = try await world.phone.ready(operation).execute()
                case .authentication(let operation): _ = try await world.phone.ready(operation).execute()
                case .deregistration: break
                }
            }
        }
        await cause.meanwhile?(world)
        #expect(await ended.value == .fido(cause.code))
    }

    /// The rows of the page's table of codes: the number, the name and the cause.
    private func rows() throws -> [(number: Int, name: String, cause: String)] {
        let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let page = try String(
            contentsOf: root.appending(path: "Sources/Countersign/Countersign.docc/ErrorCodes.md"), encoding: .utf8)
        return page.matches(of: /(?m)^\| (\d+) \| ``FidoErrorCode\/(\w+)`` \| (.+) \|$/).map {
            (Int($0.output.1) ?? -1, String($0.output.2), String($0.output.3))
        }
    }

    @Test("The page names all sixteen codes, and a code has a cause here unless only a status has the code")
    func page() throws {
        let rows = try self.rows()
        let numbers = [0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 14, 15, 16, 17, 255]
        #expect(FidoErrorCode.allCases.map(\.rawValue) == numbers)
        #expect(rows.map(\.number) == numbers)
        #expect(rows.allSatisfy { !$0.cause.isEmpty } && Set(rows.map(\.name)).count == numbers.count)
        let ofStatus = rows.filter { $0.cause.hasPrefix("Only in a status:") }.map(\.number)
        #expect(ofStatus == [0, 1])
        #expect(Self.causes.map(\.code.rawValue) == numbers.filter { !ofStatus.contains($0) })
    }
}
