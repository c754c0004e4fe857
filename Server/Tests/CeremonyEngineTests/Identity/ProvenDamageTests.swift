import Ceremony
import CeremonyEngine
import CountersignTestKit
import Crypto
import JOSE
import PersonalInformation
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

/// A PIN service that evaluates whatever it is asked.
private struct WillingPins: PinEvaluating {
    private let master = SecretBytes(RandomSource.system.bytes(PinServiceKey.masterBytes))

    func key(of activation: String) async throws(PinServiceFailure) -> [UInt8] {
        try self.key(activation).publicKey
    }

    func evaluate(_ blinded: [UInt8], of activation: String) async throws(PinServiceFailure) -> [UInt8] {
        let key = try self.key(activation)
        do throws(PinSchemeError) { return try key.evaluate(blinded) } catch { throw .malformed }
    }

    private func key(_ activation: String) throws(PinServiceFailure) -> PinServiceKey {
        do throws(PinSchemeError) {
            return try PinServiceKey(master: self.master, activation: activation)
        } catch {
            throw .malformed
        }
    }
}

/// A request that a phone proves, and that is right.
private struct ProvenRequest {
    let path: String
    let body: JSONObject
    /// What is sealed in the body, and the body with something sealed in its place.
    var sealed: (inner: JSONObject, around: (JSONObject) throws -> JSONObject)?
    /// Whose proof it is; without, that of the phone that is there.
    var phone: IdentityPhone?
    let answer: (IdentityCall) async throws -> IdentityReply
}

@Suite("Decision 62: whatever stands in a request that a phone proves, it is refused by a signed answer")
struct ProvenDamageTests {
    /// The requests that are proved by a device's key and have a body that is read, but for the one that counts whatever
    /// comes.
    enum Route: String, CaseIterable, Sendable {
        case start, prepare, sessionPin, inApp, access, complete, enroll, activationPin, open, prove
    }

    @Test("Members of other types, left out, twice or out of bounds, and bytes that changed", arguments: Route.allCases)
    func damaged(route: Route) async throws {
        // What is damaged below is right as it stands.
        let right = try await Place()
        let whole = try await right.request(route)
        let accepted = try (whole.phone ?? right.phone).call(whole.path, body: JSON.object(whole.body).serialized)
        guard case .message = try await right.server.content(of: try await whole.answer(accepted), to: accepted) else {
            Issue.record("the right request is refused")
            return
        }

        let place = try await Place()
        let request = try await place.request(route)
        var bodies = DamagedMessage.all(of: request.body, seed: "\(route)")
        let outside = bodies.count
        if let sealed = request.sealed {
            for damaged in DamagedMessage.all(of: sealed.inner, seed: "\(route), sealed") {
                // Only objects can be sealed, and what is longer than a message is cannot.
                guard case .object(let inner)? = try? JSON(parsing: damaged), let body = try? sealed.around(inner)
                else { continue }
                bodies.append(JSON.object(body).serialized)
            }
            #expect(bodies.count > outside + 20)
        }
        var codes: [IdentityProblem.Code: Int] = [:]
        for (index, body) in bodies.enumerated() {
            let call = try (request.phone ?? place.phone).call(request.path, body: body)
            let shown = "\(index): \(String(decoding: body.prefix(2000), as: UTF8.self))"
            do {
                let reply = try await request.answer(call)
                guard case .refusal(let problem) = try await place.server.content(of: reply, to: call) else { continue }
                codes[problem.code, default: 0] += 1
                #expect(problem.code != .serverError && problem.code != .tooManyRequests, "\(shown)")
                // Whoever does not know a code's secret, or shows another key than they enrol, proves nothing.
                let isProven = problem.code != .notProven
                #expect(isProven || [.enroll, .open, .prove, .activationPin].contains(route), "\(shown)")
                #expect(reply.status == (isProven ? .answered : .notProven), "\(shown)")
            } catch {
                Issue.record("\(error) to \(shown)")
            }
        }
        // They are read, and not refused for something else.
        #expect(codes[.invalidRequest, default: 0] > outside / 2, "\(codes) of \(bodies.count)")
        guard route != .sessionPin else { return }
        #expect(try await place.server.lockout(of: place.phone) == LockoutRecord())
    }

    @Test(
        "Of a session's end, its code and its prolongation nothing is read: whatever comes there is as good as nothing")
    func unread() async throws {
        let place = try await Place()
        let ends = place.server.engine.identities.control
        for (index, body) in DamagedMessage.all(of: ["code": .string("x")], seed: "unread", bytes: 8).enumerated() {
            let session = try await place.started("request \(index)")
            let prolonging = try place.phone.call("/identity/sessions/\(session)/prolong", body: body)
            let prolonged = try await place.server.content(
                of: try await ends.prolong(session, prolonging), to: prolonging)
            guard case .message = prolonged else {
                Issue.record("\(prolonged)")
                return
            }
            let asking = try place.phone.call("/identity/sessions/\(session)/code", body: body)
            let code = try await place.server.content(of: try await ends.code(session, asking), to: asking)
            guard case .refusal(let refusal) = code else {
                Issue.record("\(code)")
                return
            }
            #expect(refusal.code == .outOfOrder)
            let ending = try place.phone.call("/identity/sessions/\(session)/abort", body: body)
            guard
                case .message = try await place.server.content(of: try await ends.abort(session, ending), to: ending)
            else {
                Issue.record("not aborted")
                return
            }
        }
        #expect(try await place.server.lockout(of: place.phone) == LockoutRecord())
    }

    @Test("Factors that cannot be read are an attempt like any other, and each is one")
    func damagedFactors() async throws {
        let place = try await Place(isAsking: false)
        let key = try await place.server.keySet().sealingKeys[0]
        let random = RandomSource.repeatable("factors")
        var failures = 0
        var accepted = 0
        func send(_ index: Int, _ damage: (_ response: String, SealedMessage.Place) throws -> [[UInt8]]) async throws {
            let (session, prepared) = try await place.prepared("request \(index)")
            let response = try place.phone.response(prepared, [.device, .pin])
            let sealed = SealedMessage.Place.factors(
                session: session, challenge: SessionDocument.challenge(of: prepared.document).text)
            let bodies = try damage(response, sealed)
            let body = bodies[Int(random.number(below: UInt64(bodies.count)))]
            let call = try place.phone.call("/identity/sessions/\(session)/finish", body: body)
            let reply = try await place.server.engine.identities.judgement.finish(session, call)
            #expect(reply.status == .answered)
            switch try await place.phone.read(reply, to: call, as: FinishResponse.self) {
            // What was changed can be what nobody reads.
            case .accepted: (failures, accepted) = (0, accepted + 1)
            case .lockout: failures += 1
            }
            #expect(try await place.server.lockout(of: place.phone)?.failuresInARow == failures)
            place.server.clock.advance(.seconds(2))
        }
        for index in 0..<120 {
            try await send(index) { response, sealed in
                func around(_ inner: JSONObject) throws -> JSONObject {
                    FinishRequest(
                        factors: try SealedMessage(sealing: AnyMessage(json: inner), to: key, for: sealed),
                        security: nil
                    ).json
                }
                let inner = FinishRequest.Factors(response: response).json
                switch index % 3 {
                case 0: return DamagedMessage.all(of: try around(inner), seed: "\(index)", others: 1)
                case 1:
                    return DamagedMessage.all(of: inner, seed: "\(index)", others: 1).compactMap { damaged in
                        guard case .object(let inner)? = try? JSON(parsing: damaged) else { return nil }
                        return (try? around(inner)).map { JSON.object($0).serialized }
                    }
                default:
                    let damaged = DamagedMessage.changed(Array(response.utf8), random)
                    let factors = FinishRequest.Factors(response: String(decoding: damaged, as: UTF8.self))
                    return [JSON.object(try around(factors.json)).serialized]
                }
            }
        }
        #expect(accepted < 60, "most of it is damage")
        // The right ones are accepted as ever.
        let (session, prepared) = try await place.prepared("right")
        guard case .accepted = try await place.phone.finish(session, prepared) else {
            Issue.record("refused")
            return
        }
    }

    /// A phone, and the server that knows it.
    private struct Place {
        let server: TestServer
        let phone: IdentityPhone
        private let answers: [PersonalAttribute: AttributeAnswer]

        /// - Parameter isAsking: Whether the service wants to know something of the person.
        init(isAsking: Bool = true) async throws {
            self.answers = isAsking ? [.givenName: .value("Alice")] : [:]
            self.server = try TestServer(pins: WillingPins()) { configuration in
                (configuration.limits.firstLockout, configuration.limits.lockoutSeconds) = (.seconds(1), [1])
                // All of it comes within one moment.
                configuration.limits.provenRequestBurst = Limits.Fixed.largestBudget
                configuration.limits.lockoutFailuresInARow = 10_000
                configuration.limits.lockoutFailuresInWindow = 10_000
                configuration.limits.openOffersPerAccount = 10_000
            }
            try await self.server.addService(
                attributes: isAsking ? [.givenName: .required, .nickname: .optional] : [:]
            ) { $0.allowsInApp = true }
            self.phone = try await self.server.personalise(factors: [.device, .pin]).phone
        }

        /// A session that waits for what a person answers.
        func started(_ reference: String = "request") async throws -> String {
            let code = try await self.server.showCode(reference)
            _ = try await self.phone.start(code)
            return code.id
        }

        func prepared(_ reference: String = "request") async throws -> (session: String, prepared: PreparedSession) {
            let session = try await self.started(reference)
            return (session, try await self.phone.prepared(session, answers: self.answers))
        }

        func request(_ route: Route) async throws -> ProvenRequest {
            let identities = self.server.engine.identities
            let security = SecurityReport(
                date: self.server.clock.now, checkVersion: 1, osVersion: "Linux 6", isRooted: false, isHooked: false)
            switch route {
            case .start:
                let code = try await self.server.showCode()
                return ProvenRequest(
                    path: "/identity/sessions/\(code.id)/start",
                    body: StartRequest(version: 1, claim: code.claim, security: security).json
                ) { try await identities.binding.start(code.id, $0) }
            case .prepare:
                let session = try await self.started()
                return ProvenRequest(
                    path: "/identity/sessions/\(session)/prepare",
                    body: PrepareRequest(
                        role: "patient", answers: [.givenName: .value("Alice"), .nickname: .value("Al")],
                        security: security
                    ).json
                ) { try await identities.binding.prepare(session, $0) }
            case .sessionPin:
                let (session, _) = try await self.prepared()
                return ProvenRequest(
                    path: "/identity/sessions/\(session)/pin-evaluation",
                    body: EvaluationRequest(blinded: try Self.question(), security: nil).json
                ) { try await identities.pinEvaluations.ofSession(session, $0) }
            case .inApp:
                return ProvenRequest(
                    path: "/identity/in-app",
                    body: InAppRequest(
                        clientID: TestServer.service, redirectURI: TestInAppServices.redirectURI, scope: "openid",
                        state: "state", nonce: "nonce", codeChallenge: Base64URL.encode(RandomSource.system.bytes(32))
                    ).json
                ) { try await identities.appSessions.inApp($0) }
            case .access:
                return ProvenRequest(
                    path: "/identity/api-access", body: AccessRequest(purpose: .addFactor).json
                ) { try await identities.appSessions.access($0) }
            case .complete:
                let (session, prepared) = try await self.phone.granted(.addFactor)
                let response = try self.phone.registration(
                    [TestFactor(.biometric)], SessionDocument.challenge(of: prepared.document))
                let key = try await self.server.keySet().sealingKeys[0]
                let place = SealedMessage.Place.completion(session: session)
                let whole = Completion.addFactor(response: response)
                return ProvenRequest(
                    path: "/identity/api-access/\(session)/complete",
                    body: CompleteRequest(completion: try SealedMessage(sealing: whole, to: key, for: place)).json,
                    sealed: (
                        whole.json,
                        { inner in
                            CompleteRequest(
                                completion: try SealedMessage(sealing: AnyMessage(json: inner), to: key, for: place)
                            ).json
                        }
                    )
                ) { try await identities.grantedActions.complete(session, $0) }
            case .enroll, .activationPin, .open, .prove: return try await self.request(ofActivation: route)
            }
        }

        private func request(ofActivation route: Route) async throws -> ProvenRequest {
            let identities = self.server.engine.identities
            let account = try #require(
                try await self.server.database.account(
                    id: try await self.server.database.activation(id: self.phone.id)?.device.accountID ?? ""))
            let offer = try await self.server.offer(to: account)
            let path = "/identity/activations/\(offer.id)"
            switch route {
            case .open:
                return ProvenRequest(path: "\(path)/open", body: OpenRequest(claim: offer.claim, security: nil).json) {
                    try await identities.openings.open(offer.id, $0)
                }
            case .prove:
                let call = try await self.server.proveCall(offer)
                guard case .object(let body) = try JSON(parsing: call.body) else { throw OtherAnswer() }
                return ProvenRequest(path: "\(path)/prove", body: body) {
                    try await identities.openings.prove(offer.id, $0)
                }
            case .activationPin:
                let newcomer = IdentityPhone(self.server, id: offer.id, factors: [.device, .pin])
                let proven = try await self.server.prove(offer, by: newcomer)
                return ProvenRequest(
                    path: "\(path)/pin-evaluation",
                    body: EvaluationRequest(
                        blinded: try Self.question(), opening: try newcomer.opening(offer, proven), security: nil
                    ).json, phone: newcomer
                ) { try await identities.pinEvaluations.ofActivation(offer.id, $0) }
            default:
                let newcomer = IdentityPhone(self.server, id: offer.id, factors: [.device, .pin])
                let proven = try await self.server.prove(offer, by: newcomer)
                let enrolment = try self.server.enrolment(newcomer, proven)
                let key = try await self.server.keySet().sealingKeys[0]
                let place = TestServer.place(ofEnrolment: newcomer, proven)
                return ProvenRequest(
                    path: "\(path)/enroll",
                    body: EnrollRequest(
                        enrolment: try SealedMessage(sealing: enrolment, to: key, for: place)
                    ).json,
                    sealed: (
                        enrolment.json,
                        { inner in
                            EnrollRequest(
                                enrolment: try SealedMessage(sealing: AnyMessage(json: inner), to: key, for: place)
                            ).json
                        }
                    ), phone: newcomer
                ) { try await identities.enrolments.enroll(offer.id, $0) }
            }
        }

        private static func question() throws -> [UInt8] {
            try PinServiceKey(master: SecretBytes(RandomSource.system.bytes(48)), activation: "any").publicKey
        }
    }
}

/// An answer of another kind than the test needs.
private struct OtherAnswer: Error {}
