import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import Records
import SQLStore
import Testing
import _Primitives

/// Looks for what nobody may read in everything that was written so far.
struct LeakSearch: Sendable {
    static let pins = (code: "25803691470258", own: "70413962508417", new: "39174260851936")

    let stage: IdentityStage
    let secrets = SecretsSeen()
    /// Names of keys, which servers and their trails have as they are, also of those that are gone by now.
    private let keyNames = SecretsSeen()

    /// Members of answers that open something, or show of what a digest is.
    private static let secretMembers: Set<String> = ["claim", "salts", "token"]

    init(_ stage: IdentityStage) {
        self.stage = stage
        for pin in [Self.pins.code, Self.pins.own, Self.pins.new] {
            self.secrets.note(pin, as: "PIN")
        }
        for value in [IdentityStage.values.given, IdentityStage.values.home, IdentityStage.values.work] {
            self.secrets.note(value, as: "value")
        }
    }

    /// A code, and its secret alone.
    func note(code: String) {
        self.secrets.note(code, as: "code")
        self.secrets.note(String(code.split(separator: "~").last ?? ""), as: "secret of a code")
    }

    /// The code of an activation of alice's.
    func activationCode() async throws -> String {
        let code = try await self.stage.offer(pin: Self.pins.code).code
        self.note(code: code)
        return code
    }

    /// A sign-in that is prepared: everything is chosen and typed. And the name of its page's request.
    func prepared(by phone: StagePhone, in browser: TestBrowser? = nil) async throws -> (
        info: AuthenticationUserInformation, request: String
    ) {
        let (code, request) = try await self.stage.code(in: browser ?? TestBrowser(self.stage.client))
        self.note(code: code)
        return (try await phone.prepare(try phone.authenticationData(code)), request)
    }

    /// Signs with a wrong PIN, and after the rest with the right one.
    func finish(_ info: AuthenticationUserInformation, by phone: StagePhone) async throws {
        _ = try #require(try await phone.finish(info, pin: Self.pins.own).lockout, "a wrong PIN was taken")
        try await self.run("a wrong PIN")
        self.stage.server.clock.advance(by: .seconds(60))
        try #require(try await phone.finish(info, pin: Self.pins.code).isUserLogin, "not signed in")
    }

    private func noteTraffic() {
        for exchange in self.stage.traffic.exchanges {
            if let proof = exchange.proof { self.secrets.note(proof, as: "proof") }
            if case .object(let body)? = try? JSON(parsing: exchange.request) {
                if let claim = try? body.string("claim") { self.secrets.note(claim, as: "claim") }
            }
            // What nobody has proved anything for, anybody may know.
            guard exchange.proof != nil || exchange.path.hasPrefix("/identity/activations/") else { continue }
            let answer = String(decoding: exchange.answer, as: UTF8.self)
            self.secrets.note(answer, as: "answer")
            // As a whole it is in no log: but what it gives may be, alone.
            let parts = answer.split(separator: ".")
            guard parts.count == 3, let payload = Base64URL.decode(parts[1]), let json = try? JSON(parsing: payload)
            else { continue }
            self.note(secretsOf: json)
        }
    }

    private func note(secretsOf json: JSON, as secret: String? = nil) {
        switch json {
        case .object(let object):
            for (name, value) in object.members {
                self.note(secretsOf: value, as: secret ?? (Self.secretMembers.contains(name) ? name : nil))
            }
        case .array(let values): for value in values { self.note(secretsOf: value, as: secret) }
        case .string(let text): if let secret { self.secrets.note(text, as: "\(secret) of an answer") }
        default: break
        }
    }

    /// What phones drew for secrets and for nonces; names of keys are drawn, too, and are none.
    private func noteDraws() async throws {
        if let account = try await self.stage.server.database.account(username: "alice") {
            for key in try await self.stage.server.database.credentials(accountID: account.id) {
                self.keyNames.note(Base64URL.encode(key.keyID), as: "key")
            }
        }
        let open = self.keyNames.values
        for bytes in self.stage.drawn.all where bytes.count >= 32 {
            let text = Base64URL.encode(bytes)
            if open[text] == nil { self.secrets.note(text, as: "draw") }
        }
    }

    func run(_ moment: String) async throws {
        self.noteTraffic()
        try await self.noteDraws()
        let finder = SecretFinder(self.secrets)
        for folder in [self.stage.folder, self.stage.server.folder] { try finder.search(folder: folder, moment) }
        finder.search(log: self.stage.lines, moment)
    }
}
