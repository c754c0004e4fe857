import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import JOSE
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("What people have agreed to (identity parity, transition 10), and what shows it")
struct IdentityConsentTests {
    @Test(
        "With the success it is kept what was agreed to, the signatures of all factors but the PIN, and what each proves"
    )
    func evidence() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let prepared = try await phone.prepared(code.id)
        let next = try #require(try await phone.miss(code.id, prepared).next)
        #expect(try await server.engine.identities.consents.consents(accountID: account.id).isEmpty, "nothing yet")
        server.clock.advance(.seconds(6))
        guard case .accepted = try await phone.finish(code.id, next) else {
            Issue.record("refused")
            return
        }
        let at = server.clock.now
        // Once the device's key is gone, the evidence has it all the same.
        let remove = try phone.call("/identity/activation", method: "DELETE")
        #expect(try await server.engine.identities.activations.remove(remove).refusal == nil)
        let consents = try await server.engine.identities.consents.consents(accountID: account.id)
        let consent = try #require(consents.first)
        #expect(consents.count == 1 && consent.record.document == next.document && consent.record.at == at)
        #expect(consent.record.session == code.id && consent.record.service == TestServer.service)
        #expect(consent.document.role.name == "Patient" && consent.attributes.isEmpty)
        #expect(consent.record.factors.map(\.type) == ["device", "pin"])
        #expect(consent.record.factors[1].signature == nil)
        // The device has signed the document, by the key that it was registered with.
        let signature = try #require(consent.record.factors[0].signature)
        let assertion = try AuthenticationAssertion(parsing: signature.assertion)
        let challenge = consent.record.finalChallenge
        #expect(assertion.signedData.finalChallengeHash == FinalChallengeParams.hash(ofEncoded: challenge))
        #expect(
            try FinalChallengeParams(encoded: challenge).challenge == SessionDocument.challenge(of: next.document))
        let key = try P256.Signing.PublicKey(x963Representation: signature.publicKey)
        #expect(key.rawRepresentation == phone.factors[.device]?.key.publicKey.rawRepresentation)
        #expect(
            key.isValidSignature(
                try P256.Signing.ECDSASignature(rawRepresentation: assertion.signature),
                for: assertion.signedData.signedBytes))
        // No byte of the PIN's key or of what it signed.
        let pin = try #require(phone.factors[.pin])
        let kept = String(decoding: JSON.object(consent.record.factors[1].json).serialized, as: UTF8.self)
        #expect(!kept.contains(Base64URL.encode(pin.keyID)) && !kept.contains("publicKey"))
    }

    @Test("The server's statement is signed when somebody asks, by a key of its set, also by the one of a later time")
    func statement() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        _ = try await phone.login(try await server.showCode())
        let at = server.clock.now
        let record = try #require(try await server.database.identityConsents(accountID: account.id, limit: 9).first)
        server.clock.advance(.seconds(60 * 24 * 60 * 60))
        let shown = try await server.engine.identities.consents.consent(
            session: record.session, accountID: account.id)
        let (consent, text) = try #require(shown)
        let keys = try await server.keySet().signingKeys
        let statement = try ConsentStatement(verifying: text, server: IdentityPhone.issuer, keys: keys)
        #expect(
            statement
                == ConsentStatement(
                    session: record.session, account: account.id, documentHash: consent.documentHash,
                    factors: ["device", "pin"], agreedAt: at))
        #expect(consent.documentHash == Array(SHA256.hash(data: record.document)))
        #expect(throws: IdentityMessageError(.wrongReceiver)) {
            try ConsentStatement(verifying: text, server: "https://other.example", keys: keys)
        }
        #expect(throws: IdentityMessageError(.wrongSignature)) {
            try ConsentStatement(verifying: text.dropLast(4) + "AAAA", server: IdentityPhone.issuer, keys: keys)
        }
        // No answer to a phone is a statement.
        let call = try phone.call("/identity/activation", method: "GET")
        let reply = try await server.engine.identities.activations.record(call)
        #expect(throws: IdentityMessageError(.malformed)) {
            try ConsentStatement(
                verifying: String(decoding: reply.body, as: UTF8.self), server: IdentityPhone.issuer, keys: keys)
        }
        #expect(
            try await server.engine.identities.consents.consent(session: record.session, accountID: "nobody") == nil)
    }

    @Test("What was permitted to an account is kept as well, once, whatever comes of it, and as long as the limits say")
    func ownAccount() async throws {
        let server = try TestServer {
            $0.limits.identityConsentRetention = .seconds(3600)
            $0.limits.identityConsentRows = 2
        }
        let (account, phone) = try await server.personalise()
        var sessions: [String] = []
        for purpose in [SessionDocument.Purpose.newActivation, .addFactor, .changePin] {
            sessions.append(try await phone.granted(purpose).session)
            server.clock.advance(.seconds(60))
        }
        func kept() async throws -> [IdentityConsentRecord] {
            try await server.database.identityConsents(accountID: account.id, limit: 9)
        }
        #expect(try await kept().map(\.session) == [sessions[2], sessions[1]], "the newest of as many as there may be")
        #expect(try await kept().map(\.service) == [nil, nil])
        server.clock.advance(.seconds(3600 - 60))
        try await server.engine.sweep.run()
        #expect(try await kept().map(\.session) == [sessions[2]])
        server.clock.advance(.seconds(61))
        try await server.engine.sweep.run()
        #expect(try await kept().isEmpty)
    }
}
