import Accounts
import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import JOSE
import PersonalInformation
import Records
import SQLStore
import Sealing
import Settings
import Testing
import UAF
import _Primitives

@Suite("Activations: from a code and its PIN to a personalised app")
struct IdentityActivationTests {
    @Test("An operator's code and its PIN personalise an app")
    func anOperatorsOfferPersonalisesAnApp() async throws {
        let server = try TestServer()
        try await server.addService()
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let offer = try await server.engine.identities.offers.offer(accountID: account.id, by: "test")
        let code = try ProcessCode(parsing: offer.code, keys: try await server.keySet().signingKeys)
        #expect(code.kind == .activation && code.id == offer.id)
        let openings = server.engine.identities.openings
        let open = IdentityCall(
            path: "/identity/activations/\(code.id)/open",
            body: OpenRequest(claim: code.claim, security: nil).serialized, proof: nil)
        let opened: OpenResponse = try await server.read(try await openings.open(code.id, open), to: open)
        let pin = SecretBytes(Array(try #require(offer.pin).utf8))
        let key = try opened.pin.scheme.key(
            pin: pin, phoneHalf: code.secret, parameters: opened.pin,
            context: PinScheme.Context(server: IdentityPhone.issuer, activation: code.id, version: 0))
        let phone = IdentityPhone(server, id: code.id, factors: [.device, .pin])
        let device = try JWK(p256: phone.signing.publicKey.rawRepresentation).thumbprint
        let signature = try key.signature(
            for: Data(
                ProveRequest.Proof.signedBytes(activation: code.id, challenge: opened.challenge, device: device)))
        let prove = IdentityCall(
            path: "/identity/activations/\(code.id)/prove",
            body: ProveRequest(
                claim: code.claim, device: device,
                proof: try SealedMessage(
                    sealing: ProveRequest.Proof(signature: Array(signature.rawRepresentation)),
                    to: try await server.keySet().sealingKeys[0],
                    for: .activationProof(activation: code.id, challenge: opened.challenge))
            ).serialized, proof: nil)
        let answer: ProveResponse = try await server.read(try await openings.prove(code.id, prove), to: prove)
        guard case .proven(let proven) = answer else {
            Issue.record("refused")
            return
        }
        #expect(proven.activation == code.id && proven.account == account.id && !proven.mayMerge)
        let call = try await server.enrolCall(phone, proven)
        let receipt: ActivationReceipt = try await phone.read(
            try await server.engine.identities.enrolments.enroll(code.id, call), to: call)
        #expect(receipt.activation == code.id && receipt.pinVersion == 1 && receipt.factors == ["device", "pin"])
        #expect(receipt.name == "Alice's phone")
        _ = try await phone.login(try await server.showCode())
        #expect(try await server.database.notices(accountID: account.id, limit: 9).map(\.kind).contains(.deviceAdded))
    }

    @Test("A wrong PIN of a code is a lockout, and the right one enrols after the rest")
    func aWrongPINLocksAndTheRightOneEnrolsAfterwards() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        let before = try await server.open(offer).challenge
        guard case .lockout(let notice, let challenge) = try await server.type(offer, pin: P256.Signing.PrivateKey())
        else {
            Issue.record("proven")
            return
        }
        #expect(notice.lockedUntil == server.clock.now + .seconds(5) && challenge != before)
        await expectRefusal(.lockedOut) { () async throws in _ = try await server.open(offer) }
        server.clock.advance(.seconds(6))
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        let call = try await server.enrolCall(phone, try await server.prove(offer, by: phone))
        #expect(try await server.engine.identities.enrolments.enroll(offer.id, call).refusal == nil)
        #expect(try await server.database.offer(id: offer.id)?.pinKey == [])
    }

    @Test("Too many wrong PINs end an offer")
    func tooManyWrongPINsEndTheOffer() async throws {
        let server = try TestServer { configuration in
            configuration.limits.lockoutFailuresInARow = 2
            configuration.limits.firstLockout = .seconds(1)
        }
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        for _ in 0..<2 {
            _ = try await server.type(offer, pin: P256.Signing.PrivateKey())
            server.clock.advance(.seconds(2))
        }
        await #expect(throws: IdentityProblem(.activationDisabled)) { () async throws in
            _ = try await server.open(offer)
        }
    }

    @Test("Who has not the secret of a code counts for nothing")
    func whoHasNotTheSecretCountsForNothing() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        let stranger = SecretBytes(RandomSource.system.bytes(32))
        await #expect(throws: IdentityProblem(.notProven)) { () async throws in
            _ = try await server.open(offer, claim: stranger)
        }
        var call = try await server.proveCall(offer, pin: P256.Signing.PrivateKey())
        let body = try ProveRequest(parsing: call.body)
        call.body = ProveRequest(claim: stranger, device: body.device, proof: body.proof).serialized
        #expect(try await server.engine.identities.openings.prove(offer.id, call).status == .notProven)
        #expect(try await server.database.offer(id: offer.id)?.lockout == LockoutRecord())
        await #expect(throws: IdentityProblem(.activationUnknown)) { () async throws in
            _ = try await server.open(TestOffer(id: "none"))
        }
    }

    @Test("A code of an activation is refused when its time is over")
    func anExpiredOfferIsRefused() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account, lifetime: .seconds(60))
        server.clock.advance(.seconds(61))
        await #expect(throws: IdentityProblem(.activationDataExpired)) { () async throws in
            _ = try await server.open(offer)
        }
    }

    @Test("What was interrupted is repeated until it is enrolled, once, and leaves nothing behind")
    func whatWasInterruptedIsRepeatable() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        let first = try await server.prove(offer, by: phone)
        let proven = try await server.prove(offer, by: phone)
        // The token of the proof of before is worth nothing any more.
        let old = try await server.enrolCall(phone, first)
        let enrolments = server.engine.identities.enrolments
        #expect(try await enrolments.enroll(offer.id, old).refusal == "notProven")
        #expect(try await server.database.activation(id: offer.id) == nil)
        let call = try await server.enrolCall(phone, proven)
        let reply = try await enrolments.enroll(offer.id, call)
        #expect(reply.refusal == nil)
        #expect(try await enrolments.enroll(offer.id, call).body == reply.body, "the receipt again")
        #expect(try await server.database.activations(accountID: account.id).count == 2)
        await #expect(throws: IdentityProblem(.activationDataConsumed)) { () async throws in
            _ = try await server.open(offer)
        }
        let another = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        #expect(
            try await enrolments.enroll(offer.id, try await server.enrolCall(another, proven)).refusal
                == "activationDataConsumed")
    }

    @Test("A proof of the PIN has its time")
    func aTokenHasItsTime() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account, lifetime: .seconds(7200))
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        let proven = try await server.prove(offer, by: phone)
        server.clock.advance(.seconds(601))
        #expect(
            try await server.engine.identities.enrolments.enroll(
                offer.id, try await server.enrolCall(phone, proven)
            ).refusal == "activationDataExpired")
    }

    @Test(
        "Every activation has a device and a PIN",
        arguments: [[AuthenticatorType.device], [.pin], [.pin, .biometric]])
    func anActivationHasADeviceAndAPIN(types: [AuthenticatorType]) async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        let phone = IdentityPhone(server, id: offer.id, factors: types)
        let call = try await server.enrolCall(phone, try await server.prove(offer, by: phone))
        #expect(
            try await server.engine.identities.enrolments.enroll(offer.id, call).refusal == "invalidRequest")
        #expect(try await server.database.activation(id: offer.id) == nil)
    }

    @Test("What another key has proved enrols nothing")
    func aRequestAnotherKeyHasProvedIsNone() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        var call = try await server.enrolCall(phone, try await server.prove(offer, by: phone))
        let thief = IdentityPhone(server, id: offer.id, factors: [])
        call.proof = try thief.call(call.path, body: call.body).proof
        #expect(try await server.engine.identities.enrolments.enroll(offer.id, call).status == .notProven)
    }

    @Test("Whoever has the token of another's proof enrols nothing, no attempt is lost, and the device goes on")
    func aTokenIsItsDevices() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        let proven = try await server.prove(offer, by: phone)
        let before = try await server.database.offer(id: offer.id)
        let thief = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        let enrolments = server.engine.identities.enrolments
        let stolen = try await enrolments.enroll(offer.id, try await server.enrolCall(thief, proven))
        #expect(stolen.refusal == "notProven" && stolen.status == .notProven)
        #expect(try await server.database.offer(id: offer.id) == before)
        #expect(try await server.database.activation(id: offer.id) == nil)
        let call = try await server.enrolCall(phone, proven)
        #expect(try await enrolments.enroll(offer.id, call).refusal == nil)
        #expect(try await server.database.activations(accountID: account.id).map(\.device.id).contains(offer.id))
    }

    @Test("Of two phones with the code and the right PIN at once one enrols, and the other is told that it came later")
    func twoPhonesAtOnce() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        let phones = [0, 1].map { _ in IdentityPhone(server, id: offer.id, factors: [.device, .pin]) }
        // Both have opened the code before either proves the PIN.
        let calls = [
            try await server.proveCall(offer, by: phones[0]), try await server.proveCall(offer, by: phones[1]),
        ]
        let openings = server.engine.identities.openings
        let answer: ProveResponse = try await server.read(
            try await openings.prove(offer.id, calls[0]), to: calls[0])
        guard case .proven(let proven) = answer else {
            Issue.record("refused")
            return
        }
        let before = try await server.database.offer(id: offer.id)
        let late = try await openings.prove(offer.id, calls[1])
        #expect(late.refusal == "sessionSuperseded" && late.status == .answered)
        #expect(try await server.database.offer(id: offer.id) == before, "it costs no attempt, and takes nothing")
        #expect(try await openings.prove(offer.id, calls[0]).refusal == nil, "the answer is given again")
        let enrol = try await server.enrolCall(phones[0], proven)
        #expect(try await server.engine.identities.enrolments.enroll(offer.id, enrol).refusal == nil)
        await expectRefusal(.activationDataConsumed) { () async throws in
            _ = try await server.prove(offer, by: phones[1])
        }
    }

    @Test("A wrong PIN costs its attempt, and takes nothing from the device that has proven the right one")
    func aWrongPINTakesNothingFromTheRightOne() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        let proven = try await server.prove(offer, by: phone)
        guard case .lockout(let notice, let challenge) = try await server.type(offer, pin: P256.Signing.PrivateKey())
        else {
            Issue.record("proven")
            return
        }
        #expect(notice.lockedUntil == server.clock.now + .seconds(5) && challenge == proven.challenge)
        #expect(try await server.database.offer(id: offer.id)?.lockout.failures.count == 1)
        await expectRefusal(.lockedOut) { () async throws in _ = try await server.open(offer) }
        let call = try await server.enrolCall(phone, proven)
        #expect(try await server.engine.identities.enrolments.enroll(offer.id, call).refusal == nil)
    }

    @Test("Whoever puts a device of their own into another's proof has a wrong one")
    func aProofIsItsDevices() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        let thief = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        var call = try await server.proveCall(offer, by: phone)
        var body = try ProveRequest(parsing: call.body)
        body.device = try JWK(p256: thief.signing.publicKey.rawRepresentation).thumbprint
        call.body = body.serialized
        let answer: ProveResponse = try await server.read(
            try await server.engine.identities.openings.prove(offer.id, call), to: call)
        guard case .lockout = answer else {
            Issue.record("proven")
            return
        }
    }

    @Test("A proof of before, which names no device, is refused before anything is counted; what it earned is nothing")
    func aProofOfBefore() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        var call = try await server.proveCall(offer, by: phone)
        var body = try ProveRequest(parsing: call.body).json
        body["device"] = nil
        call.body = JSON.object(body).serialized
        #expect(try await server.engine.identities.openings.prove(offer.id, call).refusal == "invalidRequest")
        #expect(try await server.database.offer(id: offer.id)?.lockout == LockoutRecord())
        // As a version of before has kept it.
        let proven = try await server.prove(offer, by: phone)
        let step: IdentityStep<Void> = try await server.database.step(
            offer: offer.id, request: RequestName(caller: "a:\(offer.id)", request: "before", hash: [])
        ) { record in
            record.tokenDigest = proven.token.withBytes { Sealing.digest(ofSecret: $0) }
            return (OfferChange(), ())
        }
        guard case .decided = step else {
            Issue.record("not kept")
            return
        }
        let enrolments = server.engine.identities.enrolments
        let refused = try await enrolments.enroll(offer.id, try await server.enrolCall(phone, proven))
        #expect(refused.refusal == "notProven")
        let again = try await server.prove(offer, by: phone)
        #expect(try await enrolments.enroll(offer.id, try await server.enrolCall(phone, again)).refusal == nil)
    }

    @Test("A phone sees its activation, and takes it back with its keys and what it has begun")
    func anActivationIsSeenAndTakenBack() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let activations = server.engine.identities.activations
        let ask = try phone.call("/identity/activation", method: "GET")
        let record: ActivationReceipt = try await phone.read(try await activations.record(ask), to: ask)
        #expect(record.activation == phone.id && record.factors == ["device", "pin"])
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let remove = try phone.call("/identity/activation", method: "DELETE")
        #expect(try await activations.remove(remove).refusal == nil)
        #expect(try await server.database.activations(accountID: account.id).isEmpty)
        let again = try phone.call("/identity/activation", method: "DELETE")
        #expect(try await activations.remove(again).status == .notProven)
        #expect(try await server.database.devices(accountID: account.id).isEmpty)
        #expect(try await server.database.credentials(accountID: account.id).isEmpty)
        await #expect(throws: IdentityProblem(.notProven)) { () async throws in _ = try await phone.prepare(code.id) }
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) != .claimed)
    }

    @Test("A locked account gets no activation, and the offer is good again where it is not locked any more")
    func aLockedAccountPersonalisesNothing() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        let proven = try await server.prove(offer, by: phone)
        func lock(_ isLocked: Bool) async throws {
            _ = try await server.database.setAccountLocked(
                isLocked, id: account.id, audit: AuditEvent(.init(rawValue: "account-locked"), at: server.clock.now))
        }
        try await lock(true)
        let enrolments = server.engine.identities.enrolments
        let refused = try await enrolments.enroll(offer.id, try await server.enrolCall(phone, proven))
        #expect(refused.refusal == "activationDisabled")
        #expect(try await server.database.activation(id: offer.id) == nil)
        try await lock(false)
        #expect(
            try await enrolments.enroll(offer.id, try await server.enrolCall(phone, proven)).refusal == nil)
    }

    @Test("A locked account authenticates nobody")
    func aLockedAccountAuthenticatesNobody() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let waiting = try await server.showCode("waiting")
        _ = try await phone.start(waiting)
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let prepared = try await phone.prepared(code.id)
        _ = try await server.database.setAccountLocked(
            true, id: account.id, audit: AuditEvent(.init(rawValue: "account-locked"), at: server.clock.now))
        await #expect(throws: IdentityProblem(.activationDisabled)) { () async throws in
            _ = try await phone.finish(code.id, prepared)
        }
        let prolong = try phone.call("/identity/sessions/\(waiting.id)/prolong", EmptyBody())
        #expect(try await server.engine.identities.control.prolong(waiting.id, prolong).refusal == "activationDisabled")
        let next = try await server.showCode("next")
        await #expect(throws: IdentityProblem(.activationDisabled)) { () async throws in
            _ = try await phone.start(next)
        }
    }
}
